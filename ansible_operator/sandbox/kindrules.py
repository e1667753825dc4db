"""What is done with an object before it is stored, by the rules of its kind.

Built-in kinds have rules of their own, CRDs too, and custom resources those of their schema.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ansible_operator.sandbox import failure, kinds, storage
from ansible_operator.sandbox.builtins import builtin
from ansible_operator.sandbox.customs import definitions, rules
from ansible_operator.sandbox.schemas import defaulting, schema, validation

Obj = dict[str, Any]
Schema = schema.Schema
CRDS = ("apiextensions.k8s.io", "customresourcedefinitions")


def default(resource: kinds.Resource, obj: Obj, of: Schema) -> Obj:
    """The object with what it leaves to the server; ``obj`` may be changed."""
    if resource.custom:
        return defaulting.default(obj, of)
    return definitions.default(obj) if resource.key == CRDS else builtin.default(resource, obj)


def prepare_create(resource: kinds.Resource, obj: Obj, store: storage.Storage) -> Obj:
    """A new object with what the server sets; ``obj`` may be changed. Raises ApiFailure."""
    if resource.key == CRDS:
        return _generation(definitions.prepare(obj, None), 1)
    if not resource.custom:
        return builtin.prepare_create(resource, obj, store)
    if "status" in resource.subresources:
        obj.pop("status", None)
    return _generation(obj, 1)


def prepare_update(
    resource: kinds.Resource, obj: Obj, live: Obj, subresource: str, store: storage.Storage
) -> Obj:
    """A changed object with what this kind of write keeps of the live one."""
    if subresource == "status":
        return _status(resource, obj, live)
    if resource.key == CRDS:
        return _raised(resource, definitions.prepare(obj, live), live)
    if not resource.custom:
        return builtin.prepare_update(resource, obj, live, store)
    if "status" in resource.subresources:
        obj.pop("status", None)
        if "status" in live:
            obj["status"] = live["status"]
    return _raised(resource, obj, live)


def _status(resource: kinds.Resource, obj: Obj, live: Obj) -> Obj:
    if not resource.custom:
        return copy.deepcopy(builtin.prepare_status(resource, obj, live))
    kept = {key: value for key, value in live.items() if key != "status"}
    if "status" in obj:
        kept["status"] = obj["status"]
    kept["metadata"] = dict(live["metadata"])
    if "managedFields" in obj["metadata"]:
        kept["metadata"]["managedFields"] = obj["metadata"]["managedFields"]
    return kept


def _raised(resource: kinds.Resource, obj: Obj, live: Obj) -> Obj:
    """The generation goes up with everything but metadata and, where it is apart, status."""
    aside = ("metadata", "status") if "status" in resource.subresources else ("metadata",)
    was, now = (
        {key: value for key, value in one.items() if key not in aside} for one in (live, obj)
    )
    return _generation(obj, live["metadata"].get("generation", 1) + (was != now))


def _generation(obj: Obj, number: int) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "generation": number}}


def validate(
    resource: kinds.Resource,
    obj: Obj,
    live: Obj | None,
    of: Schema,
    subresource: str,
    warn: Callable[[str], None],
) -> list[failure.Cause]:
    """What is wrong with an object."""
    causes = builtin.validate_metadata(resource, obj, live)
    if resource.key == CRDS:
        for told in definitions.warnings(obj):
            warn(told)
        return causes + definitions.validate(obj, live)
    if not resource.custom:
        # A write of the status leaves everything else as it was found right before.
        return causes + ([] if subresource == "status" else builtin.validate(resource, obj, live))
    found = validation.validate(obj, of, live, subresource)
    return causes + found + rules.validate(obj, live, of, causes=found, warn=warn)
