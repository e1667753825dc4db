"""Which generation of an object was run with success, for objects that are run once for each."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_operator import objects
from ansible_operator.control import orders, outcome


@dataclass(frozen=True, slots=True)
class _Done:
    uid: str
    generation: int
    forced: str


class Generations:
    """Tells whether an object is settled: by its status, and where that cannot tell by memory.

    A status cannot tell where the schema drops ``observedGeneration`` or the operator does not
    write it. Memory ends with the process. Safe to use from several threads, one per object.
    """

    def __init__(self) -> None:
        self._done: dict[objects.ObjectKey, _Done] = {}

    def note(self, key: objects.ObjectKey, obj: objects.Obj, *, settled: bool) -> None:
        """A run of the object, as it was then, has come to an end that is final, or has not."""
        if settled and objects.generation(obj):
            self._done[key] = _done(obj)
        else:
            self._done.pop(key, None)

    def is_settled(self, key: objects.ObjectKey, obj: objects.Obj) -> bool:
        """Whether the last run was for exactly this generation, and all that is asked for."""
        return outcome.is_settled(obj) or self._done.get(key) == _done(obj)

    def forget(self, key: objects.ObjectKey) -> None:
        """The object is gone."""
        self._done.pop(key, None)


def _done(obj: objects.Obj) -> _Done:
    return _Done(objects.uid(obj), objects.generation(obj), orders.read(obj).force)
