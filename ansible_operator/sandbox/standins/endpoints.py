"""Endpoints of Services: the addresses of the pods they select, ready or not."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.standins import cluster, labels, podstate, ports, slices

Obj = dict[str, Any]
Objects = list[Obj]
HEADLESS = "service.kubernetes.io/headless"
MANAGER = "endpoints.kubernetes.io/managed-by"
ENDPOINTS = "endpoints"


def sync(seen: cluster.Cluster, service: Obj) -> float | None:
    """Write the endpoints and the slice of a service that selects pods."""
    spec, meta = service["spec"], service["metadata"]
    if not spec.get("selector") or spec.get("type") == "ExternalName":
        return None
    if "deletionTimestamp" in meta:
        return None
    selects = labels.selector({"matchLabels": spec["selector"]})
    pods = [pod for pod in seen.local.list("pods", meta["namespace"]) if selects(pod)]
    pods = [p for p in pods if p.get("status", {}).get("podIP") and not podstate.is_finished(p)]
    carried = dict(meta.get("labels") or {})
    if spec.get("clusterIP") == "None":
        carried[HEADLESS] = ""
    _write(seen, service, pods, carried)
    slices.write(seen, service, pods, carried)
    return None


def gone(seen: cluster.Cluster, namespace: str, name: str) -> None:
    """The endpoints go with their service; the slices are its dependents."""
    found = seen.local.get(ENDPOINTS, namespace, name)
    if found is not None and MANAGER in (found["metadata"].get("labels") or {}):
        seen.local.delete(ENDPOINTS, namespace, name)


def selecting(seen: cluster.Cluster, pod: Obj) -> list[tuple[str, str]]:
    """The services that select a pod."""
    namespace, carried = pod["metadata"]["namespace"], pod["metadata"].get("labels") or {}
    return [
        (namespace, service["metadata"]["name"])
        for service in seen.local.list("services", namespace)
        if service["spec"].get("selector") and labels.contains(carried, service["spec"]["selector"])
    ]


def _write(seen: cluster.Cluster, service: Obj, pods: Objects, carried: Obj) -> None:
    meta = service["metadata"]
    old = seen.local.get(ENDPOINTS, meta["namespace"], meta["name"])
    subsets = _subsets(service, [p for p in pods if "deletionTimestamp" not in p["metadata"]])
    content = {"subsets": subsets} if subsets else {}
    marks = {**carried, MANAGER: "endpoint-controller"}
    if old is None:
        about = {"namespace": meta["namespace"], "name": meta["name"], "labels": marks}
        about["annotations"] = {slices.TRIGGER: meta["creationTimestamp"]}
        head = {"apiVersion": "v1", "kind": "Endpoints", "metadata": about}
        seen.local.create(ENDPOINTS, {**head, **content})
    elif (old.get("subsets") or [], old["metadata"].get("labels") or {}) != (subsets, marks):
        about = {**old["metadata"], "labels": marks, "annotations": _trigger(seen, old, subsets)}
        about = {name: value for name, value in about.items() if value}
        rest = {name: value for name, value in old.items() if name != "subsets"}
        seen.local.update(ENDPOINTS, {**rest, "metadata": about, **content})


def _trigger(seen: cluster.Cluster, old: Obj, subsets: Objects) -> Obj:
    """The time of the change, if an address came; a change by a pod's end has none."""
    notes = dict(old["metadata"].get("annotations") or {})
    notes.pop(slices.TRIGGER, None)
    more = _ready(subsets) - _ready(old.get("subsets") or [])
    return {**notes, slices.TRIGGER: seen.stamp()} if more else notes


def _ready(subsets: Objects) -> set[str]:
    return {one["ip"] for subset in subsets for one in subset.get("addresses") or ()}


def _subsets(service: Obj, pods: Objects) -> Objects:
    """The pods' addresses, together where their ports are the same."""
    groups: dict[str, Obj] = {}
    for pod in sorted(pods, key=lambda one: str(one["status"]["podIP"])):
        listed = ports.at(service, pod)
        if not listed and service["spec"].get("ports"):
            continue
        group = groups.setdefault(str(listed), {"ports": [_port(port) for port in listed]})
        ready = podstate.is_ready(pod) or ports.is_published(service)
        field = "addresses" if ready else "notReadyAddresses"
        group.setdefault(field, []).append(_address(service, pod))
    order = ("addresses", "notReadyAddresses", "ports")
    return [{f: group[f] for f in order if group.get(f)} for group in groups.values()]


def _address(service: Obj, pod: Obj) -> Obj:
    where = {"nodeName": pod["spec"].get("nodeName"), "targetRef": ports.target(pod)}
    return {"ip": pod["status"]["podIP"], **ports.hostname(service, pod), **where}


def _port(port: Obj) -> Obj:
    name = {"name": port["name"]} if port["name"] else {}
    return {**name, "port": port["port"], "protocol": port["protocol"]}
