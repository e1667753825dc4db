"""Who belongs to whom: an index of owner references, kept by the changes of the storage."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import kinds, storage

Obj = dict[str, Any]
Objects = list[Obj]
Place = tuple[kinds.Key, str, str]
"""Where an object is: the key of its resource, its namespace and its name."""

ADOPTABLE = (("", "pods"), ("apps", "replicasets"), ("apps", "controllerrevisions"))
"""What a controller takes over when nobody controls it and its labels are selected."""


class Dependents:
    """The objects of every owner, and those that a controller could adopt."""

    def __init__(self, store: storage.Storage) -> None:
        self._storage = store
        self._owned: dict[str, dict[Place, None]] = {}
        self._free: dict[tuple[kinds.Key, str], dict[str, None]] = {}

    def note(self, change: storage.Change) -> None:
        """Follow a change."""
        meta = change.object["metadata"]
        place = (change.key, meta.get("namespace", ""), meta["name"])
        now = set() if change.type == "DELETED" else _owners(change.object)
        before = _owners(change.old) if change.old else set()
        for uid in before - now:
            self._forget(uid, place)
        for uid in now - before:
            self._owned.setdefault(uid, {})[place] = None
        if change.key in ADOPTABLE:
            self._note_free(change, place)

    def of(self, uid: str, key: kinds.Key | None = None) -> Objects:
        """The objects that name this owner, of one resource or of all."""
        places = [place for place in self.places(uid) if key in (None, place[0])]
        found = (self._storage.get(*place) for place in places)
        return [obj for obj in found if obj is not None]

    def places(self, uid: str) -> list[Place]:
        """Where the objects are that name this owner."""
        return list(self._owned.get(uid, ()))

    def free(self, key: kinds.Key, namespace: str) -> Objects:
        """The objects of an adoptable resource that nobody controls."""
        names = self._free.get((key, namespace), ())
        found = (self._storage.get(key, namespace, name) for name in names)
        return [obj for obj in found if obj is not None]

    def _note_free(self, change: storage.Change, place: Place) -> None:
        key, namespace, name = place
        if change.type != "DELETED" and controller(change.object) is None:
            self._free.setdefault((key, namespace), {})[name] = None
        elif (key, namespace) in self._free:
            self._free[key, namespace].pop(name, None)

    def _forget(self, uid: str, place: Place) -> None:
        places = self._owned[uid]
        places.pop(place, None)
        if not places:
            del self._owned[uid]


def controller(obj: Obj) -> Obj | None:
    """The owner reference of the one that controls the object."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((found for found in references if found.get("controller")), None)


def _owners(obj: Obj) -> set[str]:
    return {found["uid"] for found in obj["metadata"].get("ownerReferences") or ()}
