"""An operator as a process: its log is read, and nothing of it stays."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from ansible_operator.testing import operator

# Writes log lines, starts a child in a session of its own, ignores SIGTERM if told to.
CODE = """
import json, os, signal, subprocess, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                         start_new_session=True)
print(json.dumps({"msg": "child", "pid": child.pid}), file=sys.stderr, flush=True)
print("plain words", flush=True)
print(json.dumps({"msg": "env", "value": os.environ.get("GIVEN")}), file=sys.stderr, flush=True)
print("[1]", file=sys.stderr, flush=True)
if "short" in sys.argv:
    sys.exit(3)
time.sleep(600)
"""


def argv(*words: str) -> list[str]:
    """The command line of the stand-in."""
    return [sys.executable, "-c", CODE, *words]


@pytest.mark.parametrize("words", [(), ("stubborn",)])
def test_operator_and_its_children_end_with_the_block(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Children in other sessions end too, and an operator that ignores SIGTERM is killed."""
    with operator.run_process(argv(*words), tmp_path, {"GIVEN": "yes"}) as running:
        child = running.wait_for_log(lambda entry: entry.get("msg") == "child")
        entry = running.wait_for_log(lambda entry: entry.get("msg") == "env")
        assert entry["value"] == "yes"
        assert {found.pid for found in running.processes()} == {running.pid, child["pid"]}
        assert psutil.pid_exists(running.pid)
        assert running.stop(grace=0.5) == (-9 if words else -15)
    assert not psutil.pid_exists(running.pid)
    assert running.processes() == []


def test_failure_in_the_block_ends_the_operator_and_shows_its_log(tmp_path: Path) -> None:
    """The error of the test comes with the operator's last lines."""
    started: list[operator.Operator] = []

    def fail() -> None:
        with operator.run_process(argv(), tmp_path, {}) as running:
            started.append(running)
            running.wait_for_log(lambda entry: entry.get("msg") == "env")
            raise ValueError("of the test")

    with pytest.raises(ValueError, match="of the test") as caught:
        fail()
    assert not psutil.pid_exists(started[0].pid)
    [note] = caught.value.__notes__
    assert '"msg": "env"' in note


def test_lines_that_are_no_objects_are_kept_as_unparsed(tmp_path: Path) -> None:
    """Words and JSON that is no object can be told apart from log lines."""
    with operator.run_process(argv("short"), tmp_path, {}) as running:
        for line in ("plain words", "[1]"):
            wanted = {"unparsed": line}
            assert running.wait_for_log(lambda entry, w=wanted: entry == w)  # type: ignore[misc]
        assert len(running.logs) == len(running.lines)


def test_waiting_ends_at_once_when_the_operator_has_ended(tmp_path: Path) -> None:
    """The message has the exit code and the last lines."""
    with operator.run_process(argv("short"), tmp_path, {}) as running:
        child = running.wait_for_log(lambda entry: entry.get("msg") == "child")
        psutil.Process(child["pid"]).kill()  # it holds the pipe open
        with pytest.raises(operator.OperatorError, match=r"ended with 3 before(.|\n)*plain words"):
            running.wait_for_log(lambda entry: False, timeout=600)


def test_waiting_ends_after_the_time_limit(tmp_path: Path) -> None:
    """The message has the limit and the last lines."""
    with operator.run_process(argv(), tmp_path, {}) as running:
        running.wait_for_log(lambda entry: entry.get("msg") == "env")
        with pytest.raises(operator.OperatorError, match="within 0 s"):
            running.wait_for_log(lambda entry: False, timeout=0.1)


def test_search_can_start_later_in_the_log(tmp_path: Path) -> None:
    """``since`` skips lines that were there before something was done."""
    with operator.run_process(argv(), tmp_path, {}) as running:
        running.wait_for_log(lambda entry: entry == {"unparsed": "[1]"})
        running.wait_for_log(lambda entry: entry == {"unparsed": "plain words"})
        assert running.wait_for_log(lambda entry: True) == running.logs[0]
        assert running.wait_for_log(lambda entry: True, since=2) == running.logs[2]


def test_run_operator_runs_the_command_line(tmp_path: Path) -> None:
    """`ansible-operator run` is started in the project with the kubeconfig given."""
    with operator.run_operator(tmp_path, tmp_path / "kubeconfig", "--no-such-flag") as running:
        with pytest.raises(operator.OperatorError, match="no-such-flag"):
            running.wait_for_log(lambda entry: False)
        assert running.returncode not in (0, None)
