"""Wait in a test until something holds, and say what was there instead when it does not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ansible_operator import conditions, objects
from ansible_operator.testing import controlplane

DELETED = "deleted"
PAUSE = 0.1
SHOWN = 3000

Condition: TypeAlias = str | Callable[..., Any]


class WaitTimeoutError(AssertionError):
    """What the test waited for did not happen; the message says what was there at the end."""


class WaitFor:
    """The fixture ``wait_for``: waits until a condition holds.

    - ``wait_for("Ready", obj)``: the object's condition of this type is True (``"Ready=False"``
      for another value) and speaks of the newest generation; returns the object.
    - ``wait_for("deleted", obj)``: it is gone; returns None.
    - ``wait_for(lambda found: ..., obj)``: the function of the object is true; returns the object.
    - ``wait_for(lambda: ...)``: the function is true; returns what it returned.

    ``obj`` is any map with apiVersion, kind, name and namespace, such as ``apply`` returns. Raises
    WaitTimeoutError after ``timeout`` seconds.
    """

    def __init__(self, plane: controlplane.ControlPlane) -> None:
        self._plane = plane

    def __call__(
        self, condition: Condition, obj: Mapping[str, Any] | None = None, *, timeout: float = 60.0
    ) -> Any:
        """Wait, see above."""
        if obj is None:
            if isinstance(condition, str):
                raise TypeError(f"wait_for({condition!r}) needs the object that it is about")
            return _until(condition, lambda found: found, timeout, str(condition))
        what = f"{condition} of {obj.get('kind')} {objects.namespace(obj)}/{objects.name(obj)}"
        return _until(lambda: self._plane.find(obj), _holds(condition), timeout, what)


def fulfilled(obj: Mapping[str, Any], wanted: str) -> bool:
    """Whether a condition, ``Type`` or ``Type=Status``, is fulfilled for the newest generation."""
    type_, _, value = wanted.partition("=")
    status = objects.status(obj)
    found = conditions.find(conditions.read(status), type_)
    if found is None or found.get("status") != (value or conditions.TRUE):
        return False
    observed = (found.get("observedGeneration"), status.get("observedGeneration"))
    return all(seen is None or seen >= objects.generation(obj) for seen in observed)


def _holds(condition: Condition) -> Callable[[Any], Any]:
    if condition == DELETED:
        return lambda found: found is None
    if isinstance(condition, str):
        return lambda found: found is not None and fulfilled(found, condition)
    return lambda found: found is not None and condition(found)


def _until(read: Callable[[], Any], holds: Callable[[Any], Any], timeout: float, what: str) -> Any:
    deadline = time.monotonic() + timeout
    while not holds(found := read()):
        if time.monotonic() > deadline:
            raise WaitTimeoutError(f"not within {timeout:g} s: {what}. At the end: {_told(found)}")
        time.sleep(PAUSE)
    return found


def _told(found: Any) -> str:
    if not isinstance(found, dict):
        return "there is no such object" if found is None else repr(found)[:SHOWN]
    shown = {key: found[key] for key in ("spec", "status") if key in found}
    return json.dumps(shown or found, default=str)[:SHOWN]
