"""Defaults of built-in kinds that depend on what else an object says. All work in place."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_operator.sandbox.builtins import quantity

Obj = dict[str, Any]
_RBAC = "rbac.authorization.k8s.io"
NAME_LABEL = "kubernetes.io/metadata.name"
"""The label by which a namespace can be selected by its name."""


def _containers(spec: Obj) -> Iterable[Obj]:
    for name in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(name) or ()


def _template(spec: Obj) -> None:
    """Defaults of the pods that something makes."""
    for volume in spec.get("volumes") or ():
        if len(volume) < 2:
            volume["emptyDir"] = {}
    for container in _containers(spec):
        if not container.get("imagePullPolicy"):
            container["imagePullPolicy"] = _pull_policy(container.get("image", ""))
        amounts = container.get("resources")
        if amounts:
            _round(amounts)
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _pull_policy(image: str) -> str:
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _round(amounts: Obj) -> None:
    """Resources are counted in thousandths."""
    for side in ("limits", "requests"):
        if side in amounts:
            amounts[side] = _amounts(amounts[side])


def _amounts(found: Mapping[str, str]) -> dict[str, str]:
    return {name: quantity.canonical(text, 3) for name, text in found.items()}


def _pod(obj: Obj) -> None:
    spec = obj["spec"]
    _template(spec)
    for container in _containers(spec):
        amounts = container.get("resources")
        if amounts and amounts.get("limits"):
            amounts["requests"] = amounts["limits"] | amounts.get("requests", {})
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort"))


def _of_template(obj: Obj) -> None:
    _template(obj["spec"]["template"]["spec"])


def _deployment(obj: Obj) -> None:
    _of_template(obj)
    strategy = obj["spec"]["strategy"]
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


def _daemon_set(obj: Obj) -> None:
    _of_template(obj)
    strategy = obj["spec"]["updateStrategy"]
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)


def _stateful_set(obj: Obj) -> None:
    _of_template(obj)
    spec = obj["spec"]
    strategy = spec["updateStrategy"]
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("partition", 0)
        rolling.setdefault("maxUnavailable", 1)
    for claim in spec.get("volumeClaimTemplates") or ():
        _claim(claim)


def _before_job(obj: Obj) -> None:
    spec = obj["spec"]
    # Who says neither wants one pod to succeed once; with a width alone any success will do.
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1


def _cron_job(obj: Obj) -> None:
    _template(obj["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def _replication_controller(obj: Obj) -> None:
    template = obj["spec"].get("template")
    if template is None:
        return
    _template(template["spec"])
    labels = template.get("metadata", {}).get("labels")
    if labels:
        obj["spec"].setdefault("selector", dict(labels))
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _service(obj: Obj) -> None:
    spec = obj["spec"]
    kind = spec["type"]
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    if spec["sessionAffinity"] == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", 10800)
    for port in spec.get("ports") or ():
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    exposed = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get(_EXTERNAL))
    if exposed:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


_EXTERNAL = "externalIPs"


def _claim(obj: Obj) -> None:
    spec = obj["spec"]
    amounts = spec.get("resources")
    if amounts:
        _round(amounts)


def _volume(obj: Obj) -> None:
    if "capacity" in obj["spec"]:
        obj["spec"]["capacity"] = _amounts(obj["spec"]["capacity"])


def _secret(obj: Obj) -> None:
    texts = obj.pop("stringData", None)
    if texts:
        data = obj.setdefault("data", {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode()).decode()


def _namespace(obj: Obj) -> None:
    meta = obj["metadata"]
    if meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta["name"]}


def _network_policy(obj: Obj) -> None:
    spec = obj["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _binding(obj: Obj) -> None:
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _RBAC


def _limit_range(obj: Obj) -> None:
    for one in obj["spec"].get("limits") or ():
        if one.get("type") != "Container":
            continue
        default = (one.get("max") or {}) | (one.get("default") or {})
        request = (one.get("min") or {}) | default | (one.get("defaultRequest") or {})
        one.update({"default": default} if default else {})
        one.update({"defaultRequest": request} if request else {})


def _quota(obj: Obj) -> None:
    if "hard" in obj["spec"]:
        obj["spec"]["hard"] = _amounts(obj["spec"]["hard"])


BEFORE: Mapping[str, Callable[[Obj], None]] = {"Job": _before_job}
"""What is done before the defaults of the table, by kind."""
AFTER: Mapping[str, Callable[[Obj], None]] = {
    "Pod": _pod,
    "PodTemplate": lambda obj: _template(obj["template"]["spec"]),
    "ReplicationController": _replication_controller,
    "ReplicaSet": _of_template,
    "Deployment": _deployment,
    "DaemonSet": _daemon_set,
    "StatefulSet": _stateful_set,
    "Job": _of_template,
    "CronJob": _cron_job,
    "Service": _service,
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "Secret": _secret,
    "Namespace": _namespace,
    "NetworkPolicy": _network_policy,
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "LimitRange": _limit_range,
    "ResourceQuota": _quota,
}
"""What is done after them."""
