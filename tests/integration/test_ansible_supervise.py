"""The small parent of ansible-playbook."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ansible_operator.ansible import supervise

SCRIPT = (sys.executable, "-I", "-S", supervise.__file__)
COMMAND = (*SCRIPT, str(os.getpid()))


def test_passes_exit_code_and_output_on() -> None:
    """Arguments, output and exit code go through."""
    done = subprocess.run(
        [*COMMAND, "sh", "-c", 'echo "$1"; exit 3', "sh", "a b"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (3, "a b\n")


@pytest.mark.parametrize("number", [9, 15])
def test_tells_the_signal(number: int) -> None:
    """A command that a signal ended gives 128 and the signal."""
    done = subprocess.run([*COMMAND, "sh", "-c", f"kill -{number} $$"])
    assert done.returncode == 128 + number


def test_command_that_is_not_there() -> None:
    """A missing command is 127 with a line that says so."""
    done = subprocess.run([*COMMAND, "/nowhere/x"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (127, "ERROR! /nowhere/x: No such file or directory\n")


def test_adopts_orphans_and_waits_for_them_when_asked_to_end() -> None:
    """After SIGTERM it reaps what the command left behind and ends after the last of them."""
    script = (
        "(setsid sh -c 'trap \"\" TERM; echo up; sleep 0.5; echo orphan $(ps -o ppid= -p $$)' &) ; "
        "read line; kill -TERM $PPID; kill -9 $$"
    )
    with subprocess.Popen(
        [*COMMAND, "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "up\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.wait(30) == 128 + 9
        assert process.stdout.read() == f"orphan {process.pid}\n"


def test_ends_everything_when_the_operator_is_killed() -> None:
    """After SIGKILL of the process that started it, nothing of the run is left."""
    script = "(setsid sleep 4244 &) ; sh -c 'trap \"\" TERM HUP; echo $$; sleep 4245'"
    started = f"[*{SCRIPT!r}, str(os.getpid()), 'sh', '-c', {script!r}]"
    starter = f"import os, subprocess; subprocess.run({started})"
    command = [sys.executable, "-c", starter]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as operator:
        assert operator.stdout is not None
        leaf = psutil.Process(int(operator.stdout.readline()))
        below = psutil.Process(operator.pid).children(recursive=True)
        assert leaf in below
        operator.kill()
    gone, alive = psutil.wait_procs(below, timeout=30)
    assert not alive
    assert len(gone) == len(below)


def test_starts_nothing_when_the_operator_died_before_it_could_be_told(tmp_path: Path) -> None:
    """Its parent is not the operator that started it any more: the command is not started."""
    command = [*SCRIPT, str(os.getppid()), "touch", str(tmp_path / "started")]
    assert subprocess.run(command).returncode == 128 + 9
    assert list(tmp_path.iterdir()) == []


def test_child_that_may_not_be_killed_does_not_save_the_others() -> None:
    """A child of another user (become) stays until it ends itself; all others are killed."""
    program = (
        "import os, subprocess, sys\n"
        "from ansible_operator.ansible import supervise\n"
        "theirs = subprocess.Popen(['sleep', '4247'])\n"
        "ours = subprocess.Popen(['sh', '-c', 'echo up; exec sleep 4246'])\n"
        "really_kill = os.kill\n"
        "def kill(pid, number):\n"
        "    if pid == theirs.pid: raise PermissionError(1, 'Operation not permitted')\n"
        "    really_kill(pid, number)\n"
        "os.kill = kill\n"
        "sys.stdin.readline()\n"
        "supervise._on_operator_death(0, None)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "up\n"
        theirs, ours = psutil.Process(process.pid).children()
        try:
            process.stdin.write("go\n")
            process.stdin.flush()
            assert psutil.wait_procs([ours], timeout=30)[1] == []
            assert theirs.is_running()
            theirs.kill()
            assert process.wait(30) == 128 + 9
        finally:
            for child in (theirs, ours):
                with contextlib.suppress(psutil.Error):
                    child.kill()
            process.kill()


def test_without_prctl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ctypes is missing it does without adoption."""
    monkeypatch.setitem(sys.modules, "ctypes", None)
    supervise._tie()
