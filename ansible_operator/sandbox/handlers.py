"""What is done for a request on a resource: one function for each verb, no network.

An Answer is what goes back: a code and an object, a list of objects, or a text. Watches are begun
by the server, which alone can stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_operator.sandbox import deletion, failure, kinds, options, subresources, world
from ansible_operator.sandbox.patches import patching, strategic
from ansible_operator.sandbox.reading import bodies, decoding
from ansible_operator.sandbox.rights import access, attributes
from ansible_operator.sandbox.schemas import schema

Obj = dict[str, Any]
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
READ = (bodies.JSON, bodies.YAML, "application/vnd.kubernetes.protobuf")
NAMED = ("update", "patch")
OPTION_KINDS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}


@dataclass(frozen=True, slots=True)
class Request:
    """One request on a resource, by somebody who may do it."""

    at: attributes.Attributes
    resource: kinds.Resource
    query: options.Query
    user: access.User
    agent: str
    content_type: str
    raw: bytes
    warnings: list[str] = field(default_factory=list)

    def write(self) -> options.Write:
        """The options of a write."""
        kind = OPTION_KINDS.get(self.at.verb, "CreateOptions")
        applies = self.content_type == APPLY_PATCH if self.at.verb == "patch" else None
        return options.write(kind, self.query, self.agent, self.warnings, self.user, applies)

    def body(self) -> Any:
        """The object in the body. Raises ApiFailure 400 and 415."""
        return bodies.read(self.raw, self._readable(), self.resource)

    def deletion(self) -> options.Delete:
        """The options of a deletion. Raises ApiFailure 400, 415 and 422."""
        if not self.raw.strip():
            return options.delete(self.query, None, self.warnings)
        read = bodies.read_options(self.raw, self._readable())
        return options.delete(self.query, decoding.decode_options(read), self.warnings)

    def _readable(self) -> str:
        """The media type of a body that is no patch. Raises ApiFailure 415."""
        given = self.content_type.lower() or bodies.JSON
        if given not in READ:
            raise failure.unsupported_media_type(READ)
        return given

    def spoken(self, resource: kinds.Resource) -> Obj:
        """The body as an object of a built-in kind that is answered and not kept.

        Raises ApiFailure 400 and 415.
        """
        body = replace(self, resource=resource).body()
        of = schema.builtin(resource.group, resource.version, resource.kind)
        return decoding.decode(resource, body, of, self.write())


@dataclass(frozen=True, slots=True)
class Answer:
    """A code with an object or, if ``items`` is not None, a list whose head ``found`` is."""

    code: int
    found: Obj
    items: list[Obj] | None = None


def handle(sandbox: world.World, request: Request) -> Answer:
    """Do what is asked for. Raises ApiFailure."""
    at, resource = request.at, request.resource
    if at.subresource not in ("", *resource.subresources):
        if resource.custom:
            raise failure.not_found(resource, at.name)
        raise failure.no_such_path()
    if at.subresource in subresources.SPECIAL:
        return Answer(*subresources.handle(sandbox, request))
    allowed = kinds.SUBRESOURCES[at.subresource].verbs if at.subresource else resource.verbs
    verb = _VERBS.get(at.verb)
    if resource.custom and at.verb in NAMED and not at.name:
        raise failure.bad_request("name must be provided")
    if verb is None or at.verb not in allowed or (at.verb in NAMED and not at.name):
        raise failure.method_not_allowed(resource if resource.custom else None, at.verb)
    return verb(sandbox, request)


def get(sandbox: world.World, request: Request) -> Answer:
    """One object."""
    at = request.at
    return Answer(200, sandbox.registry.get(request.resource, at.namespace, at.name))


def listed(sandbox: world.World, request: Request) -> Answer:
    """A page of objects."""
    how = options.listing(request.query)
    resource = request.resource
    page = sandbox.lister.page(resource, request.at.namespace, "", how)
    return Answer(200, list_head(resource, page.meta()), page.items)


def list_head(resource: kinds.Resource, meta: Obj) -> Obj:
    """A list without its items; those of custom resources always say where they go on."""
    meta = {"continue": "", **meta} if resource.custom else meta
    return {"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta}


def create(sandbox: world.World, request: Request) -> Answer:
    """A new object; a review is answered and not kept."""
    at, resource = request.at, request.resource
    if at.name:
        raise failure.method_not_allowed()
    if "get" not in resource.verbs:
        body = request.spoken(resource)
        return Answer(201, sandbox.reviews.create(resource, at.namespace, body, request.user))
    how = request.write()
    return Answer(201, sandbox.registry.create(resource, at.namespace, request.body(), how))


def update(sandbox: world.World, request: Request) -> Answer:
    """Another object in the place of the one that is there."""
    at = request.at
    found, created = sandbox.registry.replace(
        request.resource, at.namespace, at.name, request.body(), request.write(), at.subresource
    )
    return Answer(201 if created else 200, found)


def patch(sandbox: world.World, request: Request) -> Answer:
    """A change of an object, in one of the four languages."""
    at, how = request.at, request.write()
    where = (request.resource, at.namespace, at.name)
    if request.content_type == APPLY_PATCH:
        body, told = bodies.read_apply(request.raw, request.resource, how.validation)
        found, created = sandbox.registry.apply(*where, body, how, at.subresource)
        request.warnings.extend(told)
        return Answer(201 if created else 200, found)
    make, read = maker(sandbox, request)
    return Answer(200, sandbox.registry.patch(*where, make, read, how, at.subresource))


def maker(sandbox: world.World, request: Request) -> tuple[Callable[[Obj], Obj], bodies.Patch]:
    """What a patch makes of an object, and the patch. Raises ApiFailure 400 and 415."""
    resource, kind = request.resource, request.content_type
    offered = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
    if not resource.custom:
        offered.insert(2, STRATEGIC_PATCH)
    if kind not in offered:
        raise failure.unsupported_media_type(offered if resource.custom else ())
    read = bodies.read_patch(request.raw, kind)
    if kind == JSON_PATCH:
        return (lambda obj: patching.json_patch(obj, read.value)), read
    if kind == MERGE_PATCH:
        return (lambda obj: patching.merge_patch(obj, read.value)), read
    schema = sandbox.registry.catalogue.schema(resource)
    return (lambda obj: strategic.merge(obj, read.value, schema)), read


def delete(sandbox: world.World, request: Request) -> Answer:
    """An object less, at once or in steps."""
    at, how = request.at, request.deletion()
    where = (request.resource, at.namespace, at.name)
    return Answer(200, deletion.delete(sandbox.registry, *where, how))


def delete_collection(sandbox: world.World, request: Request) -> Answer:
    """All objects that are selected; the answer lists them as they were."""
    resource, at, how = request.resource, request.at, request.deletion()
    page = sandbox.lister.page(resource, at.namespace, "", options.listing(request.query))
    for obj in page.items:
        meta = obj["metadata"]
        deletion.delete(sandbox.registry, resource, meta.get("namespace", ""), meta["name"], how)
    return Answer(200, list_head(resource, page.meta()), page.items)


_VERBS: Mapping[str, Callable[[world.World, Request], Answer]] = {
    "get": get,
    "list": listed,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}
