"""How much a body may ask of its reader: how deep it goes, and how large its numbers are.

A real server reads values that are 10,000 levels deep. What is done with them here is recursive,
and Python's stack is not as deep; nobody writes such objects.
"""

from __future__ import annotations

import math
import re

DEPTH = 250
"""Levels of lists and maps that a body may have."""

_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)


class Huge(ValueError):
    """A number that is larger than any in Go; ``text`` is how it is written."""

    def __init__(self, text: str) -> None:
        super().__init__(f"json: cannot unmarshal number {text} into Go value of type float64")
        self.text = text


def too_deep(text: str) -> str:
    """The bracket with which a JSON text goes too deep, else an empty text."""
    if text.count("[") + text.count("{") <= DEPTH:
        return ""
    depth = 0
    for found in _BRACKETS.finditer(text):
        word = found[0]
        depth += (word in "[{") - (word in "]}")
        if depth > DEPTH:
            return word
    return ""


def number(text: str) -> float:
    """A number with a fraction or an exponent. Raises Huge."""
    value = float(text)
    if not math.isfinite(value):
        raise Huge(text)
    return value


def integer(text: str) -> int:
    """A number without them. Raises Huge."""
    if len(text) > 300:
        number(text)
    return int(text)
