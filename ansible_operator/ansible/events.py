"""A typed, read-only view of the events that ansible-runner reports, and of their text.

Pure: an event is the map that ansible-runner hands to its event handler (``event``, ``stdout``,
``created``, ``event_data``); anything may be missing or of another type than expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TASK_START = "playbook_on_task_start"
NO_HOSTS = "playbook_on_no_hosts_matched"
STATS = "playbook_on_stats"
OK = "runner_on_ok"
FAILED = "runner_on_failed"
UNREACHABLE = "runner_on_unreachable"
ITEM_OK = "runner_item_on_ok"
ERROR = "error"

# What Ansible prints outside of tasks: parser errors, warnings, plain lines.
OUTPUT = frozenset({"verbose", ERROR, "warning", "system_warning", "deprecated", "debug"})

REQUEUE_AFTER = frozenset({"operator_sdk.util.requeue_after", "requeue_after"})

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Event:
    """One event. ``raw`` is what ansible-runner sent, ``data`` its ``event_data``."""

    raw: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """What happened, such as ``runner_on_failed``."""
        return str(self.raw.get("event") or "")

    @property
    def data(self) -> Mapping[str, Any]:
        """The ``event_data`` map, empty where there is none."""
        return mapping(self.raw.get("event_data"))

    @property
    def stdout(self) -> str:
        """What Ansible printed for it, without colours and control characters."""
        return clean(str(self.raw.get("stdout") or ""))

    @property
    def created(self) -> str:
        """When it happened: an ISO time in UTC."""
        return str(self.raw.get("created") or "")

    @property
    def task(self) -> str:
        """The name of the task, or its action where it has no name."""
        return clean(str(self.data.get("task") or ""))

    @property
    def task_path(self) -> str:
        """``file:line`` of the task."""
        return str(self.data.get("task_path") or "")

    @property
    def host(self) -> str:
        """The inventory name of the host."""
        return str(self.data.get("host") or "")

    @property
    def actions(self) -> frozenset[str]:
        """The module as the playbook spells it and its full name."""
        return frozenset(str(self.data.get(key)) for key in ("task_action", "resolved_action"))

    @property
    def is_hidden(self) -> bool:
        """Whether the task has ``no_log``, so that nothing of its output may be shown."""
        return is_hidden(self.result)

    @property
    def result(self) -> Mapping[str, Any]:
        """What the module returned, empty where it is hidden or was too large."""
        return mapping(self.data.get("res"))

    @property
    def is_ignored(self) -> bool:
        """Whether ``ignore_errors`` is in force."""
        return self.data.get("ignore_errors") is True

    @property
    def where(self) -> str:
        """The task for a person: ``task 'name' (file:line)``."""
        place = f" ({self.task_path})" if self.task_path else ""
        return f"task {self.task!r}{place}" if self.task else ""


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a map, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def results(event: Event) -> Iterator[Mapping[str, Any]]:
    """The results of a loop's items, or the one result of a task without a loop."""
    items = event.result.get("results")
    if isinstance(items, list):
        yield from (mapping(item) for item in items)
    else:
        yield event.result


def clean(text: str) -> str:
    """The text without colours and control characters; lines end in ``\\n``."""
    return _UNPRINTABLE.sub("", _ANSI.sub("", text).replace("\r\n", "\n"))


def is_hidden(result: Mapping[str, Any]) -> bool:
    """Whether a result, or that of a loop item, is one of ``no_log``."""
    return "censored" in result or result.get("_ansible_no_log") is True
