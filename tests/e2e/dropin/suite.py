"""A project as operator-sdk users have it, and the operator of this repository running it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_operator import errors
from ansible_operator.testing import controlplane, operator, waiting

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LIMIT = 120.0
"""Seconds to wait for a run: several times what it takes on a loaded machine."""
OPTIONS = ["--retry-base-delay=500ms", "--retry-max-delay=2s", "--metrics-bind-address=127.0.0.1:0"]
DONE = "Ansible-runner exited successfully"


@dataclass(frozen=True)
class Suite:
    """One project at work in one namespace of a control plane."""

    project: Path
    plane: controlplane.ControlPlane
    namespace: str
    operator: operator.Operator

    def sample(self, kind: str) -> dict[str, Any]:
        """Create the custom resource of ``config/samples`` of this kind."""
        [path] = (self.project / "config/samples").glob(f"*_{kind.lower()}.yaml")
        return self.create(yaml.safe_load(path.read_text()))

    def create(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Create an object in the namespace, or change it to this."""
        [found] = self.plane.apply(obj, namespace=self.namespace)
        return found

    def secret(self, name: str, data: dict[str, str], **labels: str) -> dict[str, Any]:
        """Create a Secret, or change it to this."""
        metadata = {"name": name, "labels": labels}
        return self.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        )

    def config_map(self, name: str, data: dict[str, str]) -> dict[str, Any]:
        """Create a ConfigMap, or change it to this."""
        metadata = {"name": name}
        return self.create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        )

    def get(self, kind: str, name: str, api_version: str = "v1") -> dict[str, Any] | None:
        """Read an object of the namespace; None where there is none."""
        return self.plane.get(api_version, kind, name, self.namespace)

    def data(self, name: str, namespace: str = "") -> dict[str, Any]:
        """What a ConfigMap holds; empty where there is none."""
        found = self.plane.get("v1", "ConfigMap", name, namespace or self.namespace)
        return dict(found.get("data") or {}) if found else {}

    def wait(self, condition: waiting.Condition, obj: Any = None, timeout: float = LIMIT) -> Any:
        """Wait as the fixture ``wait_for`` does, as long as the operator runs."""
        assert self.operator.returncode is None, self.operator.explain("has ended")
        return waiting.WaitFor(self.plane)(condition, obj, timeout=timeout)

    def done(self, kind: str) -> dict[str, Any]:
        """Create the sample of this kind and wait for the good end of its run."""
        resource = self.sample(kind)
        ended = self.wait(_ended, resource)
        assert waiting.fulfilled(ended, "Successful"), ended["status"]
        return dict(ended)

    def delete(self, obj: dict[str, Any]) -> None:
        """Ask for the deletion of an object; it is fine if it is gone."""
        with contextlib.suppress(errors.NotFoundError):
            self.plane.delete(obj)

    def metrics(self) -> dict[str, float]:
        """What the operator shows under /metrics: each line's value by the rest of the line."""
        serving = self.operator.wait_for_log(lambda entry: entry.get("msg") == "serving metrics")
        url = f"http://127.0.0.1:{serving['port']}/metrics"
        with urllib.request.urlopen(url, timeout=LIMIT) as answer:
            lines = answer.read().decode().splitlines()
        pairs = [line.rsplit(" ", 1) for line in lines if line and not line.startswith("#")]
        return {series: float(value) for series, value in pairs}

    def runs(self, name: str) -> int:
        """How many runs for the objects of this name have ended well so far."""
        return sum(entry.get("msg") == DONE for entry in self.logs(name))

    def logs(self, name: str) -> list[dict[str, Any]]:
        """What the operator has logged about the objects of this name."""
        return [entry for entry in self.operator.logs if entry.get("name") == name]


def _ended(obj: dict[str, Any]) -> bool:
    return any(waiting.fulfilled(obj, condition) for condition in ("Successful", "Failure"))


@contextlib.contextmanager
def running(
    project: str, plane: controlplane.ControlPlane, scratch: Path, *arguments: str, **env: str
) -> Iterator[Suite]:
    """Run ``ansible-operator run ARGUMENTS`` in a project's directory, as its user would.

    Its CRDs are installed; it watches a namespace of its own. Of the environment, what concerns
    Ansible is not handed on.
    """
    directory = HERE / project
    plane.apply(directory / "config/crd/bases")
    namespace = plane.create_namespace(f"dropin-{project}")
    runner_dir = scratch / "runner"
    runner_dir.mkdir(mode=0o700)
    own = {
        **{name: "" for name in os.environ if name.startswith("K8S_AUTH_")},
        "WATCH_NAMESPACE": namespace,
        "ANSIBLE_GATHERING": "explicit",
        "ANSIBLE_COLLECTIONS_PATH": f"{scratch}:{ROOT / '.collections'}",
        "HOME": str(scratch),
        **env,
    }
    told = [f"--runner-dir={runner_dir}", f"--user-metrics-port={free_port()}", *OPTIONS]
    try:
        with operator.run_operator(
            directory, plane.kubeconfig, *told, *arguments, env=own
        ) as started:
            yield Suite(directory, plane, namespace, started)
    finally:
        plane.delete_namespace(namespace)


def free_port() -> int:
    """A port that nobody listens on: runs are told of another one than 5050."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def install(collection: Path, target: Path) -> None:
    """Install a collection from its source, as a project's Dockerfile does."""
    tool = Path(sys.executable).parent / "ansible-galaxy"
    command = [str(tool), "collection", "install", "--offline", f"{collection}/", "-p", str(target)]
    done = subprocess.run(command, cwd=target, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
