"""What stands in the columns of tables: functions of a field that fit more than one kind.

columns.yaml names the functions that take a value and the time, here and in the modules of single
kinds (kindcells, podcells).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from ansible_operator.sandbox.views import ages

Obj = dict[str, Any]
Cell = Callable[[Any, datetime], Any]
Items = list[Obj] | None

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def at(obj: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def condition(obj: Obj, kind: str) -> str:
    """The status of a condition; empty where there is none."""
    given = at(obj, "status.conditions") or []
    return next((str(item.get("status")) for item in given if item.get("type") == kind), "")


def first(parts: list[str], limit: int, empty: str, joint: str = ",") -> str:
    """The first few, and how many there are more."""
    more = f" + {len(parts) - limit} more..." if len(parts) > limit else ""
    return (joint.join(parts[:limit]) or empty) + more


def age(obj: Obj, now: datetime) -> str:
    """How long ago the object was created."""
    return ages.since(at(obj, "metadata.creationTimestamp"), now)


def since(time: Any, now: datetime) -> str:
    """How long ago it was."""
    return ages.since(time, now)


def text(value: Any, _: datetime) -> str:
    """The value as text."""
    return str(value)


def number(value: int | None, _: datetime) -> int:
    """The number, or 0."""
    return value or 0


def flag(value: Any, _: datetime) -> bool:
    """Whether it is set."""
    return bool(value)


def count(items: Any, _: datetime) -> int:
    """How many there are."""
    return len(items or ())


def joined(items: Iterable[str] | None, _: datetime) -> str:
    """All of them."""
    return ",".join(items or ())


def names(items: Items, _: datetime) -> str:
    """Their names."""
    return ",".join(item.get("name", "") for item in items or ())


def images(items: Items, _: datetime) -> str:
    """Their images."""
    return ",".join(item.get("image", "") for item in items or ())


def audiences(items: Items, _: datetime) -> str:
    """Their audiences."""
    return ",".join(item.get("audience", "") for item in items or ())


def labels(given: dict[str, str] | None, _: datetime) -> str:
    """Labels as one writes them in a query."""
    return ",".join(f"{key}={value}" for key, value in sorted((given or {}).items())) or NONE


def selector(given: Obj | None, _: datetime) -> str:
    """A label selector as one writes it in a query."""
    found = [(key, f"{key}={value}") for key, value in (at(given, "matchLabels") or {}).items()]
    for need in at(given, "matchExpressions") or []:
        key, values = need["key"], f"({','.join(sorted(need.get('values') or []))})"
        texts = {
            "In": f"{key} in {values}",
            "NotIn": f"{key} notin {values}",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        found.append((key, texts[need["operator"]]))
    return ",".join(part for _, part in sorted(found, key=lambda pair: pair[0])) or NONE


def modes(given: Iterable[str] | None, _: datetime) -> str:
    """Access modes, short."""
    wanted = set(given or ())
    return ",".join(short for mode, short in _MODES.items() if mode in wanted)


def kind_and_name(ref: Obj | None, _: datetime) -> str:
    """``Kind/name``."""
    return f"{at(ref, 'kind')}/{at(ref, 'name')}"


def phase(obj: Obj, _: datetime) -> str:
    """``status.phase``, or that the object is going."""
    going = at(obj, "metadata.deletionTimestamp")
    return "Terminating" if going else at(obj, "status.phase") or ""
