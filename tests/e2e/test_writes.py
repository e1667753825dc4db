"""What reaches the API server: our finalizer and /status, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import api
from conftest import LATE_CRD, PROJECT, environment, install_crds

from ansible_operator.testing import controlplane, operator

RBAC = "rbac.authorization.k8s.io/v1"
BINDING = api.Kind(RBAC, "ClusterRoleBinding", "clusterrolebindings", False)


def test_only_finalizers_and_status_are_written(
    control_plane: controlplane.ControlPlane, module_namespace: str, tmp_path: Path
) -> None:
    """One object's life: two status writes a run, two finalizer patches, nothing else."""
    install_crds(control_plane, PROJECT / "crds", but=LATE_CRD)
    (tmp_path / "record").mkdir()
    (tmp_path / "runner").mkdir(mode=0o700)
    server = api.Api(control_plane.kubeconfig, module_namespace)
    kubeconfig = control_plane.service_account_kubeconfig(module_namespace, "counted")
    subject = {"kind": "ServiceAccount", "name": "counted", "namespace": module_namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    server.create(BINDING, module_namespace, subjects=[subject], roleRef=role)
    env = environment(tmp_path / "record", module_namespace)
    arguments = [f"--runner-dir={tmp_path / 'runner'}"]
    with operator.run_operator(PROJECT, kubeconfig, *arguments, env=env):
        server.create(api.CLEANED, "one", spec={})
        first = server.until(api.CLEANED, "one", api.successful)
        assert "annotations" not in first["metadata"]
        server.patch(api.CLEANED, "one", {"spec": {"a": 1}})
        server.until(api.CLEANED, "one", api.successful)
        server.delete(api.CLEANED, "one")
        server.until_gone(api.CLEANED, "one")
    server.delete(BINDING, module_namespace)
    requests = audited(control_plane, f"system:serviceaccount:{module_namespace}:counted")
    assert any("watch" in verb and "cleaneds" in path for verb, path in requests)
    path = api.CLEANED.path(module_namespace, "one")
    status, finalizer = ("patch", f"{path}/status"), ("patch", path)
    two_runs_and_a_clean_up = [finalizer, status, status, status, status, status, finalizer]
    writes = [request for request in requests if request[0] not in ("get", "list", "watch")]
    # Asking what it may do is a POST of a review, which is stored nowhere.
    stored = [write for write in writes if "selfsubjectaccessreviews" not in write[1]]
    assert stored == two_runs_and_a_clean_up


def audited(plane: controlplane.ControlPlane, user: str) -> list[tuple[str, str]]:
    """The requests of a user as (verb, path), in order, from the API server's audit log."""
    entries = [json.loads(line) for line in plane.audit_log.read_text().splitlines()]
    own = [entry for entry in entries if entry["user"]["username"] == user]
    return [(entry["verb"], entry["requestURI"].partition("?")[0]) for entry in own]
