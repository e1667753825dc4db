"""Tokens: whose they are, how long they are good, and what they are bound to."""

from __future__ import annotations

import base64
import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ansible_operator.sandbox import failure, storage
from ansible_operator.sandbox.rights import access, issuing, tokens

Obj = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)


class World:
    """A storage with one service account, and a clock that stands still."""

    def __init__(self) -> None:
        self.now = START
        self.storage = storage.Storage()
        numbers = itertools.count()
        self.tokens = tokens.Tokens(
            self.storage, clock=lambda: self.now, new_id=lambda: f"id-{next(numbers)}"
        )
        self.account = self.put("serviceaccounts", "robot")

    def put(self, plural: str, name: str, uid: str = "1", **fields: Any) -> Obj:
        """Store an object in the namespace a."""
        meta = {"name": name, "namespace": "a", "uid": f"{name}-{uid}"}
        return self.storage.put(("", plural), {"metadata": meta, **fields})

    def issue(self, **spec: Any) -> str:
        """A token of the service account."""
        return str(self.request({"spec": spec})["status"]["token"])

    def request(self, body: Obj) -> Obj:
        """The answer to a TokenRequest."""
        return issuing.issue(self.tokens, self.storage, self.account, body)

    def user(self, token: str) -> access.User:
        """Whose token it is."""
        return self.tokens.of_request(f"Bearer {token}", anonymous=False)

    def rejection(self, token: str, *audiences: str) -> str:
        """Why a token is not good."""
        with pytest.raises(tokens.Rejected) as caught:
            self.tokens.authenticate(token, audiences or (tokens.ISSUER,))
        return str(caught.value)


def refusal(world: World, body: Obj) -> failure.ApiFailure:
    """Why a token is not issued."""
    with pytest.raises(failure.ApiFailure) as caught:
        world.request(body)
    return caught.value


def test_static_tokens_are_users() -> None:
    """A token that was added is that user's, with the groups given."""
    world = World()
    world.tokens.add("t", "admin", [access.MASTERS])
    found = world.user("t")
    assert found == access.User("admin", (access.MASTERS, access.AUTHENTICATED), uid="admin")
    assert world.rejection("t", "other") == "invalid bearer token"


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic dDp0", "t", "Bearer  t"])
def test_no_bearer_token_is_nobody_or_anonymous(header: str) -> None:
    """What is no bearer token counts as none at all."""
    world = World()
    world.tokens.add("t", "admin")
    assert world.tokens.of_request(header, anonymous=True) is access.ANONYMOUS
    with pytest.raises(failure.ApiFailure, match="Unauthorized"):
        world.tokens.of_request(header, anonymous=False)


@pytest.mark.parametrize("token", ["nonsense", "a.b.c", "e30.e30.", "..", "ü.ü.ü"])
def test_unknown_tokens_are_refused(token: str) -> None:
    """A wrong token is never anonymous."""
    world = World()
    with pytest.raises(failure.ApiFailure) as caught:
        world.tokens.of_request(f"bearer {token}", anonymous=True)
    assert (caught.value.code, caught.value.reason) == (401, "Unauthorized")
    assert world.rejection(token) == "invalid bearer token"


def test_a_service_account_token() -> None:
    """It looks like a JWT of the server and gives the account with its groups."""
    world = World()
    issued = world.request({})
    assert issued["metadata"] == {
        "name": "robot",
        "namespace": "a",
        "uid": "robot-1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    assert issued["spec"] == {
        "audiences": [tokens.ISSUER],
        "expirationSeconds": 3600,
        "boundObjectRef": None,
    }
    assert issued["status"]["expirationTimestamp"] == "2026-01-01T01:00:00Z"
    token = issued["status"]["token"]
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    assert claims["sub"] == "system:serviceaccount:a:robot"
    assert claims["exp"] - claims["iat"] == 3600
    found = world.user(token)
    groups = ("system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated")
    assert (found.name, found.groups, found.uid) == (claims["sub"], groups, "robot-1")
    assert found.extra == {"authentication.kubernetes.io/credential-id": ["JTI=id-0"]}


