"""ControllerRevisions: the history of the templates of StatefulSets and DaemonSets."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ansible_operator.sandbox.standins import cluster, hashes, labels

Obj = dict[str, Any]
Revisions = list[Obj]
RESOURCE = "controllerrevisions.apps"


def history(seen: cluster.Cluster, owner: Obj) -> Revisions:
    """The revisions of an owner, oldest first; without those that hold no template."""
    selects = labels.selector(owner["spec"]["selector"])
    claimed = seen.claim(owner, ("apps", "controllerrevisions"), selects)
    found = [one for one in claimed if _template(one)]
    return sorted(found, key=lambda one: (one["revision"], one["metadata"]["name"]))


def latest(seen: cluster.Cluster, owner: Obj, known: Revisions, label: str) -> Obj | None:
    """The revision of the owner's template, made or made the latest one; ``label``: of its hash.

    For an owner that is being deleted none is made, as it would be collected with all the others.
    """
    if "deletionTimestamp" in owner["metadata"]:
        return known[-1] if known else None
    template = {**owner["spec"]["template"], "$patch": "replace"}
    data = {"spec": {"template": template}}
    number = known[-1]["revision"] if known else 0
    same = next((one for one in reversed(known) if one["data"] == data), None)
    if same is not None and same["revision"] == number:
        return same
    if same is not None:
        return seen.local.update(RESOURCE, {**same, "revision": number + 1})
    return seen.local.create(RESOURCE, _new(owner, data, number + 1, label))


def template(revision: Obj) -> Obj:
    """The template that a revision holds."""
    return {name: value for name, value in _template(revision).items() if name != "$patch"}


def _template(revision: Obj) -> Obj:
    """What is at that place; anybody can make a revision of anything."""
    found = revision.get("data")
    for key in ("spec", "template"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def digest(revision: Obj, label: str) -> str:
    """The hash that a revision is marked with; empty if somebody took the mark away."""
    return str((revision["metadata"].get("labels") or {}).get(label, ""))


def truncate(seen: cluster.Cluster, owner: Obj, known: Revisions, live: Container[str]) -> None:
    """Delete the oldest revisions that are not in use beyond the limit of the history."""
    idle = [one for one in known if one["metadata"]["name"] not in live]
    beyond = len(idle) - int(owner["spec"].get("revisionHistoryLimit", 10))
    for one in idle[: max(beyond, 0)]:
        seen.local.delete(RESOURCE, one["metadata"]["namespace"], one["metadata"]["name"])


def _new(owner: Obj, data: Obj, number: int, label: str) -> Obj:
    about = owner["metadata"]
    digest = hashes.of(data)
    carried = owner["spec"]["template"].get("metadata", {}).get("labels") or {}
    metadata = {
        "name": f"{about['name']}-{digest}",
        "namespace": about["namespace"],
        "labels": {**carried, label: digest},
        "annotations": about.get("annotations") or {},
        "ownerReferences": [cluster.reference_to(owner)],
    }
    head = {"apiVersion": "apps/v1", "kind": "ControllerRevision"}
    return {**head, "metadata": metadata, "data": data, "revision": number}
