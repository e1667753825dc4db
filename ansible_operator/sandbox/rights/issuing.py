"""TokenRequests: tokens for service accounts, for a while, and for as long as something lives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ansible_operator.sandbox import failure, storage
from ansible_operator.sandbox.rights import access, tokens

Obj = dict[str, Any]

HOUR = 3600
SHORTEST, LONGEST = 600, 1 << 32


class _Request:
    """The TokenRequest, as errors name it."""

    group, kind = "authentication.k8s.io", "TokenRequest"
    plural = qualified = "tokenrequests.authentication.k8s.io"


def issue(known: tokens.Tokens, objects: storage.Storage, account: Obj, body: Obj) -> Obj:
    """Answer a TokenRequest for a service account.

    Raises ApiFailure: 400, 404 and 409 for what the token shall be bound to, 422.
    """
    meta = account["metadata"]
    spec = dict(body.get("spec") or {})
    spec["audiences"] = spec.get("audiences") or [tokens.ISSUER]
    seconds = spec.setdefault("expirationSeconds", HOUR)
    spec.setdefault("boundObjectRef", None)
    _refuse_invalid(meta, body.get("metadata") or {}, seconds)
    now = known.clock()
    claims = _claims(meta, spec["audiences"], now, seconds) | {"jti": known.new_id()}
    claims["kubernetes.io"] |= _bound(objects, meta, spec["boundObjectRef"])
    expiration = _written(now + timedelta(seconds=seconds))
    about = {key: meta[key] for key in ("name", "namespace", "uid")}
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": about | {"creationTimestamp": _written(now)},
        "spec": spec,
        "status": {"token": known.sign(claims), "expirationTimestamp": expiration},
    }


def _claims(meta: Obj, audiences: list[str], now: datetime, seconds: int) -> dict[str, Any]:
    issued = int(now.timestamp())
    return {
        "aud": audiences,
        "exp": issued + seconds,
        "iat": issued,
        "iss": tokens.ISSUER,
        "kubernetes.io": {
            "namespace": meta["namespace"],
            "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
        },
        "nbf": issued,
        "sub": access.account_name(meta["namespace"], meta["name"]),
    }


def _bound(
    objects: storage.Storage, meta: Obj, reference: Mapping[str, str] | None
) -> dict[str, Any]:
    """The claims that bind a token to the life of an object."""
    if not reference:
        return {}
    kind, name = reference.get("kind", ""), reference.get("name", "")
    if kind not in tokens.BINDABLE:
        version = reference.get("apiVersion", "")
        told = f"{'' if '/' in version else '/'}{version}, Kind={kind}"
        raise failure.bad_request(f"cannot bind token to object of type {told}")
    if not name:
        raise failure.bad_request("Name parameter required.")
    key = tokens.BINDABLE[kind]
    found = objects.get(key, "" if kind == "Node" else meta["namespace"], name)
    if found is None:
        details = {"name": name, "kind": key[1]}
        raise failure.ApiFailure(404, "NotFound", f'{key[1]} "{name}" not found', details)
    _refuse_other(kind, found, reference.get("uid", ""))
    claims = {kind.lower(): _identity(found)}
    return claims | (_of_pod(objects, meta, found) if kind == "Pod" else {})


def _of_pod(objects: storage.Storage, meta: Obj, pod: Obj) -> dict[str, Any]:
    if pod["spec"].get("serviceAccountName", "default") != meta["name"]:
        told = "to pod running with different serviceaccount name."
        raise failure.bad_request(f'cannot bind token for serviceaccount "{meta["name"]}" {told}')
    node = objects.get(tokens.BINDABLE["Node"], "", pod["spec"].get("nodeName", ""))
    return {"node": _identity(node)} if node else {}


def _refuse_invalid(account: Obj, given: Obj, seconds: int) -> None:
    if given.get("namespace") and given["namespace"] != account["namespace"]:
        raise failure.wrong_namespace()
    if given.get("name") and given["name"] != account["name"]:
        told = "must match the service account name if specified"
        cause = failure.invalid_value("metadata.name", given["name"], told)
        raise failure.invalid(_Request, account["name"], [cause])
    told = ""
    if seconds < SHORTEST:
        told = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST:
        told = "may not specify a duration larger than 2^32 seconds"
    if told:
        cause = failure.invalid_value("spec.expirationSeconds", seconds, told)
        raise failure.invalid(_Request, "", [cause])


def _refuse_other(kind: str, found: Obj, uid: str) -> None:
    if uid and uid != found["metadata"]["uid"]:
        name = found["metadata"]["name"]
        message = (
            f'Operation cannot be fulfilled on {kind} "{name}": the UID in the bound object '
            f"reference ({uid}) does not match the UID in record. The object might have been "
            "deleted and then recreated"
        )
        raise failure.ApiFailure(409, "Conflict", message, {"name": name, "kind": kind})


def _identity(obj: Obj) -> dict[str, str]:
    return {"name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]}


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
