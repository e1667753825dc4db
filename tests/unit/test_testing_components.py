"""Command lines and stages of a control plane."""

from __future__ import annotations

from pathlib import Path

import yaml

from ansible_operator.testing import components, seed

LAYOUT = components.Layout(Path("/h"))
PORTS = {name: number for number, name in enumerate(components.PORTS, start=1)}


def test_ports_are_free_and_different() -> None:
    """Every listener gets a port of its own."""
    ports = components.free_ports()
    assert set(ports) == set(components.PORTS)
    assert len(set(ports.values())) == len(ports)


def test_api_server_enforces_rbac_on_loopback_with_tls() -> None:
    """RBAC alone authorizes; nothing listens beyond loopback."""
    commands = components.storage(LAYOUT, PORTS, None)
    flags = commands["kube-apiserver"]
    assert "--authorization-mode=RBAC" in flags
    assert "--bind-address=127.0.0.1" in flags
    assert f"--secure-port={PORTS['kube-apiserver']}" in flags
    assert components.server(PORTS) == f"https://127.0.0.1:{PORTS['kube-apiserver']}"
    assert "--listen-client-urls=http://127.0.0.1:1" in commands["etcd"]
    assert not any("audit" in flag for flag in flags)


def test_audit_log_is_written_where_told() -> None:
    """With an audit log the policy goes along."""
    flags = components.storage(LAYOUT, PORTS, Path("/a.log"))["kube-apiserver"]
    assert "--audit-log-path=/a.log" in flags
    assert "--audit-policy-file=/h/audit-policy.json" in flags


def test_each_controller_has_its_own_identity_and_port() -> None:
    """Three kubeconfigs and three ports, all bound to loopback."""
    commands = components.controllers(LAYOUT, PORTS)
    for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
        assert f"--kubeconfig=/h/pki/{name}.kubeconfig" in commands[name]
    for name in ("kube-controller-manager", "kube-scheduler"):
        assert f"--secure-port={PORTS[name]}" in commands[name]
        assert "--bind-address=127.0.0.1" in commands[name]
    assert f"--server-address=127.0.0.1:{PORTS['kwok']}" in commands["kwok"]


def test_stages_cover_nodes_pods_and_the_provisioner_of_the_storage_class() -> None:
    """Each stage has a name of its own, acts on something and does something."""
    stages = [stage for stage in yaml.safe_load_all(components.STAGES.read_text()) if stage]
    kinds = [stage["spec"]["resourceRef"]["kind"] for stage in stages]
    assert set(kinds) == {"Node", "Pod", "PersistentVolumeClaim", "PersistentVolume"}
    assert len({stage["metadata"]["name"] for stage in stages}) == len(stages)
    for stage in stages:
        assert stage["spec"]["selector"]["matchExpressions"]
        assert stage["spec"]["steps"]
    assert components.STAGES.read_text().count(seed.PROVISIONER) == 3


def test_cluster_starts_with_nodes_and_a_default_storage_class() -> None:
    """Three nodes that kwok plays, one class that claims get without asking."""
    objects = seed.objects()
    assert [path for path, _ in objects].count("/api/v1/nodes") == 3
    [storage] = [body for path, body in objects if path.endswith("storageclasses")]
    annotations = storage["metadata"]["annotations"]
    assert annotations["storageclass.kubernetes.io/is-default-class"] == "true"
    assert storage["provisioner"] == seed.PROVISIONER
