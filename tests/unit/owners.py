"""Owners and kinds of children for the tests of ownership."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_operator import children, objects, targets, watch

GVK = objects.GVK("test.example.com", "v1", "Owner")
CONFIGMAP = children.ChildKind(objects.GVK("", "v1", "ConfigMap"), "configmaps", True)
NODE = children.ChildKind(objects.GVK("", "v1", "Node"), "nodes", False)


def owner(
    name: str = "one", *, namespace: str = "ns", uid: str = "u1", gvk: objects.GVK = GVK
) -> children.Owner:
    """An owner on whose behalf a run acts."""
    entry = watch.Watch(gvk, targets.Role(Path("/roles/x")))
    return children.Owner(entry, objects.ObjectKey(gvk, namespace, name), uid, "1")


def obj(**meta: Any) -> objects.Obj:
    """An object with this metadata."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": 1.0}}
