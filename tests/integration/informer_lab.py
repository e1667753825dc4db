"""What tests of informers have in common: somebody who subscribes, and notes what is heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fake_api
import yaml

from ansible_operator import children, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import informers, kubeconfig

THING = fake_api.Kind("test.example.com", "v1", "Thing", "things")
THINGS = children.ChildKind(objects.GVK("test.example.com", "v1", "Thing"), "things", True)
PLAN = fake_api.Kind("test.example.com", "v1", "Plan", "plans", namespaced=False)
PLANS = children.ChildKind(objects.GVK("test.example.com", "v1", "Plan"), "plans", False)
CONFIGMAPS = children.ChildKind(objects.GVK("", "v1", "ConfigMap"), "configmaps", True)
SECRETS = children.ChildKind(objects.GVK("", "v1", "Secret"), "secrets", True)
LISTS = r"/(things|plans)$"


def thing(name: str, namespace: str = "ns", **meta: Any) -> dict[str, Any]:
    """An object."""
    return {"metadata": {"name": name, "namespace": namespace, **meta}, "spec": {"big": "x" * 99}}


def eventually(check: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.01)
    return found


class Ear:
    """A listener, and what it heard: event, name, and whether that was there before."""

    def __init__(self) -> None:
        self.changes: list[children.Change] = []
        self._changed = threading.Condition()

    def __call__(self, change: children.Change) -> None:
        with self._changed:
            self.changes.append(change)
            self._changed.notify_all()

    @property
    def heard(self) -> list[tuple[str, str]]:
        """Event and name; INITIAL is an event here."""
        return [
            ("INITIAL" if change.initial else change.event.value, change.new.name)
            for change in list(self.changes)
        ]

    def until(self, *expected: tuple[str, str], seconds: float = 60) -> None:
        """Wait until all of these were heard."""
        with self._changed:
            done = self._changed.wait_for(lambda: set(expected) <= set(self.heard), seconds)
        assert done, f"not heard: {set(expected) - set(self.heard)}; heard: {self.heard}"

    def known(self) -> dict[str, str]:
        """What one knows who has heard all this: versions by name. Fails where it does not fit."""
        world: dict[str, children.Digest] = {}
        for change in list(self.changes):
            name = f"{change.new.namespace}/{change.new.name}"
            assert world.get(name) == change.old, f"{change} after {world.get(name)}"
            if change.event is children.Event.DELETED:
                del world[name]
            else:
                world[name] = change.new
        return {name: digest.resource_version for name, digest in world.items()}


def connect(url: str, path: Path, **user: Any) -> kube_client.Client:
    """A client of a server."""
    path.write_text(yaml.safe_dump(kubeconfig.document({"server": url}, user or {"token": "t"})))
    return kube_client.Client.load({"KUBECONFIG": str(path)})


@contextmanager
def informing(
    client: kube_client.Client, *namespaces: str, **more: Any
) -> Iterator[informers.Informers]:
    """Informers that are closed in the end; none of their threads is left then."""
    made = informers.Informers(client, namespaces, **more)
    try:
        yield made
    finally:
        made.close()
        assert threads() == []


def threads() -> list[str]:
    """The threads of informers."""
    return [t.name for t in threading.enumerate() if t.name.startswith("informer")]
