"""Paths to fields of an object: how they are written, and what stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Step: TypeAlias = str | int | None

_TOKEN = re.compile(
    r"\.?(?P<name>[^\s.\[\]'\"]+)"
    r"|\[(?P<all>\*)\]"
    r"|\[(?P<number>\d+)\]"
    r"|\[(?P<quote>['\"])(?P<quoted>.+?)(?P=quote)\]"
)


class FieldPathError(ValueError):
    """A text that is no field path; its text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Found:
    """A value, and which item or key each ``[*]`` of the path stood for."""

    value: Any
    at: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path as in ``spec.users[*].passwordFrom['secret.name']``.

    In ``steps`` a text is a key, a number an item of a list, None is ``[*]``: each item of a list
    or each value of a map.
    """

    text: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return self.text

    def find(self, obj: Any) -> Iterator[Found]:
        """All that stands there; nothing where the object has no such field."""
        return _find(obj, self.steps, ())

    def head(self) -> tuple[Step, ...]:
        """The steps up to the last ``[*]``; none if there is no ``[*]``."""
        last = max((n for n, step in enumerate(self.steps, start=1) if step is None), default=0)
        return self.steps[:last]


def parse(text: str) -> FieldPath:
    """Read a path; one dot before it is allowed. Raises :class:`FieldPathError`."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        dotted = position > 0 and match is not None and match["name"] and text[position] != "."
        if match is None or dotted:
            raise FieldPathError(f'"{text}" cannot be read from "{text[position:]}" on')
        steps.append(_step(match))
        position = match.end()
    if not steps or not isinstance(steps[0], str):
        raise FieldPathError(f'"{text}" does not begin with the name of a field')
    return FieldPath(text, tuple(steps))


def _step(match: re.Match[str]) -> Step:
    if match["all"]:
        return None
    return int(match["number"]) if match["number"] else match["name"] or match["quoted"]


def _find(value: Any, steps: tuple[Step, ...], at: tuple[int | str, ...]) -> Iterator[Found]:
    if not steps:
        yield Found(value, at)
        return
    step, rest = steps[0], steps[1:]
    for key, child in _children(value):
        if step is None:
            yield from _find(child, rest, (*at, key))
        elif key == step:
            yield from _find(child, rest, at)


def _children(value: Any) -> Iterator[tuple[int | str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key), child) for key, child in value.items())
    elif isinstance(value, list):
        yield from enumerate(value)
