"""Objects in the protobuf form of the API, which kubectl and other Go programs send bodies in.

The answers are JSON, which the same programs read. What a field is follows from the schemas of the
built-in kinds; protobuf.yaml has the numbers of the fields.
"""

from __future__ import annotations

import base64
import functools
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import resources
from typing import Any

import yaml

from ansible_operator.sandbox.reading import limits
from ansible_operator.sandbox.schemas import schema

Obj = dict[str, Any]
Part = Mapping[str, Any]
Numbers = Mapping[int, str]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
_SIZES = {1: 8, 5: 4}
_BITS = 64
_ILLEGAL = (
    LookupError,
    AttributeError,
    TypeError,
    OverflowError,
    OSError,
    RecursionError,
    struct.error,
)
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"


def read(raw: bytes, version: str = "v1", kind: str = "") -> Obj:
    """The object in a body; version and kind are for one that does not say its own.

    Of a kind that is not known there is nothing but that. Raises ValueError for what is no object.
    """
    if not raw:
        raise ValueError("empty data")
    if not raw.startswith(MAGIC):
        told = "provided data does not appear to be a protobuf message, expected prefix"
        raise ValueError(f"{told} [107 56 115 0]")
    try:
        envelope = dict(_fields(raw[len(MAGIC) :]))
        head = dict(_fields(envelope.get(1, b"")))
        version = head.get(1, b"").decode() or version
        kind = head.get(2, b"").decode() or kind
        name = _definition(version, kind)
        found = _message(envelope.get(2, b""), name) if name in _numbers() else {}
    except IndexError:
        raise ValueError("unexpected EOF") from None
    except _ILLEGAL as error:
        raise ValueError(f"proto: illegal message: {error}") from error
    return {"apiVersion": version, "kind": kind, **found}


def _definition(version: str, kind: str) -> str:
    if kind == "DeleteOptions":
        return f"{_META}.{kind}"
    group, _, number = version.rpartition("/")
    return f"io.k8s.api.{group.partition('.')[0] or 'core'}.{number}.{kind}"


@functools.cache
def _numbers() -> Mapping[str, Numbers]:
    """The fields of each type by their numbers."""
    text = resources.files(__package__).joinpath("protobuf.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    table: Mapping[str, Mapping[str, str]] = yaml.load(text, loader)  # noqa: S506 - a safe loader
    return {
        f"{package}.{name}": dict(_numbered(fields or ""))
        for package, types in table.items()
        for name, fields in types.items()
    }


def _numbered(fields: str) -> Iterator[tuple[int, str]]:
    number = 1
    for word in fields.split():
        if word.startswith("@"):
            number = int(word[1:])
        else:
            yield number, word
            number += 1


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number, and an int or bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            number, at = _varint(data, at)
            yield tag >> 3, number
            continue
        size, at = _varint(data, at) if kind == 2 else (_SIZES[kind], at)
        if at + size > len(data):
            raise IndexError
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift >= _BITS:
            raise ValueError("proto: integer overflow")


def _message(data: bytes, name: str, whole: Part | None = None) -> Obj:
    """The object in a message of a type; ``whole`` is the schema that it has a part of."""
    if name in _SPECIAL:
        return _SPECIAL[name](data)  # type: ignore[no-any-return]
    parts = (whole or schema.definitions()[name]).get("properties", {})
    numbers, package = _numbers()[name], name.rpartition(".")[0]
    found: Obj = {}
    for number, value in _fields(data):
        field = numbers.get(number, "")
        if field.startswith("+"):
            found |= _message(value, f"{package}.{field[1:]}", {"properties": parts})
        elif field in parts:
            _add(found, field, value, parts[field])
    return found


def _add(found: Obj, field: str, value: Any, part: Part) -> None:
    if "additionalProperties" in part:
        entry = dict(_fields(value))
        key = entry.get(1, b"").decode()
        found.setdefault(field, {})[key] = _value(entry.get(2, b""), part["additionalProperties"])
    elif "items" in part:
        found.setdefault(field, []).extend(_items(value, part["items"]))
    elif (one := _value(value, part)) is not None:
        found[field] = one


def _items(value: Any, part: Part) -> Iterator[Any]:
    """The items in one field: of numbers there may be several."""
    if _word(part) == "integer" and isinstance(value, bytes):
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            yield _signed(number)
    else:
        yield _value(value, part)


def _value(value: Any, part: Part) -> Any:
    if "$ref" in part:
        return _message(value, part["$ref"].removeprefix(schema.PREFIX))
    match _word(part):
        case "boolean":
            return bool(value)
        case "integer":
            return _signed(value or 0)
        case "number":
            return limits.number(repr(struct.unpack("<d", value)[0]))
        case "array":  # a list in a list or map is a message of its own
            return [_value(item, part["items"]) for _, item in _fields(value)]
    if part.get("format") == "byte":
        return base64.b64encode(value).decode()
    return value.decode()


def _word(part: Part) -> str:
    word = part.get("type", "")
    return str(word[0] if isinstance(word, list) else word)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _quantity(data: bytes) -> str:
    return str(dict(_fields(data)).get(1, b"").decode())


def _number_or_text(data: bytes) -> int | str:
    parts = dict(_fields(data))
    return parts.get(3, b"").decode() if parts.get(1) else _signed(parts.get(2, 0))


def _embedded(data: bytes) -> Any:
    raw = dict(_fields(data)).get(1)
    if not raw:
        return None
    if limits.too_deep(raw.decode()):
        raise ValueError("exceeded max depth")
    return json.loads(raw, parse_float=limits.number, parse_int=limits.integer)


def _time(data: bytes) -> str | None:
    moment = _moment(data)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


def _micro_time(data: bytes) -> str | None:
    moment = _moment(data)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


def _moment(data: bytes) -> datetime | None:
    """A time; one that is not set is an empty message."""
    parts = dict(_fields(data))
    if not parts:
        return None
    found = datetime.fromtimestamp(_signed(parts.get(1, 0)), UTC)
    return found.replace(microsecond=parts.get(2, 0) // 1000)


_SPECIAL: Mapping[str, Callable[[bytes], Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _quantity,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _number_or_text,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": _embedded,
    f"{_META}.FieldsV1": _embedded,
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
}
