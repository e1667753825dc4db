"""Nodes: ready as soon as they exist, tainted while they are cordoned."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import conditions
from ansible_operator.sandbox.standins import cluster, scheduling

Obj = dict[str, Any]
VERSION = "v1.37.2"
_ROOM = {"cpu": "256", "ephemeral-storage": "1Ti", "memory": "1Ti", "pods": "1k"}
_CONDITIONS = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def sync(seen: cluster.Cluster, node: Obj) -> float | None:
    """Write the status of a new node, and the taints that follow from its state."""
    if not conditions.is_true(node, "Ready"):
        node = seen.set_status("nodes", node, _status(seen, node))
    old = node["spec"].get("taints") or []
    own = (scheduling.CORDON, _NOT_READY["key"])
    kept = [taint for taint in old if taint.get("key") not in own]
    if node["spec"].get("unschedulable"):
        new = {"key": scheduling.CORDON, "effect": "NoSchedule", "timeAdded": seen.stamp()}
        kept.append(next((t for t in old if t.get("key") == scheduling.CORDON), new))
    if kept != old:
        spec = {name: value for name, value in node["spec"].items() if name != "taints"}
        seen.local.update("nodes", {**node, "spec": {**spec, **({"taints": kept} if kept else {})}})
    return None


def _status(seen: cluster.Cluster, node: Obj) -> Obj:
    now = seen.stamp()
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    fields = ("type", "status", "reason", "message")
    told = [{**dict(zip(fields, one, strict=True)), **times} for one in _CONDITIONS]
    return {
        **(node.get("status") or {}),
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": node["metadata"]["name"]},
        ],
        "capacity": _ROOM,
        "allocatable": _ROOM,
        "conditions": told,
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "sandbox://1",
            "kernelVersion": "",
            "kubeProxyVersion": "",
            "kubeletVersion": VERSION,
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "sandbox",
            "systemUUID": "",
        },
    }
