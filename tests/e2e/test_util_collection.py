"""The collection operator_sdk.util: what its modules do on a real API server, and how they fail.

Each test is one play, so that it pays for one start of Ansible.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import api
import conftest
import pytest
import sample

from ansible_operator.testing import controlplane

pytestmark = pytest.mark.timeout(sample.TIMEOUT)
BUNDLED = sample.ROOT / "ansible_operator/collections"
TIME = "2020-01-02T03:04:05Z"


class Plays:
    """Runs plays against one EtcdCluster named box, which no operator looks at."""

    def __init__(self, server: api.Api, kubeconfig: Path, scratch: Path) -> None:
        self.server = server
        self._kubeconfig = kubeconfig
        self._scratch = scratch

    def run(self, *tasks: dict[str, Any]) -> list[dict[str, Any]]:
        """Run the tasks in order, each whatever came of the one before; their results."""
        names = [f"result_{number}" for number in range(len(tasks))]
        listed = [
            {**task, "register": name, "ignore_errors": True}
            for task, name in zip(tasks, names, strict=True)
        ]
        results = self._scratch / "results.json"
        content = f"{{{{ [{', '.join(names)}] | to_json }}}}"
        listed.append({"ansible.builtin.copy": {"content": content, "dest": str(results)}})
        play = [{"hosts": "localhost", "gather_facts": False, "tasks": listed}]
        path = self._scratch / "play.json"
        path.write_text(json.dumps(play))
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ANSIBLE_", "K8S_"))}
        done = subprocess.run(
            [Path(sys.executable).parent / "ansible-playbook", path],
            env=inherited | self._environment(),
            capture_output=True,
            text=True,
            timeout=sample.LIMIT,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: list[dict[str, Any]] = json.loads(results.read_text())
        return found

    def status(self, **options: Any) -> dict[str, Any]:
        """A task that writes the status of box."""
        place = {"kind": "EtcdCluster", "name": "box", "namespace": self.server.namespace}
        return {"operator_sdk.util.k8s_status": {"api_version": sample.ETCD, **place, **options}}

    def box(self) -> dict[str, Any]:
        """The status of box."""
        found = self.server.get(sample.CLUSTER, "box")
        assert found is not None
        status: dict[str, Any] = found["status"]
        return status

    def _environment(self) -> dict[str, str]:
        return {
            "ANSIBLE_COLLECTIONS_PATH": f"{sample.ROOT / '.collections'}:{BUNDLED}",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
            "ANSIBLE_HOME": str(self._scratch / "home"),
            "K8S_AUTH_KUBECONFIG": str(self._kubeconfig),
        }


@pytest.fixture
def plays(control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path) -> Plays:
    """A fresh box whose status says members 3, and a condition Kept of somebody else."""
    conftest.install_crds(control_plane, sample.ROOT / "config/crd/bases")
    server = api.Api(control_plane.kubeconfig, namespace)
    server.create(sample.CLUSTER, "box", spec={})
    kept = {"type": "Kept", "status": "True", "reason": "Old", "lastTransitionTime": TIME}
    status = {"members": 3, "version": "3.7.3", "conditions": [kept]}
    server.patch(sample.CLUSTER, "box", {"status": status}, "status")
    return Plays(server, control_plane.kubeconfig, tmp_path)


def test_k8s_status_merges_and_tells_the_truth_about_changes(plays: Plays) -> None:
    """Fields are merged, null removes one; changed says whether the object differs afterwards."""
    results = plays.run(
        plays.status(status={"readyMembers": 2, "version": None}),
        plays.status(status={"readyMembers": 2}),
        plays.status(status={"readyMembers": 1}) | {"check_mode": True},
        plays.status(status={"unknownToTheSchema": 1}),
    )
    assert [result["changed"] for result in results] == [True, False, True, False]
    assert results[0]["result"]["status"]["readyMembers"] == 2
    assert "no status field unknownToTheSchema" in results[3]["warnings"][0]
    status = plays.box()
    assert (status["members"], status["readyMembers"], "version" in status) == (3, 2, False)
    assert [c["type"] for c in status["conditions"]] == ["Kept"]


def test_k8s_status_merges_conditions_by_type(plays: Plays) -> None:
    """Other types stay; the transition time moves only when the status of the condition does."""
    results = plays.run(
        plays.status(conditions=[{"type": "Kept", "status": "True", "reason": "Old"}]),
        plays.status(conditions=[{"type": "Kept", "status": "True", "reason": "New"}]),
        plays.status(conditions=[{"type": "More", "status": False, "message": "not yet"}]),
        plays.status(status={"conditions": [{"type": "Kept", "status": "False"}]}),
    )
    assert [result["changed"] for result in results] == [False, True, True, True]
    assert results[1]["result"]["status"]["conditions"] == [
        {"type": "Kept", "status": "True", "reason": "New", "lastTransitionTime": TIME}
    ]
    kept, more = plays.box()["conditions"]
    assert (kept["type"], kept["status"], "reason" in kept) == ("Kept", "False", False)
    assert kept["lastTransitionTime"] > TIME
    assert (more["type"], more["status"], more["message"]) == ("More", "False", "not yet")


def test_k8s_status_replaces_the_whole_status(plays: Plays) -> None:
    """With replace only what is given remains, but a kept condition keeps its transition time."""
    task = plays.status(
        replace=True,
        status={"members": 5},
        conditions=[{"type": "Kept", "status": "True"}],
    )
    assert [result["changed"] for result in plays.run(task, task)] == [True, False]
    kept = {"type": "Kept", "status": "True", "lastTransitionTime": TIME}
    assert plays.box() == {"members": 5, "conditions": [kept]}


def test_k8s_status_fails_with_what_to_do(plays: Plays) -> None:
    """A bad option, a missing kind, object or subresource and a refusal each say what is wrong."""
    condition = {"type": "Ready", "status": "True"}
    config_map = {"api_version": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt"}
    results = plays.run(
        plays.status(kind="Nothing", status={}),
        plays.status(**config_map, status={"a": 1}),
        plays.status(name="missing", status={"members": 1}),
        plays.status(namespace=None, status={"members": 1}),
        plays.status(status={"members": "five"}),
        plays.status(status={"conditions": []}, conditions=[condition]),
        plays.status(conditions=[condition | {"reason": "Two words"}]),
        plays.status(conditions=[condition | {"reason": "a" * 60 + "!"}]),
        plays.status(conditions=[condition | {"lastTransitionTime": "2026-02-30T00:00:00Z"}]),
        plays.status(conditions=[condition | {"status": "Maybe"}]),
    )
    assert all(result["failed"] for result in results)
    words = [
        "has no kind Nothing",
        "has no status subresource",
        "missing in etcd.example.com/v1alpha1 does not exist",
        "namespace is missing",
        "must be of type integer",
        "given twice",
        "must be one word",
        "must be one word",
        "no RFC 3339 time",
        "value of status must be one of",
    ]
    for word, result in zip(words, results, strict=True):
        assert word in result["msg"]
    assert (results[2]["error"]["status"], results[4]["error"]["status"]) == (404, 422)
    assert plays.box()["members"] == 3


def test_requeue_after_takes_whole_hours_minutes_and_seconds(plays: Plays) -> None:
    """A good time comes back as the period; a bad one fails with an example of a good one."""
    good, bad = ["30s", "1h30m", "90m", "0s"], ["soon", "1.5h", "30", "10ms", "-5s", "1h 30m", ""]
    tasks = [{"operator_sdk.util.requeue_after": {"time": time}} for time in good + bad]
    results = plays.run(*tasks)
    assert [result["period"] for result in results[: len(good)]] == good
    assert not any(result["changed"] for result in results[: len(good)])
    for result in results[len(good) :]:
        assert result["failed"]
        assert "such as 30s, 5m or 1h30m" in result["msg"]
