"""Autoscalers in both of their versions: version 1 knows the use of CPU only."""

from __future__ import annotations

import wire

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nosuch"}
CPU = {"averageUtilization": 70, "type": "Utilization"}


def path(ns: str, version: str, name: str = "") -> str:
    """The path of autoscalers in a version."""
    return f"/apis/autoscaling/{version}/namespaces/{ns}/horizontalpodautoscalers" + (
        f"/{name}" if name else ""
    )


def test_version_1_is_stored_as_version_2(server: wire.Server, ns: str) -> None:
    """The target becomes a metric, and a metric the target; 80 is what is wanted by default."""
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET, "targetCPUUtilizationPercentage": 70}
    made = server.post(path(ns, "v1"), {"metadata": {"name": "a"}, "spec": spec})
    assert made.code == 201, made.text
    assert made.body["apiVersion"] == "autoscaling/v1"
    assert made.body["spec"] == {**spec, "minReplicas": 1}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": CPU}}
    assert server.get(path(ns, "v2", "a")).body["spec"]["metrics"] == [metric]
    bare = {"metadata": {"name": "b"}, "spec": {"maxReplicas": 3, "scaleTargetRef": TARGET}}
    server.post(path(ns, "v1"), bare)
    found = server.get(path(ns, "v1", "b")).body["spec"]
    assert found["targetCPUUtilizationPercentage"] == 80


def test_version_1_keeps_what_it_does_not_know(server: wire.Server, ns: str) -> None:
    """Other metrics and the behavior survive a write in version 1."""
    memory = {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 10}}
    cpu = {"name": "cpu", "target": CPU}
    metrics = [{"type": "Resource", "resource": found} for found in (memory, cpu)]
    spec = {"maxReplicas": 3, "scaleTargetRef": TARGET, "metrics": metrics}
    spec["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 10}}
    made = server.post(path(ns, "v2"), {"metadata": {"name": "a"}, "spec": spec}).body
    old = server.get(path(ns, "v1", "a")).body
    assert old["spec"]["targetCPUUtilizationPercentage"] == 70
    assert "metrics" not in old["spec"]
    assert "autoscaling.alpha.kubernetes.io/metrics" in old["metadata"]["annotations"]
    change = {"spec": {"targetCPUUtilizationPercentage": 50}}
    changed = server.patch(path(ns, "v1", "a"), change)
    assert changed.code == 200, changed.text
    new = server.get(path(ns, "v2", "a")).body
    assert "annotations" not in new["metadata"]
    assert new["spec"]["behavior"] == made["spec"]["behavior"]
    assert new["spec"]["metrics"][0] == metrics[0]
    assert new["spec"]["metrics"][1]["resource"]["target"]["averageUtilization"] == 50


def test_version_1_is_validated_like_version_2(server: wire.Server, ns: str) -> None:
    """The same rules, whatever the version."""
    spec = {"maxReplicas": 1, "minReplicas": 2, "scaleTargetRef": TARGET}
    refused = server.post(path(ns, "v1"), {"metadata": {"name": "a"}, "spec": spec})
    assert (refused.code, refused.body["reason"]) == (422, "Invalid")
    assert "must be greater than or equal to `minReplicas`" in refused.body["message"]
