"""Pure: bodies of requests, with the mark of their owner put in and nothing else changed.

The mark is spliced into the text as it came. Whoever reads a body and writes it anew changes it:
numbers lose digits, texts such as ``on`` or ``2020-01-01`` become something else, comments and
double keys vanish, and the API server would see another object than the one that was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from ansible_operator import objects, ownership
from ansible_operator.kube.proxy import jsontext, yamltext
from ansible_operator.kube.proxy.jsontext import BodyError as BodyError  # as bodies.BodyError

JSON = "application/json"
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
APPLY_CBOR = "application/apply-patch+cbor"

EDITABLE = frozenset({JSON, YAML, APPLY})
"""Bodies that can be rewritten; for all others the object is adopted once it is there."""

_Node = TypeVar("_Node")


class _Document(Protocol[_Node]):
    """A text that is edited by splicing. ``child`` is None where there is nothing, or a null."""

    root: _Node

    def child(self, node: _Node, key: str) -> _Node | None: ...

    def value(self, node: _Node) -> Any: ...

    def put(self, node: _Node, entries: Mapping[str, Any]) -> str: ...

    def append(self, node: _Node, item: Any) -> str: ...


def media_type(headers: Mapping[str, str]) -> str:
    """The content type of a request, in lower case and without parameters.

    What says nothing is read as JSON by the API server.
    """
    return headers.get("content-type", JSON).partition(";")[0].strip().lower() or JSON


def keep(body: bytes, media: str, claims: Iterable[ownership.Claim]) -> bytes:
    """The body with what other owners have put on the live object.

    Owner references are left alone in a body that has such a list, and each annotation that it
    has: then it is the role's word who the owners are. Raises BodyError as :func:`own`.
    """
    named: list[objects.Obj] = []
    for claim in claims:

        def choose(obj: objects.Obj, claim: ownership.Claim = claim) -> ownership.Claim | None:
            named.append(obj)  # the first is the body as it came
            return _unsaid(named[0], claim)

        body = own(body, media, choose)
    return body


def _unsaid(obj: objects.Obj, claim: ownership.Claim) -> ownership.Claim | None:
    if claim.reference is not None:
        return None if "ownerReferences" in objects.metadata(obj) else claim
    said = objects.annotations(obj)
    left = {key: text for key, text in claim.annotations.items() if key not in said}
    return ownership.Claim(annotations=left) if left else None


def own(body: bytes, media: str, claim: Callable[[objects.Obj], ownership.Claim | None]) -> bytes:
    """The body of one object with the claim in its metadata.

    ``claim`` is asked once, with an object of which only the metadata is told. With nothing to
    add the body is the very same. Raises BodyError for what cannot be read.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as exc:
        raise BodyError(f"it is not UTF-8: {exc}") from exc
    if media == JSON or text.lstrip().startswith("{"):
        try:
            return _spliced(jsontext.Document(text), body, claim)
        except BodyError:
            if media == JSON:
                raise
    return _spliced(yamltext.Document(text), body, claim)


def _spliced(
    document: _Document[_Node],
    body: bytes,
    claim: Callable[[objects.Obj], ownership.Claim | None],
) -> bytes:
    meta = document.child(document.root, "metadata")
    obj = {"metadata": {} if meta is None else _map(document.value(meta), "metadata")}
    wanted = claim(obj)
    needed = ownership.missing(obj, wanted) if wanted else None
    return body if needed is None else _with(document, meta, needed).encode()


def _with(document: _Document[_Node], meta: _Node | None, needed: ownership.Claim) -> str:
    key, content = _entry(needed)
    if meta is None:
        return document.put(document.root, {"metadata": {key: content}})
    place = document.child(meta, key)
    if place is None:
        return document.put(meta, {key: content})
    if needed.reference is None:
        _map(document.value(place), f"metadata.{key}")
        return document.put(place, dict(needed.annotations))
    if not isinstance(document.value(place), list):
        raise BodyError(f"its metadata.{key} is no list")
    return document.append(place, dict(needed.reference))


def _entry(needed: ownership.Claim) -> tuple[str, Any]:
    if needed.reference is None:
        return "annotations", dict(needed.annotations)
    return "ownerReferences", [dict(needed.reference)]


def _map(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BodyError(f"its {name} is no map")
    return value
