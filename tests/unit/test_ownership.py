"""The rules of ownership: reference or annotations, nothing doubled and nothing lost."""

from __future__ import annotations

import copy
from typing import Any

import hypothesis
import owners
import pytest
from hypothesis import strategies as st

from ansible_operator import children, objects, ownership

REFERENCE, ANNOTATION = children.Tie.REFERENCE, children.Tie.ANNOTATION


@pytest.mark.parametrize(
    ("home", "kind", "namespace", "tie"),
    [
        ("ns", owners.CONFIGMAP, "ns", REFERENCE),
        ("ns", owners.CONFIGMAP, "other", ANNOTATION),
        ("ns", owners.CONFIGMAP, "", ANNOTATION),
        ("ns", owners.NODE, "", ANNOTATION),
        ("ns", owners.NODE, "ns", ANNOTATION),
        ("", owners.CONFIGMAP, "ns", REFERENCE),
        ("", owners.NODE, "", REFERENCE),
    ],
)
def test_tie_for(home: str, kind: children.ChildKind, namespace: str, tie: children.Tie) -> None:
    """A reference where Kubernetes allows one, as the incumbent has it."""
    owner = owners.owner(namespace=home)
    assert ownership.tie_for(owner, kind, namespace) is tie
    assert ownership.claim_for(owner, kind, namespace).tie is tie


def test_reference() -> None:
    """Four entries, none of them a controller or a block."""
    assert ownership.reference(owners.owner()) == {
        "apiVersion": "test.example.com/v1",
        "kind": "Owner",
        "name": "one",
        "uid": "u1",
    }


def test_annotations() -> None:
    """As the incumbent writes them; the core group is not named."""
    assert ownership.primary_annotations(owners.owner()) == {
        "operator-sdk/primary-resource": "ns/one",
        "operator-sdk/primary-resource-type": "Owner.test.example.com",
    }
    core = owners.owner(gvk=objects.GVK("", "v1", "Secret"))
    assert ownership.primary_annotations(core)["operator-sdk/primary-resource-type"] == "Secret"


ANNOTATED = {
    "operator-sdk/primary-resource": "ns/one",
    "operator-sdk/primary-resource-type": "Owner.test.example.com",
}


@pytest.mark.parametrize(
    ("meta", "tie"),
    [
        ({}, None),
        ({"ownerReferences": [{"uid": "u2", "name": "one"}]}, None),
        ({"ownerReferences": [{"uid": "u2"}, {"uid": "u1"}]}, REFERENCE),
        ({"annotations": ANNOTATED}, ANNOTATION),
        ({"annotations": {**ANNOTATED, "operator-sdk/primary-resource": "one"}}, None),
        ({"annotations": {**ANNOTATED, "operator-sdk/primary-resource": "other/one"}}, None),
        ({"annotations": {**ANNOTATED, "operator-sdk/primary-resource-type": "Owner"}}, None),
        ({"annotations": ANNOTATED, "ownerReferences": [{"uid": "u1"}]}, REFERENCE),
    ],
)
def test_tie(meta: dict[str, Any], tie: children.Tie | None) -> None:
    """A reference by uid, the annotations by their values, in objects and in what is kept."""
    found = owners.obj(**meta)
    assert ownership.tie(found, owners.owner()) is tie
    assert ownership.tie(children.digest(found), owners.owner()) is tie


def test_tie_of_cluster_scoped_owners() -> None:
    """Their annotation is the bare name."""
    value = {**ANNOTATED, "operator-sdk/primary-resource": "one"}
    owner = owners.owner(namespace="")
    assert ownership.tie(owners.obj(annotations=value), owner) is ANNOTATION
    assert ownership.tie(owners.obj(annotations=ANNOTATED), owner) is None


def test_claim_of() -> None:
    """What an object has already is kept word for word."""
    own = {"uid": "u1", "apiVersion": "test.example.com/v1alpha1", "controller": True}
    claim = ownership.claim_of(owners.obj(ownerReferences=[own]), owners.owner())
    assert claim == ownership.Claim(reference=own)
    claim = ownership.claim_of(owners.obj(annotations=ANNOTATED), owners.owner())
    assert claim == ownership.Claim(annotations=ANNOTATED)
    assert ownership.claim_of(owners.obj(), owners.owner()) is None


