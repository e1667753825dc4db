"""Informers against a whole control plane: its watches, its rights, its forgetfulness."""

from __future__ import annotations

import base64
import contextlib
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib import parse

import informer_lab as lab
import pytest
import relay
import structlog

from ansible_operator import children, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import listwatch, recovery
from ansible_operator.testing import controlplane, credentials


@contextlib.contextmanager
def through(
    plane: controlplane.ControlPlane, path: Path
) -> Iterator[tuple[kube_client.Client, relay.Relay]]:
    """The administrator's client of a control plane, by way of a relay."""
    port = parse.urlsplit(plane.server).port
    assert port is not None
    with relay.Relay(port) as network:
        token = credentials.token_of(plane.kubeconfig)
        url = f"https://127.0.0.1:{network.port}"
        path.write_text(credentials.render(url, plane.ca_file.read_text(), token, ""))
        client = kube_client.Client.load({"KUBECONFIG": str(path)})
        yield client, network
        client.close()


def configmap(name: str, namespace: str, **more: Any) -> dict[str, Any]:
    """A ConfigMap."""
    meta = {"name": name, "namespace": namespace, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **more}


def test_what_happens_in_a_namespace_is_heard(
    control_plane: controlplane.ControlPlane, namespace: str
) -> None:
    """With what an owner's dependents need to know: owners, annotations, field managers."""
    (there,) = control_plane.apply(configmap("owner", namespace))
    uid = objects.uid(there)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    meta = {"annotations": {children.PRIMARY: "ns/cr"}, "ownerReferences": [owner]}
    ear = lab.Ear()
    with lab.informing(control_plane.client, namespace) as found:
        lab.eventually(found.subscribe(lab.CONFIGMAPS, ear).synced)
        (obj,) = control_plane.apply(configmap("a", namespace, metadata=meta))
        ear.until(("ADDED", "a"))
        control_plane.patch(obj, {"data": {"k": "v"}})
        ear.until(("MODIFIED", "a"))
        control_plane.delete(obj)
        ear.until(("DELETED", "a"))
    added = next(change.new for change in ear.changes if change.new.name == "a")
    assert added.primary == "ns/cr"
    assert added.owners == (children.OwnerReference("", "ConfigMap", "owner", uid),)
    assert added.entries
    assert added.uid == objects.uid(obj)
    ear.known()


