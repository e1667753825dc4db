"""What stand-ins have in common: how they see the cluster and how they act on it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ansible_operator.sandbox import dependents, kinds, storage
from ansible_operator.sandbox.standins import events

if TYPE_CHECKING:
    from ansible_operator.sandbox import local

Obj = dict[str, Any]
Objects = list[Obj]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster for stand-ins. ``ca`` is what kube-root-ca.crt holds.

    ``turns`` and ``addresses`` number what pods get: nodes and addresses.
    """

    local: local.Local
    storage: storage.Storage
    dependents: dependents.Dependents
    recorder: events.Recorder
    now: Callable[[], datetime]
    ca: str = ""
    turns: Iterator[int] = field(default_factory=itertools.count)
    addresses: Iterator[int] = field(default_factory=itertools.count)
    _since: dict[str, dict[str, datetime]] = field(default_factory=dict)

    def stamp(self) -> str:
        """The time as objects carry it."""
        return self.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def elapsed(self, obj: Obj, what: str) -> float:
        """Seconds since this was asked first about this object; timestamps are too coarse."""
        asked = self._since.setdefault(obj["metadata"]["uid"], {})
        return (self.now() - asked.setdefault(what, self.now())).total_seconds()

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self._since.pop(uid, None)

    def wait(self, since: str, seconds: float) -> float:
        """How many seconds are left until a time that lies ``seconds`` after a timestamp."""
        return (parse(since) + timedelta(seconds=seconds) - self.now()).total_seconds()

    def set_status(self, resource: str, obj: Obj, status: Obj) -> Obj:
        """Write the status, if it is another one."""
        if status == obj.get("status"):
            return obj
        return self.local.update_status(resource, {**obj, "status": status})

    def set_meta(self, resource: str, obj: Obj, **fields: Any) -> Obj:
        """Write fields of the metadata; an empty one is removed."""
        meta = {name: value for name, value in {**obj["metadata"], **fields}.items() if value}
        return self.local.update(resource, {**obj, "metadata": meta})

    def normal(self, about: Obj, reason: str, message: str, component: str) -> None:
        """Write an event."""
        self.recorder.record(about, events.NORMAL, reason, message, component)

    def warn(self, about: Obj, reason: str, message: str, component: str) -> None:
        """Write a warning event."""
        self.recorder.record(about, events.WARNING, reason, message, component)

    def claim(self, owner: Obj, key: kinds.Key, selects: Callable[[Obj], bool]) -> Objects:
        """The objects that ``owner`` controls, after it adopted and released what it must."""
        meta = owner["metadata"]
        resource = f"{key[1]}.{key[0]}" if key[0] else key[1]
        found = []
        for obj in self.dependents.of(meta["uid"], key):
            reference = dependents.controller(obj)
            if reference is None or reference["uid"] != meta["uid"]:
                continue
            if selects(obj):
                found.append(obj)
            elif "deletionTimestamp" not in obj["metadata"]:
                rest = [r for r in obj["metadata"]["ownerReferences"] if r["uid"] != meta["uid"]]
                self.set_meta(resource, obj, ownerReferences=rest)
        if "deletionTimestamp" in meta:
            return found
        for obj in self.dependents.free(key, meta["namespace"]):
            if selects(obj) and "deletionTimestamp" not in obj["metadata"]:
                references = [*obj["metadata"].get("ownerReferences", ()), reference_to(owner)]
                found.append(self.set_meta(resource, obj, ownerReferences=references))
        return found


def reference_to(owner: Obj) -> Obj:
    """The owner reference of what ``owner`` controls."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def parse(stamp: str) -> datetime:
    """The time of a timestamp."""
    return datetime.fromisoformat(stamp.replace("Z", "+00:00"))


def sooner(*seconds: float | None) -> float | None:
    """The least of those that are given."""
    given = [found for found in seconds if found is not None]
    return min(given) if given else None


def without_zeros(fields: Obj) -> Obj:
    """The fields that are written: those that are not empty."""
    return {name: value for name, value in fields.items() if value or value is False}


def scaled(value: int | str | None, total: int, *, up: bool) -> int:
    """A number, or a percentage of ``total``, rounded up or down."""
    if isinstance(value, str) and value.endswith("%"):
        share = int(value[:-1]) * total / 100
        return math.ceil(share) if up else math.floor(share)
    return int(value or 0)
