"""The scale subresource: the one field ``replicas`` of an object, in the shape of a Scale."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from ansible_operator.sandbox import failure, kinds

Obj = dict[str, Any]
SCALE = kinds.Resource("autoscaling", "v1", "Scale", "scales", "scale")


@dataclass(frozen=True, slots=True)
class Paths:
    """Where replicas and selector stand in an object, as a CRD says it: ``.spec.replicas``."""

    replicas: str = ".spec.replicas"
    actual: str = ".status.replicas"
    selector: str = ""


def read(obj: Obj, paths: Paths) -> Obj:
    """The Scale of an object."""
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Obj = {"replicas": _at(obj, paths.actual) or 0}
    if selector := _selector(obj, paths):
        status["selector"] = selector
    replicas = _at(obj, paths.replicas)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: meta[field] for field in kept if field in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def write(obj: Obj, scale: Obj, paths: Paths) -> Obj:
    """A copy of the object with the replicas and the resourceVersion of a Scale."""
    found = copy.deepcopy(obj)
    *parents, last = paths.replicas.strip(".").split(".")
    at = found
    for name in parents:
        at = at.setdefault(name, {})
    at[last] = (scale.get("spec") or {}).get("replicas", 0)
    # Without a version the write is on no condition.
    if version := scale["metadata"].get("resourceVersion"):
        found["metadata"]["resourceVersion"] = version
    return found


def _selector(obj: Obj, paths: Paths) -> str:
    if paths.selector:
        return str(_at(obj, paths.selector) or "")
    given = obj.get("spec", {}).get("selector") or {}
    return (
        label_text(given)
        if "matchLabels" in given or "matchExpressions" in given
        else ",".join(f"{key}={value}" for key, value in sorted(given.items()))
    )


def label_text(selector: Obj) -> str:
    """A label selector in the form that queries use."""
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for rule in selector.get("matchExpressions") or ():
        values = f" ({','.join(sorted(rule.get('values') or ()))})"
        parts.append(
            {
                "In": f"{rule['key']} in{values}",
                "NotIn": f"{rule['key']} notin{values}",
                "Exists": rule["key"],
                "DoesNotExist": f"!{rule['key']}",
            }[rule["operator"]]
        )
    return ",".join(parts)


def _at(obj: Obj, path: str) -> Any:
    found: Any = obj
    for name in path.strip(".").split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def check_readable(obj: Obj, resource: kinds.Resource, paths: Paths) -> None:
    """Raises ApiFailure 500 for a custom resource whose replicas are not set."""
    if resource.custom and _at(obj, paths.replicas) is None:
        raise failure.internal(f'the spec replicas field "{paths.replicas}" does not exist')


def check(scale: Obj, name: str, resource: kinds.Resource, paths: Paths) -> None:
    """Raises ApiFailure 400 and 422 for what is no scale of this object."""
    failure.check_name((scale.get("metadata") or {}).get("name"), name)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0 and resource.custom:
        told = "should be a non-negative integer"
        cause = failure.invalid_value(paths.replicas, replicas, told)
        raise failure.invalid(resource, name, [cause])
    if replicas < 0:
        told = "must be greater than or equal to 0"
        raise failure.invalid(SCALE, name, [failure.invalid_value("spec.replicas", replicas, told)])
