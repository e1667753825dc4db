"""The paths that are no resources: discovery, OpenAPI, version and health."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from aiohttp import web

from ansible_operator.sandbox import failure, kinds, world
from ansible_operator.sandbox.views import discovery, openapi, representation

HEALTH = ("/healthz", "/livez", "/readyz")
OPEN = (*HEALTH, "/version", "/version/")
"""What may be asked without a token."""

_UNSERVED = (".well-known", "debug", "flagz", "metrics", "openid", "statusz")

NOT_FOUND = "404 page not found\n"
HEADERS = {"Cache-Control": "no-cache, private"}
_AGGREGATED = "apidiscovery.k8s.io"
_V3 = "/openapi/v3/"
_V2_PROTOBUF = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
"""How the protobuf form of version 2 is asked for, and how it is called in the answer."""


def answer(sandbox: world.World, request: web.BaseRequest, path: str) -> web.Response:
    """Answer a request for one of them. Raises ApiFailure."""
    if not path.endswith("//"):
        path = path.removesuffix("/") or "/"
    if path.startswith(HEALTH):
        return _health(path, request)
    if path.startswith(_V3):
        return _document(sandbox, path.removeprefix(_V3), request)
    if path == "/openapi/v2" and request.headers.get("Accept", "").startswith(_V2_PROTOBUF[0]):
        return web.Response(body=openapi.V2_PROTOBUF, headers=HEADERS, content_type=_V2_PROTOBUF[1])
    try:
        form = representation.negotiate(request.headers.get("Accept", ""))
    except failure.ApiFailure:
        if path.startswith("/openapi/"):
            return web.Response(status=406, headers=HEADERS)
        raise
    found = _found(sandbox, path, form, request.host)
    if found is None:
        return _missing(path)
    if request.method not in ("GET", "HEAD"):
        raise failure.method_not_allowed()
    body = representation.write(found, representation.Form(form.media_type))
    if _tagged(path, form):
        return _aggregated(body, form, request)
    return web.Response(body=body, headers=HEADERS, content_type=form.media_type)


def _missing(path: str) -> web.Response:
    """404: as a Status where a built-in group or /api itself is known, else in plain text.

    Raises ApiFailure, 501 for what a real server has.
    """
    parts = path.strip("/").split("/")
    if parts[0] in _UNSERVED:
        raise failure.not_implemented(path)
    known = parts[0] == "api" or (parts[0] == "apis" and kinds.builtin_group("".join(parts[1:2])))
    if known and len(parts) > 1:
        raise failure.no_such_path()
    return _not_found()


def _not_found() -> web.Response:
    return web.Response(status=404, text=NOT_FOUND, headers=HEADERS)


def _health(path: str, request: web.BaseRequest) -> web.Response:
    found = discovery.health(path, verbose="verbose" in request.query)
    return _not_found() if found is None else web.Response(text=found, headers=HEADERS)


def _tagged(path: str, form: representation.Form) -> bool:
    return form.group == _AGGREGATED and path in ("/api", "/apis")


def _aggregated(body: bytes, form: representation.Form, request: web.BaseRequest) -> web.Response:
    tag = hashlib.sha512(body).hexdigest().upper()
    headers = {"Cache-Control": "public", "ETag": f'"{tag}"', "Vary": "Accept"}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    kind = f"{form.media_type};g={_AGGREGATED};v=v2;as=APIGroupDiscoveryList"
    return web.Response(body=body, headers={**headers, "Content-Type": kind})


def _found(sandbox: world.World, path: str, form: representation.Form, host: str) -> Any:
    """The document at a path; None where there is none. ``host`` is how the server was called."""
    served = sandbox.kinds
    if _tagged(path, form):
        return discovery.aggregated(served, core=path == "/api")
    if (make := _PLAIN.get(path)) is not None:
        return make(sandbox)
    parts = path.strip("/").split("/")
    if path == "/api":
        return discovery.versions(host)
    if parts[0] == "api" and len(parts) == 2:
        return discovery.resources(served, "", parts[1])
    if parts[0] == "apis" and len(parts) == 2:
        return discovery.group(served, parts[1])
    if parts[0] == "apis" and len(parts) == 3:
        return discovery.resources(served, parts[1], parts[2])
    return None


_PLAIN: Mapping[str, Callable[[world.World], Any]] = {
    "/": lambda sandbox: discovery.root(sandbox.kinds),
    "/version": lambda sandbox: discovery.VERSION,
    "/apis": lambda sandbox: discovery.groups(sandbox.kinds),
    "/openapi/v3": lambda sandbox: sandbox.documents.root(),
    "/openapi/v2": lambda sandbox: sandbox.documents.v2(),
}


def _document(sandbox: world.World, path: str, request: web.BaseRequest) -> web.Response:
    """An OpenAPI document; one that is asked for with its hash may be kept for ever."""
    found = _of_group_version(sandbox.documents, path.split("/"))
    if found is None:
        return web.Response(status=404, headers=HEADERS)
    try:
        representation.negotiate(request.headers.get("Accept", ""))
    except failure.ApiFailure:
        return web.Response(status=406, headers=HEADERS)
    headers = {**HEADERS, "ETag": f'"{found.hash}"', "Vary": "Accept"}
    asked = request.query.get("hash", found.hash)
    if asked != found.hash:
        headers["Location"] = f"{_V3}{path}?hash={found.hash}"
        return web.Response(status=301, headers=headers)
    if "hash" in request.query:
        headers |= {"Cache-Control": "public, immutable", "Expires": _in_a_year()}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    return web.Response(body=found.body, headers=headers, content_type=representation.JSON)


def _of_group_version(documents: openapi.Documents, parts: list[str]) -> openapi.Document | None:
    if parts[0] == "api" and len(parts) == 2:
        return documents.document("", parts[1])
    if parts[0] == "apis" and len(parts) == 3:
        return documents.document(parts[1], parts[2])
    return None


def _in_a_year() -> str:
    later = world.now() + timedelta(days=365)
    return later.strftime("%a, %d %b %Y %H:%M:%S UTC")


def report(error: Exception) -> None:
    """Say on standard error what went wrong within the sandbox itself."""
    traceback.print_exception(error, file=sys.stderr)
