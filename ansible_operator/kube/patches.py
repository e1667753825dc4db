"""Pure: the patches that we send, computed from what was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_operator import objects


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7396) that turns ``old`` into ``new``; empty if they are equal.

    Lists are replaced as a whole. A None inside ``new`` removes the key: a merge patch cannot
    express a null.
    """
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := merge(before, value):
                patch[key] = inner
        elif key not in old or not same(before, value):
            patch[key] = value
    return patch


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values; unlike Python's, true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def add_finalizer(obj: objects.Obj, name: str) -> list[dict[str, Any]]:
    """The JSON patch that appends a finalizer to exactly the object that was read."""
    present = objects.finalizers(obj)
    where = "/metadata/finalizers/-" if present else "/metadata/finalizers"
    return [_unchanged(obj), {"op": "add", "path": where, "value": name if present else [name]}]


def remove_finalizer(obj: objects.Obj, name: str) -> list[dict[str, Any]]:
    """The JSON patch that takes one finalizer, and no other, from the object that was read."""
    where = f"/metadata/finalizers/{objects.finalizers(obj).index(name)}"
    return [
        _unchanged(obj),
        {"op": "test", "path": where, "value": name},
        {"op": "remove", "path": where},
    ]


def status(obj: objects.Obj, new: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch for ``/status`` that is refused if the object changed since it was read."""
    return {
        "metadata": {"resourceVersion": objects.resource_version(obj)},
        "status": merge(objects.status(obj), new),
    }


def _unchanged(obj: objects.Obj) -> dict[str, Any]:
    version = objects.resource_version(obj)
    return {"op": "test", "path": "/metadata/resourceVersion", "value": version}
