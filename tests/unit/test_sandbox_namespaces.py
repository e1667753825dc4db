"""The life of namespaces."""

from __future__ import annotations

from typing import Any

import pytest
import sandbox_fakes as fakes

from ansible_operator.sandbox import failure, kinds, namespaces

Obj = dict[str, Any]
SERVED = kinds.Kinds()


def served(name: str) -> kinds.Resource:
    """A built-in resource."""
    found = SERVED.named(name)
    assert found is not None
    return found


def refusal(namespace: Obj | None, name: str, meta: Obj) -> failure.ApiFailure:
    """Why an object cannot be created."""
    with pytest.raises(failure.ApiFailure) as caught:
        namespaces.check_create(namespace, served("namespaces"), served(name), meta)
    return caught.value


def test_create_in_a_namespace_that_is_not_there() -> None:
    """The namespace is what is not found."""
    refused = refusal(None, "pods", {"namespace": "gone", "name": "p"})
    assert (refused.code, refused.message) == (404, 'namespaces "gone" not found')


def test_create_in_a_namespace_that_ends() -> None:
    """It is forbidden, with a cause."""
    ending = {"metadata": {"name": "ns", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    refused = refusal(
        ending, "leases.coordination.k8s.io", {"namespace": "ns", "generateName": "l-"}
    )
    assert (refused.code, refused.reason) == (403, "Forbidden")
    assert refused.message == (
        'leases.coordination.k8s.io "l-" is forbidden: unable to create new content in namespace '
        "ns because it is being terminated"
    )
    assert refused.details is not None
    assert refused.details["causes"][0]["reason"] == "NamespaceTerminating"


def test_create_in_a_living_namespace() -> None:
    """Nothing is said."""
    namespaces.check_create(
        {"metadata": {"name": "ns"}}, served("namespaces"), served("pods"), {"namespace": "ns"}
    )


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_first_namespaces_stay(name: str) -> None:
    """They may not be deleted; others, and other objects of their names, may."""
    with pytest.raises(failure.ApiFailure, match="this namespace may not be deleted"):
        namespaces.check_delete(served("namespaces"), name)
    namespaces.check_delete(served("namespaces"), "kube-node-lease")
    namespaces.check_delete(served("configmaps"), name)


def test_namespace_ends_with_what_it_holds() -> None:
    """Contents go first, finalizers are waited for and told, then the namespace goes."""
    lab = fakes.Lab()
    lab.create("configmaps", "held", meta={"finalizers": ["example.com/b", "example.com/a"]})
    for index in range(namespaces.SLICE + 50):
        lab.create("configmaps", f"m{index}")
    lab.create(
        "deployments.apps", "web", spec={"selector": fakes.SELECTOR, "template": fakes.template()}
    )
    lab.run()
    lab.api.delete("namespaces", "", "ns")
    lab.run()
    assert lab.names("configmaps") == ["held"]
    assert lab.pods() == lab.api.list("events", "ns") == []
    told = {
        c["type"]: c["message"] for c in lab.get("namespaces", "ns", "")["status"]["conditions"]
    }
    assert told["NamespaceContentRemaining"] == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert told["NamespaceFinalizersRemaining"].endswith(
        ": example.com/a in 1 resource instances, example.com/b in 1 resource instances"
    )
    held = lab.get("configmaps", "held")
    meta = {k: v for k, v in held["metadata"].items() if k != "finalizers"}
    lab.api.update("configmaps", {**held, "metadata": meta})
    lab.run()
    assert lab.find("namespaces", "ns", "") is None
    *_, last = lab.history("namespaces", "ns")
    assert {c["type"]: c["status"] for c in last["status"]["conditions"]}[
        "NamespaceContentRemaining"
    ] == "False"


def test_empty_namespace_tells_nothing() -> None:
    """A namespace whose contents go at once has no conditions."""
    lab = fakes.Lab()
    lab.api.delete("namespaces", "", "ns")
    lab.run()
    assert lab.find("namespaces", "ns", "") is None
    assert all("conditions" not in obj["status"] for obj in lab.history("namespaces", "ns"))
