"""Owner references: what is deleted with its owner, what holds it, and what is left alone."""

from __future__ import annotations

import time
from typing import Any

import pytest
import wire

Obj = dict[str, Any]
HOLD = "conformance.example.com/hold"


class Family:
    """Config maps of one namespace that own each other."""

    def __init__(self, server: wire.Server, ns: str) -> None:
        self.server = server
        self.ns = ns

    def path(self, name: str) -> str:
        """The path of one."""
        return wire.configmaps(self.ns, name)

    def make(self, name: str, *owners: Obj, **meta: Any) -> Obj:
        """Create one with these owner references."""
        if owners:
            meta["ownerReferences"] = list(owners)
        answer = self.server.post(wire.configmaps(self.ns), wire.configmap(name, **meta))
        assert answer.code == 201, answer.text
        found: Obj = answer.body
        return found

    def delete(self, name: str, policy: str = "Background") -> Obj:
        """Delete one."""
        answer = self.server.delete(self.path(name), {"propagationPolicy": policy})
        assert answer.code == 200, answer.text
        found: Obj = answer.body
        return found

    def gone(self, name: str) -> None:
        """Wait for the end of one."""
        self.server.until_gone(self.path(name))

    def get(self, name: str) -> Obj:
        """One that is there."""
        answer = self.server.get(self.path(name))
        assert answer.code == 200, answer.text
        found: Obj = answer.body
        return found

    def release(self, name: str) -> None:
        """Take the finalizers away."""
        answer = self.server.patch(self.path(name), {"metadata": {"finalizers": None}})
        assert answer.code == 200, answer.text


@pytest.fixture
def family(server: wire.Server, ns: str) -> Family:
    """Config maps in a namespace of their own."""
    return Family(server, ns)


def owner(obj: Obj, **fields: Any) -> Obj:
    """A reference to a config map."""
    meta = obj["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": meta["name"],
        "uid": meta["uid"],
        **fields,
    }


def test_dependents_go_with_their_owner(family: Family) -> None:
    """In the background the owner goes at once, and dependents of dependents after it."""
    first = family.make("a")
    second = family.make("b", owner(first))
    family.make("c", owner(second))
    answer = family.delete("a")
    assert (answer["status"], answer["details"]["name"]) == ("Success", "a")
    assert family.server.get(family.path("a")).code == 404
    family.gone("b")
    family.gone("c")


def test_object_with_several_owners_goes_with_the_last(family: Family) -> None:
    """References to owners that are gone are removed; without any owner left the object goes."""
    first, second = family.make("a"), family.make("b")
    family.make("c", owner(first), owner(second))
    family.delete("a")
    found = family.server.until(
        family.path("c"), lambda obj: len(obj["metadata"]["ownerReferences"]) == 1
    )
    assert found["metadata"]["ownerReferences"] == [owner(second)]
    family.delete("b")
    family.gone("c")


def test_owner_that_never_was(family: Family) -> None:
    """An object whose owner is missing, has another uid or is elsewhere is deleted."""
    real = family.make("real")
    family.make("missing", owner(real) | {"name": "nobody", "uid": "11111111-0000-0000-0000-00"})
    family.make("other", owner(real) | {"uid": "22222222-0000-0000-0000-000000000000"})
    elsewhere = family.server.get(wire.configmaps("kube-system")).body["items"][0]
    family.make("across", owner(elsewhere) | {"name": "not-here"})
    for name in ("missing", "other", "across"):
        family.gone(name)
    assert family.get("real")


def test_foreground_deletion_waits_for_blocking_dependents(family: Family) -> None:
    """The owner stays with its finalizer until the dependents that block it are gone."""
    first = family.make("a")
    family.make("blocking", owner(first, blockOwnerDeletion=True), finalizers=[HOLD])
    family.make("other", owner(first), finalizers=[HOLD])
    marked = family.delete("a", "Foreground")["metadata"]
    assert marked["finalizers"] == ["foregroundDeletion"]
    assert marked["deletionTimestamp"]
    assert marked["deletionGracePeriodSeconds"] == 0
    for name in ("blocking", "other"):
        family.server.until(family.path(name), lambda o: "deletionTimestamp" in o["metadata"])
    assert family.get("a")["metadata"]["finalizers"] == ["foregroundDeletion"]
    family.release("blocking")
    family.gone("a")
    assert family.get("other")["metadata"]["finalizers"] == [HOLD]
    family.release("other")
    family.gone("other")


def test_foreground_deletion_reaches_dependents_of_dependents(family: Family) -> None:
    """A dependent that has dependents itself is deleted in the foreground too."""
    first = family.make("a")
    second = family.make("b", owner(first, blockOwnerDeletion=True))
    family.make("c", owner(second, blockOwnerDeletion=True), finalizers=[HOLD])
    family.delete("a", "Foreground")
    found = family.server.until(family.path("b"), lambda o: "deletionTimestamp" in o["metadata"])
    assert found["metadata"]["finalizers"] == ["foregroundDeletion"]
    family.server.until(family.path("c"), lambda o: "deletionTimestamp" in o["metadata"])
    family.release("c")
    for name in ("c", "b", "a"):
        family.gone(name)


def test_orphaned_dependents_stay(family: Family) -> None:
    """With Orphan the owner waits until its dependents name it no more; they stay."""
    first, second = family.make("a"), family.make("b")
    family.make("c", owner(first, controller=True, blockOwnerDeletion=True), owner(second))
    marked = family.delete("a", "Orphan")["metadata"]
    assert marked["finalizers"] == ["orphan"]
    family.gone("a")
    assert family.get("c")["metadata"]["ownerReferences"] == [owner(second)]


def test_owner_that_waits_for_another_finalizer_keeps_its_dependents(family: Family) -> None:
    """Dependents go when the owner is gone, not when its deletion was asked for."""
    first = family.make("a", finalizers=[HOLD])
    family.make("b", owner(first))
    assert "deletionTimestamp" in family.delete("a")["metadata"]
    time.sleep(0.5)
    assert "deletionTimestamp" not in family.get("b")["metadata"]
    family.release("a")
    family.gone("a")
    family.gone("b")


def test_finalizers_of_the_collector_decide_the_default(family: Family) -> None:
    """Without a policy the finalizers of the object say how its dependents are treated."""
    first = family.make("a", finalizers=["orphan"])
    family.make("b", owner(first))
    answer = family.server.delete(family.path("a"))
    assert answer.body["metadata"]["finalizers"] == ["orphan"]
    family.gone("a")
    assert "ownerReferences" not in family.get("b")["metadata"]
