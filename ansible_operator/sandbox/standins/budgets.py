"""PodDisruptionBudgets: how many of the pods they select may be evicted now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_operator.sandbox import conditions, dependents, failure
from ansible_operator.sandbox.standins import cluster, labels, podstate

Obj = dict[str, Any]
Objects = list[Obj]
COMPONENT = "controllermanager"
KEY, BUDGETS = ("policy", "poddisruptionbudgets"), "poddisruptionbudgets.policy"
_SCALED = {
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "ReplicationController": "replicationcontrollers",
    "Deployment": "deployments.apps",
}


def sync(seen: cluster.Cluster, budget: Obj) -> float | None:
    """Write the status."""
    spec, meta = budget["spec"], budget["metadata"]
    selects = labels.selector(spec.get("selector"))
    pods = [pod for pod in seen.local.list("pods", meta["namespace"]) if selects(pod)]
    if not pods:
        seen.normal(budget, "NoPods", "No matching pods found", COMPONENT)
    expected, least = _wanted(seen, spec, pods)
    counted = [pod for pod in pods if not podstate.is_finished(pod)]
    healthy = [
        p for p in counted if podstate.is_ready(p) and "deletionTimestamp" not in p["metadata"]
    ]
    allowed = max(len(healthy) - least, 0) if expected else 0
    condition = _condition(seen, budget, allowed)
    status = {
        "observedGeneration": meta.get("generation", 0),
        "disruptionsAllowed": allowed,
        "currentHealthy": len(healthy),
        "desiredHealthy": least,
        "expectedPods": expected,
        "conditions": [condition],
    }
    if _without_times(status) != _without_times(budget.get("status") or {}):
        seen.set_status(BUDGETS, budget, status)
    return None


def matching(seen: cluster.Cluster, pod: Obj) -> list[tuple[str, str]]:
    """The budgets that select a pod."""
    namespace = pod["metadata"]["namespace"]
    found = seen.local.list(BUDGETS, namespace)
    chosen = [b for b in found if labels.selector(b["spec"].get("selector"))(pod)]
    return [(namespace, budget["metadata"]["name"]) for budget in chosen]


def check_eviction(budgets: Iterable[Obj], pod: Obj) -> None:
    """Raises ApiFailure 429 when a budget in the namespace of the pod forbids its eviction."""
    if podstate.is_finished(pod) or pod.get("status", {}).get("phase") == "Pending":
        return
    if "deletionTimestamp" in pod["metadata"]:
        return
    chosen = [b for b in budgets if labels.selector(b["spec"].get("selector"))(pod)]
    if len(chosen) > 1:
        told = "This pod has more than one PodDisruptionBudget, which the eviction subresource "
        raise failure.ApiFailure(500, "InternalError", f"{told}does not support.")
    for budget in chosen:
        status = budget.get("status") or {}
        if status.get("disruptionsAllowed", 0) <= 0:
            why = _why(budget["metadata"]["name"], status)
            told = "Cannot evict pod as it would violate the pod's disruption budget."
            causes = [{"reason": "DisruptionBudget", "message": why}]
            raise failure.ApiFailure(429, "TooManyRequests", told, {"causes": causes})


def _why(name: str, status: Obj) -> str:
    least, now = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if now <= least:
        return f"The disruption budget {name} needs {least} healthy pods and has {now} currently"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _wanted(seen: cluster.Cluster, spec: Obj, pods: Objects) -> tuple[int, int]:
    """How many pods there should be, and how many of them must be healthy."""
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most is None and not isinstance(least, str):
        return len(pods), int(least or 0)
    total = _scale(seen, pods)
    if most is None:
        return total, cluster.scaled(least, total, up=True)
    return total, max(total - cluster.scaled(most, total, up=True), 0)


def _scale(seen: cluster.Cluster, pods: Objects) -> int:
    """The replicas that the controllers of the pods are to have."""
    sizes = {}
    for pod in pods:
        owner = dependents.controller(pod)
        while owner is not None and owner["kind"] in _SCALED:
            found = seen.local.get(
                _SCALED[owner["kind"]], pod["metadata"]["namespace"], owner["name"]
            )
            if found is None or found["metadata"]["uid"] != owner["uid"]:
                break
            sizes[owner["uid"]] = found["spec"].get("replicas", 1)
            above = dependents.controller(found)
            if above is not None and above["kind"] in _SCALED:
                del sizes[owner["uid"]]
            owner = above
    return sum(sizes.values())


def _condition(seen: cluster.Cluster, budget: Obj, allowed: int) -> Obj:
    new = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "observedGeneration": budget["metadata"].get("generation", 0),
        "lastTransitionTime": seen.stamp(),
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    old = conditions.find((budget.get("status") or {}).get("conditions"), "DisruptionAllowed")
    return conditions.kept_since(old, new)


def _without_times(status: Obj) -> Obj:
    listed = [{**c, "lastTransitionTime": ""} for c in status.get("conditions") or ()]
    return {**status, "conditions": listed}
