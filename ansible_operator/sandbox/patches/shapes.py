"""Whether what is applied fits the schema, in the words of server-side apply.

This is not the validation of objects: apply looks only at fields and their types, because it has
to tell list entries apart, and it refuses before anything else is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_operator.sandbox.patches import fieldset, fieldwalk
from ansible_operator.sandbox.reading import gowords
from ansible_operator.sandbox.schemas import schema as schemas

Schema = schemas.Schema


def problems(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """What does not fit: ``.spec.replicas: expected numeric (int or float), got string``."""
    if value is None:
        return
    kind = "" if schemas.int_or_string(schema) else schemas.resolve(schema).get("type", "")
    if isinstance(value, dict) and kind in ("object", ""):
        yield from _fields(value, schema, path)
    elif isinstance(value, list) and kind in ("array", ""):
        yield from _entries(value, schema, path)
    elif told := _mismatch(value, kind, schemas.resolve(schema).get("format", "")):
        yield f"{path}: {told}"


def _mismatch(value: Any, kind: str, form: str) -> str:
    if kind == "object":
        return f"expected map, got &{{{gowords.plain(value)}}}"
    if kind == "array":
        return f"expected list, got &{{{gowords.plain(value)}}}"
    scalar = not isinstance(value, dict | list)
    if kind == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got &{{{gowords.plain(value)}}}"
    if kind in ("integer", "number") and (not isinstance(value, int | float) or value is True):
        return f"expected numeric (int or float), got {gowords.kind(value)}"
    if kind == "string" and form == "quantity":
        return "" if scalar else f"expected any scalar, got &{{{gowords.plain(value)}}}"
    if kind == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{gowords.source(value)}}}"
    return ""


def _fields(value: dict[str, Any], schema: Schema, path: str) -> Iterator[str]:
    open_ended = schemas.preserves_unknown(schema) or not schemas.resolve(schema).get("properties")
    for name in sorted(value):
        sub = schemas.of_field(schema, name)
        if sub is None and not open_ended:
            yield f"{path}.{name}: field not declared in schema"
            return
        yield from problems(value[name], sub or schemas.ANY, f"{path}.{name}")


def _entries(value: list[Any], schema: Schema, path: str) -> Iterator[str]:
    items = schemas.of_items(schema)
    if schemas.list_type(schema) == "atomic":
        for at, item in enumerate(value):
            yield from problems(item, items, f"{path}[{at}]")
        return
    for at, item in enumerate(value):
        if told := _misplaced(item, bool(schemas.map_keys(schema))):
            yield f"{path}: element {at}: {told}"
            return
    for step, item in fieldwalk.keyed(value, schema).items():
        if isinstance(item, fieldwalk.Repeated):
            yield f"{path}: duplicate entries for key {fieldset.shown(step)}"
        else:
            yield from problems(item, items, path + fieldset.shown(step))


def _misplaced(item: Any, has_keys: bool) -> str:
    """Why an entry cannot be told apart from the others."""
    if has_keys:
        if item is None:
            return "associative list with keys may not have a null element"
        ok = isinstance(item, dict)
        return "" if ok else "associative list with keys may not have non-map elements"
    if item is None:
        return "associative list without keys has an element that's an explicit null"
    if isinstance(item, dict):
        return "associative list without keys has an element that's a map type"
    if isinstance(item, list):
        return "not supported: associative list with lists as elements"
    return ""
