"""How an operator ends: its runs end with it, and the status says so."""

from __future__ import annotations

import time
from pathlib import Path

import api
import psutil
import pytest
from conftest import LATE_CRD, PROJECT, environment, install_crds

from ansible_operator.testing import controlplane, operator


def sleepers(seconds: str) -> list[psutil.Process]:
    """The processes that run `sleep SECONDS`."""
    found = psutil.process_iter(["cmdline"])
    return [process for process in found if process.info["cmdline"] == ["sleep", seconds]]


def test_sigterm_ends_running_plays_within_the_grace_time(
    control_plane: controlplane.ControlPlane, module_namespace: str, tmp_path: Path
) -> None:
    """SIGTERM waits the grace time, ends every process of the run and says interrupted."""
    install_crds(control_plane, PROJECT / "crds", but=LATE_CRD)
    (tmp_path / "record").mkdir()
    (tmp_path / "runner").mkdir(mode=0o700)
    server = api.Api(control_plane.kubeconfig, module_namespace)
    env = environment(tmp_path / "record", module_namespace)
    arguments = [f"--runner-dir={tmp_path / 'runner'}", "--graceful-shutdown-timeout=1s"]
    with operator.run_operator(PROJECT, control_plane.kubeconfig, *arguments, env=env) as running:
        server.create(api.SCENARIO, "stuck", spec={"mode": "hang", "seconds": 86399})
        deadline = time.monotonic() + 60
        while not sleepers("86399"):
            assert time.monotonic() < deadline, "the play did not start"
            time.sleep(0.1)
        code = running.stop()
        assert sleepers("86399") == []
    assert code == 0
    obj = server.get(api.SCENARIO, "stuck")
    assert obj is not None
    assert "interrupted" in api.condition(obj, "Failure")["message"]
    assert api.condition(obj, "Running")["status"] == "False"
    assert list((tmp_path / "runner").rglob("extravars")) == []


@pytest.mark.case("D5")
def test_deletion_while_the_operator_is_down_runs_the_clean_up_only(
    control_plane: controlplane.ControlPlane, module_namespace: str, tmp_path: Path
) -> None:
    """An object deleted while no operator ran gets its clean-up at the next start, nothing else."""
    install_crds(control_plane, PROJECT / "crds", but=LATE_CRD)
    record = tmp_path / "record"
    record.mkdir()
    (tmp_path / "runner").mkdir(mode=0o700)
    server = api.Api(control_plane.kubeconfig, module_namespace)
    meta = {"finalizers": ["test.example.com/cleanup"]}
    server.create(api.CLEANED, "orphan", meta=meta, spec={})
    server.delete(api.CLEANED, "orphan")
    env = environment(record, module_namespace)
    arguments = [f"--runner-dir={tmp_path / 'runner'}"]
    with operator.run_operator(PROJECT, control_plane.kubeconfig, *arguments, env=env):
        server.until_gone(api.CLEANED, "orphan")
    assert (record / "Cleaned.orphan").read_text().split() == ["cleanup"]
