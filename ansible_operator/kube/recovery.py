"""What to do after a list or a watch has failed: how long to wait, and where to go on."""

from __future__ import annotations

import enum
from collections.abc import Callable

from ansible_operator import errors
from ansible_operator.kube import watchevents

FLOOR, CEILING = 1.0, 30.0
"""Seconds between tries, doubled each time."""

FORBIDDEN = (60.0, 300.0)
"""Seconds between tries without permission: at first, and after some of them."""

LONGEST = 300.0
"""Seconds that a server may ask us to wait; one that asks for more is not obeyed."""

PATIENCE = 30.0
"""Seconds that a kind may not be served before its objects count as gone.

An API server that has just started does not serve CRDs for some moments.
"""

MISSING = 30.0
"""Seconds between tries after that."""

HASTY = 5
"""Tries without permission that are made in short succession."""

RESUMED = 3
"""Failures in a row after which a watch is not gone on with, but begun with a new list."""


class State(enum.Enum):
    """How it goes with listening."""

    WELL = "well"
    TROUBLE = "trouble"
    FORBIDDEN = "not permitted"
    MISSING = "not served"


class Recovery:
    """Counts the failures in a row of one informer; no I/O.

    ``clock`` is monotonic; ``spread`` takes two bounds and returns a number between them.
    """

    def __init__(self, clock: Callable[[], float], spread: Callable[[float, float], float]) -> None:
        self._clock = clock
        self._spread = spread
        self._failures = 0
        self._refusals = 0
        self._missing_since: float | None = None
        self.state = State.WELL

    @property
    def gone(self) -> bool:
        """Whether the kind is not served for so long that its objects are gone with it."""
        since = self._missing_since
        return since is not None and self._clock() - since >= PATIENCE

    def succeeded(self) -> None:
        """A watch goes well."""
        self.state = State.WELL
        self._failures = self._refusals = 0
        self._missing_since = None

    def failed(self, error: errors.KubeError) -> float:
        """Count a failure; the seconds to wait now."""
        self._failures += 1
        if isinstance(error, errors.ForbiddenError):
            self.state = State.FORBIDDEN
            self._refusals += 1
            return self._around(FORBIDDEN[self._refusals > HASTY])
        if isinstance(error, errors.NotFoundError):
            self.state = State.MISSING
            if self._missing_since is None:
                self._missing_since = self._clock()
            return self._around(MISSING) if self.gone else self._backoff()
        self._missing_since = None
        if self.state is not State.FORBIDDEN:  # which is said again only when it was granted
            self.state = State.TROUBLE
        if error.status == watchevents.GONE and self._failures == 1:
            return 0.0
        return max(min(error.retry_after, LONGEST), self._backoff())

    def starts_over(self, error: errors.KubeError) -> bool:
        """Whether to list again instead of going on with the watch from where it was."""
        resumable = isinstance(error, errors.UnreachableError) or error.status in (0, 401, 429)
        busy = error.status in (500, 502, 503)
        return not (resumable or busy) or self._failures >= RESUMED

    def _backoff(self) -> float:
        most = min(CEILING, FLOOR * 2.0 ** min(self._failures - 1, 16))
        return max(FLOOR, self._spread(most / 2, most))

    def _around(self, seconds: float) -> float:
        return self._spread(seconds * 0.8, seconds * 1.2)
