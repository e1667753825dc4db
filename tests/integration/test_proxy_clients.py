"""What roles use to ask the API, through the proxy and directly: the same answers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import proxy_lab
import pytest
from kubernetes import config as kube_config
from kubernetes.dynamic import DynamicClient
from structlog import testing as logs

from ansible_operator.kube import client
from ansible_operator.testing import controlplane

COLLECTIONS = Path(__file__).resolve().parents[2] / ".collections"
ROLES = {"a": {"role": "a"}, "b": {"role": "b", "x": "1.1.0"}, "c": {"role": "c"}, "d": {}}
SELECTORS = (
    "role in (a,b)",
    "role notin (a)",
    "x notin (1.1.0)",
    "role!=a",
    "role==b",
    "role=b",
    "role",
    "!role",
    "role in (a,b),x",
)


@pytest.fixture(scope="module")
def proxied(control_plane: controlplane.ControlPlane) -> Iterator[proxy_lab.Proxied]:
    """A proxy before the control plane."""
    with proxy_lab.proxied(control_plane.kubeconfig) as running:
        yield running


@pytest.fixture(scope="module")
def direct(control_plane: controlplane.ControlPlane) -> Iterator[client.Client]:
    """The control plane without a proxy."""
    connection = client.Client.load({"KUBECONFIG": str(control_plane.kubeconfig)})
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def namespace(direct: client.Client) -> Iterator[str]:
    """Four config maps with different labels."""
    name = f"clients-{uuid.uuid4().hex[:8]}"
    direct.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
    for own, labels in ROLES.items():
        body = {"metadata": {"name": own, "labels": labels}, "data": {"of": own}}
        direct.request("POST", f"/api/v1/namespaces/{name}/configmaps", body=body)
    yield name
    direct.request("DELETE", f"/api/v1/namespaces/{name}")


@contextlib.contextmanager
def written(directory: Path, text: str) -> Iterator[Path]:
    """A kubeconfig as a file."""
    path = directory / f"kubeconfig-{uuid.uuid4().hex}"
    path.write_text(text)
    yield path
    path.unlink()


def k8s_info(kubeconfig: Path, scratch: Path, **arguments: Any) -> Any:
    """What the module returns, run by itself as Ansible runs it."""
    file = scratch / "arguments.json"
    content = {"api_version": "v1", "kind": "ConfigMap", "kubeconfig": str(kubeconfig)}
    file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {**content, **arguments}}))
    module = COLLECTIONS / "ansible_collections/kubernetes/core/plugins/modules/k8s_info.py"
    env = {"PATH": os.defpath, "HOME": str(scratch), "TMPDIR": str(scratch)}
    done = subprocess.run(
        [sys.executable, str(module), str(file)],
        env=env | {"PYTHONPATH": str(COLLECTIONS)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.case("K1")
def test_selectors_of_all_forms(
    proxied: proxy_lab.Proxied,
    control_plane: controlplane.ControlPlane,
    namespace: str,
    tmp_path: Path,
) -> None:
    """k8s_info gets what it gets without the operator; the incumbent's cache got them wrong."""
    labels = [("role in (a,b)", "a b"), ("x notin (1.1.0)", "a c d"), ("!role", "d")]
    fields = [("metadata.name==b", "b"), ("metadata.name!=kube-root-ca.crt", "a b c d")]
    asked = [{"label_selectors": [text]} for text, _ in labels]
    asked += [{"field_selectors": [text]} for text, _ in fields]
    with written(tmp_path, proxied.kubeconfig) as through:
        for arguments, (_, names) in zip(asked, [*labels, *fields], strict=True):
            both = [
                k8s_info(path, tmp_path, namespace=namespace, **arguments)
                for path in (control_plane.kubeconfig, through)
            ]
            assert both[0] == both[1]
            found = {item["metadata"]["name"] for item in both[1]["resources"]}
            assert found - {"kube-root-ca.crt"} == set(names.split())


