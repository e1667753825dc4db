"""Processes around a sandbox: its command, what that leaves behind, and whom it belongs to."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from ansible_operator.testing import errors, process

PAUSE = 0.5
"""Seconds between two looks at whether a process lives."""
GRACE = 3.0
_PR_SET_CHILD_SUBREAPER = 36


async def spawn(command: Sequence[str], environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start a command that the kernel ends if this process is killed. Raises OSError."""
    return await asyncio.create_subprocess_exec(*command, env=environ, preexec_fn=process.tied())


@contextlib.contextmanager
def descendants() -> Iterator[None]:
    """At the end, end all processes that were started within and still run.

    On Linux also those whose parents are gone: they become children of this process.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        import psutil

        left = psutil.Process().children(recursive=True)
        for child in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.terminate()
        _, stubborn = psutil.wait_procs(left, GRACE)
        for child in stubborn:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(stubborn, GRACE)


def at_terminal() -> bool:
    """Whether a terminal sends its signals to this process, and so to its command as well."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def watch(pid: int, gone: Callable[[], None]) -> None:
    """Call ``gone`` on the running loop when a process has ended."""
    watched = process.Watch(pid)
    loop = asyncio.get_running_loop()

    def look() -> None:
        if watched.gone():
            watched.close()
            gone()
        else:
            loop.call_later(PAUSE, look)

    look()


@contextlib.contextmanager
def log(path: Path | None) -> Iterator[TextIO | None]:
    """A log file that is added to, readable by its owner only. Raises ControlPlaneError."""
    if path is None:
        yield None
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise errors.ControlPlaneError(f"--audit-log {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "a", encoding="utf-8") as stream:
        yield stream
