"""What one document of ``osdk_metric`` asks for. Pure.

The rules are those of the incumbent's intake: which type it names, which field of it counts, and
that null, false and zero count as absent. A zero to set is the exception, which there is lost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FIELDS: Mapping[str, Mapping[str, type]] = {
    "counter": {"increment": bool, "add": float},
    "gauge": {
        "increment": bool,
        "decrement": bool,
        "add": float,
        "subtract": float,
        "set": float,
        "set_to_current_time": bool,
    },
    "histogram": {"observe": float},
    "summary": {"observe": float},
}
"""The types of metrics, and what may change them."""

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}")


class RefusedError(Exception):
    """The document changes nothing. ``status`` is the HTTP status of the reply."""

    def __init__(self, text: str, status: int = 400) -> None:
        self.status = status
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Change:
    """A metric, and the ``step`` it takes: inc, set or observe with an amount; None creates it."""

    name: str
    description: str
    kind: str
    step: tuple[str, float] | None


def read(document: object, now: float) -> Change:
    """The change that a document (parsed JSON) asks for; ``now`` is in seconds since 1970.

    Raises RefusedError with status 400 if it does not say one clearly.
    """
    if not isinstance(document, dict):
        raise RefusedError("the request must be a JSON object")
    name, description = document.get("name"), document.get("description") or ""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RefusedError(
            f"name: {name!r} is no name of a metric: letters, digits, '_' and ':', no digit "
            "first, at most 200 characters"
        )
    if not isinstance(description, str):
        raise RefusedError("description must be a text")
    kind = _kind(document)
    return Change(name, description, kind, _step(kind, _fields(kind, document[kind]), now))


def _kind(document: Mapping[str, Any]) -> str:
    kinds = [kind for kind in FIELDS if document.get(kind) is not None]
    if not kinds:
        raise RefusedError("a request should contain at least one metric")
    if len(kinds) > 1:
        raise RefusedError("only one metric can be processed at a time")
    return kinds[0]


def _fields(kind: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise RefusedError(f"{kind} must be a JSON object")
    found = {field: given[field] for field in FIELDS[kind] if given.get(field) is not None}
    for field, value in found.items():
        if FIELDS[kind][field] is bool and not isinstance(value, bool):
            raise RefusedError(f"{kind}.{field} must be true or false")
        if FIELDS[kind][field] is float and not _is_number(value):
            raise RefusedError(f"{kind}.{field} must be a number")
    return found


def _is_number(value: object) -> bool:
    """Whether it is a number that a Go float64 can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _step(kind: str, change: Mapping[str, Any], now: float) -> tuple[str, float] | None:
    """The method of the metric that is called, and with what; None only creates."""
    if kind == "counter":
        return _counted(change)
    if kind == "gauge":
        return _gauged(change, now)
    return ("observe", float(change["observe"])) if "observe" in change else None


def _counted(change: Mapping[str, Any]) -> tuple[str, float] | None:
    if change.get("increment"):
        return ("inc", 1.0)
    if change.get("add", 0) < 0:
        raise RefusedError("counter metrics cannot decrease in value")
    return ("inc", float(change["add"])) if change.get("add") else None


def _gauged(change: Mapping[str, Any], now: float) -> tuple[str, float] | None:
    """The incumbent's order, in which zero counts as absent; only a zero to set is left last."""
    steps = {
        "increment": ("inc", 1.0),
        "decrement": ("inc", -1.0),
        "add": ("inc", float(change.get("add", 0))),
        "subtract": ("inc", -float(change.get("subtract", 0))),
        "set": ("set", float(change.get("set", 0))),
        "set_to_current_time": ("set", now),
    }
    for field, step in steps.items():
        if change.get(field):
            return step
    return ("set", 0.0) if "set" in change else None
