"""What the API server itself sets in objects of built-in kinds when they are created or changed."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any

from ansible_operator import gotext
from ansible_operator.sandbox import kinds, storage
from ansible_operator.sandbox.builtins import admission, allocation
from ansible_operator.sandbox.builtins.jobs import JOB_LABELS
from ansible_operator.sandbox.schemas import gotypes, schema

Obj = dict[str, Any]
_GENERATED = frozenset(
    (
        "CronJob",
        "DaemonSet",
        "Deployment",
        "EndpointSlice",
        "HorizontalPodAutoscaler",
        "Ingress",
        "IngressClass",
        "Job",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "NetworkPolicy",
        "Pod",
        "PodDisruptionBudget",
        "PodTemplate",
        "PriorityClass",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    )
)
_KEEPS_STATUS = ("Node",)
_CLONED = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def create(resource: kinds.Resource, obj: Obj, store: storage.Storage) -> Obj:
    """Prepare a new object, in place. Raises ApiFailure where it cannot be admitted."""
    if "status" in resource.subresources:
        told = obj.get("status") or {} if resource.kind in _KEEPS_STATUS else {}
        obj["status"] = copy.deepcopy(_no_status(resource)["status"]) | told
    if resource.kind in _GENERATED:
        obj["metadata"]["generation"] = 1
    admission.admit(resource, obj, store)
    if special := _CREATE.get(resource.kind):
        special(obj)
    if resource.kind == "Service":
        allocation.create(resource, obj, store)
    return obj


def update(resource: kinds.Resource, new: Obj, old: Obj, store: storage.Storage) -> Obj:
    """Prepare an object that takes the place of ``old``, in place. Raises ApiFailure."""
    if "status" in resource.subresources:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    if special := _UPDATE.get(resource.kind):
        special(new, old)
    if resource.kind == "Service":
        allocation.update(resource, new, old, store)
    if resource.kind in _GENERATED:
        before = old["metadata"].get("generation", 0)
        new["metadata"]["generation"] = before + (_wanted(new) != _wanted(old))
    return new


def status(resource: kinds.Resource, new: Obj, old: Obj) -> Obj:
    """The object with the status of ``new``, and those fields of its metadata that go with it."""
    meta = dict(new["metadata"])
    for kind, field in (("Deployment", "labels"), ("Pod", "ownerReferences")):
        if resource.kind == kind:
            meta.pop(field, None)
            meta |= {field: old["metadata"][field]} if field in old["metadata"] else {}
    found = {**old, "metadata": meta, "status": new.get("status") or {}}
    if resource.kind == "Pod":
        _pod_ips(found["status"])
    return found


@functools.cache
def _no_status(resource: kinds.Resource) -> Obj:
    """An object of which nothing is known, as it is written."""
    empty, _ = gotypes.read(
        {"status": {}}, schema.builtin(resource.group, resource.version, resource.kind)
    )
    found: Obj = {"status": {}, **empty}
    found["status"] |= _FIRST_STATUS.get(resource.kind, {})
    return found


def _wanted(obj: Obj) -> Obj:
    """What a change of makes a new generation."""
    found = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
    if obj["kind"] == "Deployment":
        found["annotations"] = obj["metadata"].get("annotations") or {}
    if obj["kind"] == "EndpointSlice":
        found["labels"] = obj["metadata"].get("labels") or {}
    if obj["kind"] == "PriorityClass":
        found.pop("description", None)
    return found


_FIRST_STATUS: Mapping[str, Obj] = {
    "Namespace": {"phase": "Active"},
    "PersistentVolume": {"phase": "Pending"},
    "PersistentVolumeClaim": {"phase": "Pending"},
    "Pod": {"phase": "Pending"},
}


def _pod(obj: Obj) -> None:
    obj["status"]["qosClass"] = _qos(obj["spec"])
    if obj["spec"].get("schedulingGates"):
        obj["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": obj["metadata"].get("creationTimestamp"),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    _grace(obj["spec"])


def _grace(spec: Obj) -> None:
    """Who asks for less than no time to end gets a second."""
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def _qos(spec: Obj) -> str:
    """How a pod fares when a node runs out of resources."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    amounts = [container.get("resources") or {} for container in containers]
    sides = [(one.get("limits") or {}, one.get("requests") or {}) for one in amounts]
    counted = ("cpu", "memory")
    if not any(
        name in limits or name in requests for limits, requests in sides for name in counted
    ):
        return "BestEffort"
    equal = all(
        limits.get(n) and limits[n] == requests.get(n)
        for limits, requests in sides
        for n in counted
    )
    return "Guaranteed" if equal else "Burstable"


