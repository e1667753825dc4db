"""Pure: does this event call for a reconcile?

=============================================================  =========================
event on the watched object                                    reconciled with priority
=============================================================  =========================
first seen (created, or listed when the operator starts)       EDIT
listed at start, and its status says it is done and current    PERIODIC
another object of the same name (new uid)                      as first seen
generation changed                                             EDIT
deletion was asked for                                         DELETION
gone, or its labels left the selector                          DELETION, to forget it
late news of the one that had the name before                  not
annotations changed, with ``watchAnnotationsChanges``          EDIT
pause annotation set or removed                                EDIT
force-run annotation with a new value                          EDIT
skip-cleanup annotation on an object that is being deleted     DELETION
others changed the status at a path of ``watchStatusPaths``    EDIT
kind without generations (Secret, Namespace): anything changed EDIT
status, labels, finalizers, annotations changed                not
=============================================================  =========================

As the incumbent does, every object is run again when the operator starts; but those that are
done do not hold up those that are not. For kinds without generations "anything" leaves out what
the operator itself writes: its finalizer and, where it manages the status, the status.

The events of one object come in order. Those of two that bear the same name one after the other
may mix, because each uid has a queue of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible_operator import conditions, objects, status, watches
from ansible_operator.control import orders
from ansible_operator.control.priority import Priority

ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Seen:
    """What is remembered of an object to tell whether the next event changes anything.

    ``annotations``, ``content`` and ``status`` are fingerprints, empty where changes of them do
    not count. ``forced`` is the last force-run order, also when it is no longer there.
    """

    uid: str
    generation: int
    deleted: bool
    annotations: str = ""
    content: str = ""
    created: str = ""
    paused: bool = False
    forced: str = ""
    released: bool = False
    status: str = ""


def decide(
    seen: Seen | None, event_type: str | None, obj: Mapping[str, Any], watch: watches.Watch
) -> tuple[Seen | None, Priority | None]:
    """What to remember of the object, and with which priority to reconcile it (None: not).

    ``event_type`` is ADDED, MODIFIED or DELETED, and None for an object out of a list.
    """
    if is_late(seen, event_type, obj):
        return seen, None
    if event_type == DELETED:
        return None, Priority.DELETION
    if not is_selected(obj, watch):
        return None, None if seen is None else Priority.DELETION
    new = _remember(obj, watch)
    if seen is not None and seen.uid == new.uid and not new.forced:
        new = replace(new, forced=seen.forced)
    if seen is None or seen.uid != new.uid:
        return new, _first_seen(event_type, obj)
    if new == _past_handled(seen, new, obj):
        return new, None
    return new, Priority.DELETION if new.deleted else Priority.EDIT


def is_edit(before: Seen | None, after: Seen | None) -> bool:
    """Whether somebody has changed what an object that was known asks for."""
    if before is None or after is None or before.uid != after.uid:
        return False
    return replace(before, status=after.status) != after


def is_status_change(before: Seen | None, after: Seen | None) -> bool:
    """Whether of an object that was known only the watched part of the status has changed."""
    if before is None or after is None or before == after:
        return False
    return replace(before, status=after.status) == after


def is_selected(obj: Mapping[str, Any], watch: watches.Watch) -> bool:
    """Whether the object's labels match the watch's selector; without one every object does."""
    return watch.selector is None or watch.selector.matches(objects.labels(obj))


def is_held(obj: Mapping[str, Any], watch: watches.Watch) -> bool:
    """Whether the watch's finalizer is on the object."""
    return watch.finalizer is not None and watch.finalizer.name in objects.finalizers(obj)


def has_work(obj: Mapping[str, Any], watch: watches.Watch) -> bool:
    """Whether there is something to run: the object lives, or waits for our clean-up."""
    return not objects.is_deleted(obj) or is_held(obj, watch)


def is_late(seen: Seen | None, event_type: str | None, obj: Mapping[str, Any]) -> bool:
    """Whether the event is about the predecessor of the object that was seen.

    What appears (ADDED, or listed) is never taken to be late, as it would be missed for good.
    """
    if seen is None or seen.uid == objects.uid(obj):
        return False
    return event_type == DELETED or (event_type == MODIFIED and _created(obj) < seen.created)


def _past_handled(seen: Seen, new: Seen, obj: Mapping[str, Any]) -> Seen:
    """What was seen, taken to know of a force-run order that the status says to be handled."""
    return replace(seen, forced=new.forced) if new.forced and not orders.pending(obj) else seen


def _first_seen(event_type: str | None, obj: Mapping[str, Any]) -> Priority:
    if objects.is_deleted(obj):
        return Priority.DELETION
    done = event_type is None and _is_current(obj) and not orders.pending(obj)
    return Priority.PERIODIC if done else Priority.EDIT


def _is_current(obj: Mapping[str, Any]) -> bool:
    """Whether the status says that exactly this generation was reconciled with success."""
    found = conditions.read(objects.status(obj))
    return any(
        condition is not None
        and condition.get("status") == conditions.TRUE
        and condition.get("observedGeneration") == objects.generation(obj)
        for condition in (conditions.find(found, t) for t in (status.READY, status.SUCCESSFUL))
    )


def _remember(obj: Mapping[str, Any], watch: watches.Watch) -> Seen:
    generation = objects.generation(obj)
    annotations = objects.annotations(obj) if watch.watch_annotations_changes else None
    ordered = orders.read(obj)
    return Seen(
        uid=objects.uid(obj),
        generation=generation,
        deleted=objects.is_deleted(obj),
        annotations=_fingerprint(annotations),
        content="" if generation else _fingerprint(_content(obj, watch)),
        created=_created(obj),
        paused=ordered.paused,
        forced=ordered.force,
        released=ordered.skip_cleanup and objects.is_deleted(obj),
        status=_fingerprint(_watched_status(obj, watch)),
    )


def _watched_status(obj: Mapping[str, Any], watch: watches.Watch) -> list[Any] | None:
    """What stands at the watched paths of the status, without what the operator writes there."""
    if not watch.watch_status_paths:
        return None
    found = objects.status(obj)
    chosen = {"status": status.foreign(found) if watch.manage_status else found}
    return [[found.value for found in path.find(chosen)] for path in watch.watch_status_paths]


def _created(obj: Mapping[str, Any]) -> str:
    """RFC 3339 in UTC and whole seconds, so that the texts are in the order of the times."""
    return str(objects.metadata(obj).get("creationTimestamp") or "")


def _content(obj: Mapping[str, Any], watch: watches.Watch) -> dict[str, Any]:
    """The object without what changes by itself and without what the operator writes."""
    ours = watch.finalizer.name if watch.finalizer else None
    meta = dict(objects.metadata(obj))
    meta["finalizers"] = [name for name in objects.finalizers(obj) if name != ours]
    for volatile in ("resourceVersion", "managedFields"):
        meta.pop(volatile, None)
    content = {**obj, "metadata": meta}
    if watch.manage_status:
        content.pop("status", None)
    return content


def _fingerprint(value: Any) -> str:
    if value is None:
        return ""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
