"""Values in log lines: times in every encoding, errors as text, JSON that cannot fail."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

_DEPTH = 12


def timestamp(nanoseconds: int, encoding: str) -> str | float | int:
    """A Unix time in one of zap's encodings; text is in UTC.

    Raises KeyError for an encoding that is not one of ``ENCODINGS``.
    """
    return ENCODINGS[encoding](nanoseconds)


def dumps(event: Mapping[str, Any]) -> str:
    """One line of ASCII JSON; what JSON cannot hold becomes text, also in keys."""
    line = dict(event)
    try:
        return json.dumps(line, default=_text, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_safe(line, _DEPTH), allow_nan=False)


def failure(error: BaseException | None) -> str:
    """What an exception says; its type where it says nothing."""
    return _text(error) or type(error).__name__


def _rfc3339(nanoseconds: int) -> str:
    return _utc(nanoseconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def _rfc3339nano(nanoseconds: int) -> str:
    fraction = f"{nanoseconds % 10**9:09d}".rstrip("0")
    whole = _utc(nanoseconds).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"


def _iso8601(nanoseconds: int) -> str:
    whole = _utc(nanoseconds).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{nanoseconds // 10**6 % 1000:03d}Z"


def _utc(nanoseconds: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(nanoseconds // 10**9, datetime.UTC)


ENCODINGS: dict[str, Callable[[int], str | float | int]] = {
    "epoch": lambda nanoseconds: nanoseconds / 10**9,
    "millis": lambda nanoseconds: nanoseconds / 10**6,
    "nanos": lambda nanoseconds: nanoseconds,
    "iso8601": _iso8601,
    "rfc3339": _rfc3339,
    "rfc3339nano": _rfc3339nano,
}


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be printed>"


def _safe(value: Any, depth: int) -> Any:
    """``value`` with everything replaced that :func:`json.dumps` refuses; depth is bounded."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth and isinstance(value, dict):
        return {_text(key): _safe(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, list | tuple):
        return [_safe(item, depth - 1) for item in value]
    return "..." if isinstance(value, dict | list | tuple) else _text(value)
