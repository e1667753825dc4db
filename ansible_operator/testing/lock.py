"""A lock between processes that says who holds it. The kernel frees it when the holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ansible_operator.testing import progress


def take(path: Path) -> int | None:
    """The descriptor that holds the lock now, or None when another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def held(path: Path) -> bool:
    """Whether some process holds the lock."""
    if not path.exists():
        return False
    descriptor = take(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


@contextlib.contextmanager
def waiting(
    path: Path,
    what: str,
    report: progress.Report,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold the lock for the block; while another process has it, say so every few seconds."""
    start = clock()
    said: float | None = None
    while (descriptor := take(path)) is None:
        if said is None or clock() - said >= progress.HEARTBEAT:
            said = clock()
            report(f"[{said - start:4.0f} s] waiting for {_holder(path)}, which has {what}")
        sleep(0.2)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(path: Path) -> str:
    try:
        pid = path.read_text().strip()
    except OSError:
        pid = ""
    return f"process {pid}" if pid else "another process"
