"""Pure: what makes an object belong to the watched object whose run created it.

An owner reference where Kubernetes allows one: the owner is cluster-scoped, or both are in the
same namespace. Everywhere else two annotations, which Kubernetes itself does not know: nothing
deletes such an object with its owner. The rules and texts are those of the incumbent, but for
owners that are named already, which are neither doubled nor lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_operator import children, objects


@dataclass(frozen=True, slots=True)
class Claim:
    """What an object has to have in its metadata: an owner reference, or annotations."""

    reference: Mapping[str, Any] | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def tie(self) -> children.Tie:
        """By what the object names its owner then."""
        return children.Tie.ANNOTATION if self.reference is None else children.Tie.REFERENCE


def claim_for(owner: children.Owner, kind: children.ChildKind, namespace: str) -> Claim:
    """What a new object of the owner has to have; ``namespace`` is where it is created."""
    if tie_for(owner, kind, namespace) is children.Tie.ANNOTATION:
        return Claim(annotations=primary_annotations(owner))
    return Claim(reference=reference(owner))


def tie_for(owner: children.Owner, kind: children.ChildKind, namespace: str) -> children.Tie:
    """By what a new object can name its owner."""
    home = owner.key.namespace
    allowed = not home or (kind.namespaced and namespace == home)
    return children.Tie.REFERENCE if allowed else children.Tie.ANNOTATION


def reference(owner: children.Owner) -> dict[str, Any]:
    """The owner reference: no controller and, so that nobody's deletion waits, no block."""
    key = owner.key
    return {
        "apiVersion": key.gvk.api_version,
        "kind": key.gvk.kind,
        "name": key.name,
        "uid": owner.uid,
    }


def primary_annotations(owner: children.Owner) -> dict[str, str]:
    """The two annotations."""
    key = owner.key
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return {children.PRIMARY: name, children.PRIMARY_TYPE: primary_type(key.gvk)}


def primary_type(gvk: objects.GVK) -> str:
    """``Kind.group``, only ``Kind`` for the core group."""
    return f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind


def tie(found: Mapping[str, Any] | children.Digest, owner: children.Owner) -> children.Tie | None:
    """By what an object, or what is remembered of one, names this owner; None if it does not."""
    known = found if isinstance(found, children.Digest) else children.digest(found)
    if any(entry.uid == owner.uid for entry in known.owners):
        return children.Tie.REFERENCE
    wanted = primary_annotations(owner)
    if (known.primary, known.primary_type) == tuple(wanted.values()):
        return children.Tie.ANNOTATION
    return None


def claim_of(obj: Mapping[str, Any], owner: children.Owner) -> Claim | None:
    """What an object has by which it names this owner, word for word; None if it does not."""
    found = tie(obj, owner)
    if found is children.Tie.ANNOTATION:
        return Claim(annotations=primary_annotations(owner))
    if found is children.Tie.REFERENCE:
        return Claim(reference=next(e for e in references(obj) if e.get("uid") == owner.uid))
    return None


def claims_of_others(obj: Mapping[str, Any], owner: children.Owner) -> tuple[Claim, ...]:
    """What an object has by which it names others than this owner, word for word."""
    found = [Claim(reference=e) for e in references(obj) if e.get("uid") not in (None, owner.uid)]
    present = objects.annotations(obj)
    marks = {key: present[key] for key in children.MARKS if key in present}
    if marks and marks != primary_annotations(owner):
        found.append(Claim(annotations=marks))
    return tuple(found)


def applied(obj: Mapping[str, Any], manager: str, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Those of the claims that an object has from server-side applies of this field manager.

    Its next apply takes them out, unless they are in it again; those of others it does not touch.
    """
    keys = {text for fields in _applied(obj, manager) for text in _keys(fields)}
    return tuple(claim for claim in claims if keys & set(_marks(claim)))


def _applied(obj: Mapping[str, Any], manager: str) -> list[dict[str, Any]]:
    """The fields of the metadata that applies of this manager own."""
    entries = objects.metadata(obj).get("managedFields") or ()
    own = {"manager": manager, "operation": "Apply"}
    return [
        (entry.get("fieldsV1") or {}).get("f:metadata") or {}
        for entry in entries
        if {key: entry.get(key) for key in own} == own and not entry.get("subresource")
    ]


def _keys(fields: Mapping[str, Any]) -> list[str]:
    return [*(fields.get("f:ownerReferences") or ()), *(fields.get("f:annotations") or ())]


def _marks(claim: Claim) -> list[str]:
    """The names of a claim's fields in ``managedFields``."""
    if claim.reference is not None:
        return [f'k:{{"uid":{json.dumps(claim.reference["uid"])}}}']
    return [f"f:{key}" for key in claim.annotations]


def missing(obj: Mapping[str, Any], claim: Claim) -> Claim | None:
    """What of the claim an object does not have yet; None if it has all."""
    if claim.reference is not None:
        uid = claim.reference["uid"]
        return None if any(e.get("uid") == uid for e in references(obj)) else claim
    present = objects.annotations(obj)
    absent = {key: text for key, text in claim.annotations.items() if present.get(key) != text}
    return Claim(annotations=absent) if absent else None


def add(obj: Mapping[str, Any], claim: Claim) -> objects.Obj:
    """The object with all of the claim; everything else, and other owners, as they are."""
    needed = missing(obj, claim)
    if needed is None:
        return dict(obj)
    return {**obj, "metadata": {**objects.metadata(obj), **changed_metadata(obj, needed)}}


def changed_metadata(obj: Mapping[str, Any], needed: Claim) -> dict[str, Any]:
    """The entries of the metadata that adding what is missing changes, whole."""
    if needed.reference is not None:
        return {"ownerReferences": [*references(obj), dict(needed.reference)]}
    return {"annotations": {**objects.annotations(obj), **needed.annotations}}


def references(obj: Mapping[str, Any]) -> list[dict[str, Any]]:
    """``metadata.ownerReferences``; an empty list where there are none."""
    found = objects.metadata(obj).get("ownerReferences")
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
