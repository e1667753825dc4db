"""How long to wait before an object whose reconcile failed is tried again."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ansible_operator import objects

_MAX_DOUBLINGS = 64  # more would only overflow; the ceiling is long reached


class Backoff:
    """Exponential per object: ``floor`` x 2^n seconds, at most ``ceiling``, until :meth:`reset`.

    ``jitter`` shortens each delay: it is called per delay and returns the fraction (0 to 1) to
    take off. Without it the delays are exact. Safe to use from several threads.
    """

    def __init__(
        self, floor: float, ceiling: float, jitter: Callable[[], float] | None = None
    ) -> None:
        self._floor = floor
        self._ceiling = ceiling
        self._jitter = jitter
        self._failures: dict[objects.ObjectKey, int] = {}
        self._lock = threading.Lock()

    def next(self, key: objects.ObjectKey) -> float:
        """Count one more failure; the seconds to wait before the next try."""
        with self._lock:
            count = self._failures.get(key, 0)
            self._failures[key] = count + 1
        delay = min(self._ceiling, self._floor * 2.0 ** min(count, _MAX_DOUBLINGS))
        return delay if self._jitter is None else delay * (1.0 - self._jitter())

    def failures(self, key: objects.ObjectKey) -> int:
        """How many failures in a row are counted."""
        with self._lock:
            return self._failures.get(key, 0)

    def reset(self, key: objects.ObjectKey) -> None:
        """Forget the failures: after a success, an edit, or when the object is gone."""
        with self._lock:
            self._failures.pop(key, None)
