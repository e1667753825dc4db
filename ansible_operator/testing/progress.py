"""Run a long child process and say at least every few seconds how far it is."""

from __future__ import annotations

import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from ansible_operator.testing import errors, process

Report = Callable[[str], None]

HEARTBEAT = 5.0
"""Seconds between two lines of progress."""


class Steps:
    """Counts finished steps out of a known total; renders ``[ 42 s] what: 12 of 1850 packages``."""

    def __init__(self, total: int, report: Report, clock: Callable[[], float] = time.monotonic):
        self.total = total
        self.done = 0
        self.doing = ""
        self._report = report
        self._clock = clock
        self._start = self._said = clock()

    def advance(self, count: int = 1) -> None:
        """Another step is done; never counts past the total."""
        self.done = min(self.total, self.done + count)

    def tick(self) -> None:
        """Report if the last line is older than the heartbeat."""
        if self._clock() - self._said >= HEARTBEAT:
            self.say()

    def say(self) -> None:
        """Report now."""
        self._said = self._clock()
        counted = f": {self.done} of {self.total} packages done" if self.total else ""
        self._report(f"[{self._said - self._start:4.0f} s] {self.doing}{counted}")


def run(
    argv: Sequence[str],
    steps: Steps,
    on_line: Callable[[str], None] = lambda line: None,
    *,
    cwd: Path,
    env: Mapping[str, str],
) -> str:
    """Run ``argv`` to its end and return its standard output.

    Every line of its standard error goes to ``on_line``; ``steps`` reports meanwhile. Raises
    ControlPlaneError with the end of the error output when the command fails. The child does not
    outlive this process.
    """
    child = subprocess.Popen(
        argv,
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=process.tied(),
    )
    out: queue.SimpleQueue[str] = queue.SimpleQueue()
    err: queue.SimpleQueue[str] = queue.SimpleQueue()
    threads = [_drain(child.stdout, out), _drain(child.stderr, err)]
    tail: deque[str] = deque(maxlen=30)
    try:
        while child.poll() is None or any(thread.is_alive() for thread in threads):
            _hand_on(err, tail, on_line)
            steps.tick()
            time.sleep(0.1)
        _hand_on(err, tail, on_line)
    finally:
        process.stop([child], grace=5.0)
    if child.returncode != 0:
        raise errors.ControlPlaneError(
            f"`{' '.join(argv[:4])} …` ended with code {child.returncode}:\n" + "".join(tail)
        )
    return "".join(_all(out))


def _drain(stream: IO[str] | None, lines: queue.SimpleQueue[str]) -> threading.Thread:
    def read() -> None:
        if stream is not None:
            with stream:
                for line in stream:
                    lines.put(line)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _all(lines: queue.SimpleQueue[str]) -> list[str]:
    found = []
    while not lines.empty():
        found.append(lines.get())
    return found


def _hand_on(
    lines: queue.SimpleQueue[str], tail: deque[str], on_line: Callable[[str], None]
) -> None:
    for line in _all(lines):
        tail.append(line)
        on_line(line.rstrip("\n"))
