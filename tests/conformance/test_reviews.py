"""Reviews: what the server answers when asked about identities and rights."""

from __future__ import annotations

from typing import Any

import pytest
import rights
import wire

from ansible_operator.testing import controlplane

Obj = dict[str, Any]
SELF = f"{rights.AUTHORIZATION}/selfsubjectaccessreviews"
SUBJECT = f"{rights.AUTHORIZATION}/subjectaccessreviews"
RULES = f"{rights.AUTHORIZATION}/selfsubjectrulesreviews"
TOKENS = f"{rights.AUTHENTICATION}/tokenreviews"
PODS = {"verb": "get", "resource": "pods"}


def local(namespace: str) -> str:
    """The path of the reviews of one namespace."""
    return f"{rights.AUTHORIZATION}/namespaces/{namespace}/localsubjectaccessreviews"


def test_the_answer_is_the_review_with_a_status(server: wire.Server, shared_ns: str) -> None:
    """The body comes back whole, with a status, and is stored nowhere."""
    spec = {"resourceAttributes": PODS}
    for path, kind, more in (
        (SELF, "SelfSubjectAccessReview", {}),
        (SUBJECT, "SubjectAccessReview", {"user": "u", "groups": ["system:masters"]}),
        (local(shared_ns), "LocalSubjectAccessReview", {"groups": ["system:masters"]}),
    ):
        asked = spec | more
        if path == local(shared_ns):
            asked = asked | {"resourceAttributes": {**PODS, "namespace": shared_ns}}
        answer = server.post(path, {"spec": asked})
        assert answer.code == 201, answer.text
        found = answer.body
        assert (found["kind"], found["apiVersion"]) == (kind, "authorization.k8s.io/v1")
        assert found["spec"] == asked
        assert found["status"] == {"allowed": True}
        assert "uid" not in found["metadata"]
        assert server.get(path).code == 405
        assert server.post(path, {"spec": asked}, dryRun="All").code == 201


