"""Whole objects in the fields of custom resources: their version, kind and metadata."""

from __future__ import annotations

import re
from typing import Any

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.builtins import metadata, names
from ansible_operator.sandbox.schemas import schema as schemas

Schema = schemas.Schema
Cause = failure.Cause
_KIND = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_KIND_TOLD = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case "
    "alphanumeric characters or '-', start with an alphabetic character, and end with an "
    "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_ANY = kinds.Resource("", "v1", "", "", "")


def validate(value: Any, schema: Schema, path: str = "") -> list[Cause]:
    """What is wrong with the objects in an object's fields."""
    if not path and not schemas.has_embedded(schema):
        return []
    causes: list[Cause] = []
    if isinstance(value, list):
        items = schema.get("items", {})
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                causes += validate(item, items, f"{path}[{index}]")
    if isinstance(value, dict):
        if path and schemas.embedded(schema):
            causes += _object(value, path)
        properties, more = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in value.items():
            if key == "metadata" or not isinstance(item, dict | list):
                continue
            if isinstance(sub := properties.get(key, more), dict):
                causes += validate(item, sub, f"{path}.{key}" if path else key)
    return causes


def _object(value: dict[str, Any], path: str) -> list[Cause]:
    causes = [
        failure.required(f"{path}.{key}") for key in ("apiVersion", "kind") if key not in value
    ]
    if (version := value.get("apiVersion")) is not None:
        causes += _version(version, f"{path}.apiVersion")
    if (kind := value.get("kind")) is not None:
        causes += _kind(kind, f"{path}.kind")
    return causes + _metadata(value.get("metadata") or {}, f"{path}.metadata")


def _version(value: str, path: str) -> list[Cause]:
    if not value:
        return [failure.invalid_value(path, value, "must not be empty")]
    if value.count("/") > 1:
        return [failure.invalid_value(path, value, f"unexpected GroupVersion string: {value}")]
    return []


def _kind(value: str, path: str) -> list[Cause]:
    if not value:
        return [failure.invalid_value(path, value, "must not be empty")]
    fitting = _KIND.fullmatch(value.lower()) and len(value) <= 63
    return [] if fitting else [failure.invalid_value(path, value, _KIND_TOLD)]


def _metadata(meta: dict[str, Any], path: str) -> list[Cause]:
    causes: list[Cause] = []
    for key, rule in (
        ("name", names.path_segment),
        ("generateName", names.path_segment),
        ("namespace", names.label),
    ):
        given = meta.get(key)
        if given:
            causes += [failure.invalid_value(f"{path}.{key}", given, told) for told in rule(given)]
    if (generation := meta.get("generation", 0)) < 0:
        told = "must be greater than or equal to 0"
        causes.append(failure.invalid_value(f"{path}.generation", generation, told))
    for finalizer in meta.get("finalizers", ()):
        wrong = names.qualified(finalizer)
        causes += [failure.invalid_value(f"{path}.finalizers", finalizer, told) for told in wrong]
    own = ("generateName", "finalizers")
    rest = {key: item for key, item in meta.items() if key not in own} | {"name": "x"}
    found = metadata.validate(_ANY, {"metadata": rest}, None)
    above = path.removesuffix("metadata")
    return causes + [Cause(c.reason, c.message, above + c.field) for c in found]
