"""RBAC: requests are allowed by roles and bindings, and refused in the server's words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rights
import wire

from ansible_operator.testing import controlplane

Obj = dict[str, Any]
HELD = "is attempting to grant RBAC permissions not currently held:"


@pytest.fixture(scope="module")
def robot(
    control_plane: controlplane.ControlPlane, server: wire.Server, shared_ns: str
) -> rights.Account:
    """An account with a few rights in the shared namespace."""
    found = rights.account(control_plane, server, shared_ns, "robot")
    rights.grant(
        server,
        shared_ns,
        "robot",
        rights.rule("core", "pods pods/log", "get list"),
        rights.rule("core", "configmaps", "*", "mine"),
        rights.rule("apps", "*/scale", "get update"),
    )
    found.until_access(True, verb="get", resource="pods", namespace=shared_ns)
    return found


@pytest.fixture
def cluster_wide(server: wire.Server, unique: str) -> Iterator[str]:
    """A prefix for names of cluster roles and cluster role bindings; they are deleted."""
    yield unique
    for path in (rights.roles(), rights.bindings()):
        for obj in server.get(path).body["items"]:
            name = obj["metadata"]["name"]
            if name.startswith(unique):
                server.delete(f"{path}/{name}")


def allowed(answer: wire.Answer) -> bool:
    """Whether the request got past authorization."""
    return answer.code != 403


def test_what_is_granted_is_allowed(robot: rights.Account, shared_ns: str) -> None:
    """Verbs, resources, subresources and names of the rules, and nothing near them."""
    core = f"/api/v1/namespaces/{shared_ns}"
    apps = f"/apis/apps/v1/namespaces/{shared_ns}/deployments"
    for method, path, expected in (
        ("GET", f"{core}/pods", True),
        ("GET", f"{core}/pods/x", True),
        ("GET", f"{core}/pods/x/log", True),
        ("GET", f"{core}/pods/x/status", False),
        ("GET", f"{core}/pods?watch=1&timeoutSeconds=1", False),
        ("DELETE", f"{core}/pods/x", False),
        ("GET", f"{core}/configmaps/mine", True),
        ("GET", f"{core}/configmaps?fieldSelector=metadata.name%3Dmine", True),
        ("DELETE", f"{core}/configmaps/mine", True),
        ("GET", f"{core}/configmaps/other", False),
        ("GET", f"{core}/configmaps", False),
        ("GET", f"{apps}/x/scale", True),
        ("GET", apps, False),
        ("GET", "/api/v1/pods", False),
        ("GET", "/api/v1/namespaces/default/pods", False),
        ("GET", "/api/v1", True),
        ("GET", "/apis/apps/v1", True),
        ("GET", "/openapi/v3", True),
        ("GET", "/version", True),
        ("GET", "/metrics", False),
    ):
        assert allowed(robot.call(method, path)) is expected, path


def test_refusals(robot: rights.Account, shared_ns: str) -> None:
    """They say who, what and where; the details have the object's name and resource."""
    core = f"/api/v1/namespaces/{shared_ns}"
    apps = f"/apis/apps/v1/namespaces/{shared_ns}/deployments"
    here = f'in the namespace "{shared_ns}"'
    everywhere = "at the cluster scope"
    for method, path, subject, verb, resource, where in (
        ("GET", f"{core}/secrets", "secrets", "list", "secrets", here),
        ("GET", f"{core}/secrets?watch=true", "secrets", "watch", "secrets", here),
        ("GET", f"{core}/secrets/x", 'secrets "x"', "get", "secrets", here),
        ("POST", f"{core}/pods", "pods", "create", "pods", here),
        ("PUT", f"{core}/pods/x", 'pods "x"', "update", "pods", here),
        ("PATCH", f"{core}/pods/x/status", 'pods "x"', "patch", "pods/status", here),
        ("DELETE", f"{core}/pods", "pods", "deletecollection", "pods", here),
        ("POST", f"{core}/pods/x/eviction", 'pods "x"', "create", "pods/eviction", here),
        ("GET", f"{apps}/x", 'deployments.apps "x"', "get", "deployments", here),
        ("GET", "/apis/apps/v1/deployments", "deployments.apps", "list", "deployments", everywhere),
        ("GET", "/api/v1/nodes/n", 'nodes "n"', "get", "nodes", everywhere),
        ("GET", core, f'namespaces "{shared_ns}"', "get", "namespaces", here),
        ("GET", "/api/v1/watch/pods", "pods", "watch", "pods", everywhere),
        ("GET", "/apis/no.such/v1/things", "things.no.such", "list", "things", everywhere),
    ):
        body: Obj | None = {} if method in ("POST", "PUT", "PATCH") else None
        answer = robot.call(method, path, body)
        assert answer.code == 403, path
        first = subject.partition(" ")[0]
        group = first.partition(".")[2]
        name = rights.user_name(shared_ns, "robot")
        assert answer.body["message"] == (
            f'{subject} is forbidden: User "{name}" cannot {verb} resource "{resource}" in API '
            f'group "{group}" {where}'
        )
        assert answer.body["reason"] == "Forbidden"
        named = {"name": subject.split('"')[1]} if '"' in subject else {}
        of_group = {"group": group} if group else {}
        assert answer.body["details"] == {**named, **of_group, "kind": first.partition(".")[0]}


