"""PersistentVolumeClaims: provisioned if their class can, else bound to a volume that fits."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import conditions
from ansible_operator.sandbox.standins import cluster, containers, events, podstate, volumes

Obj = dict[str, Any]
COMPONENT = "persistentvolume-controller"
PROTECTION = "kubernetes.io/pvc-protection"
BOUND_BY = "pv.kubernetes.io/bound-by-controller"
COMPLETED = "pv.kubernetes.io/bind-completed"
_PROVISIONERS = (
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
)
CLAIMS, VOLUMES = volumes.CLAIMS, volumes.VOLUMES


def sync(seen: cluster.Cluster, claim: Obj) -> float | None:
    """Find the claim a volume, note whether it is used, let it go when nobody uses it."""
    meta = claim["metadata"]
    pods = [pod for pod in seen.local.list("pods", meta["namespace"]) if meta["name"] in used(pod)]
    users = [pod for pod in pods if not podstate.is_finished(pod)]
    if "deletionTimestamp" in meta:
        if not users and PROTECTION in (meta.get("finalizers") or ()):
            kept = [name for name in meta["finalizers"] if name != PROTECTION]
            seen.set_meta(CLAIMS, claim, finalizers=kept)
        return None
    if claim.get("status", {}).get("phase") != "Bound":
        volume = _volume_for(seen, claim, bool(users))
        if volume is None:
            return None
        claim = _bind(seen, claim, volume)
    _note_use(seen, claim, bool(users))
    return None


def used(pod: Obj) -> list[str]:
    """The names of the claims that a pod uses."""
    listed = pod["spec"].get("volumes") or ()
    found = [(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in listed]
    return [name for name in found if name]


def _volume_for(seen: cluster.Cluster, claim: Obj, in_use: bool) -> Obj | None:
    """The volume that the claim asks for, that fits it, or that is made for it."""
    spec = claim["spec"]
    if name := spec.get("volumeName"):
        return seen.local.get(VOLUMES, "", name)
    if (found := volumes.fitting(seen, claim)) is not None:
        return found
    name = spec.get("storageClassName")
    storage_class = seen.local.get("storageclasses.storage.k8s.io", "", name) if name else None
    problem = _problem(name, storage_class, in_use)
    if problem is None:
        return _provision(seen, claim, storage_class or {})
    seen.recorder.record(claim, *problem, COMPONENT)
    return None


def _problem(name: str, storage_class: Obj | None, in_use: bool) -> tuple[str, str, str] | None:
    """Why no volume can be made: type, reason and message of the event that says so."""
    if not name:
        told = "no persistent volumes available for this claim and no storage class is set"
        return events.NORMAL, "FailedBinding", told
    if storage_class is None:
        told = f'storageclass.storage.k8s.io "{name}" not found'
        return events.WARNING, "ProvisioningFailed", told
    if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer" and not in_use:
        told = "waiting for first consumer to be created before binding"
        return events.NORMAL, "WaitForFirstConsumer", told
    return None


def _provision(seen: cluster.Cluster, claim: Obj, storage_class: Obj) -> Obj:
    name = storage_class["provisioner"]
    notes = claim["metadata"].get("annotations") or {}
    notes = {**notes, **dict.fromkeys(_PROVISIONERS, name)}
    claim = seen.set_meta(CLAIMS, claim, annotations=notes)
    told = (
        f"Waiting for a volume to be created either by the external provisioner '{name}' or "
        "manually by the system administrator. If volume creation is delayed, please verify that "
        "the provisioner is running and correctly registered."
    )
    seen.normal(claim, "ExternalProvisioning", told, COMPONENT)
    return volumes.make(seen, claim, storage_class)


def _bind(seen: cluster.Cluster, claim: Obj, volume: Obj) -> Obj:
    """Let claim and volume name each other."""
    meta = claim["metadata"]
    claim = seen.local.get(CLAIMS, meta["namespace"], meta["name"]) or claim
    if (volume["spec"].get("claimRef") or {}).get("uid") != meta["uid"]:
        version = {"resourceVersion": claim["metadata"]["resourceVersion"]}
        spec = {**volume["spec"], "claimRef": volumes.reference_to(claim) | version}
        volume = _noted(seen, VOLUMES, {**volume, "spec": spec}, BOUND_BY)
    volume = volumes.set_phase(seen, volume, "Bound")
    by = () if claim["spec"].get("volumeName") else (BOUND_BY,)
    spec = {**claim["spec"], "volumeName": volume["metadata"]["name"]}
    claim = _noted(seen, CLAIMS, {**claim, "spec": spec}, COMPLETED, *by)
    got = {name: volume["spec"][name] for name in ("accessModes", "capacity")}
    return seen.set_status(CLAIMS, claim, {**(claim.get("status") or {}), "phase": "Bound", **got})


def _noted(seen: cluster.Cluster, resource: str, obj: Obj, *keys: str) -> Obj:
    notes = {**(obj["metadata"].get("annotations") or {}), **dict.fromkeys(keys, "yes")}
    return seen.set_meta(resource, obj, annotations=notes)


def _note_use(seen: cluster.Cluster, claim: Obj, in_use: bool) -> None:
    listed = claim["status"].get("conditions") or []
    old = conditions.find(listed, "Unused")
    if old and (old["status"] == "False") is in_use:
        return
    status, reason, message = (
        ("False", "PodUsingPVC", "A pod is currently referencing this PVC")
        if in_use
        else ("True", "NoPodsUsingPVC", "No pods are currently referencing this PVC")
    )
    new = containers.condition(seen, "Unused", status, reason=reason, message=message)
    seen.set_status(
        CLAIMS, claim, {**claim["status"], "conditions": conditions.replaced(listed, new)}
    )
