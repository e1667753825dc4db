"""Names of kinds and objects, and small readers over API objects, which stay plain dicts.

(Without the future import of every other module: its name is that of :func:`annotations`.)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Obj: TypeAlias = dict[str, Any]

ANNOTATION_PREFIX = "ansible.sdk.operatorframework.io/"
"""What the annotations that this operator reads begin with, as the incumbent's do."""

_VERSION = re.compile(r"^v(\d+)(?:(alpha|beta)(\d+))?$")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


@dataclass(frozen=True, slots=True, order=True)
class GVK:
    """Group, version and kind; the core group is the empty string."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of objects of this kind: ``group/version``, or ``version`` in core."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        """Go's text for a kind, which dashboards and logs of the incumbent use as a label."""
        return f"{self.group}/{self.version}, Kind={self.kind}"


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """What is asked to be reconciled: one object by name. ``namespace`` is empty if it has none."""

    gvk: GVK
    namespace: str
    name: str

    def __str__(self) -> str:
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.gvk.kind}.{self.gvk.group or 'core'} {path}"


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sort key of API versions as the API server prefers them: v2 > v1 > v1beta2 > v1alpha1 > x."""
    match = _VERSION.match(version)
    if match is None:
        return (-1, 0, 0, version)
    major, stability, minor = match.groups()
    return (_STABILITY[stability], int(major), int(minor or 0), version)


def gvk_of(obj: Mapping[str, Any]) -> GVK:
    """The kind of an object as it says itself."""
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    return GVK(group, version, str(obj.get("kind") or ""))


def key_of(obj: Mapping[str, Any], gvk: GVK) -> ObjectKey:
    """The key of an object that was read as the kind ``gvk``."""
    return ObjectKey(gvk, namespace(obj), name(obj))


def metadata(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata map; an empty one where there is none."""
    return _map(obj.get("metadata"))


def name(obj: Mapping[str, Any]) -> str:
    """``metadata.name``, empty where there is none."""
    return str(metadata(obj).get("name") or "")


def namespace(obj: Mapping[str, Any]) -> str:
    """``metadata.namespace``, empty for cluster-scoped objects."""
    return str(metadata(obj).get("namespace") or "")


def uid(obj: Mapping[str, Any]) -> str:
    """``metadata.uid``, empty where there is none."""
    return str(metadata(obj).get("uid") or "")


def resource_version(obj: Mapping[str, Any]) -> str:
    """``metadata.resourceVersion``, empty where there is none."""
    return str(metadata(obj).get("resourceVersion") or "")


def generation(obj: Mapping[str, Any]) -> int:
    """``metadata.generation``; 0 for kinds that have none, such as Secret."""
    return int(metadata(obj).get("generation") or 0)


def labels(obj: Mapping[str, Any]) -> dict[str, str]:
    """``metadata.labels``; an empty map where there are none."""
    return _map(metadata(obj).get("labels"))


def annotations(obj: Mapping[str, Any]) -> dict[str, str]:
    """``metadata.annotations``; an empty map where there are none."""
    return _map(metadata(obj).get("annotations"))


def finalizers(obj: Mapping[str, Any]) -> list[str]:
    """``metadata.finalizers``; an empty list where there are none."""
    found = metadata(obj).get("finalizers")
    return list(found) if isinstance(found, list) else []


def is_deleted(obj: Mapping[str, Any]) -> bool:
    """Whether deletion was asked for; the object stays while it has finalizers."""
    return bool(metadata(obj).get("deletionTimestamp"))


def spec(obj: Mapping[str, Any]) -> dict[str, Any]:
    """``spec``; an empty map where there is none or where it is not a map."""
    return _map(obj.get("spec"))


def status(obj: Mapping[str, Any]) -> dict[str, Any]:
    """``status``; an empty map where there is none or where it is not a map."""
    return _map(obj.get("status"))


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
