"""Events as ansible-runner sends them, reduced to what is read of them."""

from __future__ import annotations

from typing import Any

from ansible_operator.ansible import events

PATH = "/opt/ansible/roles/web/tasks/main.yml:7"


def event(kind: str, stdout: str = "", **data: Any) -> events.Event:
    """Any event with this ``event_data``."""
    return events.Event({"event": kind, "stdout": stdout, "event_data": data})


def task_event(kind: str, res: Any = None, task: str = "boom", **data: Any) -> events.Event:
    """An event of a task on localhost, with its result."""
    known = {"task": task, "task_path": PATH, "host": "localhost", "task_action": "fail"}
    return event(kind, **{**known, **({} if res is None else {"res": res}), **data})


def failed(msg: str, host: str = "localhost", **data: Any) -> events.Event:
    """A failed task with this message."""
    return task_event(events.FAILED, {"msg": msg, "changed": False}, host=host, **data)


def stats(created: str = "2026-12-01T02:40:19.123400+00:00", **counts: Any) -> events.Event:
    """The final summary; ``processed`` is localhost if nothing else is given."""
    data = {"processed": {"localhost": 1}, **counts}
    return events.Event({"event": events.STATS, "created": created, "event_data": data})


def output(*lines: str) -> list[events.Event]:
    """Plain lines that Ansible prints, in colour as on a terminal."""
    return [event("verbose", f"\x1b[0;31m{line}\x1b[0m") for line in lines]
