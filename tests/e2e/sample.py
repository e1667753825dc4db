"""The sample operator of this repository at work in one namespace, for the tests about etcd."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import api
import conftest

from ansible_operator.testing import controlplane, operator

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300.0
"""Seconds to wait for a reconcile: several times what it takes on a loaded machine."""
TIMEOUT = 900
"""Seconds for a test that waits for several."""
ETCD = "etcd.example.com/v1alpha1"
CLUSTER = api.Kind(ETCD, "EtcdCluster", "etcdclusters")
BACKUP = api.Kind(ETCD, "EtcdBackup", "etcdbackups")
STATEFULSET = api.Kind("apps/v1", "StatefulSet", "statefulsets")
JOB = api.Kind("batch/v1", "Job", "jobs")
CONFIGMAP = api.Kind("v1", "ConfigMap", "configmaps")
SERVICE = api.Kind("v1", "Service", "services")
CLAIM = api.Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
BUDGET = api.Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")


@contextlib.contextmanager
def running(
    control_plane: controlplane.ControlPlane, namespace: str, runner_dir: Path
) -> Iterator[api.Api]:
    """Run the repository's own watches.yaml for one namespace; its requests are the result."""
    conftest.install_crds(control_plane, ROOT / "config/crd/bases")
    runner_dir.chmod(0o700)
    env = conftest.environment(runner_dir, namespace)
    env["ANSIBLE_COLLECTIONS_PATH"] = str(ROOT / ".collections")
    arguments = [f"--runner-dir={runner_dir}", "--retry-base-delay=500ms", "--retry-max-delay=2s"]
    with operator.run_operator(ROOT, control_plane.kubeconfig, *arguments, env=env):
        yield api.Api(control_plane.kubeconfig, namespace)


def result(obj: api.Obj) -> api.Obj:
    """What the tasks of the last run did: ok, changed, skipped, failures."""
    found: api.Obj = api.condition(obj, "Running").get("ansibleResult", {})
    return found
