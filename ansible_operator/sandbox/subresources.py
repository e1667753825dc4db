"""The subresources that are no part of the object itself: scale, token, eviction, binding ..."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ansible_operator.sandbox import deletion, failure, kindrules, kinds, options, scale
from ansible_operator.sandbox.reading import decoding
from ansible_operator.sandbox.rights import issuing
from ansible_operator.sandbox.schemas import schema
from ansible_operator.sandbox.standins import budgets

if TYPE_CHECKING:
    from ansible_operator.sandbox import handlers, world

Obj = dict[str, Any]
Found = tuple[int, Obj]
PODS = "pods"
SPECIAL = (
    "attach",
    "binding",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "finalize",
    "log",
    "portforward",
    "proxy",
    "resize",
    "scale",
    "token",
)


def handle(sandbox: world.World, request: handlers.Request) -> Found:
    """Answer a request on one of them. Raises ApiFailure, 501 for those that need containers."""
    at = request.at
    known = kinds.SUBRESOURCES[at.subresource]
    if at.verb not in known.verbs:
        custom = request.resource if request.resource.custom else None
        raise failure.method_not_allowed(custom, at.verb)
    if at.subresource == "eviction":
        _check_eviction(request)
    obj = sandbox.registry.get(request.resource, at.namespace, at.name)
    if at.subresource == "scale":
        return _scale(sandbox, request, obj)
    if at.subresource == "token":
        body = request.spoken(known.speaks())
        return 201, issuing.issue(sandbox.tokens, sandbox.storage, obj, body)
    if at.subresource == "eviction":
        return _evict(sandbox, request, obj)
    if at.subresource == "finalize":
        return _finalize(sandbox, request, obj)
    raise failure.not_implemented(f"{request.resource.plural}/{at.subresource}")


def _scale(sandbox: world.World, request: handlers.Request, obj: Obj) -> Found:
    from ansible_operator.sandbox import handlers

    at, resource = request.at, request.resource
    paths = sandbox.registry.catalogue.scale(resource)
    now = scale.read(obj, paths)
    if at.verb == "get":
        scale.check_readable(obj, resource, paths)
        return 200, now
    if at.verb == "patch" and request.content_type == handlers.APPLY_PATCH:
        raise failure.not_implemented("server-side apply of a scale")
    if at.verb == "update":
        wanted = request.spoken(scale.SCALE)
    else:
        make, read = handlers.maker(sandbox, request)
        of = schema.builtin(scale.SCALE.group, scale.SCALE.version, scale.SCALE.kind)
        made = make(copy.deepcopy(now))
        wanted = decoding.decode_patched(scale.SCALE, made, of, request.write(), read)
    scale.check(wanted, at.name, resource, paths)
    changed = scale.write(obj, wanted, paths)
    where = (resource, at.namespace, at.name)
    found, _ = sandbox.registry.replace(*where, changed, request.write(), "scale")
    return 200, scale.read(found, paths)


def _check_eviction(request: handlers.Request) -> None:
    if (request.body().get("metadata") or {}).get("name") != request.at.name:
        raise failure.bad_request("name in URL does not match name in Eviction object")


def _evict(sandbox: world.World, request: handlers.Request, pod: Obj) -> Found:
    at = request.at
    budgets.check_eviction(sandbox.storage.list(budgets.KEY, at.namespace), pod)
    given = request.body().get("deleteOptions")
    read = decoding.decode_options(given) if given else None
    how = options.delete(request.query, read)
    deletion.delete(sandbox.registry, request.resource, at.namespace, at.name, how)
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    return 201, {**head, "status": "Success", "code": 201}


def _finalize(sandbox: world.World, request: handlers.Request, obj: Obj) -> Found:
    """The finalizers in the spec of a namespace, which only this subresource changes."""
    resource, changed = request.resource, copy.deepcopy(obj)
    body = request.spoken(resource)
    failure.check_name((body.get("metadata") or {}).get("name"), request.at.name)
    wanted = (body.get("spec") or {}).get("finalizers")
    changed["spec"] = {"finalizers": wanted} if wanted else {}
    of = sandbox.registry.catalogue.schema(resource)
    warn = request.warnings.append
    if causes := kindrules.validate(resource, changed, obj, of, request.at.subresource, warn):
        raise failure.invalid(resource, request.at.name, causes)
    return 200, sandbox.registry.finish(resource, changed)
