"""The replica sets of a Deployment: which is the new one, how it is made, and what it notes."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ansible_operator import gotext
from ansible_operator.sandbox.standins import cluster, hashes

Obj = dict[str, Any]
Sets = list[Obj]
HASH = "pod-template-hash"
_NOTE = "deployment.kubernetes.io/"
REVISION, HISTORY = f"{_NOTE}revision", f"{_NOTE}revision-history"
DESIRED, MOST = f"{_NOTE}desired-replicas", f"{_NOTE}max-replicas"
_NOT_HANDED_DOWN = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
)


def split(deployment: Obj, sets: Sets) -> tuple[Obj | None, Sets]:
    """The replica set of the deployment's template, and the others, oldest first."""
    template = _plain(deployment["spec"]["template"])
    same = [one for one in sets if _plain(one["spec"]["template"]) == template]
    new = min(same, key=lambda one: (_created(one), one["metadata"]["name"]), default=None)
    ordered = sorted(sets, key=lambda one: (_created(one), revision(one)))
    return new, [one for one in ordered if one is not new]


def slack(deployment: Obj) -> tuple[int, int]:
    """How many pods more and fewer than wanted there may be during a rollout."""
    strategy = deployment["spec"].get("strategy", {})
    if strategy.get("type") == "Recreate":
        return 0, 0
    rolling, replicas = strategy.get("rollingUpdate") or {}, deployment["spec"]["replicas"]
    surge = cluster.scaled(rolling.get("maxSurge", "25%"), replicas, up=True)
    unavailable = cluster.scaled(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    if not surge and not unavailable:
        unavailable = 1
    return surge, min(unavailable, replicas)


def make(deployment: Obj, number: str, size: int) -> Obj:
    """A new replica set for the deployment's template."""
    about, spec = deployment["metadata"], deployment["spec"]
    template, selector = copy.deepcopy(spec["template"]), copy.deepcopy(spec["selector"])
    mine = {HASH: hashes.of(template)}
    meta = template.setdefault("metadata", {})
    meta["labels"] = {**meta.get("labels", {}), **mine}
    selector["matchLabels"] = {**selector.get("matchLabels", {}), **mine}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{about['name']}-{mine[HASH]}",
            "namespace": about["namespace"],
            "labels": meta["labels"],
            "annotations": {**handed_down(deployment, {}, number), **sizes(deployment)},
            "ownerReferences": [cluster.reference_to(deployment)],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": spec.get("minReadySeconds", 0),
            "selector": selector,
            "template": template,
        },
    }


def handed_down(deployment: Obj, own: Obj, number: str) -> Obj:
    """The annotations of the new replica set: its own, those of the deployment, the revision."""
    given = {k: v for k, v in notes(deployment).items() if k not in _NOT_HANDED_DOWN}
    before = own.get(REVISION, "")
    least = gotext.integer(before or "0")
    if least is not None and least < int(number):  # what is no number stays
        own = {**own, REVISION: number}
        if before:
            own[HISTORY] = ",".join(filter(None, [own.get(HISTORY), before]))
    return {**own, **given}


def sizes(deployment: Obj) -> dict[str, str]:
    """The annotations by which a replica set knows for which size it was made."""
    replicas = deployment["spec"]["replicas"]
    most = replicas + slack(deployment)[0] if replicas else 0
    return {DESIRED: str(replicas), MOST: str(most)}


def notes(obj: Obj) -> Obj:
    """The annotations of an object."""
    found: Obj = obj["metadata"].get("annotations") or {}
    return found


def revision(one: Obj) -> int:
    """The revision of a replica set."""
    return gotext.integer(notes(one).get(REVISION, "")) or 0


def count(one: Obj, field: str) -> int:
    """A count in a status."""
    return int(one.get("status", {}).get(field, 0))


def total(sets: Iterable[Obj], field: str) -> int:
    """The sum of a count."""
    return sum(count(one, field) for one in sets)


def wanted(sets: Iterable[Obj]) -> int:
    """How many pods replica sets are to have."""
    return sum(one["spec"]["replicas"] for one in sets)


def _created(one: Obj) -> str:
    return str(one["metadata"]["creationTimestamp"])


def _plain(template: Obj) -> Obj:
    """A template without the label of its hash."""
    meta = dict(template.get("metadata") or {})
    meta["labels"] = {k: v for k, v in (meta.get("labels") or {}).items() if k != HASH}
    return {**template, "metadata": meta}
