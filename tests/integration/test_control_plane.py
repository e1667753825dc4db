"""Real control planes: they boot side by side, behave like a cluster and leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.testing import cluster, controlplane, errors, lock, process, registry

pytestmark = pytest.mark.real
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "control-plane"

WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: init, image: example/init}]
      containers: [{name: main, image: example/web}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store}
spec:
  serviceName: store
  replicas: 2
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: main, image: example/store}]}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: example/once}]
"""


def wait_until(holds: Callable[[], bool], what: str, limit: float = 60.0) -> None:
    """Wait until it holds; fail with ``what`` after ``limit`` seconds."""
    deadline = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < deadline, f"not within {limit} s: {what}"
        time.sleep(0.05)


def control_plane_script(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/control-plane with an interpreter that does not see installed packages."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), *arguments], capture_output=True, text=True
    )


@pytest.fixture
def second_cluster(control_plane: controlplane.ControlPlane) -> Iterator[dict[str, Any]]:
    """A cluster beside the session's one, owned by a process that the test may kill."""
    name = f"second-{os.getpid()}"
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        done = control_plane_script("up", "--detach", "--name", name, "--owner-pid", str(owner.pid))
        assert done.returncode == 0, done.stderr
        listed = json.loads(control_plane_script("status", "--json").stdout)
        [state] = [item for item in listed if item["name"] == name]
        yield {**state, "printed": done.stdout, "owner": owner}
    finally:
        owner.kill()
        owner.communicate()
        cluster.stop(name)


def test_workloads_become_ready_as_on_a_cluster(
    control_plane: controlplane.ControlPlane, namespace: str
) -> None:
    """A Deployment is Available, a StatefulSet with claims rolls out, a Job is Complete."""
    there = ("--namespace", namespace)
    control_plane.run_kubectl(*there, "apply", "--filename", "-", stdin=WORKLOADS)
    limit = "--timeout=60s"
    control_plane.run_kubectl(*there, "wait", "--for=condition=Available", "deploy/web", limit)
    control_plane.run_kubectl(*there, "wait", "--for=condition=Complete", "job/once", limit)
    control_plane.run_kubectl(*there, "rollout", "status", "statefulset/store", limit)
    phases = "jsonpath={.items[*].status.phase}"
    assert control_plane.run_kubectl(*there, "get", "pvc", "-o", phases) == "Bound Bound"

    control_plane.run_kubectl(*there, "delete", "statefulset", "store", "--wait")
    control_plane.run_kubectl(*there, "delete", "pvc", "--all", "--wait", limit)
    claims = "jsonpath={.items[*].spec.claimRef.namespace}"
    wait_until(
        lambda: namespace not in control_plane.run_kubectl("get", "pv", "-o", claims),
        "the volumes go with their claims",
    )


def test_service_account_may_do_only_what_rbac_grants(
    control_plane: controlplane.ControlPlane, namespace: str
) -> None:
    """A fresh service account is refused, and admitted as soon as there is a role binding."""
    access = control_plane.service_account_kubeconfig(namespace, "visitor")
    assert access.stat().st_mode & 0o777 == 0o600
    arguments = ("--namespace", namespace, "get", "configmaps")
    with pytest.raises(errors.ControlPlaneError, match=r"Forbidden.*visitor"):
        control_plane.run_kubectl(*arguments, kubeconfig=access)

    control_plane.run_kubectl(
        *("--namespace", namespace, "create", "rolebinding", "visitor"),
        *("--clusterrole=view", f"--serviceaccount={namespace}:visitor"),
    )
    wait_until(lambda: _allowed(control_plane, arguments, access), "the binding takes effect")


def _allowed(
    control_plane: controlplane.ControlPlane, arguments: tuple[str, ...], access: Path
) -> bool:
    try:
        return "kube-root-ca.crt" in control_plane.run_kubectl(*arguments, kubeconfig=access)
    except errors.ControlPlaneError:
        return False


