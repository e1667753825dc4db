"""How many informers may list at once, so that a start is no burst of requests."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

AT_ONCE = 10
RATE, BURST = 20.0, 20.0


class Bucket:
    """Tokens that come at a rate, up to a number that may be spent at once. Thread-safe.

    It may be overdrawn: the next one then waits until it is filled again.
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._tokens, self._then = burst, clock()

    def take(self, tokens: float = 1.0) -> float:
        """Take tokens if there is at least one; else the seconds until there will be one."""
        with self._lock:
            now = self._clock()
            self._tokens = min(self._burst, self._tokens + (now - self._then) * self._rate)
            self._then = now
            if self._tokens < 1.0:
                return (1.0 - self._tokens) / self._rate
            self._tokens -= tokens
            return 0.0


class Admission:
    """Lets lists through: so many at once, and so many in a second."""

    def __init__(
        self,
        at_once: int = AT_ONCE,
        rate: float = RATE,
        burst: float = BURST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = threading.Semaphore(at_once)
        self._bucket = Bucket(rate, burst, clock)

    @contextlib.contextmanager
    def turn(self, wait: Callable[[float], bool]) -> Iterator[bool]:
        """Wait for a turn; False if ``wait``, which sleeps, said that it is too late for that."""
        while not self._slots.acquire(timeout=0.5):
            if wait(0.0):
                yield False
                return
        try:
            while (seconds := self._bucket.take()) > 0:
                if wait(seconds):
                    yield False
                    return
            yield True
        finally:
            self._slots.release()
