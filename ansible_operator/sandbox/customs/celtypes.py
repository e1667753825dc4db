"""Schemas as protobuf messages: what CEL's type checker reads about fields.

A field that has no type in CEL (one that may be anything) is no field for rules either, and names
that are no identifiers are escaped, as the API server does it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

OPAQUE = ("kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "net.CIDR", "net.IP")
"""Types that only functions make and take."""
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package"
    "|namespace|return|var|void|while"
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII)
_SCALARS = {"boolean": "TYPE_BOOL", "integer": "TYPE_INT64", "number": "TYPE_DOUBLE"}
_CEL = {"boolean": "bool", "integer": "int", "number": "double", "string": "string"}
_FORMATS = {"byte": "bytes", "date": "timestamp", "date-time": "timestamp", "duration": "duration"}
_MESSAGES = {"timestamp": "Timestamp", "duration": "Duration", "dyn": "Value"}
_PACKAGE = "object"
_KNOWN = ("duration", "struct", "timestamp")


@functools.lru_cache(maxsize=4096)
def escaped(name: str) -> str | None:
    """The name of a field in rules; None if it has none."""
    if _RESERVED.fullmatch(name):
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return re.sub(r"__|[./-]", lambda match: _ESCAPES[match[0]], name)


def kind(schema: Schema) -> str | None:
    """The type in CEL: ``message``, ``map``, ``list``, ``int`` ...; None if it has none."""
    if "$ref" in schema:
        return "message"
    if schema.get("x-kubernetes-int-or-string"):
        return "dyn"
    given = schema.get("type")
    if given == "array":
        return "list" if kind(schema.get("items") or {}) else None
    if given == "object":
        more = schema.get("additionalProperties")
        if not isinstance(more, dict):
            return "message"
        return "map" if kind(more) else None
    found = _CEL.get(given or "")
    return _FORMATS.get(schema.get("format", ""), found) if found == "string" else found


def fields(schema: Schema) -> Iterator[tuple[str, str, Schema]]:
    """The fields of an object: name, name in rules, schema. Reserved words have two names."""
    if "$ref" in schema:  # the one that custom schemas have
        yield from ((name, name, {"type": "string"}) for name in ("name", "generateName"))
    for name, found in (schema.get("properties") or {}).items():
        shown = escaped(name)
        if shown is not None and kind(found):
            yield name, shown, found
            if shown == f"__{name}__":
                yield name, name, found


def split(types: str) -> list[str]:
    """``int, list(map(string, int))`` in its parts."""
    parts, depth = [""], 0
    for letter in types:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def declare(schema: Schema) -> tuple[Any, Any]:
    """A descriptor pool with the messages of a schema, and the type of its values.

    Raises ValueError if the schema has no type.
    """
    if not kind(schema):
        raise ValueError("unable to convert structural schema to CEL declarations")
    return _Messages().declare(schema)


class _Messages:
    """The messages of one schema, numbered as they are found."""

    def __init__(self) -> None:
        from google.protobuf import descriptor_pb2

        self._made = descriptor_pb2
        self._file = descriptor_pb2.FileDescriptorProto(
            name="object.proto",
            package=_PACKAGE,
            syntax="proto2",
            dependency=[f"google/protobuf/{name}.proto" for name in _KNOWN],
        )

    def declare(self, schema: Schema) -> tuple[Any, Any]:
        found = self._type(schema)
        return self.pool(), found

    def pool(self) -> Any:
        from google.protobuf import descriptor_pool, duration_pb2, struct_pb2, timestamp_pb2

        pool = descriptor_pool.DescriptorPool()
        for known in (duration_pb2, struct_pb2, timestamp_pb2):
            pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
        for name in OPAQUE:
            package, _, message = name.partition(".")
            made = self._made.FileDescriptorProto(name=f"{name}.proto", package=package)
            made.message_type.add(name=message)
            pool.AddSerializedFile(made.SerializeToString())
        pool.AddSerializedFile(self._file.SerializeToString())
        return pool

    def _type(self, schema: Schema) -> Any:
        from cel_expr_python import cel

        found = kind(schema)
        if found == "list":
            return cel.Type.List(self._type(schema["items"]))
        if found == "map":
            return cel.Type.Map(cel.Type.STRING, self._type(schema["additionalProperties"]))
        if found == "message":
            return cel.Type(f"{_PACKAGE}.{self._message(schema)}")
        return getattr(cel.Type, str(found).upper())

    def _message(self, schema: Schema) -> str:
        made = self._file.message_type.add(name=f"T{len(self._file.message_type)}")
        # Field names count as they are, so aB and a_b are two.
        made.options.deprecated_legacy_json_field_conflicts = True
        for _, shown, found in fields(schema):
            field = made.field.add(name=shown, json_name=shown, number=len(made.field) + 1)
            self._describe(field, found, made)
        return str(made.name)

    def _describe(self, field: Any, schema: Schema, owner: Any) -> None:
        field.label = field.LABEL_OPTIONAL
        found = kind(schema)
        if found in ("list", "map"):
            inner = schema["items"] if found == "list" else schema["additionalProperties"]
            entry = _entry_name(field.name)
            taken = found == "map" and any(entry == other.name for other in owner.nested_type)
            if taken or kind(inner) in ("list", "map"):  # no field can be a list of lists
                field.type = field.TYPE_MESSAGE
                field.type_name = f".google.protobuf.{'ListValue' if found == 'list' else 'Struct'}"
                return
            field.label = field.LABEL_REPEATED
            if found == "map":
                self._entry(field, inner, owner)
            else:
                self._single(field, inner)
        else:
            self._single(field, schema)

    def _single(self, field: Any, schema: Schema) -> None:
        found = kind(schema)
        if found == "message" or found in _MESSAGES:
            field.type = field.TYPE_MESSAGE
            known = _MESSAGES.get(str(found))
            field.type_name = (
                f".google.protobuf.{known}" if known else f".{_PACKAGE}.{self._message(schema)}"
            )
        elif found in ("string", "bytes"):
            field.type = getattr(field, f"TYPE_{found.upper()}")
        else:
            field.type = getattr(field, _SCALARS[schema["type"]])

    def _entry(self, field: Any, inner: Schema, owner: Any) -> None:
        """A map is a repeated entry of key and value."""
        entry = owner.nested_type.add(name=_entry_name(field.name))
        entry.options.map_entry = True
        key = entry.field.add(name="key", number=1, label=field.LABEL_OPTIONAL)
        key.type = key.TYPE_STRING
        value = entry.field.add(name="value", number=2, label=field.LABEL_OPTIONAL)
        self._single(value, inner)
        field.type = field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{owner.name}.{entry.name}"


def _entry_name(field: str) -> str:
    """What the message of the entries of a map must be called; it is the same for aB and a_b."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"
