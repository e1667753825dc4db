"""Writing objects: what happens between a request's body and the storage, one step after another.

Every write goes the same way, as in a real API server: the body is decoded and unknown fields are
dropped, defaults are filled in, the fields that the server owns are set, the object is validated,
the managed fields are noted, and a change that changes nothing is not stored.
"""

from __future__ import annotations

import copy
import dataclasses
import random
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from ansible_operator import gotext
from ansible_operator.sandbox import (
    catalogue,
    conversion,
    failure,
    kindrules,
    kinds,
    options,
    storage,
)
from ansible_operator.sandbox.patches import managed
from ansible_operator.sandbox.reading import bodies, decoding
from ansible_operator.sandbox.rights import access

Obj = dict[str, Any]
Make = Callable[[Obj], Obj]
"""What a write makes of the object that is there."""

_AGES = 1000 * 365 * 86400.0
"""Seconds after which nothing is still to come."""

SUFFIX = "bcdfghjklmnpqrstvwxz2456789"  # the letters of generated names: no vowels, no words


class Registry:
    """Create, change and delete objects. ``clock`` tells the time, ``chance`` makes names and uids.

    ``guards`` are asked before an object is created in a namespace, ``judges`` before an object
    (with what was there before, or None) is stored: they raise ApiFailure.
    """

    def __init__(
        self,
        served: kinds.Kinds,
        store: storage.Storage,
        *,
        clock: Callable[[], datetime],
        chance: random.Random,
    ) -> None:
        self.kinds = served
        self.storage = store
        self.catalogue = catalogue.Catalogue()
        self.guards: list[Callable[[kinds.Resource, str, Obj], None]] = []
        self.judges: list[Callable[[kinds.Resource, Obj, Obj | None, access.User], None]] = []
        self._clock = clock
        self._chance = chance

    def finish(self, resource: kinds.Resource, obj: Obj) -> Obj:
        """Store a namespace whose finalizers changed; without any, of either kind, it is gone."""
        meta = obj["metadata"]
        held = obj["spec"].get("finalizers") or meta.get("finalizers")
        if "deletionTimestamp" in meta and not held:
            return self.storage.remove(resource.key, "", meta["name"])
        return self.storage.put(resource.key, obj)

    # -- reading ----------------------------------------------------------------------------

    def get(self, resource: kinds.Resource, namespace: str, name: str) -> Obj:
        """The object in the version of ``resource``; not to be changed. Raises 404."""
        return self.read(resource, self._stored(resource, namespace, name))

    def read(self, resource: kinds.Resource, stored: Obj) -> Obj:
        """A stored object in the version of ``resource``."""
        if stored["apiVersion"] == resource.api_version:
            return stored
        found = conversion.convert(stored, resource)
        return self._defaulted(resource, copy.deepcopy(found)) if resource.custom else found

    def _stored(self, resource: kinds.Resource, namespace: str, name: str) -> Obj:
        found = self.storage.get(resource.key, namespace, name)
        if found is None:
            raise failure.not_found(resource, name)
        return found

    # -- creating ---------------------------------------------------------------------------

    def create(
        self, resource: kinds.Resource, namespace: str, body: Obj, how: options.Write
    ) -> Obj:
        """Store a new object; ``body`` becomes this object's and must not be used again.

        Raises ApiFailure: 400, 403, 404 (namespace), 409, 422.
        """
        obj = self._decoded(resource, body, how)
        self._placed(resource, namespace, obj)
        self._admit(resource, namespace, obj)
        return self._create(resource, namespace, obj, how)

    def _create(
        self,
        resource: kinds.Resource,
        namespace: str,
        obj: Obj,
        how: options.Write,
        applied: bool = False,
    ) -> Obj:
        meta = obj["metadata"]
        self._begin(resource, meta)
        obj = self._defaulted(resource, obj)
        if not applied:  # what is allocated after this belongs to nobody
            obj = self._tracked(resource, None, obj, how, "")
        obj = kindrules.prepare_create(resource, obj, self.storage)
        self._refuse_invalid(resource, obj, None, how)
        if applied:
            obj = self._decoded(resource, obj, how)
        if not applied and not how.dry_run and _numbered(meta):
            told = "resourceVersion should not be set on objects to be created"
            raise failure.ApiFailure(500, "", told)
        if (there := self.storage.get(resource.key, namespace, meta["name"])) is not None:
            going = "deletionTimestamp" in there["metadata"]
            raise failure.already_exists(resource, meta["name"], going=going)
        return self._put(resource, obj, how)

    def _admit(self, resource: kinds.Resource, namespace: str, obj: Obj) -> None:
        for guard in self.guards:
            guard(resource, namespace, obj)

    def _begin(self, resource: kinds.Resource, meta: Obj) -> None:
        """Set what the server alone says of a new object."""
        if not meta.get("name") and meta.get("generateName"):
            prefix = meta["generateName"][: 63 - 5]
            meta["name"] = prefix + "".join(self._chance.choices(SUFFIX, k=5))
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
            meta.pop(field, None)
        meta["uid"] = self.new_uid()
        meta["creationTimestamp"] = self.now()

    # -- changing ---------------------------------------------------------------------------

    def replace(
        self,
        resource: kinds.Resource,
        namespace: str,
        name: str,
        body: Obj,
        how: options.Write,
        subresource: str = "",
    ) -> tuple[Obj, bool]:
        """Put an object in the place of the one that is there; whether it was created."""
        obj = self._decoded(resource, body, how)
        self._placed(resource, namespace, obj)
        failure.check_name(obj["metadata"].get("name"), name)
        stored = self.storage.get(resource.key, namespace, name)
        if stored is None and resource.put_creates and not subresource:
            return self._put_new(resource, namespace, obj, how), True
        if stored is None:
            raise failure.not_found(resource, name)
        self._check_versioned(resource, obj)
        return self._change(resource, stored, obj, how, subresource), False

    def _put_new(
        self, resource: kinds.Resource, namespace: str, obj: Obj, how: options.Write
    ) -> Obj:
        self._admit(resource, namespace, obj)
        if obj["metadata"].get("resourceVersion") or obj["metadata"].get("uid"):
            raise failure.not_found(resource, obj["metadata"]["name"])
        return self._create(resource, namespace, obj, how)

    def patch(
        self,
        resource: kinds.Resource,
        namespace: str,
        name: str,
        make: Make,
        patch: bodies.Patch,
        how: options.Write,
        subresource: str = "",
    ) -> Obj:
        """Change an object by a patch: ``make`` makes the new one from a copy of the live one."""
        stored = self._stored(resource, namespace, name)
        live = self.read(resource, stored)
        made = make(copy.deepcopy(live))
        of = self.catalogue.schema(resource)
        obj = _headed(resource, decoding.decode_patched(resource, made, of, how, patch), made)
        self._placed(resource, namespace, obj)
        failure.check_name(obj["metadata"].get("name"), name)
        self._check_versioned(resource, obj)
        return self._change(resource, stored, obj, how, subresource, patched=True)

    def apply(
        self,
        resource: kinds.Resource,
        namespace: str,
        name: str,
        body: Obj,
        how: options.Write,
        subresource: str = "",
    ) -> tuple[Obj, bool]:
        """Server-side apply; whether the object was created."""
        stored = self.storage.get(resource.key, namespace, name)
        if stored is None and subresource:
            raise failure.not_found(resource, name)
        merged = managed.apply(
            None if stored is None else self.read(resource, stored),
            body,
            self.catalogue.schema(resource),
            manager=how.manager,
            force=how.force,
            api_version=resource.api_version,
            subresource=subresource,
            time=self.now(),
            with_status="status" in resource.subresources,
        )
        obj = self._decoded(resource, merged, how)
        if resource.custom:  # where nulls count, until the object is stored
            obj = copy.deepcopy({**merged, "metadata": obj["metadata"]})
        self._placed(resource, namespace, obj)
        failure.check_name(obj["metadata"].get("name"), name)
        if stored is not None:
            return self._change(resource, stored, obj, how, subresource, applied=True), False
        if uid := obj["metadata"].get("uid"):
            told = f"uid mismatch: the provided object specified uid {uid}, and no existing object "
            raise failure.conflict(resource, name, told + "was found")
        self._admit(resource, namespace, obj)
        return self._create(resource, namespace, obj, how, applied=True), True

    def _change(
        self,
        resource: kinds.Resource,
        stored: Obj,
        obj: Obj,
        how: options.Write,
        subresource: str,
        *,
        patched: bool = False,
        applied: bool = False,
    ) -> Obj:
        """Store ``obj`` in the place of ``stored``. Raises ApiFailure 409 and 422."""
        live = self.read(resource, stored)
        self._check_fresh(resource, live, obj, patched or applied)
        obj = self._defaulted(resource, obj)
        if not applied:
            obj = self._tracked(resource, live, obj, how, subresource)
        _keep_meta(live["metadata"], obj["metadata"])
        obj = kindrules.prepare_update(resource, obj, live, subresource, self.storage)
        self._refuse_invalid(resource, obj, live, how, subresource)
        if applied:
            obj = self._decoded(resource, obj, how)
        if _same(live, obj):
            return live
        return self._put(resource, obj, how)

    def _check_fresh(self, resource: kinds.Resource, live: Obj, obj: Obj, patched: bool) -> None:
        was, given = live["metadata"], obj["metadata"]
        uid = given.get("uid") or was["uid"]
        if uid != was["uid"] and not patched:
            where = "/".join(("", resource.plural, *_place(was)))
            told = (
                f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, "
                "AdditionalErrorMsg: Precondition failed: "
                f"UID in precondition: {uid}, UID in object meta: {was['uid']}"
            )
            raise failure.conflict(resource, was["name"], told)
        version = given.get("resourceVersion") or "0"
        if gotext.integer(version) is None:
            told = f'strconv.ParseUint: parsing "{version}": invalid syntax'
            raise failure.ApiFailure(500, "", told)
        if gotext.integer(version) and version != was["resourceVersion"]:
            raise failure.conflict(resource, was["name"])
        if uid != was["uid"]:
            cause = failure.invalid_value("metadata.uid", uid, "field is immutable")
            raise failure.invalid(resource, was["name"], [cause])

    # -- the steps --------------------------------------------------------------------------

    def now(self, later: float = 0) -> str:
        """The time as the server writes it: seconds, UTC."""
        then = self._clock() + timedelta(seconds=min(later, _AGES))
        return then.strftime("%Y-%m-%dT%H:%M:%SZ")

    def new_uid(self) -> str:
        """A random UUID."""
        return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))

    def _decoded(self, resource: kinds.Resource, body: Obj, how: options.Write) -> Obj:
        of = self.catalogue.schema(resource)
        return _headed(resource, decoding.decode(resource, body, of, how), body)

    def _defaulted(self, resource: kinds.Resource, obj: Obj) -> Obj:
        return kindrules.default(resource, obj, self.catalogue.schema(resource))

    def _placed(self, resource: kinds.Resource, namespace: str, obj: Obj) -> Obj:
        """Set the namespace of the path. Raises ApiFailure 400 where the object names another.

        Of an object that is in none, a namespace is dropped.
        """
        meta: Obj = obj["metadata"]
        given = meta.get("namespace") or ""
        if resource.namespaced and given and given != namespace:
            raise failure.wrong_namespace()
        meta.pop("namespace", None)
        if namespace:
            meta["namespace"] = namespace
        return meta

    def _check_versioned(self, resource: kinds.Resource, obj: Obj) -> None:
        """Raises ApiFailure 422 where an update has to say which version it replaces."""
        conditional = resource.custom or resource.conditional
        if conditional and obj["metadata"].get("resourceVersion") in (None, "", "0"):
            raise failure.unversioned(resource, obj["metadata"]["name"])

    def _refuse_invalid(
        self,
        resource: kinds.Resource,
        obj: Obj,
        live: Obj | None,
        how: options.Write,
        subresource: str = "",
    ) -> None:
        of = self.catalogue.schema(resource)
        warn = how.warnings.append
        causes = kindrules.validate(resource, obj, live, of, subresource, warn)
        if causes:
            # Of a kind that is in two groups the server names the one it is stored in.
            stored = dataclasses.replace(resource, group=resource.key[0])
            raise failure.invalid(stored, obj["metadata"].get("name", ""), causes)
        for judge in self.judges:
            judge(resource, obj, live, how.user)

    def _tracked(
        self,
        resource: kinds.Resource,
        live: Obj | None,
        obj: Obj,
        how: options.Write,
        subresource: str,
    ) -> Obj:
        return managed.track(
            live,
            obj,
            self.catalogue.schema(resource),
            manager=how.manager,
            api_version=resource.api_version,
            subresource=subresource,
            time=self.now(),
            with_status="status" in resource.subresources,
        )

    def _put(self, resource: kinds.Resource, obj: Obj, how: options.Write) -> Obj:
        """Store an object, or take it out when the last finalizer of a deleted one is gone."""
        meta = obj["metadata"]
        if how.dry_run:
            return obj
        kept = meta.get("finalizers")
        if resource.key == ("", "namespaces"):
            kept = kept or obj.get("spec", {}).get("finalizers")
        if "deletionTimestamp" in meta and not kept and not meta.get("deletionGracePeriodSeconds"):
            stored = self.storage.get(resource.key, meta.get("namespace", ""), meta["name"])
            if stored is not None:
                self.storage.remove(resource.key, meta.get("namespace", ""), meta["name"])
            return obj
        obj = conversion.stored(obj, resource, self.catalogue.stored_version(resource))
        return self.read(resource, self.storage.put(resource.key, obj))


