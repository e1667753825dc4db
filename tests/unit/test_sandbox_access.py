"""RBAC: who may do what by the roles and bindings that are stored."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_operator.sandbox import failure, kinds, storage
from ansible_operator.sandbox.rights import access, attributes, escalation, impersonation

Obj = dict[str, Any]
BOB = access.User("bob", ("devs", access.AUTHENTICATED))
ROBOT = access.User(access.account_name("a", "robot"), access.account_groups("a"))
GET_POD = attributes.Attributes("get", version="v1", plural="pods", namespace="a", name="p")
RBAC = {found.plural: found for found in kinds.builtins() if found.group == access.GROUP}


class World:
    """A storage with roles and bindings, and who decides by it."""

    def __init__(self, *, enforced: bool = True) -> None:
        self.storage = storage.Storage()
        self.rights = access.Access(self.storage, enforced=enforced)

    def role(self, name: str, *rules: Obj, namespace: str = "", **labels: str) -> Obj:
        """Store a role, of the cluster unless a namespace is given."""
        meta = {"name": name, "labels": labels} | ({"namespace": namespace} if namespace else {})
        key = access.ROLES if namespace else access.CLUSTER_ROLES
        return self.storage.put(key, {"metadata": meta, "rules": list(rules)})

    def bind(self, role: str, *subjects: Obj, namespace: str = "", kind: str = "") -> None:
        """Bind a role under its own name; ``kind`` by default that of the binding."""
        meta = {"name": role} | ({"namespace": namespace} if namespace else {})
        key = access.BINDINGS if namespace else access.CLUSTER_BINDINGS
        reference = {"kind": kind or ("Role" if namespace else "ClusterRole"), "name": role}
        obj = {"metadata": meta, "roleRef": reference, "subjects": list(subjects)}
        self.storage.put(key, obj)


def rule(groups: str, resources: str, verbs: str, names: str = "") -> Obj:
    """A rule; everything in it is separated by spaces, the core group is ``core``."""
    found = {
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
        "verbs": verbs.split(),
    }
    return found | ({"resourceNames": names.split()} if names else {})


def user(name: str) -> Obj:
    """A user as the subject of a binding."""
    return {"kind": "User", "name": name}


def test_nothing_is_allowed_unless_granted() -> None:
    """A role counts once it is bound, and no longer than that."""
    world = World()
    world.role("r", rule("core", "pods", "get"), namespace="a")
    assert world.rights.decide(BOB, GET_POD) == access.Decision(False)
    world.bind("r", user("bob"), namespace="a")
    assert world.rights.decide(BOB, GET_POD) == access.Decision(
        True, 'RBAC: allowed by RoleBinding "r/a" of Role "r" to User "bob"'
    )
    world.storage.remove(access.BINDINGS, "a", "r")
    assert not world.rights.decide(BOB, GET_POD).allowed


def test_a_binding_reaches_as_far_as_its_namespace() -> None:
    """One in a namespace counts only there, one of the cluster everywhere."""
    world = World()
    world.role("r", rule("core", "pods nodes", "get"))
    world.bind("r", user("bob"), namespace="a", kind="ClusterRole")
    node = attributes.Attributes("get", version="v1", plural="nodes", name="n")
    elsewhere = dataclasses.replace(GET_POD, namespace="b")
    assert world.rights.decide(BOB, GET_POD).allowed
    assert not world.rights.decide(BOB, elsewhere).allowed
    assert not world.rights.decide(BOB, node).allowed
    world.bind("r", user("bob"))
    assert world.rights.decide(BOB, elsewhere).reason == (
        'RBAC: allowed by ClusterRoleBinding "r" of ClusterRole "r" to User "bob"'
    )
    assert world.rights.decide(BOB, node).allowed


@pytest.mark.parametrize(
    "subject",
    [
        {"kind": "ServiceAccount", "name": "robot", "namespace": "a"},
        {"kind": "ServiceAccount", "name": "robot"},
        {"kind": "Group", "name": "system:serviceaccounts"},
        {"kind": "Group", "name": "system:serviceaccounts:a"},
        {"kind": "User", "name": "system:serviceaccount:a:robot"},
    ],
)
def test_service_accounts_are_subjects_in_many_ways(subject: Obj) -> None:
    """By themselves, by their groups and by their user name."""
    world = World()
    world.role("r", rule("core", "pods", "get"), namespace="a")
    world.bind("r", subject, namespace="a")
    assert world.rights.decide(ROBOT, GET_POD).allowed
    assert not world.rights.decide(BOB, GET_POD).allowed


@pytest.mark.parametrize(
    ("given", "at", "allowed"),
    [
        (rule("*", "*", "*"), {}, True),
        (rule("core", "pods", "get"), {"subresource": "log"}, False),
        (rule("core", "pods/log", "get"), {"subresource": "log"}, True),
        (rule("core", "*/log", "get"), {"subresource": "log"}, True),
        (rule("core", "*/log", "get"), {}, False),
        (rule("core", "*", "get"), {"subresource": "log"}, True),
        (rule("apps", "pods", "get"), {}, False),
        (rule("core", "pods", "list"), {}, False),
        (rule("core", "pods", "get", "p q"), {}, True),
        (rule("core", "pods", "get", "q"), {}, False),
        (rule("core", "pods", "*", "q"), {"verb": "create", "name": ""}, False),
    ],
)
def test_rules(given: Obj, at: Obj, allowed: bool) -> None:
    """Groups, resources with subresources, verbs and names all have to fit."""
    assert access.allows(given, dataclasses.replace(GET_POD, **at)) is allowed


@pytest.mark.parametrize(
    ("url", "path", "allowed"),
    [
        ("/api", "/api", True),
        ("/api", "/api/v1", False),
        ("/api/*", "/api/v1", True),
        ("/api/*", "/api", False),
        ("*", "/metrics", True),
    ],
)
def test_paths(url: str, path: str, allowed: bool) -> None:
    """A pattern ends in an asterisk or is the path itself."""
    given = {"verbs": ["get"], "nonResourceURLs": [url]}
    assert access.allows(given, attributes.Attributes("get", path)) is allowed


def test_masters_and_an_open_sandbox() -> None:
    """Administrators may do everything, and without --rbac so may all others."""
    boss = access.User("boss", (access.MASTERS,))
    assert World().rights.decide(boss, GET_POD) == access.Decision(True)
    assert World(enforced=False).rights.decide(BOB, GET_POD) == access.Decision(True)
    assert World(enforced=False).rights.rules(BOB, "a") == (list(access.EVERYTHING), "")


@pytest.mark.parametrize(
    ("at", "message", "details"),
    [
        (
            {},
            'pods "p" is forbidden: User "bob" cannot get resource "pods" in API group "" in the '
            'namespace "a"',
            {"name": "p", "kind": "pods"},
        ),
        (
            {"verb": "list", "namespace": "", "name": "", "group": "apps", "subresource": "x"},
            'pods.apps is forbidden: User "bob" cannot list resource "pods/x" in API group "apps" '
            "at the cluster scope",
            {"group": "apps", "kind": "pods"},
        ),
        ({"path": "/metrics"}, 'forbidden: User "bob" cannot get path "/metrics"', {}),
    ],
)
def test_refusals(at: Obj, message: str, details: Obj) -> None:
    """A refusal says who, what and where, in the server's words."""
    with pytest.raises(failure.ApiFailure) as caught:
        World().rights.require(BOB, dataclasses.replace(GET_POD, **at))
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    assert (caught.value.message, caught.value.details) == (message, details)


