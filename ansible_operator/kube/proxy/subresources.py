"""Pure: which requests to subresources are writes of the object that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_operator import children, objects
from ansible_operator.kube.proxy import interceptor

_CONNECTIONS = frozenset({"exec", "attach", "portforward", "proxy", "log"})
_EVICTION = "eviction"
_SCALE = "Scale"


def is_write(request: interceptor.Request) -> bool:
    """Whether an answer to this request can tell of a write. Connections are left alone."""
    if not request.subresource:
        return bool(request.name) != (request.verb in ("create", "deletecollection"))
    return request.subresource not in _CONNECTIONS and "dryRun" not in request.query


def verb(request: interceptor.Request, kind: children.ChildKind, obj: Mapping[str, Any]) -> str:
    """What was done to the parent object, from the answer; empty for nothing, such as a token.

    A Scale has the uid and the resource version of its parent. An eviction is a deletion.
    """
    if request.subresource == _EVICTION:
        return "delete"
    is_parent = obj.get("kind") in (kind.gvk.kind, _SCALE) and objects.resource_version(obj)
    return request.verb if is_parent else ""
