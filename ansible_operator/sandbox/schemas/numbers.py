"""Bounds of numbers in custom resources.

The server compares whole numbers with bounds of which it cuts off the fraction, and says so.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.schemas import schema as schemas

Schema = schemas.Schema
Cause = failure.Cause
_SAFE = 1 << 53


def whole(value: float) -> bool:
    """Whether the server takes a number for an integer: within a tiny error, and not too large."""
    if math.isnan(value) or abs(value) >= _SAFE:
        return False
    cut = float(int(value))
    return value == cut or abs(value - cut) / (abs(value) + abs(cut)) < 1e-9


def validate(
    value: float, schema: Schema, kinds: Sequence[str], form: str, path: str
) -> Iterator[Cause]:
    """What is wrong with a number, first of all whether it fits its type."""
    kind = kinds[0] if len(kinds) == 1 else ""
    yield from _range(value, kind, form, "Checked", path)
    integer = isinstance(value, int) and -(1 << 63) <= value < 1 << 63
    value = value if integer else float(value)
    if (factor := schema.get("multipleOf")) is not None:
        yield from _multiple(value, _cut(factor, integer), path)
    for name, told, sign in (
        ("minimum", "greater than", 1),
        ("maximum", "less than", -1),
    ):
        if (bound := schema.get(name)) is None:
            continue
        bound = _cut(bound, integer)
        exclusive = schema.get("exclusive" + name.capitalize())
        beyond = (bound - value) * sign
        if beyond > 0 or (exclusive and beyond == 0):
            limit = told if exclusive else f"{told} or equal to"
            said = f"{path} in body should be {limit} {_shown(bound)}"
            yield failure.invalid_value(path, value, said)


def _range(value: float, kind: str, form: str, prefix: str, path: str) -> Iterator[Cause]:
    if kind == "integer":
        bits = 32 if form == "int32" else 64
        limit = 1 << (bits - 1)
        fitting = isinstance(value, int) or value.is_integer()
        if fitting and -limit <= value < limit:
            return
    elif form != "float" or _is_float32(value):
        return
    shown = f"with format {form}" if form else "(default format)"
    told = f"{prefix} value must be of type {kind} {shown} in {path}"
    yield failure.invalid_value("<nil>", "", told)


def _is_float32(value: float) -> bool:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return False
    return True


def _cut(bound: float, integer: bool) -> float:
    return int(bound) if integer else float(bound)


def _multiple(value: float, factor: float, path: str) -> Iterator[Cause]:
    if factor <= 0:
        told = f"factor MultipleOf declared for {path} must be positive: {_shown(factor)}"
        yield failure.invalid_value(path, factor, told)
        return
    if isinstance(factor, int):
        fitting = value % factor == 0
    else:
        fitting = whole(1 / factor * value if factor < 1 else value / factor)
    if not fitting:
        told = f"{path} in body should be a multiple of {_shown(factor)}"
        yield failure.invalid_value(path, value, told)


def _shown(value: float) -> str:
    """A number as Go prints it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)
