"""Whether lists and maps of a CRD's schema say rightly how their entries are told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_operator.sandbox import failure

Obj = dict[str, Any]
Cause = failure.Cause

TYPE = "x-kubernetes-list-type"
KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"


def validate(schema: Obj, at: str) -> Iterator[Cause]:
    """What is wrong with the list type, its keys and the map type of a schema."""
    yield from _lists(schema, at)
    yield from _maps(schema, at)


def _lists(schema: Obj, at: str) -> Iterator[Cause]:
    kind, keys = schema.get(TYPE), schema.get(KEYS) or ()
    if kind and schema.get("type") != "array":
        told = f"must be array if {TYPE} is specified"
        yield failure.invalid_value(f"{at}.type", schema.get("type", ""), told)
    elif kind and kind not in ("atomic", "set", "map"):
        yield failure.not_supported(f"{at}.{TYPE}", kind, ("atomic", "set", "map"))
    elif keys and kind != "map":
        told = f"must be map if {KEYS} is non-empty"
        yield failure.invalid_value(f"{at}.{TYPE}", kind, told)
    elif kind == "map":
        yield from _keyed(schema, keys, at)
    elif kind == "set":
        yield from _set(schema.get("items") or {}, f"{at}.items")


def _keyed(schema: Obj, keys: Any, at: str) -> Iterator[Cause]:
    items = schema.get("items") or {}
    properties = items.get("properties") or {}
    if not keys:
        yield failure.required(f"{at}.{KEYS}", f"must not be empty if {TYPE} is map")
    if items.get("type") != "object":
        told = f"must be object if parent array's {TYPE} is map"
        yield failure.invalid_value(f"{at}.items.type", items.get("type", ""), told)
        return
    if len(set(keys)) != len(keys):
        told = "must not contain duplicate entries"
        yield failure.invalid_value(f"{at}.{KEYS}", keys, told)
    if not set(keys) <= set(properties):
        told = "entries must all be names of item properties"
        yield failure.invalid_value(f"{at}.{KEYS}", keys, told)
    for name in (key for key in keys if key in properties):
        required = name in (items.get("required") or ())
        yield from _key(properties[name], f"{at}.items.properties[{name}]", required)


def _key(schema: Obj, at: str, required: bool) -> Iterator[Cause]:
    kind = schema.get("type", "")
    if kind in ("array", "object"):
        told = f"must be a scalar type if parent array's {TYPE} is map"
        yield failure.invalid_value(f"{at}.type", kind, told)
    told = f"this property is in {KEYS}, so it "
    if "default" not in schema and not required:
        told += "must have a default or be a required property"
        yield failure.required(f"{at}.default", told)
    elif schema.get("nullable"):
        yield failure.forbidden_field(f"{at}.nullable", f"{told}cannot be nullable")


def _set(items: Obj, at: str) -> Iterator[Cause]:
    if items.get("nullable"):
        told = f"cannot be nullable when {TYPE} is set"
        yield failure.forbidden_field(f"{at}.nullable", told)
    needed = {"object": MAP_TYPE, "array": TYPE}.get(items.get("type", ""))
    given = items.get(needed) if needed else "atomic"
    if given != "atomic" and (given or needed == MAP_TYPE):
        told = f"must be atomic as item of a list with {TYPE}=set"
        yield failure.invalid_value(f"{at}.{needed}", given, told)


def _maps(schema: Obj, at: str) -> Iterator[Cause]:
    kind = schema.get(MAP_TYPE)
    if kind and schema.get("type") != "object":
        told = f"must be object if {MAP_TYPE} is specified"
        yield failure.invalid_value(f"{at}.type", schema.get("type", ""), told)
    elif kind and kind not in ("atomic", "granular"):
        yield failure.not_supported(f"{at}.{MAP_TYPE}", kind, ("atomic", "granular"))
