"""JSON values as CEL has them: numbers and times by their types, fields under escaped names."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ansible_operator.sandbox.customs import celtypes

Schema = dict[str, Any]


class _Missing:
    """What is in the place of a value that was not there before."""


MISSING: Final = _Missing()
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"([0-9]*\.?[0-9]+)(ms|us|µs|ns|h|m|s)")


def value(given: Any, schema: Schema, like: Any = None) -> Any:
    """The value that rules see. What has no type in the schema is not seen, nor are null fields.

    ``like`` is a value to compare this one with: lists whose order means nothing take its order.
    """
    found = celtypes.kind(schema)
    if isinstance(given, dict):
        other = like if isinstance(like, dict) else {}
        if found == "map":
            sub = schema["additionalProperties"]
            return {key: value(item, sub, other.get(key)) for key, item in given.items()}
        return {
            name: value(given[key], sub, other.get(key))
            for key, name, sub in celtypes.fields(schema)
            if given.get(key) is not None
        }
    if isinstance(given, list):
        items = schema.get("items") or {}
        return [value(item, items, other) for item, other in _paired(given, schema, like)]
    if found == "double" and isinstance(given, int) and not isinstance(given, bool):
        return float(given)
    if isinstance(given, str):
        return given if found in ("string", "dyn") else _formatted(given, found)
    return given


def _paired(given: list[Any], schema: Schema, like: Any) -> list[tuple[Any, Any]]:
    """The entries of a list with those that they are to be compared with."""
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys")
    if not isinstance(like, list) or len(like) != len(given) or kind not in ("set", "map"):
        return [(item, None) for item in given]

    def key(item: Any) -> str:
        return repr([item.get(name) for name in keys] if keys else item)

    mine = {key(item): item for item in given}
    order = [key(item) for item in like]
    if set(order) != set(mine):
        return [(item, None) for item in given]
    return [(mine[name], item) for name, item in zip(order, like, strict=True)]


def _formatted(text: str, kind: str | None) -> Any:
    """Texts that are no such thing stay texts: validation has told of them."""
    try:
        if kind == "bytes":
            return base64.b64decode(text, validate=True)
        if kind == "duration":
            return _duration(text)
        return _timestamp(text)
    except (ValueError, binascii.Error):
        return text


def _timestamp(text: str) -> Any:
    from google.protobuf import timestamp_pb2

    found = timestamp_pb2.Timestamp()
    when = datetime.fromisoformat(text)
    found.FromDatetime(when if when.tzinfo else when.replace(tzinfo=UTC))
    return found


def _duration(text: str) -> Any:
    from google.protobuf import duration_pb2

    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.lstrip("+-"):
        raise ValueError(text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    found = duration_pb2.Duration()
    found.FromTimedelta(timedelta(seconds=-seconds if text.startswith("-") else seconds))
    return found
