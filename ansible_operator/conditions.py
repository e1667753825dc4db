"""Pure operations on condition lists.

A condition is a map ``{type, status, lastTransitionTime, reason, message, ...}``. Nothing here
changes its arguments; results may share unchanged conditions with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_operator import objects

TRUE = "True"
FALSE = "False"
UNKNOWN = "Unknown"


def read(status: Mapping[str, Any]) -> list[objects.Obj]:
    """The conditions of a ``.status`` map with all their fields; only entries that are maps."""
    found = status.get("conditions")
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def find(conditions: Sequence[objects.Obj], type_: str) -> objects.Obj | None:
    """The first condition of this type."""
    return next((entry for entry in conditions if entry.get("type") == type_), None)


def remove(conditions: Sequence[objects.Obj], type_: str) -> list[objects.Obj]:
    """The list without conditions of this type."""
    return [entry for entry in conditions if entry.get("type") != type_]


def set_condition(
    conditions: Sequence[objects.Obj], condition: objects.Obj, *, now: str
) -> list[objects.Obj]:
    """The list with ``condition`` in place of the one of its type, at the end.

    ``lastTransitionTime`` is set here: ``now`` (RFC 3339) if the status differs from the stored
    one or there is none, else the stored time. A written condition moves to the end as at the
    incumbent, because printer columns that show ``.status.conditions[0]`` rely on the order.
    """
    old = find(conditions, condition["type"])
    written = {**condition, "lastTransitionTime": _transition_time(old, condition, now)}
    return [*remove(conditions, condition["type"]), written]


def _transition_time(old: objects.Obj | None, new: objects.Obj, now: str) -> str:
    if old is None or old.get("status") != new["status"]:
        return now
    time = old.get("lastTransitionTime")
    return time if isinstance(time, str) and time else now
