"""Child processes that do not outlive their parent."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LINUX = sys.platform.startswith("linux")
# Loaded before any fork: the child between fork and exec must not import or take locks.
_libc = ctypes.CDLL(None, use_errno=True) if _LINUX else None


def tied() -> Callable[[], None]:
    """A ``preexec_fn``: the kernel kills the child when the thread that started it ends.

    Linux only; elsewhere it does nothing. Because the kernel looks at the *thread*, call
    ``Popen`` from the main thread or from one that lives as long as the child shall. What runs
    between fork and exec imports nothing and takes no lock.
    """
    parent = os.getpid()

    def tie() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:  # the parent died between fork and prctl
                os._exit(1)

    return tie


def stop(children: Sequence[subprocess.Popen[str]], grace: float) -> None:
    """End the children: SIGTERM to all, after ``grace`` seconds SIGKILL; returns when all ended.

    With no grace at all, SIGKILL at once.
    """
    running = [child for child in children if child.poll() is None]
    for child in running:
        child.terminate() if grace else child.kill()
    deadline = time.monotonic() + grace
    while any(child.poll() is None for child in running) and time.monotonic() < deadline:
        time.sleep(0.02)
    for child in running:
        child.kill()  # does nothing to one that has ended
    for child in running:
        child.wait()


class Watch:
    """Says whether a foreign process has ended; not fooled by a reused process id on Linux."""

    def __init__(self, pid: int):
        self.pid = pid
        self._gone = False
        self._fd: int | None = None
        try:
            if hasattr(os, "pidfd_open"):
                self._fd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._gone = True
        except OSError:  # an old kernel or a sandbox: fall back to asking by id
            self._fd = None

    def gone(self) -> bool:
        """Whether the process has ended (a zombie has ended)."""
        if not self._gone:
            self._gone = self._readable() if self._fd is not None else not alive(self.pid)
        return self._gone

    def close(self) -> None:
        """Give the file descriptor back."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _readable(self) -> bool:
        poll = select.poll()
        poll.register(self._fd or 0, select.POLLIN)
        return bool(poll.poll(0))


def alive(pid: int) -> bool:
    """Whether a process with this id runs; one that ended and was not waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:  # Linux; the state follows the name, which is in parentheses and may contain any
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return not _LINUX