def test_audit_log_tells_who_wrote_what(
    control_plane: controlplane.ControlPlane, namespace: str
) -> None:
    """A write is found in the audit log with its user and body."""
    control_plane.run_kubectl("--namespace", namespace, "create", "configmap", "audited")
    events = [json.loads(line) for line in control_plane.audit_log.read_text().splitlines()]
    [event] = [
        event
        for event in events
        if event["verb"] == "create"
        and event["objectRef"].get("resource") == "configmaps"
        and event["objectRef"].get("namespace") == namespace
        and event["user"]["username"] == "admin"
    ]
    assert event["requestObject"]["metadata"]["name"] == "audited"


def test_unknown_token_is_refused(control_plane: controlplane.ControlPlane) -> None:
    """A kubeconfig with a token that nobody issued gets no further than authentication."""
    access = control_plane.kubeconfig_for("made-up")
    with pytest.raises(errors.ControlPlaneError, match=r"logged in|Unauthorized"):
        control_plane.run_kubectl("get", "namespaces", kubeconfig=access)


def test_second_cluster_runs_beside_the_first_and_ends_with_its_owner(
    control_plane: controlplane.ControlPlane, second_cluster: dict[str, Any]
) -> None:
    """Two clusters share nothing; when the owner is killed, every process of its cluster goes."""
    assert second_cluster["phase"] == registry.READY, second_cluster
    assert second_cluster["printed"].strip() == second_cluster["kubeconfig"]
    print(f"booted in {second_cluster['boot_seconds']} s")
    second = Path(second_cluster["kubeconfig"])
    assert second.stat().st_mode & 0o777 == 0o600
    control_plane.run_kubectl("create", "namespace", "only-here", kubeconfig=second)
    names = ("get", "namespaces", "--output", "name")
    assert "namespace/only-here" in control_plane.run_kubectl(*names, kubeconfig=second)
    assert "namespace/only-here" not in control_plane.run_kubectl(*names)

    refused = control_plane_script("up", "--detach", "--name", second_cluster["name"])
    assert refused.returncode == 1
    assert f"a control plane named '{second_cluster['name']}' runs already" in refused.stderr
    assert f"down --name {second_cluster['name']}" in refused.stderr

    pids = [second_cluster["pid"], *second_cluster["pids"].values()]
    assert len(pids) == 6
    assert all(process.alive(pid) for pid in pids)
    second_cluster["owner"].kill()
    wait_until(lambda: not any(process.alive(pid) for pid in pids), "all processes gone")
    wait_until(lambda: not second.parent.exists(), "the directory is gone")


def test_children_die_with_a_killed_supervisor(second_cluster: dict[str, Any]) -> None:
    """SIGKILL to the supervisor takes all parts along; status says dead, down cleans up."""
    name = second_cluster["name"]
    pids = list(second_cluster["pids"].values())
    os.kill(second_cluster["pid"], signal.SIGKILL)
    wait_until(lambda: not any(process.alive(pid) for pid in pids), "all parts gone")
    [state] = [state for state in cluster.list_all() if state.name == name]
    assert state.phase == registry.DEAD
    assert control_plane_script("down", "--name", name).returncode == 0
    assert not Path(second_cluster["kubeconfig"]).parent.exists()
    again = control_plane_script("down", "--name", name)
    assert again.returncode == 0
    assert "was not there" in again.stderr


def test_death_of_a_part_ends_the_cluster_and_says_why(second_cluster: dict[str, Any]) -> None:
    """When etcd dies, status names it with the end of its log and the rest is stopped."""
    os.kill(second_cluster["pids"]["etcd"], signal.SIGKILL)
    place = registry.layout(second_cluster["name"])
    wait_until(lambda: not lock.held(place.lock), "the supervisor ends")
    told = control_plane_script("status").stdout
    assert f"{second_cluster['name']}: failed" in told
    assert "etcd was killed by SIGKILL. The end of its log" in told
    assert not any(process.alive(pid) for pid in second_cluster["pids"].values())
