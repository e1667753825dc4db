"""Small roles and playbooks in a temporary directory, run for real by the AnsibleRunner."""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from ansible_operator import objects, settings, watches
from ansible_operator.ansible import run
from ansible_operator.ansible.runner import AnsibleRunner

GVK = objects.GVK("cache.example.com", "v1alpha1", "Memcached")
TOKEN = "tok-5d1c7c0e9a-secret"


def make_object(spec: Any = None, name: str = "one", **metadata: Any) -> objects.Obj:
    """A custom resource of the kind Memcached."""
    obj: objects.Obj = {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": {"name": name, "namespace": "default", "generation": 1, **metadata},
    }
    return obj if spec is None else {**obj, "spec": spec}


@dataclass
class Lab:
    """Writes content and runs it. ``job`` names the last run; no other lab ever uses that name."""

    path: Path
    ansible: settings.AnsibleSettings
    environ: dict[str, str] = field(default_factory=lambda: {**os.environ, "LAB_TOKEN": TOKEN})
    job: str = ""

    @property
    def root(self) -> Path:
        """The runner directory."""
        return self.ansible.runner_dir

    @property
    def object_dir(self) -> Path:
        """The directory of the object ``one``."""
        return self.root / "cache.example.com" / "v1alpha1" / "Memcached" / "default" / "one"

    def role(self, name: str, tasks: Any) -> watches.Role:
        """A role; tasks are YAML text or data."""
        path = self.path / "roles" / name
        (path / "tasks").mkdir(parents=True)
        text = tasks if isinstance(tasks, str) else yaml.safe_dump(tasks)
        (path / "tasks" / "main.yml").write_text(text)
        return watches.Role(path)

    def playbook(self, name: str, plays: Any) -> watches.Playbook:
        """A playbook; plays are YAML text or data."""
        path = self.path / name
        path.write_text(plays if isinstance(plays, str) else yaml.safe_dump(plays))
        return watches.Playbook(path)

    def tasks(self, *tasks: Mapping[str, Any], **play: Any) -> watches.Playbook:
        """A playbook with one play on localhost without fact gathering."""
        content = {"hosts": "localhost", "gather_facts": False, "tasks": list(tasks), **play}
        return self.playbook(f"play{len(list(self.path.glob('play*.yml')))}.yml", [content])

    def runner(self, **changes: Any) -> AnsibleRunner:
        """A runner with these AnsibleSettings changed."""
        config = settings.Settings(
            ansible=replace(self.ansible, **changes), environ=dict(self.environ)
        )
        return AnsibleRunner(config, access, self.environ)

    def run(
        self,
        target: watches.Target,
        obj: objects.Obj | None = None,
        *,
        by: AnsibleRunner | None = None,
        cancel: threading.Event | None = None,
        finalizing: bool = False,
        **watch: Any,
    ) -> run.RunResult:
        """One run of ``target`` for an object, with these keys of the watch."""
        self.job = uuid.uuid4().hex
        entry = watches.Watch(gvk=GVK, target=target, **watch)
        request = run.RunRequest(
            self.job, entry, make_object({}) if obj is None else obj, finalizing
        )
        return (by or self.runner()).run(request, cancel=cancel or threading.Event())

    def read(self, name: str) -> str:
        """A file that a run wrote into the lab's directory."""
        return (self.path / name).read_text()


def access(_: run.RunRequest) -> contextlib.AbstractContextManager[str]:
    """A kubeconfig for a run; stands for what the manager gives."""
    return contextlib.nullcontext(f"token: {TOKEN}\n")


def dump(path: Path, expression: str, name: str = "dump") -> dict[str, Any]:
    """A task that writes the value of an expression as JSON."""
    content = "{{ (" + expression + ") | to_json }}"
    # Faster than the module copy, which runs three modules.
    return {"command": {"argv": ["tee", str(path / name)], "stdin": content}}
