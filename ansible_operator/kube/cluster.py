"""What the engine does to objects: read one, guard it with a finalizer, write its status.

Nothing else is ever written: the finalizer by a JSON patch of the object, the status by a merge
patch of ``/status``. Both are refused by the server if the object changed since it was read, and
are then tried again from a fresh read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog

from ansible_operator import errors, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import discovery, patches, status_writer

log = structlog.get_logger("cluster")

ATTEMPTS = 30
"""Writes are tried for about 25 s: what a run found out must not be lost to busy writers."""


class Cluster:
    """The objects of one API server. Thread-safe.

    ``resources`` names the resource of a kind; it may raise a KubeError. ``clock`` is monotonic,
    ``sleep`` waits for seconds.
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
        self._sleep = sleep
        self._statuses = status_writer.StatusWriter(client, clock)

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

    def remove_finalizer(self, key: objects.ObjectKey, name: str, uid: str) -> None:
        """Make sure that the object ``uid`` does not have the finalizer; gone is fine.

        Another object of the same name keeps its own.
        """

        def step(obj: objects.Obj) -> objects.Obj | None:
            if name in objects.finalizers(obj) and objects.uid(obj) == uid:
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
        resource = self._resources(key.gvk)

        def step(obj: objects.Obj) -> objects.Obj | None:
            if not self._statuses.has_status(resource):
                return obj
            try:
                return self._statuses.write(resource, key, obj, compute(obj))
            except errors.NotFoundError as exc:
                if (live := self.get(key)) is None:
                    return None
                if objects.uid(live) != objects.uid(obj):
                    raise errors.ConflictError("the object was replaced") from exc
                self._statuses.say_absent(resource)
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
                self._sleep(min(1.0, 0.02 * 2**attempt))
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

    def _path(self, key: objects.ObjectKey) -> str:
        return discovery.path(self._resources(key.gvk), key.namespace, key.name)
