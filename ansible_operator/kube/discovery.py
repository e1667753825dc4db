"""What the API server serves: the resource of a kind, and which of several versions to run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from urllib import parse

from ansible_operator import errors, objects, watches
from ansible_operator.kube import asking


@dataclass(frozen=True, slots=True)
class Resource:
    """How a kind is asked for: ``plural`` is the name in URLs and RBAC rules."""

    gvk: objects.GVK
    plural: str
    namespaced: bool
    has_status: bool

    def __str__(self) -> str:
        return f"{self.plural}.{self.gvk.group}" if self.gvk.group else self.plural


@dataclass(frozen=True, slots=True)
class Choice:
    """Which watches run; a superseded one is paired with the watch that runs in its place."""

    running: tuple[watches.Watch, ...] = ()
    superseded: tuple[tuple[watches.Watch, watches.Watch], ...] = ()


def resolve(client: asking.Asks, gvk: objects.GVK) -> Resource | None:
    """Ask for the resource of a kind; None while it is not served. Raises KubeError.

    The list of groups is asked too: right after a CRD was created its group is served some
    moments before it is listed, and clients that start from the list would not find it.
    """
    if gvk.group and gvk.version not in versions(client, gvk.group):
        return None
    try:
        return find(resources(client, gvk), gvk)
    except errors.NotFoundError:
        return None


def resources(client: asking.Asks, gvk: objects.GVK) -> objects.Obj:
    """The APIResourceList of a kind's version, one request. Raises KubeError."""
    return client.request("GET", _root(gvk))


def versions(client: asking.Asks, group: str) -> list[str]:
    """The served versions of a named group, preferred first; empty while it is not served."""
    try:
        answer = client.request("GET", f"/apis/{parse.quote(group, safe='')}")
    except errors.NotFoundError:
        return []
    return [str(entry.get("version")) for entry in answer.get("versions") or ()]


def find(resource_list: objects.Obj, gvk: objects.GVK) -> Resource | None:
    """Pick a kind out of an APIResourceList."""
    entries: list[dict[str, Any]] = list(resource_list.get("resources") or ())
    names = {str(entry.get("name")) for entry in entries}
    for entry in entries:
        plural = str(entry.get("name"))
        if entry.get("kind") == gvk.kind and "/" not in plural:
            return Resource(gvk, plural, bool(entry.get("namespaced")), f"{plural}/status" in names)
    return None


def path(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The URL path of a collection, an object, or a subresource of an object."""
    parts = [_root(resource.gvk)]
    if resource.namespaced and namespace:
        parts += ["namespaces", parse.quote(namespace, safe="")]
    parts += [resource.plural]
    if name:
        parts += [parse.quote(name, safe="")]
    if subresource:
        parts += [subresource]
    return "/".join(parts)


def choose(listed: Iterable[watches.Watch], served: Collection[objects.GVK]) -> Choice:
    """Of several versions of one kind run only the newest that is served.

    They are views of the same stored objects: running each would run every object several times.
    Kinds that are not served are in neither part of the answer.
    """
    best: dict[tuple[str, str], watches.Watch] = {}
    candidates = [watch for watch in listed if watch.gvk in served]
    for watch in candidates:
        name = (watch.gvk.group, watch.gvk.kind)
        if name not in best or _priority(watch) > _priority(best[name]):
            best[name] = watch
    pairs = [(watch, best[watch.gvk.group, watch.gvk.kind]) for watch in candidates]
    return Choice(
        tuple(watch for watch, winner in pairs if watch is winner),
        tuple((watch, winner) for watch, winner in pairs if watch is not winner),
    )


def _priority(watch: watches.Watch) -> tuple[int, int, int, str]:
    return objects.version_priority(watch.gvk.version)


def _root(gvk: objects.GVK) -> str:
    version = parse.quote(gvk.version, safe="")
    return f"/apis/{parse.quote(gvk.group, safe='')}/{version}" if gvk.group else f"/api/{version}"
