"""What the runs of one object have written, so that their echo is told from foreign changes.

A write is recognised by the resourceVersion that the API server gave to it, a deletion by the uid
of what was deleted. Pure: the clock is an argument, in seconds; not thread-safe.

What cannot be told: a write that changes nothing has the resourceVersion of the change before it.
If that was made by somebody else during the same run, it counts as the run's: the run has seen it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from ansible_operator import children

KEEP = 300.0
"""Seconds after the end of a run for which its writes are remembered: news may come late."""

SETTLE = 5.0
"""Seconds after the end of a run for which deletions are still those of its deletecollection."""

LIMIT = 10_000
"""So many writes are remembered; of more the newest."""

_Mark: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sight:
    """What an informer has seen of an object. ``going``: its deletion was asked for, or is done."""

    group: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    going: bool = False
    gone: bool = False


class OwnWrites:
    """The writes of one object's runs; at most one run at a time."""

    def __init__(self) -> None:
        self._expiry: dict[_Mark, float] = {}
        self._running = False

    def __len__(self) -> int:
        return len(self._expiry)

    def begin(self) -> None:
        """A run begins: what it writes is remembered for as long as it lasts, and longer."""
        self._running = True

    def end(self, now: float) -> None:
        """The run has ended."""
        self._running = False
        for mark, expiry in self._expiry.items():
            if expiry == math.inf:
                self._expiry[mark] = now + _keep(mark)

    def wrote(self, write: children.Write, now: float) -> None:
        """Remember a write that the API server accepted."""
        gvk = write.kind.gvk
        if write.resource_version:
            which = (write.uid,) if write.uid else (gvk.group, gvk.kind)
            self._remember(("version", write.resource_version, *which), now)
        if write.verb == "deletecollection":
            self._remember(("all", gvk.group, gvk.kind, write.namespace), now)
        elif write.verb == "delete" and write.uid:
            self._remember(("uid", write.uid), now)
        elif write.verb == "delete":
            self._remember(("name", gvk.group, gvk.kind, write.namespace, write.name), now)

    def claims(self, sight: Sight, now: float) -> bool:
        """Whether what was seen is the doing of a run."""
        for which in ((sight.uid,), (sight.group, sight.kind)):
            if self._knows(("version", sight.resource_version, *which), now):
                return True
        return sight.going and self._claims_end(sight, now)

    def prune(self, now: float) -> None:
        """Forget what is too old."""
        self._expiry = {mark: at for mark, at in self._expiry.items() if at > now}

    def _claims_end(self, sight: Sight, now: float) -> bool:
        if self._knows(("uid", sight.uid), now):
            return True
        by_name = ("name", sight.group, sight.kind, sight.namespace, sight.name)
        swept = [("all", sight.group, sight.kind, namespace) for namespace in (sight.namespace, "")]
        if not any(self._knows(mark, now) for mark in (by_name, *swept)):
            return False
        if sight.gone:  # the next one of this name is another one
            self._expiry.pop(by_name, None)
        else:  # it may take long until the object is gone
            self._remember(("uid", sight.uid), now)
        return True

    def _knows(self, mark: _Mark, now: float) -> bool:
        return self._expiry.get(mark, -math.inf) > now

    def _remember(self, mark: _Mark, now: float) -> None:
        self._expiry.pop(mark, None)  # the newest is to be the last
        self._expiry[mark] = math.inf if self._running else now + _keep(mark)
        if len(self._expiry) > LIMIT:
            del self._expiry[next(iter(self._expiry))]


def _keep(mark: _Mark) -> float:
    return SETTLE if mark[0] == "all" else KEEP
