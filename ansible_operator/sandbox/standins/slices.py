"""EndpointSlices: of services that select pods, and of endpoints that somebody wrote."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.standins import cluster, podstate, ports

Obj = dict[str, Any]
Objects = list[Obj]
KEY, RESOURCE = ("discovery.k8s.io", "endpointslices"), "endpointslices.discovery.k8s.io"
OF_SERVICE = "kubernetes.io/service-name"
MANAGER = "endpointslice.kubernetes.io/managed-by"
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
_BY, _MIRRORED_BY = "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"


def write(seen: cluster.Cluster, service: Obj, pods: Objects, carried: Obj) -> None:
    """Write the slice of a service; ``carried`` are its labels."""
    wanted = service["spec"].get("ports")
    found = [(pod, ports.at(service, pod)) for pod in pods]
    found = [(pod, listed) for pod, listed in found if listed or not wanted]
    entries = [_entry(service, pod) for pod, _ in found]
    marks = {**carried, OF_SERVICE: service["metadata"]["name"], MANAGER: _BY}
    _put(seen, service, marks, {TRIGGER: seen.stamp()}, entries, found[0][1] if found else [])


def mirror(seen: cluster.Cluster, found: Obj) -> float | None:
    """Write the slice of endpoints that somebody wrote for a service without a selector."""
    meta = found["metadata"]
    service = seen.local.get("services", meta["namespace"], meta["name"])
    if service is None or service["spec"].get("selector"):
        return None
    marks = {**(meta.get("labels") or {}), OF_SERVICE: meta["name"], MANAGER: _MIRRORED_BY}
    entries: Objects = []
    listed: Objects = []
    for subset in found.get("subsets") or ():
        entries += [_mirrored(address, True) for address in subset.get("addresses") or ()]
        entries += [_mirrored(address, False) for address in subset.get("notReadyAddresses") or ()]
        listed = subset.get("ports") or listed
    named = [{"name": "", "protocol": "TCP", **port} for port in listed]
    _put(seen, found, marks, {}, entries, named)
    return None


def _put(
    seen: cluster.Cluster, owner: Obj, marks: Obj, notes: Obj, entries: Objects, listed: Objects
) -> None:
    content = {"endpoints": entries or None, "ports": listed or None}
    meta = owner["metadata"]
    found = seen.dependents.of(meta["uid"], KEY)
    if not found:
        about = {
            "generateName": f"{meta['name']}-",
            "namespace": meta["namespace"],
            "labels": marks,
            "annotations": notes,
            "ownerReferences": [cluster.reference_to(owner)],
        }
        head = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": about}
        seen.local.create(RESOURCE, {**head, "addressType": "IPv4", **content})
        return
    old = found[0]
    held = {name: old.get(name) or None for name in content}
    if (held, old["metadata"].get("labels") or {}) != (content, marks):
        came = _ready(content) - _ready(held)
        about = {**old["metadata"], "labels": marks, "annotations": notes if came else {}}
        about = {name: value for name, value in about.items() if value}
        seen.local.update(RESOURCE, {**old, "metadata": about, **content})


def _ready(content: Obj) -> set[str]:
    entries = content["endpoints"] or ()
    return {one["addresses"][0] for one in entries if (one.get("conditions") or {}).get("ready")}


def _entry(service: Obj, pod: Obj) -> Obj:
    leaving, serving = "deletionTimestamp" in pod["metadata"], podstate.is_ready(pod)
    ready = ports.is_published(service) or (serving and not leaving)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready, "serving": serving, "terminating": leaving},
        **ports.hostname(service, pod),
        "targetRef": ports.target(pod),
        "nodeName": pod["spec"].get("nodeName"),
    }


def _mirrored(address: Obj, ready: bool) -> Obj:
    kept = {k: v for k, v in address.items() if k in ("hostname", "nodeName", "targetRef")}
    return {"addresses": [address["ip"]], "conditions": {"ready": ready}, **kept}
