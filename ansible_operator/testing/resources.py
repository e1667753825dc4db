"""Objects for tests: read from files, apply, read, patch and delete them by kind and name."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from ansible_operator import errors, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import discovery

Source: TypeAlias = Path | str | Mapping[str, Any]
"""A manifest file or a directory of them, the text of one, or an object."""

MANAGER = "ansible-operator-testing"
SERVED_LIMIT = 30.0
"""Seconds within which the kind of a CRD that was just made has to be served."""

_APPLY = "application/apply-patch+yaml"
_SUFFIXES = (".yaml", ".yml", ".json")
_OF_SERVER = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp")


def documents(source: Source) -> list[objects.Obj]:
    """The objects of a source in order; a directory's files by name, without kustomizations.

    Raises ValueError for what holds something else than objects, OSError for an absent file.
    """
    if isinstance(source, Mapping):
        return [dict(source)]
    if isinstance(source, str):
        return list(_parse(source, "the text"))
    paths = [source]
    if source.is_dir():
        paths = sorted(path for path in source.iterdir() if path.suffix in _SUFFIXES)
    found = [obj for path in paths for obj in _parse(path.read_text("utf-8"), str(path))]
    return [obj for obj in found if obj["kind"] != "Kustomization"]


def apply(client: kube_client.Client, obj: objects.Obj, namespace: str) -> objects.Obj:
    """Server-side apply; ``namespace`` is for an object that names none. Raises KubeError."""
    given = dict(objects.metadata(obj))
    resource = _served(client, objects.gvk_of(obj))
    if resource.namespaced:
        given["namespace"] = given.get("namespace") or namespace or "default"
    body = {key: value for key, value in obj.items() if key != "status"}
    body["metadata"] = {key: value for key, value in given.items() if key not in _OF_SERVER}
    target = discovery.path(resource, given.get("namespace", ""), str(given.get("name", "")))
    query = {"fieldManager": MANAGER, "force": "true"}
    applied = client.request("PATCH", target, query=query, body=body, content_type=_APPLY)
    if obj["kind"] == "CustomResourceDefinition":
        _await_kind(client, applied)
    return applied


def path(client: kube_client.Client, api_version: str, kind: str, namespace: str, name: str) -> str:
    """Where an object is. Raises KubeError for a kind that is not served."""
    gvk = objects.gvk_of({"apiVersion": api_version, "kind": kind})
    return discovery.path(_served(client, gvk), namespace, name)


def path_of(client: kube_client.Client, obj: Mapping[str, Any]) -> str:
    """Where an object that says what it is was found. Raises KubeError."""
    where = objects.namespace(obj), objects.name(obj)
    return path(client, str(obj.get("apiVersion")), str(obj.get("kind")), *where)


def read(client: kube_client.Client, target: str) -> objects.Obj | None:
    """The object at a path, None where there is none. Raises KubeError."""
    try:
        return client.request("GET", target)
    except errors.NotFoundError:
        return None


def _parse(text: str, where: str) -> Iterator[objects.Obj]:
    for document in yaml.safe_load_all(text):
        if document is None:
            continue
        if not isinstance(document, dict) or not {"apiVersion", "kind"} <= document.keys():
            raise ValueError(f"{where} holds something that is no object: {str(document)[:200]}")
        if document["kind"].endswith("List") and "items" in document:
            yield from document["items"]
        else:
            yield document


def _served(client: kube_client.Client, gvk: objects.GVK) -> discovery.Resource:
    resource = discovery.resolve(client, gvk)
    if resource is None:
        raise errors.NotFoundError(
            f"{client.server} does not serve {gvk}; is its CRD applied?", status=404
        )
    return resource


def _await_kind(client: kube_client.Client, crd: objects.Obj) -> None:
    spec = crd["spec"]
    kinds = [
        objects.GVK(spec["group"], version["name"], spec["names"]["kind"])
        for version in spec["versions"]
        if version["served"]
    ]
    deadline = time.monotonic() + SERVED_LIMIT
    while not all(discovery.resolve(client, gvk) for gvk in kinds):
        if time.monotonic() > deadline:
            raise errors.KubeError(
                f"{objects.name(crd)} is not served after {SERVED_LIMIT:.0f} s: {crd.get('status')}"
            )
        time.sleep(0.05)