def test_reasons(control_plane: controlplane.ControlPlane, server: wire.Server, ns: str) -> None:
    """What allows something is named: the binding, the role and whom it is bound to."""
    robot = rights.account(control_plane, server, ns, "robot")
    server.post(rights.roles(ns), rights.role("r", rights.rule("core", "pods", "get")))
    whole = {**PODS, "namespace": ns}
    name = rights.user_name(ns, "robot")
    groups = f"system:serviceaccounts:{ns}"
    for number, (subject, told) in enumerate(
        (
            (rights.subject(ns, "robot"), f'ServiceAccount "robot/{ns}"'),
            (rights.group(groups), f'Group "{groups}"'),
            (rights.user(name), f'User "{name}"'),
        )
    ):
        binding = f"b{number}"
        server.post(rights.bindings(ns), rights.binding(binding, "r", subject))
        assert robot.until_access(True, **whole) == {
            "allowed": True,
            "reason": f'RBAC: allowed by RoleBinding "{binding}/{ns}" of Role "r" to {told}',
        }
        server.delete(rights.bindings(ns, binding))
        assert robot.until_access(False, **whole) == {"allowed": False}
    to_view = rights.binding("v", "view", rights.subject(ns, "robot"), kind="ClusterRole")
    server.post(rights.bindings(ns), to_view)
    assert robot.until_access(True, **whole)["reason"] == (
        f'RBAC: allowed by RoleBinding "v/{ns}" of ClusterRole "view" to '
        f'ServiceAccount "robot/{ns}"'
    )
    discovery = {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/api"}}}
    assert robot.post(SELF, discovery).body["status"]["reason"] == (
        'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole '
        '"system:discovery" to Group "system:authenticated"'
    )


def test_reviews_of_others(server: wire.Server, shared_ns: str) -> None:
    """Users and groups are taken as given: nobody is authenticated by being asked about."""
    for spec, allowed in (
        ({"resourceAttributes": PODS, "user": "bob"}, False),
        ({"resourceAttributes": PODS, "groups": ["system:masters"]}, True),
        (
            {
                "nonResourceAttributes": {"verb": "get", "path": "/version"},
                "groups": ["system:unauthenticated"],
            },
            True,
        ),
        ({"nonResourceAttributes": {"verb": "get", "path": "/api"}, "user": "bob"}, False),
    ):
        assert server.post(SUBJECT, {"spec": spec}).body["status"]["allowed"] is allowed


ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
BOTH = {"resourceAttributes": PODS, "nonResourceAttributes": {"path": "/m", "verb": "get"}}
SELECTORS = {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("path", "spec", "told"),
    [
        (SELF, {}, f"spec: Invalid value: null: {ONE_OF}"),
        (SELF, BOTH, f'spec: Invalid value: {{"Path":"/m","Verb":"get"}}: {ONE_OF}'),
        (SUBJECT, {"user": "a"}, f"spec: Invalid value: null: {ONE_OF}"),
        (
            SUBJECT,
            {"resourceAttributes": PODS},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            SELF,
            {"resourceAttributes": {**PODS, "fieldSelector": SELECTORS}},
            'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not '
            "specified at the same time as requirements",
        ),
        (
            "local",
            {"resourceAttributes": {**PODS, "namespace": "x"}, "user": "a"},
            'spec.resourceAttributes.namespace: Invalid value: "x": must match metadata.namespace',
        ),
        (
            "local",
            {"nonResourceAttributes": {"path": "/m", "verb": "get"}, "user": "a"},
            'spec.nonResourceAttributes: Invalid value: {"Path":"/m","Verb":"get"}: disallowed on '
            "this kind of request",
        ),
    ],
)
def test_reviews_that_are_invalid(
    server: wire.Server, shared_ns: str, path: str, spec: Obj, told: str
) -> None:
    """One question at a time, about somebody, and in its namespace."""
    answer = server.post(local(shared_ns) if path == "local" else path, {"spec": spec})
    assert answer.code == 422
    field, _, message = told.partition(": ")
    assert answer.body["message"] == f'.authorization.k8s.io "" is invalid: {told}'
    assert answer.body["reason"] == "Invalid"
    assert answer.body["details"] == {
        "group": "authorization.k8s.io",
        "causes": [{"reason": "FieldValueInvalid", "message": message, "field": field}],
    }


def test_bodies_of_reviews(server: wire.Server, shared_ns: str) -> None:
    """Their types are checked, unknown fields are told, and other objects are refused."""
    requests = rights.tokens(shared_ns, "default")
    for path, spec, told in (
        (SELF, {"resourceAttributes": {"verb": 5}}, "number ResourceAttributes verb string"),
        (
            SUBJECT,
            {"resourceAttributes": "x"},
            "string SubjectAccessReviewSpec resourceAttributes v1.ResourceAttributes",
        ),
        (RULES, {"namespace": 5}, "number SelfSubjectRulesReviewSpec namespace string"),
        (TOKENS, {"audiences": "x"}, "string TokenReviewSpec audiences []string"),
        (requests, {"expirationSeconds": "x"}, "string TokenRequestSpec expirationSeconds int64"),
    ):
        answer = server.post(path, {"spec": spec})
        given, struct, field, wanted = told.split()
        nested = "resourceAttributes." if field == "verb" else ""
        assert answer.code == 400
        assert answer.body["message"].endswith(
            f": json: cannot unmarshal {given} into Go struct field {struct}.spec.{nested}{field} "
            f"of type {wanted}"
        )
    body = {"spec": {"resourceAttributes": PODS, "user": "u", "nope": 1}}
    assert server.post(SUBJECT, body).warnings == ['"unknown field \\"spec.nope\\""']
    strict = server.post(SUBJECT, body, fieldValidation="Strict")
    assert strict.code == 400
    assert strict.body["message"].endswith('strict decoding error: unknown field "spec.nope"')
    for path, kind, group in (
        (SELF, "SelfSubjectAccessReview", "authorization"),
        (requests, "TokenRequest", "authentication"),
    ):
        other = server.post(path, {"apiVersion": "v1", "kind": "ConfigMap"})
        assert (other.code, other.body["message"]) == (
            400,
            f'ConfigMap in version "v1" cannot be handled as a {kind}: converting (v1.ConfigMap) '
            f"to ({group}.{kind}): unknown conversion",
        )
        assert (
            server.post(path, "{")
            .body["message"]
            .startswith(
                f"the object provided is unrecognized (must be of type {kind}): couldn't get"
            )
        )


def test_metadata_of_reviews(server: wire.Server, shared_ns: str) -> None:
    """They have no name; a namespace must be that of the request."""
    spec = {"spec": {"resourceAttributes": {**PODS, "namespace": shared_ns}, "user": "a"}}
    named = server.post(SUBJECT, spec | {"metadata": {"name": "x"}})
    assert named.code == 422
    assert named.body["message"].startswith(
        '.authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"x"'
    )
    assert named.body["message"].endswith(": must be empty")
    assert server.post(SUBJECT, spec | {"metadata": {"namespace": "x"}}).code == 201
    assert server.post(local(shared_ns), spec | {"metadata": {"namespace": "x"}}).code == 400
    fine = server.post(local(shared_ns), spec | {"metadata": {"namespace": shared_ns}})
    assert (fine.code, fine.body["metadata"]["namespace"]) == (201, shared_ns)


def test_rules_reviews(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """All rules that count in a namespace, as they are written."""
    robot = rights.account(control_plane, server, ns, "robot")
    rules = [
        rights.rule("core apps", "pods deployments", "get list"),
        rights.rule("core", "secrets", "*", "one"),
    ]
    rights.grant(server, ns, "robot", *rules)
    robot.until_access(True, **PODS, namespace=ns)
    answer = robot.post(RULES, {"spec": {"namespace": ns}})
    assert answer.code == 201
    found = answer.body
    assert (found["metadata"], found["spec"]) == ({}, {})
    status = found["status"]
    assert (status["incomplete"], "evaluationError" in status) == (False, False)
    assert all(rule in status["resourceRules"] for rule in rules)
    basic = rights.rule(
        "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create"
    )
    assert basic in status["resourceRules"]
    public = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
    assert {"verbs": ["get"], "nonResourceURLs": public} in status["nonResourceRules"]
    elsewhere = robot.post(RULES, {"spec": {"namespace": "default"}}).body["status"]
    assert not any(rule in elsewhere["resourceRules"] for rule in rules)
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    admins = server.post(RULES, {"spec": {"namespace": "no-such-namespace"}}).body["status"]
    assert everything in admins["resourceRules"]
    assert {"verbs": ["*"], "nonResourceURLs": ["*"]} in admins["nonResourceRules"]
    refused = server.post(RULES, {"spec": {}})
    assert (refused.code, refused.body["message"]) == (400, "no namespace on request")


def test_token_reviews(
    control_plane: controlplane.ControlPlane, server: wire.Server, shared_ns: str
) -> None:
    """Whose a token is and what for, or why it is not good."""
    robot = rights.account(control_plane, server, shared_ns, "reviewed")
    answer = server.post(TOKENS, {"spec": {"token": robot.token}})
    assert answer.code == 201
    assert answer.body["spec"] == {"token": robot.token}
    assert answer.body["status"] == {
        "authenticated": True,
        "user": robot.whoami(),
        "audiences": ["https://kubernetes.default.svc"],
    }
    admin = server.post(TOKENS, {"spec": {"token": server.token}}).body["status"]
    assert admin["user"]["username"] == "admin"
    bad = server.post(TOKENS, {"spec": {"token": "nonsense"}})
    assert bad.code == 201
    assert bad.body["status"] == {"user": {}, "error": "invalid bearer token"}
    other = server.post(TOKENS, {"spec": {"token": robot.token, "audiences": ["x"]}})
    assert other.body["status"] == {
        "user": {},
        "error": '[invalid bearer token, token audiences ["https://kubernetes.default.svc"] is '
        'invalid for the target audiences ["x"]]',
    }
    empty = server.post(TOKENS, {"spec": {}})
    assert empty.code == 400
    assert empty.body["message"] == "token is required for TokenReview in authentication"


def test_who_may_review(
    control_plane: controlplane.ControlPlane, server: wire.Server, shared_ns: str
) -> None:
    """Everybody about themselves, about others only with a right to."""
    robot = rights.account(control_plane, server, shared_ns, "curious")
    assert robot.post(SELF, {"spec": {"resourceAttributes": PODS}}).code == 201
    for path, resource, group, spec in (
        (TOKENS, "tokenreviews", "authentication", {"token": "x"}),
        (SUBJECT, "subjectaccessreviews", "authorization", {"user": "u"}),
    ):
        answer = robot.post(path, {"spec": spec})
        assert answer.code == 403
        assert answer.body["message"] == (
            f'{resource}.{group}.k8s.io is forbidden: User "'
            f'{rights.user_name(shared_ns, "curious")}" cannot create resource "{resource}" in '
            f'API group "{group}.k8s.io" at the cluster scope'
        )


@pytest.mark.kubectl
def test_kubectl_can_i(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """``auth can-i`` says yes, no, and lists what one may do."""
    robot = rights.account(control_plane, server, ns, "robot")
    rights.grant(server, ns, "robot", rights.rule("apps", "deployments deployments/scale", "get"))
    wanted = {"verb": "get", "group": "apps", "resource": "deployments", "namespace": ns}
    robot.until_access(True, **wanted)
    config = control_plane.kubeconfig_for(robot.token, namespace=ns)

    def can_i(*arguments: str) -> str:
        return control_plane.run_kubectl("auth", "can-i", *arguments, kubeconfig=config)

    assert can_i("get", "deployments").strip() == "yes"
    assert can_i("get", "deployments", "--subresource=scale").strip() == "yes"
    listed = can_i("--list").splitlines()
    assert any(line.split()[0] == "deployments.apps/scale" for line in listed)
    with pytest.raises(Exception, match="ended with 1"):
        can_i("delete", "deployments")
    as_admin = ("auth", "can-i", "get", "deployments", "-n", ns)
    name = rights.user_name(ns, "robot")
    assert control_plane.run_kubectl(*as_admin, f"--as={name}").strip() == "yes"
