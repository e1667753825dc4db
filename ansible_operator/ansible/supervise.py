"""A small parent for ``ansible-playbook``: the script ``supervise.py OPERATOR COMMAND ARG...``.

It does what ansible-runner does not, and is left alone with it:

* its exit code tells which signal ended the command (128 + n);
* it adopts what the command leaves behind (daemons, workers whose parent was killed), so that
  the operator finds all processes of a run below it, and none becomes a zombie;
* after SIGTERM it stays until the last of them is gone;
* when the operator itself is killed, it ends everything below it (Linux). OPERATOR is its process
  id: if that is no longer our parent when we start, nothing is started.

Only the standard library, and little of it: each run starts this.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
OPERATOR_DIED = signal.SIGUSR1

_asked_to_end = False


def main(operator: int, command: list[str]) -> int:
    """Run the command with our own standard streams; its exit code, 128 + n for signal n."""
    signal.signal(signal.SIGTERM, _on_sigterm)
    signal.signal(OPERATOR_DIED, _on_operator_death)
    _tie()
    if os.getppid() != operator:  # it died before the kernel knew that we want to hear of it
        return 128 + signal.SIGKILL
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(OPERATOR_DIED, signal.SIG_DFL)
        # Nobody is there to answer: what prompts must find no terminal, or it waits for ever.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            os.execvp(command[0], command)  # noqa: S606
        except OSError as error:
            os.write(2, f"ERROR! {command[0]}: {error.strerror}\n".encode())
            os._exit(127)
    code = _wait_for(child)
    _reap()
    return code


def _tie() -> None:
    """Adopt orphaned descendants, and hear of the operator's death; both only on Linux."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(PR_SET_PDEATHSIG, int(OPERATOR_DIED), 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def _on_sigterm(number: int, frame: FrameType | None) -> None:
    global _asked_to_end
    _asked_to_end = True


def _on_operator_death(number: int, frame: FrameType | None) -> None:
    """Nobody waits for the run any more: kill what is below us until nothing is left."""
    while True:
        for child in _children():
            _kill(child)
        try:
            os.wait()
        except ChildProcessError:
            os._exit(128 + signal.SIGKILL)


def _kill(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
    except PermissionError:  # of another user (become); what it leaves comes to us when it ends
        return


def _children() -> list[int]:
    """Our children, adopted ones included; none of them can vanish before we wait for it."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listed:
            return [int(pid) for pid in listed.read().split()]
    except OSError:  # a kernel without this file
        return []


def _wait_for(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _reap() -> None:
    """Reap who is dead; if we were asked to end, wait for all."""
    while True:
        try:
            pid, _ = os.waitpid(-1, 0 if _asked_to_end else os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
