"""Run an operator as a process in a test: start it, read its log, and always end it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import psutil

from ansible_operator.testing import process

MARK = "ANSIBLE_OPERATOR_TEST_ID"
"""Environment variable by which everything that an operator started is found again."""

_OWN_PORTS = ("--proxy-port=0", "--user-metrics-port=0", "--metrics-bind-address=0")

GRACE = 20.0
"""Seconds between SIGTERM and SIGKILL; runs are given 10 s to end."""


_COMMON = {
    *("ts", "logger", "job", "gvk", "stdout", "task_path", "event_type"),
    *("reconcileID", "controller", "controllerGroup", "controllerKind"),
}


class OperatorError(AssertionError):
    """The operator did not do what the test waited for; the message ends with its last lines."""


class Operator:
    """A running operator. ``logs`` are its JSON log lines as dicts, in order."""

    def __init__(self, child: subprocess.Popen[str], mark: str):
        self._child = child
        self._mark = mark
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (child.stderr, child.stdout)
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The process id of the operator itself."""
        return self._child.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, None while it runs."""
        return self._child.poll()

    @property
    def lines(self) -> list[str]:
        """Everything that it wrote so far, line by line."""
        with self._changed:
            return list(self._lines)

    @property
    def logs(self) -> list[dict[str, Any]]:
        """Its lines as dicts; one that is no JSON object is ``{"unparsed": line}``."""
        return [_parse(line) for line in self.lines]

    def wait_for_log(
        self,
        predicate: Callable[[dict[str, Any]], bool],
        timeout: float = 60.0,
        *,
        since: int = 0,
    ) -> dict[str, Any]:
        """The first log line that fits, past or future, from the ``since``-th line on.

        Raises OperatorError after ``timeout`` seconds, or at once when the operator has ended.
        """
        deadline = time.monotonic() + timeout
        seen = since
        while True:
            ended = not any(reader.is_alive() for reader in self._readers)
            with self._changed:
                fresh = self._lines[seen:]
            for line in fresh:
                seen += 1
                if predicate(entry := _parse(line)):
                    return entry
            if ended:
                raise OperatorError(self.explain(f"ended with {self._child.wait()} before"))
            if time.monotonic() > deadline:
                raise OperatorError(self.explain(f"did not log it within {timeout:.0f} s"))
            with self._changed:
                if len(self._lines) == seen:
                    self._changed.wait(0.1)

    def processes(self) -> list[psutil.Process]:
        """Everything alive that the operator started, and the operator itself."""
        return [found for found in psutil.process_iter() if _marked(found, self._mark)]

    def stop(self, grace: float = GRACE) -> int:
        """SIGTERM, after ``grace`` seconds SIGKILL; then ends what it left. The exit code."""
        process.stop([self._child], grace)
        leftovers = self.processes()
        for found in leftovers:
            with contextlib.suppress(psutil.NoSuchProcess):
                found.kill()
        psutil.wait_procs(leftovers, timeout=GRACE)
        for reader in self._readers:
            reader.join(GRACE)
        return self._child.returncode

    def explain(self, problem: str) -> str:
        """A message with the last lines of the log, without what is the same in all of them."""
        tail = "\n  ".join(_short(line)[:1000] for line in self.lines[-25:])
        return f"the operator {problem}. Its last lines:\n  {tail}"

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with self._changed:
                    self._lines.append(line.rstrip("\n"))
                    self._changed.notify_all()


@contextlib.contextmanager
def run_operator(
    project: Path,
    kubeconfig: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
) -> Iterator[Operator]:
    """Run ``ansible-operator run ARGUMENTS`` in ``project`` for the length of the block.

    Its API proxy has a free port and it serves no metrics, unless the arguments say otherwise, so
    that operators may run side by side. ``env`` adds to this process's environment or replaces
    parts of it. However the block ends, the operator and everything that it started has ended
    afterwards; if the block fails, the end of the operator's log is attached to the error.
    """
    argv = [sys.executable, "-m", "ansible_operator.cli", "run", *_OWN_PORTS, *arguments]
    with run_process(argv, project, {"KUBECONFIG": str(kubeconfig), **(env or {})}) as operator:
        yield operator


@contextlib.contextmanager
def run_process(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Iterator[Operator]:
    """Like ``run_operator`` for any command line: a wrapped operator, one under a profiler."""
    mark = secrets.token_hex(8)
    child = subprocess.Popen(
        argv,
        cwd=cwd,
        env={**os.environ, **env, MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=process.tied(),
    )
    operator = Operator(child, mark)
    try:
        yield operator
    except BaseException as error:
        operator.stop()
        error.add_note(operator.explain("ran during this"))
        raise
    finally:
        operator.stop()


def _parse(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"unparsed": line}


def _short(line: str) -> str:
    entry = _parse(line)
    kept = {key: value for key, value in entry.items() if key not in _COMMON}
    return line if "unparsed" in entry else json.dumps(kept)


def _marked(found: psutil.Process, mark: str) -> bool:
    try:
        return found.environ().get(MARK) == mark and found.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False