# What only the server writes into metadata; a body that says otherwise is not listened to.
_SERVER_OWNED = ("creationTimestamp", "generation", "resourceVersion", "uid")
# Of the end of an object a body may be silent; where it says something else, validation refuses it.
_ENDING = ("deletionTimestamp", "deletionGracePeriodSeconds")


def _place(meta: Obj) -> tuple[str, ...]:
    """The namespace, if there is one, and the name."""
    return tuple(filter(None, (meta.get("namespace"), meta["name"])))


def _numbered(meta: Obj) -> bool:
    """Whether it says which version it is of; a text that is no number says nothing."""
    return (gotext.integer(meta.get("resourceVersion") or "0") or 0) > 0


def _keep_meta(was: Obj, meta: Obj) -> None:
    for field in _SERVER_OWNED:
        meta.pop(field, None)
    kept = {field: was[field] for field in (*_SERVER_OWNED, *_ENDING) if field in was}
    meta.update({field: value for field, value in kept.items() if field not in meta})


def _headed(resource: kinds.Resource, obj: Obj, body: Obj) -> Obj:
    """The object of a body, with its kind and its metadata, which come first."""
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    rest = {key: value for key, value in obj.items() if key not in ("metadata", *head)}
    meta = obj.get("metadata") or {}
    if (body.get("metadata") or {}).get("managedFields") == []:
        meta["managedFields"] = []  # lost in reading, but it resets them
    return {**head, "metadata": meta, **rest}


def _same(live: Obj, obj: Obj) -> bool:
    """Whether nothing changed but the times of managed fields."""
    return _timeless(live) == _timeless(obj)


def _timeless(obj: Obj) -> Obj:
    meta = obj["metadata"]
    noted = [{**entry, "time": ""} for entry in meta.get("managedFields") or []]
    return {**obj, "metadata": {**meta, "managedFields": noted}}
