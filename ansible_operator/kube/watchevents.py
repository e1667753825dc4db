"""The lines of a watch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from ansible_operator import children, errors, objects

GONE = 410


@dataclass(frozen=True, slots=True)
class Changed:
    """An object came, changed or went."""

    event: children.Event
    obj: objects.Obj


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing happened up to this resourceVersion."""

    version: str


WatchEvent: TypeAlias = Changed | Bookmark


def parse(line: bytes) -> WatchEvent:
    """Read one line.

    Raises KubeError for an event of type ERROR, with the status that it tells, and for what is no
    event of a watch, with status 0.
    """
    try:
        content = json.loads(line)
        kind, obj = content["type"], content["object"]
        if kind == "ERROR":
            raise _error(obj)
        version = obj["metadata"]["resourceVersion"]
        if kind == "BOOKMARK":
            return Bookmark(str(version))
        return Changed(children.Event(kind), obj)
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        raise errors.KubeError(f"not an event of a watch: {line[:200]!r}") from exc


def _error(status: Any) -> errors.KubeError:
    answer = status if isinstance(status, dict) else {}
    code = answer.get("code")
    details = answer.get("details")
    after = details.get("retryAfterSeconds") if isinstance(details, dict) else 0
    return errors.KubeError(
        f"error in a watch: {answer.get('message') or answer.get('reason') or 'unknown'}",
        status=code if isinstance(code, int) else 500,
        reason=str(answer.get("reason") or ""),
        retry_after=float(after) if isinstance(after, int) else 0.0,
    )