def test_missing_roles_are_told() -> None:
    """A refusal names the roles that bindings refer to in vain, each once."""
    world = World()
    world.bind("x", user("bob"), namespace="a")
    assert world.rights.decide(BOB, GET_POD).reason == (
        'rbac: RBAC: role.rbac.authorization.k8s.io "x" not found'
    )
    world.bind("y", user("bob"), {"kind": "Group", "name": "devs"}, namespace="a")
    world.bind("z", user("bob"))
    assert world.rights.rules(BOB, "a") == (
        [],
        '[clusterrole.rbac.authorization.k8s.io "z" not found, '
        'role.rbac.authorization.k8s.io "x" not found, '
        'role.rbac.authorization.k8s.io "y" not found]',
    )


def role(name: str, *rules: Obj) -> Obj:
    """A role to be written in the namespace a."""
    return {"metadata": {"name": name, "namespace": "a"}, "rules": list(rules)}


def binding(to: str, *subjects: Obj) -> Obj:
    """A binding to be written in the namespace a."""
    reference = {"kind": "Role", "name": to}
    meta = {"name": "new", "namespace": "a"}
    return {"metadata": meta, "roleRef": reference, "subjects": list(subjects)}


def refused(world: World, plural: str, new: Obj, old: Obj | None = None) -> str:
    """What bob is told for writing a role or binding; empty if he may."""
    try:
        escalation.check(world.rights, BOB, RBAC[plural], new, old)
    except failure.ApiFailure as found:
        return f"{found.code} {found.message}"
    return ""