def test_refused_paths(robot: rights.Account, shared_ns: str) -> None:
    """What is no resource is refused by its path, with the method as verb."""
    name = rights.user_name(shared_ns, "robot")
    for method, path in (("GET", "/metrics"), ("POST", "/api"), ("GET", "/"), ("GET", "/nothing")):
        answer = robot.call(method, path, {} if method == "POST" else None)
        told = f'forbidden: User "{name}" cannot {method.lower()} path "{path}"'
        assert (answer.code, answer.body["message"]) == (403, told)
        assert answer.body["details"] == {}


def test_names_selected_by_field_are_told(robot: rights.Account, shared_ns: str) -> None:
    """A list of one name counts as a request for that object."""
    path = f"/api/v1/namespaces/{shared_ns}/configmaps"
    answer = robot.get(path, fieldSelector="metadata.name=other")
    assert answer.body["message"].startswith('configmaps "other" is forbidden: User')


def test_rights_end_with_their_grant(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """A changed role and a deleted binding count from then on."""
    robot = rights.account(control_plane, server, ns, "robot")
    path = f"/api/v1/namespaces/{ns}/pods"
    wanted = {"verb": "list", "resource": "pods", "namespace": ns}
    rights.grant(server, ns, "robot", rights.rule("core", "pods", "list"))
    robot.until_access(True, **wanted)
    assert robot.get(path).code == 200
    rights.grant(server, ns, "robot", rights.rule("core", "pods", "get"))
    robot.until_access(False, **wanted)
    assert robot.get(path).code == 403
    rights.grant(server, ns, "robot", rights.rule("*", "*", "*"))
    robot.until_access(True, **wanted)
    server.delete(rights.bindings(ns, "robot"))
    robot.until_access(False, **wanted)
    assert robot.get(path).code == 403


def test_missing_roles_are_told(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """A refusal names the roles that bindings refer to in vain."""
    robot = rights.account(control_plane, server, ns, "robot")
    whom = rights.subject(ns, "robot")
    server.post(rights.bindings(ns), rights.binding("a", "nope", whom))
    role = f'role.{rights.GROUP} "nope" not found'
    denied = {"verb": "list", "resource": "secrets", "namespace": ns}
    path = f"/api/v1/namespaces/{ns}/secrets"
    server.until(rights.bindings(ns, "a"), bool)
    until(lambda: robot.access(**denied).get("reason") == f"rbac: RBAC: {role}")
    answer = robot.get(path)
    assert answer.body["message"].endswith(f'in the namespace "{ns}": rbac: RBAC: {role}')
    server.post(rights.bindings(ns), rights.binding("b", "nope", whom, kind="ClusterRole"))
    both = f"rbac: RBAC: [{role}, cluster{role}]"
    until(lambda: len(robot.access(**denied)["reason"]) == len(both))
    rules = robot.post(
        f"{rights.AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": ns}}
    )
    assert role in rules.body["status"]["evaluationError"]


