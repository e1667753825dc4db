"""OpenAPI: the schemas and paths of what is served, as kubectl reads them for explain and apply.

There is a document per group version. What it says of built-in kinds comes from the definitions
of schema.py; custom kinds are in the documents of their groups.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ansible_operator import __version__
from ansible_operator.sandbox import kinds
from ansible_operator.sandbox.schemas import schema
from ansible_operator.sandbox.views import operations

Obj = dict[str, Any]
Schemas = Callable[[kinds.Resource], schema.Schema]
Served = tuple[kinds.Resource, ...]

V2, V3 = "#/definitions/", "#/components/schemas/"
_INFO = {"title": "Kubernetes", "version": "1.37"}
_SECURITY = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}
V2_PROTOBUF = b"\x0a\x032.0\x12\x12\x0a\x0aKubernetes\x12\x041.37\x42\x00\x4a\x00"
"""A version 2 document in protobuf that describes nothing: no paths and no definitions.

kubectl wants one for kinds that are in no version 3 document, and finds that it has none either.
"""

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_ALWAYS = ("APIResourceList", "DeleteOptions", "Patch", "Status")


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it goes out, and the hash that its URL and its ETag carry."""

    body: bytes
    hash: str

    @classmethod
    def of(cls, content: Obj) -> Document:
        """The document with this content."""
        body = json.dumps(content, separators=(",", ":")).encode()
        return cls(body, hashlib.sha512(body).hexdigest().upper())


@dataclass(slots=True)
class Documents:
    """All documents; those of custom kinds are made again when a CRD changes."""

    served: kinds.Kinds
    schemas: Schemas
    _made: dict[tuple[str, str], Document] = field(default_factory=dict)
    _revision: int = -1

    def root(self) -> Obj:
        """/openapi/v3: where the document of each group version is."""
        found = {}
        for group, listed in self.served.group_versions().items():
            for version in listed:
                path = f"apis/{group}/{version}" if group else f"api/{version}"
                url = f"/openapi/v3/{path}?hash={self.hash(group, version)}"
                found[path] = {"serverRelativeURL": url}
        return {"paths": found}

    def hash(self, group: str, version: str) -> str:
        """What changes when the document does; that of a built-in group does with a release."""
        mine = self._of(group, version)
        if any(resource.custom for resource in mine):
            return self._custom(group, version).hash
        return hashlib.sha512(f"{__version__} {mine}".encode()).hexdigest().upper()

    def document(self, group: str, version: str) -> Document | None:
        """The document of a group version; None if there is none."""
        mine = self._of(group, version)
        if not mine:
            return None
        if any(resource.custom for resource in mine):
            return self._custom(group, version)
        return Document(_builtin(mine), self.hash(group, version))

    def v2(self) -> Obj:
        """/openapi/v2: everything in one document of the old form."""
        mine = self.served.all()
        return {
            "swagger": "2.0",
            "info": _INFO,
            "paths": dict(operations.of(mine, _reference(V2), old=True)),
            "definitions": self._all(mine, V2),
            "securityDefinitions": _SECURITY,
            "security": [{"BearerToken": []}],
        }

    def _of(self, group: str, version: str) -> Served:
        found = (r for r in self.served.all() if (r.group, r.version) == (group, version))
        return tuple(sorted(found, key=lambda resource: resource.plural))

    def _custom(self, group: str, version: str) -> Document:
        if self._revision != self.served.revision:
            self._made.clear()
            self._revision = self.served.revision
        if (group, version) not in self._made:
            mine = self._of(group, version)
            self._made[group, version] = Document.of(_content(mine, self._all(mine, V3)))
        return self._made[group, version]

    def _all(self, mine: Iterable[kinds.Resource], prefix: str) -> Obj:
        found = _definitions(_roots(mine), prefix)
        for resource in (resource for resource in mine if resource.custom):
            found |= _of_custom(resource, self.schemas(resource), prefix)
        return found


@functools.lru_cache(maxsize=64)
def _builtin(mine: Served) -> bytes:
    return Document.of(_content(mine, _definitions(_roots(mine), V3))).body


def _content(mine: Served, schemas: Obj) -> Obj:
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": dict(operations.of(mine, _reference(V3))),
        "components": {"schemas": schemas, "securitySchemes": _SECURITY},
    }


def name_of(group: str, version: str, kind: str, *, custom: bool = False) -> str:
    """The name of a kind's definition."""
    if custom:
        return ".".join((*reversed(group.split(".")), version, kind))
    return _names()[group, version, kind]


def _reference(prefix: str) -> operations.Reference:
    def reference(group: str, version: str, kind: str, custom: bool) -> Obj:
        if kind in _ALWAYS:
            return {"$ref": f"{prefix}{_META}{kind}"}
        return {"$ref": prefix + name_of(group, version, kind, custom=custom)}

    return reference


