"""The Ansible collection kubernetes.core: what its modules do and say, as roles use them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import wire

from ansible_operator.testing import controlplane

PLAYS = Path(__file__).parent / "plays"


@pytest.mark.parametrize("play", ["k8s", "info"])
def test_modules(
    control_plane: controlplane.ControlPlane,
    server: wire.Server,
    ns: str,
    tmp_path: Path,
    play: str,
) -> None:
    """Every task does what it does on a cluster; the plays assert it themselves."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("K8S_AUTH_")},
        "K8S_AUTH_KUBECONFIG": str(control_plane.kubeconfig),
        "HOME": str(tmp_path),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
    }
    command = [sys.executable, "-m", "ansible.cli.playbook", f"{PLAYS}/{play}.yml"]
    command += ["-i", "localhost,", "-c", "local", "-e", f"namespace={ns}"]
    command += ["-e", f"ansible_python_interpreter={sys.executable}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
