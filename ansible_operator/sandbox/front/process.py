"""A sandbox as a child process: for tests, which must not share an event loop with their server."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.testing import errors, process

START_LIMIT = 60.0
"""Seconds until a start is given up; a loaded machine needs many times what an idle one does."""
STOP_LIMIT = 10.0
_PACKAGE_PARENT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class Running:
    """A sandbox that is ready.

    ``kubeconfig`` is the administrator's with a context for each test user, ``server`` the URL,
    ``ca_file`` the PEM file of its authority (empty for plain HTTP), ``audit_log`` every request
    that was answered, one JSON object per line.
    """

    kubeconfig: Path
    server: str
    ca_file: Path
    audit_log: Path
    pid: int


@contextlib.contextmanager
def start(arguments: Sequence[str], directory: Path) -> Iterator[Running]:
    """Run ``ansible-operator sandbox ARGUMENTS`` until the end of the block.

    ``directory`` is for its files, which stay; it must not hold those of another sandbox. The
    sandbox ends with this process, however that ends. Raises ControlPlaneError with what it said
    when it does not become ready.
    """
    kubeconfig, audit_log = directory / "kubeconfig", directory / "audit.log"
    own = [f"--kubeconfig={kubeconfig}", f"--audit-log={audit_log}", f"--owner-pid={os.getpid()}"]
    argv = [sys.executable, "-P", "-m", "ansible_operator", "sandbox", *own, *arguments]
    said = directory / "sandbox.log"
    with said.open("w") as log:
        child = subprocess.Popen(
            argv,
            env={**os.environ, "PYTHONPATH": str(_PACKAGE_PARENT), "TMPDIR": str(directory)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # Ctrl-C goes to the tests, which end it in order
            preexec_fn=process.tied(),
        )
    try:
        _await(child, kubeconfig, said)
        yield _described(child.pid, kubeconfig, audit_log, directory)
    finally:
        process.stop([child], STOP_LIMIT)


def _await(child: subprocess.Popen[str], kubeconfig: Path, said: Path) -> None:
    """The kubeconfig is written when everything else is done."""
    deadline = time.monotonic() + START_LIMIT
    while not kubeconfig.exists():
        if child.poll() is not None:
            raise errors.ControlPlaneError(
                f"the sandbox ended with {child.returncode} before it was ready: "
                f"{said.read_text(errors='replace').strip()}"
            )
        if time.monotonic() > deadline:
            told = said.read_text(errors="replace").strip()
            raise errors.ControlPlaneError(
                f"the sandbox was not ready after {START_LIMIT:.0f} s: {told}"
            )
        time.sleep(0.01)


def _described(pid: int, kubeconfig: Path, audit_log: Path, directory: Path) -> Running:
    cluster = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]
    ca_file = directory / "ca.crt"
    ca_file.write_bytes(base64.b64decode(cluster.get("certificate-authority-data", "")))
    return Running(kubeconfig, cluster["server"], ca_file, audit_log, pid)
