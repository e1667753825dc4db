"""The options of requests: from the query string, and for deletions from the body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_operator import gotext
from ansible_operator.sandbox import failure
from ansible_operator.sandbox.patches import managers
from ansible_operator.sandbox.rights import access

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Meta:
    """An options type, as errors name it."""

    kind: str
    group: str = "meta.k8s.io"
    plural: str = ""
    qualified: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    """How to write. ``warnings`` collects what the answer's Warning headers say."""

    manager: str
    warnings: list[str]
    user: access.User
    dry_run: bool = False
    force: bool = False
    validation: str = "Warn"


@dataclass(frozen=True, slots=True)
class Delete:
    """How to delete. ``propagation`` is Foreground, Background, Orphan or empty (the default).

    ``warnings`` collects what the answer's Warning headers say.
    """

    dry_run: bool = False
    grace: int | None = None
    propagation: str = ""
    uid: str = ""
    revision: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class List:
    """What to list or watch. ``timeout`` in seconds, None for the server's choice."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    go_on: str = ""
    revision: str = ""
    match: str = ""
    watch: bool = False
    bookmarks: bool = False
    initial: bool | None = None
    timeout: float | None = None


Query = Mapping[str, Sequence[str]]
"""A query string: every parameter with its values."""


def write(
    kind: str,
    query: Query,
    agent: str,
    warnings: list[str],
    user: access.User,
    applies: bool | None = None,
) -> Write:
    """Options of a create, update or patch; ``kind`` is CreateOptions or the like.

    ``applies``: whether a patch is one of server-side apply, None for other requests.
    The field manager is the one that the query names, else the first part of the user agent.
    Raises ApiFailure 422.
    """
    manager = _one(query, "fieldManager")
    causes: list[failure.Cause] = []
    if applies and not manager:
        causes.append(failure.required("fieldManager", "is required for apply patch"))
    if applies is False and "force" in query:
        told = "may not be specified for non-apply patch"
        causes.append(failure.forbidden_field("force", told))
    causes += managers.validate_name("fieldManager", manager)
    dry_run = _dry_run(query.get("dryRun", ()), causes)
    validation = _one(query, "fieldValidation")
    if validation not in ("", "Ignore", "Strict", "Warn"):
        allowed = ("", "Ignore", "Strict", "Warn")
        causes.append(failure.not_supported("fieldValidation", validation, allowed))
    _refuse(kind, causes)
    return Write(
        manager=manager or managers.of_agent(agent),
        warnings=warnings,
        user=user,
        dry_run=dry_run,
        force=_truth(_one(query, "force")),
        validation=validation or "Warn",
    )


def delete(query: Query, body: Obj | None, warnings: list[str] | None = None) -> Delete:
    """Options of a deletion: those of the body, if it has any, else those of the query.

    Raises ApiFailure 400 for a body that is no DeleteOptions, 422 for values that are none.
    """
    found = _queried(query) if body is None else _delete_options(body)
    causes: list[failure.Cause] = []
    dry_run = _dry_run(found.get("dryRun") or (), causes)
    propagation = _propagation(found, causes)
    _refuse("DeleteOptions", causes)
    wanted = found.get("preconditions") or {}
    return Delete(
        dry_run=dry_run,
        grace=found.get("gracePeriodSeconds"),
        propagation=propagation,
        uid=wanted.get("uid", ""),
        revision=wanted.get("resourceVersion", ""),
        warnings=[] if warnings is None else warnings,
    )


def _queried(query: Query) -> Obj:
    found: Obj = {key: values[0] for key, values in query.items() if values}
    if "gracePeriodSeconds" in found:
        found["gracePeriodSeconds"] = _number(found["gracePeriodSeconds"])
    return found | {"dryRun": query.get("dryRun", ())}


def _delete_options(body: Obj) -> Obj:
    if (kind := body.get("kind", "DeleteOptions")) != "DeleteOptions":
        version = body.get("apiVersion", "")
        told = f'no kind "{kind}" is registered for version "{version}"'
        raise failure.bad_request(f'{told} in scheme "pkg/runtime/scheme.go:111"')
    return body


def _propagation(found: Mapping[str, Any], causes: list[failure.Cause]) -> str:
    policy = str(found.get("propagationPolicy") or "")
    allowed = ("Foreground", "Background", "Orphan", "nil")
    if policy not in ("", *allowed[:3]):
        causes.append(failure.not_supported("propagationPolicy", policy, allowed))
    orphan = found.get("orphanDependents")
    if orphan is None:
        return policy
    if policy:
        told = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(failure.invalid_value("propagationPolicy", policy, told))
    return "Orphan" if _truth(str(orphan).lower()) else "Background"


def listing(query: Query) -> List:
    """Options of a list or watch. Raises ApiFailure 400 and 422."""
    initial = _one(query, "sendInitialEvents")
    found = List(
        labels=_one(query, "labelSelector"),
        fields=_one(query, "fieldSelector"),
        limit=_number(_one(query, "limit")),
        go_on=_one(query, "continue"),
        revision=_one(query, "resourceVersion"),
        match=_one(query, "resourceVersionMatch"),
        watch=_truth(_one(query, "watch")),
        bookmarks=_truth(_one(query, "allowWatchBookmarks")),
        initial=_truth(initial) if initial else None,
        timeout=float(_number(_one(query, "timeoutSeconds"))) or None,
    )
    _refuse("ListOptions", _list_causes(found))
    return found


def _list_causes(found: List) -> list[failure.Cause]:
    """The rules for resourceVersionMatch and sendInitialEvents."""
    at = "resourceVersionMatch"
    if found.watch and found.initial is not None:
        if found.match != "NotOlderThan":
            told = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            return [failure.forbidden_field(at, told)]
        return []
    if found.initial is not None:
        told = "sendInitialEvents is forbidden for list"
        return [failure.forbidden_field("sendInitialEvents", told)]
    if not found.match:
        return []
    if found.watch:
        told = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        return [failure.forbidden_field(at, told)]
    if not found.revision:
        told = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        return [failure.forbidden_field(at, told)]
    if found.match not in ("Exact", "NotOlderThan"):
        return [failure.not_supported(at, found.match, ("Exact", "NotOlderThan", ""))]
    if found.match == "Exact" and found.revision == "0":
        told = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        return [failure.forbidden_field(at, told)]
    return []


def _dry_run(values: Sequence[str], causes: list[failure.Cause]) -> bool:
    if any(value != "All" for value in values):
        causes.append(failure.not_supported("dryRun", list(values), ("All",)))
    return bool(values)


def _refuse(kind: str, causes: Sequence[failure.Cause]) -> None:
    if causes:
        raise failure.invalid(_Meta(kind), "", causes)


def _one(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _truth(text: str) -> bool:
    """Any value but these counts as true, as in the API machinery."""
    return text not in ("", "0", "false", "False", "FALSE", "f", "F")


def _number(text: str) -> int:
    number = gotext.integer(text or "0")
    if number is None:
        wrong = "value out of range" if re.fullmatch(r"[+-]?[0-9]+", text) else "invalid syntax"
        raise failure.bad_request(f'strconv.ParseInt: parsing "{text}": {wrong}')
    return number
