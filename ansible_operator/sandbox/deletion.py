"""Deleting objects: at once, or in steps when finalizers, owners or a grace period say so."""

from __future__ import annotations

import copy
from typing import Any

from ansible_operator.sandbox import failure, kinds, namespaces, options, registry
from ansible_operator.sandbox.customs import definitions

Obj = dict[str, Any]

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
# The old groups keep their default from before garbage collection was invented.
ORPHANED_BY_DEFAULT = ("jobs", "replicationcontrollers")
JOB_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)
GRACE = 30


def delete(
    store: registry.Registry,
    resource: kinds.Resource,
    namespace: str,
    name: str,
    how: options.Delete,
) -> Obj:
    """Delete an object, or mark it as being deleted; the answer is the object or a Status.

    Raises ApiFailure 404, and 409 for preconditions that do not hold.
    """
    stored = store.storage.get(resource.key, namespace, name)
    if stored is None:
        raise failure.not_found(resource, name)
    namespaces.check_delete(resource, name)
    check_preconditions(resource, stored, how)
    grace = _grace(resource, stored, how)
    finalizers = _finalizers(resource, stored, how)
    if grace or finalizers or _holds_contents(resource, stored):
        return store.read(resource, _mark(store, resource, stored, finalizers, grace, how))
    if not how.dry_run:
        stored = store.storage.remove(resource.key, namespace, name)
    return store.read(resource, stored) if resource.returns_deleted else _done(resource, stored)


def check_preconditions(resource: kinds.Resource, stored: Obj, how: options.Delete) -> None:
    """Raises ApiFailure 409 when the object is not the one that is meant."""
    meta = stored["metadata"]
    for said, wanted, found, since in (
        ("UID", how.uid, meta["uid"], "deleted and then recreated"),
        ("ResourceVersion", how.revision, meta["resourceVersion"], "modified"),
    ):
        if wanted and wanted != found:
            told = f"the {said} in the precondition ({wanted}) does not match the {said} in record"
            told += f" ({found}). The object might have been {since}"
            raise _precondition_failed(resource, meta["name"], told)


def _precondition_failed(resource: kinds.Resource, name: str, told: str) -> failure.ApiFailure:
    """Unlike other conflicts it names the kind where the others name the resource."""
    refused = failure.conflict(resource, name, told)
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    message = f'Operation cannot be fulfilled on {kind} "{name}": {told}'
    details = {**(refused.details or {}), "kind": resource.kind}
    return failure.ApiFailure(409, "Conflict", message, details)


def _holds_contents(resource: kinds.Resource, stored: Obj) -> bool:
    return resource.key == ("", "namespaces") and bool(stored["spec"].get("finalizers"))


def _grace(resource: kinds.Resource, stored: Obj, how: options.Delete) -> int:
    """Seconds that a pod on a node is given to end; nothing else has any."""
    if resource.key != ("", "pods"):
        return 0
    spec, phase = stored["spec"], stored.get("status", {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    wanted = (
        how.grace if how.grace is not None else spec.get("terminationGracePeriodSeconds", GRACE)
    )
    return max(int(wanted), 0)


def _finalizers(resource: kinds.Resource, stored: Obj, how: options.Delete) -> list[str]:
    """The finalizers that the object has from now on, with those of the garbage collector."""
    listed = list(stored["metadata"].get("finalizers") or ())
    if resource.key == definitions.KEY and "deletionTimestamp" not in stored["metadata"]:
        listed = [name for name in listed if name != definitions.FINALIZER]
        listed.append(definitions.FINALIZER)
    policy = how.propagation
    if not policy and "deletionTimestamp" not in stored["metadata"]:
        default = {ORPHAN: "Orphan", FOREGROUND: "Foreground"}
        policy = next((default[name] for name in listed if name in default), "")
        if not policy and resource.plural in ORPHANED_BY_DEFAULT and not resource.custom:
            policy = "Orphan"
            how.warnings.extend([JOB_WARNING] if resource.plural == "jobs" else [])
    if not policy:
        return listed
    wanted = {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(policy)
    kept = [name for name in listed if name not in (ORPHAN, FOREGROUND)]
    return kept + ([wanted] if wanted else [])


def _mark(
    store: registry.Registry,
    resource: kinds.Resource,
    stored: Obj,
    finalizers: list[str],
    grace: int,
    how: options.Delete,
) -> Obj:
    """Set deletion timestamp and finalizers; a mark that is there stays, or comes sooner."""
    obj = copy.deepcopy(stored)
    meta = obj["metadata"]
    first = "deletionTimestamp" not in meta
    if first or grace < meta.get("deletionGracePeriodSeconds", 0):
        if first and meta.get("generation"):
            meta["generation"] += 1
        meta["deletionTimestamp"] = store.now(grace)
        meta["deletionGracePeriodSeconds"] = grace
    if resource.key == ("", "namespaces"):
        meta.pop("deletionGracePeriodSeconds", None)
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}
    if resource.key == definitions.KEY and first:
        meta.pop("deletionGracePeriodSeconds", None)
        meta["generation"] = stored["metadata"].get("generation", 1)
        obj["status"] = definitions.terminating(obj, definitions.PENDING, store.now())
    meta.pop("finalizers", None)
    if finalizers:
        meta["finalizers"] = finalizers
    if obj == stored or how.dry_run:
        return obj
    if not first and not grace and not finalizers:  # a pod whose end was waited for
        return store.storage.remove(resource.key, meta.get("namespace", ""), meta["name"])
    return store.storage.put(resource.key, obj)


def _done(resource: kinds.Resource, stored: Obj) -> Obj:
    details = {"name": stored["metadata"]["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": stored["metadata"]["uid"]}
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    return {**head, "status": "Success", "details": details}
