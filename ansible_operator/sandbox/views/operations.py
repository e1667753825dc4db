"""The paths of OpenAPI documents: what can be asked of each resource, with which parameters.

kubectl reads from them which parameters a kind's requests take; the texts of the real documents
are not in them, and neither are the old paths of watches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ansible_operator.sandbox import kinds

Obj = dict[str, Any]
Reference = Callable[[str, str, str, bool], Obj]
"""The reference to the definition of a kind: group, version, kind, whether it is custom."""

_WRITE = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}
_DELETE = {
    "dryRun": "string",
    "gracePeriodSeconds": "integer",
    "orphanDependents": "boolean",
    "propagationPolicy": "string",
}
_LIST = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_PARAMETERS = {
    "list": _LIST,
    "create": _WRITE,
    "deletecollection": _LIST | _DELETE,
    "get": {},
    "update": _WRITE,
    "patch": {**_WRITE, "force": "boolean"},
    "delete": _DELETE,
}
_OF_COLLECTION = ("list", "create", "deletecollection")
_METHODS = {
    "list": "get",
    "create": "post",
    "deletecollection": "delete",
    "get": "get",
    "update": "put",
    "patch": "patch",
    "delete": "delete",
}
_NAMES = {"get": "read", "update": "replace", "deletecollection": "delete"}
_BODIES = {"delete": "DeleteOptions", "deletecollection": "DeleteOptions", "patch": "Patch"}
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


def of(
    served: Iterable[kinds.Resource], reference: Reference, *, old: bool = False
) -> Iterator[tuple[str, Obj]]:
    """The paths of resources, each with its operations. ``old`` is the form of version 2."""
    for resource in served:
        where = "{namespace}" if resource.namespaced else ""
        if resource.namespaced and "list" in resource.verbs:
            about = _About(resource, None, reference, old, everywhere=True)
            yield resource.path(), about.path(("list",))
        collection = [verb for verb in _OF_COLLECTION if verb in resource.verbs]
        about = _About(resource, None, reference, old)
        yield resource.path(where), about.path(collection)
        single = [v for v in resource.verbs if v in _METHODS and v not in _OF_COLLECTION]
        if single:
            yield resource.path(where, "{name}"), about.path(single)
        for sub in (kinds.SUBRESOURCES[name] for name in resource.subresources):
            if sub.kind.endswith("Options"):  # connections, which are not served
                continue
            about = _About(resource, sub, reference, old)
            yield f"{resource.path(where, '{name}')}/{sub.name}", about.path(sub.verbs)


class _About:
    """The operations of one path."""

    def __init__(
        self,
        resource: kinds.Resource,
        sub: kinds.Subresource | None,
        reference: Reference,
        old: bool,
        *,
        everywhere: bool = False,
    ) -> None:
        self._resource, self._sub, self._old = resource, sub, old
        self._reference, self._everywhere = reference, everywhere
        own = sub is None or not sub.group
        self._group = resource.group if own or sub is None else sub.group
        self._version = resource.version if own or sub is None else sub.version
        self._kind = resource.kind if sub is None else sub.kind or resource.kind

    def path(self, verbs: Iterable[str]) -> Obj:
        """The operations, and the parameters that they share."""
        names = ["namespace"] if self._resource.namespaced and not self._everywhere else []
        names += ["name"] if self._sub or "get" in verbs else []
        shared = [self._parameter(name, "string", "path") for name in names]
        found = {_METHODS[verb]: self._operation(verb) for verb in verbs}
        return {**found, "parameters": [*shared, self._parameter("pretty", "string", "query")]}

    def _parameter(self, name: str, kind: str, place: str) -> Obj:
        shape = {"type": kind, "uniqueItems": True}
        found: Obj = {"name": name, "in": place, **({"required": True} if place == "path" else {})}
        return found | (shape if self._old else {"schema": shape})

    def _operation(self, verb: str) -> Obj:
        given = _PARAMETERS[verb].items()
        parameters = [self._parameter(name, kind, "query") for name, kind in given]
        kind = {"group": self._group, "version": self._version, "kind": self._kind}
        action = verb if verb in ("list", "deletecollection") else _METHODS[verb]
        return {
            "tags": [_tag(self._resource)],
            "operationId": self._id(verb),
            **self._body(verb, parameters),
            "responses": {"200": self._response(verb), "401": {"description": "Unauthorized"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
        }

    def _id(self, verb: str) -> str:
        resource = self._resource
        version = resource.version[:1].upper() + resource.version[1:]
        collection = "Collection" if verb == "deletecollection" else ""
        scope = "Namespaced" if resource.namespaced and not self._everywhere else ""
        sub = self._sub.name.capitalize() if self._sub else ""
        end = "ForAllNamespaces" if self._everywhere else sub
        tag = _tag(resource).partition("_")[0]
        group = tag[:1].upper() + tag[1:]
        name = _NAMES.get(verb, verb)
        return f"{name}{group}{version}{collection}{scope}{resource.kind}{end}"

    def _body(self, verb: str, parameters: list[Obj]) -> Obj:
        if verb in ("get", "list"):
            return {"parameters": parameters} if parameters else {}
        shape = self._refer(_BODIES.get(verb, self._kind))
        if self._old:
            return {"parameters": [{"name": "body", "in": "body", "schema": shape}, *parameters]}
        patches = _PATCHES[: 3 if self._resource.custom else 4]
        types = patches if verb == "patch" else ("*/*",)
        body: Obj = {"content": {kind: {"schema": shape} for kind in types}}
        return {"parameters": parameters, "requestBody": body}

    def _response(self, verb: str) -> Obj:
        kind = self._resource.list_kind if verb == "list" else self._kind
        shape = self._refer("Status" if verb.startswith("delete") else kind)
        if self._old:
            return {"description": "OK", "schema": shape}
        return {"description": "OK", "content": {"application/json": {"schema": shape}}}

    def _refer(self, kind: str) -> Obj:
        custom = self._resource.custom and self._group == self._resource.group
        return self._reference(self._group, self._version, kind, custom)


def _tag(resource: kinds.Resource) -> str:
    """``apps_v1``, ``rbacAuthorization_v1``."""
    words = re.split(r"[.-]", resource.group.removesuffix(".k8s.io") or "core")
    return words[0] + "".join(word.capitalize() for word in words[1:]) + f"_{resource.version}"
