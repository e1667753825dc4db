"""One reconcile: a straight pass from the object's key to a Result.

Read the object, decide whether it concerns us, add the finalizer, say Running, run, and write
down what came of it. The pass is level-triggered: it gets no event, only a key, and looks at the
object as it is now.
"""

from __future__ import annotations

import dataclasses
import datetime
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from ansible_operator import errors, objects, settings, status, watches
from ansible_operator.ansible import run
from ansible_operator.control import (
    cleanups,
    generations,
    orders,
    outcome,
    period,
    ports,
    predicates,
    statuses,
)
from ansible_operator.control.cancel import Cancel as Cancel  # users say reconciler.Cancel
from ansible_operator.control.cancel import Why as Why
from ansible_operator.control.outcome import Result as Result  # users say reconciler.Result
from ansible_operator.control.priority import Priority

INTERRUPTED = "interrupted: the operator was stopped; the run starts again when it is back"

log = structlog.get_logger("reconciler")


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
    objects may run at once; the caller sees to it that there is one per object. ``loop_note``
    tells of an object that its role runs because of what it does itself; empty: it does not.
    ``recorder`` is told of clean-ups that fail or are skipped; ``clock`` is monotonic.
    """

    def __init__(
        self,
        cluster: ports.Cluster,
        runner: ports.Runner,
        options: settings.Settings,
        now: Callable[[], str] = utc_now,
        new_job: Callable[[], str] = random_job,
        *,
        loop_note: Callable[[objects.ObjectKey], str] = lambda key: "",
        recorder: ports.Recorder = ports.Silent(),  # noqa: B008 - it has no state
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._runner = runner
        self._options = options
        self._statuses = statuses.Statuses(cluster, now)
        self._new_job = new_job
        self._loop_note = loop_note
        self._periods = period.Announcer()
        self._orders = orders.Announcer()
        self._generations = generations.Generations()
        self._cleanups = cleanups.Cleanups(recorder, clock)

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
        ordered = orders.read(found)
        self._orders.announce(key, ordered)
        if ordered.skip_cleanup and objects.is_deleted(found) and predicates.is_held(found, watch):
            return self._release(watch, key, found)
        if ordered.paused and predicates.has_work(found, watch):
            gone = self._statuses.paused(watch, key, found) is None
            return self._forget(key) if gone else Result()
        obj = self._guarded(watch, key, found)
        if obj is None:
            return self._forget(key)
        if not predicates.has_work(obj, watch):
            log.debug("nothing to run: the object is being deleted and not held by our finalizer")
            return Result()
        if self._is_settled(watch, key, obj):
            log.debug("not run again: runOncePerGeneration, and this generation is done")
            self._statuses.resumed(watch, key, obj)
            return Result()
        return self._run(watch, key, obj, job, cancel)

    def check(self, watch: watches.Watch, key: objects.ObjectKey) -> Result:
        """Forget the object if it is gone or no longer selected; nothing else, whatever it is."""
        found = self._cluster.get(key)
        if found is None or not predicates.is_selected(found, watch):
            return self._forget(key)
        return Result()

    def origin(self, key: objects.ObjectKey, version: str) -> str:
        """The resourceVersion from which own status writes have made this one, or the same."""
        return self._statuses.origin(key, version)

    def _forget(self, key: objects.ObjectKey) -> Result:
        for memory in (
            self._runner,
            self._periods,
            self._orders,
            self._generations,
            self._cleanups,
            self._statuses,
        ):
            memory.forget(key)
        return Result(forget=True)

    def _release(self, watch: watches.Watch, key: objects.ObjectKey, obj: objects.Obj) -> Result:
        """Let an object go without its clean-up, as a person has ordered."""
        name = watch.finalizer.name if watch.finalizer else ""
        self._cluster.remove_finalizer(key, name, objects.uid(obj))
        self._cleanups.skipped(obj, name, orders.SKIP_CLEANUP)
        log.warning("clean-up skipped", finalizer=name, annotation=orders.SKIP_CLEANUP)
        return Result()

    def _is_settled(self, watch: watches.Watch, key: objects.ObjectKey, obj: objects.Obj) -> bool:
        if not watch.run_once_per_generation or objects.is_deleted(obj):
            return False
        return self._generations.is_settled(key, obj)

    def _run(
        self,
        watch: watches.Watch,
        key: objects.ObjectKey,
        obj: objects.Obj,
        job: str,
        cancel: Cancel,
    ) -> Result:
        """Say Running, run, and see to what came of it."""
        fresh = self._statuses.started(watch, key, obj)
        if fresh is None:
            return self._forget(key)
        if not predicates.has_work(fresh, watch):
            return Result()
        chosen = period.choose(fresh, watch, self._options.engine.reconcile_period)
        self._periods.announce(key, chosen)
        request = run.RunRequest(job, watch, fresh, finalizing=objects.is_deleted(fresh))
        result = self._runner.run(request, cancel=cancel)
        why = cancel.why if result.outcome is run.Outcome.CANCELLED else None
        return self._finish(_Pass(key, request, chosen), result, why)

    def _guarded(
        self, watch: watches.Watch, key: objects.ObjectKey, obj: objects.Obj
    ) -> objects.Obj | None:
        """The object with the watch's finalizer; None when it is gone or being deleted.

        A name that the server does not accept stays so until it is changed. A refusal for the sake
        of other fields is tried again: the schema may be mended any time.
        """
        finalizer = watch.finalizer
        if finalizer is None or objects.is_deleted(obj) or predicates.is_held(obj, watch):
            return obj
        try:
            return self._cluster.add_finalizer(key, finalizer.name)
        except errors.InvalidError as error:
            if not any(field.startswith("metadata.finalizers") for field in error.fields):
                raise
            message = (
                f"the API server refuses the finalizer {finalizer.name!r}, so the object is not "
                f"run: {error}. Correct finalizer.name in {watch.place or 'watches.yaml'}"
            )
            self._statuses.refused(watch, key, message)
            raise errors.TerminalError(message) from error

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
        after = self._statuses.finished(this.key, this.request, result, self._remarks(this, why))
        settled = result.succeeded and not outcome.asks_again(result)
        self._generations.note(this.key, this.request.obj, settled=settled)
        if after is None:
            return self._forget(this.key)
        if why is Why.STOPPED or objects.uid(after) != objects.uid(this.request.obj):
            return Result()
        if not result.succeeded:
            if this.request.finalizing:
                self._cleanups.failed(this.key, this.request, result)
            raise errors.RunFailedError(outcome.failure(result))
        return outcome.next_pass(this.request, result, after, this.period.seconds)

    def _remarks(self, this: _Pass, why: Why | None) -> status.Remarks:
        """A run that was interrupted has not done what it was ordered for."""
        ordered = orders.read(this.request.obj)
        return status.Remarks(
            notes=ordered.notes,
            problem=this.period.problem,
            loop=self._loop_note(this.key),
            forced="" if why is Why.STOPPED else ordered.force,
        )
