"""What is heard of objects: what was seen of each before, and what a new event asks for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ansible_operator import children, objects, watches
from ansible_operator.control import predicates
from ansible_operator.control.priority import Priority

Listener: TypeAlias = Callable[[watches.Watch, str | None, Mapping[str, Any]], None]
OwnWrite: TypeAlias = Callable[[objects.ObjectKey, children.Digest], bool]


@dataclass(frozen=True, slots=True)
class Heard:
    """What an event asks for: a pass (None: none), and whether a run under way is to end first.

    ``digest`` is there where only the watched part of the status has changed: then it asks for
    nothing if the run has written that itself, which is known for sure when the run has ended.
    """

    priority: Priority | None
    ends_run: bool = False
    digest: children.Digest | None = None


class Hearing:
    """Remembers what was seen of each object. Thread-safe; others are called without a lock.

    ``on_edit``, ``listeners`` and ``own_write`` are those of :class:`controller.Controller`,
    ``origin`` is that of :class:`reconciler.Reconciler`.
    """

    def __init__(
        self,
        on_edit: Callable[[objects.ObjectKey], None],
        listeners: Iterable[Listener],
        own_write: OwnWrite,
        origin: Callable[[objects.ObjectKey, str], str],
    ) -> None:
        self._on_edit = on_edit
        self._listeners = tuple(listeners)
        self._own_write = own_write
        self._origin = origin
        self._lock = threading.Lock()
        self._seen: dict[objects.ObjectKey, predicates.Seen] = {}

    def hear(self, watch: watches.Watch, event_type: str | None, obj: Mapping[str, Any]) -> Heard:
        """Remember the object and tell those who want to know of it."""
        key = objects.key_of(obj, watch.gvk)
        with self._lock:
            before = self._seen.get(key)
            after, priority = predicates.decide(before, event_type, obj, watch)
            self._remember(key, after)
        if not predicates.is_late(before, event_type, obj):
            for listener in self._listeners:
                listener(watch, event_type, obj)
        if predicates.is_edit(before, after):
            self._on_edit(key)
        if predicates.is_status_change(before, after):
            return Heard(priority, digest=children.digest(obj))
        return Heard(priority, priority is not None and _ends_run(watch, before, after))

    def is_own(self, key: objects.ObjectKey, digest: children.Digest) -> bool:
        """Whether a run has made its object what it is, our own status writes left aside."""
        version = self._origin(key, digest.resource_version)
        return self._own_write(key, replace(digest, resource_version=version))

    def seen(self, key: objects.ObjectKey) -> predicates.Seen | None:
        """What is remembered of an object."""
        return self._seen.get(key)

    def forget(self, key: objects.ObjectKey, seen: predicates.Seen | None) -> bool:
        """Forget an object, unless something else is remembered of it by now; whether it was."""
        with self._lock:
            if self._seen.get(key) is not seen:
                return False
            self._seen.pop(key, None)
        return True

    def retire(self, gvk: objects.GVK) -> None:
        """Forget all objects of a kind."""
        with self._lock:
            self._seen = {key: seen for key, seen in self._seen.items() if key.gvk != gvk}

    def _remember(self, key: objects.ObjectKey, seen: predicates.Seen | None) -> None:
        if seen is None:
            self._seen.pop(key, None)
        else:
            self._seen[key] = seen


def _ends_run(
    watch: watches.Watch, before: predicates.Seen | None, after: predicates.Seen | None
) -> bool:
    """Whether a run under way is pointless now; a clean-up only if it is not wanted any more."""
    if after is not None and after.released and not (before is not None and before.released):
        return True
    return watch.cancel_on_change and before is not None and not before.deleted
