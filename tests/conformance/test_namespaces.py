"""The life of namespaces: what every one has, and how they end with all they hold."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import wire

Obj = dict[str, Any]
HOLD = "conformance.example.com/hold"


def namespaces(name: str = "") -> str:
    """The path of a namespace."""
    return "/api/v1/namespaces" + (f"/{name}" if name else "")


def namespace(name: str) -> Obj:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def other_than(uid: str) -> Callable[[Obj], bool]:
    """A test for another object of the same name."""
    return lambda obj: bool(obj["metadata"]["uid"] != uid)


def accounts(ns: str) -> str:
    """The path of the service account that every namespace has."""
    return f"{namespaces(ns)}/serviceaccounts/default"


@pytest.fixture(scope="module")
def ending(server: wire.Server) -> Iterator[str]:
    """A namespace that is being deleted, and that a config map ``held`` keeps from going."""
    name = f"ending-{uuid.uuid4().hex[:8]}"
    assert server.post(namespaces(), namespace(name)).code == 201
    server.until(accounts(name), lambda obj: True)
    held = wire.configmap("held", finalizers=[HOLD])
    assert server.post(wire.configmaps(name), held).code == 201
    assert server.delete(namespaces(name)).code == 200
    yield name
    server.patch(wire.configmaps(name, "held"), {"metadata": {"finalizers": None}})


def test_new_namespace_has_an_account_and_the_authority(server: wire.Server, ns: str) -> None:
    """The default service account and kube-root-ca.crt are there, and come back when deleted."""
    found = server.get(namespaces(ns)).body
    assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == ns
    assert found["spec"] == {"finalizers": ["kubernetes"]}
    assert found["status"] == {"phase": "Active"}
    account = server.until(accounts(ns), lambda obj: True)
    assert "secrets" not in account
    root = server.until(wire.configmaps(ns, "kube-root-ca.crt"), lambda obj: True)
    assert list(root["data"]) == ["ca.crt"]
    told = root["metadata"]["annotations"]["kubernetes.io/description"]
    assert told.startswith("Contains a CA bundle that can be used to verify the kube-apiserver ")
    server.patch(wire.configmaps(ns, "kube-root-ca.crt"), {"data": {"ca.crt": "x"}})
    server.until(wire.configmaps(ns, "kube-root-ca.crt"), lambda obj: obj["data"] == root["data"])
    for path in (accounts(ns), wire.configmaps(ns, "kube-root-ca.crt")):
        uid = server.get(path).body["metadata"]["uid"]
        assert server.delete(path).code == 200
        server.until(path, other_than(uid))


def test_deleted_namespace_takes_its_contents_along(server: wire.Server, unique: str) -> None:
    """All objects of a namespace are deleted, and then the namespace itself."""
    assert server.post(namespaces(), namespace(unique)).code == 201
    server.until(accounts(unique), lambda obj: True)
    assert server.post(wire.configmaps(unique), wire.configmap("a")).code == 201
    spec = {"containers": [{"name": "c", "image": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert server.post(f"{namespaces(unique)}/pods", pod).code == 201
    marked = server.delete(namespaces(unique))
    assert marked.code == 200
    assert marked.body["kind"] == "Namespace"
    assert marked.body["metadata"]["deletionTimestamp"]
    assert "deletionGracePeriodSeconds" not in marked.body["metadata"]
    assert marked.body["status"] == {"phase": "Terminating"}
    assert marked.body["spec"] == {"finalizers": ["kubernetes"]}
    server.until_gone(namespaces(unique))
    assert server.get(wire.configmaps(unique, "a")).code == 404
    assert server.get(f"{namespaces(unique)}/pods").body["items"] == []
    assert server.get(accounts(unique)).code == 404


def test_nothing_is_created_in_a_namespace_that_ends(server: wire.Server, ending: str) -> None:
    """Creating answers 403 with a cause; objects that are there can still be changed."""
    why = f"unable to create new content in namespace {ending} because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {ending} is being terminated",
        "field": "metadata.namespace",
    }
    refused = server.post(wire.configmaps(ending), wire.configmap("b"))
    assert (refused.code, refused.body) == (
        403,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f'configmaps "b" is forbidden: {why}',
            "reason": "Forbidden",
            "details": {"name": "b", "kind": "configmaps", "causes": [cause]},
            "code": 403,
        },
    )
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    path = f"/apis/coordination.k8s.io/v1/namespaces/{ending}/leases"
    refused = server.post(path, {**lease, "metadata": {"generateName": "l-"}})
    assert refused.code == 403
    assert refused.body["details"]["group"] == "coordination.k8s.io"
    assert refused.body["message"].startswith('leases.coordination.k8s.io "l-')
    refused = server.apply(wire.configmaps(ending, "c"), wire.configmap("c"), manager="m")
    assert refused.code == 403
    refused = server.put(f"{path}/l", {**lease, "metadata": {"name": "l"}})
    assert refused.code == 403
    changed = server.patch(wire.configmaps(ending, "held"), {"data": {"a": "b"}})
    assert changed.code == 200


def test_namespace_tells_what_holds_it(server: wire.Server, ending: str) -> None:
    """The conditions name the resources and the finalizers that are left."""
    found = server.until(namespaces(ending), lambda obj: obj["status"].get("conditions"))
    assert found["status"]["phase"] == "Terminating"
    told = [
        (c["type"], c["status"], c["reason"], c["message"]) for c in found["status"]["conditions"]
    ]
    assert told == [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        (
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: "
            f"{HOLD} in 1 resource instances",
        ),
    ]
    again = server.delete(namespaces(ending))
    assert (again.code, again.body["kind"]) == (200, "Namespace")
    refused = server.post(namespaces(), namespace(ending))
    assert (refused.code, refused.body["reason"]) == (409, "AlreadyExists")
    assert refused.body["message"] == (
        f'object is being deleted: namespaces "{ending}" already exists'
    )


def test_finalize_empties_the_spec(server: wire.Server, unique: str) -> None:
    """The subresource finalize takes finalizers away; then the namespace goes, not its contents."""
    assert server.post(namespaces(), namespace(unique)).code == 201
    server.until(accounts(unique), lambda obj: True)
    held = wire.configmap("held", finalizers=[HOLD])
    assert server.post(wire.configmaps(unique), held).code == 201
    marked = server.delete(namespaces(unique)).body
    body = {**namespace(unique), "spec": {"finalizers": []}}
    body["metadata"]["uid"] = marked["metadata"]["uid"]
    answer = server.put(f"{namespaces(unique)}/finalize", body)
    assert answer.code == 200, answer.text
    server.until_gone(namespaces(unique))
    assert (
        server.patch(wire.configmaps(unique, "held"), {"metadata": {"finalizers": None}}).code
        == 200
    )


def test_namespace_that_is_held_itself(server: wire.Server, unique: str) -> None:
    """Finalizers in its metadata keep an empty namespace until they are taken off."""
    body = namespace(unique)
    body["metadata"]["finalizers"] = [HOLD]
    assert server.post(namespaces(), body).code == 201
    assert server.delete(namespaces(unique)).code == 200
    found = server.until(namespaces(unique), lambda obj: obj["spec"] == {})
    assert found["metadata"]["finalizers"] == [HOLD]
    assert {c["type"]: c["status"] for c in found["status"]["conditions"]}[
        "NamespaceContentRemaining"
    ] == "False"
    assert server.patch(namespaces(unique), {"metadata": {"finalizers": None}}).code == 200
    server.until_gone(namespaces(unique))


def test_missing_namespace(server: wire.Server, unique: str) -> None:
    """Creating in a namespace that is not there answers 404 for the namespace."""
    answer = server.post(wire.configmaps(unique), wire.configmap("a"))
    assert (answer.code, answer.body["message"], answer.body["details"]) == (
        404,
        f'namespaces "{unique}" not found',
        {"name": unique, "kind": "namespaces"},
    )
    assert server.get(wire.configmaps(unique)).body["items"] == []
    assert server.get(wire.configmaps(unique, "a")).body["details"]["kind"] == "configmaps"


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_first_namespaces_stay(server: wire.Server, name: str) -> None:
    """The namespaces of the system cannot be deleted."""
    answer = server.delete(namespaces(name))
    assert (answer.code, answer.body["reason"], answer.body["message"]) == (
        403,
        "Forbidden",
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
    )
    assert answer.body["details"] == {"name": name, "kind": "namespaces"}
