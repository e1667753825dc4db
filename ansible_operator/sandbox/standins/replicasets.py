"""ReplicaSets: as many pods as they want."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import conditions, failure
from ansible_operator.sandbox.standins import cluster, labels, podstate

Obj = dict[str, Any]
Pods = list[Obj]
COMPONENT = "replicaset-controller"
BATCH = 10
"""How many pods are created before others get their turn."""


def sync(seen: cluster.Cluster, found: Obj) -> float | None:
    """Create or delete pods, then write the status."""
    selects = labels.selector(found["spec"]["selector"])
    pods = seen.claim(found, ("", "pods"), selects)
    active = [pod for pod in pods if podstate.is_active(pod)]
    problem = ""
    if "deletionTimestamp" not in found["metadata"]:
        problem = _scale(seen, found, active)
        pods = seen.claim(found, ("", "pods"), selects)
    seen.set_status("replicasets.apps", found, _status(seen, found, pods, problem))
    if problem:
        return 1.0
    return podstate.next_available(seen, pods, found["spec"].get("minReadySeconds", 0))


def _scale(seen: cluster.Cluster, found: Obj, active: Pods) -> str:
    """Bring the number of pods to what is wanted; the answer is what the API refused."""
    missing = found["spec"]["replicas"] - len(active)
    try:
        for _ in range(min(missing, BATCH)):  # the new pods bring the set back here
            _add(seen, found)
    except failure.ApiFailure as refused:
        seen.warn(found, "FailedCreate", f"Error creating: {refused.message}", COMPONENT)
        return refused.message
    for pod in sorted(active, key=podstate.victims_first)[: max(-missing, 0)]:
        meta = pod["metadata"]
        seen.local.delete("pods", meta["namespace"], meta["name"], uid=meta["uid"])
        seen.normal(found, "SuccessfulDelete", f"Deleted pod: {meta['name']}", COMPONENT)
    return ""


def _add(seen: cluster.Cluster, found: Obj) -> None:
    prefix = f"{found['metadata']['name']}-"
    pod = podstate.from_template(found, found["spec"]["template"], generateName=prefix)
    made = seen.local.create("pods", pod)
    seen.normal(found, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}", COMPONENT)


def _status(seen: cluster.Cluster, found: Obj, pods: Pods, problem: str) -> Obj:
    active = [pod for pod in pods if podstate.is_active(pod)]
    leaving = [pod for pod in pods if not podstate.is_finished(pod) and pod not in active]
    wanted = found["spec"]["template"].get("metadata", {}).get("labels") or {}
    minimum = found["spec"].get("minReadySeconds", 0)
    counts = {
        "fullyLabeledReplicas": sum(
            labels.contains(pod["metadata"].get("labels") or {}, wanted) for pod in active
        ),
        "readyReplicas": sum(podstate.is_ready(pod) for pod in active),
        "availableReplicas": sum(podstate.is_available(seen, pod, minimum) for pod in active),
        "observedGeneration": found["metadata"].get("generation", 0),
        "conditions": _conditions(seen, found, problem),
    }
    always = {"replicas": len(active), "terminatingReplicas": len(leaving)}
    return {**always, **cluster.without_zeros(counts)}


def _conditions(seen: cluster.Cluster, found: Obj, problem: str) -> conditions.Conditions:
    kept = conditions.without(found.get("status", {}).get("conditions") or (), "ReplicaFailure")
    if not problem:
        return kept
    old = conditions.find(found.get("status", {}).get("conditions"), "ReplicaFailure")
    new = {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": seen.stamp(),
        "reason": "FailedCreate",
        "message": problem,
    }
    return [*kept, old or new]
