"""A sandbox without its network side and without its clock: time passes when a test says so."""

from __future__ import annotations

import copy
import heapq
import itertools
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from ansible_operator.sandbox import kinds, local, namespaces, registry, standins, storage

Obj = dict[str, Any]
SELECTOR = {"matchLabels": {"app": "web"}}


class Loop:
    """What is to be called later, in the order of the times; ``now`` moves only in ``run``."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self._calls: list[tuple[datetime, int, Callable[[], None]]] = []
        self._serial = itertools.count()

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call a function when that time has passed."""
        due = self.now + timedelta(seconds=seconds)
        heapq.heappush(self._calls, (due, next(self._serial), call))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + timedelta(seconds=seconds)
        while self._calls and self._calls[0][0] <= end:
            due, _, call = heapq.heappop(self._calls)
            self.now = max(self.now, due)
            call()
        self.now = end


class Lab:
    """Stand-ins at work on a registry that has a namespace ``ns`` and three nodes."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.storage = storage.Storage()
        self.changes: list[storage.Change] = []
        self.storage.subscribe(self.changes.append)
        chance = random.Random(1)  # noqa: S311 - the names of every run are the same
        self.registry = registry.Registry(
            kinds.Kinds(), self.storage, clock=lambda: self.loop.now, chance=chance
        )
        namespaces.guard(self.registry)
        self.api = local.Local(self.registry, "tests")
        controllers = local.Local(self.registry, "kube-controller-manager")
        standins.Controllers(
            controllers, self.storage, self.loop.later, lambda: self.loop.now, "CA"
        )
        self.create("namespaces", "ns", namespace="")
        for name in ("node-1", "node-2", "node-3"):
            self.create("nodes", name, namespace="")
        self.run()
        self.changes.clear()

    def run(self, seconds: float = 5.0) -> None:
        """Let time pass."""
        self.loop.run(seconds)

    def create(self, resource: str, name: str, *, namespace: str = "ns", **fields: Any) -> Obj:
        """Create an object; ``meta`` are further fields of its metadata."""
        found = self.registry.kinds.named(resource)
        assert found is not None, resource
        metadata = {"name": name, **fields.pop("meta", {})}
        if namespace:
            metadata["namespace"] = namespace
        head = {"apiVersion": found.api_version, "kind": found.kind, "metadata": metadata}
        return self.api.create(resource, {**head, **fields})

    def find(self, resource: str, name: str, namespace: str = "ns") -> Obj | None:
        """An object, None where there is none."""
        return self.api.get(resource, namespace, name)

    def get(self, resource: str, name: str, namespace: str = "ns") -> Obj:
        """An object that must be there."""
        found = self.find(resource, name, namespace)
        assert found is not None, f"{resource} {name}"
        return found

    def status(self, resource: str, name: str) -> Obj:
        """The status of an object that must be there."""
        found: Obj = self.get(resource, name)["status"]
        return found

    def names(self, resource: str, namespace: str = "ns") -> list[str]:
        """The names of the objects of a namespace."""
        return [obj["metadata"]["name"] for obj in self.api.list(resource, namespace)]

    def pods(self) -> list[Obj]:
        """The pods of the namespace."""
        return self.api.list("pods", "ns")

    def edit(self, resource: str, name: str, namespace: str = "ns", **spec: Any) -> Obj:
        """Change fields of the spec of an object."""
        obj = copy.deepcopy(self.get(resource, name, namespace))
        obj["spec"] |= spec
        return self.api.update(resource, obj)

    def delete(self, resource: str, name: str, **how: Any) -> None:
        """Delete an object of the namespace."""
        self.api.delete(resource, "ns", name, **how)

    def events(self, kind: str, *reasons: str) -> list[str]:
        """The messages of the events about objects of a kind, in their order."""
        found = [e for e in self.api.list("events") if e["involvedObject"]["kind"] == kind]
        found = [event for event in found if not reasons or event["reason"] in reasons]
        found.sort(key=lambda event: str(event["metadata"]["name"].rpartition(".")[2]))
        return [str(event["message"]) for event in found]

    def history(self, resource: str, name: str) -> Iterator[Obj]:
        """The states that an object has had."""
        found = self.registry.kinds.named(resource)
        assert found is not None
        for change in self.changes:
            if change.key == found.key and change.object["metadata"]["name"] == name:
                yield change.object


def template(image: str = "x:1", spec: Obj | None = None, **notes: str) -> Obj:
    """A pod template with the label ``app: web``; ``notes`` are annotations of the sandbox."""
    prefix = "sandbox.ansible-operator.io/"
    named = {prefix + name.replace("_", "-"): value for name, value in notes.items()}
    metadata = {"labels": {"app": "web"}, **({"annotations": named} if named else {})}
    return {
        "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": image}], **(spec or {})},
    }
