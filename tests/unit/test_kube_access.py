"""What is said when a kind cannot be listened to."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from ansible_operator import errors, objects, watches
from ansible_operator.kube import access, discovery

GVK = objects.GVK("cache.example.com", "v1", "Memcached")
RESOURCE = discovery.Resource(GVK, "memcacheds", namespaced=True, has_status=True)


def test_a_rule_is_valid_yaml_with_exactly_what_is_missing() -> None:
    """It can be pasted into a Role as it is."""
    text = access.rule(RESOURCE, ["patch"], "status")
    assert yaml.safe_load(text) == {
        "apiGroups": ["cache.example.com"],
        "resources": ["memcacheds/status"],
        "verbs": ["patch"],
    }


def test_a_missing_permission_in_a_namespace_asks_for_a_role_there() -> None:
    """The server's words, the place and the rule are in one message."""
    problem = access.forbidden(RESOURCE, "team-a", "user x cannot list")
    assert problem.reason is access.Reason.FORBIDDEN
    assert "user x cannot list" in problem.message
    assert "a Role in namespace team-a" in problem.message
    assert json.dumps({"apiGroups": [GVK.group]})[1:-1] in problem.message
    assert '"verbs": ["get", "list", "watch"]' in problem.message
    assert "WATCH_NAMESPACE" not in problem.message


def test_a_missing_permission_in_the_cluster_asks_for_a_cluster_role() -> None:
    """Watching fewer namespaces is the other way out, unless the kind has no namespaces."""
    problem = access.forbidden(RESOURCE, "", "no")
    plan = discovery.Resource(GVK, "plans", namespaced=False, has_status=True)
    assert "ClusterRoleBinding" in problem.message
    assert "WATCH_NAMESPACE" in problem.message
    assert "WATCH_NAMESPACE" not in access.forbidden(plan, "", "no").message


def test_a_missing_crd_says_which_and_where() -> None:
    """The kind, its apiVersion and the server are named."""
    problem = access.missing("https://s:6443", GVK, ())
    assert problem.reason is access.Reason.MISSING
    assert str(problem).startswith(
        "https://s:6443 does not serve kind Memcached in cache.example.com/v1: install"
    )


def test_a_wrong_version_names_the_served_ones() -> None:
    """A typing error in the version is told from a CRD that is not there."""
    assert "in version v2, v3: correct the version" in str(access.missing("s", GVK, ["v2", "v3"]))
    assert "install its" in str(access.missing("s", GVK, ["v1"]))


def test_errors_become_problems_by_their_type() -> None:
    """No answer, no permission and other refusals are told apart."""
    reasons = {
        errors.UnreachableError("x"): access.Reason.UNREACHABLE,
        errors.UnauthorizedError("x"): access.Reason.FORBIDDEN,
        errors.ServerError("x"): access.Reason.ERROR,
    }
    for error, reason in reasons.items():
        assert access.problem(error) == access.Problem(reason, "x")


def test_only_the_writes_that_the_watch_makes_are_needed() -> None:
    """Status needs patch on /status, a finalizer needs patch on the object."""
    target = watches.Playbook(Path("/p.yml"))
    plain = watches.Watch(GVK, target)
    silent = watches.Watch(GVK, target, manage_status=False, finalizer=watches.Finalizer("a/b"))
    assert access.writes(RESOURCE, plain) == {"": ["get"], "status": ["patch"]}
    assert access.writes(RESOURCE, silent) == {"": ["get", "patch"]}
