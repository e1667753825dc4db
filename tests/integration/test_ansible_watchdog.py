"""When a run is ended early, and how its processes are found and ended."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator

import pytest

from ansible_operator.ansible import processes, run, watchdog

TREE = (
    "import os, subprocess, sys, time\n"
    "import signal; signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True))\n"
    "child = subprocess.Popen(['sleep', '4242'], start_new_session=True)\n"
    "plain = subprocess.Popen(['sleep', '4243'], env={}, start_new_session=True)\n"
    "print('ready', flush=True)\n"
    "child.wait(); plain.wait(); time.sleep(4242)\n"
)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def job() -> str:
    """The name of a run that nobody else uses."""
    return uuid.uuid4().hex


@pytest.fixture
def tree(job: str) -> Iterator[subprocess.Popen[str]]:
    """A process that bears SIGTERM, and two children in sessions of their own."""
    process = subprocess.Popen(
        [sys.executable, "-c", TREE],
        env={**os.environ, processes.MARKER: job},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            processes.kill(job)


def test_nothing_happens_within_the_limit(job: str) -> None:
    """Before the time is over, the run goes on."""
    clock = Clock()
    guard = watchdog.Watchdog(job, 10, threading.Event(), clock)
    clock.now += 9.9
    assert guard.poll() is False
    assert guard.reason is None
    assert guard.finish(well=True) == []


@pytest.mark.parametrize("timeout", [0, -1])
def test_no_limit(job: str, timeout: float) -> None:
    """Zero and below mean that there is no limit."""
    clock = Clock()
    guard = watchdog.Watchdog(job, timeout, threading.Event(), clock)
    clock.now += 1e9
    assert guard.poll() is False
    assert guard.reason is None


def test_all_processes_end(job: str, tree: subprocess.Popen[str]) -> None:
    """After the limit: SIGTERM, and after the grace SIGKILL for all, also without the marker."""
    clock = Clock()
    guard = watchdog.Watchdog(job, 10, threading.Event(), clock)
    assert len(processes.of_run(job)) == 3
    clock.now += 10
    assert guard.poll() is False
    assert guard.reason is run.Outcome.TIMED_OUT
    assert tree.stdout is not None
    assert tree.stdout.readline() == "asked\n"
    assert guard.poll() is False
    assert tree.poll() is None
    clock.now += watchdog.GRACE
    assert guard.poll() is True
    assert guard.finish(well=True) == []
    assert processes.of_run(job) == []
    assert tree.wait(10) is not None


def test_cancel(job: str, tree: subprocess.Popen[str]) -> None:
    """Setting the event ends the run, whatever time is left."""
    cancel = threading.Event()
    guard = watchdog.Watchdog(job, 0, cancel)
    cancel.set()
    assert guard.poll() is False
    assert guard.reason is run.Outcome.CANCELLED
    assert guard.finish(well=True) == []
    assert processes.of_run(job) == []


def test_abandoned_run(job: str, tree: subprocess.Popen[str]) -> None:
    """Whatever time is left, all are killed, and our child is waited for."""
    guard = watchdog.Watchdog(job, 0, threading.Event())
    before = processes.of_run(job)
    assert len(before) == 3
    assert guard.abandon() == []
    assert [process for process in before if process.is_running()] == []


def test_exit_code_of_our_child_is_left_to_others(job: str, tree: subprocess.Popen[str]) -> None:
    """Killing does not wait for our child: pexpect does, and is lost if somebody else did."""
    assert processes.kill(job) == []
    pid, status = os.waitpid(tree.pid, 0)
    assert (pid, os.waitstatus_to_exitcode(status)) == (tree.pid, -9)
    tree.returncode = -9


def test_others_are_left_alone(job: str, tree: subprocess.Popen[str]) -> None:
    """Processes of another run are not touched."""
    processes.terminate("another")
    assert processes.kill("another") == []
    assert tree.poll() is None