def until(holds: Callable[[], bool]) -> None:
    """Wait until something is true that is not one object's state."""
    deadline = time.monotonic() + wire.LIMIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_usual_roles(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """view reads but no secrets, edit writes but no roles, admin also writes roles."""
    for role, expected in (
        ("view", {"get pods": True, "get secrets": False, "create pods": False}),
        ("edit", {"get secrets": True, "create pods": True, "create roles": False}),
        ("admin", {"create roles": True, "update resourcequotas": False}),
        ("cluster-admin", {"update resourcequotas": True}),
    ):
        user = rights.account(control_plane, server, ns, role)
        bound = rights.binding(role, role, rights.subject(ns, role), kind="ClusterRole")
        server.post(rights.bindings(ns), bound)
        user.until_access(True, verb="get", resource="pods", namespace=ns)
        for question, answer in expected.items():
            verb, resource = question.split()
            group = rights.GROUP if resource == "roles" else ""
            asked = {"verb": verb, "resource": resource, "group": group, "namespace": ns}
            assert user.access(**asked)["allowed"] is answer, f"{role}: {question}"
            assert not user.access(**asked | {"namespace": "default"})["allowed"]


def test_the_usual_roles_are_aggregated(server: wire.Server) -> None:
    """They have aggregation rules, filled in, and labels for the next larger one."""
    label = f"{rights.GROUP}/aggregate-to-"
    for name, larger in (("view", "edit"), ("edit", "admin"), ("admin", "")):
        role = server.get(rights.roles(name=name)).body
        selector = {"matchLabels": {f"{label}{name}": "true"}}
        assert role["aggregationRule"] == {"clusterRoleSelectors": [selector]}
        assert len(role["rules"]) > 10
        assert (role["metadata"]["labels"].get(f"{label}{larger}") == "true") is bool(larger)
        source = server.get(rights.roles(name=f"system:aggregate-to-{name}")).body
        assert all(rule in role["rules"] for rule in source["rules"])


def test_aggregation(server: wire.Server, cluster_wide: str) -> None:
    """Rules are collected in the order of names, each once, and follow what they come from."""
    label = {f"{cluster_wide}.example.com/part": "true"}
    one, two = rights.rule("a", "b", "get"), rights.rule("a", "c", "get")
    whole = rights.roles(name=f"{cluster_wide}-whole")
    body = rights.role(f"{cluster_wide}-whole", rights.rule("z", "z", "get"))
    body["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": label}]}
    assert server.post(rights.roles(), body).code == 201
    server.post(rights.roles(), rights.role(f"{cluster_wide}-p2", one, two, labels=label))
    server.until(whole, lambda role: role.get("rules") == [one, two])
    server.post(rights.roles(), rights.role(f"{cluster_wide}-p1", two, labels=label))
    server.until(whole, lambda role: role.get("rules") == [two, one])
    server.patch(whole, {"rules": []})
    server.until(whole, lambda role: role.get("rules") == [two, one])
    server.delete(rights.roles(name=f"{cluster_wide}-p2"))
    server.until(whole, lambda role: role.get("rules") == [two])


