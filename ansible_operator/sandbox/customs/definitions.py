"""CustomResourceDefinitions: what a CRD says, and what the API server makes of it.

Pure functions over CRDs of apiextensions.k8s.io/v1. What is wrong with one says definition_rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.customs import definition_rules, structural
from ansible_operator.sandbox.schemas import schema

Obj = dict[str, Any]

KEY = ("apiextensions.k8s.io", "customresourcedefinitions")
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
PENDING = (
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
IN_PROGRESS = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
COMPLETED = ("InstanceDeletionCompleted", "removed all instances")
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = ("alpha", "beta", None)


def default(crd: Obj) -> Obj:
    """The CRD with the names and the conversion that it leaves to the server."""
    spec = crd.get("spec") or {}
    names = dict(spec.get("names") or {})
    if kind := names.get("kind"):
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or f"{kind}List"
    conversion = spec.get("conversion") or {"strategy": "None"}
    return {**crd, "spec": {**spec, "names": names, "conversion": conversion}}


def prepare(crd: Obj, old: Obj | None) -> Obj:
    """The CRD with the status that a write of the spec leaves it.

    ``old`` is what was there. Every version that ever was the one to store is remembered.
    """
    if old is None:
        names: Obj = {"plural": "", "kind": ""}
        status: Obj = {"conditions": None, "acceptedNames": names, "storedVersions": None}
    else:
        status = dict(old.get("status") or {})
    stored = list(status.get("storedVersions") or ())
    # One that will be refused has two or none.
    name = next((v.get("name") for v in versions(crd) if v.get("storage")), None)
    if name is not None and name not in stored:
        status["storedVersions"] = [*stored, name]
    return {**crd, "status": status}


def validate(crd: Obj, old: Obj | None = None) -> list[failure.Cause]:
    """The causes for which a CRD is refused; ``old`` is what it replaces.

    Raises ApiFailure 501 for one whose versions a webhook converts, which nothing here calls.
    """
    causes = definition_rules.validate(crd, old)
    conversion = crd["spec"].get("conversion") or {}
    if not causes and conversion.get("strategy") == "Webhook" and len(versions(crd)) > 1:
        raise failure.not_implemented("conversion by webhooks")
    return causes


def warnings(crd: Obj) -> list[str]:
    """What the author of a CRD is warned of."""
    schemas = [((v.get("schema") or {}).get("openAPIV3Schema") or {}) for v in versions(crd)]
    return [told for found in schemas for told in structural.warnings(found, "")]


def versions(crd: Obj) -> list[Obj]:
    """The versions of the spec."""
    return (crd.get("spec") or {}).get("versions") or []


def schema_of(crd: Obj, version: str) -> schema.Schema:
    """The schema of a version's objects, with apiVersion, kind and metadata."""
    return schema.custom(_version(crd, version)["schema"]["openAPIV3Schema"])


def columns(crd: Obj, version: str) -> list[Obj]:
    """The printer columns of a version; none is no answer: then the age is shown."""
    return _version(crd, version).get("additionalPrinterColumns") or []


def _version(crd: Obj, name: str) -> Obj:
    return next(version for version in versions(crd) if version["name"] == name)


def resources(crd: Obj) -> list[kinds.Resource]:
    """The resource in every version that is served, the preferred one first."""
    served = [version for version in versions(crd) if version.get("served")]
    return [_resource(crd, version) for version in sorted(served, key=_rank, reverse=True)]


def _resource(crd: Obj, version: Obj) -> kinds.Resource:
    spec = crd["spec"]
    # What was accepted counts: names that were refused are not served.
    names = {**spec["names"], **((crd.get("status") or {}).get("acceptedNames") or {})}
    plural = spec["names"]["plural"]
    fields = version.get("selectableFields") or ()
    return kinds.Resource(
        group=spec["group"],
        version=version["name"],
        kind=spec["names"]["kind"],
        plural=plural,
        singular=names.get("singular", ""),
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=_VERBS,
        subresources=tuple(
            s for s in ("status", "scale") if s in (version.get("subresources") or {})
        ),
        custom=True,
        list_kind=spec["names"]["listKind"],
        key=(spec["group"], plural),
        selectable=tuple(field["jsonPath"].removeprefix(".") for field in fields),
        deprecation=_deprecation(crd, version),
    )


