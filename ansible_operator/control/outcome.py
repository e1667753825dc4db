"""Pure: what a run's result means for the object's status and for the next pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_operator import objects, status
from ansible_operator.ansible import run
from ansible_operator.control import predicates
from ansible_operator.control.priority import Priority

DELETION_RECHECK = 5.0
"""Seconds after which an object deleted during its run is looked at, as the incumbent does."""


@dataclass(frozen=True, slots=True)
class Result:
    """What is to happen after a pass that did not fail.

    ``requeue_after`` is in seconds, None waits for events. ``forget`` says that the object is gone
    or is none of ours any more. ``priority`` is that of the next pass.
    """

    requeue_after: float | None = None
    forget: bool = False
    priority: Priority = Priority.PERIODIC


def asks_again(result: run.RunResult) -> float:
    """Seconds after which the role of a good run asked to run again; 0 where it did not.

    A task that asks for 0 or for a negative time asks for nothing, as at the incumbent.
    """
    return max(0.0, result.requeue_after or 0.0) if result.succeeded else 0.0


def releases(request: run.RunRequest, result: run.RunResult) -> bool:
    """Whether the run was a clean-up that is over, so that the finalizer may go."""
    return request.finalizing and result.succeeded and not asks_again(result)


def status_after(
    current: Mapping[str, Any],
    request: run.RunRequest,
    result: run.RunResult,
    *,
    problem: str,
    now: str,
) -> objects.Obj:
    """The complete status after the run; ``problem`` is that of the object's annotations."""
    generation = objects.generation(request.obj)
    again = asks_again(result)
    if again:
        return status.waiting(
            current,
            generation=generation,
            now=now,
            delay=again,
            notes=result.notes,
            problem=problem,
        )
    if result.succeeded:
        return status.succeeded(
            current,
            generation=generation,
            now=now,
            counts=dataclasses.asdict(result.counts),
            notes=result.notes,
            problem=problem,
        )
    # Without stats, such as after a syntax error, there is nothing to count.
    counted = result.counts != run.TaskCounts()
    return status.failed(
        current,
        generation=generation,
        now=now,
        message="\n".join(filter(None, (failure(result), problem))),
        counts=dataclasses.asdict(result.counts) if counted else None,
        notes=result.notes,
    )


def failure(result: run.RunResult) -> str:
    """Why the run failed, in words that are never empty."""
    return result.message or f"the run {result.outcome.value} without a message"


def next_pass(
    request: run.RunRequest, result: run.RunResult, after: objects.Obj, period: float
) -> Result:
    """When to run again after a good run; ``after`` is the object as it is after it.

    A clean-up that is over has no next pass, even if a foreign finalizer holds the object.
    """
    again = asks_again(result)
    if objects.is_deleted(after) and not request.finalizing:
        if not predicates.is_held(after, request.watch):
            return Result()
        return Result(min(again or DELETION_RECHECK, DELETION_RECHECK), priority=Priority.DELETION)
    if again:
        return Result(again, priority=Priority.RETRY)
    if request.finalizing or period <= 0:
        return Result()
    return Result(period)
