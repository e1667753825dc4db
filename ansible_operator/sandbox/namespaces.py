"""The life of namespaces: what may be made in them, and how they end with all they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ansible_operator.sandbox import conditions, failure, kinds, storage

if TYPE_CHECKING:
    from ansible_operator.sandbox import registry
    from ansible_operator.sandbox.standins import cluster

Obj = dict[str, Any]
KEY = ("", "namespaces")
IMMORTAL = ("default", "kube-system", "kube-public")
SLICE = 200
"""How many objects of a namespace are deleted before requests get their turn."""
_CONDITIONS = (
    ("DiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "GroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "ContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


def guard(held: registry.Registry) -> None:
    """Let nothing be created in a namespace that is not there or is about to go."""

    def check(resource: kinds.Resource, namespace: str, obj: Obj) -> None:
        if namespace:
            found = held.storage.get(KEY, "", namespace)
            known = held.kinds.named("namespaces")
            assert known is not None
            check_create(found, known, resource, obj["metadata"])

    held.guards.append(check)


def check_create(
    namespace: Obj | None, known: kinds.Resource, resource: kinds.Resource, meta: Obj
) -> None:
    """Raises ApiFailure 404 without a namespace, 403 when it is being deleted."""
    if namespace is None:
        raise failure.not_found(known, meta["namespace"])
    if "deletionTimestamp" not in namespace["metadata"]:
        return
    name = namespace["metadata"]["name"]
    why = f"unable to create new content in namespace {name} because it is being terminated"
    refused = failure.forbidden(resource, meta.get("name") or meta.get("generateName", ""), why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    details = {**(refused.details or {}), "causes": [cause]}
    raise failure.ApiFailure(403, "Forbidden", refused.message, details)


def check_delete(resource: kinds.Resource, name: str) -> None:
    """Raises ApiFailure 403 for namespaces that may not be deleted."""
    if resource.key == KEY and name in IMMORTAL:
        raise failure.forbidden(resource, name, "this namespace may not be deleted")


class Lifecycle:
    """Ends namespaces that are being deleted; see ``controllers.Worker``."""

    def __init__(self, seen: cluster.Cluster) -> None:
        self._seen = seen
        self._ending: set[str] = set()

    def touched(self, change: storage.Change) -> Iterable[str]:
        """The namespace, or the one of an object, if it is being deleted."""
        meta = change.object["metadata"]
        if change.key == KEY:
            if change.type == "DELETED":
                self._ending.discard(meta["name"])
            elif "deletionTimestamp" in meta:
                self._ending.add(meta["name"])
                yield meta["name"]
        elif self._ending and meta.get("namespace") in self._ending:
            yield meta["namespace"]

    def sync(self, name: str) -> float | None:
        """Delete what is in the namespace; once it is empty, let it go."""
        namespace = self._seen.local.get("namespaces", "", name)
        if namespace is None or name not in self._ending:
            return None
        resources = self._resources()
        if self._delete_some(resources, name):
            return 0.0
        left = {r.qualified: r for r in resources if self._any(r, name)}
        listed = (namespace.get("status") or {}).get("conditions") or []
        if left or listed or namespace["metadata"].get("finalizers"):
            status = {
                **(namespace.get("status") or {}),
                "conditions": self._told(left, name, listed),
            }
            namespace = self._seen.set_status("namespaces", namespace, status)
        if not left and namespace["spec"].get("finalizers"):
            self._seen.local.finish(namespace)
        return None

    def _resources(self) -> list[kinds.Resource]:
        """What namespaces hold, each once; pods come first."""
        found = {r.key: r for r in reversed(self._seen.local.resources()) if r.namespaced}
        return sorted(found.values(), key=lambda r: (r.key != ("", "pods"), r.group, r.plural))

    def _delete_some(self, resources: Iterable[kinds.Resource], name: str) -> bool:
        """Delete a slice of what is not being deleted; whether it was a whole one."""
        room = SLICE
        for resource in resources:
            listed = self._seen.storage.list(resource.key, name)
            todo = [obj["metadata"] for obj in listed if "deletionTimestamp" not in obj["metadata"]]
            for meta in todo[:room]:
                self._seen.local.delete(resource.qualified, name, meta["name"], "Background")
            room -= len(todo)
            if room < 0:
                return True
        return False

    def _any(self, resource: kinds.Resource, name: str) -> bool:
        return next(self._seen.storage.list(resource.key, name), None) is not None

    def _told(
        self, left: dict[str, kinds.Resource], name: str, old: list[Obj]
    ) -> conditions.Conditions:
        """The conditions: what is left, and whose finalizers hold it."""
        counts, holders = [], Counter[str]()
        for resource in sorted(left.values(), key=lambda r: f"{r.plural}.{r.group}"):
            objects = list(self._seen.storage.list(resource.key, name))
            counts.append(
                f"{resource.plural}.{resource.group} has {len(objects)} resource instances"
            )
            for obj in objects:
                holders.update(obj["metadata"].get("finalizers") or ())
        content = _condition(
            "NamespaceContentRemaining",
            f"Some resources are remaining: {', '.join(counts)}" if counts else "",
            ("SomeResourcesRemain", "ContentRemoved", "All content successfully removed"),
        )
        held = ", ".join(
            f"{holder} in {n} resource instances" for holder, n in sorted(holders.items())
        )
        finalizers = _condition(
            "NamespaceFinalizersRemaining",
            f"Some content in the namespace has finalizers remaining: {held}" if held else "",
            ("SomeFinalizersRemain", "ContentHasNoFinalizers", _NO_FINALIZERS),
        )
        fixed = [
            {
                "type": f"NamespaceDeletion{kind}",
                "status": "False",
                "reason": reason,
                "message": told,
            }
            for kind, reason, told in _CONDITIONS
        ]
        stamp = {"lastTransitionTime": self._seen.stamp()}
        told = [{**condition, **stamp} for condition in (*fixed, content, finalizers)]
        return [conditions.kept_since(conditions.find(old, c["type"]), c) for c in told]


_NO_FINALIZERS = "All content-preserving finalizers finished"


def _condition(kind: str, problem: str, words: tuple[str, str, str]) -> Obj:
    bad, good, fine = words
    told = {"type": kind, "status": "True" if problem else "False"}
    return {**told, "reason": bad if problem else good, "message": problem or fine}
