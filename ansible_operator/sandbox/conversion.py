"""One stored object in the version that is asked for.

Custom resources have conversion None: only the apiVersion differs. Of the built-in kinds events
are served in two groups, the sandbox stores those of the core group; and autoscalers in two
versions.
"""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import kinds
from ansible_operator.sandbox.builtins import autoscaling

Obj = dict[str, Any]
# Field of events.k8s.io/v1, and the field of v1 that it is.
_EVENT = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}


def convert(obj: Obj, resource: kinds.Resource) -> Obj:
    """The object in the version of ``resource``; the metadata are shared, not copied."""
    if resource.key == ("", "events") and resource.group != _group(obj):
        return _renamed(obj, resource)
    if resource.api_version == autoscaling.OLD:
        return autoscaling.to_old(obj)
    return {**obj, "apiVersion": resource.api_version}


def stored(obj: Obj, resource: kinds.Resource, version: str) -> Obj:
    """The object in the version that it is stored in."""
    if resource.group == "events.k8s.io":
        return {_EVENT.get(key, key): value for key, value in obj.items()} | {"apiVersion": "v1"}
    if resource.api_version == autoscaling.OLD:
        return autoscaling.to_new(obj)
    return obj if obj["apiVersion"] == version else {**obj, "apiVersion": version}


def _renamed(obj: Obj, resource: kinds.Resource) -> Obj:
    names = {old: new for new, old in _EVENT.items()}
    found = {names.get(key, key): value for key, value in obj.items()}
    return found | {"apiVersion": resource.api_version}


def _group(obj: Obj) -> str:
    return str(obj["apiVersion"]).rpartition("/")[0]
