"""What controllers ask about pods, and how they make them from templates."""

from __future__ import annotations

import copy
from typing import Any

from ansible_operator.sandbox import conditions
from ansible_operator.sandbox.standins import cluster

Obj = dict[str, Any]
FINISHED = ("Succeeded", "Failed")


def is_finished(pod: Obj) -> bool:
    """Whether all its containers have ended for good."""
    return pod.get("status", {}).get("phase") in FINISHED


def is_active(pod: Obj) -> bool:
    """Whether it counts as a replica: neither finished nor being deleted."""
    return not is_finished(pod) and "deletionTimestamp" not in pod["metadata"]


def is_ready(pod: Obj) -> bool:
    """Whether its condition Ready is true."""
    return conditions.is_true(pod, "Ready")


def wait_available(seen: cluster.Cluster, pod: Obj, minimum: float) -> float | None:
    """Seconds until a ready pod has been ready for long enough, at most 0 if it has."""
    if not is_ready(pod):
        return None
    ready = conditions.find(pod["status"]["conditions"], "Ready") or {}
    since = ready.get("lastTransitionTime")
    return seen.wait(since, minimum) if minimum and since else 0.0


def is_available(seen: cluster.Cluster, pod: Obj, minimum: float) -> bool:
    """Whether it has been ready for at least ``minimum`` seconds."""
    left = wait_available(seen, pod, minimum)
    return left is not None and left <= 0


def next_available(seen: cluster.Cluster, pods: cluster.Objects, minimum: float) -> float | None:
    """Seconds until one more of the pods becomes available by waiting alone."""
    waits = [wait_available(seen, pod, minimum) for pod in pods]
    return cluster.sooner(*(left for left in waits if left is not None and left > 0))


def victims_first(pod: Obj) -> tuple[bool, bool, bool, float]:
    """The order in which pods are given up: not placed, pending, not ready, youngest."""
    age = cluster.parse(pod["metadata"]["creationTimestamp"]).timestamp()
    running = pod.get("status", {}).get("phase") == "Running"
    return (bool(pod["spec"].get("nodeName")), running, is_ready(pod), -age)


def from_template(owner: Obj, template: Obj, **meta: Any) -> Obj:
    """A pod of ``owner``; ``meta`` adds to the template's labels and annotations, or names it."""
    given = template.get("metadata", {})
    metadata = {
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(given.get("labels") or {}), **meta.pop("labels", {})},
        "annotations": {**(given.get("annotations") or {}), **meta.pop("annotations", {})},
        "finalizers": [*(given.get("finalizers") or ()), *meta.pop("finalizers", ())],
        "ownerReferences": [cluster.reference_to(owner)],
        **meta,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {name: value for name, value in metadata.items() if value},
        "spec": copy.deepcopy(template["spec"]),
    }
