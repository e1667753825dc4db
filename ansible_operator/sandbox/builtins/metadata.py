"""The metadata of objects of all kinds: what it may hold, and what an update may do to it."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.builtins import names, wording
from ansible_operator.sandbox.builtins.fields import Field
from ansible_operator.sandbox.patches import managers

Obj = dict[str, Any]
_STANDARD = ("orphan", "foregroundDeletion", "kubernetes")
_EVENTS = {("v1", "Event"), ("events.k8s.io/v1", "Event")}
_EMPTY = "must not be empty"
_FIXED = ("name", "namespace", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate(resource: kinds.Resource, new: Obj, old: Obj | None) -> list[failure.Cause]:
    """What is wrong with the metadata of an object; ``old`` is what it was before an update."""
    meta = new["metadata"]
    name, prefix = meta.get("name", ""), meta.get("generateName", "")
    causes = [] if old and not prefix else names.validate(resource, name, prefix)
    field = Field(meta, old and old["metadata"], None, "metadata", causes)
    if old is not None:
        for key in _FIXED:
            wording.fixed(field.at(key))
    # The labels that a job gets are those of its template, and found there if they are wrong.
    if meta.get("labels") and resource.kind != "Job":
        wording.labels(field.at("labels"))
    if meta.get("annotations"):
        wording.annotation_map(field.at("annotations"))
    if meta.get("ownerReferences"):
        _owners(field.at("ownerReferences"))
    if meta.get("finalizers"):
        _finalizers(field.at("finalizers"), resource.custom)
    return causes + managers.validate(meta.get("managedFields"))


def _owners(field: Field) -> None:
    controllers = []
    for owner in field.entries():
        version = owner.get("apiVersion") or ""
        if not version:
            owner.at("apiVersion").required(_EMPTY)
        elif version.count("/") > 1:
            owner.at("apiVersion").invalid("must be <group>/<version> or <version>")
        for key in ("kind", "name", "uid"):
            if not owner.get(key):
                owner.at(key).required(_EMPTY)
        if (version, owner.get("kind")) in _EVENTS:
            group, _, short = version.rpartition("/")
            owner.invalid(f"{group}/{short}, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
    if len(controllers) > 1:
        told = 'Only one reference can have Controller set to true. Found "true" in references for'
        field.invalid(f"{told} {controllers[0]} and {controllers[1]}")


def _finalizers(field: Field, custom: bool) -> None:
    for entry in field.entries():
        field.obeys(names.qualified, entry.value)
        # Of custom objects anybody may make up finalizers.
        if not custom and entry.value not in _STANDARD and "/" not in entry.value:
            told = "name is neither a standard finalizer name nor is it fully qualified"
            entry.invalid(told)
    if {"orphan", "foregroundDeletion"} <= set(field.value):
        field.invalid("finalizer orphan and foregroundDeletion cannot be both set")
    if field.top.old and field.top.old.get("deletionTimestamp"):
        more = [name for name in field.value if name not in (field.old or ())]
        if more:
            told = "no new finalizers can be added if the object is being deleted, found new "
            field.forbidden(f"{told}finalizers {_go_list(more)}")


def _go_list(texts: list[str]) -> str:
    quoted = ", ".join(f'"{text}"' for text in texts)
    return f"[]string{{{quoted}}}"
