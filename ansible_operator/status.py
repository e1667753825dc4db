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
from typing import Any

from ansible_operator import conditions, durations, objects

RUNNING = "Running"
SUCCESSFUL = "Successful"
FAILURE = "Failure"
READY = "Ready"
INPUT_WARNING = "InputWarning"

REASON_RUNNING = "Running"
REASON_SUCCESSFUL = "Successful"
REASON_FAILED = "Failed"
REASON_SUCCEEDED = "Succeeded"
REASON_PROGRESSING = "Progressing"
REASON_INVALID_ANNOTATION = "InvalidAnnotation"
REASON_INPUT_IGNORED = "InputIgnored"

MESSAGE_RUNNING = "Running reconciliation"
MESSAGE_AWAITING = "Awaiting next reconciliation"
MESSAGE_SUCCEEDED = "Last reconciliation succeeded"

MAX_MESSAGE_BYTES = 16 * 1024
MAX_SUMMARY_BYTES = 1024

_CUT = " ... (cut; the operator's log has all of it)"
_OUR_REASONS = {
    READY: {REASON_SUCCEEDED, REASON_FAILED, REASON_PROGRESSING, REASON_INVALID_ANNOTATION},
    INPUT_WARNING: {REASON_INPUT_IGNORED},
}


def started(status: Mapping[str, Any], *, generation: int, now: str) -> objects.Obj:
    """The status while a run is under way; a Failure of the run before stays until the verdict."""
    draft = _Draft(status, generation, now)
    draft.running()
    draft.ready(conditions.UNKNOWN, REASON_PROGRESSING, MESSAGE_RUNNING)
    return draft.finished()


def succeeded(
    status: Mapping[str, Any],
    *,
    generation: int,
    now: str,
    counts: Mapping[str, Any],
    notes: Sequence[str] = (),
    problem: str = "",
) -> objects.Obj:
    """The status after a good run.

    ``counts`` has ok, changed, skipped, failures and completion. ``problem`` is something that
    the object's author must repair although the run went well: an annotation with a value that
    cannot be used.
    """
    draft = _Draft(status, generation, now)
    result = _ansible_result(counts)
    draft.put(RUNNING, conditions.TRUE, REASON_SUCCESSFUL, MESSAGE_AWAITING, ansibleResult=result)
    draft.put(SUCCESSFUL, conditions.TRUE, REASON_SUCCESSFUL, MESSAGE_SUCCEEDED)
    draft.failure(problem)
    if problem:
        draft.ready(conditions.FALSE, REASON_INVALID_ANNOTATION, problem)
    else:
        draft.ready(conditions.TRUE, REASON_SUCCEEDED, MESSAGE_SUCCEEDED)
    draft.warn(notes)
    return draft.finished()


def failed(
    status: Mapping[str, Any],
    *,
    generation: int,
    now: str,
    message: str,
    counts: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> objects.Obj:
    """The status after a run that failed, or that could not be started (``counts`` is None)."""
    draft = _Draft(status, generation, now)
    result = {"ansibleResult": _ansible_result(counts)} if counts is not None else {}
    draft.put(RUNNING, conditions.FALSE, REASON_RUNNING, MESSAGE_RUNNING)
    draft.put(FAILURE, conditions.TRUE, REASON_FAILED, message, **result)
    draft.put(SUCCESSFUL, conditions.FALSE, REASON_FAILED, "")
    draft.ready(conditions.FALSE, REASON_FAILED, message)
    draft.warn(notes)
    return draft.finished()


def waiting(
    status: Mapping[str, Any],
    *,
    generation: int,
    now: str,
    delay: float,
    notes: Sequence[str] = (),
    problem: str = "",
) -> objects.Obj:
    """The status after a good run whose role asked to run again in ``delay`` seconds."""
    draft = _Draft(status, generation, now)
    draft.running()
    if problem or draft.has(FAILURE):
        draft.failure(problem)
    again = f"The role asked to run again in {durations.render(delay)}"
    draft.ready(conditions.UNKNOWN, REASON_PROGRESSING, again)
    draft.warn(notes)
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
        text = _bounded(message, MAX_MESSAGE_BYTES)
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
            self.put(READY, status, reason, _bounded(lines[0], MAX_SUMMARY_BYTES))

    def warn(self, notes: Sequence[str]) -> None:
        """Say what of the object's input was not used; no condition if all of it was."""
        if not self._is_ours(INPUT_WARNING):
            return
        if notes:
            self.put(INPUT_WARNING, conditions.TRUE, REASON_INPUT_IGNORED, "\n".join(notes))
        else:
            self._conditions = conditions.remove(self._conditions, INPUT_WARNING)

    def finished(self) -> objects.Obj:
        """The complete new status."""
        return {**self._status, "conditions": self._conditions, **self._observed()}

    def _is_ours(self, type_: str) -> bool:
        found = conditions.find(self._conditions, type_)
        # As text, because a role may have written anything there, such as a list.
        return found is None or str(found.get("reason")) in _OUR_REASONS[type_]

    def _observed(self) -> dict[str, int]:
        return {"observedGeneration": self._generation} if self._generation > 0 else {}


def _ansible_result(counts: Mapping[str, Any]) -> objects.Obj:
    numbers = {key: int(counts.get(key) or 0) for key in ("ok", "changed", "skipped", "failures")}
    completion = counts.get("completion")
    # An empty time would be refused by a schema with format: date-time.
    return {**numbers, "completion": str(completion)} if completion else {**numbers}


def _bounded(text: str, limit: int) -> str:
    """At most ``limit`` bytes of UTF-8; what cannot be encoded is replaced."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return data.decode("utf-8")
    return data[: limit - len(_CUT)].decode("utf-8", "ignore") + _CUT
