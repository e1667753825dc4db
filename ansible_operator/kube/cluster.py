"""What the engine does to objects: read one, guard it with a finalizer, write its status.

Nothing else is ever written: the finalizer by a JSON patch of the object, the status by a merge
patch of ``/status``. Both are refused by the server if the object changed since it was read, and
are then tried again from a fresh read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from ansible_operator import errors, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import discovery, fitting, patches

log = structlog.get_logger("cluster")

ATTEMPTS = 10
REFUSED_PAUSE = 600.0


@dataclass(slots=True)
class _Habits:
    """What was learned about writing the status of one kind; times are of the cluster's clock."""

    resource: discovery.Resource
    reduced: bool = False
    absent: bool = False
    refused_until: float | None = None
    warned_refused: bool = False
    lost: set[fitting.Path] = field(default_factory=set)


class Cluster:
    """The objects of one API server. Thread-safe.

    ``resources`` names the resource of a kind; it may raise a KubeError. What was learned about
    a kind's status is remembered as long as the resource stays the same.
    """

    def __init__(
        self,
        client: kube_client.Client,
        resources: Callable[[objects.GVK], discovery.Resource],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._resources = resources
        self._clock = clock
        self._sleep = sleep
        self._habits: dict[objects.GVK, _Habits] = {}
        self._lock = threading.Lock()

    def get(self, key: objects.ObjectKey) -> objects.Obj | None:
        """Read an object from the server, not from a cache; None if it is gone."""
        try:
            return self._client.request("GET", self._path(key))
        except errors.NotFoundError:
            return None

    def add_finalizer(self, key: objects.ObjectKey, name: str) -> objects.Obj | None:
        """Make sure that the object has the finalizer; the object after that.

        None if it is gone or being deleted: the server allows no new finalizers then.
        """

        def step(obj: objects.Obj) -> objects.Obj | None:
            if objects.is_deleted(obj):
                return None
            if name in objects.finalizers(obj):
                return obj
            return self._patch_object(key, obj, patches.add_finalizer(obj, name))

        return self._from_fresh_read(key, step)

    def remove_finalizer(self, key: objects.ObjectKey, name: str) -> None:
        """Make sure that the object does not have the finalizer; gone is fine."""

        def step(obj: objects.Obj) -> objects.Obj | None:
            if name in objects.finalizers(obj):
                self._patch_object(key, obj, patches.remove_finalizer(obj, name))
            return None

        self._from_fresh_read(key, step)

    def update_status(
        self, key: objects.ObjectKey, compute: Callable[[objects.Obj], objects.Obj]
    ) -> objects.Obj | None:
        """Write what ``compute`` makes of the object as its whole new status.

        ``compute`` is called once per attempt with what was read. Returns the object after the
        write, or as it was read if nothing had to be or could be written, or None if it is gone.
        """
        habits = self._habits_of(key.gvk)

        def step(obj: objects.Obj) -> objects.Obj | None:
            if self._is_silent(habits):
                return obj
            try:
                return self._write(habits, key, obj, compute(obj))
            except errors.NotFoundError as exc:
                if (live := self.get(key)) is None:
                    return None
                if objects.uid(live) != objects.uid(obj):
                    raise errors.ConflictError("the object was replaced") from exc
                self._no_subresource(habits)
                return live

        return self._from_fresh_read(key, step)

    def _from_fresh_read(
        self, key: objects.ObjectKey, step: Callable[[objects.Obj], objects.Obj | None]
    ) -> objects.Obj | None:
        for attempt in range(ATTEMPTS):
            obj = self.get(key)
            if obj is None:
                return None
            try:
                return step(obj)
            except errors.ConflictError as exc:
                if attempt == ATTEMPTS - 1:
                    raise
                log.debug("object changed meanwhile, trying again", object=str(key), error=str(exc))
                self._sleep(0.02 * attempt)
        raise AssertionError("unreachable")

    def _patch_object(
        self, key: objects.ObjectKey, obj: objects.Obj, patch: list[dict[str, Any]]
    ) -> objects.Obj | None:
        try:
            return self._client.request(
                "PATCH", self._path(key), body=patch, content_type=kube_client.JSON_PATCH
            )
        except errors.NotFoundError:
            return None
        except errors.InvalidError as exc:
            raise self._as_conflict(key, obj, exc) from exc

    def _as_conflict(
        self, key: objects.ObjectKey, obj: objects.Obj, refused: errors.InvalidError
    ) -> errors.KubeError:
        """The API server answers 422 without saying why if a JSON patch's test did not hold."""
        live = self.get(key)
        if live and objects.resource_version(live) == objects.resource_version(obj):
            return refused
        return errors.ConflictError(str(refused), status=refused.status, reason=refused.reason)

    def _write(
        self, habits: _Habits, key: objects.ObjectKey, obj: objects.Obj, new: objects.Obj
    ) -> objects.Obj:
        old = objects.status(obj)
        try:
            if not habits.reduced:
                return self._send(habits, key, obj, new)
            return self._send(habits, key, obj, fitting.reduced(new, old))
        except errors.InvalidError as exc:
            refused = exc
        if not _concerns_status(refused):
            log.warning(
                "status not written: object is invalid", object=str(key), error=str(refused)
            )
            return obj
        if habits.reduced:
            return self._give_up(habits, obj, refused)
        try:
            written = self._send(habits, key, obj, fitting.reduced(new, old))
        except errors.InvalidError as exc:
            return self._give_up(habits, obj, exc)
        self._reduce(habits, refused)
        return written

    def _send(
        self, habits: _Habits, key: objects.ObjectKey, obj: objects.Obj, new: objects.Obj
    ) -> objects.Obj:
        old = objects.status(obj)
        if patches.same(fitting.without(old, habits.lost), fitting.without(new, habits.lost)):
            return obj
        written = self._client.request(
            "PATCH",
            self._path(key, "status"),
            body=patches.status(obj, new),
            content_type=kube_client.MERGE_PATCH,
        )
        self._notice_lost(habits, set(fitting.lost(new, written.get("status") or {})))
        habits.refused_until = None
        return written

    def _is_silent(self, habits: _Habits) -> bool:
        if not habits.resource.has_status:
            self._no_subresource(habits)
        if habits.absent:
            return True
        return habits.refused_until is not None and self._clock() < habits.refused_until

    def _no_subresource(self, habits: _Habits) -> None:
        with self._lock:
            said, habits.absent = habits.absent, True
        if not said:
            log.warning(
                "no status is written: the kind has no status subresource",
                kind=str(habits.resource.gvk),
                hint="add 'subresources: {status: {}}' to the version in the"
                " CustomResourceDefinition, or set manageStatus: false in watches.yaml",
            )

    def _reduce(self, habits: _Habits, refused: errors.InvalidError) -> None:
        with self._lock:
            said, habits.reduced = habits.reduced, True
        if not said:
            log.warning(
                "status is written in a reduced form: the schema rejects the full one",
                kind=str(habits.resource.gvk),
                error=str(refused),
                hint="add ansibleResult and observedGeneration to the conditions in the"
                " CustomResourceDefinition and allow empty reasons",
            )

    def _give_up(
        self, habits: _Habits, obj: objects.Obj, refused: errors.InvalidError
    ) -> objects.Obj:
        """Stop for a while, not for good: what was refused may have been this one object's."""
        with self._lock:
            said, habits.warned_refused = habits.warned_refused, True
            habits.refused_until = self._clock() + REFUSED_PAUSE
        if not said:
            log.warning(
                "status is not written: the schema rejects it even in the reduced form",
                kind=str(habits.resource.gvk),
                error=str(refused),
                hint="correct status in the CustomResourceDefinition, or set"
                " manageStatus: false in watches.yaml",
            )
        return obj

    def _notice_lost(self, habits: _Habits, now_lost: set[fitting.Path]) -> None:
        with self._lock:
            new = now_lost - habits.lost
            habits.lost |= new
        if new:
            log.warning(
                "the schema drops fields of the status",
                kind=str(habits.resource.gvk),
                fields=sorted(map(fitting.text, new)),
                hint="add them to status in the CustomResourceDefinition, or set"
                " x-kubernetes-preserve-unknown-fields: true there",
            )

    def _habits_of(self, gvk: objects.GVK) -> _Habits:
        resource = self._resources(gvk)
        with self._lock:
            habits = self._habits.get(gvk)
            if habits is None or habits.resource != resource:
                habits = self._habits[gvk] = _Habits(resource)
            return habits

    def _path(self, key: objects.ObjectKey, subresource: str = "") -> str:
        return discovery.path(self._resources(key.gvk), key.namespace, key.name, subresource)


def _concerns_status(refused: errors.InvalidError) -> bool:
    """Whether the rejected fields are ours; a server that names no fields is taken to mean them."""
    fields = refused.fields
    return not fields or any(name == "status" or name.startswith("status.") for name in fields)
