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


def terminate(job: str) -> int:
    """Ask all processes of the run to end (SIGTERM); how many there were."""
    processes = of_run(job)
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    return len(processes)


def kill(job: str, patience: float = 5.0) -> list[int]:
    """End all processes of the run now (SIGKILL), again until none is left or patience is over.

    Returns the ids of those that are still there after ``patience`` seconds.
    """
    deadline = time.monotonic() + patience
    while True:
        processes = of_run(job)
        late = time.monotonic() > deadline
        others = [process for process in processes if not _is_child(process)]
        for process in processes if late or not others else others:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not processes or late:
            return [process.pid for process in processes]
        psutil.wait_procs(others or processes, timeout=0.2)


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
