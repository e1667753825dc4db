"""Values as bodies have them: keys that stand more than once, and types that do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_operator.sandbox.schemas import scalars


class Repeated(dict[str, Any]):
    """An object that has keys more than once; ``pairs`` has them all, in order.

    ``complaints``: what is said of it anyway. Readers make a plain dict of it.
    """

    def __init__(
        self,
        found: Mapping[str, Any],
        *,
        pairs: list[tuple[str, Any]],
        complaints: tuple[str, ...] = (),
    ) -> None:
        super().__init__(found)
        self.pairs = pairs
        self.complaints = complaints


class Mismatch(Exception):
    """A value is of a type that its field cannot hold; the message is that of Go's decoder.

    ``kind``: what kind of Go type is wanted: ``struct``, ``map``, ``slice``, or its name if it is
    a plain one.
    """

    def __init__(self, found: str, go_type: str, kind: str = "", value: Any = None) -> None:
        super().__init__()
        self.found = found
        self.go_type = go_type
        self.kind = kind
        self.value = value
        self.struct = ""
        self.path: list[str] = []

    def within(self, struct: str, field: str) -> None:
        """Note the field of a struct that the value is in, from the inside out."""
        self.struct = self.struct or struct
        self.path.insert(0, field)

    def __str__(self) -> str:
        """``json: cannot unmarshal string into Go struct field ...``."""
        place = f"struct field {self.struct}.{'.'.join(self.path)} of" if self.path else "value of"
        return f"json: cannot unmarshal {self.found} into Go {place} type {self.go_type}"

    @property
    def converted(self) -> str:
        """What is said where a map is converted to a type, as after a strategic merge."""
        source = _go_kind(self.value)
        if self.kind == "struct":
            return f"cannot restore struct from: {source}"
        if self.kind in ("map", "slice"):
            return f"cannot restore {self.kind} from {source}"
        if self.kind in scalars.READERS:
            return f"json: cannot unmarshal {self.found} into Go value of type {self.go_type}"
        numbers = source in ("int64", "float64") and self.kind in ("int32", "int64", "float64")
        if numbers or (source == "int64" and self.kind == "string"):
            return f"cannot convert {source} to {self.kind}"
        return f"unrecognized type: {self.kind}"


def _go_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    names = {float: "float64", str: "string", list: "slice", dict: "map"}
    return names.get(type(value), "map")


def word(value: Any) -> str:
    """What Go's decoder calls a JSON value."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def plain(value: Any) -> Any:
    """A value without Repeated in it, and with whole numbers as such."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return number(value) if isinstance(value, float) else value


def number(value: float) -> float:
    """A whole number as such, if it is not too large for Go's integers."""
    return int(value) if value.is_integer() and abs(value) < 1 << 63 else value