def test_roles_grant_no_more_than_their_writer_has() -> None:
    """What is missing is listed by resource, with the verbs that are too much."""
    world = World()
    world.role("own", rule("core", "pods", "get list"), rule("apps", "*/scale", "update"))
    world.bind("own", user("bob"))
    assert refused(world, "roles", role("r", rule("core", "pods", "get", "x"))) == ""
    assert refused(world, "roles", role("r", rule("apps", "deployments/scale", "update"))) == ""
    too_much = role("r", rule("core", "secrets pods", "get delete"), rule("core", "pods", "watch"))
    assert refused(world, "roles", too_much) == (
        '403 roles.rbac.authorization.k8s.io "r" is forbidden: user "bob" (groups=["devs" '
        '"system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}'
    )
    meta = too_much["metadata"]
    leaving = {**too_much, "metadata": {**meta, "finalizers": [], "resourceVersion": "1"}}
    assert refused(world, "roles", leaving, old=too_much) == ""
    labelled = {**too_much, "metadata": {**meta, "labels": {"a": "b"}}}
    assert refused(world, "roles", labelled, old=too_much) != ""
    named = refused(world, "roles", role("r", rule("core apps", "secrets", "get", "x y")))
    assert named.splitlines()[1:] == [
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["x"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["y"], Verbs:["get"]}',
        '{APIGroups:["apps"], Resources:["secrets"], ResourceNames:["x"], Verbs:["get"]}',
        '{APIGroups:["apps"], Resources:["secrets"], ResourceNames:["y"], Verbs:["get"]}',
    ]


def test_paths_and_aggregation_are_guarded_too() -> None:
    """URLs are listed one by one; only who may do everything may aggregate."""
    world = World()
    new = {
        "metadata": {"name": "c"},
        "rules": [{"verbs": ["get", "post"], "nonResourceURLs": ["/a"]}],
    }
    assert refused(world, "clusterroles", new).splitlines()[1:] == [
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["post"]}',
    ]
    aggregating = {"metadata": {"name": "c"}, "aggregationRule": {"clusterRoleSelectors": [{}]}}
    assert refused(world, "clusterroles", aggregating) == (
        '403 clusterroles.rbac.authorization.k8s.io "c" is forbidden: must have cluster-admin '
        "privileges to use the aggregationRule"
    )


