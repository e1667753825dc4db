"""Durations in Go's syntax (``300ms``, ``1h2m``), as flags, watches.yaml and annotations use it.

The rules are those of Go's ``time.ParseDuration`` and ``Duration.String``: a sequence of decimal
numbers, each with a unit, and ``0`` as the only number that may stand alone.
"""

from __future__ import annotations

import re

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5 micro sign
    "μs": 1_000,  # U+03BC Greek letter mu, which Go accepts too
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_SECOND = _NANOSECONDS["s"]
_LARGEST = (1 << 63) - 1
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([^\d.]+)", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)


def parse(text: str) -> float:
    """The seconds that ``text`` stands for.

    Raises ValueError, with a message for the person who wrote the text, if it is not a duration.
    """
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0.0
    nanoseconds = _unsigned(body, text)
    if nanoseconds > _LARGEST:
        raise ValueError(f'duration "{text}" is too long; the longest is about 292 years')
    seconds = nanoseconds / _SECOND
    return -seconds if text.startswith("-") else seconds


def render(seconds: float) -> str:
    """``seconds`` as Go's ``Duration.String`` writes it: ``1h2m0s``, ``1.5s``, ``300ms``."""
    whole, remainder = divmod(abs(seconds), 1)
    nanoseconds = int(whole) * _SECOND + round(remainder * _SECOND)
    sign = "-" if seconds < 0 and nanoseconds else ""
    if nanoseconds < _SECOND:
        return sign + _below_a_second(nanoseconds)
    minutes, rest = divmod(nanoseconds, _NANOSECONDS["m"])
    text = _decimal(rest, _SECOND) + "s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _unsigned(body: str, text: str) -> int:
    total, position = 0, 0
    while position < len(body):
        part = _PART.match(body, position)
        if part is None or part[2] not in _NANOSECONDS:
            raise ValueError(_complaint(text, body, part))
        number, unit = part[1], _NANOSECONDS[part[2]]
        whole, _, fraction = number.partition(".")
        total += int(whole or 0) * unit
        total += int(fraction or 0) * unit // 10 ** len(fraction)
        position = part.end()
    if not position:
        raise ValueError(_complaint(text, body, None))
    return total


def _complaint(text: str, body: str, part: re.Match[str] | None) -> str:
    if part is not None:
        return (
            f'"{text}" is not a duration: unknown unit "{part[2]}"; '
            'the units are ns, us, ms, s, m and h, for example "10m" or "1h30m"'
        )
    if _NUMBER.fullmatch(body):
        return f'"{text}" is not a duration: the unit is missing; write for example "{text}s"'
    return f'"{text}" is not a duration; write for example "30s", "10m" or "1h30m"'


def _below_a_second(nanoseconds: int) -> str:
    if not nanoseconds:
        return "0s"
    for unit in ("ms", "µs"):
        if nanoseconds >= _NANOSECONDS[unit]:
            return _decimal(nanoseconds, _NANOSECONDS[unit]) + unit
    return f"{nanoseconds}ns"


def _decimal(amount: int, unit: int) -> str:
    whole, fraction = divmod(amount, unit)
    digits = f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
