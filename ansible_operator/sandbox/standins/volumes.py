"""PersistentVolumes: made for claims, found for claims, free, bound or left."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.builtins import quantity
from ansible_operator.sandbox.standins import cluster, labels

Obj = dict[str, Any]
CLAIMS, VOLUMES = "persistentvolumeclaims", "persistentvolumes"
PROTECTION = "kubernetes.io/pv-protection"
PROVISIONED = "pv.kubernetes.io/provisioned-by"


def sync(seen: cluster.Cluster, volume: Obj) -> float | None:
    """Say whether a volume is free, bound or left, and delete what a claim has left."""
    meta, spec = volume["metadata"], volume["spec"]
    claimed = spec.get("claimRef")
    claim = _claim_of(seen, claimed) if claimed else None
    if "deletionTimestamp" in meta:
        kept = [name for name in meta.get("finalizers") or () if name != PROTECTION]
        if claim is None and len(kept) < len(meta.get("finalizers") or ()):
            seen.set_meta(VOLUMES, volume, finalizers=kept)
        return None
    phase = "Available"
    if claimed and claimed.get("uid"):
        phase = "Bound" if claim is not None else "Released"
    set_phase(seen, volume, phase)
    if phase == "Released" and spec.get("persistentVolumeReclaimPolicy") == "Delete":
        seen.local.delete(VOLUMES, "", meta["name"])
    return None


def set_phase(seen: cluster.Cluster, volume: Obj, phase: str) -> Obj:
    """Write the phase, if it is another one."""
    status = volume.get("status") or {}
    if status.get("phase") == phase:
        return volume
    when = {"lastPhaseTransitionTime": seen.stamp()}
    return seen.set_status(VOLUMES, volume, {**status, "phase": phase, **when})


def make(seen: cluster.Cluster, claim: Obj, storage_class: Obj) -> Obj:
    """The volume that a provisioner makes for a claim."""
    spec, name = claim["spec"], f"pvc-{claim['metadata']['uid']}"
    if (found := seen.local.get(VOLUMES, "", name)) is not None:
        return found
    notes = {PROVISIONED: storage_class["provisioner"]}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": notes},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": spec["resources"]["requests"],
            "claimRef": reference_to(claim),
            "hostPath": {"path": f"/nonexistent/{name}"},
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": spec["storageClassName"],
            "volumeMode": spec.get("volumeMode", "Filesystem"),
        },
    }
    return seen.local.create(VOLUMES, volume)


def fitting(seen: cluster.Cluster, claim: Obj) -> Obj | None:
    """The smallest free volume that the claim can have."""
    found = [volume for volume in seen.local.list(VOLUMES) if _fits(volume, claim)]
    return min(found, key=_size, default=None)


def unbound(seen: cluster.Cluster, volume: Obj) -> list[tuple[str, str]]:
    """The claims that a volume is for, or may be for."""
    claimed = volume["spec"].get("claimRef")
    if claimed:
        return [(claimed["namespace"], claimed["name"])]
    waiting = [c["metadata"] for c in seen.local.list(CLAIMS) if not c["spec"].get("volumeName")]
    return [(meta["namespace"], meta["name"]) for meta in waiting]


def reference_to(claim: Obj) -> Obj:
    """How a volume names its claim."""
    meta = claim["metadata"]
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return {**head, "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def _claim_of(seen: cluster.Cluster, reference: Obj) -> Obj | None:
    found = seen.local.get(CLAIMS, reference["namespace"], reference["name"])
    same = found is not None and reference.get("uid") in (None, found["metadata"]["uid"])
    return found if same else None


def _fits(volume: Obj, claim: Obj) -> bool:
    has, spec = volume["spec"], claim["spec"]
    selects = labels.selector(spec.get("selector") or {})
    wanted = quantity.number(spec["resources"]["requests"]["storage"])
    return (
        has.get("storageClassName", "") == spec.get("storageClassName", "")
        and has.get("volumeMode", "Filesystem") == spec.get("volumeMode", "Filesystem")
        and set(spec["accessModes"]) <= set(has["accessModes"])
        and _size(volume) >= wanted
        and selects(volume)
        and _is_free_for(volume, claim["metadata"])
    )


def _is_free_for(volume: Obj, meta: Obj) -> bool:
    held = volume["spec"].get("claimRef")
    if "deletionTimestamp" in volume["metadata"]:
        return False
    if not held:
        return True
    same = (held["namespace"], held["name"]) == (meta["namespace"], meta["name"])
    return same and held.get("uid") in (None, meta["uid"])


def _size(volume: Obj) -> Any:
    return quantity.number(volume["spec"]["capacity"]["storage"])
