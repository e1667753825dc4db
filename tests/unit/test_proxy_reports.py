"""What is told of the doings of runs: once per kind and run, from what answers show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import owners
import pytest

from ansible_operator import children, ownership
from ansible_operator.kube.proxy import interceptor, reports

REFERENCE = {"ownerReferences": [ownership.reference(owners.owner())]}


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.owned: list[tuple[str, children.Tie]] = []
        self.writes: list[children.Write] = []

    def owns(self, owner: children.Owner, kind: children.ChildKind, tie: children.Tie) -> None:
        self.owned.append((owner.job, tie))

    def wrote(self, owner: children.Owner, write: children.Write) -> None:
        self.writes.append(write)


def request(**changes: Any) -> interceptor.Request:
    """A request about a config map."""
    asked = interceptor.Request("GET", "/", "get", "", "v1", "configmaps", "", "ns", "x")
    return replace(asked, **changes)


@pytest.fixture
def heard() -> Heard:
    """Nothing yet."""
    return Heard()


def test_owning(heard: Heard) -> None:
    """Once per run, kind and tie; what is not the owner's is nothing."""
    told = reports.Reports(heard)
    owner = owners.owner()
    annotated = {"annotations": ownership.primary_annotations(owner)}
    told.owns(owner, request(), owners.CONFIGMAP, owners.obj(name="x"))
    assert not told.is_settled(owner, request())
    for meta in (REFERENCE, REFERENCE, annotated):
        told.owns(owner, request(), owners.CONFIGMAP, owners.obj(**meta))
    assert told.is_settled(owner, request(name="y"))
    assert not told.is_settled(owner, request(namespace="other"))
    later = replace(owner, job="2")
    assert not told.is_settled(later, request())
    told.owns(later, request(), owners.CONFIGMAP, owners.obj(**REFERENCE))
    assert heard.owned == [
        ("1", children.Tie.REFERENCE),
        ("1", children.Tie.ANNOTATION),
        ("2", children.Tie.REFERENCE),
    ]


def test_memory(heard: Heard) -> None:
    """What is long ago is forgotten, and told again."""
    told = reports.Reports(heard)
    owner = owners.owner()
    for job in range(5000):
        later = replace(owner, job=str(job))
        told.owns(later, request(), owners.CONFIGMAP, owners.obj(**REFERENCE))
    assert told.is_settled(replace(owner, job="4999"), request())
    assert not told.is_settled(replace(owner, job="0"), request())
    told.owns(replace(owner, job="0"), request(), owners.CONFIGMAP, owners.obj(**REFERENCE))
    assert len(heard.owned) == 5001


def test_may_own(heard: Heard) -> None:
    """Only what names the owner, by uid or by name, is worth reading."""
    told = reports.Reports(heard)
    assert told.may_own(owners.owner(), b'"uid":"u1"')
    assert told.may_own(owners.owner(), b'"operator-sdk/primary-resource":"ns/one"')
    assert not told.may_own(owners.owner(), b'"uid":"u2","name":"one"')


@pytest.mark.parametrize(
    ("kind", "asked", "shown", "write"),
    [
        (
            owners.CONFIGMAP,
            request(name=""),
            owners.obj(name="g-1", namespace="ns", uid="u", resourceVersion="7"),
            children.Write("create", owners.CONFIGMAP, "ns", "g-1", "u", "7"),
        ),
        (
            owners.CONFIGMAP,
            request(),
            {"kind": "Status", "metadata": {}, "details": {"name": "x", "uid": "u"}},
            children.Write("create", owners.CONFIGMAP, "ns", "x", "u", ""),
        ),
        (owners.CONFIGMAP, request(), {}, children.Write("create", owners.CONFIGMAP, "ns", "x")),
        (owners.NODE, request(namespace="x"), {}, children.Write("create", owners.NODE, "", "x")),
    ],
)
def test_writes(
    heard: Heard,
    kind: children.ChildKind,
    asked: interceptor.Request,
    shown: dict[str, Any],
    write: children.Write,
) -> None:
    """From the answer, and from the URL what the answer does not tell."""
    reports.Reports(heard).wrote(owners.owner(), asked, kind, "create", shown)
    assert heard.writes == [write]
