"""The scheduler: gives a pod a node, or says why it cannot.

It looks at node selectors, required node affinity, taints, cordons, resources of one pod and
claims; it does not add up what the pods of a node use, and knows no priorities.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ansible_operator.sandbox import conditions
from ansible_operator.sandbox.builtins import quantity
from ansible_operator.sandbox.standins import claims, cluster, containers, events, labels

Obj = dict[str, Any]
PODS = ("", "pods")
NAME = "default-scheduler"
CORDON = "node.kubernetes.io/unschedulable"


def is_due(spec: Obj) -> bool:
    """Whether a pod is this scheduler's, and not held back."""
    return spec.get("schedulerName") == NAME and not spec.get("schedulingGates")


def schedule(seen: cluster.Cluster, pod: Obj) -> None:
    """Bind the pod to a node that fits, in turns, or note that it is unschedulable."""
    nodes = seen.local.list("nodes")
    problem = _claims_problem(seen, pod)
    reasons = Counter(_misfit(pod, node) for node in nodes)
    fitting = [node for node in nodes if not _misfit(pod, node)]
    if problem or not fitting:
        _refuse(seen, pod, f"0/{len(nodes)} nodes are available: {problem or _told(reasons)}")
        return
    name = fitting[next(seen.turns) % len(fitting)]["metadata"]["name"]
    condition = _condition(seen, pod, {"status": "True"})
    # A binding is no update: it changes what no update may, and has no field manager.
    listed = conditions.replaced(pod["status"].get("conditions", ()), condition)
    bound = {
        **pod,
        "spec": {**pod["spec"], "nodeName": name},
        "status": {**pod["status"], "conditions": listed},
    }
    seen.storage.put(PODS, bound)
    where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    told = f"Successfully assigned {where} to {name}"
    seen.recorder.record_binding(pod, events.NORMAL, "Scheduled", told)


def _refuse(seen: cluster.Cluster, pod: Obj, message: str) -> None:
    failed = {
        "status": "False",
        "observedGeneration": pod["metadata"].get("generation", 1),
        "reason": "Unschedulable",
        "message": message,
    }
    condition = _condition(seen, pod, failed)
    old = pod["status"].get("conditions", [])
    listed = conditions.replaced(old, condition)
    if listed != old:
        seen.set_status("pods", pod, {**pod["status"], "conditions": listed})
        seen.recorder.record_binding(pod, events.WARNING, "FailedScheduling", message)


def _condition(seen: cluster.Cluster, pod: Obj, fields: Obj) -> Obj:
    old = conditions.find(pod["status"].get("conditions"), "PodScheduled")
    return conditions.kept_since(old, containers.condition(seen, "PodScheduled", **fields))


def _told(reasons: Counter[str]) -> str:
    counted = sorted(f"{count} {reason}" for reason, count in reasons.items())
    total = sum(reasons.values())
    return (
        f"{', '.join(counted)}. preemption: 0/{total} nodes are available: "
        f"{total} Preemption is not helpful for scheduling."
    )


def _misfit(pod: Obj, node: Obj) -> str:
    """Why the pod cannot be on the node; empty if it can."""
    if node["spec"].get("unschedulable") and not _tolerates(pod, {"key": CORDON, **_NO_SCHEDULE}):
        return "node(s) were unschedulable"
    if not fits(pod["spec"], node):
        return "node(s) didn't match Pod's node affinity/selector"
    if not tolerates_all(pod, node):
        return "node(s) had untolerated taint(s)"
    room = node.get("status", {}).get("allocatable", {})
    for resource in ("cpu", "memory"):
        if resource in room and _requested(pod, resource) > quantity.number(room[resource]):
            return f"Insufficient {resource}"
    return ""


_NO_SCHEDULE = {"effect": "NoSchedule"}


def fits(spec: Obj, node: Obj) -> bool:
    """Whether node selector and required node affinity of a pod's spec allow the node."""
    carried = node["metadata"].get("labels") or {}
    if not labels.contains(carried, spec.get("nodeSelector") or {}):
        return False
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not affinity:
        return True
    names = {"metadata.name": node["metadata"]["name"]}
    return any(
        all(labels.holds(one, carried) for one in term.get("matchExpressions") or ())
        and all(labels.holds(one, names) for one in term.get("matchFields") or ())
        for term in affinity["nodeSelectorTerms"]
    )


def tolerates_all(pod: Obj, node: Obj) -> bool:
    """Whether the pod tolerates every taint of the node that keeps pods away."""
    taints = node["spec"].get("taints") or ()
    return all(_tolerates(pod, t) for t in taints if t.get("effect") != "PreferNoSchedule")


def _tolerates(pod: Obj, taint: Obj) -> bool:
    def tolerated(by: Obj) -> bool:
        if by.get("effect") not in (None, "", taint.get("effect")):
            return False
        if not by.get("key"):
            return by.get("operator") == "Exists"
        same = by.get("operator") == "Exists" or by.get("value", "") == taint.get("value", "")
        return by["key"] == taint.get("key") and same

    return any(tolerated(one) for one in pod["spec"].get("tolerations") or ())


def _requested(pod: Obj, resource: str) -> Any:
    asked = [(c.get("resources") or {}).get("requests") or {} for c in pod["spec"]["containers"]]
    return sum(quantity.number(one[resource]) for one in asked if resource in one)


def _claims_problem(seen: cluster.Cluster, pod: Obj) -> str:
    for name in claims.used(pod):
        claim = seen.local.get("persistentvolumeclaims", pod["metadata"]["namespace"], name)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found. not found'
        if claim.get("status", {}).get("phase") != "Bound" and not _is_delayed(seen, claim):
            return "pod has unbound immediate PersistentVolumeClaims. not found"
    return ""


def _is_delayed(seen: cluster.Cluster, claim: Obj) -> bool:
    """Whether the claim is bound only when a pod that uses it has a node."""
    name = claim["spec"].get("storageClassName")
    found = seen.local.get("storageclasses.storage.k8s.io", "", name) if name else None
    return found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer"
