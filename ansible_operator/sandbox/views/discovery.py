"""Discovery: what is served, in the two forms that clients ask for, the version and the health.

Groups come in the order of kinds.yaml, custom ones after the built-in ones.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from ansible_operator.sandbox import kinds
from ansible_operator.sandbox.builtins import autoscaling

Obj = dict[str, Any]

CHECKS = ("ping", "log", "storage", "controllers")
"""What the health endpoints say that they looked at; who gets an answer knows that all are well."""

VERSION: Obj = {
    "major": "1",
    "minor": "37",
    "emulationMajor": "1",
    "emulationMinor": "37",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "36",
    "gitVersion": "v1.37.2",
    "gitCommit": "ansible-operator-sandbox",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "python",
    "platform": "linux/amd64",
}
"""What /version answers: the version of the API that is served, and that it is the sandbox."""


def root(served: kinds.Kinds) -> Obj:
    """/: the paths that are served."""
    found = {"/api", "/apis", "/openapi/v2", "/openapi/v3", "/version"}
    for group, listed in served.group_versions().items():
        start = f"/apis/{group}" if group else "/api"
        found |= {start, *(f"{start}/{version}" for version in listed)}
    for health in ("/healthz", "/livez", "/readyz"):
        found |= {health, *(f"{health}/{check}" for check in CHECKS)}
    return {"paths": sorted(found)}


def health(path: str, *, verbose: bool) -> str | None:
    """/healthz, /livez and /readyz, or one of their checks; None if there is none."""
    name, _, check = path.strip("/").partition("/")
    if check:
        return "ok" if check in CHECKS else None
    told = "".join(f"[+]{check} ok\n" for check in CHECKS)
    return f"{told}{name} check passed\n" if verbose else "ok"


def versions(address: str) -> Obj:
    """/api: the versions of the core group. ``address`` is host and port of the server."""
    reachable = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [reachable]}


def groups(served: kinds.Kinds) -> Obj:
    """/apis: all groups but the core group."""
    found = [_group(name, listed) for name, listed in served.group_versions().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(served: kinds.Kinds, name: str) -> Obj | None:
    """/apis/GROUP; None if there is none."""
    listed = served.group_versions().get(name)
    if not name or listed is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, listed)}


def _group(name: str, listed: Iterable[str]) -> Obj:
    found = [{"groupVersion": f"{name}/{version}", "version": version} for version in listed]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def resources(served: kinds.Kinds, group: str, version: str) -> Obj | None:
    """/api/v1 or /apis/GROUP/VERSION: its resources; None if there is none."""
    mine = _of_version(served, group, version)
    if not mine:
        return None
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [entry for resource in mine for entry in _entries(resource)],
    }


def _of_version(served: kinds.Kinds, group: str, version: str) -> list[kinds.Resource]:
    mine = (r for r in served.all() if (r.group, r.version) == (group, version))
    return sorted(mine, key=lambda resource: resource.plural)


def _entries(resource: kinds.Resource) -> Iterator[Obj]:
    scope = {"namespaced": resource.namespaced}
    yield {
        "name": resource.plural,
        "singularName": resource.singular,
        **scope,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **_names(resource),
        **({"storageVersionHash": _storage_hash(resource)} if "watch" in resource.verbs else {}),
    }
    for sub in _subresources(resource):
        yield {
            "name": f"{resource.plural}/{sub.name}",
            "singularName": "",
            **scope,
            **({"group": sub.group, "version": sub.version} if sub.group else {}),
            "kind": sub.kind,
            "verbs": list(sub.verbs),
        }


def _names(resource: kinds.Resource) -> Obj:
    given = {"shortNames": resource.short_names, "categories": resource.categories}
    return {key: list(names) for key, names in given.items() if names}


def _storage_hash(resource: kinds.Resource) -> str:
    version = resource.version if resource.key[0] == resource.group else "v1"
    if resource.api_version == autoscaling.OLD:
        version = autoscaling.NEW.rpartition("/")[2]
    stored = "/".join((resource.key[0], version, resource.kind))
    return base64.b64encode(hashlib.sha256(stored.encode()).digest()[:8]).decode()


def _subresources(resource: kinds.Resource) -> Iterator[kinds.Subresource]:
    """The subresources, with the kind that each speaks."""
    for name in resource.subresources:
        found = kinds.SUBRESOURCES[name]
        kind = f"{resource.kind}ProxyOptions" if name == "proxy" else found.kind or resource.kind
        yield dataclasses.replace(found, kind=kind)


def _kind(resource: kinds.Resource, sub: kinds.Subresource | None = None) -> Obj:
    """The kind of the answers; built-in resources leave out their own group and version."""
    if sub is not None and sub.group:
        return {"group": sub.group, "version": sub.version, "kind": sub.kind}
    own = (resource.group, resource.version) if resource.custom else ("", "")
    return {"group": own[0], "version": own[1], "kind": sub.kind if sub else resource.kind}


def aggregated(served: kinds.Kinds, *, core: bool) -> Obj:
    """Aggregated discovery: all resources of all groups, or of the core group."""
    found = [
        _discovered(served, name, listed)
        for name, listed in served.group_versions().items()
        if core == (not name)
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": found,
    }


def _discovered(served: kinds.Kinds, group: str, listed: Iterable[str]) -> Obj:
    return {
        "metadata": {"name": group} if group else {},
        "versions": [
            {
                "version": version,
                "resources": [_discovery(r) for r in _of_version(served, group, version)],
                "freshness": "Current",
            }
            for version in listed
        ],
    }


def _discovery(resource: kinds.Resource) -> Obj:
    subresources = [
        {
            "subresource": sub.name,
            "responseKind": _kind(resource, sub),
            "verbs": list(sub.verbs),
        }
        for sub in _subresources(resource)
    ]
    return {
        "resource": resource.plural,
        "responseKind": _kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_names(resource),
        **({"subresources": subresources} if subresources else {}),
    }
