"""Who a request comes from: tokens of all kinds, nobody, and requests on behalf of others."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
import rights
import wire

from ansible_operator.testing import controlplane

Obj = dict[str, Any]
ISSUER = "https://kubernetes.default.svc"
PREFIX = "authentication.kubernetes.io"


def test_wrong_tokens_are_refused(control_plane: controlplane.ControlPlane) -> None:
    """With a token that nobody has nothing is answered, not even the version."""
    for token in ("nonsense", "a.b.c"):
        stranger = wire.Server(control_plane, token)
        for path in ("/version", "/healthz", "/api", "/api/v1/namespaces", "/nothing"):
            answer = stranger.get(path)
            assert answer.code == 401
            assert answer.body == {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Failure",
                "message": "Unauthorized",
                "reason": "Unauthorized",
                "code": 401,
            }


def test_without_a_token(control_plane: controlplane.ControlPlane) -> None:
    """Nobody may know the version and the health, and is a user without rights otherwise."""
    nobody = wire.Server(control_plane, "")
    for path in ("/version", "/version/", "/healthz", "/livez", "/readyz"):
        assert nobody.get(path).code == 200
    for path in ("/api", "/apis/apps/v1", "/openapi/v3", "/nothing"):
        answer = nobody.get(path)
        assert answer.code == 403
        told = f'forbidden: User "system:anonymous" cannot get path "{path}"'
        assert (answer.body["message"], answer.body["details"]) == (told, {})
    answer = nobody.get("/api/v1/namespaces")
    assert answer.code == 403
    assert answer.body["message"] == (
        'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in '
        'API group "" at the cluster scope'
    )


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Basic YTpi", "Token {}", "{}"])
def test_other_headers_are_no_token(
    control_plane: controlplane.ControlPlane, server: wire.Server, header: str
) -> None:
    """What is no bearer token counts as none."""
    headers = {"Authorization": header.format(server.token)}
    nobody = rights.Account(control_plane, "", headers)
    assert 'User "system:anonymous"' in nobody.get("/api").body["message"]
    lower = {"Authorization": f"bearer {server.token}"}
    assert rights.Account(control_plane, "", lower).get("/api").code == 200


def test_the_administrator(control_plane: controlplane.ControlPlane, server: wire.Server) -> None:
    """The kubeconfig's user is in the group that may do everything."""
    admin = rights.Account(control_plane, server.token)
    found = admin.whoami()
    assert found["username"] == "admin"
    assert found["groups"] == ["system:masters", "system:authenticated"]
    answer = admin.post(f"{rights.AUTHENTICATION}/selfsubjectreviews", {})
    assert answer.body["kind"] == "SelfSubjectReview"
    assert list(answer.body["metadata"]) == ["creationTimestamp"]


