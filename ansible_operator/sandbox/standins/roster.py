"""Which stand-ins there are, and which changes each of them has to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_operator.sandbox import kinds
from ansible_operator.sandbox.standins import (
    accounts,
    budgets,
    claims,
    cluster,
    cronjobs,
    daemonsets,
    deployments,
    endpoints,
    jobs,
    nodes,
    pods,
    replicasets,
    slices,
    statefulsets,
    volumes,
)

Obj = dict[str, Any]
Name = tuple[str, str]
Related = Callable[[cluster.Cluster, Obj], Iterable[Name]]
"""The objects of a stand-in that have to be looked at because another object changed."""


@dataclass(frozen=True, slots=True)
class Standin:
    """A controller of one resource.

    ``sync`` looks at one of its objects, ``gone`` at the place of one that was deleted.
    ``children`` are the resources whose objects its kind controls, ``related`` says of others
    which objects to look at when one of them changes.
    """

    key: kinds.Key
    sync: Callable[[cluster.Cluster, Obj], float | None]
    kind: str = ""
    children: tuple[kinds.Key, ...] = ()
    related: Mapping[kinds.Key, Related] = field(default_factory=dict)
    gone: Callable[[cluster.Cluster, str, str], None] | None = None


def _waiting_pods(seen: cluster.Cluster, obj: Obj) -> Iterable[Name]:
    """The pods without a node, in the namespace of the object if it has one."""
    namespace = obj["metadata"].get("namespace", "")
    waiting = (p for p in seen.local.list("pods", namespace) if not p["spec"].get("nodeName"))
    return [(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in waiting]


def _all(resource: str) -> Related:
    def found(seen: cluster.Cluster, obj: Obj) -> Iterable[Name]:
        listed = seen.local.list(resource)
        return [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in listed]

    return found


def _used_claims(seen: cluster.Cluster, pod: Obj) -> Iterable[Name]:
    return [(pod["metadata"]["namespace"], name) for name in claims.used(pod)]


def _volume_of(seen: cluster.Cluster, claim: Obj) -> Iterable[Name]:
    name = claim["spec"].get("volumeName")
    return [("", name)] if name else []


def _namesake(seen: cluster.Cluster, obj: Obj) -> Iterable[Name]:
    return [(obj["metadata"]["namespace"], obj["metadata"]["name"])]


_NODES, _PODS, _ENDPOINTS = ("", "nodes"), ("", "pods"), ("", "endpoints")
_CLAIMS, _VOLUMES = ("", volumes.CLAIMS), ("", volumes.VOLUMES)
_SETS, _REVISIONS, _JOBS = (
    ("apps", "replicasets"),
    ("apps", "controllerrevisions"),
    ("batch", "jobs"),
)
_ACCOUNTS: Mapping[kinds.Key, Related] = {
    ("", "serviceaccounts"): accounts.namespace_of,
    ("", "configmaps"): accounts.namespace_of,
}
_OF_CLAIMS: Mapping[kinds.Key, Related] = {
    _PODS: _used_claims,
    _VOLUMES: volumes.unbound,
    ("storage.k8s.io", "storageclasses"): _all(volumes.CLAIMS),
}
_OF_SERVICES: Mapping[kinds.Key, Related] = {_PODS: endpoints.selecting, _ENDPOINTS: _namesake}
_OF_DAEMONS: Mapping[kinds.Key, Related] = {_NODES: _all("daemonsets.apps")}
_OWN = (_PODS, _REVISIONS)

STANDINS = (
    Standin(_NODES, nodes.sync),
    Standin(("", "namespaces"), accounts.sync, related=_ACCOUNTS),
    Standin(_PODS, pods.sync, related={_NODES: _waiting_pods, _CLAIMS: _waiting_pods}),
    Standin(_SETS, replicasets.sync, "ReplicaSet", (_PODS,)),
    Standin(("apps", "deployments"), deployments.sync, "Deployment", (_SETS,)),
    Standin(("apps", "statefulsets"), statefulsets.sync, "StatefulSet", _OWN),
    Standin(("apps", "daemonsets"), daemonsets.sync, "DaemonSet", _OWN, _OF_DAEMONS),
    Standin(_JOBS, jobs.sync, "Job", (_PODS,)),
    Standin(("batch", "cronjobs"), cronjobs.sync, "CronJob", (_JOBS,)),
    Standin(_CLAIMS, claims.sync, related=_OF_CLAIMS),
    Standin(_VOLUMES, volumes.sync, related={_CLAIMS: _volume_of}),
    Standin(
        ("", "services"), endpoints.sync, "Service", (slices.KEY,), _OF_SERVICES, endpoints.gone
    ),
    Standin(_ENDPOINTS, slices.mirror, "Endpoints", (slices.KEY,)),
    Standin(budgets.KEY, budgets.sync, related={_PODS: budgets.matching}),
)
