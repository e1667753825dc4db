"""Pure: the ``.status`` of a custom resource after start, success, failure and waiting.

Types, reasons, messages and the order of the conditions are the incumbent's. What differs:

==================  ============================  ============================================
what                the incumbent does            this module does
==================  ============================  ============================================
lastTransitionTime  keeps the old time on a flip  marks the flip
observedGeneration  never set                     on status and on each condition written here
empty reason        Failure and Successful when   never: ``Successful`` after success,
                    False                         ``Failed`` after failure
other conditions    drops fields it does not      kept as they are
                    know
Ready               none                          one summary condition after the three
==================  ============================  ============================================

Each function takes the object's present ``.status`` and returns the complete new one; foreign
keys and foreign conditions survive, arguments are not changed. A status that says the same
already comes back equal, so that nothing needs to be written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_operator import conditions, durations, objects

RUNNING = "Running"
SUCCESSFUL = "Successful"
FAILURE = "Failure"
READY = "Ready"
INPUT_WARNING = "InputWarning"
LOOP_DETECTED = "LoopDetected"
FORCED_RUN = "ForcedRun"
PAUSED = "Paused"

REASON_RUNNING = "Running"
REASON_SUCCESSFUL = "Successful"
REASON_FAILED = "Failed"
REASON_SUCCEEDED = "Succeeded"
REASON_PROGRESSING = "Progressing"
REASON_INVALID_ANNOTATION = "InvalidAnnotation"
REASON_INPUT_IGNORED = "InputIgnored"
REASON_SELF_CAUSED_RUNS = "SelfCausedRuns"
REASON_HANDLED = "Handled"
REASON_PAUSED = "PausedByAnnotation"

MESSAGE_RUNNING = "Running reconciliation"
MESSAGE_AWAITING = "Awaiting next reconciliation"
MESSAGE_SUCCEEDED = "Last reconciliation succeeded"

MAX_MESSAGE_BYTES = 16 * 1024
MAX_SUMMARY_BYTES = 1024

_CUT = " ... (cut; the operator's log has all of it)"
_OUR_REASONS = {
    READY: {REASON_SUCCEEDED, REASON_FAILED, REASON_PROGRESSING, REASON_INVALID_ANNOTATION},
    INPUT_WARNING: {REASON_INPUT_IGNORED},
    LOOP_DETECTED: {REASON_SELF_CAUSED_RUNS},
    FORCED_RUN: {REASON_HANDLED},
    PAUSED: {REASON_PAUSED},
}
_ALWAYS_OURS = (RUNNING, SUCCESSFUL, FAILURE)
_LAST = (INPUT_WARNING, LOOP_DETECTED, FORCED_RUN, PAUSED)


@dataclass(frozen=True, slots=True)
class Remarks:
    """What is said of an object beside the verdict of its run; empty: it is not said.

    ``notes`` name input that was not used, ``problem`` something that the object's author must
    repair although the run went well (an annotation with a value that cannot be used), ``loop``
    what the role does that makes it run again, and ``forced`` is the force-run order that the run
    has fulfilled.
    """

    notes: Sequence[str] = ()
    problem: str = ""
    loop: str = ""
    forced: str = ""


NO_REMARKS = Remarks()


def started(status: Mapping[str, Any], *, generation: int, now: str) -> objects.Obj:
    """The status while a run is under way; a Failure of the run before stays until the verdict."""
    draft = _Draft(status, generation, now)
    draft.running()
    draft.ready(conditions.UNKNOWN, REASON_PROGRESSING, MESSAGE_RUNNING)
    draft.say(PAUSED, REASON_PAUSED, "")
    return draft.finished()


def paused(status: Mapping[str, Any], *, generation: int, now: str, message: str) -> objects.Obj:
    """The status of an object for which nothing runs; that of the run before stays."""
    draft = _Draft(status, generation, now)
    draft.say(PAUSED, REASON_PAUSED, message)
    return draft.unobserved()


def resumed(status: Mapping[str, Any]) -> objects.Obj:
    """The status of an object that is no longer paused, though it has nothing to run."""
    draft = _Draft(status, 0, "")
    draft.say(PAUSED, REASON_PAUSED, "")
    return draft.unobserved()


def foreign(status: Mapping[str, Any]) -> objects.Obj:
    """The part of a status that the operator does not write; the same before its first write."""
    kept = {key: value for key, value in status.items() if key != "observedGeneration"}
    found = conditions.read(status)
    left = [entry for entry in found if not _is_own(entry)]
    if found and not left:
        del kept["conditions"]
    return {**kept, "conditions": left} if left else kept


def succeeded(
    status: Mapping[str, Any],
    *,
    generation: int,
    now: str,
    counts: Mapping[str, Any],
    remarks: Remarks = NO_REMARKS,
) -> objects.Obj:
    """The status after a good run; ``counts``: ok, changed, skipped, failures, completion."""
    draft = _Draft(status, generation, now)
    result = _ansible_result(counts)
    draft.put(RUNNING, conditions.TRUE, REASON_SUCCESSFUL, MESSAGE_AWAITING, ansibleResult=result)
    draft.put(SUCCESSFUL, conditions.TRUE, REASON_SUCCESSFUL, MESSAGE_SUCCEEDED)
    draft.failure(remarks.problem)
    if remarks.problem:
        draft.ready(conditions.FALSE, REASON_INVALID_ANNOTATION, remarks.problem)
    else:
        draft.ready(conditions.TRUE, REASON_SUCCEEDED, MESSAGE_SUCCEEDED)
    draft.remark(remarks)
    return draft.finished()


def failed(
    status: Mapping[str, Any],
    *,
    generation: int,
    now: str,
    message: str,
    counts: Mapping[str, Any] | None = None,
    remarks: Remarks = NO_REMARKS,
) -> objects.Obj:
    """The status after a run that failed, or that could not be started (``counts`` is None).

    A problem of the annotations is told after the message.
    """
    draft = _Draft(status, generation, now)
    result = {"ansibleResult": _ansible_result(counts)} if counts is not None else {}
    draft.put(RUNNING, conditions.FALSE, REASON_RUNNING, MESSAGE_RUNNING)
    text = "\n".join(filter(None, (message, remarks.problem)))
    draft.put(FAILURE, conditions.TRUE, REASON_FAILED, text, **result)
    draft.put(SUCCESSFUL, conditions.FALSE, REASON_FAILED, "")
    draft.ready(conditions.FALSE, REASON_FAILED, message)
    draft.remark(remarks)
    return draft.finished()


def waiting(
    status: Mapping[str, Any],
    *,
    generation: int,
    now: str,
    delay: float,
    remarks: Remarks = NO_REMARKS,
) -> objects.Obj:
    """The status after a good run whose role asked to run again in ``delay`` seconds."""
    draft = _Draft(status, generation, now)
    draft.running()
    if remarks.problem or draft.has(FAILURE):
        draft.failure(remarks.problem)
    again = f"The role asked to run again in {durations.render(delay)}"
    draft.ready(conditions.UNKNOWN, REASON_PROGRESSING, again)
    draft.remark(remarks)
    return draft.finished()


class _Draft:
    """A status in the making: each method writes one condition, which moves it to the end."""

    def __init__(self, status: Mapping[str, Any], generation: int, now: str) -> None:
        self._status = status
        self._generation = generation
        self._now = now
        self._conditions = conditions.read(status)

    def put(self, type_: str, status: str, reason: str, message: str, **extra: Any) -> None:
        """Write one condition; ``extra`` are further fields of it."""
        text = bounded(message, MAX_MESSAGE_BYTES)
        words = {"type": type_, "status": status, "reason": reason, "message": text}
        self._conditions = conditions.set_condition(
            self._conditions, {**words, **extra, **self._observed()}, now=self._now
        )

    def has(self, type_: str) -> bool:
        """Whether the condition is there."""
        return conditions.find(self._conditions, type_) is not None

    def running(self) -> None:
        """Running is True, and Successful, if it is there, keeps its words but is False."""
        old = conditions.find(self._conditions, SUCCESSFUL)
        if old is not None:
            reason = str(old.get("reason") or REASON_FAILED)
            self.put(SUCCESSFUL, conditions.FALSE, reason, str(old.get("message") or ""))
        self.put(RUNNING, conditions.TRUE, REASON_RUNNING, MESSAGE_RUNNING)

    def failure(self, problem: str) -> None:
        """Failure after a run that went well: only a problem of the annotations is left."""
        if problem:
            self.put(FAILURE, conditions.TRUE, REASON_INVALID_ANNOTATION, problem)
        else:
            self.put(FAILURE, conditions.FALSE, REASON_SUCCESSFUL, "")

    def ready(self, status: str, reason: str, message: str) -> None:
        """Write Ready, unless the role writes it; only the first line of the message is shown."""
        if self._is_ours(READY):
            lines = message.strip().splitlines() or [""]
            self.put(READY, status, reason, bounded(lines[0], MAX_SUMMARY_BYTES))

    def remark(self, remarks: Remarks) -> None:
        """Say what there is to say beside the verdict.

        A forced run stays on record, so that nobody takes the same order for a new one.
        """
        self.say(INPUT_WARNING, REASON_INPUT_IGNORED, "\n".join(remarks.notes))
        self.say(LOOP_DETECTED, REASON_SELF_CAUSED_RUNS, remarks.loop)
        if remarks.forced:
            self.say(FORCED_RUN, REASON_HANDLED, remarks.forced)

    def say(self, type_: str, reason: str, message: str) -> None:
        """Write a condition that is there only while there is something to say."""
        if not self._is_ours(type_):
            return
        if message:
            self.put(type_, conditions.TRUE, reason, message)
        else:
            self._conditions = conditions.remove(self._conditions, type_)

    def finished(self) -> objects.Obj:
        """The complete new status of an object whose generation was looked at."""
        return {**self.unobserved(), **self._observed()}

    def unobserved(self) -> objects.Obj:
        """The complete new status; which generation it is of stays."""
        listed = self._conditions
        for type_ in _LAST:
            if (found := conditions.find(listed, type_)) is not None and _is_own(found):
                listed = [*conditions.remove(listed, type_), found]
        if not listed and "conditions" not in self._status:
            return dict(self._status)
        return {**self._status, "conditions": listed}

    def _is_ours(self, type_: str) -> bool:
        found = conditions.find(self._conditions, type_)
        return found is None or _is_own(found)

    def _observed(self) -> dict[str, int]:
        return {"observedGeneration": self._generation} if self._generation > 0 else {}


def _is_own(condition: Mapping[str, Any]) -> bool:
    """Whether the operator has written it, not the role."""
    type_ = str(condition.get("type"))
    # As text, because a role may have written anything there, such as a list.
    return type_ in _ALWAYS_OURS or str(condition.get("reason")) in _OUR_REASONS.get(type_, ())


def _ansible_result(counts: Mapping[str, Any]) -> objects.Obj:
    numbers = {key: int(counts.get(key) or 0) for key in ("ok", "changed", "skipped", "failures")}
    completion = counts.get("completion")
    # An empty time would be refused by a schema with format: date-time.
    return {**numbers, "completion": str(completion)} if completion else {**numbers}


def bounded(text: str, limit: int = MAX_MESSAGE_BYTES) -> str:
    """At most ``limit`` bytes of UTF-8; what cannot be encoded is replaced."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode("utf-8")
    return data[: limit - len(_CUT)].decode("utf-8", "ignore") + _CUT
