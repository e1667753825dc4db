"""Hand-written stand-ins for what the engine talks to: a cluster and a scripted Ansible."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_operator import objects, settings, watches
from ansible_operator.ansible import run

GVK = objects.GVK("db.example.com", "v1", "Etcd")
OTHER = objects.GVK("db.example.com", "v1", "Backup")
FINALIZER = "db.example.com/cleanup"
NOW = "2026-01-01T00:00:00Z"
COUNTS = run.TaskCounts(ok=3, changed=1, completion="2026-01-01T00:00:05.123456+00:00")


def key(name: str = "one", gvk: objects.GVK = GVK) -> objects.ObjectKey:
    """The key of an object in the namespace of the tests."""
    return objects.ObjectKey(gvk, "prod", name)


def make(name: str = "one", gvk: objects.GVK = GVK, **metadata: Any) -> objects.Obj:
    """An object of generation 1 with a small spec."""
    meta = {"name": name, "namespace": "prod", "uid": f"uid-{name}", "generation": 1, **metadata}
    meta.setdefault("resourceVersion", "1")
    return {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        "metadata": meta,
        "spec": {"size": 1},
    }


def watch(**changes: Any) -> watches.Watch:
    """A watch of the kind of the tests."""
    return replace(watches.Watch(GVK, watches.Role(Path("/roles/etcd"))), **changes)


def held_watch(**changes: Any) -> watches.Watch:
    """The same with a finalizer."""
    return watch(finalizer=watches.Finalizer(FINALIZER, vars={"state": "absent"}), **changes)


def options(**engine: Any) -> settings.Settings:
    """Settings with changes of the engine's part."""
    return settings.Settings(engine=settings.EngineSettings(**engine))


def succeeded(**changes: Any) -> run.RunResult:
    """A good run."""
    return replace(run.RunResult(run.Outcome.SUCCEEDED, counts=COUNTS, rc=0), **changes)


def failed(message: str = "task A failed", **changes: Any) -> run.RunResult:
    """A run that failed."""
    return replace(run.RunResult(run.Outcome.FAILED, message, counts=COUNTS, rc=2), **changes)


def nothing(*_: object) -> None:
    """What happens during a run unless a test says otherwise."""


class Clock:
    """A monotonic clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class FakeCluster:
    """Objects in memory with finalizers, generations and deletion as an API server does them.

    ``writes`` lists what was written as (verb, name); ``trouble`` maps a method's name to the
    error that it raises.
    """

    def __init__(self, *objs: objects.Obj) -> None:
        self.objs = {objects.key_of(o, objects.gvk_of(o)): copy.deepcopy(o) for o in objs}
        self.writes: list[tuple[str, str]] = []
        self.statuses: list[objects.Obj] = []
        self.trouble: dict[str, Exception] = {}

    def get(self, key: objects.ObjectKey) -> objects.Obj | None:
        self._maybe_raise("get")
        return copy.deepcopy(self.objs.get(key))

    def add_finalizer(self, key: objects.ObjectKey, name: str) -> objects.Obj | None:
        self._maybe_raise("add_finalizer")
        obj = self.objs.get(key)
        if obj is None or objects.is_deleted(obj):
            return None
        obj["metadata"]["finalizers"] = [*objects.finalizers(obj), name]
        self.writes.append(("finalizer added", key.name))
        return copy.deepcopy(obj)

    def remove_finalizer(self, key: objects.ObjectKey, name: str, uid: str) -> None:
        self._maybe_raise("remove_finalizer")
        obj = self.objs.get(key)
        if obj is not None and name in objects.finalizers(obj) and objects.uid(obj) == uid:
            obj["metadata"]["finalizers"].remove(name)
            self.writes.append(("finalizer removed", key.name))
            self._collect(key)

    def update_status(
        self, key: objects.ObjectKey, compute: Callable[[objects.Obj], objects.Obj]
    ) -> objects.Obj | None:
        self._maybe_raise("update_status")
        obj = self.objs.get(key)
        if obj is None:
            return None
        new = compute(copy.deepcopy(obj))
        if new != objects.status(obj):
            obj["status"] = copy.deepcopy(new)
            self.statuses.append(new)
            self.writes.append(("status", key.name))
        return copy.deepcopy(obj)

    def edit(self, key: objects.ObjectKey, **spec: Any) -> objects.Obj:
        """Change the spec as a person does."""
        obj = self.objs[key]
        obj["spec"] = {**obj["spec"], **spec}
        obj["metadata"]["generation"] += 1
        return copy.deepcopy(obj)

    def delete(self, key: objects.ObjectKey) -> None:
        """Delete as a person does: finalizers keep the object."""
        metadata = self.objs[key]["metadata"]
        metadata["deletionTimestamp"] = NOW
        metadata["generation"] += 1
        self._collect(key)

    def _collect(self, key: objects.ObjectKey) -> None:
        obj = self.objs[key]
        if objects.is_deleted(obj) and not objects.finalizers(obj):
            del self.objs[key]

    def _maybe_raise(self, method: str) -> None:
        if method in self.trouble:
            raise self.trouble[method]


class FakeRunner:
    """Gives scripted results in turn (then successes); ``during`` happens while a run is active."""

    def __init__(self, *results: run.RunResult) -> None:
        self.results = list(results)
        self.requests: list[run.RunRequest] = []
        self.forgotten: list[objects.ObjectKey] = []
        self.during: Callable[[run.RunRequest, threading.Event], object] = nothing

    def run(self, request: run.RunRequest, *, cancel: threading.Event) -> run.RunResult:
        self.requests.append(copy.deepcopy(request))
        self.during(request, cancel)
        if cancel.is_set():
            return run.RunResult(run.Outcome.CANCELLED)
        return self.results.pop(0) if self.results else succeeded()

    def forget(self, key: objects.ObjectKey) -> None:
        self.forgotten.append(key)
