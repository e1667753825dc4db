"""What the functions of cel.yaml do. Values of opaque types are texts, the same for equal values.

A function that cannot answer raises ValueError with the words of the API server.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import re2

from ansible_operator.sandbox.builtins import quantity
from ansible_operator.sandbox.customs import celaddresses

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII
)


def named(name: str) -> Callable[..., Any]:
    """The function of this name in rules."""
    return _FUNCTIONS[name]


# -- quantities and versions: a letter and the value, as they share the names of functions --------


def _quantity(text: str) -> str:
    return f"q{quantity.number(text)}"


def _amount(value: str) -> Fraction:
    return Fraction(value[1:])


def _semver(text: str, normalize: bool = False) -> str:
    given = _normalized(text) if normalize else text
    if _SEMVER.fullmatch(given) is None:
        raise ValueError("semver parse error: No Major.Minor.Patch elements found")
    return f"v{given}"


def _normalized(text: str) -> str:
    match = re.fullmatch(r"v?(\d+(?:\.\d+){0,2})(.*)", text)
    if match is None:
        return text
    numbers = [str(int(number)) for number in match[1].split(".")]
    return ".".join([*numbers, "0", "0"][:3]) + match[2]


def _release(value: str) -> tuple[Any, ...]:
    """Greater for what comes later; a version comes after its own previews."""
    match = _SEMVER.fullmatch(value[1:])
    assert match is not None
    *numbers, preview = match.groups()
    parts = [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in (preview or "").split(".")]
    return (*(int(number) for number in numbers), preview is None, *(parts if preview else ()))


def _order(one: str, other: str) -> int:
    made: Callable[[str], Any] = _amount if one.startswith("q") else _release
    return bool(made(one) > made(other)) - bool(made(one) < made(other))


def _added(sign: int) -> Callable[..., str]:
    def add(one: str, other: str | int) -> str:
        more = other if isinstance(other, int) else _amount(other)
        return f"q{_amount(one) + sign * more}"

    return add


def _whole(value: str) -> int:
    amount = _amount(value)
    if amount.denominator != 1 or abs(amount) > 2**63 - 1:
        raise ValueError("cannot convert value to integer")
    return int(amount)


# -- lists and texts -------------------------------------------------------------------------------


def _extreme(choose: Callable[..., Any], name: str) -> Callable[[list[Any]], Any]:
    def found(items: list[Any]) -> Any:
        if not items:
            raise ValueError(f"{name} called on empty list")
        return _returned(choose(items))

    return found


def _sum(items: list[Any]) -> Any:
    return _returned(sum(items[1:], start=items[0])) if items else 0


def _returned(value: Any) -> Any:
    """The library gives times as Python's and takes only those of protobuf."""
    from google.protobuf import duration_pb2, timestamp_pb2

    if isinstance(value, datetime):
        at = timestamp_pb2.Timestamp()
        at.FromDatetime(value)
        return at
    if isinstance(value, timedelta):
        length = duration_pb2.Duration()
        length.FromTimedelta(value)
        return length
    return value


def _index(items: list[Any], wanted: Any) -> int:
    return items.index(wanted) if wanted in items else -1


def _last_index(items: list[Any], wanted: Any) -> int:
    return len(items) - 1 - items[::-1].index(wanted) if wanted in items else -1


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = (match[0] for match in re2.finditer(pattern, text))
    return list(found if limit < 0 else itertools.islice(found, limit))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": celaddresses.readable(_quantity),
    "isInteger": celaddresses.readable(_whole),
    "asInteger": _whole,
    "asApproximateFloat": lambda value: float(_amount(value)),
    "add": _added(1),
    "sub": _added(-1),
    "isLessThan": lambda one, other: _order(one, other) < 0,
    "isGreaterThan": lambda one, other: _order(one, other) > 0,
    "compareTo": _order,
    "semver": _semver,
    "isSemver": celaddresses.readable(_semver),
    "major": lambda value: _release(value)[0],
    "minor": lambda value: _release(value)[1],
    "patch": lambda value: _release(value)[2],
    **celaddresses.FUNCTIONS,
    "find": lambda text, pattern: "".join(_find_all(text, pattern, 1)),
    "findAll": _find_all,
    "isSorted": lambda items: all(a <= b for a, b in itertools.pairwise(items)),
    "sum": _sum,
    "min": _extreme(min, "min"),
    "max": _extreme(max, "max"),
    "indexOf": _index,
    "lastIndexOf": _last_index,
}
