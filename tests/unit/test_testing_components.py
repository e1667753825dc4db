"""Command lines and stages of a control plane."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from ansible_operator.testing import components, seed, shims

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


def test_api_server_trusts_kwok_as_the_kubelet_of_all_nodes() -> None:
    """kwok serves TLS with a certificate that the API server verifies, at the nodes' address."""
    flags = components.storage(LAYOUT, PORTS, None)["kube-apiserver"]
    kwok = components.controllers(LAYOUT, PORTS)["kwok"]
    assert "--kubelet-certificate-authority=/h/pki/apiserver.crt" in flags
    assert "--tls-cert-file=/h/pki/apiserver.crt" in kwok
    assert f"--node-port={PORTS['kwok']}" in kwok
    assert "--node-ip=127.0.0.1" in kwok


def test_containers_answer_only_where_an_object_says_so() -> None:
    """kwok takes only objects for it, whose kinds the cluster has; at first there are none."""
    [enabled] = [
        flag.partition("=")[2].split(",")
        for flag in components.controllers(LAYOUT, PORTS)["kwok"]
        if flag.startswith("--enable-crds=")
    ]
    defined = [
        body["spec"]["names"]["kind"]
        for path, body in seed.objects()
        if path.endswith("customresourcedefinitions")
    ]
    assert enabled == defined == ["Exec", "Logs", "Attach", "PortForward"]
    assert "kind: Exec" not in components.STAGES.read_text()


def test_unpacking_ends_with_the_archive(tmp_path: Path) -> None:
    """Although standard input stays open; what packs is the machine's own tar."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for directory in (inside, outside):
        directory.mkdir()
    (outside / "file").write_bytes(b"x" * 70_000)
    shims.write(tmp_path)
    tar = str(tmp_path / "tar")
    packed = subprocess.run(
        [tar, "cf", "-", "-C", str(outside), "file"], check=True, capture_output=True
    ).stdout
    command = [tar, "--no-same-owner", "-xmf", "-", "-C", str(inside)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as unpacking:
        assert unpacking.stdin is not None
        unpacking.stdin.write(packed.rstrip(b"\0") + bytes(2048))
        unpacking.stdin.flush()
        assert unpacking.wait(60) == 0
    assert (inside / "file").read_bytes() == b"x" * 70_000
