"""Whose a dependent is."""

from __future__ import annotations

from typing import Any

import children_fakes as fakes
import engine_fakes
import pytest

from ansible_operator import children, objects
from ansible_operator.control import childowners

BOTH = frozenset(children.Tie)
ETCD = childowners.OwnerKind(engine_fakes.GVK, True, BOTH)
GLOBAL = childowners.OwnerKind(engine_fakes.GVK, False, BOTH)
CORE = childowners.OwnerKind(objects.GVK("", "v1", "Secret"), True, BOTH)


def named(kind: childowners.OwnerKind, **metadata: Any) -> list[str]:
    """The owners that these metadata name."""
    found = childowners.keys([fakes.digest(**{"ownerReferences": [], **metadata})], [kind])
    return sorted(str(key) for key in found)


def annotated(primary: str, type_: str = "Etcd.db.example.com") -> dict[str, Any]:
    """Metadata with the two annotations."""
    return {"annotations": {children.PRIMARY: primary, children.PRIMARY_TYPE: type_}}


def test_reference_in_the_own_namespace() -> None:
    """A namespaced owner is in the namespace of what it owns."""
    assert named(ETCD, ownerReferences=[fakes.reference()]) == ["Etcd.db.example.com prod/one"]


def test_reference_to_a_cluster_scoped_owner() -> None:
    """A cluster-scoped one is nowhere, wherever the dependent is."""
    for namespace in ("prod", ""):
        found = named(GLOBAL, ownerReferences=[fakes.reference()], namespace=namespace)
        assert found == ["Etcd.db.example.com one"]


def test_invalid_reference_without_namespace() -> None:
    """A cluster-scoped object cannot refer to a namespaced owner."""
    assert named(ETCD, ownerReferences=[fakes.reference()], namespace="") == []


def test_any_version_counts_but_group_and_kind_must_match() -> None:
    """References keep the version in which they were written."""
    old = fakes.reference("a", objects.GVK("db.example.com", "v1alpha1", "Etcd"))
    group = fakes.reference("b", objects.GVK("example.com", "v1", "Etcd"))
    kind = fakes.reference("c", objects.GVK("db.example.com", "v1", "Backup"))
    found = named(ETCD, ownerReferences=[old, group, kind])
    assert found == ["Etcd.db.example.com prod/a"]


@pytest.mark.parametrize(
    ("kind", "primary", "type_", "expected"),
    [
        (ETCD, "other/one", "Etcd.db.example.com", ["Etcd.db.example.com other/one"]),
        (GLOBAL, "one", "Etcd.db.example.com", ["Etcd.db.example.com one"]),
        (CORE, "other/one", "Secret", ["Secret.core other/one"]),
        (ETCD, "other/one", "etcd.db.example.com", []),
        (ETCD, "other/one", "Etcd", []),
        (ETCD, "one", "Etcd.db.example.com", []),
        (GLOBAL, "other/one", "Etcd.db.example.com", []),
        (ETCD, "other/", "Etcd.db.example.com", []),
        (ETCD, "", "Etcd.db.example.com", []),
    ],
)
def test_annotations(
    kind: childowners.OwnerKind, primary: str, type_: str, expected: list[str]
) -> None:
    """The name in the form that fits the owner's scope, the type exactly."""
    assert named(kind, **annotated(primary, type_)) == expected


def test_only_by_the_ties_that_are_watched() -> None:
    """Where only annotations were asked for, references do not count, and the other way round."""
    metadata = {**annotated("other/two"), "ownerReferences": [fakes.reference()]}
    for tie, expected in (
        (children.Tie.REFERENCE, "prod/one"),
        (children.Tie.ANNOTATION, "other/two"),
    ):
        only = childowners.OwnerKind(engine_fakes.GVK, True, frozenset([tie]))
        assert named(only, **metadata) == [f"Etcd.db.example.com {expected}"]


def test_old_and_new_owners() -> None:
    """A dependent that changes hands concerns both."""
    states = [fakes.digest(ownerReferences=[fakes.reference(name)]) for name in ("one", "two")]
    assert {key.name for key in childowners.keys(states, [ETCD])} == {"one", "two"}
