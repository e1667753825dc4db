"""Objects that belong to a watched object: how they are tied to it, and what is known of them.

These are the words that the API proxy, the informers and the engine share: the proxy tells what
runs own and write, informers tell what changes, and the engine puts the two together.
"""

from __future__ import annotations

import enum
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ansible_operator import objects, watch

PRIMARY = "operator-sdk/primary-resource"
"""Annotation of a child that cannot have an owner reference: ``namespace/name`` of its owner."""

PRIMARY_TYPE = "operator-sdk/primary-resource-type"
"""Its companion: ``Kind.group`` of the owner, only ``Kind`` for the core group."""

CONTROLLERS_DOMAINS = frozenset(
    f"{name}.kubernetes.io"
    for name in (
        "autoscaling.alpha",
        "batch",
        "control-plane.alpha",
        "deployment",
        "endpoints",
        "pv",
        "volume",
        "volume.beta",
    )
)
"""Domains of annotations in which the cluster's own controllers keep notes, so to say status."""


MARKS = (PRIMARY, PRIMARY_TYPE)


class Tie(enum.Enum):
    """By what a child names its owner."""

    REFERENCE = "owner reference"
    ANNOTATION = "annotation"


@dataclass(frozen=True, slots=True)
class Owner:
    """The watched object on whose behalf a run acts. ``job`` is that of the run."""

    watch: watch.Watch
    key: objects.ObjectKey
    uid: str
    job: str


@dataclass(frozen=True, slots=True, order=True)
class ChildKind:
    """A kind as the API server serves it; ``plural`` is its name in URLs and RBAC rules."""

    gvk: objects.GVK
    plural: str
    namespaced: bool

    def __str__(self) -> str:
        return f"{self.plural}.{self.gvk.group}" if self.gvk.group else self.plural


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a run that the API server accepted.

    ``verb`` is create, update, patch, delete or deletecollection. ``resource_version`` is that of
    the object after the write; it, ``uid`` and ``name`` are empty where the answer did not tell.
    """

    verb: str
    kind: ChildKind
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""


class Listener(Protocol):
    """What hears of the doings of runs. Called in the proxy's thread: it must be quick."""

    def owns(self, owner: Owner, kind: ChildKind, tie: Tie) -> None:
        """An object of this kind belongs to the owner; told at least once per kind and run."""

    def wrote(self, owner: Owner, write: Write) -> None:
        """A run has written, whether what it wrote belongs to its owner or not."""


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """One entry of ``metadata.ownerReferences``; the version of the owner does not matter."""

    group: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class FieldsEntry:
    """One entry of ``metadata.managedFields``; ``fields`` is a fingerprint.

    ``content`` says that there are fields among them other than metadata and status.
    """

    manager: str
    operation: str
    subresource: str
    time: str
    fields: str
    content: bool


@dataclass(frozen=True, slots=True)
class Digest:
    """What is remembered of a child. Everything is from its metadata.

    ``primary`` and ``primary_type`` are the two annotations. ``metadata`` is a fingerprint of the
    metadata without resourceVersion, generation, managedFields and the notes that the cluster's
    controllers keep in annotations (``CONTROLLERS_DOMAINS``).
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    deleted: bool
    owners: tuple[OwnerReference, ...]
    primary: str
    primary_type: str
    metadata: str
    entries: tuple[FieldsEntry, ...]


class Event(enum.Enum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Change:
    """What an informer saw of one object.

    ``old`` is what was known before, None for ADDED. ``new`` is what is known now; for DELETED it
    is the last state that the server told, or the same as ``old`` where it only vanished from the
    list. ``initial`` marks the objects of an informer's first list, and those that a later
    listener is told of when it joins.
    """

    kind: ChildKind
    event: Event
    old: Digest | None
    new: Digest
    initial: bool = False


class Subscription(Protocol):
    """One listener's part in an informer."""

    def synced(self) -> bool:
        """Whether the listener was told of everything that there was."""
        ...

    def stop(self) -> None:
        """Hear nothing more; the informer ends with its last listener."""


class Informers(Protocol):
    """Where changes of children are heard of. Listeners are called in an informer's thread."""

    def subscribe(self, kind: ChildKind, listener: Callable[[Change], None]) -> Subscription:
        """Hear of all objects of a kind in the namespaces of the operator; returns at once."""
        ...


def digest(obj: Mapping[str, Any]) -> Digest:
    """What is remembered of an object, or of its metadata alone (PartialObjectMetadata)."""
    meta = objects.metadata(obj)
    annotations = objects.annotations(obj)
    return Digest(
        namespace=sys.intern(objects.namespace(obj)),
        name=objects.name(obj),
        uid=objects.uid(obj),
        resource_version=objects.resource_version(obj),
        generation=objects.generation(obj),
        deleted=objects.is_deleted(obj),
        owners=tuple(_reference(entry) for entry in meta.get("ownerReferences") or ()),
        primary=_shared(annotations.get(PRIMARY)),
        primary_type=_shared(annotations.get(PRIMARY_TYPE)),
        metadata=_fingerprint(_kept(meta, annotations)),
        entries=tuple(_entry(entry) for entry in meta.get("managedFields") or ()),
    )


def _kept(meta: Mapping[str, Any], annotations: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that tells of a change. Without annotations is the same as with none."""
    volatile = ("resourceVersion", "generation", "managedFields", "selfLink", "annotations")
    kept = {key: value for key, value in meta.items() if key not in volatile}
    notes = {k: v for k, v in annotations.items() if k.partition("/")[0] not in CONTROLLERS_DOMAINS}
    return {**kept, "annotations": notes} if notes else kept


def _reference(entry: Mapping[str, Any]) -> OwnerReference:
    group = str(entry.get("apiVersion") or "").rpartition("/")[0]
    kind, name, uid = (_shared(entry.get(key)) for key in ("kind", "name", "uid"))
    return OwnerReference(sys.intern(group), kind, name, uid)


def _entry(entry: Mapping[str, Any]) -> FieldsEntry:
    manager, operation, subresource, time = (
        _shared(entry.get(key)) for key in ("manager", "operation", "subresource", "time")
    )
    fields = entry.get("fieldsV1") or {}
    content = not {"f:metadata", "f:status"}.issuperset(fields)
    fingerprint = sys.intern(_fingerprint(fields))
    return FieldsEntry(manager, operation, subresource, time, fingerprint, content)


def _shared(value: Any) -> str:
    """A text that many objects have; it is kept once for all of them, and as long as they are."""
    return sys.intern(str(value or ""))


def _fingerprint(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
