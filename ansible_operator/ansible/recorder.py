"""What ansible-runner calls during a run, and what keeps its artifacts small and free of secrets.

ansible-runner writes the whole environment into ``command`` before it starts Ansible, and facts
hold the environment as well: both are taken out. The files of a run's events are limited.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog
from ansible_runner.config.runner import RunnerConfig

from ansible_operator.ansible import events, verdict

TEXT_LIMIT = 256 * 1024
FILES_LIMIT = 32 << 20
_CUT = "\n... cut by the operator"

log = structlog.get_logger("runner")


class Recorder:
    """Takes the events of one run: counts them into ``tally``, hands them on, limits files.

    ``listener`` must not wait. ``files_limit`` is the number of bytes of all event files and of
    the output that is kept.
    """

    def __init__(
        self, listener: Callable[[events.Event], None], files_limit: int = FILES_LIMIT
    ) -> None:
        self.tally = verdict.Tally()
        self._listener = listener
        self._left = files_limit

    def on_event(self, raw: dict[str, Any]) -> bool:
        """Take one event; says whether ansible-runner shall write its file."""
        try:
            return self._take(raw)
        except Exception:  # whatever it is, it must not end the play
            log.exception("An event could not be handled", event_type=raw.get("event"))
            return False

    def _take(self, raw: dict[str, Any]) -> bool:
        _remove_environment(raw)
        text = raw.get("stdout")
        if isinstance(text, str) and len(text) > TEXT_LIMIT:
            raw["stdout"] = text[:TEXT_LIMIT] + _CUT
        event = events.Event(dict(raw))  # ansible-runner reuses the map of plain output lines
        self.tally.observe(event)
        self._listener(event)
        if self._left <= 0:
            raw["stdout"] = ""  # this is also what goes into the file of the output
            return False
        self._left -= len(json.dumps(raw, default=str)) + len(raw.get("stdout") or "")
        if self._left <= 0:
            raw["stdout"] = _CUT.strip()
            return False
        return True


def on_status(status: dict[str, Any], runner_config: RunnerConfig) -> None:
    """Once Ansible runs, reduce the file ``command`` to the names of the variables."""
    if status.get("status") == "running":
        path = Path(runner_config.artifact_dir) / "command"
        content = {
            "command": runner_config.command,
            "cwd": runner_config.cwd,
            "env": sorted(runner_config.env),
        }
        path.write_text(json.dumps(content))


def scrub(artifacts: Path) -> None:
    """Remove what a run that was ended early leaves in its artifacts: unfinished event files."""
    for path in artifacts.glob("job_events/*-partial.json*"):
        with contextlib.suppress(OSError):
            path.unlink()


def _remove_environment(raw: dict[str, Any]) -> None:
    facts = events.mapping(events.Event(raw).result.get("ansible_facts"))
    if isinstance(facts, dict):
        for name in ("ansible_env", "env"):
            facts.pop(name, None)
