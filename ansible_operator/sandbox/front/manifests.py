"""Objects from YAML files, created through the API when a sandbox starts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator.sandbox.reading import yamltext

Obj = dict[str, Any]
Ask = Callable[[str, str, Any], tuple[int, Obj]]
"""Send a request: method, path and body; the answer's status and body."""

CRD = "CustomResourceDefinition"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SUFFIXES = (".yaml", ".yml", ".json")
_SEPARATOR = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
SERVED_LIMIT = 30.0
"""Seconds within which the kind of a CRD that was just created has to be served."""


class ManifestError(Exception):
    """A file cannot be read or an object not be created; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Document:
    """An object, and where it was found: the file, and the document in it; empty ones count not."""

    object: Obj
    where: str


def crds(directory: Path) -> list[Document]:
    """The CRDs in the files of a directory. Raises ManifestError, also if there are none."""
    try:
        paths = sorted(path for path in directory.iterdir() if path.suffix in SUFFIXES)
    except OSError as error:
        raise ManifestError(f"--crds {directory}: {error.strerror}") from error
    found = [document for path in paths for document in read(path)]
    found = [document for document in found if document.object["kind"] == CRD]
    if not found:
        raise ManifestError(f"--crds {directory}: there is no {CRD} in its YAML files")
    return found


def read(path: Path) -> list[Document]:
    """The objects in a file, those of lists one by one. Raises ManifestError."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ManifestError(f"{path}: this is no text: {error}") from error
    return list(_objects(path, _SEPARATOR.split(text)))


def _objects(path: Path, texts: Iterable[str]) -> Iterator[Document]:
    number = 1
    for text in texts:
        where = f"{path}, document {number}"
        try:
            found, _ = yamltext.read(text)
        except yamltext.Unreadable as error:
            raise ManifestError(f"{where}: {error}") from error
        if found is None:
            continue
        number += 1
        if not isinstance(found, dict) or not {"apiVersion", "kind"} <= found.keys():
            raise ManifestError(f"{where}: this is no object: it has no apiVersion and kind")
        if str(found["kind"]).endswith("List") and "items" in found:
            items = found["items"] or ()
            yield from (Document(one, f"{where}, item {n}") for n, one in enumerate(items, 1))
        else:
            yield Document(found, where)


def create(documents: Iterable[Document], ask: Ask) -> None:
    """Create all objects, or bring those that are there to what the files say.

    Returns when the kinds of CRDs are served. Raises ManifestError with the server's words.
    """
    for document in documents:
        obj = document.object
        try:
            collection, named = _paths(obj, ask)
            found = _put(obj, collection, named, ask)
            if obj["kind"] == CRD:
                _await(found, ask)
        except ManifestError as error:
            raise ManifestError(f"{document.where}: {error}") from None


def _put(obj: Obj, collection: str, named: str, ask: Ask) -> Obj:
    code, answer = ask("POST", collection, obj)
    if code == 409 and answer.get("reason") == "AlreadyExists":
        version = _asked(ask, "GET", named)["metadata"]["resourceVersion"]
        meta = {**(obj.get("metadata") or {}), "resourceVersion": version}
        return _asked(ask, "PUT", named, {**obj, "metadata": meta})
    return _checked(code, answer)


def _paths(obj: Obj, ask: Ask) -> tuple[str, str]:
    """Where objects of this kind are created, and where this one is then."""
    api_version, kind = str(obj["apiVersion"]), str(obj["kind"])
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    resource = _resource(root, kind, ask)
    if resource is None:
        raise ManifestError(f"the server does not serve {kind} of {api_version}; is its CRD given?")
    meta = obj.get("metadata") or {}
    namespace = meta.get("namespace") or "default"
    middle = f"/namespaces/{namespace}" if resource["namespaced"] else ""
    collection = f"{root}{middle}/{resource['name']}"
    return collection, f"{collection}/{meta.get('name')}"


def _resource(root: str, kind: str, ask: Ask) -> Obj | None:
    if not _served(root, ask):
        return None
    served = _asked(ask, "GET", root)["resources"]
    found = (one for one in served if one["kind"] == kind and "/" not in one["name"])
    return next(found, None)


def _served(root: str, ask: Ask) -> bool:
    if not root.startswith("/apis/"):
        return root == "/api/v1"
    groups = _asked(ask, "GET", "/apis")["groups"]
    return root in [f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"]]


def _await(crd: Obj, ask: Ask) -> None:
    spec = crd["spec"]
    kind = spec["names"]["kind"]
    roots = [f"/apis/{spec['group']}/{v['name']}" for v in spec["versions"] if v["served"]]
    deadline = time.monotonic() + SERVED_LIMIT
    while not all(_resource(root, kind, ask) for root in roots):
        if time.monotonic() > deadline:
            name = crd["metadata"]["name"]
            status = _asked(ask, "GET", f"{_CRDS}/{name}").get("status")
            raise ManifestError(f"{kind} is not served after {SERVED_LIMIT:.0f} s: {status}")
        time.sleep(0.02)


def _asked(ask: Ask, method: str, path: str, body: Any = None) -> Obj:
    return _checked(*ask(method, path, body))


def _checked(code: int, answer: Obj) -> Obj:
    if not 200 <= code < 300:
        raise ManifestError(str(answer.get("message", answer)))
    return answer
