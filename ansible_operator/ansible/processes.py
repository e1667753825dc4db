"""The processes of one run, and how all of them are ended.

Killing the process group is not enough: ansible-core's workers call setsid(), and tasks start
daemons. So each run's environment carries :data:`MARKER` with the run's job; what has it in its
environment belongs to the run, with all its descendants. The run's first process, our child, is
:mod:`ansible_operator.ansible.supervise`: it adopts and reaps the others and is killed last.
"""

from __future__ import annotations

import contextlib
import os
import time

import psutil

MARKER = "ANSIBLE_OPERATOR_JOB"
PARTING = 1.0
"""Seconds that a run's first process gets to end after it was left alone."""


def of_run(job: str) -> list[psutil.Process]:
    """The living processes that belong to the run, parents before children."""
    found: dict[int, psutil.Process] = {}
    children: dict[int, list[psutil.Process]] = {}
    for process in psutil.process_iter(["ppid"]):
        children.setdefault(process.info["ppid"], []).append(process)
        if process.pid != os.getpid() and _is_marked(process, job):
            found[process.pid] = process
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child.pid)
    return [process for process in found.values() if _is_alive(process)]


def terminate(job: str) -> None:
    """Ask all processes of the run to end (SIGTERM)."""
    for process in of_run(job):
        with contextlib.suppress(psutil.Error):
            process.terminate()


def kill(job: str, patience: float = 5.0) -> list[int]:
    """End all processes of the run now (SIGKILL), again until none is left or patience is over.

    Our child is only asked at first: it ends when it has reaped the others, and only if it does
    not, it is killed too. It is left to be waited for by whoever started it. Returns the ids of
    those that are still there after ``patience`` seconds.
    """
    now = time.monotonic()
    deadline, parting = now + patience, now + PARTING
    while True:
        processes = of_run(job)
        now = time.monotonic()
        others = [process for process in processes if not _is_child(process)]
        if others:
            parting = now + PARTING
        is_last_try = now > deadline
        for process in processes:
            with contextlib.suppress(psutil.Error):
                if process in others or now > parting or is_last_try:
                    process.kill()
                else:
                    process.terminate()
        if not processes or is_last_try:
            return [process.pid for process in processes]
        _pause(others)


def reap(children: list[psutil.Process], patience: float = 1.0) -> None:
    """Wait for children of ours that were killed and that nobody else will wait for."""
    psutil.wait_procs([child for child in children if _is_child(child)], timeout=patience)


def _pause(killed: list[psutil.Process]) -> None:
    """Give the killed time to go. Waiting for our child would take its exit code from pexpect."""
    if killed:
        psutil.wait_procs(killed, timeout=0.2)
    else:
        time.sleep(0.02)


def _is_child(process: psutil.Process) -> bool:
    try:
        return bool(process.ppid() == os.getpid())
    except psutil.Error:
        return False


def _is_marked(process: psutil.Process, job: str) -> bool:
    try:
        return bool(process.environ().get(MARKER) == job)
    except (psutil.Error, OSError):
        return False


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
