"""The objects, in memory: one revision counter, ordered keys, and the changes that watches read.

An object in the storage is never changed in place: who wants another one puts another one.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sortedcontainers import SortedDict

from ansible_operator.sandbox import kinds

Obj = dict[str, Any]
Name = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""

HISTORY = 20_000
"""Changes of one resource that are kept for watches; those that are further behind answer 410."""

ROOM = 32 * 1024 * 1024
"""About how many bytes the objects of these changes may take together."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened: ``type`` ADDED, MODIFIED or DELETED; ``old`` is what was there before.

    The object of a DELETED change carries the revision of its removal.
    """

    type: str
    key: kinds.Key
    object: Obj
    old: Obj | None
    revision: int
    size: int


Changes = list[Change]


class _Shelf:
    """The objects of one resource and its latest changes, those after the revision ``since``."""

    def __init__(self, since: int) -> None:
        self.objects: SortedDict = SortedDict()
        self.changes: deque[Change] = deque()
        self.since = since
        self._size = 0

    def note(self, change: Change, history: int, room: int) -> None:
        """Keep a change, and forget the oldest ones where they are too many or too large."""
        self.changes.append(change)
        self._size += change.size
        while len(self.changes) > 1 and (len(self.changes) > history or self._size > room):
            oldest = self.changes.popleft()
            self._size -= oldest.size
            self.since = oldest.revision


class Storage:
    """All objects. ``revision`` is that of the latest change."""

    def __init__(self, history: int = HISTORY, room: int = ROOM) -> None:
        self.revision = 1
        self._history = history
        self._room = room
        self._shelves: dict[kinds.Key, _Shelf] = {}
        self._watchers: list[Callable[[Change], None]] = []
        self._closers: list[Callable[[kinds.Key], None]] = []

    def open(self, key: kinds.Key) -> None:
        """Begin the history of a resource; watches from before are too old."""
        self._shelves[key] = _Shelf(self.revision)

    def close(self, key: kinds.Key) -> None:
        """End the watches of a resource, and forget it and its history."""
        if key in self._shelves:
            self.end_watches(key)
            del self._shelves[key]

    def end_watches(self, key: kinds.Key) -> None:
        """Tell those who watch a resource that nothing more comes; they may watch it again."""
        for closed in tuple(self._closers):
            closed(key)

    def get(self, key: kinds.Key, namespace: str, name: str) -> Obj | None:
        """An object, not to be changed; None where there is none."""
        found: Obj | None = self._shelf(key).objects.get((namespace, name))
        return found

    def list(self, key: kinds.Key, namespace: str = "", after: Name = ("", "")) -> Iterator[Obj]:
        """The objects of a resource, or of one namespace of it, in the order of their names.

        Only those that come after ``after``. The storage must not change while it is read.
        """
        objects = self._shelf(key).objects
        start = max(after, (namespace, ""))
        for at in objects.irange(start, inclusive=(False, False)):
            if namespace and at[0] != namespace:
                return
            yield objects[at]

    def count(self, key: kinds.Key) -> int:
        """How many objects a resource has."""
        return len(self._shelf(key).objects)

    def put(self, key: kinds.Key, obj: Obj) -> Obj:
        """Store an object under its namespace and name; the answer has its resourceVersion."""
        self.revision += 1
        stored = _at(obj, self.revision)
        meta = stored["metadata"]
        name = (meta.get("namespace", ""), meta["name"])
        shelf = self._shelf(key)
        old = shelf.objects.get(name)
        shelf.objects[name] = stored
        self._tell(shelf, "MODIFIED" if old else "ADDED", key, stored, old)
        return stored

    def revise(self, key: kinds.Key, change: Callable[[Obj], Obj]) -> None:
        """Keep all objects of a resource as they are to be read from now on.

        To clients that is no change: nobody is told, and the resourceVersions stay.
        """
        objects = self._shelf(key).objects
        for name, obj in objects.items():
            objects[name] = change(obj)

    def remove(self, key: kinds.Key, namespace: str, name: str) -> Obj:
        """Take an object out; the answer is its last state with the revision of the removal."""
        shelf = self._shelf(key)
        old = shelf.objects.pop((namespace, name))
        self.revision += 1
        last = _at(old, self.revision)
        self._tell(shelf, "DELETED", key, last, old)
        return last

    def since(self, key: kinds.Key, revision: int) -> Changes | None:
        """The changes after a revision; None when some of them are not kept any more."""
        shelf = self._shelf(key)
        if revision < shelf.since:
            return None
        later = itertools.takewhile(lambda c: c.revision > revision, reversed(shelf.changes))
        return [*later][::-1]

    def oldest(self, key: kinds.Key) -> int:
        """The revision after which all changes of a resource are kept."""
        return self._shelf(key).since

    def subscribe(
        self,
        watcher: Callable[[Change], None],
        closed: Callable[[kinds.Key], None] | None = None,
    ) -> Callable[[], None]:
        """Call ``watcher`` with every change, until the function that is returned is called.

        It is called within the write: it may note the change, and must not write itself.
        ``closed`` is called when the watches of a resource end.
        """
        self._watchers.append(watcher)
        if closed:
            self._closers.append(closed)

        def cancel() -> None:
            self._watchers.remove(watcher)
            if closed:
                self._closers.remove(closed)

        return cancel

    def _tell(self, shelf: _Shelf, kind: str, key: kinds.Key, obj: Obj, old: Obj | None) -> None:
        change = Change(kind, key, obj, old, self.revision, _size(obj))
        shelf.note(change, self._history, self._room)
        for watcher in tuple(self._watchers):
            watcher(change)

    def _shelf(self, key: kinds.Key) -> _Shelf:
        if key not in self._shelves:
            self._shelves[key] = _Shelf(0)
        return self._shelves[key]


def _at(obj: Obj, revision: int) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}


def _size(value: Any) -> int:
    """About how many bytes a value takes in memory."""
    if isinstance(value, str):
        return 50 + len(value)
    if isinstance(value, dict):
        return 200 + sum(60 + _size(item) for item in value.values())
    if isinstance(value, list):
        return 60 + sum(8 + _size(item) for item in value)
    return 30
