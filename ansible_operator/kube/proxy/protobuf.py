"""Pure: the metadata of objects in the protobuf form of the Kubernetes API.

Every message has its ObjectMeta as field 1, whatever its kind, so a few field numbers of
apimachinery's ``generated.proto`` are all that must be known. The wire format is read by hand:
the runner does without the protobuf library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from ansible_operator import objects

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MARK = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_Value: TypeAlias = "int | bytes"

_TYPE = {1: "apiVersion", 2: "kind"}
_META = {1: "name", 3: "namespace", 5: "uid", 6: "resourceVersion"}
_ANNOTATIONS, _OWNERS = 12, 13
_OWNER = {1: "kind", 3: "name", 4: "uid", 5: "apiVersion"}
_OWNER_FLAGS = {6: "controller", 7: "blockOwnerDeletion"}
_DETAILS = {1: "name", 2: "group", 3: "kind", 6: "uid"}
_DETAILS_OF_STATUS = 5


def read(body: bytes) -> objects.Obj:
    """The type and the telling part of the metadata of an object, in the form of its JSON.

    Of a Status: ``details``. Raises ValueError for what is no message.
    """
    if not body.startswith(_MARK):
        raise ValueError("it does not begin with the mark of the protobuf form")
    envelope = dict(_fields(body[len(_MARK) :]))
    obj: objects.Obj = _texts(_bytes(envelope.get(1)), _TYPE)
    message = _bytes(envelope.get(2))
    if obj.get("kind") == "Status":
        details = dict(_fields(message)).get(_DETAILS_OF_STATUS)
        return {**obj, "details": _texts(_bytes(details), _DETAILS)}
    return {**obj, "metadata": _metadata(_bytes(dict(_fields(message)).get(1)))}


def _metadata(message: bytes) -> dict[str, Any]:
    meta: dict[str, Any] = _texts(message, _META)
    fields = list(_fields(message))
    if owners := [_owner(_bytes(value)) for number, value in fields if number == _OWNERS]:
        meta["ownerReferences"] = owners
    entries = [_texts(_bytes(value), {1: "k", 2: "v"}) for n, value in fields if n == _ANNOTATIONS]
    if entries:
        meta["annotations"] = {entry.get("k", ""): entry.get("v", "") for entry in entries}
    return meta


def _owner(message: bytes) -> dict[str, Any]:
    flags = {
        _OWNER_FLAGS[number]: bool(value)
        for number, value in _fields(message)
        if number in _OWNER_FLAGS
    }
    return {**_texts(message, _OWNER), **flags}


def _texts(message: bytes, names: dict[int, str]) -> dict[str, Any]:
    """The named fields of a message that are texts; empty ones stand for absent ones."""
    found = ((names[n], _bytes(value)) for n, value in _fields(message) if n in names)
    return {name: value.decode() for name, value in found if value}


def _bytes(value: _Value | None) -> bytes:
    if isinstance(value, int):
        raise ValueError("it has a number where a text or a message must be")
    return value or b""


def _fields(message: bytes) -> Iterator[tuple[int, _Value]]:
    """The fields of a message in their order; fixed-size numbers, which nobody needs, as bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire = tag & 7
        if wire == _VARINT:
            number, at = _varint(message, at)
            yield tag >> 3, number
            continue
        if wire == _BYTES:
            size, at = _varint(message, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"it has a field of the unknown wire type {wire}")
        if at + size > len(message):
            raise ValueError("it ends within a field")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise ValueError("it ends within a number")
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    raise ValueError("it has a number that is too long")
