"""A run's events in the operator's log, from a thread of its own.

Whoever reports an event must not wait for the log: :meth:`EventLog.put` only queues, and when the
queue is full the line is dropped and counted. The verdict does not depend on this.

Every line carries ``job``, ``name``, ``namespace`` and ``gvk``. What the incumbent prints as text
between log lines is a field here, so that every line parses.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from ansible_operator import settings
from ansible_operator.ansible import events

RECAP = "Ansible Task Status Event StdOut"
DEBUG_RESULT = "Ansible Debug Result"
CAPACITY = 1000
TEXT_LIMIT = 64 * 1024

_QUIET_ACTIONS = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "ansible.builtin.", "ansible.legacy.")
    for name in ("set_fact", "debug")
)
_DEBUG = frozenset({"debug", "ansible.builtin.debug", "ansible.legacy.debug"})


@dataclass(frozen=True, slots=True)
class Line:
    """One line for the log: the method of the logger, the constant message, the fields."""

    level: str
    message: str
    fields: Mapping[str, Any]


def lines(event: events.Event, mode: settings.LogEvents, verbose: bool) -> Iterator[Line]:
    """What of an event belongs into the log.

    ``verbose`` (the object's verbosity annotation or ANSIBLE_VERBOSITY is above 0) gives Ansible's
    own text of every task event in the mode ``tasks``, as the incumbent does.
    """
    if event.kind == events.STATS and event.stdout:
        yield Line("info", "[playbook recap]", {RECAP: event.stdout})
    if mode is settings.LogEvents.EVERYTHING:
        yield Line("info", "[playbook event]", _fields(event, EventData=dict(event.data)))
    elif mode is settings.LogEvents.TASKS and event.task:
        if verbose:
            if event.stdout:
                yield Line("info", "[playbook output]", _fields(event))
        else:
            yield from _task_lines(event)


def _task_lines(event: events.Event) -> Iterator[Line]:
    if event.kind == events.TASK_START and not event.actions & _QUIET_ACTIONS:
        yield Line("info", "[playbook task start]", _fields(event))
    elif event.kind == events.OK and event.actions & _DEBUG:
        yield Line("info", "[playbook debug]", _fields(event))
    elif event.kind == events.ITEM_OK:
        yield Line("info", "[playbook item]", _fields(event))
    elif event.kind in (events.FAILED, events.UNREACHABLE):
        level = "info" if event.is_ignored else "error"
        fields = _fields(event, task_args=event.data.get("task_args", ""), ignored=event.is_ignored)
        yield Line(level, "[playbook task failed]", fields)


def _fields(event: events.Event, **more: Any) -> dict[str, Any]:
    fields = {
        "event_type": event.kind,
        "task": event.task,
        "task_path": event.task_path,
        "host": event.host,
        # ansible-core 2.19 prints the error of a no_log task; a callback of the user's may too.
        "stdout": "" if event.is_hidden else event.stdout[:TEXT_LIMIT],
        **more,
    }
    return {key: value for key, value in fields.items() if value not in ("", None)}


class EventLog:
    """Logs the events of one run. Close it when the run is over."""

    def __init__(
        self,
        fields: Mapping[str, Any],
        mode: settings.LogEvents,
        verbose: bool,
        capacity: int = CAPACITY,
    ) -> None:
        self._log = structlog.get_logger("logging_event_handler").bind(**fields)
        self._mode = mode
        self._verbose = verbose
        self._queue: queue.Queue[events.Event] = queue.Queue(capacity)
        self._closing = threading.Event()
        self._dropped = 0
        self._thread = threading.Thread(
            target=self._work, name=f"events-{fields.get('job', '')}", daemon=True
        )
        self._thread.start()

    def put(self, event: events.Event) -> None:
        """Queue an event; never waits."""
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            self._dropped += 1

    def close(self, patience: float = 5.0) -> None:
        """Wait up to ``patience`` seconds for what is queued; drop the rest and say so."""
        self._closing.set()
        self._thread.join(patience)
        self._mode = settings.LogEvents.NOTHING
        if self._dropped:
            self._log.warning("Events of the run were not logged", dropped=self._dropped)

    def _work(self) -> None:
        while True:
            try:
                event = self._queue.get(timeout=0.1)
            except queue.Empty:
                if self._closing.is_set():
                    return
                continue
            self._write(event)

    def _write(self, event: events.Event) -> None:
        for line in lines(event, self._mode, self._verbose):
            getattr(self._log, line.level)(line.message, **line.fields)
