"""How Go reads booleans, integers and sizes from text; flags and environment rely on it."""

from __future__ import annotations

import re

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_LIMIT = 1 << 63
_TOO_LONG = 20  # digits
_SIZE = re.compile(r"(\d+)([kMGT]i?|Ki)?", re.ASCII)
_FACTORS = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 1 << 10,
    "Mi": 1 << 20,
    "Gi": 1 << 30,
    "Ti": 1 << 40,
}


def boolean(text: str) -> bool:
    """As ``strconv.ParseBool``; raises ValueError that lists what is accepted."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f'"{text}" is not a boolean; write true or false (also 1, t, 0, f)')


def integer(text: str) -> int | None:
    """As ``strconv.Atoi``; None where it would fail."""
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0")
    value = int(text) if len(digits) < _TOO_LONG else _LIMIT
    return value if -_LIMIT <= value < _LIMIT else None


def size(text: str) -> int:
    """Bytes, written as a Kubernetes quantity: ``1073741824``, ``512Mi``, ``1G``.

    Raises ValueError with an example.
    """
    match = _SIZE.fullmatch(text)
    if match is None or (match[2] or "") not in _FACTORS:
        raise ValueError(f'"{text}" is not a size; write for example 512Mi, 1Gi or 1073741824')
    return int(match[1]) * _FACTORS[match[2] or ""]
