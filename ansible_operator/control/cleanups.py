"""Telling people of clean-ups that fail, or that were given up: Events of the object."""

from __future__ import annotations

import time
from collections.abc import Callable

from ansible_operator import objects
from ansible_operator.ansible import run
from ansible_operator.control import outcome, ports

MAX_MESSAGE_BYTES = 1024
"""Of an Event; the API server takes no more."""

INTERVAL = 3600.0
"""Seconds between two Events about one object whose clean-up goes on failing."""


class Cleanups:
    """Records Events through ``recorder``; ``clock`` is a monotonic clock in seconds."""

    def __init__(
        self, recorder: ports.Recorder, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._recorder = recorder
        self._clock = clock
        self._told: dict[objects.ObjectKey, float] = {}

    def failed(
        self, key: objects.ObjectKey, request: run.RunRequest, result: run.RunResult
    ) -> None:
        """The clean-up failed: said of the first failure, and then once per hour."""
        now = self._clock()
        if key in self._told and now - self._told[key] < INTERVAL:
            return
        self._told[key] = now
        message = outcome.told(request, result, MAX_MESSAGE_BYTES)
        self._recorder.record(request.obj, "Warning", "CleanupFailed", message)

    def skipped(self, obj: objects.Obj, finalizer: str, annotation: str) -> None:
        """The object is let go without a clean-up, because a person wants it so."""
        message = f"finalizer {finalizer} removed without a clean-up, as {annotation} says"
        self._recorder.record(obj, "Normal", "CleanupSkipped", message)

    def forget(self, key: objects.ObjectKey) -> None:
        """The object is gone."""
        self._told.pop(key, None)
