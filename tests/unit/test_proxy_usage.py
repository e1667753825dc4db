"""What runs asked, as rules."""

from __future__ import annotations

import pytest

from ansible_operator.kube.proxy import requests, usage


def noted(*asked: tuple[str, str]) -> usage.Usage:
    """Counts of these requests."""
    found = usage.Usage()
    for method, target in asked:
        found.note(requests.parse(method, target))
    return found


def test_rules_allow_what_was_asked_and_no_more() -> None:
    """Resources with the same verbs share a rule; subresources are named; discovery is free."""
    found = noted(
        ("GET", "/api/v1/namespaces/n/configmaps"),
        ("GET", "/api/v1/namespaces/n/secrets"),
        ("POST", "/apis/apps/v1/namespaces/n/deployments"),
        ("GET", "/api/v1/namespaces/n/pods/p/log"),
        ("GET", "/apis/apps/v1"),
        ("TRACE", "/api/v1/namespaces/n/configmaps"),
    )
    assert found.rules() == [
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create"]},
    ]


def test_rules_of_one_namespace() -> None:
    """For a Role; what is in no namespace is asked for with the empty one."""
    found = noted(("GET", "/api/v1/namespaces/n/pods"), ("GET", "/api/v1/nodes/a"))
    assert found.rules("n") == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    assert found.rules("") == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]
    assert found.rules("m") == []


@pytest.mark.parametrize("subresource", ["exec", "attach", "portforward"])
def test_a_changed_protocol_needs_create_too(subresource: str) -> None:
    """Newer servers check create for websockets, which begin with a GET."""
    found = noted(("GET", f"/api/v1/namespaces/n/pods/p/{subresource}"))
    assert found.rules()[0]["verbs"] == ["create", "get"]


def test_counts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound nothing new is kept, only counted; what is known goes on counting."""
    monkeypatch.setattr(usage, "MOST", 2)
    names = ("a", "b", "c", "a")
    found = noted(*(("GET", f"/api/v1/namespaces/{name}/pods") for name in names))
    assert sorted(found.counts().values()) == [1, 2]
    assert found.others == 1
