"""What a run is asked to do and what came of it: the types that the engine and Ansible share."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from ansible_operator import objects, watches


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run for one object. ``job`` is unique; ``finalizing`` runs the finalizer's target."""

    job: str
    watch: watches.Watch
    obj: objects.Obj
    finalizing: bool = False


class Outcome(enum.Enum):
    """The verdict of a run."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """The ``ansibleResult`` of a condition: the stats of the host named localhost."""

    ok: int = 0
    changed: int = 0
    skipped: int = 0
    failures: int = 0
    completion: str = ""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run.

    ``message`` tells a person what failed (task, file, line, host, Ansible's own words), at most
    16 KiB, and is empty on success. ``requeue_after`` is in seconds, None if no task asked for it.
    ``notes`` are things about the object's input that the author of the object should know, such
    as fields that were not handed to Ansible. ``artifacts`` is where the run's artifacts were
    kept, None if they were not.
    """

    outcome: Outcome
    message: str = ""
    counts: TaskCounts = TaskCounts()
    requeue_after: float | None = None
    notes: tuple[str, ...] = ()
    rc: int | None = None
    duration: float = 0.0
    artifacts: Path | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the verdict is success."""
        return self.outcome is Outcome.SUCCEEDED
