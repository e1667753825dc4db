"""A run's events in the log."""

from __future__ import annotations

import threading
from typing import Any

import ansible_events as made
import pytest
import structlog

from ansible_operator import settings
from ansible_operator.ansible import eventlog, events

NOTHING, TASKS, EVERYTHING = settings.LogEvents


def lines(
    event: events.Event, mode: settings.LogEvents = TASKS, verbose: bool = False
) -> list[tuple[str, str]]:
    """Level and message of the lines for an event."""
    return [(line.level, line.message) for line in eventlog.lines(event, mode, verbose)]


RECAP = events.Event({"event": events.STATS, "stdout": "PLAY RECAP", "event_data": {}})
START = made.task_event(events.TASK_START)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (START, ("info", "[playbook task start]")),
        (made.task_event(events.TASK_START, task_action="ansible.builtin.set_fact"), None),
        (made.task_event(events.TASK_START, task_action="debug"), None),
        (made.task_event(events.OK, {}, task_action="debug"), ("info", "[playbook debug]")),
        (made.task_event(events.OK, {}), None),
        (made.task_event(events.ITEM_OK, {}), ("info", "[playbook item]")),
        (made.failed("no"), ("error", "[playbook task failed]")),
        (made.failed("no", ignore_errors=True), ("info", "[playbook task failed]")),
        (made.task_event(events.UNREACHABLE, {}), ("error", "[playbook task failed]")),
        (RECAP, ("info", "[playbook recap]")),
        (made.output("line")[0], None),
    ],
)
def test_tasks_mode(event: events.Event, line: tuple[str, str] | None) -> None:
    """Task starts, debug results, items and failures are logged; ignored failures not as errors."""
    assert lines(event) == ([line] if line else [])


def test_verbose_tasks_mode_gives_ansibles_text() -> None:
    """With verbosity every task event with text is logged as Ansible printed it."""
    event = events.Event({**START.raw, "stdout": "TASK [boom] ***"})
    assert lines(event, verbose=True) == [("info", "[playbook output]")]
    assert lines(START, verbose=True) == []


def test_output_of_a_hidden_task_is_not_logged() -> None:
    """What Ansible printed for a no_log task stays out of the log, its failure does not."""
    event = made.task_event(events.FAILED, {"censored": "hidden"})
    event = events.Event({**event.raw, "stdout": "[ERROR]: Task failed: s3cret"})
    (line,) = eventlog.lines(event, TASKS, verbose=False)
    assert line.message == "[playbook task failed]"
    assert "stdout" not in line.fields


def test_nothing_mode_still_has_the_recap() -> None:
    """In the mode nothing only the recap is logged."""
    assert lines(made.failed("no"), NOTHING) == []
    assert lines(RECAP, NOTHING) == [("info", "[playbook recap]")]


def test_everything_mode_has_the_data() -> None:
    """In the mode everything each event comes with its data."""
    (line,) = eventlog.lines(made.output("x")[0], EVERYTHING, False)
    assert line.message == "[playbook event]"
    (line,) = eventlog.lines(made.failed("no"), EVERYTHING, False)
    assert line.fields["EventData"]["res"]["msg"] == "no"


def test_fields() -> None:
    """A line names event, task, place, host and holds Ansible's text without colours."""
    event = events.Event({**made.failed("no").raw, "stdout": "\x1b[31mfatal\x1b[0m"})
    (line,) = eventlog.lines(event, TASKS, False)
    assert line.fields == {
        "event_type": "runner_on_failed",
        "task": "boom",
        "task_path": made.PATH,
        "host": "localhost",
        "stdout": "fatal",
        "ignored": False,
    }


def test_log_binds_the_run_and_keeps_the_order() -> None:
    """Lines come in order, each with the fields of the run."""
    with structlog.testing.capture_logs() as captured:
        log = eventlog.EventLog({"job": "j1", "name": "one"}, TASKS, False)
        log.put(START)
        log.put(made.failed("no"))
        log.close()
    assert [(c["event"], c["job"], c["name"]) for c in captured] == [
        ("[playbook task start]", "j1", "one"),
        ("[playbook task failed]", "j1", "one"),
    ]


def test_slow_log_does_not_hold_up_the_run() -> None:
    """When the log does not keep up, putting never waits; dropped lines are counted and told."""
    release = threading.Event()
    seen: list[Any] = []

    def slow(logger: Any, method: str, event: Any) -> Any:
        if event["event"].startswith("[playbook"):
            release.wait(10)
        seen.append(dict(event))
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[slow])
    try:
        log = eventlog.EventLog({"job": "j1"}, TASKS, False, capacity=5)
        for _ in range(100):
            log.put(START)
        log.close(patience=0.01)
        dropped = [entry["dropped"] for entry in seen]
        assert len(dropped) == 1
        assert 94 <= dropped[0] <= 95
    finally:
        release.set()
        log.close()
        structlog.configure(**before)
