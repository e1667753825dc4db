"""The work queue: which object is reconciled next.

A key stands in the queue at most once. Adding it again merges: the better priority and the
earlier time win, so an edit during a retry delay is served now, and twenty edits are one. Only a
check counts for nothing beside anything else: it neither hastens a run nor becomes one. A key
that is being served is never handed out a second time; what is added meanwhile comes after
:meth:`WorkQueue.done`. Among keys whose time has come the better priority is first, then the one
that waits longer; a kind that has as many active keys as it may is passed over, it blocks nobody.
"""

from __future__ import annotations

import collections
import heapq
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from ansible_operator import objects
from ansible_operator.control.priority import Priority as Priority  # users say queue.Priority

_LONGEST_WAIT = 3600.0  # a lock cannot wait for as long as a Go duration can be
_COMPACT_SLACK = 64


@dataclass(frozen=True, slots=True)
class _Entry:
    """One key in the queue. ``due`` is its time; ``ready`` says that the time has come."""

    key: objects.ObjectKey
    priority: Priority
    due: float
    ready: bool = False


_Heap: TypeAlias = "list[tuple[float, int, _Entry]]"


class WorkQueue:
    """Thread-safe. ``cap`` tells how many keys of a kind may be active, ``total`` how many in all.

    ``clock`` is a monotonic clock in seconds.
    """

    def __init__(
        self,
        cap: Callable[[objects.GVK], int],
        total: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cap = cap
        self._total = total
        self._clock = clock
        self._changed = threading.Condition()
        self._closed = False
        self._count = 0
        self._entries: dict[objects.ObjectKey, _Entry] = {}
        # The heaps keep entries that were replaced since; those are skipped when they surface.
        self._delayed: _Heap = []  # by time
        self._ready: dict[objects.GVK, _Heap] = {}  # by priority, then first come
        self._active: dict[objects.ObjectKey, tuple[float, Priority]] = {}
        self._active_kinds: collections.Counter[objects.GVK] = collections.Counter()
        self._dirty: dict[objects.ObjectKey, _Entry] = {}  # active keys that were added again

    def add(self, key: objects.ObjectKey, priority: Priority, delay: float = 0.0) -> None:
        """Ask for ``key`` to be served in ``delay`` seconds; ignored after :meth:`shutdown`."""
        with self._changed:
            if self._closed:
                return
            new = _Entry(key, priority, self._clock() + max(0.0, delay))
            if key in self._active:
                self._dirty[key] = _merged(self._dirty.get(key), new)
            else:
                self._insert(_merged(self._entries.get(key), new))
            self._changed.notify_all()

    def poll(self, now: float) -> objects.ObjectKey | None:
        """The key to serve at the time ``now``, from then on active; None if there is none."""
        with self._changed:
            return self._take(now)

    def get(self, timeout: float | None = None) -> objects.ObjectKey | None:
        """Like :meth:`poll`, but wait up to ``timeout`` seconds (None: for ever).

        None means that the time is up or that the queue was shut down.
        """
        with self._changed:
            deadline = None if timeout is None else self._clock() + timeout
            while not self._closed:
                now = self._clock()
                key = self._take(now)
                if key is not None:
                    return key
                if deadline is not None and deadline <= now:
                    return None
                self._changed.wait(self._patience(now, deadline))
        return None

    def done(self, key: objects.ObjectKey) -> None:
        """End the service of an active key; what was added meanwhile is queued now."""
        with self._changed:
            del self._active[key]
            self._active_kinds[key.gvk] -= 1
            again = self._dirty.pop(key, None)
            if again is not None:
                self._insert(again)
            self._changed.notify_all()

    def shutdown(self) -> None:
        """Hand out nothing any more and wake everybody who waits; active keys may end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def active(self) -> dict[objects.ObjectKey, float]:
        """The keys that are being served, each with the seconds since it was handed out."""
        with self._changed:
            now = self._clock()
            return {key: now - since for key, (since, _) in self._active.items()}

    def priority(self, key: objects.ObjectKey) -> Priority:
        """With which priority an active key was handed out."""
        with self._changed:
            return self._active[key][1]

    def _insert(self, entry: _Entry) -> None:
        if self._entries.get(entry.key) == entry:
            return
        self._entries[entry.key] = entry
        if entry.ready:
            self._push(self._ready.setdefault(entry.key.gvk, []), float(entry.priority), entry)
        else:
            self._push(self._delayed, entry.due, entry)
            self._compact()

    def _push(self, heap: _Heap, rank: float, entry: _Entry) -> None:
        self._count += 1
        heapq.heappush(heap, (rank, self._count, entry))

    def _promote(self, now: float) -> None:
        """Move what is due from the delayed to the ready; the order of their times is kept."""
        while self._delayed and self._delayed[0][0] <= now:
            entry = heapq.heappop(self._delayed)[2]
            if self._entries.get(entry.key) is entry:
                self._insert(replace(entry, ready=True))

    def _compact(self) -> None:
        """Drop replaced timers, which an often edited object would pile up for a whole period."""
        if len(self._delayed) > 2 * len(self._entries) + _COMPACT_SLACK:
            self._delayed = [i for i in self._delayed if self._entries.get(i[2].key) is i[2]]
            heapq.heapify(self._delayed)

    def _take(self, now: float) -> objects.ObjectKey | None:
        self._promote(now)
        if self._closed or len(self._active) >= self._total:
            return None
        heads = [(heap[0], heap) for heap in self._open_heaps()]
        if not heads:
            return None
        _, heap = min(heads, key=lambda pair: pair[0][:2])
        entry = heapq.heappop(heap)[2]
        del self._entries[entry.key]
        self._active[entry.key] = (now, entry.priority)
        self._active_kinds[entry.key.gvk] += 1
        return entry.key

    def _open_heaps(self) -> list[_Heap]:
        """The ready heaps of kinds below their cap, each with a valid entry on top."""
        for gvk, heap in list(self._ready.items()):
            while heap and self._entries.get(heap[0][2].key) is not heap[0][2]:
                heapq.heappop(heap)
            if not heap:
                del self._ready[gvk]
        return [h for gvk, h in self._ready.items() if self._active_kinds[gvk] < self._cap(gvk)]

    def _patience(self, now: float, deadline: float | None) -> float:
        """Seconds until the next timer or the deadline, whichever is first."""
        times = [heap[0] for heap in self._delayed[:1]]
        if deadline is not None:
            times.append(deadline)
        return min([_LONGEST_WAIT, *(time - now for time in times)])


def _merged(old: _Entry | None, new: _Entry) -> _Entry:
    if old is None:
        return new
    if Priority.CHECK in (old.priority, new.priority):
        return min(old, new, key=lambda entry: (entry.priority, entry.due))
    return replace(old, priority=min(old.priority, new.priority), due=min(old.due, new.due))
