"""Pure: what a run's result means for the object's status and for the next pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_operator import conditions, objects, status
from ansible_operator.ansible import run
from ansible_operator.control import orders, predicates
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


def is_settled(obj: Mapping[str, Any]) -> bool:
    """Whether the status says that a run for exactly this generation succeeded, and was the last.

    An object whose generation is not counted, such as a Secret, is never settled; neither is one
    that somebody has ordered to be run.
    """
    generation = objects.generation(obj)
    found = conditions.find(conditions.read(objects.status(obj)), status.SUCCESSFUL) or {}
    of = (found.get("status"), found.get("observedGeneration"))
    return generation > 0 and of == (conditions.TRUE, generation) and not orders.pending(obj)


def status_after(
    current: Mapping[str, Any],
    request: run.RunRequest,
    result: run.RunResult,
    *,
    remarks: status.Remarks,
    now: str,
) -> objects.Obj:
    """The complete status after the run; its notes are added to the remarks."""
    generation = objects.generation(request.obj)
    remarks = dataclasses.replace(remarks, notes=(*result.notes, *remarks.notes))
    again = asks_again(result)
    if again:
        return status.waiting(current, generation=generation, now=now, delay=again, remarks=remarks)
    counts = dataclasses.asdict(result.counts)
    if result.succeeded:
        return status.succeeded(
            current, generation=generation, now=now, counts=counts, remarks=remarks
        )
    # Without stats, such as after a syntax error, there is nothing to count.
    return status.failed(
        current,
        generation=generation,
        now=now,
        message=told(request, result),
        counts=counts if result.counts != run.TaskCounts() else None,
        remarks=remarks,
    )


def told(
    request: run.RunRequest, result: run.RunResult, limit: int = status.MAX_MESSAGE_BYTES
) -> str:
    """Why the run failed, with the way out where it was a clean-up; at most ``limit`` bytes."""
    if not request.finalizing or result.outcome is run.Outcome.CANCELLED:
        return status.bounded(failure(result), limit)
    hint = "\n" + escape(objects.key_of(request.obj, request.watch.gvk))
    return status.bounded(failure(result), limit - len(hint.encode())) + hint


def escape(key: objects.ObjectKey) -> str:
    """How to let an object go whose clean-up cannot succeed."""
    kind = ".".join(filter(None, (key.gvk.kind.lower(), key.gvk.group)))
    where = f" -n {key.namespace}" if key.namespace else ""
    return (
        "To let the object go without a clean-up: "
        f"kubectl annotate {kind} {key.name}{where} {orders.SKIP_CLEANUP}=true"
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
    if request.finalizing or period <= 0 or request.watch.run_once_per_generation:
        return Result()
    return Result(period)
