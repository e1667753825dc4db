"""Which objects name which others in their fields. Pure; not thread-safe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ansible_operator import objects


@dataclass(frozen=True, slots=True)
class Name:
    """An object that is named; ``namespace`` is empty where none is known."""

    gvk: objects.GVK
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class _Entry:
    names: frozenset[Name]
    since: int | None


class ReferenceIndex:
    """From named objects to those that name them.

    ``since`` of an object is the resourceVersion as of which its names are known, None for one
    that was there when listening began.
    """

    def __init__(self) -> None:
        self._entries: dict[objects.ObjectKey, _Entry] = {}
        self._naming: dict[tuple[objects.GVK, str], dict[objects.ObjectKey, set[str]]] = {}
        self._kinds: dict[tuple[objects.GVK, bool], int] = {}

    def put(self, key: objects.ObjectKey, names: Iterable[Name], since: int | None) -> None:
        """The object names exactly these; with the same ones as before nothing changes."""
        new = frozenset(names)
        old = self._entries.get(key)
        if old is not None and old.names == new:
            return
        self.drop(key)
        if not new:
            return
        self._entries[key] = _Entry(new, since)
        for name in new:
            namespaces = self._naming.setdefault((name.gvk, name.name), {}).setdefault(key, set())
            namespaces.add(name.namespace)
            counted = (name.gvk, bool(name.namespace))
            self._kinds[counted] = self._kinds.get(counted, 0) + 1

    def drop(self, key: objects.ObjectKey) -> None:
        """The object names nothing any more."""
        entry = self._entries.pop(key, None)
        for name in entry.names if entry else ():
            naming = self._naming.get((name.gvk, name.name), {})
            naming.pop(key, None)  # it may name two that differ in the namespace only
            if not naming:
                self._naming.pop((name.gvk, name.name), None)
            counted = (name.gvk, bool(name.namespace))
            self._kinds[counted] -= 1
            if not self._kinds[counted]:
                del self._kinds[counted]

    def retire(self, gvk: objects.GVK) -> None:
        """No object of the kind names anything any more."""
        for key in [key for key in self._entries if key.gvk == gvk]:
            self.drop(key)

    def kinds(self) -> frozenset[objects.GVK]:
        """The kinds of which an object is named."""
        return frozenset(gvk for gvk, _ in self._kinds)

    def placeless(self) -> frozenset[objects.GVK]:
        """The kinds of which an object is named without a namespace."""
        return frozenset(gvk for gvk, placed in self._kinds if not placed)

    def naming(
        self, name: Name, *, namespaced: bool
    ) -> Iterator[tuple[objects.ObjectKey, int | None]]:
        """The objects that name this one, each with its ``since``."""
        for key, namespaces in self._naming.get((name.gvk, name.name), {}).items():
            if not namespaced or name.namespace in namespaces:
                yield key, self._entries[key].since
