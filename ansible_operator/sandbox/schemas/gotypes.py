"""Reading objects of built-in kinds as the API server does, into the fields that their types have.

A real server decodes into Go structs and writes those out again: unknown fields fall away, so do
nulls and most zero values, and a value of the wrong type is refused in the words of Go's decoder.
Readers are made once per type and field, when something of it is first read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

import yaml

from ansible_operator.sandbox.reading import values
from ansible_operator.sandbox.schemas import scalars
from ansible_operator.sandbox.schemas import schema as schemas

Schema = dict[str, Any]
Problems = list[tuple[str, str]]
"""What strict decoding reports: ``unknown`` or ``duplicate``, and the path of the field."""
Reader = Callable[[Any, Problems], Any]
"""Reads a value, which is not null; adds to the problems. Raises as ``read`` does."""


def read(value: Any, schema: Schema) -> tuple[Any, Problems]:
    """The value as the type of a built-in schema holds it, and what strict decoding would report.

    Raises values.Mismatch or scalars.Unreadable.
    """
    problems: Problems = []
    found = _reader(schemas.resolve(schema)["x-name"])(value, problems)
    return found, list(dict.fromkeys(problems))


@functools.cache
def _exceptions() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    text = resources.files(__package__).joinpath("gotypes.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Mapping[str, Mapping[str, Mapping[str, str]]] = yaml.load(text, loader)  # noqa: S506
    return found


@functools.cache
def _reader(name: str) -> Reader:
    """The reader of a definition."""
    definition = schemas.definition(name)
    package, _, short = name.rpartition(".")
    go_type = f"{package.rpartition('.')[2]}.{short}"
    if (special := scalars.READERS.get(short)) and "properties" not in definition:
        return _scalar(special, go_type, short)
    told = _exceptions().get(package, {})
    if "x-or" in definition:
        struct = _Struct(definition, go_type, told[short.partition("Or")[0]])
        return _either(definition["x-or"], struct)
    if definition.get("type") == "object" and not schemas.preserves_unknown(definition):
        return _Struct(definition, go_type, told.get(short, {}))
    return _anything


def _either(other: str, struct: Reader) -> Reader:
    """Of the types that read a schema or something else: they decode on their own, not strictly."""
    kind = {"array": list, "boolean": bool}[other]

    def read_either(value: Any, _: Problems) -> Any:
        if isinstance(value, kind):
            return values.plain(value)
        return struct(value, [])

    return read_either


def _anything(value: Any, _: Problems) -> Any:
    return values.plain(value)


def _scalar(convert: scalars.Convert, go_type: str, kind: str) -> Reader:
    def read_scalar(value: Any, _: Problems) -> Any:
        try:
            return convert(value)
        except scalars.WrongType as wrong:
            shown = (
                f"number {value}"
                if wrong.exact and values.word(value) == "number"
                else values.word(value)
            )
            raise values.Mismatch(shown, wrong.go_type or go_type, kind, value) from None

    return read_scalar


class _Field:
    """How a field of a struct is read, and whether its zero value is written."""

    __slots__ = ("keeps_zero", "path", "read")

    def __init__(self, path: str, schema: Schema, required: bool, told: str) -> None:
        self.path = path
        self.read = _value(schema, told.strip("^!-"))
        kept = told.startswith("^") or (required and not told.endswith("-"))
        self.keeps_zero = kept or told.endswith("!") or _whole(schema)


def _whole(schema: Schema) -> bool:
    """Whether a value is written however empty it is: structs and types that encode themselves."""
    return "x-name" in schemas.resolve(schema)


def _shown(schema: Schema, required: bool, told: str) -> Callable[[], Any] | None:
    """What a field is written as that is not given; None where it is left out."""
    if told == "struct":
        name = schemas.resolve(schema).get("x-name", "").rpartition(".")[2]
        return _zero_of.get(name, dict)
    if told.startswith("^") or not (told.endswith("!") or (required and not told.endswith("-"))):
        return None
    return None if _whole(schema) else _zero(schema)


_zero_of: Mapping[str, Callable[[], Any]] = {
    "MicroTime": lambda: None,
    "Quantity": lambda: "0",
    "RawExtension": lambda: None,
    "Time": lambda: None,
}


def _zero(schema: Schema) -> Callable[[], Any]:
    kind = schemas.resolve(schema).get("type", "")
    zero = {"string": "", "integer": 0, "boolean": False}.get(kind)
    return lambda: zero


class _Struct:
    """Reads a struct. Readers of its fields are made at first use: types can hold themselves."""

    def __init__(self, definition: Schema, go_type: str, told: Mapping[str, str]) -> None:
        self._go_type = go_type
        self._name = go_type.rpartition(".")[2]
        self._properties: Mapping[str, Schema] = definition.get("properties", {})
        self._required = frozenset(definition.get("required", ()))
        self._told = told
        self._paths = _inlined(told.get("inline", ""), self._properties)
        self._fields: dict[str, _Field] = {}
        zeros = ((key, self._zero(key)) for key in self._properties)
        self._shown = [(key, zero) for key, zero in zeros if zero is not None]

    def _zero(self, key: str) -> Callable[[], Any] | None:
        told = self._told.get(key, "")
        zero = _shown(self._properties[key], key in self._required, told)
        if zero is not dict or told.rstrip("!-") != "struct":
            return zero
        # A struct that is not given is one whose fields are not given.
        return lambda: self._of(key).read({}, [])

    def _of(self, key: str) -> _Field:
        found = self._field(key)
        assert found is not None
        return found

    def _field(self, key: str) -> _Field | None:
        found = self._fields.get(key)
        if found is None and key in self._properties:
            required, told = key in self._required, self._told.get(key, "")
            found = _Field(self._paths.get(key, key), self._properties[key], required, told)
            self._fields[key] = found
        return found

    def __call__(self, value: Any, problems: Problems) -> Any:
        """The struct."""
        if not isinstance(value, dict):
            raise values.Mismatch(values.word(value), self._go_type, "struct", value)
        found: dict[str, Any] = {}
        for key, item in _pairs(value, self._properties, problems):
            field = self._field(key)
            if field is None:
                problems.append(("unknown", key))
                continue
            made = None if item is None else self._read(key, field, item, problems)
            if made or (made is not None and field.keeps_zero):
                found[key] = made
            else:
                found.pop(key, None)
        for key, zero in self._shown:
            if key not in found:
                found[key] = zero()
        return found

    def _read(self, key: str, field: _Field, item: Any, problems: Problems) -> Any:
        before = len(problems)
        try:
            made = field.read(item, problems)
        except values.Mismatch as wrong:
            wrong.within(self._name, field.path)
            raise
        if len(problems) > before:
            _prefix(problems, before, key)
        return made


def _inlined(inline: str, properties: Iterable[str]) -> dict[str, str]:
    """The fields that come from an embedded struct, with its name in their path."""
    embedded, *own = inline.split() or [""]
    return {key: f"{embedded}.{key}" for key in properties if embedded and key not in own}


def _pairs(value: dict[str, Any], known: Any, problems: Problems) -> Iterable[tuple[str, Any]]:
    """The fields as they stand in the text; those that stand there again are reported."""
    if not isinstance(value, values.Repeated):
        return value.items()
    return _again(value.pairs, known, problems)


def _again(
    pairs: list[tuple[str, Any]], known: Any, problems: Problems
) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for key, item in pairs:
        if key in seen and (known is None or key in known):
            problems.append(("duplicate", key))
        seen.add(key)
        yield key, item


def _prefix(problems: Problems, start: int, key: str) -> None:
    for at in range(start, len(problems)):
        what, path = problems[at]
        problems[at] = (what, f"{key}{path}" if path.startswith("[") else f"{key}.{path}")


def _value(schema: Schema, told: str) -> Reader:
    """The reader of a field's value; ``told`` is the Go type, where it is not a plain one."""
    ref = schema.get("$ref")
    if ref is not None:
        return _reader(ref.removeprefix(schemas.PREFIX))
    if "x-name" in schema:
        return _reader(schema["x-name"])
    told = "" if told == "struct" else told
    kind = schema.get("type")
    if kind == "array":
        return _list(schema, told)
    if kind == "object":
        return _map(schema, told)
    go_kind, convert = scalars.plain(kind or "", schema.get("format", ""))
    return _scalar(convert, _named(told) or go_kind, go_kind)


