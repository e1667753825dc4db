"""Garbage collection by owner references: in the background, in the foreground, or not at all.

An object is deleted when all its owners are gone. An owner that is deleted in the foreground stays
until those of its dependents are gone that block its deletion; one that orphans them stays until
they name it no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ansible_operator.sandbox import dependents, kinds, storage

if TYPE_CHECKING:
    from ansible_operator.sandbox import local

Obj = dict[str, Any]
References = list[Obj]
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
UNKNOWN_KIND_PAUSE = 10.0
"""Seconds until an owner of a kind that is not served is looked for again."""


class Collector:
    """The collector of all resources; see ``controllers.Worker``."""

    def __init__(
        self, api: local.Local, store: storage.Storage, index: dependents.Dependents
    ) -> None:
        self._local = api
        self._storage = store
        self._index = index

    def touched(self, change: storage.Change) -> Iterable[dependents.Place]:
        """The object, if who owns it or how it is deleted changed, and whom that concerns."""
        meta = change.object["metadata"]
        here = (change.key, meta.get("namespace", ""), meta["name"])
        owners = _references(change.object)
        before = _references(change.old) if change.old else []
        if change.type == "DELETED":
            yield from self._index.places(meta["uid"])
            yield from self._owners(change.object, before)
        elif owners != before or _deletion(change.object) != _deletion(change.old):
            if owners or "deletionTimestamp" in meta:
                yield here
            if before:
                yield from self._owners(change.object, before)

    def sync(self, place: dependents.Place) -> float | None:
        """Delete an object that nobody owns any more, or bring the deletion of one forward."""
        obj = self._storage.get(*place)
        if obj is None:
            return None
        meta = obj["metadata"]
        if "deletionTimestamp" not in meta:
            return self._collect(obj, place)
        finalizers = meta.get("finalizers") or ()
        if ORPHAN in finalizers:
            self._orphan(obj, place)
        elif FOREGROUND in finalizers:
            self._delete_dependents(obj, place)
        return None

    # -- the object -----------------------------------------------------------------------------

    def _collect(self, obj: Obj, place: dependents.Place) -> float | None:
        """Delete the object if all its owners are gone; else forget those that are."""
        solid: References = []
        waiting: References = []
        unknown = False
        for reference in _references(obj):
            resource = self._resource(reference)
            if resource is None or (resource.namespaced and not place[1]):
                unknown = unknown or resource is None
                solid.append(reference)
                continue
            owner = self._owner(resource, reference, place[1])
            if owner is None:
                continue
            (waiting if _deletes_dependents(owner) else solid).append(reference)
        if solid:
            if len(solid) != len(_references(obj)):
                self._write(obj, place, ownerReferences=solid)
            return UNKNOWN_KIND_PAUSE if unknown else None
        found = self._dependents(obj["metadata"]["uid"])
        if waiting and found:
            if any(_deletes_dependents(dependent) for _, dependent in found):
                self._unblock(obj, place)  # they may be waiting for each other
            self._delete(obj, place, "Foreground")
        elif _references(obj):
            self._delete(obj, place, _wanted(obj))
        return None

    def _delete_dependents(self, obj: Obj, place: dependents.Place) -> None:
        """Delete the dependents; without any that block it the object itself may go."""
        uid = obj["metadata"]["uid"]
        blocked = False
        for where, dependent in self._dependents(uid):
            mine = [r for r in _references(dependent) if r["uid"] == uid]
            blocked = blocked or any(r.get("blockOwnerDeletion") for r in mine)
            if "deletionTimestamp" not in dependent["metadata"]:
                self.sync(where)
        if not blocked:
            self._finish(obj, place, FOREGROUND)

    def _orphan(self, obj: Obj, place: dependents.Place) -> None:
        """Take the object out of its dependents' owners, then let it go."""
        uid = obj["metadata"]["uid"]
        for where, dependent in self._dependents(uid):
            rest = [r for r in _references(dependent) if r["uid"] != uid]
            self._write(dependent, where, ownerReferences=rest)
        self._finish(obj, place, ORPHAN)

    # -- others ---------------------------------------------------------------------------------

    def _dependents(self, uid: str) -> list[tuple[dependents.Place, Obj]]:
        found = [(place, self._storage.get(*place)) for place in self._index.places(uid)]
        return [(place, obj) for place, obj in found if obj is not None]

    def _resource(self, reference: Obj) -> kinds.Resource | None:
        version, kind = reference["apiVersion"], reference["kind"]
        found = (r for r in self._local.resources() if r.kind == kind and r.api_version == version)
        return next(found, None)

    def _owner(self, resource: kinds.Resource, reference: Obj, namespace: str) -> Obj | None:
        """The owner, if it is there and is the one that is meant."""
        where = namespace if resource.namespaced else ""
        found = self._storage.get(resource.key, where, reference["name"])
        return found if found and found["metadata"]["uid"] == reference["uid"] else None

    def _owners(self, obj: Obj, references: Iterable[Obj]) -> Iterable[dependents.Place]:
        """Where the owners are that wait for the end of their dependents."""
        for reference in references:
            if (resource := self._resource(reference)) is None:
                continue
            namespace = obj["metadata"].get("namespace", "")
            owner = self._owner(resource, reference, namespace)
            if owner is not None and _deletes_dependents(owner):
                yield (resource.key, owner["metadata"].get("namespace", ""), reference["name"])

    # -- writing --------------------------------------------------------------------------------

    def _delete(self, obj: Obj, place: dependents.Place, propagation: str) -> None:
        meta = obj["metadata"]
        self._local.delete(_qualified(place), place[1], place[2], propagation, meta["uid"])

    def _finish(self, obj: Obj, place: dependents.Place, finalizer: str) -> None:
        rest = [name for name in obj["metadata"]["finalizers"] if name != finalizer]
        self._write(obj, place, finalizers=rest)

    def _unblock(self, obj: Obj, place: dependents.Place) -> None:
        freed = [{**reference, "blockOwnerDeletion": False} for reference in _references(obj)]
        if freed != _references(obj):
            self._write(obj, place, ownerReferences=freed)

    def _write(self, obj: Obj, place: dependents.Place, **fields: Any) -> None:
        meta = {name: value for name, value in {**obj["metadata"], **fields}.items() if value}
        self._local.update(_qualified(place), {**obj, "metadata": meta})


def _references(obj: Obj) -> References:
    return obj["metadata"].get("ownerReferences") or []


def _deletion(obj: Obj | None) -> tuple[Any, Any]:
    meta = obj["metadata"] if obj else {}
    return meta.get("deletionTimestamp"), meta.get("finalizers")


def _deletes_dependents(owner: Obj) -> bool:
    meta = owner["metadata"]
    return "deletionTimestamp" in meta and FOREGROUND in (meta.get("finalizers") or ())


def _wanted(obj: Obj) -> str:
    """How the object asks to be deleted by its finalizers."""
    finalizers = obj["metadata"].get("finalizers") or ()
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"


def _qualified(place: dependents.Place) -> str:
    (group, plural), _, _ = place
    return f"{plural}.{group}" if group else plural
