"""JSONPath as Kubernetes speaks it, for printer columns: ``.items[?(@.type=="Ready")].status``.

Fields (with ``\\.`` for a dot in a name), ``['quoted']`` fields, indices from either end, slices,
``*``, unions, ``..`` and filters that compare a field with a value.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

Path = Callable[[Any], list[Any]]
_Step = Callable[[Any], Iterator[Any]]

_FIELD = re.compile(r"(?:\\.|[^.\[\]{}\\])+")
_FILTER = re.compile(
    r"\s*@(?P<left>.*?)\s*(?P<op>==|!=|<=|>=|<|>)\s*(?P<right>.+?)\s*\Z", re.DOTALL
)
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def parse(text: str) -> Path:
    """A path as a function that finds its values, in their order. Raises ValueError."""
    steps = list(_steps(text.strip().removeprefix("{").removesuffix("}")))

    def found(value: Any) -> list[Any]:
        values = [value]
        for step in steps:
            values = [item for before in values for item in step(before)]
        return values

    return found


def _steps(text: str) -> Iterator[_Step]:
    at = 0
    while at < len(text):
        if text.startswith("..", at):
            yield _descend
            at += 2
        elif text[at] == "[":
            end = _closing(text, at)
            yield _bracket(text[at + 1 : end].strip())
            at = end + 1
        else:
            at += text[at] == "."
            if name := _FIELD.match(text, at):
                yield _field(re.sub(r"\\(.)", r"\1", name.group()))
                at = name.end()
            elif text[at : at + 1] not in ("", "["):
                raise ValueError(f"unexpected {text[at]!r} in {text!r}")


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at ``start`` closes."""
    depth, at = 0, start
    while at < len(text):
        if quoted := _QUOTED.match(text, at):
            at = quoted.end()
            continue
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        if depth == 0:
            return at
        at += 1
    raise ValueError(f"unterminated [ in {text!r}")


def _bracket(inner: str) -> _Step:
    if inner.startswith("?(") and inner.endswith(")"):
        return _filter(inner[2:-1])
    if quoted := _QUOTED.fullmatch(inner):
        return _field(re.sub(r"\\(.)", r"\1", quoted.group()[1:-1]))
    if inner == "*":
        return _field("*")
    parts = [_index(part.strip()) for part in inner.split(",")]
    return lambda value: (item for part in parts for item in part(value))


def _index(text: str) -> _Step:
    numbers = [int(part) if part.strip() else None for part in text.split(":")]
    if len(numbers) == 1 and numbers[0] is not None:
        first = numbers[0]
        end = first + 1 if first != -1 else None
        return lambda value: iter(value[first:end] if isinstance(value, list) else ())
    chosen = slice(*numbers)
    return lambda value: iter(value[chosen] if isinstance(value, list) else ())


def _field(name: str) -> _Step:
    def step(value: Any) -> Iterator[Any]:
        if name == "*" and isinstance(value, dict | list):
            yield from value.values() if isinstance(value, dict) else value
        elif isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _descend(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _descend(item)


def _filter(text: str) -> _Step:
    given = _FILTER.match(text)
    if given is None:
        if not text.strip().startswith("@"):
            return _nothing
        path = parse(text.strip()[1:])
        return lambda value: (item for item in _items(value) if path(item))
    path, compare = parse(given["left"]), _COMPARE[given["op"]]
    try:
        wanted = _literal(given["right"])
    except ValueError:
        return _nothing

    def step(value: Any) -> Iterator[Any]:
        for item in _items(value):
            if any(_holds(compare, found, wanted) for found in path(item)):
                yield item

    return step


def _nothing(_: Any) -> Iterator[Any]:
    """What a filter finds that says nothing that could hold."""
    return iter(())


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _literal(text: str) -> Any:
    if _QUOTED.fullmatch(text):
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return json.loads(text)


def _holds(compare: Callable[[Any, Any], bool], found: Any, wanted: Any) -> bool:
    try:
        return compare(found, wanted)
    except TypeError:
        return False
