"""What is recorded of a run's events, and what must not be kept."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ansible_events as made
import structlog

from ansible_operator.ansible import events, recorder


def record(*raw: dict[str, Any], **options: Any) -> tuple[list[bool], list[events.Event]]:
    """Which events get a file, and what the listener heard."""
    heard: list[events.Event] = []
    taken = recorder.Recorder(heard.append, **options)
    return [taken.on_event(one) for one in raw], heard


def test_counts_and_hands_on() -> None:
    """Each event reaches the tally and the listener, as a copy."""
    heard: list[events.Event] = []
    taken = recorder.Recorder(heard.append)
    raw = dict(made.stats().raw)
    assert taken.on_event(raw) is True
    raw["stdout"] = "changed later"
    assert taken.tally.stats is heard[0]
    assert heard[0].stdout == ""


def test_environment_in_facts_is_removed() -> None:
    """The environment that fact gathering reports is neither written nor logged."""
    facts = {"ansible_env": {"TOKEN": "s3cret"}, "env": {"TOKEN": "s3cret"}, "ansible_os": "x"}
    raw = dict(made.task_event(events.OK, {"ansible_facts": facts}).raw)
    _, heard = record(raw)
    assert "s3cret" not in json.dumps(raw)
    assert heard[0].result == {"ansible_facts": {"ansible_os": "x"}}
    record(dict(made.task_event(events.OK, {"ansible_facts": "odd"}).raw))


def test_long_output_is_cut() -> None:
    """The text of one event is cut with a note."""
    raw = {"event": "verbose", "stdout": "x" * 1_000_000}
    _, heard = record(raw)
    assert len(raw["stdout"]) < 300_000
    assert heard[0].stdout.endswith("cut by the operator")


def test_files_of_one_run_are_limited() -> None:
    """After the limit no event gets a file and no output is kept, but all are heard."""
    raw = [{"event": "verbose", "stdout": "x" * 100} for _ in range(10)]
    written, heard = record(*raw, files_limit=500)
    assert written == [True, True, False, *[False] * 7]
    assert [one["stdout"] for one in raw[2:]] == ["... cut by the operator", *[""] * 7]
    assert all(event.stdout == "x" * 100 for event in heard)


def test_event_that_cannot_be_handled_does_not_end_the_play() -> None:
    """An error while handling an event is logged and swallowed."""

    def broken(event: events.Event) -> None:
        raise RuntimeError("boom")

    with structlog.testing.capture_logs() as captured:
        assert recorder.Recorder(broken).on_event({"event": "verbose"}) is False
    assert captured[0]["event"] == "An event could not be handled"


def test_command_file_keeps_names_only(tmp_path: Path) -> None:
    """Once Ansible runs, the file holds the names of the variables and no value."""
    path = tmp_path / "command"
    path.write_text("TOKEN=s3cret")
    config = SimpleNamespace(
        artifact_dir=str(tmp_path), command=["a"], cwd="/c", env={"TOKEN": "s3cret", "A": "b"}
    )
    recorder.on_status({"status": "starting"}, config)
    assert path.read_text() == "TOKEN=s3cret"
    recorder.on_status({"status": "running"}, config)
    assert json.loads(path.read_text()) == {"command": ["a"], "cwd": "/c", "env": ["A", "TOKEN"]}


def test_unfinished_event_files_are_removed(tmp_path: Path) -> None:
    """What a killed run leaves of an event goes; whole events stay."""
    folder = tmp_path / "job_events"
    folder.mkdir()
    for name in ("1-a.json", "b-partial.json", "c-partial.json.tmp"):
        (folder / name).touch()
    recorder.scrub(tmp_path)
    assert [p.name for p in folder.iterdir()] == ["1-a.json"]