def test_the_end_of_a_token() -> None:
    """Time, the account's deletion, and its return under another uid end it."""
    world = World()
    token = world.issue(expirationSeconds=600)
    world.now = START + timedelta(seconds=600)
    assert world.user(token).name == "system:serviceaccount:a:robot"
    world.now += timedelta(seconds=1)
    assert world.rejection(token) == "[invalid bearer token, service account token has expired]"
    world.now = START
    world.storage.remove(tokens.ACCOUNTS, "a", "robot")
    assert world.rejection(token) == '[invalid bearer token, serviceaccounts "robot" not found]'
    world.put("serviceaccounts", "robot", uid="2")
    assert world.rejection(token) == (
        "[invalid bearer token, service account UID (robot-2) does not match claim (robot-1)]"
    )


def test_forged_tokens_are_refused() -> None:
    """Neither a changed text nor the token of another sandbox is good."""
    world = World()
    head, _, signature = world.issue().split(".")
    _, payload, _ = world.issue(audiences=["x"]).split(".")
    assert "not ours" in world.rejection(f"{head}.{payload}.{signature}")
    assert "not ours" in world.rejection(World().issue())


def test_audiences() -> None:
    """A token for others is not good here, and one for several is good for those asked for."""
    world = World()
    token = world.issue(audiences=["x", "y"])
    with pytest.raises(failure.ApiFailure, match="Unauthorized"):
        world.user(token)
    assert world.rejection(token) == (
        '[invalid bearer token, token audiences ["x" "y"] is invalid for the target audiences '
        '["https://kubernetes.default.svc"]]'
    )
    assert world.tokens.authenticate(token, ["z", "y"])[1] == ["y"]


def test_tokens_bound_to_pods() -> None:
    """They name the pod and its node, and end with the pod."""
    world = World()
    pod = {"serviceAccountName": "robot", "nodeName": "n"}
    world.put("pods", "p", spec=pod)
    world.storage.put(("", "nodes"), {"metadata": {"name": "n", "uid": "n-1"}})
    token = world.issue(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    prefix = "authentication.kubernetes.io"
    assert world.user(token).extra == {
        f"{prefix}/credential-id": ["JTI=id-0"],
        f"{prefix}/node-name": ["n"],
        f"{prefix}/node-uid": ["n-1"],
        f"{prefix}/pod-name": ["p"],
        f"{prefix}/pod-uid": ["p-1"],
    }
    world.storage.remove(("", "nodes"), "", "n")
    assert world.user(token)
    world.put("pods", "p", uid="2", spec=pod)
    assert "has been invalidated" in world.rejection(token)


@pytest.mark.parametrize(
    ("reference", "code", "message"),
    [
        ({"kind": "Pod", "name": "x"}, 404, 'pods "x" not found'),
        ({"kind": "Secret", "name": "x"}, 404, 'secrets "x" not found'),
        ({"kind": "Pod"}, 400, "Name parameter required."),
        (
            {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"},
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (
            {"kind": "Pod", "name": "q"},
            400,
            'cannot bind token for serviceaccount "robot" to pod running with different '
            "serviceaccount name.",
        ),
        (
            {"kind": "Pod", "name": "q", "uid": "z"},
            409,
            'Operation cannot be fulfilled on Pod "q": the UID in the bound object reference (z) '
            "does not match the UID in record. The object might have been deleted and then "
            "recreated",
        ),
    ],
)
def test_what_tokens_cannot_be_bound_to(reference: Obj, code: int, message: str) -> None:
    """The object must be there, be the one that is meant, and fit the account."""
    world = World()
    world.put("pods", "q", spec={})
    found = refusal(world, {"spec": {"boundObjectRef": reference}})
    assert (found.code, found.message) == (code, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"spec": {"expirationSeconds": 599}},
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid '
            "value: 599: may not specify a duration less than 10 minutes",
        ),
        (
            {"spec": {"expirationSeconds": 1 << 33}},
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid '
            "value: 8589934592: may not specify a duration larger than 2^32 seconds",
        ),
        (
            {"metadata": {"name": "x"}},
            'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: '
            '"x": must match the service account name if specified',
        ),
    ],
)
def test_requests_that_are_invalid(body: Obj, message: str) -> None:
    """Ten minutes at least, 2^32 seconds at most, and no other account's name."""
    found = refusal(World(), body)
    assert (found.code, found.message) == (422, message)
