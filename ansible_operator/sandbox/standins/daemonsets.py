"""DaemonSets: one pod on every node that fits."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.standins import (
    cluster,
    labels,
    podstate,
    revisions,
    scheduling,
)

Obj = dict[str, Any]
Pods = list[Obj]
COMPONENT = "daemonset-controller"
HASH = "controller-revision-hash"
GENERATION = "deprecated.daemonset.template.generation"
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in _TOLERATED
]


def sync(seen: cluster.Cluster, found: Obj) -> float | None:
    """Create and delete pods, replace outdated ones, and write the status."""
    known = revisions.history(seen, found)
    update = revisions.latest(seen, found, known, HASH)
    if update is None:
        return None
    digest = revisions.digest(update, HASH)
    fitting = _nodes(seen, found)
    if "deletionTimestamp" not in found["metadata"]:
        _place(seen, found, fitting, digest)
        _replace_outdated(seen, found, fitting, digest)
        used = {(pod["metadata"].get("labels") or {}).get(HASH) for pod in _pods(seen, found)}
        live = {one["metadata"]["name"] for one in known if revisions.digest(one, HASH) in used}
        revisions.truncate(seen, found, known, live | {update["metadata"]["name"]})
    pods = _pods(seen, found)
    seen.set_status("daemonsets.apps", found, _status(seen, found, pods, fitting, digest))
    return podstate.next_available(seen, pods, found["spec"].get("minReadySeconds", 0))


def _pods(seen: cluster.Cluster, found: Obj) -> Pods:
    return seen.claim(found, ("", "pods"), labels.selector(found["spec"]["selector"]))


def _nodes(seen: cluster.Cluster, found: Obj) -> list[str]:
    template = found["spec"]["template"]["spec"]
    tolerations = [*(template.get("tolerations") or ()), *_TOLERATIONS]
    pod = {"spec": {**template, "tolerations": tolerations}}
    nodes = seen.local.list("nodes")
    fitting = [
        n for n in nodes if scheduling.fits(template, n) and scheduling.tolerates_all(pod, n)
    ]
    return [node["metadata"]["name"] for node in fitting]


def _place(seen: cluster.Cluster, found: Obj, fitting: list[str], digest: str) -> None:
    """One pod for each node that fits, none for others; failed ones are replaced."""
    pods = _pods(seen, found)
    for pod in pods:
        if podstate.is_finished(pod) or _node(pod) not in fitting:
            _delete(seen, found, pod)
    for name in sorted(set(fitting) - {_node(pod) for pod in pods}):
        made = seen.local.create("pods", _pod(found, name, digest))
        told = f"Created pod: {made['metadata']['name']}"
        seen.normal(found, "SuccessfulCreate", told, COMPONENT)


def _replace_outdated(seen: cluster.Cluster, found: Obj, fitting: list[str], digest: str) -> None:
    strategy = found["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return
    rolling = strategy.get("rollingUpdate") or {}
    limit = cluster.scaled(rolling.get("maxUnavailable", 1), len(fitting), up=True) or 1
    minimum = found["spec"].get("minReadySeconds", 0)
    pods = [pod for pod in _pods(seen, found) if podstate.is_active(pod)]
    available = [pod for pod in pods if podstate.is_available(seen, pod, minimum)]
    outdated = [pod for pod in pods if not _is_updated(pod, digest)]
    room = limit - (len(fitting) - len(available))
    for pod in outdated:
        if pod not in available:
            _delete(seen, found, pod)
        elif room > 0:
            room -= 1
            _delete(seen, found, pod)


def _delete(seen: cluster.Cluster, found: Obj, pod: Obj) -> None:
    meta = pod["metadata"]
    if "deletionTimestamp" in meta:
        return
    seen.local.delete("pods", meta["namespace"], meta["name"], uid=meta["uid"])
    seen.normal(found, "SuccessfulDelete", f"Deleted pod: {meta['name']}", COMPONENT)


def _pod(found: Obj, node: str, digest: str) -> Obj:
    generation = (found["metadata"].get("annotations") or {}).get(GENERATION, "1")
    pod = podstate.from_template(
        found,
        found["spec"]["template"],
        generateName=f"{found['metadata']['name']}-",
        labels={HASH: digest, "pod-template-generation": generation},
    )
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    spec = pod["spec"]
    spec["affinity"] = {**(spec.get("affinity") or {}), "nodeAffinity": affinity}
    spec["tolerations"] = [*(spec.get("tolerations") or ()), *_TOLERATIONS]
    return pod


def _node(pod: Obj) -> str:
    """The node that the pod is on or made for."""
    if name := pod["spec"].get("nodeName"):
        return str(name)
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution", {}
    )
    terms = affinity.get("nodeSelectorTerms") or [{}]
    fields = terms[0].get("matchFields") or [{"values": [""]}]
    return str(fields[0]["values"][0])


def _is_updated(pod: Obj, digest: str) -> bool:
    return (pod["metadata"].get("labels") or {}).get(HASH) == digest


def _status(seen: cluster.Cluster, found: Obj, pods: Pods, fitting: list[str], digest: str) -> Obj:
    minimum = found["spec"].get("minReadySeconds", 0)
    active = [pod for pod in pods if podstate.is_active(pod)]
    placed = [pod for pod in active if _node(pod) in fitting]
    available = sum(podstate.is_available(seen, pod, minimum) for pod in placed)
    counts = {
        "observedGeneration": found["metadata"].get("generation", 0),
        "updatedNumberScheduled": sum(_is_updated(pod, digest) for pod in placed),
        "numberAvailable": available,
        "numberUnavailable": len(fitting) - available,
        "conditions": found.get("status", {}).get("conditions"),
    }
    always = {
        "currentNumberScheduled": len({_node(pod) for pod in placed}),
        "numberMisscheduled": len({_node(pod) for pod in active} - set(fitting)),
        "desiredNumberScheduled": len(fitting),
        "numberReady": sum(podstate.is_ready(pod) for pod in placed),
    }
    return {**always, **cluster.without_zeros(counts)}