def _named(told: str) -> str:
    return f"v1.{told}" if told[:1].isupper() else told


def _element(schema: Schema, told: str) -> tuple[str, Reader]:
    """The Go type of a list's or map's entries and their reader."""
    named = _named(told.removeprefix("each ")) if told.startswith("each ") else ""
    reader = _value(schema, named)
    if "$ref" in schema or "x-name" in schema:
        name: str = schemas.resolve(schema)["x-name"]
        return ".".join(name.rsplit(".", 2)[-2:]), reader
    kind = schema.get("type")
    if kind == "array":
        return f"[]{_element(schema['items'], '')[0]}", reader
    return named or scalars.plain(kind or "", schema.get("format", ""))[0], reader


def _list(schema: Schema, told: str) -> Reader:
    entry_type, entry = _element(schema["items"], told)
    go_type = _named(told) if told and not told.startswith("each ") else f"[]{entry_type}"
    zero = _zero_entry(schema["items"])

    def read_list(value: Any, problems: Problems) -> Any:
        if not isinstance(value, list):
            raise values.Mismatch(values.word(value), go_type, "slice", value)
        found = []
        for index, item in enumerate(value):
            before = len(problems)
            found.append(zero() if item is None else entry(item, problems))
            if len(problems) > before:
                _prefix(problems, before, f"[{index}]")
        return found

    return read_list


def _map(schema: Schema, told: str) -> Reader:
    entries = schema.get("additionalProperties")
    if not isinstance(entries, dict):
        return _anything
    entry_type, entry = _element(entries, told)
    go_type = _named(told) if told and not told.startswith("each ") else f"map[string]{entry_type}"
    zero = _zero_entry(entries)

    def read_map(value: Any, problems: Problems) -> Any:
        if not isinstance(value, dict):
            raise values.Mismatch(values.word(value), go_type, "map", value)
        found = {}
        for key, item in _pairs(value, None, problems):
            before = len(problems)
            found[key] = zero() if item is None else entry(item, problems)
            if len(problems) > before:
                _prefix(problems, before, key)
        return found

    return read_map


def _zero_entry(schema: Schema) -> Callable[[], Any]:
    """What a null among a list's or map's entries is read as."""
    found = schemas.resolve(schema)
    own = _zero_of.get(found.get("x-name", "").rpartition(".")[2])
    return own or (dict if "properties" in found else _zero(found))
