"""Reviews: what the server answers about identities and rights."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_operator.sandbox import failure, kinds, storage
from ansible_operator.sandbox.rights import access, reviews, tokens

Obj = dict[str, Any]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
BOB = access.User("bob", (access.AUTHENTICATED,), "1")
PODS = {"verb": "get", "resource": "pods", "namespace": "a"}
RESOURCES = {found.kind: found for found in kinds.builtins() if found.group in reviews.GROUPS}


def ask(kind: str, spec: Obj | None = None, *, enforced: bool = True, **body: Any) -> Obj:
    """Bob's review in a storage with one role, which lets him get pods in the namespace a."""
    store = storage.Storage()
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    rules.append({"verbs": ["get"], "nonResourceURLs": ["/api"]})
    store.put(access.CLUSTER_ROLES, {"metadata": {"name": "r"}, "rules": rules})
    binding = {
        "metadata": {"name": "b", "namespace": "a"},
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "bob"}],
    }
    store.put(access.BINDINGS, binding)
    known = tokens.Tokens(store, clock=lambda: NOW, new_id=lambda: "id")
    known.add("t", "al", ["g"])
    asked = reviews.Reviews(access.Access(store, enforced=enforced), known, lambda: NOW)
    return asked.create(RESOURCES[kind], "a", {"spec": spec or {}, **body}, BOB)


def refusal(kind: str, spec: Obj, **body: Any) -> failure.ApiFailure:
    """Why there is no answer."""
    with pytest.raises(failure.ApiFailure) as caught:
        ask(kind, spec, **body)
    return caught.value


def test_who_am_i() -> None:
    """A review of oneself tells the user with groups."""
    found = ask("SelfSubjectReview")
    assert found["status"]["userInfo"] == {
        "username": "bob",
        "uid": "1",
        "groups": ["system:authenticated"],
    }
    assert found["metadata"] == {"creationTimestamp": "2026-01-01T00:00:00Z"}


def test_may_i() -> None:
    """An access review says whether and why."""
    found = ask("SelfSubjectAccessReview", {"resourceAttributes": PODS})
    reason = 'RBAC: allowed by RoleBinding "b/a" of ClusterRole "r" to User "bob"'
    assert found["status"] == {"allowed": True, "reason": reason}
    assert found["spec"] == {"resourceAttributes": PODS}
    other = ask("SelfSubjectAccessReview", {"resourceAttributes": {**PODS, "namespace": "b"}})
    assert other["status"] == {"allowed": False}
    open_to_all = ask("SelfSubjectAccessReview", {"resourceAttributes": {}}, enforced=False)
    assert open_to_all["status"] == {"allowed": True}
    path = {"nonResourceAttributes": {"verb": "get", "path": "/api"}}
    assert ask("SelfSubjectAccessReview", path)["status"] == {"allowed": False}


def test_may_they() -> None:
    """The same for any user, also limited to a namespace."""
    spec = {"resourceAttributes": PODS, "user": "bob"}
    assert ask("SubjectAccessReview", spec)["status"]["allowed"]
    assert ask("LocalSubjectAccessReview", spec)["metadata"] == {"namespace": "a"}
    masters = {"resourceAttributes": {}, "groups": ["system:masters"]}
    assert ask("SubjectAccessReview", masters)["status"] == {"allowed": True}


def test_my_rules() -> None:
    """Rules for resources and for paths are listed apart."""
    found = ask("SelfSubjectRulesReview", {"namespace": "a"})
    assert found["status"] == {
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/api"]}],
        "incomplete": False,
    }
    assert ask("SelfSubjectRulesReview", {"namespace": "b"})["status"]["resourceRules"] == []
    assert refusal("SelfSubjectRulesReview", {}).message == "no namespace on request"


def test_whose_token() -> None:
    """A token's user, or why it is nobody's."""
    assert ask("TokenReview", {"token": "t"})["status"] == {
        "authenticated": True,
        "user": {"username": "al", "uid": "al", "groups": ["g", "system:authenticated"]},
        "audiences": ["https://kubernetes.default.svc"],
    }
    bad = ask("TokenReview", {"token": "x"})["status"]
    assert bad == {"user": {}, "error": "invalid bearer token"}
    missing = refusal("TokenReview", {})
    assert missing.message == "token is required for TokenReview in authentication"


ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


@pytest.mark.parametrize(
    ("kind", "spec", "told"),
    [
        ("SelfSubjectAccessReview", {}, f"spec: Invalid value: null: {ONE_OF}"),
        (
            "SelfSubjectAccessReview",
            {"resourceAttributes": {}, "nonResourceAttributes": {"path": "/m", "verb": "get"}},
            f'spec: Invalid value: {{"Path":"/m","Verb":"get"}}: {ONE_OF}',
        ),
        (
            "SubjectAccessReview",
            {"resourceAttributes": PODS},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            "LocalSubjectAccessReview",
            {"resourceAttributes": {}, "user": "x"},
            'spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
        ),
        (
            "LocalSubjectAccessReview",
            {"nonResourceAttributes": {"path": "/m"}, "user": "x"},
            'spec.nonResourceAttributes: Invalid value: {"Path":"/m","Verb":""}: disallowed on '
            "this kind of request",
        ),
        (
            "SelfSubjectAccessReview",
            {"resourceAttributes": {"labelSelector": {"rawSelector": "a", "requirements": [{}]}}},
            'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a": may not '
            "specified at the same time as requirements",
        ),
    ],
)
def test_reviews_that_are_invalid(kind: str, spec: Obj, told: str) -> None:
    """The server names no kind in these errors."""
    found = refusal(kind, spec)
    assert (found.code, found.reason) == (422, "Invalid")
    assert found.message == f'.authorization.k8s.io "" is invalid: {told}'
    assert found.details is not None
    assert "kind" not in found.details


def test_access_reviews_have_no_metadata() -> None:
    """They are stored nowhere, so a name is refused."""
    body = {"metadata": {"name": "x"}}
    found = refusal("SelfSubjectAccessReview", {"resourceAttributes": PODS}, **body)
    assert 'metadata: Invalid value: {"name":"x"}: must be empty' in found.message
