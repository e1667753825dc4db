"""Events in, reconciles out: owns the queue, the workers, the backoff and what was seen.

Nothing here knows what a reconcile does. :meth:`Controller._conclude` is the one place where the
outcome of a pass becomes calls of the queue.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

import structlog

from ansible_operator import durations, errors, objects, settings, watches
from ansible_operator.control import backoff, hearing, predicates, queue, reconciler
from ansible_operator.control.priority import Priority

CANCEL_WAIT = 15.0
"""Seconds that cancelled runs get to end: their processes are gone after 10, then the status."""

CHECK_AFTER = 1800.0
"""Seconds after which it is checked that an object still exists for which no pass is planned.

A list after a lost watch tells of what is there, not of what vanished meanwhile.
"""

Outcome: TypeAlias = "reconciler.Result | Exception"

log = structlog.get_logger("controller")


class Reconciles(Protocol):
    """What the controller asks of :class:`reconciler.Reconciler`."""

    def reconcile(
        self, watch: watches.Watch, key: objects.ObjectKey, cancel: reconciler.Cancel
    ) -> reconciler.Result:
        """One pass; raises where it failed."""
        ...

    def check(self, watch: watches.Watch, key: objects.ObjectKey) -> reconciler.Result:
        """Only see whether the object is still there; raises where that could not be seen."""
        ...

    def origin(self, key: objects.ObjectKey, version: str) -> str:
        """The resourceVersion from which own status writes have made this one, or the same."""
        ...


class Controller:
    """Hears of changes from any thread and reconciles in its own worker threads.

    ``watched`` are all kinds that may be observed and enqueued. There are as many workers as runs
    may be active over all kinds. ``clock`` is a monotonic clock in seconds. ``retired`` tells of a
    kind that its objects are run under another version of it by now: what is queued is dropped.

    Called in the thread where it happens, without a lock held, so they must be quick and safe to
    call from several: ``on_edit`` when a known object was edited, ``on_forget`` when an object is
    gone or no longer ours, ``on_retire`` when a kind is, and ``listeners`` with every event that
    is observed, except late news of an object whose successor was seen already. ``own_write``
    tells whether a run has written its own object as it is now.
    """

    def __init__(
        self,
        reconciler_: Reconciles,
        watched: Iterable[watches.Watch],
        options: settings.Settings,
        clock: Callable[[], float] = time.monotonic,
        retired: Callable[[objects.GVK], bool] = lambda gvk: False,
        *,
        on_edit: Callable[[objects.ObjectKey], None] = lambda key: None,
        on_forget: Callable[[objects.ObjectKey], None] = lambda key: None,
        on_retire: Callable[[objects.GVK], None] = lambda gvk: None,
        listeners: Iterable[hearing.Listener] = (),
        own_write: hearing.OwnWrite = lambda key, digest: False,
    ) -> None:
        engine = options.engine
        self._retired = retired
        self._on_forget = on_forget
        self._on_retire = on_retire
        self._hearing = hearing.Hearing(on_edit, listeners, own_write, reconciler_.origin)
        cap = functools.cache(options.workers)
        self.queue = queue.WorkQueue(cap, engine.max_concurrent_runs, clock)
        self.backoff = backoff.Backoff(engine.backoff_floor, engine.backoff_ceiling)
        self._reconciler = reconciler_
        self._watches = {watch.gvk: watch for watch in watched}
        self._lock = threading.RLock()  # hurry() may come as a signal while stop() holds it
        self._cancels: dict[objects.ObjectKey, reconciler.Cancel] = {}
        self._held: dict[objects.ObjectKey, list[hearing.Heard]] = {}
        self._stopping = False
        self._workers = [
            threading.Thread(target=self._work, name=f"worker-{number}", daemon=True)
            for number in range(1, engine.max_concurrent_runs + 1)
        ]

    def observe(self, watch: watches.Watch, event_type: str | None, obj: Mapping[str, Any]) -> None:
        """Hear of an object: ADDED, MODIFIED, DELETED, or None for one out of a list.

        Quick, never raises for what the object looks like; what counts is in ``predicates``.
        """
        key = objects.key_of(obj, watch.gvk)
        with self._lock:
            cancel = self._cancels.get(key)
        heard = self._hearing.hear(watch, event_type, obj)
        if heard.priority is None or (heard.digest is not None and self._wait(key, heard)):
            return
        self.enqueue(key, heard.priority)
        # Queued before it is cancelled: the pass that is cancelled counts on the one that follows.
        if cancel and heard.ends_run:
            cancel.request(reconciler.Why.SUPERSEDED)

    def _wait(self, key: objects.ObjectKey, heard: hearing.Heard) -> bool:
        """Whether a change of the status asks for nothing, or for nothing before the run's end."""
        with self._lock:
            if key in self._cancels:
                self._held.setdefault(key, []).append(heard)
                return True
        return heard.digest is not None and self._hearing.is_own(key, heard.digest)

    def enqueue(self, key: objects.ObjectKey, priority: Priority, delay: float = 0.0) -> None:
        """Ask for a pass in ``delay`` seconds; an edit or deletion also ends a growing backoff."""
        if priority <= Priority.EDIT:
            self.backoff.reset(key)
        self.queue.add(key, priority, delay)

    def retire(self, gvk: objects.GVK) -> None:
        """End the runs of a kind whose objects are run under another version of it from now on.

        ``retired`` says so by then. What they come to is dropped, and all that was seen of the
        kind is forgotten: should it be run again, its objects are new.
        """
        self._hearing.retire(gvk)
        with self._lock:
            cancels = [cancel for key, cancel in self._cancels.items() if key.gvk == gvk]
        for cancel in cancels:
            cancel.request(reconciler.Why.SUPERSEDED)
        self._on_retire(gvk)

    def start(self) -> None:
        """Start the workers; returns at once."""
        for worker in self._workers:
            worker.start()

    def stop(self, grace: float, cancel_wait: float = CANCEL_WAIT) -> None:
        """Take no new work, let active runs end for ``grace`` seconds, then cancel and await them.

        Returns after ``grace`` + ``cancel_wait`` seconds at the latest; runs that last longer
        are named in the log and left to the end of the process.
        """
        self.queue.shutdown()
        if self._join(grace):
            return
        log.warning("cancelling runs: the grace period is over", objects=self._active_names())
        self._cancel_all()
        if not self._join(cancel_wait):
            log.error("runs did not end", objects=self._active_names())

    def hurry(self) -> None:
        """End the grace period: cancel all runs now. May be called by a signal handler."""
        self.queue.shutdown()
        self._cancel_all()

    def active(self) -> dict[objects.ObjectKey, float]:
        """The objects that are being reconciled, each with the seconds since its pass began."""
        return self.queue.active()

    def serve(self, key: objects.ObjectKey) -> None:
        """One pass for a key that the queue handed out; workers do nothing else.

        Whatever happens is logged, the key is handed back and the worker lives on.
        """
        structlog.contextvars.bind_contextvars(**_identity(key))
        before = self._hearing.seen(key)
        try:
            self._conclude(key, self._attempt(key), before)
        except Exception:
            log.exception("bug: the outcome of a reconcile could not be handled")
        finally:
            structlog.contextvars.clear_contextvars()
            self.queue.done(key)

    def _work(self) -> None:
        while (key := self.queue.get()) is not None:
            self.serve(key)

    def _attempt(self, key: objects.ObjectKey) -> Outcome:
        cancel = reconciler.Cancel()
        with self._lock:
            self._cancels[key] = cancel
            if self._stopping:
                cancel.request(reconciler.Why.STOPPED)
        try:
            # Asked after the cancel is there for retire() to find, so that no run escapes both.
            if self._retired(key.gvk):
                return reconciler.Result(forget=True)
            if self.queue.priority(key) is Priority.CHECK:
                return self._check(key)
            return self._reconciler.reconcile(self._watches[key.gvk], key, cancel)
        except Exception as error:
            return error
        finally:
            with self._lock:
                del self._cancels[key]
                held = self._held.pop(key, [])
            for heard in held:
                if heard.priority is not None and not self._wait(key, heard):
                    self.enqueue(key, heard.priority)

    def _check(self, key: objects.ObjectKey) -> reconciler.Result:
        try:
            return self._reconciler.check(self._watches[key.gvk], key)
        except errors.KubeError as error:  # no reason to run it
            log.debug("cannot check whether the object is still there", error=str(error))
            return reconciler.Result()

    def _conclude(
        self, key: objects.ObjectKey, outcome: Outcome, before: predicates.Seen | None
    ) -> None:
        """Turn the outcome of a pass into calls of the queue; ``before`` was seen when it began."""
        if isinstance(outcome, errors.TerminalError):
            log.error("reconcile failed; it is not retried before a change", error=str(outcome))
            self.queue.add(key, Priority.CHECK, CHECK_AFTER)
        elif isinstance(outcome, Exception):
            delay = self.backoff.next(key)
            _log_failure(outcome, delay)
            self.queue.add(key, Priority.RETRY, delay)
        else:
            self.backoff.reset(key)
            if outcome.forget:
                self._forget(key, before)
            elif outcome.requeue_after is not None:
                self.queue.add(key, outcome.priority, outcome.requeue_after)
            else:
                self.queue.add(key, Priority.CHECK, CHECK_AFTER)

    def _forget(self, key: objects.ObjectKey, before: predicates.Seen | None) -> None:
        # One of the same name may have been made meanwhile; what was seen of it is kept.
        if self._hearing.forget(key, before):
            self._on_forget(key)

    def _cancel_all(self) -> None:
        with self._lock:
            if self._stopping:
                return
            self._stopping = True
            cancels = list(self._cancels.values())
        for cancel in cancels:
            cancel.request(reconciler.Why.STOPPED)

    def _active_names(self) -> list[str]:
        return sorted(map(str, self.active()))

    def _join(self, seconds: float) -> bool:
        """Wait for the workers to end; whether they did."""
        deadline = time.monotonic() + seconds
        for worker in self._workers:
            if worker.ident is not None:
                worker.join(max(0.0, deadline - time.monotonic()))
        return not any(worker.is_alive() for worker in self._workers)


def _identity(key: objects.ObjectKey) -> dict[str, str]:
    """The keys under which controller-runtime logs the object of a pass."""
    return {
        "controller": f"{key.gvk.kind.lower()}-controller",
        "controllerGroup": key.gvk.group,
        "controllerKind": key.gvk.kind,
        "gvk": str(key.gvk),
        "namespace": key.namespace,
        "name": key.name,
    }


def _log_failure(error: Exception, delay: float) -> None:
    """Expected failures in one line; what we did not expect is a bug and has its traceback."""
    after = durations.render(delay)
    if isinstance(error, errors.OperatorError):
        log.error("reconcile failed", error=str(error), retry_in=after)
    else:
        log.error("reconcile failed unexpectedly", error=str(error), retry_in=after, exc_info=error)