def test_bindings_grant_no_more_than_their_writer_has() -> None:
    """Whoever binds needs what the role gives, or the verb bind."""
    world = World()
    world.role("big", rule("core", "secrets", "get"), namespace="a")
    assert refused(world, "rolebindings", binding("nope")) == (
        '404 rolebindings.rbac.authorization.k8s.io "nope" not found'
    )
    told = refused(world, "rolebindings", binding("big"))
    assert told.startswith('403 rolebindings.rbac.authorization.k8s.io "new" is forbidden: user')
    assert told.endswith('\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}')
    old = binding("big")
    assert refused(world, "rolebindings", binding("big"), old) == ""
    assert refused(world, "rolebindings", binding("big", user("bob")), old) != ""
    world.role("binder", rule(access.GROUP, "roles", "bind", "big"), namespace="a")
    world.bind("binder", user("bob"), namespace="a")
    assert refused(world, "rolebindings", binding("big", user("bob")), old) == ""


def test_escalate_allows_writing_any_role() -> None:
    """The verb escalate is what the check is named after."""
    world = World()
    world.role("writer", rule(access.GROUP, "roles", "escalate"), namespace="a")
    world.bind("writer", user("bob"), namespace="a")
    assert refused(world, "roles", role("r", rule("*", "*", "*"))) == ""


def as_whom(world: World, **headers: str) -> access.User:
    """Who a request of bob counts as."""
    listed = [(f"Impersonate-{name.replace('_', '-')}", text) for name, text in headers.items()]
    found = [("Accept", "a/b"), *listed]
    return impersonation.effective(world.rights, BOB, GET_POD, found)


def test_impersonation_fills_in_groups() -> None:
    """As the server does: those of service accounts, and that everybody is authenticated."""
    world = World(enforced=False)
    assert as_whom(world) is BOB
    assert as_whom(world, User="al").groups == (access.AUTHENTICATED,)
    assert as_whom(world, User="al", Group="g").groups == ("g", access.AUTHENTICATED)
    assert as_whom(world, User="system:anonymous").groups == (access.UNAUTHENTICATED,)
    account = as_whom(world, User="system:serviceaccount:a:robot")
    assert account.groups == (*access.account_groups("a"), access.AUTHENTICATED)
    given = as_whom(world, User="al", Uid="1", **{"Extra_Acme%2Fp": "x"})
    assert (given.uid, given.extra) == ("1", {"acme/p": ["x"]})


def test_impersonation_needs_a_user() -> None:
    """Groups alone are refused, with the server's view of them."""
    with pytest.raises(failure.ApiFailure) as caught:
        as_whom(World(), Group="a", Extra_x="1")
    assert caught.value.code == 400
    assert caught.value.message == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"}, '
        'Extra:map[string][]string{"x":[]string{"1"}}} without impersonating a user name'
    )


def test_impersonation_needs_rights() -> None:
    """For every part of the identity, or for this one request and the identity."""
    world = World()
    with pytest.raises(
        failure.ApiFailure, match='cannot impersonate-on:user-info:get resource "po'
    ):
        as_whom(world, User="al")
    world.role("wide", rule("core", "users", "impersonate", "al"))
    world.bind("wide", user("bob"))
    assert as_whom(world, User="al").name == "al"
    with pytest.raises(failure.ApiFailure):
        as_whom(world, User="al", Group="g")
    with pytest.raises(failure.ApiFailure):
        as_whom(world, User="eve")
    with pytest.raises(failure.ApiFailure, match="impersonate-on:serviceaccount:get"):
        as_whom(world, User="system:serviceaccount:a:robot")
    authentication = "authentication.k8s.io"
    world.role(
        "narrow",
        rule("core", "pods", "impersonate-on:user-info:get"),
        rule(authentication, "users", "impersonate:user-info", "eve"),
    )
    world.bind("narrow", user("bob"))
    assert as_whom(world, User="eve").name == "eve"
    with pytest.raises(failure.ApiFailure, match='"joe" is forbidden'):
        as_whom(world, User="joe")
