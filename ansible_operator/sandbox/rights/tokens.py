"""Bearer tokens: those of the administrator and of test users, and those of service accounts."""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from ansible_operator.sandbox import failure, kinds, storage
from ansible_operator.sandbox.rights import access

Obj = dict[str, Any]

ISSUER = "https://kubernetes.default.svc"
ACCOUNTS: kinds.Key = ("", "serviceaccounts")
BINDABLE = {"Pod": ("", "pods"), "Secret": ("", "secrets"), "Node": ("", "nodes")}
"""What a token can be bound to: it ends with that."""
_CREDENTIAL = "authentication.kubernetes.io"
INVALID = "invalid bearer token"
KEPT = 1024
"""Tokens that are not verified again with every request."""


class Rejected(Exception):
    """A token is not good; the text says why, as a TokenReview tells it."""


class Tokens:
    """Who a token belongs to. ``new_id`` names a token that is issued, ``clock`` tells the time."""

    def __init__(
        self,
        objects: storage.Storage,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._objects = objects
        self.clock = clock
        self.new_id = new_id
        self._key = secrets.token_bytes(32)
        self._users: dict[bytes, access.User] = {}
        self._verified = functools.lru_cache(KEPT)(self._verify)

    def add(self, token: str, name: str, groups: Sequence[str] = ()) -> None:
        """Make a token good for a user, for as long as this lives."""
        self._users[_digest(token)] = access.User(name, (*groups, access.AUTHENTICATED), uid=name)

    def of_request(self, authorization: str, *, anonymous: bool) -> access.User:
        """The user of an Authorization header. Raises ApiFailure 401.

        ``anonymous`` says that a request without a bearer token is somebody, too.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or token.startswith(" "):
            if anonymous:
                return access.ANONYMOUS
            raise failure.unauthorized()
        try:
            return self.authenticate(token.strip(), (ISSUER,))[0]
        except Rejected:
            raise failure.unauthorized() from None

    def authenticate(
        self, token: str, audiences: Sequence[str]
    ) -> tuple[access.User, Sequence[str]]:
        """The user of a token, and for which of the audiences it is good. Raises Rejected."""
        user = self._users.get(_digest(token))
        if user is None:
            return self._of_account(token, audiences)
        if ISSUER not in audiences:
            raise Rejected(INVALID)
        return user, (ISSUER,)

    def sign(self, claims: Obj) -> str:
        """The token with these claims."""
        head = _encoded({"alg": "HS256", "typ": "JWT"})
        text = f"{head}.{_encoded(claims)}"
        return f"{text}.{self._signature(text)}"

    def _signature(self, text: str) -> str:
        return _base64(hmac.new(self._key, text.encode(), hashlib.sha256).digest())

    def _of_account(
        self, token: str, audiences: Sequence[str]
    ) -> tuple[access.User, Sequence[str]]:
        claims, user = self._verified(token)
        problem = self._problem(claims, audiences)
        if problem:
            raise Rejected(f"[{INVALID}, {problem}]")
        return user, [audience for audience in audiences if audience in claims["aud"]]

    def _verify(self, token: str) -> tuple[Obj, access.User]:
        """The claims of a genuine token, and whose it is as long as it is good."""
        text, _, signature = token.rpartition(".")
        claims = _decoded(text)
        if claims.get("iss") != ISSUER:
            raise Rejected(INVALID)
        if not hmac.compare_digest(signature.encode(), self._signature(text).encode()):
            raise Rejected(f"[{INVALID}, the signature of the token is not ours]")
        return claims, _account_user(claims)

    def _problem(self, claims: Obj, audiences: Sequence[str]) -> str:
        """Why a genuine token is not good now; empty if it is."""
        if self.clock().timestamp() > claims["exp"]:
            return "service account token has expired"
        if not set(audiences) & set(claims["aud"]):
            own, wanted = _quoted(claims["aud"]), _quoted(audiences)
            return f"token audiences {own} is invalid for the target audiences {wanted}"
        about = claims["kubernetes.io"]
        name, uid = about["serviceaccount"]["name"], about["serviceaccount"]["uid"]
        account = self._objects.get(ACCOUNTS, about["namespace"], name)
        if account is None:
            return f'serviceaccounts "{name}" not found'
        if account["metadata"]["uid"] != uid:
            found = account["metadata"]["uid"]
            return f"service account UID ({found}) does not match claim ({uid})"
        return "" if self._bound_is_there(about) else "service account token has been invalidated"

    def _bound_is_there(self, about: Obj) -> bool:
        for kind, key in BINDABLE.items():
            claim = about.get(kind.lower())
            if not claim or (kind == "Node" and "pod" in about):
                continue
            namespace = "" if kind == "Node" else about["namespace"]
            found = self._objects.get(key, namespace, claim["name"])
            if found is None or found["metadata"]["uid"] != claim["uid"]:
                return False
        return True


def _digest(token: str) -> bytes:
    """What tokens are compared by, so that how long it takes tells nothing about them."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def _account_user(claims: Obj) -> access.User:
    about = claims["kubernetes.io"]
    extra = {f"{_CREDENTIAL}/credential-id": [f"JTI={claims['jti']}"]}
    for kind in ("node", "pod"):
        if kind in about:
            extra[f"{_CREDENTIAL}/{kind}-name"] = [about[kind]["name"]]
            extra[f"{_CREDENTIAL}/{kind}-uid"] = [about[kind]["uid"]]
    groups = (*access.account_groups(about["namespace"]), access.AUTHENTICATED)
    return access.User(claims["sub"], groups, about["serviceaccount"]["uid"], extra)


def _quoted(words: Sequence[str]) -> str:
    return f"[{' '.join(json.dumps(word) for word in words)}]"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _encoded(part: Obj) -> str:
    return _base64(json.dumps(part, separators=(",", ":"), sort_keys=True).encode())


def _decoded(text: str) -> Obj:
    """The claims of a token; empty when it is none."""
    try:
        payload = text.split(".")[1]
        found = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (LookupError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
