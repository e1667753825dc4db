"""What is wrong with one version of a CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.customs import structural

Obj = dict[str, Any]
Cause = failure.Cause

_TYPES = ("boolean", "date", "integer", "number", "string")
_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SCALE = {  # field of the scale subresource: what its path must lead into
    "specReplicasPath": (".spec",),
    "statusReplicasPath": (".status",),
    "labelSelectorPath": (".spec", ".status"),
}


def validate(version: Obj, at: str, schema_at: str) -> Iterator[Cause]:
    """What is wrong with schema, subresources, columns and selectable fields, where it has them."""
    openapi = schema(version)
    if openapi is not None:
        yield from structural.validate(openapi, f"{schema_at}.openAPIV3Schema")
    subresources = version.get("subresources") or {}
    if subresources.get("scale") is not None:
        yield from _scale(subresources["scale"], f"{at}.subresources.scale")
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column(column, f"{at}.additionalPrinterColumns[{index}]")
    yield from _selectable(version.get("selectableFields") or (), openapi, f"{at}.selectableFields")


def schema(version: Obj) -> Any:
    """The schema of a version; None where there is none."""
    return (version.get("schema") or {}).get("openAPIV3Schema")


def deprecation(version: Obj, at: str) -> Iterator[Cause]:
    """What is wrong with the warning that users of the version get."""
    warning = version.get("deprecationWarning") or ""
    at = f"{at}.deprecationWarning"
    if warning and not version.get("deprecated"):
        yield failure.invalid_value(at, warning, "can only be set for deprecated versions")
    if len(warning.encode()) > 256:
        yield failure.invalid_value(at, warning, "must be <= 256 bytes")
    bad = next((i for i, letter in enumerate(warning) if not letter.isprintable()), None)
    if bad is not None:
        told = "must only contain printable UTF-8 characters; non-printable character found at "
        yield failure.invalid_value(at, warning, f"{told}index {bad}")


def _scale(scale: Obj, at: str) -> Iterator[Cause]:
    for field, roots in _SCALE.items():
        path = scale.get(field) or ""
        if not path:
            if field != "labelSelectorPath":
                yield failure.required(f"{at}.{field}")
        elif told := _not_simple(path):
            yield failure.invalid_value(f"{at}.{field}", path, told)
        elif not path.startswith(tuple(f"{root}." for root in roots)):
            told = f"either {' or '.join(roots)}" if len(roots) > 1 else roots[0]
            told = f"should be a json path under {told}"
            yield failure.invalid_value(f"{at}.{field}", path, told)


def _not_simple(path: str) -> str:
    return "" if path.startswith(".") else "must be a simple json path starting with ."


def _column(column: Obj, at: str) -> Iterator[Cause]:
    if not column.get("name"):
        yield failure.required(f"{at}.name")
    kind, form, path = (column.get(field) or "" for field in ("type", "format", "jsonPath"))
    for field, value, allowed in (("type", kind, _TYPES), ("format", form, _FORMATS)):
        told = f"must be one of {','.join(allowed)}"
        if value and value not in allowed:
            yield failure.invalid_value(f"{at}.{field}", value, told)
        elif field == "type" and not value:
            yield failure.required(f"{at}.{field}", told)
    if not path:
        yield failure.required(f"{at}.JSONPath")
    elif told := _not_simple(path):
        yield failure.invalid_value(f"{at}.JSONPath", path, told)


def _selectable(fields: Any, openapi: Any, at: str) -> Iterator[Cause]:
    seen = set()
    for index, field in enumerate(fields):
        path = field.get("jsonPath") or ""
        if told := _not_selectable(path, openapi or {}):
            told = f"is an invalid path: {told}"
            yield failure.invalid_value(f"{at}[{index}].jsonPath", path, told)
        if path in seen:
            yield failure.duplicate(f"{at}[{index}].jsonPath", path)
        seen.add(path)


def _not_selectable(path: str, openapi: Obj) -> str:
    if not path.startswith("."):
        return f"expected [ or . but got: {path.partition('.')[0]}"
    found: Any = openapi
    for name in path[1:].split("."):
        found = (found.get("properties") or {}).get(name)
        if found is None:
            return "does not refer to a valid field"
    return ""
