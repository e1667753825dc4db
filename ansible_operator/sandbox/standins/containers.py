"""The status of a pod and of its containers, as a kubelet writes it."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import conditions
from ansible_operator.sandbox.standins import cluster

Obj = dict[str, Any]
NOT_READY = "ContainersNotReady"
_READINESS = ("ContainersReady", "Ready")


def started(seen: cluster.Cluster, pod: Obj, ready: bool) -> Obj:
    """The status of a pod whose containers have just been started."""
    spec, now = pod["spec"], seen.stamp()
    host = _host_address(seen, spec["nodeName"])
    address = host if spec.get("hostNetwork") else _next_address(seen)
    new = [condition(seen, kind) for kind in ("PodReadyToStartContainers", "Initialized")]
    new += [condition(seen, kind) if ready else _unready(seen, pod, kind) for kind in _READINESS]
    new += [condition(seen, gate["conditionType"]) for gate in spec.get("readinessGates") or ()]
    written = {one["type"] for one in new}
    old = [one for one in pod["status"].get("conditions", ()) if one["type"] not in written]
    status = {
        **pod["status"],
        "phase": "Running",
        "startTime": now,
        "conditions": new + old,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "containerStatuses": [_container(c, _running(now), ready) for c in spec["containers"]],
    }
    if spec.get("initContainers"):
        status["initContainerStatuses"] = [_initial(c, now) for c in spec["initContainers"]]
    return status


def ready(seen: cluster.Cluster, pod: Obj) -> Obj:
    """The status of a running pod that has become ready."""
    status = pod["status"]
    listed = status.get("conditions") or []
    for kind in _READINESS:
        listed = conditions.replaced(listed, condition(seen, kind))
    given = status.get("containerStatuses") or ()
    found = [{**container, "ready": True} for container in given]
    return {**status, "conditions": listed, "containerStatuses": found}


def finished(seen: cluster.Cluster, pod: Obj, message: str | None = None) -> Obj:
    """The status of a pod whose containers have ended; with a message they have failed."""
    status, now = pod["status"], seen.stamp()
    phase, code = ("Succeeded", 0) if message is None else ("Failed", 1)
    reason = "PodCompleted" if message is None else "PodFailed"
    listed = status.get("conditions", [])
    for kind in _READINESS:
        listed = conditions.replaced(listed, condition(seen, kind, "False", reason=reason))
    state = _terminated(status.get("startTime", now), now, code, message or "")
    ended = [_container(c, state, False, started=False) for c in pod["spec"]["containers"]]
    return {**status, "phase": phase, "conditions": listed, "containerStatuses": ended}


def crashed(seen: cluster.Cluster, pod: Obj, message: str, restarts: int) -> Obj:
    """The status of a pod whose containers have failed and wait for another start."""
    now = seen.stamp()
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    last = {"lastState": _terminated(now, now, 1, message), "restartCount": restarts}
    listed = pod["status"].get("conditions") or []
    for kind in _READINESS:
        listed = conditions.replaced(listed, _unready(seen, pod, kind))
    found = [
        {**_container(container, waiting, False, started=False), **last}
        for container in pod["spec"]["containers"]
    ]
    return {**pod["status"], "conditions": listed, "containerStatuses": found}


def condition(seen: cluster.Cluster, kind: str, status: str = "True", **why: Any) -> Obj:
    """A condition of a pod, from now on."""
    times = {"lastProbeTime": None, "lastTransitionTime": seen.stamp()}
    return {"type": kind, "status": status, **times, **why}


def _unready(seen: cluster.Cluster, pod: Obj, kind: str) -> Obj:
    names = " ".join(container["name"] for container in pod["spec"]["containers"])
    told = f"containers with unready status: [{names}]"
    new = condition(seen, kind, "False", reason=NOT_READY, message=told)
    return conditions.kept_since(conditions.find(pod["status"].get("conditions"), kind), new)


def _initial(container: Obj, now: str) -> Obj:
    if container.get("restartPolicy") == "Always":
        return _container(container, _running(now), True)
    return _container(container, _terminated(now, now, 0), True, started=False)


def _container(container: Obj, state: Obj, ready: bool, *, started: bool = True) -> Obj:
    return {
        "name": container["name"],
        "state": state,
        "lastState": {},
        "ready": ready,
        "restartCount": 0,
        "image": container.get("image", ""),
        "imageID": "",
        "started": started,
    }


def _running(now: str) -> Obj:
    return {"running": {"startedAt": now}}


def _terminated(start: str, end: str, code: int, message: str = "") -> Obj:
    reason = "Error" if code else "Completed"
    found = {"exitCode": code, "reason": reason, "startedAt": start, "finishedAt": end}
    return {"terminated": {**found, "message": message} if message else found}


def _host_address(seen: cluster.Cluster, name: str) -> str:
    node = seen.local.get("nodes", "", name) or {}
    addresses = node.get("status", {}).get("addresses", ())
    internal = (found["address"] for found in addresses if found["type"] == "InternalIP")
    return next(internal, "127.0.0.1")


def _next_address(seen: cluster.Cluster) -> str:
    """The next address of 10.244.0.0/16."""
    high, low = divmod(2 + next(seen.addresses) % 65533, 256)
    return f"10.244.{high}.{low}"
