"""Garbage collection by owner references."""

from __future__ import annotations

from typing import Any

import pytest
import sandbox_fakes as fakes

from ansible_operator.sandbox import dependents, garbage, storage

Obj = dict[str, Any]


@pytest.fixture
def lab() -> fakes.Lab:
    """Stand-ins at work."""
    return fakes.Lab()


def owner(obj: Obj, **fields: Any) -> Obj:
    """A reference to an object."""
    meta = obj["metadata"]
    head = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    return {**head, "name": meta["name"], "uid": meta["uid"], **fields}


def make(lab: fakes.Lab, name: str, *owners: Obj, **meta: Any) -> Obj:
    """Create a config map."""
    references = {"ownerReferences": list(owners)} if owners else {}
    return lab.create("configmaps", name, meta={**references, **meta})


def left(lab: fakes.Lab) -> list[str]:
    """The config maps that are left."""
    return [name for name in lab.names("configmaps") if name != "kube-root-ca.crt"]


def test_two_that_block_each_other_are_let_go(lab: fakes.Lab) -> None:
    """A circle of owners that is deleted in the foreground does not wait for itself."""
    first = make(lab, "a")
    second = make(lab, "b", owner(first, blockOwnerDeletion=True))
    meta = {**lab.get("configmaps", "a")["metadata"]}
    meta["ownerReferences"] = [owner(second, blockOwnerDeletion=True)]
    lab.api.update("configmaps", {**lab.get("configmaps", "a"), "metadata": meta})
    lab.run()
    assert left(lab) == ["a", "b"]
    lab.delete("configmaps", "a", propagation="Foreground")
    lab.run()
    assert left(lab) == []


def test_owner_of_an_unknown_kind_is_given_the_benefit_of_the_doubt(lab: fakes.Lab) -> None:
    """As long as a kind is not served nobody can say that an owner is gone."""
    make(lab, "a", {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "u"})
    lab.run(60)
    assert left(lab) == ["a"]


def test_cluster_scoped_object_is_not_collected_for_a_namespaced_owner(lab: fakes.Lab) -> None:
    """Such a reference can mean nobody; the object stays."""
    found = make(lab, "a")
    reference = {"ownerReferences": [owner(found)]}
    rules = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
    name = "clusterroles.rbac.authorization.k8s.io"
    lab.create(name, "c", namespace="", meta=reference, **rules)
    lab.delete("configmaps", "a")
    lab.run(60)
    assert lab.find(name, "c", "")


def test_cluster_scoped_owner_of_a_namespaced_object(lab: fakes.Lab) -> None:
    """A cluster-scoped owner takes its dependents along."""
    node = lab.get("nodes", "node-3", "")
    make(lab, "a", owner(node))
    lab.run()
    assert left(lab) == ["a"]
    lab.api.delete("nodes", "", "node-3")
    lab.run()
    assert left(lab) == []


def test_owner_with_the_same_name_is_another_one(lab: fakes.Lab) -> None:
    """An owner that was deleted and made again has another uid; its dependents go."""
    make(lab, "b", owner(make(lab, "a")))
    lab.delete("configmaps", "a")
    make(lab, "a")
    lab.run()
    assert left(lab) == ["a"]


def test_dependent_with_solid_owner_survives_foreground_deletion(lab: fakes.Lab) -> None:
    """An object that has another owner loses the reference to the one that waits for it."""
    first, second = make(lab, "a"), make(lab, "b")
    make(lab, "c", owner(first, blockOwnerDeletion=True), owner(second))
    lab.delete("configmaps", "a", propagation="Foreground")
    lab.run()
    assert left(lab) == ["b", "c"]
    assert lab.get("configmaps", "c")["metadata"]["ownerReferences"] == [owner(second)]


def test_objects_without_owners_cost_nothing(lab: fakes.Lab) -> None:
    """The collector looks at nothing that nobody owns, and only when owners change."""
    collector = garbage.Collector(lab.api, lab.storage, dependents.Dependents(lab.storage))
    first = make(lab, "a")
    make(lab, "b", owner(first))
    lab.run()
    lab.api.update("configmaps", {**lab.get("configmaps", "b"), "data": {"a": "b"}})
    touched = [[*collector.touched(change)] for change in lab.changes if _is_map(change)]
    assert touched == [[], [(("", "configmaps"), "ns", "b")], []]


def _is_map(change: storage.Change) -> bool:
    return change.key == ("", "configmaps")