def _pod_ips(found: Obj) -> None:
    if found.get("podIP") and not found.get("podIPs"):
        found["podIPs"] = [{"ip": found["podIP"]}]
    for condition in found.get("conditions") or ():
        condition.setdefault("lastProbeTime", None)
        condition.setdefault("lastTransitionTime", None)


def _job(obj: Obj) -> None:
    """A job selects pods by its own uid, which it puts into its template."""
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector"):
        return
    name, uid = meta.get("name", ""), meta["uid"]
    own = dict(zip(JOB_LABELS, (uid, name) * 2, strict=True))
    template = spec["template"].setdefault("metadata", {})
    template["labels"] = own | (template.get("labels") or {})
    _copy_labels(obj)
    selector = spec.setdefault("selector", {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), JOB_LABELS[0]: uid}


def _copy_labels(obj: Obj) -> None:
    """A job that has no labels has those of its template, with the ones that are added there."""
    labels = obj["spec"]["template"].get("metadata", {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _daemon_set(obj: Obj) -> None:
    _note_template(obj, 1)


def _note_template(obj: Obj, generation: int) -> None:
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**annotations, _TEMPLATE_GENERATION: str(generation)}


def _claim(obj: Obj) -> None:
    _same_source(obj)
    _protect(obj, "kubernetes.io/pvc-protection")


def _same_source(obj: Obj) -> None:
    spec = obj["spec"]
    source = spec.get("dataSource") or {}
    cloned = (source.get("apiGroup") or "", source.get("kind")) in _CLONED
    if source and not cloned and "dataSourceRef" not in spec:
        del spec["dataSource"]
    for one, other in (("dataSource", "dataSourceRef"), ("dataSourceRef", "dataSource")):
        if spec.get(one) and not spec.get(other) and not spec[one].get("namespace"):
            spec[other] = dict(spec[one])


def _volume(obj: Obj) -> None:
    obj["status"]["lastPhaseTransitionTime"] = obj["metadata"].get("creationTimestamp")
    _protect(obj, "kubernetes.io/pv-protection")


def _protect(obj: Obj, finalizer: str) -> None:
    given = obj["metadata"].get("finalizers") or []
    if finalizer not in given:
        obj["metadata"]["finalizers"] = [*given, finalizer]


def _namespace(obj: Obj) -> None:
    given = obj["spec"].get("finalizers") or []
    if "kubernetes" not in given:
        obj["spec"]["finalizers"] = [*given, "kubernetes"]


def _node(obj: Obj) -> None:
    taints = obj["spec"].get("taints") or []
    unready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    if unready not in taints:
        obj["spec"]["taints"] = [*taints, unready]


_CREATE: Mapping[str, Callable[[Obj], None]] = {
    "Pod": _pod,
    "Job": _job,
    "DaemonSet": _daemon_set,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "Namespace": _namespace,
    "Node": _node,
}


def _update_pod(new: Obj, old: Obj) -> None:
    _grace(new["spec"])
    admission.tolerate(new["spec"])


def _update_job(new: Obj, old: Obj) -> None:
    _copy_labels(new)


def _update_daemon_set(new: Obj, old: Obj) -> None:
    noted = (old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    changed = new["spec"]["template"] != old["spec"]["template"]
    _note_template(new, (gotext.integer(noted) or 0) + changed)


def _update_namespace(new: Obj, old: Obj) -> None:
    new["spec"] = old["spec"]


def _update_claim(new: Obj, old: Obj) -> None:
    _same_source(new)


_UPDATE: Mapping[str, Callable[[Obj, Obj], None]] = {
    "Job": _update_job,
    "Pod": _update_pod,
    "DaemonSet": _update_daemon_set,
    "Namespace": _update_namespace,
    "PersistentVolumeClaim": _update_claim,
}
