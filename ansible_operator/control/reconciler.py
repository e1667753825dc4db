"""One reconcile: a straight pass from the object's key to a Result.

Read the object, decide whether it concerns us, add the finalizer, say Running, run, and write
down what came of it. The pass is level-triggered: it gets no event, only a key, and looks at the
object as it is now.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import structlog

from ansible_operator import errors, objects, settings, status, watches
from ansible_operator.ansible import run
from ansible_operator.control import outcome, period, predicates
from ansible_operator.control.outcome import Result as Result  # users say reconciler.Result
from ansible_operator.control.priority import Priority

INTERRUPTED = "interrupted: the operator was stopped; the run starts again when it is back"

log = structlog.get_logger("reconciler")


class Cluster(Protocol):
    """What a reconcile asks of the API server. Everything may raise :class:`errors.KubeError`."""

    def get(self, key: objects.ObjectKey) -> objects.Obj | None:
        """The object as it is now; None when it is gone."""
        ...

    def add_finalizer(self, key: objects.ObjectKey, name: str) -> objects.Obj | None:
        """The object after the finalizer was added; None when it is gone or being deleted."""
        ...

    def remove_finalizer(self, key: objects.ObjectKey, name: str, uid: str) -> None:
        """Remove the finalizer of the object ``uid``; gone, replaced or without it is fine."""
        ...

    def update_status(
        self, key: objects.ObjectKey, compute: Callable[[objects.Obj], objects.Obj]
    ) -> objects.Obj | None:
        """Write ``compute(object)`` as its status, again on conflicts.

        The object after the write, or as read if there was nothing to write; None when it is gone.
        """
        ...


class Runner(Protocol):
    """What a reconcile asks of Ansible."""

    def run(self, request: run.RunRequest, *, cancel: threading.Event) -> run.RunResult:
        """Run the role or playbook; whatever goes wrong is in the result, never raised.

        The status says Running meanwhile and is written again only from the result. Should it
        raise all the same, which is a bug, the next try of the backoff writes it.
        """
        ...

    def forget(self, key: objects.ObjectKey) -> None:
        """Drop what is kept of the runs for an object that is gone."""
        ...


class Why(enum.Enum):
    """Why a run is ended before its time."""

    SUPERSEDED = "superseded"
    STOPPED = "stopped"


class Cancel(threading.Event):
    """Set to end a run before its time; knows why. Stopping outweighs an edit."""

    why: Why | None = None

    def request(self, why: Why) -> None:
        """Ask for the run to end."""
        if self.why is not Why.STOPPED:
            self.why = why
        self.set()


def utc_now() -> str:
    """The time as conditions carry it: RFC 3339, whole seconds, Z."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def random_job() -> str:
    """A job id as the incumbent makes it: a random non-negative 63-bit integer in decimal."""
    return str(secrets.randbits(63))


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one pass knows once it has decided to run."""

    key: objects.ObjectKey
    request: run.RunRequest
    period: period.Period


class Reconciler:
    """Brings objects to what their roles make of them, one pass at a time.

    ``now`` gives the time for conditions, ``new_job`` a unique id per pass. Passes for different
    objects may run at once; the caller sees to it that there is one per object.
    """

    def __init__(
        self,
        cluster: Cluster,
        runner: Runner,
        options: settings.Settings,
        now: Callable[[], str] = utc_now,
        new_job: Callable[[], str] = random_job,
    ) -> None:
        self._cluster = cluster
        self._runner = runner
        self._options = options
        self._now = now
        self._new_job = new_job
        self._periods = period.Announcer()

    def reconcile(self, watch: watches.Watch, key: objects.ObjectKey, cancel: Cancel) -> Result:
        """One pass for ``key``, whose kind is that of ``watch``.

        Raises :class:`errors.RunFailedError` when the verdict is failure, and
        :class:`errors.TerminalError` when the finalizer is refused for good; the status says so by
        then. Lets :class:`errors.KubeError` through.
        """
        job = self._new_job()
        structlog.contextvars.bind_contextvars(job=job, reconcileID=job)
        found = self._cluster.get(key)
        if found is None or not predicates.is_selected(found, watch):
            return self._forget(key)
        obj = self._prepared(watch, key, found)
        if obj is None:
            return self._forget(key)
        if not predicates.has_work(obj, watch):
            log.debug("nothing to run: the object is being deleted and not held by our finalizer")
            return Result()
        chosen = period.choose(obj, watch, self._options.engine.reconcile_period)
        self._periods.announce(key, chosen)
        request = run.RunRequest(job, watch, obj, finalizing=objects.is_deleted(obj))
        this = _Pass(key, request, chosen)
        result = self._runner.run(request, cancel=cancel)
        why = cancel.why if result.outcome is run.Outcome.CANCELLED else None
        return self._finish(this, result, why)

    def check(self, watch: watches.Watch, key: objects.ObjectKey) -> Result:
        """Forget the object if it is gone or no longer selected; nothing else, whatever it is."""
        found = self._cluster.get(key)
        if found is None or not predicates.is_selected(found, watch):
            return self._forget(key)
        return Result()

    def _forget(self, key: objects.ObjectKey) -> Result:
        self._runner.forget(key)
        self._periods.forget(key)
        return Result(forget=True)

    def _prepared(
        self, watch: watches.Watch, key: objects.ObjectKey, found: objects.Obj
    ) -> objects.Obj | None:
        """The object as the run sees it, finalizer added and Running said; None when it is gone."""
        obj: objects.Obj | None = found
        missing = not objects.is_deleted(found) and not predicates.is_held(found, watch)
        if missing and watch.finalizer is not None:
            obj = self._guarded(watch, key, watch.finalizer.name)
        if obj is not None and predicates.has_work(obj, watch) and watch.manage_status:
            obj = self._cluster.update_status(key, self._started)
        return obj

    def _guarded(
        self, watch: watches.Watch, key: objects.ObjectKey, name: str
    ) -> objects.Obj | None:
        """Add the finalizer; a name that the server does not accept stays so until it is changed.

        A refusal for the sake of other fields is tried again: the schema may be mended any time.
        """
        try:
            return self._cluster.add_finalizer(key, name)
        except errors.InvalidError as error:
            if not any(field.startswith("metadata.finalizers") for field in error.fields):
                raise
            message = (
                f"the API server refuses the finalizer {name!r}, so the object is not run: {error}."
                f" Correct finalizer.name in {watch.place or 'watches.yaml'}"
            )
            if watch.manage_status:
                self._cluster.update_status(key, lambda obj: self._refused(obj, message))
            raise errors.TerminalError(message) from error

    def _refused(self, obj: objects.Obj, message: str) -> objects.Obj:
        current, generation = objects.status(obj), objects.generation(obj)
        return status.failed(current, generation=generation, now=self._now(), message=message)

    def _started(self, obj: objects.Obj) -> objects.Obj:
        current, generation = objects.status(obj), objects.generation(obj)
        return status.started(current, generation=generation, now=self._now())

    def _finish(self, this: _Pass, result: run.RunResult, why: Why | None) -> Result:
        """Write down what came of the run and let a cleaned-up object go."""
        if why is Why.SUPERSEDED:
            log.info("run cancelled: the object or the version of its kind changed meanwhile")
            return Result(requeue_after=0.0, priority=Priority.EDIT)
        if why is Why.STOPPED:
            result = dataclasses.replace(result, message=INTERRUPTED)
        finalizer = this.request.watch.finalizer
        # First the finalizer, then the status: a clean-up that went well must not be repeated
        # because a status could not be written. The status is for those whom others hold.
        if finalizer is not None and outcome.releases(this.request, result):
            self._cluster.remove_finalizer(this.key, finalizer.name, objects.uid(this.request.obj))
        after = self._write(this, result)
        if after is None:
            return self._forget(this.key)
        if why is Why.STOPPED or objects.uid(after) != objects.uid(this.request.obj):
            return Result()
        if not result.succeeded:
            raise errors.RunFailedError(outcome.failure(result))
        return outcome.next_pass(this.request, result, after, this.period.seconds)

    def _write(self, this: _Pass, result: run.RunResult) -> objects.Obj | None:
        """Write the status, if the watch lets us; the object as it is then, None when gone."""
        if not this.request.watch.manage_status:
            return self._cluster.get(this.key)
        uid, problem, now = objects.uid(this.request.obj), this.period.problem, self._now()

        def compute(obj: objects.Obj) -> objects.Obj:
            current = objects.status(obj)
            if objects.uid(obj) != uid:
                return current  # deleted and made anew meanwhile: the verdict is not about this one
            return outcome.status_after(current, this.request, result, problem=problem, now=now)

        return self._cluster.update_status(this.key, compute)
