"""Autoscalers of version 1 and 2, in each other's form."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator.sandbox.builtins import autoscaling

METRICS: list[dict[str, Any]] = [
    {
        "type": "Resource",
        "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": used}},
    }
    for name, used in (("memory", 1), ("cpu", 7))
]
CONDITION = {"type": "AbleToScale", "status": "True", "lastTransitionTime": None}
NEW: dict[str, Any] = {
    "apiVersion": "autoscaling/v2",
    "metadata": {"name": "a", "annotations": {"own": "note"}},
    "spec": {"maxReplicas": 3, "metrics": METRICS, "behavior": {"scaleUp": {}}},
    "status": {"conditions": [CONDITION], "desiredReplicas": 1},
}


def test_nothing_is_lost_on_the_way_through_version_1() -> None:
    """Annotations carry what it has no fields for."""
    old = autoscaling.to_old(NEW)
    assert old["spec"] == {"maxReplicas": 3, "targetCPUUtilizationPercentage": 7}
    assert old["status"] == {"currentReplicas": 0, "desiredReplicas": 1}
    back = autoscaling.to_new(old)
    assert back["spec"] == NEW["spec"]
    assert back["metadata"] == NEW["metadata"]
    assert back["status"]["conditions"] == NEW["status"]["conditions"]


def test_the_objects_given_are_not_changed() -> None:
    """They belong to the storage."""
    before = repr(NEW)
    autoscaling.to_new(autoscaling.to_old(NEW))
    assert repr(NEW) == before


def test_the_use_of_cpu_is_told_by_the_status() -> None:
    """In both versions."""
    metric = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 5}}}
    old = autoscaling.to_old({**NEW, "status": {"currentMetrics": [metric]}})
    assert old["status"]["currentCPUUtilizationPercentage"] == 5
    assert autoscaling.to_new(old)["status"]["currentMetrics"] == [metric]


@pytest.mark.parametrize("text", ["abc", "1", "[1]", '[{"type":1}]', '{"a":1}', "[1e999]", "NaN"])
@pytest.mark.parametrize("name", ["metrics", "behavior", "conditions", "current-metrics"])
def test_annotations_that_cannot_be_read_say_nothing(name: str, text: str) -> None:
    """Anybody can write them; what is in them is not of the right type."""
    given = {
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "a", "annotations": {f"autoscaling.alpha.kubernetes.io/{name}": text}},
        "spec": {"maxReplicas": 3},
    }
    read = autoscaling.to_new(given)
    assert read["spec"] in ({"maxReplicas": 3}, {"maxReplicas": 3, "behavior": {}})
    assert not read.get("status")
