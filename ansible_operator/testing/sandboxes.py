"""A sandbox as the control plane of tests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ansible_operator.sandbox.front import process
from ansible_operator.testing import binaries, controlplane


@contextlib.contextmanager
def started(scratch: Path) -> Iterator[controlplane.ControlPlane]:
    """Run a sandbox with RBAC for the length of the block. Raises ControlPlaneError."""
    programs = scratch / "bin"
    programs.mkdir()
    for kubectl in binaries.kubectls(os.environ)[:1]:
        (programs / "kubectl").symlink_to(kubectl)
    with process.start(["--rbac"], scratch) as running:
        yield controlplane.ControlPlane(
            kubeconfig=running.kubeconfig,
            server=running.server,
            ca_file=running.ca_file,
            binaries=programs,
            audit_log=running.audit_log,
            scratch=scratch,
        )
