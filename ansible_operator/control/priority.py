"""Why an object is reconciled, which decides who is served first."""

from __future__ import annotations

import enum


class Priority(enum.IntEnum):
    """The lower value is served first: people before machinery, machinery before routine.

    CHECK asks only whether the object is still there and runs nothing.
    """

    DELETION = 0
    EDIT = 1
    DEPENDENT = 2
    RETRY = 3
    PERIODIC = 4
    CHECK = 5
