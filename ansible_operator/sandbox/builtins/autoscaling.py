"""HorizontalPodAutoscalers of autoscaling/v1, which old clients still write, as those of v2.

Version 1 knows one metric, the use of CPU; what else there is goes through it in annotations.
"""

from __future__ import annotations

import json
from typing import Any

from ansible_operator.sandbox.reading import bodies, values
from ansible_operator.sandbox.schemas import gotypes, scalars, schema

Obj = dict[str, Any]
OLD, NEW = "autoscaling/v1", "autoscaling/v2"
_PREFIX = "autoscaling.alpha.kubernetes.io/"
_KEPT = {
    "metrics": ("spec", "metrics"),
    "behavior": ("spec", "behavior"),
    "current-metrics": ("status", "currentMetrics"),
    "conditions": ("status", "conditions"),
}
"""What version 1 has no field for: the annotation, and where version 2 has it."""


def to_old(obj: Obj) -> Obj:
    """An autoscaler of version 2 in version 1."""
    found = {**obj, "apiVersion": OLD, "spec": dict(obj.get("spec") or {})}
    if "status" in obj:
        found["status"] = {"currentReplicas": 0, "desiredReplicas": 0, **(obj["status"] or {})}
    _move_out(found, "spec", "metrics", "target", "targetCPUUtilizationPercentage")
    _move_out(found, "status", "currentMetrics", "current", "currentCPUUtilizationPercentage")
    kept = {}
    for name, (part, field) in _KEPT.items():
        if left := found.get(part, {}).pop(field, None):
            kept[_PREFIX + name] = json.dumps(left, separators=(",", ":"))
    return _annotated(found, kept)


def to_new(obj: Obj) -> Obj:
    """An autoscaler of version 1 in version 2; one of version 2 as it is."""
    if obj.get("apiVersion") != OLD:
        return obj
    found = {**obj, "apiVersion": NEW, "spec": dict(obj.get("spec") or {})}
    if "status" in obj:
        found["status"] = dict(obj["status"] or {})
    for name, (part, field) in _KEPT.items():
        text = (obj["metadata"].get("annotations") or {}).get(_PREFIX + name, "")
        if value := _told(text, part, field):
            found.setdefault(part, {})[field] = value
    _move_in(found, "spec", "metrics", "target", "targetCPUUtilizationPercentage")
    _move_in(found, "status", "currentMetrics", "current", "currentCPUUtilizationPercentage")
    return _annotated(found, {})


def _told(text: str, part: str, field: str) -> Any:
    """What an annotation says of a field of version 2; None where that cannot be read."""
    whole = schema.builtin("autoscaling", "v2", "HorizontalPodAutoscaler")
    try:
        found, _ = gotypes.read({part: {field: bodies.parse_json(text.encode())}}, whole)
    except (ValueError, values.Mismatch, scalars.Unreadable):
        return None
    return (found.get(part) or {}).get(field)


def _annotated(obj: Obj, kept: dict[str, str]) -> Obj:
    given = obj["metadata"].get("annotations") or {}
    own = {name: text for name, text in given.items() if name.removeprefix(_PREFIX) not in _KEPT}
    if own | kept == given:
        return obj
    metadata = {key: value for key, value in obj["metadata"].items() if key != "annotations"}
    annotations = {"annotations": own | kept} if own | kept else {}
    return {**obj, "metadata": metadata | annotations}


def _move_out(obj: Obj, part: str, field: str, side: str, percentage: str) -> None:
    metrics = obj.get(part, {}).get(field) or ()
    cpu = next((metric for metric in metrics if _used(metric, side) is not None), None)
    if cpu is not None:
        obj[part][percentage] = _used(cpu, side)
        obj[part][field] = [metric for metric in metrics if metric is not cpu]


def _move_in(obj: Obj, part: str, field: str, side: str, percentage: str) -> None:
    used = obj.get(part, {}).pop(percentage, None)
    if used is not None:
        kind = {"type": "Utilization"} if side == "target" else {}
        resource = {"name": "cpu", side: {**kind, "averageUtilization": used}}
        obj[part][field] = [*obj[part].get(field, ()), {"type": "Resource", "resource": resource}]


def _used(metric: Obj, side: str) -> int | None:
    resource = metric.get("resource") or {}
    used: int | None = (resource.get(side) or {}).get("averageUtilization")
    return used if resource.get("name") == "cpu" else None
