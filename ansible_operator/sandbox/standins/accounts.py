"""What every namespace has: the service account ``default`` and the authority of the API server."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.standins import cluster

Obj = dict[str, Any]
AUTHORITY = "kube-root-ca.crt"
_TOLD = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


def sync(seen: cluster.Cluster, namespace: Obj) -> float | None:
    """Make what is missing, and set right what was changed."""
    name = namespace["metadata"]["name"]
    if "deletionTimestamp" in namespace["metadata"]:
        return None
    if seen.local.get("serviceaccounts", name, "default") is None:
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        metadata = {"name": "default", "namespace": name}
        seen.local.create("serviceaccounts", {**account, "metadata": metadata})
    found = seen.local.get("configmaps", name, AUTHORITY)
    data = {"ca.crt": seen.ca}
    if found is None:
        seen.local.create("configmaps", _authority(name, data))
    elif found.get("data") != data:
        seen.local.update("configmaps", {**found, "data": data})
    return None


def namespace_of(seen: cluster.Cluster, obj: Obj) -> list[tuple[str, str]]:
    """The namespace of one of these objects."""
    meta = obj["metadata"]
    mine = meta["name"] == (AUTHORITY if obj["kind"] == "ConfigMap" else "default")
    return [("", meta["namespace"])] if mine else []


def _authority(namespace: str, data: dict[str, str]) -> Obj:
    notes = {"kubernetes.io/description": _TOLD}
    metadata = {"name": AUTHORITY, "namespace": namespace, "annotations": notes}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
