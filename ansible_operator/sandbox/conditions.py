"""Conditions of built-in kinds, as their controllers write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Obj = dict[str, Any]
Conditions = list[Obj]


def find(conditions: Sequence[Obj] | None, kind: str) -> Obj | None:
    """The condition of a type."""
    return next((found for found in conditions or () if found["type"] == kind), None)


def is_true(obj: Obj, kind: str) -> bool:
    """Whether the object's status says so."""
    found = find(obj.get("status", {}).get("conditions"), kind)
    return found is not None and found["status"] == "True"


def replaced(conditions: Sequence[Obj], new: Obj) -> Conditions:
    """The conditions with ``new`` in the place of the one of its type, or at the end."""
    if find(conditions, new["type"]) is None:
        return [*conditions, new]
    return [new if found["type"] == new["type"] else found for found in conditions]


def without(conditions: Sequence[Obj], kind: str) -> Conditions:
    """The conditions but for those of a type."""
    return [found for found in conditions if found["type"] != kind]


def kept_since(old: Obj | None, new: Obj) -> Obj:
    """``new`` with the transition time of ``old``, if the status has not changed."""
    since = old.get("lastTransitionTime") if old else None
    if old is None or old["status"] != new["status"] or not since:
        return new
    return {**new, "lastTransitionTime": since}