def test_claims_of_others() -> None:
    """All other references word for word, and annotations that name another owner."""
    mine, theirs = {"uid": "u1", "name": "one"}, {"uid": "u2", "name": "two", "controller": True}
    marks = {children.PRIMARY: "ns/two", children.PRIMARY_TYPE: ANNOTATED[children.PRIMARY_TYPE]}
    found = owners.obj(
        ownerReferences=[mine, theirs, {"name": "x"}], annotations={**marks, "a": "b"}
    )
    by_reference, by_mark = ownership.Claim(theirs), ownership.Claim(annotations=marks)
    assert ownership.claims_of_others(found, owners.owner()) == (by_reference, by_mark)
    found = owners.obj(ownerReferences=[mine], annotations=ANNOTATED)
    assert ownership.claims_of_others(found, owners.owner()) == ()


def test_applied() -> None:
    """Only what this field manager has applied to the object itself."""
    marks = {children.PRIMARY: "ns/two", children.PRIMARY_TYPE: "Owner.test.example.com"}
    two, three = ownership.Claim({"uid": "u2"}), ownership.Claim({"uid": "u3"})
    noted = ownership.Claim(annotations=marks)

    def entry(manager: str, operation: str, *keys: str, **more: str) -> dict[str, Any]:
        fields: dict[str, Any] = {"f:ownerReferences": {key: {} for key in keys}}
        fields_v1 = {"f:metadata": {**fields, "f:annotations": {f"f:{children.PRIMARY}": {}}}}
        return {"manager": manager, "operation": operation, "fieldsV1": fields_v1, **more}

    meta = [
        entry("a", "Apply", 'k:{"uid":"u2"}'),
        entry("b", "Apply", 'k:{"uid":"u3"}'),
        entry("a", "Update", 'k:{"uid":"u3"}'),
        entry("a", "Apply", 'k:{"uid":"u3"}', subresource="status"),
    ]
    found = owners.obj(managedFields=meta)
    assert ownership.applied(found, "a", (two, three, noted)) == (two, noted)
    assert ownership.applied(found, "c", (two, three, noted)) == ()
    assert ownership.applied(owners.obj(), "a", (two,)) == ()


NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": NAMES,
        "labels": st.dictionaries(NAMES, NAMES, max_size=3),
        "annotations": st.dictionaries(
            NAMES | st.sampled_from(sorted(ANNOTATED)), NAMES, max_size=4
        ),
        "ownerReferences": st.lists(
            st.fixed_dictionaries({"uid": st.sampled_from(["u1", "u2", "u3"]), "name": NAMES}),
            max_size=3,
        ),
    },
)


@hypothesis.given(METADATA, st.sampled_from(["ns", "other"]))
def test_add(meta: dict[str, Any], namespace: str) -> None:
    """The claim is there once, existing owners are kept in order, nothing else changes."""
    before = owners.obj(**meta)
    kept = copy.deepcopy(before)
    claim = ownership.claim_for(owners.owner(), owners.CONFIGMAP, namespace)
    after = ownership.add(before, claim)
    assert before == kept
    assert ownership.missing(after, claim) is None
    assert ownership.add(after, claim) == after
    listed, present = ownership.references(after), ownership.references(before)
    assert listed[: len(present)] == present
    assert len(listed) - len(present) == (
        namespace == "ns" and not any(entry["uid"] == "u1" for entry in present)
    )
    changed = {"ownerReferences"} if namespace == "ns" else {"annotations"}
    assert without(after["metadata"], changed) == without(before["metadata"], changed)
    assert without(after, {"metadata"}) == without(before, {"metadata"})
    others = without(objects.annotations(before), set(ANNOTATED))
    assert without(objects.annotations(after), set(ANNOTATED)) == others


def without(content: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    """A map without some of its keys."""
    return {key: value for key, value in content.items() if key not in keys}
