"""Lists of type ``set`` and ``map``: nothing stands in them twice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = schemas.Schema
Cause = failure.Cause


def validate(obj: Any, schema: Schema, path: str = "") -> list[Cause]:
    """What stands twice in the lists of an object."""
    causes: list[Cause] = []
    if isinstance(obj, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in obj.items():
            if isinstance(item, dict | list) and isinstance(sub := properties.get(key, more), dict):
                entry = f"{path}.{key}" if path else key
                causes += validate(item, sub, entry if key in properties else f"{path}[{key}]")
    elif isinstance(obj, list):
        kind = schema.get("x-kubernetes-list-type")
        if kind == "set":
            causes += [failure.duplicate(f"{path}[{at}]", obj[at]) for at in _again(obj)]
        elif kind == "map":
            causes += _again_by_keys(obj, schema["x-kubernetes-list-map-keys"], path)
        items = schema.get("items", {})
        for index, item in enumerate(obj):
            if isinstance(item, dict | list):
                causes += validate(item, items, f"{path}[{index}]")
    return causes


def _again(values: Sequence[Any]) -> list[int]:
    """The places of second appearances; those of third ones are not told."""
    seen: dict[str, int] = {}
    found = []
    for index, value in enumerate(values):
        text = json.dumps(value, sort_keys=True)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            found.append(index)
    return found


def _again_by_keys(values: Sequence[Any], keys: Sequence[str], path: str) -> list[Cause]:
    for index, value in enumerate(values):
        if not isinstance(value, dict | None):
            told = "must be an object for an array of list-type map"
            return [failure.invalid_value(f"{path}[{index}]", value, told)]
    told_apart = [_key(value, keys) for value in values]
    return [failure.duplicate(f"{path}[{at}]", told_apart[at]) for at in _again(told_apart)]


def _key(value: Obj | None, keys: Sequence[str]) -> Obj:
    return {key: value[key] for key in sorted(keys) if key in value} if value else {}


def correlated(value: Sequence[Any], schema: Schema, old: Any) -> Mapping[int, Any] | None:
    """For the places in a list the old entries with the same keys; None if there are none."""
    if schema.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return None
    keys = schema["x-kubernetes-list-map-keys"]
    before = {json.dumps(_key(item, keys)): item for item in old if isinstance(item, dict)}
    places = ((index, item) for index, item in enumerate(value) if isinstance(item, dict))
    found = {index: json.dumps(_key(item, keys)) for index, item in places}
    return {index: before[text] for index, text in found.items() if text in before}
