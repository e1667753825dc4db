"""The label selectors that objects carry, as predicates over objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Obj = dict[str, Any]
Selects = Callable[[Obj], bool]


def selector(found: Mapping[str, Any] | None) -> Selects:
    """``matchLabels`` and ``matchExpressions``. None selects nothing, an empty one everything."""
    if found is None:
        return lambda obj: False
    wanted = found.get("matchLabels") or {}
    expressions = found.get("matchExpressions") or ()

    def selects(obj: Obj) -> bool:
        carried = obj["metadata"].get("labels") or {}
        return contains(carried, wanted) and all(holds(one, carried) for one in expressions)

    return selects


def contains(carried: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether all the wanted labels are carried."""
    return all(carried.get(name) == value for name, value in wanted.items())


def holds(expression: Mapping[str, Any], carried: Mapping[str, str]) -> bool:
    """Whether one expression of a selector, also of nodes, is true of labels."""
    value = carried.get(expression["key"])
    values: list[str] = expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case _:
            return value is not None and int(value) < int(values[0])