@pytest.mark.case("K1")
@pytest.mark.parametrize("selector", SELECTORS)
def test_selectors_as_other_clients_send_them(
    proxied: proxy_lab.Proxied, direct: client.Client, namespace: str, tmp_path: Path, selector: str
) -> None:
    """Each form of a label selector, by an ordinary request."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    query = {"labelSelector": selector}
    with written(tmp_path, proxied.kubeconfig) as file:
        through = client.Client.load({"KUBECONFIG": str(file)})
        with contextlib.closing(through):
            found = through.request("GET", path, query=query)["items"]
    assert found == direct.request("GET", path, query=query)["items"]


def test_runs_share_what_clients_discover(
    proxied: proxy_lab.Proxied, namespace: str, tmp_path: Path
) -> None:
    """kubernetes.core keeps it by URL and user: the second run finds what the first left."""
    scratch = tmp_path / "cache"
    scratch.mkdir()
    for _ in range(2):
        with (
            proxied.proxy.access(proxy_lab.owner("two")) as text,
            written(tmp_path, text) as path,
        ):
            assert k8s_info(path, scratch, namespace=namespace)["resources"]
        kept = [file.name for file in scratch.iterdir() if file.name.startswith("k8srcp-")]
        assert len(kept) == 1


def test_runs_share_what_the_plain_client_discovers(
    proxied: proxy_lab.Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dynamic client of the Python library, likewise."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    files = []
    for _ in range(2):
        with (
            proxied.proxy.access(proxy_lab.owner("two")) as text,
            written(tmp_path, text) as path,
        ):
            api = kube_config.new_client_from_config(str(path))  # type: ignore[no-untyped-call]
            dynamic = DynamicClient(api)  # type: ignore[no-untyped-call]
            assert dynamic.resources.get(api_version="v1", kind="Pod")
            api.rest_client.pool_manager.clear()
        files.append(sorted(file.name for file in tmp_path.glob("osrcp-*")))
    assert files[0] == files[1]
    assert len(files[0]) == 1


@pytest.mark.kubectl
def test_runs_share_what_kubectl_discovers(
    proxied: proxy_lab.Proxied, control_plane: controlplane.ControlPlane, tmp_path: Path
) -> None:
    """One directory for both runs, and the second asks for no discovery any more."""
    cache = tmp_path / "cache"
    kubectl = control_plane.binaries / "kubectl"
    said = []
    for _ in range(2):
        with (
            proxied.proxy.access(proxy_lab.owner("two")) as text,
            written(tmp_path, text) as path,
            logs.capture_logs() as lines,
        ):
            command = [str(kubectl), f"--kubeconfig={path}", f"--cache-dir={cache}", "get", "ns"]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        said.append([line["target"].partition("?")[0] for line in lines if "target" in line])
    assert [path.name for path in (cache / "discovery").iterdir()] == [f"127.0.0.1_{proxied.port}"]
    assert "/apis" in said[0]
    assert said[1] == ["/api/v1/namespaces"]


@pytest.mark.case("K4")
def test_waiting_for_objects_whose_names_change_is_quiet(
    proxied: proxy_lab.Proxied, direct: client.Client, namespace: str
) -> None:
    """Whatever a role polls and watches, nothing above debug is logged, and it sees each change."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    with logs.capture_logs() as lines:
        for number in range(20):
            name = f"changing-{number}"
            direct.request("POST", path, body={"metadata": {"name": name, "labels": {"c": "y"}}})
            status, _, body = proxied.ask("GET", f"{path}?labelSelector=c%3Dy")
            assert status == 200
            assert [item["metadata"]["name"] for item in json.loads(body)["items"]] == [name]
            direct.request("DELETE", f"{path}/{name}")
            assert proxied.ask("GET", f"{path}/{name}")[0] == 404
    assert {line["log_level"] for line in lines} == {"debug"}
