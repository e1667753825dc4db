"""Dropping the fields of custom resources that their schema does not have."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = schemas.Schema
META = ("apiVersion", "kind", "metadata")
_NOTHING: Schema = {}


def prune(obj: Obj, schema: Schema) -> tuple[Obj, list[str]]:
    """The object without unknown fields, and their paths (``spec.list[0].x``), sorted.

    Nulls are dropped as well where the schema has neither ``nullable`` nor a default; that is not
    told. The metadata of the object and of embedded ones are left as they are.
    """
    unknown: list[str] = []
    found: Obj = _map(obj, {**schema, "x-kubernetes-embedded-resource": True}, "", unknown)
    return found, sorted(unknown)


def _value(value: Any, schema: Schema, path: str, unknown: list[str]) -> Any:
    if isinstance(value, dict):
        return _map(value, schema, path, unknown)
    if isinstance(value, list):
        items = schema.get("items", _ignorant(schema))
        return [_value(item, items, f"{path}[{i}]", unknown) for i, item in enumerate(value)]
    return value


def _ignorant(schema: Schema) -> Schema:
    """The schema of list entries that are not described: those of free values are free."""
    return schemas.ANY if schema.get("x-kubernetes-preserve-unknown-fields") else _NOTHING


def _map(value: Obj, schema: Schema, path: str, unknown: list[str]) -> Obj:
    properties = schema.get("properties", _NOTHING)
    more = schema.get("additionalProperties")
    free = schema.get("x-kubernetes-preserve-unknown-fields")
    whole = schema.get("x-kubernetes-embedded-resource")
    found: Obj = {}
    for key, item in value.items():
        sub = properties.get(key, more)
        if whole and key in META:
            found[key] = item
        elif isinstance(sub, dict):
            if item is not None or sub.get("nullable") or sub.get("default") is not None:
                found[key] = _value(item, sub, f"{path}.{key}" if path else key, unknown)
        elif sub:
            found[key] = _value(item, _NOTHING, f"{path}.{key}" if path else key, unknown)
        elif free:
            found[key] = item
        else:
            unknown.append(f"{path}.{key}" if path else key)
    return found
