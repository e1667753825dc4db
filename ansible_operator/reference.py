"""Fields of an object that name another object, such as a Secret that it does not own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ansible_operator import fieldpath, objects

_At: TypeAlias = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """One entry of ``references``: the field ``path`` names an object of the kind ``gvk``.

    ``namespace`` is the field that names its namespace; without one, and where that field is
    empty, it is the namespace of the object that has the fields.
    """

    path: fieldpath.FieldPath
    gvk: objects.GVK
    namespace: fieldpath.FieldPath | None = None

    def named(self, obj: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The (namespace, name) of all that the object names; values that are no text are not."""
        own = objects.namespace(obj)
        spaces = dict(self._namespaces(obj))
        for found in self.path.find(obj):
            if isinstance(found.value, str) and found.value:
                yield self._nearest(spaces, found.at) or own, found.value

    def _namespaces(self, obj: Mapping[str, Any]) -> Iterator[tuple[_At, str]]:
        for found in self.namespace.find(obj) if self.namespace else ():
            if isinstance(found.value, str):
                yield found.at, found.value

    def _nearest(self, spaces: Mapping[_At, str], at: _At) -> str:
        """The namespace that stands beside the name in the same item of the same list."""
        count = 0 if self.namespace is None else self.namespace.steps.count(None)
        return spaces.get(at[:count], "")


def belongs(namespace: fieldpath.FieldPath, path: fieldpath.FieldPath) -> bool:
    """Whether each ``[*]`` of the namespace is one of the path, so that both mean one item."""
    head = namespace.head()
    return path.steps[: len(head)] == head
