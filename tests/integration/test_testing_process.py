"""Child processes, locks and progress: nothing outlives its parent, nobody waits in silence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_operator.testing import errors, lock, process, progress

IGNORES_TERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('up', flush=True); time.sleep(600)"
)


def python(code: str) -> subprocess.Popen[str]:
    """A Python process with this code."""
    return subprocess.Popen(
        [sys.executable, "-c", code], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize("grace", [0.0, 0.2])
def test_stop_ends_even_a_child_that_ignores_sigterm(grace: float) -> None:
    """After the grace the child is killed and waited for; ended ones are no problem."""
    stubborn, ended = python(IGNORES_TERM), python("")
    with stubborn, ended:
        assert stubborn.stdout is not None
        assert stubborn.stdout.readline() == "up\n"
        ended.wait()
        process.stop([stubborn, ended], grace)
        assert (stubborn.returncode, ended.returncode) == (-9, 0)


def test_watch_notices_the_end_of_a_process_that_nobody_waited_for() -> None:
    """A zombie has ended."""
    child = python("input()")
    with child:
        watch = process.Watch(child.pid)
        assert not watch.gone()
        assert process.alive(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, but still a zombie
        assert watch.gone()
        assert not process.alive(child.pid)
        child.wait()
        assert watch.gone()
        assert process.Watch(child.pid).gone()
        watch.close()
        watch.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can tie a child")
def test_tied_child_dies_with_its_parent() -> None:
    """SIGKILL to the parent ends the child."""
    code = (
        "import subprocess, sys; from ansible_operator.testing import process; "
        "child = subprocess.Popen(['sleep', '600'], preexec_fn=process.tied()); "
        "print(child.pid, flush=True); child.wait()"
    )
    parent = python(code)
    with parent:
        assert parent.stdout is not None
        watch = process.Watch(int(parent.stdout.readline()))
        assert not watch.gone()
        parent.kill()
        parent.wait()
        for _ in range(1000):
            if watch.gone():
                break
            time.sleep(0.01)
        assert watch.gone()
        watch.close()


def test_lock_is_held_by_one_and_freed_by_closing(tmp_path: Path) -> None:
    """A taken lock cannot be taken again until its descriptor is closed."""
    path = tmp_path / "lock"
    assert not lock.held(path)
    descriptor = lock.take(path)
    assert descriptor is not None
    assert lock.held(path)
    assert lock.take(path) is None
    os.close(descriptor)
    assert not lock.held(path)


def test_waiting_says_for_whom_every_few_seconds(tmp_path: Path) -> None:
    """The waiter names the holder at once and again after each heartbeat."""
    path = tmp_path / "lock"
    now = [0.0]
    lines: list[str] = []
    holder = lock.take(path)
    assert holder is not None
    os.pwrite(holder, b"4711\n", 0)

    def sleep(seconds: float) -> None:
        now[0] += 1.0
        if now[0] == 12.0:
            os.close(holder)

    with lock.waiting(path, "the lamp", lines.append, clock=lambda: now[0], sleep=sleep):
        assert path.read_text() == f"{os.getpid()}\n"
    assert lines == [
        "[   0 s] waiting for process 4711, which has the lamp",
        "[   5 s] waiting for process 4711, which has the lamp",
        "[  10 s] waiting for process 4711, which has the lamp",
    ]


def test_steps_report_after_a_heartbeat_and_never_exceed_the_total() -> None:
    """Lines carry elapsed time, what is done and the count."""
    now = [0.0]
    lines: list[str] = []
    steps = progress.Steps(3, lines.append, clock=lambda: now[0])
    steps.doing = "compiling x"
    steps.tick()
    now[0] = 5.0
    steps.advance(2)
    steps.tick()
    steps.tick()
    now[0] = 10.0
    steps.advance(7)
    steps.tick()
    assert lines == [
        "[   5 s] compiling x: 2 of 3 packages done",
        "[  10 s] compiling x: 3 of 3 packages done",
    ]


def test_run_hands_on_error_lines_and_returns_output(tmp_path: Path) -> None:
    """Standard output is the result, standard error is progress."""
    seen: list[str] = []
    steps = progress.Steps(0, lambda line: None)
    argv = [sys.executable, "-c", "import sys; print('result'); print('step', file=sys.stderr)"]
    env = dict(os.environ)
    assert progress.run(argv, steps, seen.append, cwd=tmp_path, env=env) == "result\n"
    assert seen == ["step"]


def test_run_raises_with_the_end_of_the_error_output(tmp_path: Path) -> None:
    """A failing command is told with its exit code and last words."""
    argv = [sys.executable, "-c", "import sys; sys.exit('no such luck')"]
    steps = progress.Steps(0, lambda line: None)
    with pytest.raises(errors.ControlPlaneError, match=r"code 1:\nno such luck"):
        progress.run(argv, steps, cwd=tmp_path, env=dict(os.environ))
