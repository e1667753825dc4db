"""The time limit of a run and its cancellation: when it ends early, and how it is ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ansible_operator.ansible import processes, run

GRACE = 2.0


class Watchdog:
    """Ends a run when its time is over or somebody cancels it.

    ansible-runner calls :meth:`poll` at least once a second while the run lasts. All processes of
    the run are first asked to end (SIGTERM), and killed after ``GRACE`` seconds. ``timeout`` is
    in seconds, 0 and below mean that there is no limit.
    """

    def __init__(
        self,
        job: str,
        timeout: float,
        cancel: threading.Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._job = job
        self._cancel = cancel
        self._clock = clock
        self._deadline = clock() + timeout if timeout > 0 else None
        self._kill_at = 0.0
        self.reason: run.Outcome | None = None

    def poll(self) -> bool:
        """Whether ansible-runner shall give up the run; asks and kills processes as needed."""
        if self.reason is None:
            self.reason = self._find_reason()
            if self.reason is not None:
                self._kill_at = self._clock() + GRACE
                processes.terminate(self._job)
            return False
        if self._clock() < self._kill_at:
            return False
        processes.kill(self._job)
        return True

    def finish(self, *, well: bool) -> list[int]:
        """After a run that did not end ``well``, by itself: kill what is left of it.

        The ids of what would not go. What a run that ended well leaves, such as ``async`` tasks,
        goes on.
        """
        return [] if well and self.reason is None else processes.kill(self._job)

    def abandon(self) -> list[int]:
        """After a run that nobody drives any more: kill and reap all; the ids of what stays."""
        children = processes.of_run(self._job)
        left = processes.kill(self._job)
        processes.reap(children)
        return left

    def _find_reason(self) -> run.Outcome | None:
        if self._cancel.is_set():
            return run.Outcome.CANCELLED
        if self._deadline is not None and self._clock() >= self._deadline:
            return run.Outcome.TIMED_OUT
        return None
