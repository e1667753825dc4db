"""Events: written for what happened to an object, counted up when it happens again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ansible_operator.sandbox import failure

if TYPE_CHECKING:
    from ansible_operator.sandbox import local

Obj = dict[str, Any]
NORMAL, WARNING = "Normal", "Warning"
REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Recorder:
    """Writes events. The names of the latest are remembered, to count repetitions."""

    local: local.Local
    now: Callable[[], datetime]
    _names: dict[tuple[str, ...], str] = field(default_factory=dict)
    _serial: Iterator[int] = field(default_factory=itertools.count)

    def record(self, about: Obj, kind: str, reason: str, message: str, component: str) -> None:
        """Tell what a controller did. An event that cannot be stored is lost, as in a cluster."""
        identity = (about["metadata"]["uid"], kind, reason, message, component)
        try:
            if not self._repeat(about, identity):
                self._first(about, identity)
        except failure.ApiFailure:
            return

    def record_binding(self, pod: Obj, kind: str, reason: str, message: str) -> None:
        """Tell what the scheduler did, in the newer form that it uses."""
        event = self._frame(pod, kind, reason, message) | {
            "action": "Binding" if kind == NORMAL else "Scheduling",
            "eventTime": self.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingComponent": "default-scheduler",
            "reportingInstance": "default-scheduler-sandbox",
        }
        try:
            self.local.create("events", event)
        except failure.ApiFailure:
            return

    def _repeat(self, about: Obj, identity: tuple[str, ...]) -> bool:
        name = self._names.get(identity)
        found = self.local.get("events", _namespace(about), name) if name else None
        if found is None:
            return False
        more = {"count": found.get("count", 1) + 1, "lastTimestamp": self._stamp()}
        self.local.update("events", {**found, **more})
        return True

    def _first(self, about: Obj, identity: tuple[str, ...]) -> None:
        _, kind, reason, message, component = identity
        event = self._frame(about, kind, reason, message) | {
            "count": 1,
            "firstTimestamp": self._stamp(),
            "lastTimestamp": self._stamp(),
            "reportingComponent": component,
            "reportingInstance": "",
            "source": {"component": component},
        }
        self.local.create("events", event)
        self._names[identity] = event["metadata"]["name"]
        if len(self._names) > REMEMBERED:
            del self._names[next(iter(self._names))]

    def _frame(self, about: Obj, kind: str, reason: str, message: str) -> Obj:
        meta = about["metadata"]
        serial = f"{int(self.now().timestamp() * 1e6) * 1000 + next(self._serial):x}"
        involved = {
            "kind": about["kind"],
            "namespace": meta.get("namespace", ""),
            "name": meta["name"],
            "uid": meta["uid"],
            "apiVersion": about["apiVersion"],
            "resourceVersion": meta["resourceVersion"],
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{meta['name']}.{serial}", "namespace": _namespace(about)},
            "involvedObject": {name: value for name, value in involved.items() if value},
            "type": kind,
            "reason": reason,
            "message": message,
        }

    def _stamp(self) -> str:
        return self.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _namespace(about: Obj) -> str:
    return str(about["metadata"].get("namespace") or "default")
