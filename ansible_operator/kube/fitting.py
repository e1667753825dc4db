"""Pure: a status that fits a schema which was not written with ours in mind.

A CRD may reject what we write (required or non-empty fields, as metav1.Condition has them) or
silently drop fields that it does not know. Paths are tuples of keys; ``[]`` stands for the
items of a list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str, ...]

_CONDITION = ("type", "status", "reason", "message", "lastTransitionTime")


def reduced(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """``new`` with plain conditions and without the generation that was observed.

    Conditions keep the five fields that every schema of conditions has, and get a reason where
    ours is empty. What is in ``old`` already was accepted before and stays as it is.
    """
    status = dict(new)
    if "observedGeneration" not in old:
        status.pop("observedGeneration", None)
    stored = old.get("conditions")
    known = stored if isinstance(stored, list) else []
    if isinstance(status.get("conditions"), list):
        status["conditions"] = [
            item if item in known else _plain(item) for item in status["conditions"]
        ]
    return status


def lost(sent: Any, stored: Any, prefix: Path = ()) -> Iterator[Path]:
    """The paths of what was sent and is not in what the server answered that it stored."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        for key, value in sent.items():
            if key in stored:
                yield from lost(value, stored[key], (*prefix, key))
            elif value is not None:
                yield (*prefix, key)
    elif isinstance(sent, list) and isinstance(stored, list):
        for ours, theirs in zip(sent, stored, strict=False):
            yield from lost(ours, theirs, (*prefix, "[]"))


def holds(value: Any, path: Path) -> bool:
    """Whether there is anything at a path; of the items of a list one is enough."""
    if not path:
        return True
    if isinstance(value, dict):
        return path[0] in value and holds(value[path[0]], path[1:])
    if isinstance(value, list) and path[0] == "[]":
        return any(holds(item, path[1:]) for item in value)
    return False


def without(value: Any, paths: Collection[Path]) -> Any:
    """A copy of ``value`` that lacks everything at these paths."""
    if not paths:
        return value
    if isinstance(value, dict):
        return {
            key: without(inner, _below(paths, key))
            for key, inner in value.items()
            if (key,) not in paths
        }
    if isinstance(value, list):
        return [without(item, _below(paths, "[]")) for item in value]
    return value


def text(path: Path) -> str:
    """A path as people write it: ``status.conditions[].ansibleResult``."""
    return ".".join(("status", *path)).replace(".[]", "[]")


def _below(paths: Collection[Path], key: str) -> set[Path]:
    return {path[1:] for path in paths if len(path) > 1 and path[0] == key}


def _plain(condition: Any) -> Any:
    if not isinstance(condition, dict):
        return condition
    kept = {key: condition[key] for key in _CONDITION if key in condition}
    if not kept.get("reason"):
        kind = str(kept.get("type") or "Unknown")
        kept["reason"] = kind if kept.get("status") == "True" else f"Not{kind}"
    return kept
