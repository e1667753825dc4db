"""Metrics of an operator at work: its own, and those that its roles keep."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import api
from conftest import LATE_CRD, PROJECT, environment, install_crds

from ansible_operator.testing import controlplane, operator

WATCHES = [{
    "group": api.GROUP, "version": "v1alpha1", "kind": "Scenario", "playbook": "play.yml",
}]  # fmt: skip
COUNT = {"name": "scenario_runs", "description": "Runs", "counter": {"increment": True}}
PLAY = [{
    "hosts": "localhost",
    "gather_facts": False,
    "collections": ["operator_sdk.util"],
    "tasks": [{"osdk_metric": COUNT}, {"fail": {}, "when": "bad | default(false)"}],
}]  # fmt: skip
LIMIT = 120.0


def shown(port: int) -> list[str]:
    """The lines of the metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines: list[str] = answer.read().decode().splitlines()
    return lines


def wait_for(port: int, fits: Callable[[list[str]], bool]) -> list[str]:
    """The lines, once they fit."""
    deadline = time.monotonic() + LIMIT
    while not fits(lines := shown(port)):
        assert time.monotonic() < deadline, "\n".join(lines)
        time.sleep(0.2)
    return lines


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def test_metrics_of_an_operator(
    control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Objects, results and what roles count are shown; a deleted object is not."""
    install_crds(control_plane, PROJECT / "crds", but=LATE_CRD)
    (tmp_path / "watches.yaml").write_text(json.dumps(WATCHES))
    (tmp_path / "play.yml").write_text(json.dumps(PLAY))
    (tmp_path / "runner").mkdir(mode=0o700)
    server = api.Api(control_plane.kubeconfig, namespace)
    server.create(api.SCENARIO, "good", spec={})
    arguments = [
        f"--runner-dir={tmp_path / 'runner'}",
        "--metrics-bind-address=127.0.0.1:0",
        f"--user-metrics-port={_free()}",
    ]
    env = environment(tmp_path, namespace)
    with operator.run_operator(tmp_path, control_plane.kubeconfig, *arguments, env=env) as running:
        port = running.wait_for_log(lambda entry: entry.get("msg") == "serving metrics")["port"]
        result = (
            f'ansible_operator_reconcile_result{{GVK="{api.GROUP}/v1alpha1, Kind=Scenario",result='
        )
        lines = wait_for(port, lambda lines: f'{result}"succeeded"}} 1' in lines)
        assert f'{result}"failed"}} 0' in lines
        assert "scenario_runs 1" in lines
        created = [line for line in lines if line.startswith("resource_created_at_seconds{")]
        assert len(created) == 1
        assert f'name="good",namespace="{namespace}"' in created[0]
        server.create(api.SCENARIO, "bad", spec={"bad": True})
        lines = wait_for(port, lambda lines: f'{result}"failed"}} 1' in lines)
        assert "scenario_runs 2" in lines
        server.delete(api.SCENARIO, "bad")
        server.delete(api.SCENARIO, "good")
        wait_for(port, lambda lines: not any(line.startswith("resource_created") for line in lines))
