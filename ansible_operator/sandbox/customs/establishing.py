"""CRDs at work: their names are accepted, their kinds served, and taken away again at the end."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ansible_operator.sandbox import (
    catalogue,
    deletion,
    failure,
    kinds,
    options,
    registry,
    scale,
    storage,
)
from ansible_operator.sandbox.customs import definitions
from ansible_operator.sandbox.schemas import defaulting, pruning
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
CRDS = definitions.KEY


class Establisher:
    """Looks at every CRD that changed, in a step of its own after the write."""

    def __init__(
        self,
        store: registry.Registry,
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._registry = store
        self._later = later
        self._waiting: set[str] = set()
        self._closing: dict[kinds.Key, str] = {}
        self._specs: dict[kinds.Key, Obj] = {}
        store.storage.subscribe(self._note)
        store.guards.append(self._refuse_late)

    def _note(self, change: storage.Change) -> None:
        if change.key == CRDS:
            self._wake(change.object["metadata"]["name"])
        elif change.key in self._closing and change.type == "DELETED":
            self._wake(self._closing[change.key])

    def _wake(self, name: str) -> None:
        if name not in self._waiting:
            self._waiting.add(name)
            self._later(0, lambda: self._sync(name))

    def _refuse_late(self, resource: kinds.Resource, namespace: str, obj: Obj) -> None:
        """Nothing is created any more while the CRD is being deleted."""
        if resource.key in self._closing:
            told = "create not allowed while custom resource definition is terminating"
            raise failure.forbidden(resource, obj["metadata"].get("name", ""), told)

    def _sync(self, name: str) -> None:
        self._waiting.discard(name)
        crd = self._registry.storage.get(CRDS, "", name)
        if crd is None:
            self._withdraw(name)
        elif "deletionTimestamp" in crd["metadata"]:
            if definitions.FINALIZER in crd["metadata"].get("finalizers", ()):
                self._empty(crd)
        else:
            self._establish(crd)

    def _establish(self, crd: Obj) -> None:
        others = [
            other
            for other in self._registry.storage.list(CRDS)
            if other["metadata"]["name"] != crd["metadata"]["name"]
        ]
        status = definitions.accepted(crd, others, self._registry.now())
        if established(status):
            self._serve(crd)
        if status != crd.get("status"):
            self._write_status(crd, status)

    def _serve(self, crd: Obj) -> None:
        served = definitions.resources(crd)
        key = _key(crd)
        if not any(found.key == key for found in self._registry.kinds.all()):
            self._registry.storage.open(key)
        elif self._specs[key] != crd["spec"]:  # objects may be others from now on
            self._registry.storage.end_watches(key)
        self._specs[key] = crd["spec"]
        group = crd["spec"]["group"]
        versions = {
            f"{group}/{version['name']}": _defined(crd, version)
            for version in crd["spec"]["versions"]
        }
        stored = next(v["name"] for v in crd["spec"]["versions"] if v["storage"])
        self._registry.catalogue.define(key, f"{group}/{stored}", versions)
        self._registry.kinds.replace_custom(key, served)
        schema = definitions.schema_of(crd, stored)
        self._registry.storage.revise(key, lambda obj: _fitted(obj, schema, f"{group}/{stored}"))

    def _write_status(self, crd: Obj, status: Obj) -> None:
        """Straight into the storage: the server's own write, which no validation can refuse."""
        self._registry.storage.put(CRDS, {**crd, "status": status})

    def _empty(self, crd: Obj) -> None:
        """Delete the objects of a CRD that is being deleted; when none is left, let it go."""
        key = _key(crd)
        self._closing[key] = crd["metadata"]["name"]
        resource = next((r for r in self._registry.kinds.all() if r.key == key), None)
        if resource is not None:
            for obj in list(self._registry.storage.list(key)):
                meta = obj["metadata"]
                if "deletionTimestamp" not in meta:
                    where = (meta.get("namespace", ""), meta["name"])
                    deletion.delete(self._registry, resource, *where, options.Delete())
        if resource is None or not self._registry.storage.count(key):
            self._release(crd)
        else:
            now = self._registry.now()
            status = definitions.terminating(crd, definitions.IN_PROGRESS, now)
            if status != crd.get("status"):
                self._write_status(crd, status)

    def _release(self, crd: Obj) -> None:
        """Take our finalizer away; a CRD that others hold stays, and is served as before."""
        name = crd["metadata"]["name"]
        freed = copy.deepcopy(self._registry.storage.get(CRDS, "", name) or crd)
        meta = freed["metadata"]
        meta["finalizers"] = [f for f in meta.get("finalizers", ()) if f != definitions.FINALIZER]
        if not meta["finalizers"]:
            self._registry.storage.remove(CRDS, "", name)
            return
        self._closing.pop(_key(crd), None)
        now = self._registry.now()
        self._write_status(freed, definitions.terminating(freed, definitions.COMPLETED, now))

    def _withdraw(self, name: str) -> None:
        plural, _, group = name.partition(".")
        key = (group, plural)
        self._closing.pop(key, None)
        if any(found.key == key for found in self._registry.kinds.all()):
            self._registry.storage.close(key)
            self._registry.kinds.replace_custom(key, ())
            self._registry.catalogue.undefine(key)
            del self._specs[key]
        # Others may have waited for the names.
        for crd in self._registry.storage.list(CRDS):
            if crd["spec"]["group"] == group and not established(crd.get("status") or {}):
                self._wake(crd["metadata"]["name"])


def _fitted(obj: Obj, schema: schemas.Schema, version: str) -> Obj:
    """A stored object in the schema that is in force now, as it is read by a real server."""
    if obj["apiVersion"] != version:
        return obj
    pruned, _ = pruning.prune(obj, schema)
    return defaulting.default(copy.deepcopy(pruned), schema)


def _key(crd: Obj) -> kinds.Key:
    return (crd["spec"]["group"], crd["spec"]["names"]["plural"])


def _defined(crd: Obj, version: Obj) -> catalogue.Definition:
    name = version["name"]
    found = (version.get("subresources") or {}).get("scale") or {}
    paths = scale.Paths(
        found.get("specReplicasPath", ""),
        found.get("statusReplicasPath", ""),
        found.get("labelSelectorPath", ""),
    )
    columns = definitions.columns(crd, name)
    return catalogue.Definition(definitions.schema_of(crd, name), columns, paths)


def established(status: Obj) -> bool:
    """Whether a CRD's status says that its kind is served."""
    listed = status.get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in listed)
