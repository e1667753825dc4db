"""Ownership of what kubernetes.core, kubectl and the official client create, as roles use them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import ownership_lab
import pytest
from ownership_lab import Lab, owners, reference

from ansible_operator import children
from ansible_operator.kube import client as kube_client
from ansible_operator.testing import controlplane

PLAYS = Path(__file__).parent / "plays"


@pytest.fixture
def lab(control_plane: controlplane.ControlPlane, namespace: str) -> Iterator[Lab]:
    """A proxy that injects."""
    with ownership_lab.started(control_plane.client, namespace) as found:
        yield found


def environment(home: Path, kubeconfig: Path) -> dict[str, str]:
    """The environment of a run."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("K8S_AUTH_", "KUBE"))}
    return inherited | {
        "HOME": str(home),
        "KUBECONFIG": str(kubeconfig),
        "K8S_AUTH_KUBECONFIG": str(kubeconfig),
        "NO_PROXY": "127.0.0.1",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
    }


def test_the_module_k8s(lab: Lab, tmp_path: Path) -> None:
    """Everything that it creates is owned, stays so, and what is somebody else's is left alone."""
    owner = lab.owner()
    lab.client.request("POST", lab.path("configmaps"), body=ownership_lab.configmap("foreign"))
    kubeconfig = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "ansible.cli.playbook", f"{PLAYS}/ownership.yml"]
    command += ["-i", "localhost,", "-c", "local", "-e", f"namespace={lab.namespace}"]
    command += ["-e", f"ansible_python_interpreter={sys.executable}"]
    with lab.proxy.access(owner) as content:
        kubeconfig.write_text(content)
        env = environment(tmp_path, kubeconfig)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    found = {
        (plural, item["metadata"]["name"].partition("-")[0]): owners(item)
        for plural in ("configmaps", "secrets")
        for item in lab.get(lab.path(plural))["items"]
        if item["metadata"]["name"] != "kube-root-ca.crt"
    }
    assert found.pop(("configmaps", "foreign")) == []
    configmaps = ("present", "applied", "server", "forced", "first", "third")
    secrets = ("second", "fourth", "generated")
    assert found == {
        **{("configmaps", name): [reference(owner)] for name in configmaps},
        **{("secrets", name): [reference(owner)] for name in secrets},
    }
    assert set(lab.heard.owned) == {
        ("one", "configmaps", children.Tie.REFERENCE),
        ("one", "configmaps", children.Tie.ANNOTATION),
        ("one", "secrets", children.Tie.REFERENCE),
    }
    written = {(verb, name.partition("-")[0]) for verb, _, name in lab.heard.verbs}
    assert written == {
        *(("create", name) for name in (*configmaps, *secrets, "far")),
        *(("patch", name) for name in ("present", "applied", "server", "foreign")),
        ("update", "forced"),
        ("delete", "far"),
    }


@pytest.mark.kubectl
@pytest.mark.case("K5")
def test_kubectl(lab: Lab, control_plane: controlplane.ControlPlane, tmp_path: Path) -> None:
    """What it makes itself it sends as protobuf, files as JSON, server-side apply as YAML."""
    owner = lab.owner()
    kubeconfig = tmp_path / "kubeconfig"
    manifest = tmp_path / "several.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\n"
        "apiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: Secret, metadata: {name: second}}\n"
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: third}}\n"
    )
    with lab.proxy.access(owner) as content:
        kubeconfig.write_text(content)

        def kubectl(*arguments: str) -> str:
            return control_plane.run_kubectl("-n", lab.namespace, *arguments, kubeconfig=kubeconfig)

        kubectl("create", "configmap", "made", "--from-literal=a=b")
        kubectl("create", "deployment", "app", "--image=example.com/i", "--replicas=0")
        kubectl("create", "-f", str(manifest))
        manifest.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\n")
        kubectl("apply", "-f", str(manifest))
        manifest.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: server}\n")
        for _ in range(2):
            kubectl("apply", "--server-side", "-f", str(manifest))
        kubectl("label", "configmap", "made", "a=b")
        kubectl("scale", "deployment", "app", "--replicas=0")
    for path in (
        lab.path("deployments", "app", "/apis/apps/v1"),
        lab.path("secrets", "second"),
        *(lab.path("configmaps", name) for name in ("made", "first", "third", "applied", "server")),
    ):
        assert owners(lab.get(path)) == [reference(owner)], path


@pytest.mark.kubectl
def test_kubectl_shows_why(
    control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """An object that could not be adopted is created all the same, and kubectl says why."""
    kubeconfig = control_plane.service_account_kubeconfig(namespace, "creator")
    root = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get"]}]
    meta = {"metadata": {"name": "creator"}}
    control_plane.client.request("POST", f"{root}/roles", body={**meta, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "creator", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "creator"}
    body = {**meta, "subjects": [subject], "roleRef": role}
    control_plane.client.request("POST", f"{root}/rolebindings", body=body)
    client = kube_client.Client.load({"KUBECONFIG": str(kubeconfig)})
    path = tmp_path / "kubeconfig"
    with ownership_lab.started(client, namespace) as lab, lab.proxy.access(lab.owner()) as content:
        path.write_text(content)
        done = subprocess.run(
            [str(control_plane.kubectl), "-n", namespace, "create", "configmap", "x"],
            env=environment(tmp_path, path),
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    assert "Warning: ansible-operator: configmaps without owner" in done.stderr
    assert "Permit the operator to get and patch configmaps" in done.stderr