def test_a_service_account_token(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """A TokenRequest gives a token that makes the request one of the account."""
    made = server.post(
        f"/api/v1/namespaces/{ns}/serviceaccounts", {"metadata": {"name": "robot"}}
    ).body
    answer = server.post(rights.tokens(ns, "robot"), {"spec": {"expirationSeconds": 7200}})
    assert answer.code == 201
    issued = answer.body
    assert (issued["kind"], issued["apiVersion"]) == ("TokenRequest", "authentication.k8s.io/v1")
    meta = issued["metadata"]
    assert (meta["name"], meta["namespace"], meta["uid"]) == ("robot", ns, made["metadata"]["uid"])
    assert issued["spec"] == {
        "audiences": [ISSUER],
        "expirationSeconds": 7200,
        "boundObjectRef": None,
    }
    assert set(issued["status"]) == {"token", "expirationTimestamp"}
    token = issued["status"]["token"]
    claims = payload(token)
    assert claims["sub"] == rights.user_name(ns, "robot")
    assert claims["exp"] - claims["iat"] == 7200
    assert claims["kubernetes.io"] == {
        "namespace": ns,
        "serviceaccount": {"name": "robot", "uid": made["metadata"]["uid"]},
    }
    assert rights.Account(control_plane, token).whoami() == {
        "username": rights.user_name(ns, "robot"),
        "uid": made["metadata"]["uid"],
        "groups": [
            "system:serviceaccounts",
            f"system:serviceaccounts:{ns}",
            "system:authenticated",
        ],
        "extra": {f"{PREFIX}/credential-id": [f"JTI={claims['jti']}"]},
    }


def payload(token: str) -> Any:
    """The claims of a token."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_token_requests_that_are_refused(server: wire.Server, shared_ns: str) -> None:
    """Durations have limits, the account must be there, and what names it must fit."""
    path = rights.tokens(shared_ns, "default")

    def told(body: Obj, code: int) -> str:
        answer = server.post(path, body)
        assert answer.code == code, answer.text
        return str(answer.body["message"])

    kind = "TokenRequest.authentication.k8s.io"
    assert told({"spec": {"expirationSeconds": 10}}, 422) == (
        f'{kind} "" is invalid: spec.expirationSeconds: Invalid value: 10: may not specify a '
        "duration less than 10 minutes"
    )
    assert told({"spec": {"expirationSeconds": 1 << 33}}, 422) == (
        f'{kind} "" is invalid: spec.expirationSeconds: Invalid value: 8589934592: may not specify '
        "a duration larger than 2^32 seconds"
    )
    assert told({"metadata": {"name": "other"}}, 422) == (
        f'{kind} "default" is invalid: metadata.name: Invalid value: "other": must match the '
        "service account name if specified"
    )
    assert told({"metadata": {"namespace": "other"}}, 400) == (
        "the namespace of the provided object does not match the namespace sent on the request"
    )
    missing = server.post(rights.tokens(shared_ns, "nobody"), {})
    assert missing.code == 404
    assert missing.body["message"] == 'serviceaccounts "nobody" not found'
    for method in ("GET", "PUT", "DELETE"):
        assert server.call(method, path, {} if method == "PUT" else None).code == 405


@pytest.mark.parametrize(
    ("reference", "code", "message"),
    [
        ({"kind": "Pod", "apiVersion": "v1", "name": "x"}, 404, 'pods "x" not found'),
        ({"kind": "Secret", "apiVersion": "v1", "name": "x"}, 404, 'secrets "x" not found'),
        ({"kind": "Pod", "apiVersion": "v1"}, 400, "Name parameter required."),
        (
            {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"},
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
    ],
)
def test_what_tokens_cannot_be_bound_to(
    server: wire.Server, shared_ns: str, reference: Obj, code: int, message: str
) -> None:
    """Only to a pod, secret or node that is there."""
    body = {"spec": {"boundObjectRef": reference}}
    answer = server.post(rights.tokens(shared_ns, "default"), body)
    assert (answer.code, answer.body["message"]) == (code, message)


def test_tokens_bound_to_objects(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """They tell the object, and must mean the one that is there."""
    made = server.post(f"/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": "s"}}).body
    uid = made["metadata"]["uid"]
    reference = {"kind": "Secret", "apiVersion": "v1", "name": "s"}
    path = rights.tokens(ns, "default")
    issued = server.post(path, {"spec": {"boundObjectRef": reference}}).body
    assert issued["spec"]["boundObjectRef"] == reference
    token = issued["status"]["token"]
    assert payload(token)["kubernetes.io"]["secret"] == {"name": "s", "uid": uid}
    assert rights.Account(control_plane, token).whoami()["username"] == rights.user_name(
        ns, "default"
    )
    other = server.post(path, {"spec": {"boundObjectRef": {**reference, "uid": "z"}}})
    assert other.code == 409
    assert other.body["message"] == (
        'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (z) '
        "does not match the UID in record. The object might have been deleted and then recreated"
    )


def test_tokens_end_with_their_account(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """Those of a deleted account are refused, also when another of its name has come."""
    gone = rights.account(control_plane, server, ns, "gone")
    again = rights.account(control_plane, server, ns, "again")
    assert (gone.get("/api").code, again.get("/api").code) == (200, 200)
    for name in ("gone", "again"):
        server.delete(f"/api/v1/namespaces/{ns}/serviceaccounts/{name}")
    fresh = rights.account(control_plane, server, ns, "again")
    deadline = time.monotonic() + wire.LIMIT
    while {gone.get("/api").code, again.get("/api").code} != {401}:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert fresh.get("/api").code == 200
    review = {"spec": {"token": gone.token}}
    answer = server.post(f"{rights.AUTHENTICATION}/tokenreviews", review)
    assert answer.body["status"] == {
        "user": {},
        "error": '[invalid bearer token, serviceaccounts "gone" not found]',
    }


def test_tokens_for_other_audiences(
    control_plane: controlplane.ControlPlane, server: wire.Server, shared_ns: str
) -> None:
    """They are not good for the API server, but for those that they name."""
    body = {"spec": {"audiences": ["x", "y"]}}
    issued = server.post(rights.tokens(shared_ns, "default"), body).body
    token = issued["status"]["token"]
    assert rights.Account(control_plane, token).get("/api").code == 401
    reviews = f"{rights.AUTHENTICATION}/tokenreviews"
    here = server.post(reviews, {"spec": {"token": token}}).body["status"]
    assert here == {
        "user": {},
        "error": '[invalid bearer token, token audiences ["x" "y"] is invalid for the target '
        f'audiences ["{ISSUER}"]]',
    }
    there = server.post(reviews, {"spec": {"token": token, "audiences": ["z", "y"]}})
    assert there.body["status"]["authenticated"] is True
    assert there.body["status"]["audiences"] == ["y"]


def test_acting_as_others(control_plane: controlplane.ControlPlane, server: wire.Server) -> None:
    """The administrator may be anybody; groups that go without saying are filled in."""
    admin = rights.Account(control_plane, server.token)
    assert admin.acting(User="bob").whoami() == {
        "username": "bob",
        "groups": ["system:authenticated"],
    }
    whole = admin.acting(User="bob", Group="g", Uid="1", **{"Extra_Acme%2Fproject": "p"})
    assert whole.whoami() == {
        "username": "bob",
        "uid": "1",
        "groups": ["g", "system:authenticated"],
        "extra": {"acme/project": ["p"]},
    }
    robot = rights.user_name("default", "robot")
    assert admin.acting(User=robot).whoami()["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ]
    refused = admin.acting(User="bob").get("/api/v1/namespaces")
    assert refused.code == 403
    assert refused.body["message"].startswith('namespaces is forbidden: User "bob" cannot list')
    masters = admin.acting(User="bob", Group="system:masters")
    assert masters.get("/api/v1/namespaces").code == 200
    nobody = admin.acting(User="system:anonymous").get("/api")
    assert nobody.body["message"] == 'forbidden: User "system:anonymous" cannot get path "/api"'


@pytest.mark.parametrize(
    ("headers", "shown"),
    [
        ({"Group": "a"}, 'UID:"", Groups:[]string{"a"}, Extra:map[string][]string(nil)'),
        ({"Uid": "a"}, 'UID:"a", Groups:[]string(nil), Extra:map[string][]string(nil)'),
        (
            {"Extra_x": "a"},
            'UID:"", Groups:[]string(nil), Extra:map[string][]string{"x":[]string{"a"}}',
        ),
    ],
)
def test_acting_needs_a_user(
    control_plane: controlplane.ControlPlane,
    server: wire.Server,
    headers: dict[str, str],
    shown: str,
) -> None:
    """The other headers say nothing without it."""
    answer = rights.Account(control_plane, server.token).acting(**headers).get("/api")
    assert answer.code == 400
    assert answer.body["message"] == (
        f'requested &user.DefaultInfo{{Name:"", {shown}}} without impersonating a user name'
    )


def test_acting_needs_rights(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """Nobody is somebody else without a rule for it, in general or for one kind of request."""
    robot = rights.account(control_plane, server, ns, "robot")
    where = f"/api/v1/namespaces/{ns}/pods"
    refused = robot.acting(User="bob").get(where)
    assert refused.code == 403
    assert refused.body["message"] == (
        f'pods is forbidden: User "{rights.user_name(ns, "robot")}" cannot '
        f'impersonate-on:user-info:list resource "pods" in API group "" in the namespace "{ns}"'
    )
    other = rights.user_name(ns, "other")
    assert (
        "cannot impersonate-on:serviceaccount:list"
        in (robot.acting(User=other).get(where).body["message"])
    )
    rights.grant(
        server, ns, "robot", rights.rule("core", "serviceaccounts", "impersonate", "other")
    )
    robot.until_access(
        True, verb="impersonate", resource="serviceaccounts", name="other", namespace=ns
    )
    assert robot.acting(User=other).whoami()["username"] == other
    assert f'User "{other}" cannot list' in robot.acting(User=other).get(where).body["message"]
    assert robot.acting(User=rights.user_name(ns, "third")).get(where).code == 403


def test_acting_for_one_kind_of_request(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """The right for one request goes with the right for the identity."""
    robot = rights.account(control_plane, server, ns, "robot")
    group = "authentication.k8s.io"
    rights.grant(
        server,
        ns,
        "robot",
        rights.rule("core", "pods", "impersonate-on:serviceaccount:list"),
        rights.rule(group, "serviceaccounts", "impersonate:serviceaccount", "other"),
    )
    verb = "impersonate:serviceaccount"
    robot.until_access(
        True, verb=verb, group=group, resource="serviceaccounts", name="other", namespace=ns
    )
    other = robot.acting(User=rights.user_name(ns, "other"))
    where = f"/api/v1/namespaces/{ns}/pods"
    assert (
        f'User "{rights.user_name(ns, "other")}" cannot list' in (other.get(where).body["message"])
    )
    for refused in (
        other.get(f"{where}/x"),
        robot.acting(User=rights.user_name(ns, "third")).get(where),
    ):
        assert refused.code == 403
        assert f'User "{rights.user_name(ns, "robot")}" cannot' in refused.body["message"]


@pytest.mark.kubectl
def test_kubectl_acts_and_makes_tokens(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """``--as``, ``auth whoami`` and ``create token`` of kubectl."""
    told = control_plane.run_kubectl("auth", "whoami", "-o", "json", "--as=bob", "--as-group=g")
    info = json.loads(told)["status"]["userInfo"]
    assert (info["username"], info["groups"]) == ("bob", ["g", "system:authenticated"])
    account = ("-n", ns, "create", "token", "default")
    token = control_plane.run_kubectl(*account, "--duration=20m", "--audience=x").strip()
    claims = payload(token)
    assert (claims["aud"], claims["exp"] - claims["iat"]) == (["x"], 1200)
    token = control_plane.run_kubectl(*account).strip()
    assert rights.Account(control_plane, token).whoami()["username"] == rights.user_name(
        ns, "default"
    )
