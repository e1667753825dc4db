"""The loop of the stand-ins: which objects have to be looked at, one after another.

A change only says where to look; what to do follows from the state alone. An object stands in the
queue at most once, and what fails is tried again after ever longer pauses.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from ansible_operator.sandbox import dependents, failure, garbage, kinds, namespaces, storage
from ansible_operator.sandbox.standins import cluster, events, roster

if TYPE_CHECKING:
    from ansible_operator.sandbox import local

Name = tuple[str, str]
Later = Callable[[float, Callable[[], None]], object]

TURN = 5
"""How many objects are looked at before requests get their turn."""
PAUSE, LONGEST_PAUSE = 0.05, 5.0
SHORTEST_WAIT = 0.001
_log = logging.getLogger(__name__)


class Worker(Protocol):
    """A controller: what it wants to look at after a change, and what it does then."""

    def touched(self, change: storage.Change) -> Iterable[Any]:
        """Where to look because of a change."""

    def sync(self, place: Any) -> float | None:
        """Look; the answer is after how many seconds to look again."""


class Controllers:
    """All stand-ins of a sandbox, at work from now on.

    ``later`` calls a function on the loop in so many seconds, ``now`` tells the time, ``ca`` is
    the PEM text of the authority that namespaces are told of.
    """

    def __init__(
        self,
        api: local.Local,
        store: storage.Storage,
        later: Later,
        now: Callable[[], datetime],
        ca: str = "",
    ) -> None:
        self._later = later
        self._index = dependents.Dependents(store)
        recorder = events.Recorder(api, now)
        self._seen = cluster.Cluster(api, store, self._index, recorder, now, ca)
        self._queue: dict[tuple[Worker, Any], None] = {}
        self._due: dict[tuple[Worker, Any], datetime] = {}
        self._failures: dict[tuple[Worker, Any], int] = {}
        self._running = False
        self._everywhere: list[Worker] = [
            garbage.Collector(api, store, self._index),
            namespaces.Lifecycle(self._seen),
        ]
        self._listening: dict[kinds.Key, list[Worker]] = {}
        for standin in roster.STANDINS:
            worker = _Worker(standin, self._seen)
            for key in {standin.key, *standin.children, *standin.related}:
                self._listening.setdefault(key, []).append(worker)
        store.subscribe(self._note)

    def _note(self, change: storage.Change) -> None:
        self._index.note(change)
        for worker in (*self._listening.get(change.key, ()), *self._everywhere):
            for place in worker.touched(change):
                self._add((worker, place))
        if change.type == "DELETED":
            self._seen.forget(change.object["metadata"]["uid"])

    def _add(self, item: tuple[Worker, Any]) -> None:
        self._queue[item] = None
        if not self._running:
            self._running = True
            self._later(0, self._work)

    def _work(self) -> None:
        """Look at some of the objects, then let others have their turn."""
        for _ in range(min(TURN, len(self._queue))):
            item = next(iter(self._queue))
            del self._queue[item]
            self._look(item)
        self._running = bool(self._queue)
        if self._running:
            self._later(0, self._work)

    def _look(self, item: tuple[Worker, Any]) -> None:
        worker, place = item
        try:
            wait = worker.sync(place)
        except failure.ApiFailure as refused:
            _log.debug("%s: %s", place, refused.message)
            wait = self._pause(item)
        except Exception:
            if item not in self._failures:
                _log.exception("a stand-in failed at %s", place)
            wait = self._pause(item)
        else:
            self._failures.pop(item, None)
        if wait is not None:
            self._again(item, wait)

    def _pause(self, item: tuple[Worker, Any]) -> float:
        count = self._failures[item] = self._failures.get(item, 0) + 1
        return float(min(PAUSE * 2.0 ** min(count, 10), LONGEST_PAUSE))

    def _again(self, item: tuple[Worker, Any], seconds: float) -> None:
        """Look again later; of several times the earliest counts."""
        if seconds == float("inf"):
            return
        if seconds <= 0:
            self._add(item)
            return
        seconds = max(seconds, SHORTEST_WAIT)  # what rounding leaves is no time at all
        when = self._seen.now() + timedelta(seconds=seconds)
        if item in self._due and self._due[item] <= when:
            return
        self._due[item] = when

        def ring() -> None:
            if self._due.get(item) == when:
                del self._due[item]
                self._add(item)

        self._later(seconds, ring)


class _Worker:
    """A stand-in on its cluster."""

    def __init__(self, standin: roster.Standin, seen: cluster.Cluster) -> None:
        self._standin = standin
        self._seen = seen
        key = standin.key
        self._resource = f"{key[1]}.{key[0]}" if key[0] else key[1]

    def touched(self, change: storage.Change) -> Iterable[Name]:
        """Its object, the controller of its child, or what is related to another object."""
        meta = change.object["metadata"]
        if change.key == self._standin.key:
            yield (meta.get("namespace", ""), meta["name"])
        if change.key in self._standin.children:
            yield from self._parents(change, meta.get("namespace", ""))
        if related := self._standin.related.get(change.key):
            yield from related(self._seen, change.object)
            if change.old is not None and change.type == "MODIFIED":
                yield from related(self._seen, change.old)

    def _parents(self, change: storage.Change, namespace: str) -> Iterable[Name]:
        owners = [dependents.controller(obj) for obj in (change.object, change.old) if obj]
        for owner in owners:
            if owner is not None and owner["kind"] == self._standin.kind:
                yield (namespace, owner["name"])
        if owners[0] is None and change.key in dependents.ADOPTABLE:
            for obj in self._seen.local.list(self._resource, namespace):
                yield (namespace, obj["metadata"]["name"])

    def sync(self, place: Name) -> float | None:
        """Look at an object."""
        obj = self._seen.local.get(self._resource, *place)
        if obj is not None:
            return self._standin.sync(self._seen, obj)
        if self._standin.gone is not None:
            self._standin.gone(self._seen, *place)
        return None
