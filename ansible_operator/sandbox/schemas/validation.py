"""Custom resources against their schema, with the API server's messages.

An update may leave alone what was wrong before: errors of a value that is as it was are not told,
where the old value can be found (fields, and entries of lists of type ``map``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.schemas import embedding, formats, listtypes, numbers
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = schemas.Schema
Cause = failure.Cause
NOWHERE = "<nil>"
"""Where the server says that an error is which belongs to no field."""
NEW: Any = object()
"""The old value of what was not there before."""


def validate(
    obj: Obj, schema: Schema, old: Obj | None = None, subresource: str = ""
) -> list[Cause]:
    """What is wrong with an object; ``old`` is what it was before an update.

    Of an update of the status only the status is validated.
    """
    if subresource == "status":
        causes = _status(obj, schema, old)
    else:
        found = _Found()
        _ratcheted(obj, schema, "", NEW if old is None else old, found)
        causes = found.causes + embedding.validate(obj, schema)
    repeated = listtypes.validate(obj, schema) if schemas.has_unique_lists(schema) else []
    if repeated and (old is None or not listtypes.validate(old, schema)):
        causes = causes + repeated
    return causes


def _status(obj: Obj, schema: Schema, old: Obj | None) -> list[Cause]:
    """The messages name fields as if the status were the whole object, their paths do not."""
    part = schema.get("properties", {}).get("status")
    if "status" not in obj or part is None:
        return []
    found = _Found()
    _ratcheted(obj["status"], part, "", (old or {}).get("status", NEW), found)
    return [Cause(c.reason, c.message, _in_status(c.field)) for c in found.causes]


def _in_status(field: str) -> str:
    return f"status.{field}" if field and field != NOWHERE else "status"


class _Found:
    """What is wrong, each thing once, and how many checks were made and held."""

    __slots__ = ("causes", "score")

    def __init__(self) -> None:
        self.causes: list[Cause] = []
        self.score = 0

    def add(self, cause: Cause) -> None:
        """Note one more thing."""
        if cause not in self.causes:
            self.causes.append(cause)

    def nowhere(self, told: str) -> None:
        """Note something that the server puts at no field."""
        self.add(failure.invalid_value(NOWHERE, "", told))

    def take(self, other: _Found) -> None:
        """Note all that another one has."""
        for cause in other.causes:
            self.add(cause)
        self.score += other.score


def _ratcheted(value: Any, schema: Schema, path: str, old: Any, found: _Found) -> None:
    """Validate; what is as it was before is not held against the schema."""
    before = len(found.causes)
    _value(value, schema, path, old, found)
    if len(found.causes) > before and old is not NEW and old == value:
        del found.causes[before:]


def _value(value: Any, schema: Schema, path: str, old: Any, found: _Found) -> None:
    kinds = _kinds(schema)
    form = schema.get("format", "")
    if form:
        form = formats.known(kinds[0] if len(kinds) == 1 else "", form)
    if kinds or form:
        plain = not form and _PLAIN.get(value.__class__) in kinds
        found.score += 1 + (plain or _typed(value, kinds, form, path, schema, found))
    if not _COMBINED.isdisjoint(schema) and value is not None:
        _combined(value, schema, path, old, found)
    if isinstance(value, str):
        _text(value, schema, form, path, found)
    elif isinstance(value, list):
        _list(value, schema, path, old, found)
    elif isinstance(value, dict):
        _map(value, schema, path, old, found)
    elif value is not None and not isinstance(value, bool):
        for cause in numbers.validate(value, schema, kinds, form, path):
            found.add(cause)
        found.score += 2
    if "enum" in schema:
        _enum(value, schema["enum"], path, found)
    found.score += 2


_PLAIN = {str: "string", bool: "boolean", list: "array", dict: "object"}
"""The types of which every value is as it should be; numbers are looked at more closely."""


_TYPES = {
    kind: (kind,) for kind in ("array", "boolean", "integer", "null", "number", "object", "string")
}


def _kinds(schema: Schema) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return _TYPES.get(schema.get("type", ""), ())


def _typed(
    value: Any, kinds: Sequence[str], form: str, path: str, schema: Schema, found: _Found
) -> bool:
    """Whether the type is right, as the server asks: formats excuse texts and lists."""
    if value is None:
        if not kinds or schema.get("nullable"):
            return True
        found.add(_wrong_type(path, ",".join(kinds), "null"))
        return False
    kind, natural = _kind_of(value)
    whole = kind == "number" and numbers.whole(value) and "integer" in kinds
    fitting = kind in kinds or whole or (kind == "integer" and "number" in kinds)
    plain = not isinstance(value, str | list)
    numeric = "number" in kinds or "integer" in kinds
    if plain and form and not (fitting or natural == form):
        found.add(_wrong_type(path, form, natural))
    elif not (fitting or (form and not plain and not numeric)):
        found.add(_wrong_type(path, ",".join(kinds), kind))
    else:
        return True
    return False


def _kind_of(value: Any) -> tuple[str, str]:
    """The JSON type of a value, and the format that it has by nature."""
    if isinstance(value, str):
        return "string", ""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return "integer", "int64"
    if isinstance(value, int | float):
        return "number", "float64"
    return ("array", "") if isinstance(value, list) else ("object", "")


def _wrong_type(path: str, wanted: str, given: str) -> Cause:
    told = f"{path} in body must be of type {wanted}: {json.dumps(given, ensure_ascii=False)}"
    return failure.type_invalid(path, given, told)


def _text(value: str, schema: Schema, form: str, path: str, found: _Found) -> None:
    length = len(value)
    if (most := schema.get("maxLength")) is not None and length > most:
        found.add(failure.too_long(path, most))
    elif (least := schema.get("minLength")) is not None and length < least:
        told = f"{path} in body should be at least {least} chars long"
        found.add(failure.invalid_value(path, value, told))
    elif (pattern := schema.get("pattern")) and not formats.matches(pattern, value):
        told = f"{path} in body should match '{pattern}'"
        found.add(failure.invalid_value(path, value, told))
    if form:
        found.score += 1
        if not formats.fits(form, value):
            found.add(_wrong_type(path, form, value))
    found.score += 1


def _enum(value: Any, allowed: Sequence[Any], path: str, found: _Found) -> None:
    if value is not None and any(_same(value, item) for item in allowed):
        return
    shown = [item if isinstance(item, str) else failure.shown(item) for item in allowed]
    found.add(failure.not_supported(path, value, shown))


def _same(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _list(value: list[Any], schema: Schema, path: str, old: Any, found: _Found) -> None:
    items = schema.get("items")
    if items:
        before = listtypes.correlated(value, schema, old)
        for index, item in enumerate(value):
            was = NEW if before is None else before.get(index, NEW)
            _ratcheted(item, items, f"{path}[{index}]", was, found)
    size = len(value)
    if (least := schema.get("minItems")) is not None and size < least:
        told = f"{path} in body should have at least {least} items"
        found.add(failure.invalid_value(path, size, told))
    if (most := schema.get("maxItems")) is not None and size > most:
        found.add(failure.too_many(path, size, most))
    found.score += 2


def _map(value: Obj, schema: Schema, path: str, old: Any, found: _Found) -> None:
    size = len(value)
    if (least := schema.get("minProperties")) is not None and size < least:
        told = f"{path} in body should have at least {least} properties"
        found.add(failure.invalid_value(path, size, told))
    if (most := schema.get("maxProperties")) is not None and size > most:
        found.add(failure.too_many(path, size, most))
    before: Mapping[str, Any] = old if isinstance(old, dict) else {}
    properties = schema.get("properties", {})
    more = schema.get("additionalProperties")
    for key, item in value.items():
        sub = properties.get(key, more)
        if isinstance(sub, dict):
            here = f"{path}.{key}" if path else key
            was = NEW if not path and key in ("apiVersion", "kind") else before.get(key, NEW)
            _ratcheted(item, sub, here, was, found)
    for key in schema.get("required", ()):
        if key not in value:
            found.add(failure.required(f"{path}.{key}" if path else key))
    found.score += 1


_COMBINED = frozenset(("anyOf", "oneOf", "allOf", "not"))


def _combined(value: Any, schema: Schema, path: str, old: Any, found: _Found) -> None:
    """What anyOf, oneOf, allOf and not ask for."""

    def tried(sub: Schema) -> _Found:
        attempt = _Found()
        _value(value, sub, path, old, attempt)
        return attempt

    if "anyOf" in schema:
        _any_of([tried(sub) for sub in schema["anyOf"]], path, found)
    if "oneOf" in schema:
        _one_of([tried(sub) for sub in schema["oneOf"]], path, found)
    if "allOf" in schema:
        _all_of([tried(sub) for sub in schema["allOf"]], path, found)
    if "not" in schema and not tried(schema["not"]).causes:
        found.nowhere(f'"{path}" must not validate the schema (not)')


def _closest(tries: Sequence[_Found]) -> _Found:
    """The first of those that held out longest: its errors are told."""
    return max(tries, key=lambda attempt: attempt.score)


def _any_of(tries: Sequence[_Found], path: str, found: _Found) -> None:
    fitting = [attempt for attempt in tries if not attempt.causes]
    if not fitting:
        found.nowhere(f'"{path}" must validate at least one schema (anyOf)')
    found.take(fitting[0] if fitting else _closest(tries))


def _one_of(tries: Sequence[_Found], path: str, found: _Found) -> None:
    fitting = [attempt for attempt in tries if not attempt.causes]
    if len(fitting) != 1:
        many = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
        found.nowhere(f'"{path}" must validate one and only one schema (oneOf). {many}')
    if len(fitting) < 2:
        found.take(fitting[0] if fitting else _closest(tries))


def _all_of(tries: Sequence[_Found], path: str, found: _Found) -> None:
    fitting = [attempt for attempt in tries if not attempt.causes]
    for attempt in tries:
        found.take(attempt)
    if len(fitting) < len(tries):
        none = "" if fitting else ". None validated"
        found.nowhere(f'"{path}" must validate all the schemas (allOf){none}')
