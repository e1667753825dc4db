"""Which resources are served: the built-in ones of kinds.yaml, and those that CRDs bring."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml

VERBS = {
    "c": "create",
    "d": "delete",
    "D": "deletecollection",
    "g": "get",
    "l": "list",
    "p": "patch",
    "u": "update",
    "w": "watch",
}
UNSERVED = (
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "resource.k8s.io",
    "storagemigration.k8s.io",
    "bindings",
    "componentstatuses",
    "csinodes.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io",
    "ipaddresses.networking.k8s.io",
    "servicecidrs.networking.k8s.io",
    "volumeattributesclasses.storage.k8s.io",
)
"""Groups and resources that a real server has and this one has not."""

Key = tuple[str, str]
"""What an object is stored under, whatever version it is read in: group and plural."""


@dataclass(frozen=True, slots=True)
class Subresource:
    """What a subresource speaks: its kind (empty: that of its resource) and its verbs."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    group: str = ""
    version: str = ""

    def speaks(self) -> Resource:
        """Its own kind, as if that were a resource."""
        word = self.kind.lower()
        return Resource(self.group, self.version, self.kind, f"{word}s", word)


_READ_WRITE = ("get", "patch", "update")
_CONNECT = ("create", "get")
_PROXY = ("create", "delete", "get", "patch", "update")
SUBRESOURCES = {
    found.name: found
    for found in (
        Subresource("status", _READ_WRITE),
        Subresource("scale", _READ_WRITE, "Scale", "autoscaling", "v1"),
        Subresource("finalize", ("update",)),
        Subresource("token", ("create",), "TokenRequest", "authentication.k8s.io", "v1"),
        Subresource("eviction", ("create",), "Eviction", "policy", "v1"),
        Subresource("binding", ("create",), "Binding"),
        Subresource("ephemeralcontainers", _READ_WRITE),
        Subresource("resize", _READ_WRITE),
        Subresource("log", ("get",)),
        Subresource("attach", _CONNECT, "PodAttachOptions"),
        Subresource("exec", _CONNECT, "PodExecOptions"),
        Subresource("portforward", _CONNECT, "PodPortForwardOptions"),
        Subresource("proxy", _PROXY, "ProxyOptions"),
    )
}


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource in one version.

    ``put_creates``: PUT makes what is not there. ``returns_deleted``: DELETE answers with the
    object, not with a Status. ``conditional``: PUT must say which version it replaces. ``key``:
    what its objects are stored under, in all versions. ``selectable``: fields of a CRD that field
    selectors may name, like ``spec.size``. ``deprecation``: the warning that every request for a
    deprecated version is answered with.
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = tuple(VERBS.values())
    subresources: tuple[str, ...] = ()
    custom: bool = False
    list_kind: str = ""
    put_creates: bool = False
    returns_deleted: bool = False
    conditional: bool = False
    key: Key = ("", "")
    selectable: tuple[str, ...] = ()
    deprecation: str = ""

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """``deployments.apps``, or ``pods`` for the core group: how messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "") -> str:
        """The URL path of the collection or of an object."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        middle = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{middle}/{self.plural}" + (f"/{name}" if name else "")


class Kinds:
    """The resources that are served now. ``revision`` changes with every change of them."""

    def __init__(self, builtin: Iterable[Resource] | None = None) -> None:
        self._served: dict[tuple[str, str, str], Resource] = {}
        self.revision = 0
        for resource in builtins() if builtin is None else builtin:
            self._served[resource.group, resource.version, resource.plural] = resource

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at a path; None where there is none."""
        return self._served.get((group, version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of a kind; None where it is not served."""
        group, _, version = api_version.rpartition("/")
        found = (r for r in self._served.values() if r.kind == kind)
        return next((r for r in found if (r.group, r.version) == (group, version)), None)

    def named(self, qualified: str) -> Resource | None:
        """The preferred version of ``deployments.apps`` or ``pods``."""
        plural, _, group = qualified.partition(".")
        found = (r for r in self._served.values() if (r.group, r.plural) == (group, plural))
        return next(found, None)

    def all(self) -> list[Resource]:
        """All of them; within a group the preferred version comes first."""
        return list(self._served.values())

    def group_versions(self) -> dict[str, list[str]]:
        """The versions of every group, in the order of preference."""
        found: dict[str, list[str]] = {}
        for resource in self._served.values():
            versions = found.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        return found

    def replace_custom(self, key: Key, served: Iterable[Resource]) -> None:
        """Serve these versions of a custom resource, most preferred first, and no others."""
        mine = [at for at, resource in self._served.items() if resource.key == key]
        for at in mine:
            del self._served[at]
        for resource in served:
            self._served[resource.group, resource.version, resource.plural] = resource
        self.revision += 1


@functools.cache
def builtins() -> tuple[Resource, ...]:
    """The resources of kinds.yaml."""
    text = resources.files(__package__).joinpath("kinds.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    table: Mapping[str, Mapping[str, Any]] = yaml.load(text, loader)  # noqa: S506 - a safe loader
    return tuple(
        _builtin(api_version, plural, facts)
        for api_version, found in table.items()
        for plural, facts in found.items()
    )


@functools.cache
def builtin_group(name: str) -> bool:
    """Whether a group has built-in resources."""
    return any(resource.group == name for resource in builtins())


def _builtin(api_version: str, plural: str, facts: Mapping[str, Any]) -> Resource:
    group, _, version = api_version.rpartition("/")
    categories = (
        ["all"] if facts.get("all") else ["api-extensions"] if facts.get("extension") else []
    )
    stored_group, _, _ = str(facts.get("stored", api_version)).rpartition("/")
    return Resource(
        group=group,
        version=version,
        kind=facts["kind"],
        plural=plural,
        singular=facts.get("singular", facts["kind"].lower()),
        namespaced=not facts.get("cluster", False),
        short_names=tuple(facts.get("short", ())),
        categories=tuple(categories),
        verbs=tuple(VERBS[letter] for letter in facts.get("verbs", "cdDglpuw")),
        subresources=tuple(facts.get("sub", ())),
        list_kind=f"{facts['kind']}List",
        put_creates=facts.get("put", False),
        returns_deleted=facts.get("returns", False),
        conditional=facts.get("conditional", False),
        key=(stored_group, plural),
        deprecation=facts.get("deprecation", ""),
    )
