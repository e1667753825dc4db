"""What the API server does with objects of the kinds that it knows itself, before it stores them.

Objects that are handed in belong to these functions, which change them in place; the ones of the
storage (``old``) are never changed.
"""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import failure, kinds, storage
from ansible_operator.sandbox.builtins import autoscaling, checking, defaults, metadata, preparation
from ansible_operator.sandbox.builtins.fields import Field

Obj = dict[str, Any]


def default(resource: kinds.Resource, obj: Obj) -> Obj:
    """The object with what it does not say itself; it has been decoded."""
    if resource.api_version == autoscaling.OLD:
        return autoscaling.to_old(defaults.fill(resource.kind, autoscaling.to_new(obj)))
    return defaults.fill(resource.kind, obj)


def prepare_create(resource: kinds.Resource, obj: Obj, store: storage.Storage) -> Obj:
    """A new object with what the server sets: first status, generation, addresses, accounts.

    Its metadata has a name and a uid. Raises ApiFailure 403 and 422.
    """
    return preparation.create(resource, obj, store)


def prepare_update(resource: kinds.Resource, new: Obj, old: Obj, store: storage.Storage) -> Obj:
    """A changed object with what this kind of write keeps: its status, its addresses.

    The generation goes up where something that is wanted of the object changed. Raises ApiFailure
    422.
    """
    return preparation.update(resource, new, old, store)


def prepare_status(resource: kinds.Resource, new: Obj, old: Obj) -> Obj:
    """The object with a new status, keeping what a write of the status does not change."""
    return preparation.status(resource, new, old)


def validate(resource: kinds.Resource, new: Obj, old: Obj | None) -> list[failure.Cause]:
    """What is wrong with an object, apart from its metadata; ``old`` is what it replaces."""
    if resource.api_version == autoscaling.OLD:
        new, old = autoscaling.to_new(new), autoscaling.to_new(old) if old else None
    field = Field(new, old)
    checking.check(resource.kind, field)
    if old is not None:
        checking.check(resource.kind, field, section="update")
    return field.causes


def validate_metadata(resource: kinds.Resource, new: Obj, old: Obj | None) -> list[failure.Cause]:
    """What is wrong with the metadata of an object, also of a custom one."""
    return metadata.validate(resource, new, old)