def _deprecation(crd: Obj, version: Obj) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    told = f"{group}/{version['name']} {kind} is deprecated"
    others = [v for v in versions(crd) if v.get("served") and not v.get("deprecated")]
    best = max(others, key=_rank, default=version)
    if _rank(best) <= _rank(version):
        return told
    return f"{told}; use {group}/{best['name']} {kind}"


def _rank(version: Obj) -> tuple[Any, ...]:
    """The larger, the more preferred: v2, v1, v1beta1, v1alpha1, and then the others by name."""
    match = _VERSION.fullmatch(version["name"])
    if match is None:
        return (0, tuple(-ord(letter) for letter in version["name"]))
    major, stage, minor = match.groups()
    return (1, _STAGES.index(stage), int(major), int(minor or 0))


def accepted(crd: Obj, others: Iterable[Obj], now: str) -> Obj:
    """The status after the names were looked at: ``others`` are the other CRDs there are."""
    status = crd.get("status") or {}
    taken = [
        (other.get("status") or {}).get("acceptedNames") or {}
        for other in others
        if other["spec"]["group"] == crd["spec"]["group"]
    ]
    names, conflict = _names(crd["spec"]["names"], status.get("acceptedNames") or {}, taken)
    if conflict is None:
        found = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
    else:
        found = ("NamesAccepted", "False", *conflict)
    conditions = _with(status.get("conditions"), found, now)
    established = _condition(conditions, "Established").get("status") == "True"
    if conflict is None and not established:
        told = "the initial names have been accepted"
        conditions = _with(conditions, ("Established", "True", "InitialNamesAccepted", told), now)
    elif not established:
        told = "not all names are accepted"
        conditions = _with(conditions, ("Established", "False", "NotAccepted", told), now)
    rest = {
        key: value for key, value in status.items() if key not in ("conditions", "acceptedNames")
    }
    return {"conditions": conditions, "acceptedNames": names, **rest}


def terminating(crd: Obj, why: tuple[str, str], now: str) -> Obj:
    """The status of a CRD that is being deleted; it ends when its objects are gone."""
    status, goes_on = crd.get("status") or {}, "False" if why == COMPLETED else "True"
    return {
        **status,
        "conditions": _with(status.get("conditions"), ("Terminating", goes_on, *why), now),
    }


def _names(wanted: Obj, had: Obj, taken: list[Obj]) -> tuple[Obj, tuple[str, str] | None]:
    """The names that are accepted, and which one is not; of several the last is told."""
    plurals = {
        name
        for names in taken
        for name in (names.get("plural"), names.get("singular"), *(names.get("shortNames") or ()))
    }
    kindred = {name for names in taken for name in (names.get("kind"), names.get("listKind"))}
    found: Obj = {"plural": "", "kind": ""}
    conflict = None
    for field in ("plural", "singular", "shortNames", "kind", "listKind", "categories"):
        value = wanted.get(field)
        listed = value if isinstance(value, list) else [value] if value else []
        used = kindred if field in ("kind", "listKind") else plurals
        clash = next((name for name in listed if name in used and field != "categories"), None)
        if clash is not None:
            conflict = (f"{field[0].upper()}{field[1:]}Conflict", f'"{clash}" is already in use')
            value = had.get(field)
        if value:
            found[field] = value
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {field: found[field] for field in order if field in found}, conflict


def _condition(conditions: list[Obj] | None, name: str) -> Obj:
    return next((found for found in conditions or () if found["type"] == name), {})


def _with(conditions: list[Obj] | None, new: tuple[str, str, str, str], now: str) -> list[Obj]:
    """The conditions with one replaced in its place; its time changes with its status."""
    name, status, reason, message = new
    old = _condition(conditions, name)
    since = old["lastTransitionTime"] if old.get("status") == status else now
    changed = {
        "type": name,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    if not old:
        return [*(conditions or ()), changed]
    return [changed if found["type"] == name else found for found in conditions or ()]