@functools.cache
def _names() -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, definition in schema.definitions().items()
        for kind in definition.get("x-kubernetes-group-version-kind", ())
    }


def _roots(mine: Iterable[kinds.Resource]) -> set[str]:
    """The definitions that the paths of resources name."""
    found = {_META + kind for kind in _ALWAYS}
    spoken = {kind for resource in mine for kind in _spoken_by(resource)}
    if any(resource.custom for resource in mine):
        found |= {_META + "ListMeta", _META + "ObjectMeta"}
    return found | {name for kind, name in _names().items() if kind in spoken}


def _spoken_by(resource: kinds.Resource) -> Iterator[tuple[str, str, str]]:
    own = (resource.group, resource.version)
    yield (*own, resource.kind)
    yield (*own, resource.list_kind)
    for sub in (kinds.SUBRESOURCES[name] for name in resource.subresources):
        yield (*((sub.group, sub.version) if sub.group else own), sub.kind)


def _definitions(names: set[str], prefix: str) -> Obj:
    """Definitions with all that they refer to."""
    found: Obj = {}
    open_ends = set(names)
    while open_ends:
        name = open_ends.pop()
        found[name] = _of_builtin(name, prefix)
        open_ends |= _referred(name) - found.keys()
    return dict(sorted(found.items()))


@functools.cache
def _referred(name: str) -> frozenset[str]:
    text = json.dumps(schema.definitions()[name])
    return frozenset(re.findall(rf'"\$ref": "{re.escape(schema.PREFIX)}([^"]+)"', text))


def _of_builtin(name: str, prefix: str) -> Obj:
    if name in (_INT_OR_STRING, _QUANTITY):
        return _either(name, prefix)
    found = _shaped(schema.definitions()[name], prefix, drop=("enum",))
    if "x-kubernetes-group-version-kind" in found:
        spoken = found["x-kubernetes-group-version-kind"]
        found["x-kubernetes-group-version-kind"] = spoken[:1] if len(spoken) > 1 else spoken
    return found


def _either(name: str, prefix: str) -> Obj:
    number = "integer" if name == _INT_OR_STRING else "number"
    shape: Obj = {"type": "string"}
    if prefix == V3:
        shape = {"oneOf": [{"type": number}, {"type": "string"}]}
    return shape | ({"format": "int-or-string"} if name == _INT_OR_STRING else {})


def _of_custom(resource: kinds.Resource, given: schema.Schema, prefix: str) -> Obj:
    name = name_of(resource.group, resource.version, resource.kind, custom=True)
    listed = name_of(resource.group, resource.version, resource.list_kind, custom=True)
    described = schema.definitions()["io.k8s.api.core.v1.ConfigMapList"]["properties"]
    head = {key: described[key] for key in ("apiVersion", "kind")}
    meta = {**schema.META, "description": "Standard object's metadata."}
    whole = {**given, "properties": {**given.get("properties", {}), **head, "metadata": meta}}
    items = {"type": "array", "items": {"$ref": schema.PREFIX + name}}
    list_meta = {"$ref": f"{schema.PREFIX}{_META}ListMeta", "description": "List metadata."}
    many = {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {**head, "items": items, "metadata": list_meta},
    }
    return {
        name: _shaped(whole, prefix) | _spoken(resource, resource.kind),
        listed: _shaped(many, prefix) | _spoken(resource, resource.list_kind),
    }


def _spoken(resource: kinds.Resource, kind: str) -> Obj:
    spoken = {"group": resource.group, "kind": kind, "version": resource.version}
    return {"x-kubernetes-group-version-kind": [spoken]}


def _shaped(given: schema.Schema, prefix: str, drop: tuple[str, ...] = ()) -> Obj:
    """A schema of schema.py as the documents have it: types are one word, references differ."""
    found = {key: value for key, value in given.items() if key not in drop}
    ref = found.pop("$ref", None)
    if ref is not None:
        target = {"$ref": prefix + ref.removeprefix(schema.PREFIX)}
        return {**found, "allOf": [target]} if found and prefix == V3 else {**found, **target}
    if found.get("x-kubernetes-int-or-string") and prefix == V3:
        found.setdefault("anyOf", [{"type": "integer"}, {"type": "string"}])
    if isinstance(found.get("type"), list):
        found["type"] = found["type"][0]
    again = functools.partial(_shaped, prefix=prefix, drop=drop)
    return {key: _part(key, value, again) for key, value in found.items()}


def _part(key: str, value: Any, shaped: Callable[[Obj], Obj]) -> Any:
    """A part of a schema, with the schemas in it as they are to be."""
    if key == "properties":
        return {name: shaped(sub) for name, sub in value.items()}
    if key in ("items", "additionalProperties", "not") and isinstance(value, dict):
        return shaped(value)
    if key in ("allOf", "anyOf", "oneOf"):
        return [shaped(sub) for sub in value]
    return value