class Writer:
    """An account that may write roles and bindings, and get pods."""

    def __init__(
        self,
        plane: controlplane.ControlPlane,
        server: wire.Server,
        namespace: str,
        *more: Obj,
    ) -> None:
        self.namespace = namespace
        self.account = rights.account(plane, server, namespace, "writer")
        verbs = "get create update patch"
        rights.grant(
            server,
            namespace,
            "writer",
            rights.rule("core", "pods", "get list"),
            rights.rule("core", "configmaps", "*", "mine"),
            rights.rule("apps", "*/scale", "get"),
            rights.rule(rights.GROUP, "roles rolebindings", verbs),
            *more,
        )
        self.account.until_access(
            True, verb="patch", group=rights.GROUP, resource="roles", namespace=namespace
        )

    def role(self, name: str, *rules: Obj) -> wire.Answer:
        """Create a role."""
        return self.account.post(rights.roles(self.namespace), rights.role(name, *rules))

    def bind(self, name: str, to: str, kind: str = "Role") -> wire.Answer:
        """Create a binding to the account itself."""
        body = rights.binding(name, to, rights.subject(self.namespace, "writer"), kind=kind)
        return self.account.post(rights.bindings(self.namespace), body)

    def told(self, resource: str, name: str, answer: wire.Answer) -> list[str]:
        """The rules that a refusal lists."""
        assert answer.code == 403, answer.text
        first, *lines = str(answer.body["message"]).split("\n")
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{self.namespace}")
        listed = " ".join(f'"{group}"' for group in (*groups, "system:authenticated"))
        who = f'user "{rights.user_name(self.namespace, "writer")}" (groups=[{listed}])'
        assert first == f'{resource}.{rights.GROUP} "{name}" is forbidden: {who} {HELD}'
        assert answer.body["details"] == {"name": name, "group": rights.GROUP, "kind": resource}
        return lines


def test_roles_grant_no_more_than_their_writer_has(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """What is too much is listed, rule by rule; what is held may be granted."""
    writer = Writer(control_plane, server, ns)
    assert writer.role("fine", rights.rule("core", "pods", "get")).code == 201
    assert writer.role("named", rights.rule("core", "configmaps", "get", "mine")).code == 201
    assert writer.role("scale", rights.rule("apps", "deployments/scale", "get")).code == 201
    answer = writer.role("r", rights.rule("core", "pods secrets", "get delete"))
    assert writer.told("roles", "r", answer) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete"]}',
    ]
    several = (
        rights.rule("*", "*", "*"),
        rights.rule("batch apps", "jobs", "watch get"),
        rights.rule("batch", "jobs", "delete"),
        rights.rule("core", "configmaps", "get list", "mine other"),
        rights.rule("apps", "deployments/scale", "patch"),
    )
    assert writer.told("roles", "s", writer.role("s", *several)) == [
        '{APIGroups:[""], Resources:["configmaps"], ResourceNames:["other"], Verbs:["get" "list"]}',
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
        '{APIGroups:["apps"], Resources:["deployments/scale"], Verbs:["patch"]}',
        '{APIGroups:["apps"], Resources:["jobs"], Verbs:["watch" "get"]}',
        '{APIGroups:["batch"], Resources:["jobs"], Verbs:["watch" "get" "delete"]}',
    ]
    one = rights.roles(ns, "fine")
    too_much = [rights.rule("core", "pods", "delete")]
    line = ['{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}']
    account = writer.account
    assert writer.told("roles", "fine", account.patch(one, {"rules": too_much})) == line
    assert writer.told("roles", "fine", account.put(one, rights.role("fine", *too_much))) == line
    assert account.patch(one, {"metadata": {"labels": {"a": "b"}}}).code == 200
    server.patch(one, {"rules": too_much})
    assert account.patch(one, {"metadata": {"labels": {"a": "c"}}}).code == 403
    released = {"metadata": {"finalizers": ["example.com/f"]}}
    assert account.patch(one, released).code == 200
    assert account.patch(one, {"metadata": {"finalizers": None}}).code == 200


def test_bindings_grant_no_more_than_their_writer_has(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """A role is bound by who has what it gives; one that is not there by nobody."""
    writer = Writer(control_plane, server, ns)
    server.post(rights.roles(ns), rights.role("big", rights.rule("core", "secrets", "get")))
    server.post(rights.roles(ns), rights.role("small", rights.rule("core", "pods", "get")))
    assert writer.bind("small", "small").code == 201
    line = ['{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}']
    assert writer.told("rolebindings", "big", writer.bind("big", "big")) == line
    whole = writer.bind("all", "cluster-admin", "ClusterRole")
    assert writer.told("rolebindings", "all", whole) == [
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
        '{NonResourceURLs:["*"], Verbs:["*"]}',
    ]
    missing = writer.bind("missing", "nope")
    assert missing.code == 404
    assert missing.body["message"] == f'rolebindings.{rights.GROUP} "nope" not found'
    server.post(rights.bindings(ns), rights.binding("theirs", "big", rights.user("u")))
    theirs = rights.bindings(ns, "theirs")
    changed = writer.account.patch(theirs, {"subjects": [rights.user("v")]})
    assert writer.told("rolebindings", "theirs", changed) == line
    labelled = writer.account.patch(theirs, {"metadata": {"labels": {"a": "b"}}})
    assert writer.told("rolebindings", "theirs", labelled) == line
    referring = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}
    owned = {"metadata": {"ownerReferences": [referring]}}
    assert writer.account.patch(theirs, owned).code == 200


