"""How long to wait before an object whose reconcile failed is tried again."""

from __future__ import annotations

import threading

from ansible_operator import objects

_MAX_DOUBLINGS = 64  # more would only overflow; the ceiling is long reached


class Backoff:
    """Exponential per object: ``floor`` x 2^n seconds, at most ``ceiling``, until :meth:`reset`.

    Safe to use from several threads.
    """

    def __init__(self, floor: float, ceiling: float) -> None:
        self._floor = floor
        self._ceiling = ceiling
        self._failures: dict[objects.ObjectKey, int] = {}
        self._lock = threading.Lock()

    def next(self, key: objects.ObjectKey) -> float:
        """Count one more failure; the seconds to wait before the next try."""
        with self._lock:
            count = self._failures.get(key, 0)
            self._failures[key] = count + 1
        return min(self._ceiling, self._floor * 2.0 ** min(count, _MAX_DOUBLINGS))

    def reset(self, key: objects.ObjectKey) -> None:
        """Forget the failures: after a success, an edit, or when the object is gone."""
        with self._lock:
            self._failures.pop(key, None)
