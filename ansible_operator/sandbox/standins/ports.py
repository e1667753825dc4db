"""How a service sees a pod: its ports there, the pod's host name, and who it is."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]
Ports = list[Obj]


def at(service: Obj, pod: Obj) -> Ports:
    """The ports of a service as they are at a pod; a name that no container has is left out."""
    found = []
    for port in service["spec"].get("ports") or ():
        protocol = port.get("protocol", "TCP")
        number = _number(port.get("targetPort", port["port"]), protocol, pod)
        if number is not None:
            found.append({"name": port.get("name", ""), "protocol": protocol, "port": number})
    return found


def _number(wanted: Any, protocol: str, pod: Obj) -> int | None:
    if isinstance(wanted, int):
        return wanted
    for container in pod["spec"]["containers"]:
        for port in container.get("ports") or ():
            if (port.get("name"), port.get("protocol", "TCP")) == (wanted, protocol):
                return int(port["containerPort"])
    return None


def hostname(service: Obj, pod: Obj) -> Obj:
    """The name of a pod that its governing service gives it."""
    spec = pod["spec"]
    if spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"]:
        return {"hostname": spec["hostname"]}
    return {}


def target(pod: Obj) -> Obj:
    """A reference to the pod."""
    meta = pod["metadata"]
    found = {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"]}
    return {**found, "uid": meta["uid"]}


def is_published(service: Obj) -> bool:
    """Whether pods count that are not ready."""
    return bool(service["spec"].get("publishNotReadyAddresses"))
