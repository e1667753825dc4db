"""The objects of one kind as the API server last told them, and how they differ from then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from ansible_operator import children

_Key: TypeAlias = tuple[str, str]


class Store:
    """What is known of the objects of a kind. Not thread-safe; one informer's thread has it.

    Every change of it is reported; who replays the reports has what the store has.
    """

    def __init__(self, kind: children.ChildKind) -> None:
        self._kind = kind
        self._known: dict[str, dict[str, children.Digest]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._known.values()))

    def __iter__(self) -> Iterator[children.Digest]:
        for inside in self._known.values():
            yield from inside.values()

    def present(self) -> list[children.Change]:
        """What someone who comes later is told first."""
        return [self._added(known, initial=True) for known in self]

    def happened(self, event: children.Event, new: children.Digest) -> list[children.Change]:
        """Take over an event of a watch; nothing is reported if the object is known like that."""
        old = self._find(_key(new))
        if event is not children.Event.DELETED:
            return self._put(old, new, initial=False)
        if old is None or old.uid != new.uid:  # another one of that name is there meanwhile
            return []
        return [self._gone(old, new)]

    def listed(
        self, namespace: str, items: Iterable[children.Digest], *, initial: bool = False
    ) -> list[children.Change]:
        """Take over a whole list of a namespace, of the cluster if it is empty.

        What vanished is reported first.
        """
        fresh = {_key(item): item for item in items}
        places = [namespace] if namespace else list(self._known)
        vanished = [
            known
            for place in places
            for known in self._known.get(place, {}).values()
            if _key(known) not in fresh
        ]
        changes = [self._gone(old, old) for old in vanished]
        for key, new in fresh.items():
            changes += self._put(self._find(key), new, initial=initial)
        return changes

    def _put(
        self, old: children.Digest | None, new: children.Digest, *, initial: bool
    ) -> list[children.Change]:
        if old is not None and old.uid != new.uid:
            return [self._gone(old, old), *self._put(None, new, initial=initial)]
        if old is not None and old.resource_version == new.resource_version:
            return []
        self._known.setdefault(new.namespace, {})[new.name] = new
        if old is None:
            return [self._added(new, initial=initial)]
        return [children.Change(self._kind, children.Event.MODIFIED, old, new)]

    def _gone(self, old: children.Digest, last: children.Digest) -> children.Change:
        inside = self._known[old.namespace]
        del inside[old.name]
        if not inside:
            del self._known[old.namespace]
        return children.Change(self._kind, children.Event.DELETED, old, last)

    def _added(self, new: children.Digest, *, initial: bool) -> children.Change:
        return children.Change(self._kind, children.Event.ADDED, None, new, initial)

    def _find(self, key: _Key) -> children.Digest | None:
        return self._known.get(key[0], {}).get(key[1])


def _key(digest: children.Digest) -> _Key:
    return digest.namespace, digest.name