def test_the_verbs_escalate_and_bind(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """They allow what would be refused, bind for the roles that it names."""
    more = (
        rights.rule(rights.GROUP, "roles", "escalate"),
        rights.rule(rights.GROUP, "clusterroles", "bind", "view"),
    )
    writer = Writer(control_plane, server, ns, *more)
    assert writer.role("any", rights.rule("*", "*", "*")).code == 201
    assert writer.bind("view", "view", "ClusterRole").code == 201
    assert writer.bind("edit", "edit", "ClusterRole").code == 403


def test_cluster_roles_with_paths_and_aggregation(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str, cluster_wide: str
) -> None:
    """Rules for paths are listed one by one; to aggregate takes the right to everything."""
    writer = rights.account(control_plane, server, ns, "writer")
    own = rights.rule(rights.GROUP, "clusterroles", "create")
    server.post(rights.roles(), rights.role(cluster_wide, own))
    bound = rights.binding(cluster_wide, cluster_wide, rights.subject(ns, "writer"))
    bound["roleRef"]["kind"] = "ClusterRole"
    server.post(rights.bindings(), bound)
    writer.until_access(True, verb="create", group=rights.GROUP, resource="clusterroles")
    paths = {"verbs": ["get", "post"], "nonResourceURLs": ["/a", "/b"]}
    answer = writer.post(rights.roles(), rights.role(f"{cluster_wide}-a", paths))
    assert answer.code == 403
    assert answer.body["message"].split("\n")[1:] == [
        '{NonResourceURLs:["/a"], Verbs:["get"]}',
        '{NonResourceURLs:["/a"], Verbs:["post"]}',
        '{NonResourceURLs:["/b"], Verbs:["get"]}',
        '{NonResourceURLs:["/b"], Verbs:["post"]}',
    ]
    body = rights.role(f"{cluster_wide}-b")
    body["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    answer = writer.post(rights.roles(), body)
    assert answer.code == 403
    assert answer.body["message"] == (
        f'clusterroles.{rights.GROUP} "{cluster_wide}-b" is forbidden: must have cluster-admin '
        "privileges to use the aggregationRule"
    )


def test_the_first_objects(server: wire.Server) -> None:
    """A fresh cluster has its namespaces, its service and a default storage class."""
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        found = server.get(f"/api/v1/namespaces/{name}").body
        assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == name
        assert found["status"] == {"phase": "Active"}
    service = server.get("/api/v1/namespaces/default/services/kubernetes").body
    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    assert service["spec"]["clusterIP"] == "10.96.0.1"
    assert [port["port"] for port in service["spec"]["ports"]] == [443]
    classes = server.get("/apis/storage.k8s.io/v1/storageclasses").body["items"]
    default = "storageclass.kubernetes.io/is-default-class"
    chosen = [c for c in classes if c["metadata"].get("annotations", {}).get(default) == "true"]
    assert [found["metadata"]["name"] for found in chosen] == ["standard"]
    priorities = server.get("/apis/scheduling.k8s.io/v1/priorityclasses").body["items"]
    values = {found["metadata"]["name"]: found["value"] for found in priorities}
    assert values["system-cluster-critical"] == 2000000000
    assert values["system-node-critical"] == 2000001000
    discovery = server.get(rights.roles(name="system:discovery")).body
    assert discovery["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults"}
    bound = server.get(rights.bindings(name="cluster-admin")).body
    assert bound["subjects"] == [rights.group("system:masters")]