@pytest.mark.case("K11")
def test_a_large_secret_costs_its_metadata_only(
    control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Its 900 KiB are never fetched, and nothing is written to it."""
    data = {"key": base64.b64encode(secrets.token_bytes(900 * 1024 * 3 // 4)).decode()}
    obj = {"apiVersion": "v1", "kind": "Secret", "data": data}
    meta = {"name": "large", "namespace": namespace}
    made = control_plane.client.request(
        "POST", f"/api/v1/namespaces/{namespace}/secrets", body={**obj, "metadata": meta}
    )
    ear = lab.Ear()
    with (
        through(control_plane, tmp_path / "config") as (client, network),
        lab.informing(client, namespace) as found,
    ):
        lab.eventually(found.subscribe(lab.SECRETS, ear).synced)
        control_plane.patch(made, {"metadata": {"labels": {"a": "b"}}})
        ear.until(("MODIFIED", "large"))
        assert network.told < 100 * 1024
    live = control_plane.find(made)
    assert live is not None
    assert objects.annotations(live) == {}
    assert live["data"] == data


def test_bookmarks_keep_a_quiet_watch_up_to_date(
    control_plane: controlplane.ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch that follows one that told nothing begins where its bookmark was."""
    monkeypatch.setattr(listwatch, "LASTS", (4, 4))
    starts: list[str] = []
    real = kube_client.Client.stream

    def stream(self: kube_client.Client, path: str, **more: Any) -> Any:
        if "watch" in more["query"]:
            starts.append(more["query"]["resourceVersion"])
        return real(self, path, **more)

    monkeypatch.setattr(kube_client.Client, "stream", stream)
    with lab.informing(control_plane.client, namespace) as found:
        found.subscribe(lab.CONFIGMAPS, lab.Ear(), selector="is=wanted")
        lab.eventually(lambda: starts)
        control_plane.apply(configmap("unwanted", namespace))
        lab.eventually(lambda: len(starts) >= 2)
    assert int(starts[1]) > int(starts[0])


@pytest.mark.case("K9")
def test_a_history_that_the_server_forgot_is_made_up_for(
    sandbox: controlplane.ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """410 from the server itself: while we were away it had more changes than it keeps."""
    monkeypatch.setattr(recovery, "FLOOR", 0.05)
    monkeypatch.setattr(recovery, "RESUMED", 1_000_000)
    namespace = sandbox.create_namespace()
    (gone,) = sandbox.apply(configmap("gone", namespace))
    sandbox.apply(configmap("big", namespace))
    path = f"/api/v1/namespaces/{namespace}/configmaps/big"
    ear = lab.Ear()
    with (
        through(sandbox, tmp_path / "config") as (client, network),
        structlog.testing.capture_logs() as logs,
        lab.informing(client, namespace) as found,
    ):
        lab.eventually(found.subscribe(lab.CONFIGMAPS, ear).synced)
        network.refuses = True
        network.reset()
        sandbox.delete(gone)
        for number in range(50):
            body = {"data": {"k": str(number % 10) * 900_000}}
            sandbox.client.request("PATCH", path, body=body, content_type=kube_client.MERGE_PATCH)
        network.refuses = False
        ear.until(("DELETED", "gone"), ("MODIFIED", "big"))
    assert any("too old resource version" in entry.get("error", "") for entry in logs)
    assert sum(event == "MODIFIED" for event, _ in ear.heard) < 50
    sandbox.delete_namespace(namespace)


@pytest.mark.case("K9")
def test_a_half_open_connection_to_the_server_is_noticed(
    control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """With TLS, in the middle of a watch."""
    ear = lab.Ear()
    with (
        through(control_plane, tmp_path / "config") as (client, network),
        lab.informing(client, namespace, quiet=2.0) as found,
    ):
        lab.eventually(found.subscribe(lab.CONFIGMAPS, ear).synced)
        lab.eventually(network.connections)
        assert network.silence()
        control_plane.apply(configmap("missed", namespace))
        ear.until(("ADDED", "missed"))


def test_the_end_is_prompt_with_tls(
    control_plane: controlplane.ControlPlane, namespace: str
) -> None:
    """A thread that waits inside of the TLS layer is woken, too."""
    client = control_plane.client
    for _ in range(5):
        with lab.informing(client, namespace) as found:
            lab.eventually(found.subscribe(lab.CONFIGMAPS, lab.Ear()).synced)
            closer = threading.Thread(target=found.close)
            closer.start()
            closer.join(4)
            assert not closer.is_alive()
    client.request("GET", f"/api/v1/namespaces/{namespace}")


@pytest.mark.case("K6")
def test_rights_that_are_granted_later_are_noticed(
    control_plane: controlplane.ControlPlane,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An account that may only get one Secret: the rule is said once; with it, it works."""
    monkeypatch.setattr(recovery, "FORBIDDEN", (0.3, 0.3))
    config = control_plane.service_account_kubeconfig(namespace, "operator")
    client = kube_client.Client.load({"KUBECONFIG": str(config)})
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    meta = {"name": "r", "namespace": namespace}
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["s"]}
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": namespace}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    binding = {"apiVersion": head["apiVersion"], "kind": "RoleBinding", "metadata": meta}
    (role,) = control_plane.apply({**head, "metadata": meta, "rules": [rule]})
    control_plane.apply({**binding, "subjects": [subject], "roleRef": ref})
    ear = lab.Ear()
    with structlog.testing.capture_logs() as logs, lab.informing(client, namespace) as found:
        subscription = found.subscribe(lab.SECRETS, ear)
        lab.eventually(lambda: [entry for entry in logs if entry["log_level"] == "warning"])
        control_plane.patch(
            role,
            {"rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}]},
        )
        lab.eventually(subscription.synced)
        lab.eventually(lambda: [entry for entry in logs if entry["log_level"] == "info"])
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {**meta, "name": "s"}}
        control_plane.apply(secret)
        ear.until(("ADDED", "s"))
    (warning,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert 'cannot list resource "secrets"' in warning["error"]
    assert (
        '{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}'
        in (warning["error"])
    )
    client.close()


def test_a_crd_that_is_removed_and_made_again(
    control_plane: controlplane.ControlPlane, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its objects are told to be gone; those of the new one are told to be there."""
    monkeypatch.setattr(recovery, "PATIENCE", 1.0)
    monkeypatch.setattr(recovery, "MISSING", 0.5)
    group = f"{namespace}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    }
    kind = children.ChildKind(objects.GVK(group, "v1", "Thing"), "things", True)
    meta = {"name": "x", "namespace": namespace}
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": meta}
    ear = lab.Ear()
    with lab.informing(control_plane.client) as found:
        for times in (1, 2):
            (made,) = control_plane.apply(crd)
            control_plane.apply(thing)
            if times == 1:
                lab.eventually(found.subscribe(kind, ear).synced)
                ear.until(("INITIAL", "x"))
            else:
                ear.until(("ADDED", "x"))
            control_plane.delete(made)
            lab.eventually(lambda: control_plane.find(made) is None)  # noqa: B023
            lab.eventually(lambda: ear.known() == {})
    assert ear.heard.count(("DELETED", "x")) == 2
