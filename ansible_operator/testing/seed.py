"""What a cluster has from the start: nodes, a storage class, and the policy of its audit log."""

from __future__ import annotations

from typing import Any

from ansible_operator.testing import binaries

NODES = ("node-1", "node-2", "node-3")
STORAGE_CLASS = "standard"
PROVISIONER = "control-plane/storage"
"""The provisioner's name; stages.yaml acts on its claims."""

KUBELET_KINDS = {
    "Exec": "execs",
    "Logs": "logs",
    "Attach": "attaches",
    "PortForward": "portforwards",
}
"""kwok's kinds, with their plurals, by which it answers for the containers of one pod.

Without such an object of the pod's name nothing is run, read or reached.
"""


def objects() -> list[tuple[str, dict[str, Any]]]:
    """Paths and bodies of what is created before anything works on the cluster."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name in NODES:
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        }
        annotations = {
            "kwok.x-k8s.io/node": "fake",
            "control-plane/version": f"v{binaries.KUBERNETES}",  # for the stage's nodeInfo
        }
        metadata = {"name": name, "labels": labels, "annotations": annotations}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
        found.append(("/api/v1/nodes", node))
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }
    found.append(("/apis/storage.k8s.io/v1/storageclasses", storage))
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    found += [(definitions, _kubelet_kind(*names)) for names in KUBELET_KINDS.items()]
    return found


def _kubelet_kind(kind: str, plural: str) -> dict[str, Any]:
    """The definition of one of kwok's kinds; kwok itself checks what is in the objects."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kwok.x-k8s.io"},
        "spec": {
            "group": "kwok.x-k8s.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:nodes"]},
        {"level": "None", "nonResourceURLs": ["/healthz*", "/readyz*", "/livez*"]},
        {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]},
        {"level": "Request", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "Metadata"},
    ],
}
"""Who did what: bodies of writes but for secrets, no bodies of reads."""
