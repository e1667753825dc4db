"""Single values of built-in types, as the API server reads them: numbers, texts, times."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ansible_operator.sandbox.builtins import quantity

Convert = Callable[[Any], Any]
"""Makes of a JSON value, which is not null, the value that is stored. Raises WrongType."""


class WrongType(Exception):
    """A value of another JSON type is wanted.

    ``exact``: the message shows the number. ``go_type``: what the message says is wanted, if that
    is not the type of the field.
    """

    def __init__(self, *, exact: bool = False, go_type: str = "") -> None:
        super().__init__()
        self.exact = exact
        self.go_type = go_type


class Unreadable(Exception):
    """The type is right, the text cannot be read; the message is the whole message."""


def plain(kind: str, form: str) -> tuple[str, Convert]:
    """The Go type of a schema's type and format, and what reads it."""
    return _PLAIN.get((kind, form)) or _PLAIN[kind, ""]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongType
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongType
    return value


def _integer(bits: int, go_type: str = "") -> Convert:
    limit = 1 << (bits - 1)

    def convert(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
            raise WrongType(exact=True, go_type=go_type)
        return value

    return convert


def _float(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise WrongType
    return int(value) if value == int(value) else value


_LETTERS = re.compile("[A-Za-z0-9+/]*")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def _broken(text: str, end: int) -> int:
    """Where Go stops reading base64 of which all is well until ``end``."""
    rest = _LETTERS.match(text, end)
    at = rest.end() if rest else end
    if at == len(text) or text[end - 1 : end] == "=":
        return end
    return at + (text[at:] == "=" and at - end == 2)


def _bytes(value: Any) -> str:
    text = _text(value).replace("\n", "").replace("\r", "")
    whole = _BASE64.match(text)
    assert whole is not None
    if whole.end() < len(text):
        raise Unreadable(f"illegal base64 data at input byte {_broken(text, whole.end())}")
    return base64.b64encode(base64.b64decode(text)).decode()


_PLAIN: Mapping[tuple[str, str], tuple[str, Convert]] = {
    ("string", ""): ("string", _text),
    ("string", "byte"): ("[]uint8", _bytes),
    ("boolean", ""): ("bool", _truth),
    ("integer", ""): ("int64", _integer(64)),
    ("integer", "int32"): ("int32", _integer(32)),
    ("number", ""): ("float64", _float),
}


def _int_or_string(value: Any) -> int | str:
    return value if isinstance(value, str) else _as_int32(value)


_as_int32 = _integer(32, "int32")


def _quantity(value: Any) -> str:
    """The canonical form. Of other types than texts and numbers the server reads the JSON text."""
    text = value if isinstance(value, str) else repr(value)
    try:
        return quantity.canonical(text.strip())
    except ValueError as error:
        raise Unreadable(str(error)) from None


_ELEMENTS = (
    ("2006", r"\d{4}", "", 0, 9999),
    ("-", "-", "", 0, 0),
    ("01", r"\d{2}", "month", 1, 12),
    ("-", "-", "", 0, 0),
    ("02", r"\d{2}", "day", 1, 31),
    ("T", "T", "", 0, 0),
    ("15", r"\d{2}", "hour", 0, 23),
    (":", ":", "", 0, 0),
    ("04", r"\d{2}", "minute", 0, 59),
    (":", ":", "", 0, 0),
    ("05", r"\d{2}", "second", 0, 59),
)
"""The parts of Go's layout of RFC 3339, and what may stand there."""


def moment(text: str, fraction: str = "") -> datetime:
    """A time as Go parses RFC 3339; ``fraction`` is the layout's. Raises Unreadable."""
    said = f'parsing time {_quoted(text)} as "2006-01-02T15:04:05{fraction}Z07:00": '
    rest = text
    for element, pattern, name, low, high in _ELEMENTS:
        found = re.match(pattern, rest, re.ASCII)
        if found is None:
            told = f'cannot parse {_quoted(rest)} as "{element}"'
            raise Unreadable(said + told)
        if name and not low <= int(found[0]) <= high:
            raise Unreadable(f"parsing time {_quoted(text)}: {name} out of range")
        rest = rest[found.end() :]
    digits = re.match(r"[.,](\d+)", rest)
    if fraction and (digits is None or len(digits[1]) < len(fraction) - 1):
        raise Unreadable(f'{said}cannot parse {_quoted(rest)} as "{fraction}"')
    rest = rest[digits.end() :] if digits else rest
    if re.fullmatch(r"Z|[+-]\d\d:\d\d", rest) is None:
        told = "extra text: " if rest.startswith("Z") else "cannot parse "
        shown = _quoted(rest.removeprefix("Z"))
        raise Unreadable(said + told + shown + ("" if rest.startswith("Z") else ' as "Z07:00"'))
    try:
        at = datetime.fromisoformat(text[:19] + (f".{digits[1][:6]:0<6}" if digits else "") + rest)
        return at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Unreadable(f"parsing time {_quoted(text)}: day out of range") from None


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _time(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongType(go_type="string")
    return moment(value).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongType(go_type="string")
    return moment(value, ".000000").strftime("%Y-%m-%dT%H:%M:%S.%fZ")


READERS: Mapping[str, Convert] = {
    "IntOrString": _int_or_string,
    "MicroTime": _micro_time,
    "Quantity": _quantity,
    "Time": _time,
}
"""Types that are no structs and read themselves, by name."""
