"""Whether a CRD's schema is structural, and what else is wrong with it, in the server's words.

A structural schema says of every field of what type it is; ``allOf``, ``anyOf``, ``oneOf`` and
``not`` only narrow down values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import re2

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.customs import rules, structural_lists
from ansible_operator.sandbox.schemas import formats, pruning, validation
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Cause = failure.Cause

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_NOT_SUPPORTED = (
    "$ref",
    "additionalItems",
    "definitions",
    "dependencies",
    "id",
    "patternProperties",
)
_EMPTY = ("description", "title", "type", "x-kubernetes-validations")
_UNSET = (
    "additionalProperties",
    "default",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
)
_FALSE = (
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
)
_NARROWING = ("allOf", "anyOf", "oneOf")
_PRESERVE, _EMBEDDED = _FALSE[3], _FALSE[1]
_GO_WORDS = {
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
}
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_META = ("name", "generateName")


def validate(schema: Obj, at: str) -> list[Cause]:
    """The causes for which a schema, the value of ``at``, is refused."""
    causes = [*_root(schema, at), *_node(schema, at, "")]
    return causes or rules.compile_errors(schema, at) or list(_defaults(schema, at))


def warnings(schema: Obj, at: str) -> list[str]:
    """What users are warned of."""
    found = []
    for node, _ in nodes(schema, at):
        form = node.get("format") or ""
        if form and not formats.known(node.get("type") or "", form):
            found.append(f"unrecognized format {failure.shown(form)}")
        items = node.get("items") or {}
        if node.get(structural_lists.TYPE) == "set" and items.get("type") in ("array", "object"):
            kind = failure.shown(items["type"])
            told = "is not supported by server-side apply or CEL validation rules"
            found.append(f"{structural_lists.TYPE}: set for items of type {kind} {told}")
    return found


def nodes(schema: Obj, at: str) -> Iterator[tuple[Obj, str]]:
    """A schema and all those within it that describe fields, with their paths."""
    yield schema, at
    for name, found in sorted((schema.get("properties") or {}).items()):
        yield from nodes(found, f"{at}.properties[{name}]")
    for field in ("items", "additionalProperties"):
        if isinstance(schema.get(field), dict):
            yield from nodes(schema[field], f"{at}.{field}")


def _defaults(schema: Obj, at: str) -> Iterator[Cause]:
    """Defaults must be valid themselves."""
    for node, place in nodes(schemas.custom(schema), at):
        value, place = node.get("default"), f"{place}.default"
        if value is None:
            continue
        if isinstance(value, dict) and pruning.prune(value, node)[1]:
            yield failure.invalid_value(place, value, "must not have unknown fields")
        given, owner = {"default": value}, {"properties": {"default": node}}
        for cause in validation.validate(given, owner):
            message = re.sub(r"(?<=: )default\.?(\S*) in body", r"\1 in body", cause.message)
            yield Cause(cause.reason, message, place + cause.field.removeprefix("default"))
        yield from rules.validate(value, None, node, path=place)


def _root(schema: Obj, at: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if not kind:
        yield failure.required(f"{at}.type", "must not be empty at the root")
    elif kind != "object":
        yield failure.invalid_value(f"{at}.type", kind, "must be object at the root")
    if isinstance(schema.get("additionalProperties"), dict):
        yield failure.forbidden_field(f"{at}.additionalProperties", "must not be used at the root")
    properties = schema.get("properties") or {}
    for name in ("apiVersion", "kind"):
        kind = properties.get(name, {}).get("type", "string")
        if kind != "string":
            found = f"{at}.properties[{name}].type"
            yield failure.invalid_value(found, kind, "must be string")
    yield from _meta(properties.get("metadata") or {}, f"{at}.properties[metadata]")


def _meta(schema: Obj, at: str) -> Iterator[Cause]:
    kind = schema.get("type") or "object"
    if kind != "object":
        yield failure.invalid_value(f"{at}.type", kind, "must be object")
    if "default" in schema:
        yield failure.forbidden_field(f"{at}.default", "must not be set in top-level metadata")
    other = set(schema) - {"type", "description", "default", "properties"}
    if other or set(schema.get("properties") or ()) - set(_META):
        told = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        yield failure.forbidden_field(at, told)


def _node(schema: Obj, at: str, place: str) -> Iterator[Cause]:
    """``place``: object fields, array items, or nothing at the root."""
    yield from _untyped(schema, at, place)
    yield from _constructs(schema, at)
    yield from structural_lists.validate(schema, at)
    yield from _narrowed(schema, at)
    for name, found in sorted((schema.get("properties") or {}).items()):
        yield from _node(found, f"{at}.properties[{name}]", "object fields")
    for field, place in (("additionalProperties", "object fields"), ("items", "array items")):
        if isinstance(schema.get(field), dict):
            yield from _node(schema[field], f"{at}.{field}", place)


def _untyped(schema: Obj, at: str, place: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        yield failure.not_supported(f"{at}.type", kind, _TYPES)
    free = schema.get(_PRESERVE) or schema.get("x-kubernetes-int-or-string")
    unsupported = any(schema.get(field) for field in _NOT_SUPPORTED)
    if not kind and place and not free and not unsupported:
        yield failure.required(f"{at}.type", f"must not be empty for specified {place}")
    if schema.get(_PRESERVE) is False:
        yield failure.invalid_value(f"{at}.{_PRESERVE}", False, "must be true or undefined")
    if schema.get(_EMBEDDED):
        if not schema.get(_PRESERVE) and not schema.get("properties"):
            told = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
            yield failure.required(f"{at}.properties", told)
        if kind != "object":
            told = f"must be object if {_EMBEDDED} is true"
            yield failure.invalid_value(f"{at}.type", kind or "", told)


def _refused(schema: Obj, at: str) -> Iterator[Cause]:
    for field in _unsupported(schema):
        yield failure.forbidden_field(f"{at}.{field}", f"{field} is not supported")


def _unsupported(schema: Obj) -> list[str]:
    """The fields that no schema may have; of two it does not matter how empty they are."""
    never = ("$ref", "additionalItems")
    return [f for f in _NOT_SUPPORTED if schema.get(f) or (f in never and f in schema)]


def _constructs(schema: Obj, at: str) -> Iterator[Cause]:
    yield from _refused(schema, at)
    if schema.get("uniqueItems"):
        told = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield failure.forbidden_field(f"{at}.uniqueItems", told)
    if schema.get("properties") and schema.get("additionalProperties"):
        told = "additionalProperties and properties are mutual exclusive"
        yield failure.forbidden_field(f"{at}.additionalProperties", told)
    if schema.get("type") == "array" and schema.get("items") is None:
        yield failure.required(f"{at}.items", "must be specified")
    if isinstance(schema.get("items"), list):
        told = "items must be a schema object and not an array"
        yield failure.forbidden_field(f"{at}.items", told)
    if pattern := schema.get("pattern"):
        try:
            formats.matches(pattern, "")
        except re2.error as error:
            words = str(error.args[0].decode() if isinstance(error.args[0], bytes) else error)
            what, _, part = words.partition(": ")
            told = "must be a valid regular expression, but isn't: error parsing regexp"
            told = f"{told}: {_GO_WORDS.get(what, what)}: `{part}`"
            yield failure.invalid_value(f"{at}.pattern", pattern, told)


def _narrowed(schema: Obj, at: str) -> Iterator[Cause]:
    for field in _NARROWING:
        if field == "anyOf" and _says_int_or_string(schema):
            continue
        for index, found in enumerate(schema.get(field) or ()):
            if field == "allOf" and _says_int_or_string(schema, found):
                continue
            yield from _narrowing(found, f"{at}.{field}[{index}]")
    if isinstance(schema.get("not"), dict):
        yield from _narrowing(schema["not"], f"{at}.not")


def _says_int_or_string(schema: Obj, within: Obj | None = None) -> bool:
    """Whether ``anyOf`` has the one form in which it may speak of types."""
    listed = (schema if within is None else within).get("anyOf")
    return bool(schema.get("x-kubernetes-int-or-string")) and listed == _INT_OR_STRING


def _narrowing(schema: Obj, at: str) -> Iterator[Cause]:
    """``schema`` is within allOf, anyOf, oneOf or not."""
    words = {**dict.fromkeys(_EMPTY, "empty"), **dict.fromkeys(_UNSET, "undefined")}
    for field, told in sorted((words | dict.fromkeys(_FALSE, "false")).items()):
        if schema.get(field) or (field == "default" and field in schema):
            yield failure.forbidden_field(f"{at}.{field}", f"must be {told} to be structural")
    yield from _refused(schema, at)
    for name, found in sorted((schema.get("properties") or {}).items()):
        yield from _narrowing(found, f"{at}.properties[{name}]")
    if isinstance(schema.get("items"), dict):
        yield from _narrowing(schema["items"], f"{at}.items")
    for field in _NARROWING:
        for index, found in enumerate(schema.get(field) or ()):
            yield from _narrowing(found, f"{at}.{field}[{index}]")
