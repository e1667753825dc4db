"""Writing what a pass has to say into the status of its object, where the watch wants that."""

from __future__ import annotations

from collections.abc import Callable

from ansible_operator import objects, status, watches
from ansible_operator.ansible import run
from ansible_operator.control import orders, outcome, ports, statuswrites

PAUSED = (
    f'Nothing runs for this object, because the annotation {orders.PAUSE} is "true". Remove it to '
    "run the object again"
)


class Statuses:
    """The statuses of the objects of ``cluster``; ``now`` gives the time for conditions.

    Each method returns the object as it is then, None when it is gone, and writes nothing where
    the watch says ``manageStatus: false``. Lets :class:`errors.KubeError` through.
    """

    def __init__(self, cluster: ports.Cluster, now: Callable[[], str]) -> None:
        self._cluster = cluster
        self._now = now
        self._writes = statuswrites.StatusWrites()

    def started(
        self, watch: watches.Watch, key: objects.ObjectKey, obj: objects.Obj
    ) -> objects.Obj | None:
        """A run begins."""

        def compute(obj: objects.Obj) -> objects.Obj:
            generation = objects.generation(obj)
            return status.started(objects.status(obj), generation=generation, now=self._now())

        return self._update(key, compute) if watch.manage_status else obj

    def paused(
        self, watch: watches.Watch, key: objects.ObjectKey, obj: objects.Obj
    ) -> objects.Obj | None:
        """Nothing runs before a person says so."""

        def compute(obj: objects.Obj) -> objects.Obj:
            current, generation = objects.status(obj), objects.generation(obj)
            return status.paused(current, generation=generation, now=self._now(), message=PAUSED)

        return self._update(key, compute) if watch.manage_status else obj

    def resumed(
        self, watch: watches.Watch, key: objects.ObjectKey, obj: objects.Obj
    ) -> objects.Obj | None:
        """The object is not paused, and has nothing to run."""
        current = objects.status(obj)
        if not watch.manage_status or status.resumed(current) == current:
            return obj
        return self._update(key, lambda obj: status.resumed(objects.status(obj)))

    def refused(self, watch: watches.Watch, key: objects.ObjectKey, message: str) -> None:
        """The object cannot be run as it is."""

        def compute(obj: objects.Obj) -> objects.Obj:
            current, generation = objects.status(obj), objects.generation(obj)
            return status.failed(current, generation=generation, now=self._now(), message=message)

        if watch.manage_status:
            self._update(key, compute)

    def finished(
        self,
        key: objects.ObjectKey,
        request: run.RunRequest,
        result: run.RunResult,
        remarks: status.Remarks,
    ) -> objects.Obj | None:
        """A run has ended; another object of the same name does not get its verdict."""
        uid, now = objects.uid(request.obj), self._now()

        def compute(obj: objects.Obj) -> objects.Obj:
            current = objects.status(obj)
            if objects.uid(obj) != uid:
                return current
            return outcome.status_after(current, request, result, remarks=remarks, now=now)

        if request.watch.manage_status:
            return self._update(key, compute)
        return self._cluster.get(key)

    def origin(self, key: objects.ObjectKey, version: str) -> str:
        """The resourceVersion from which own status writes have made this one, or the same."""
        return self._writes.origin(key, version)

    def forget(self, key: objects.ObjectKey) -> None:
        """The object is gone."""
        self._writes.forget(key)

    def _update(
        self, key: objects.ObjectKey, compute: Callable[[objects.Obj], objects.Obj]
    ) -> objects.Obj | None:
        """Write, and remember from which version of the object which one was made."""
        before = ""

        def remembering(obj: objects.Obj) -> objects.Obj:
            nonlocal before
            before = objects.resource_version(obj)
            return compute(obj)

        after = self._cluster.update_status(key, remembering)
        if after is not None and before:
            self._writes.note(key, before, objects.resource_version(after))
        return after
