"""Wiring and life cycle only: what is built, in which order it is started and stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

import structlog

import ansible_operator
from ansible_operator import (
    children,
    durations,
    errors,
    kopf_source,
    metrics,
    objects,
    provenance,
    serving,
    settings,
    usermetrics,
    watches,
)
from ansible_operator.ansible import run as runs
from ansible_operator.ansible import runner
from ansible_operator.control import controller, dependents, loopguard, priority, reconciler
from ansible_operator.control import references as named
from ansible_operator.kube import (
    asking,
    childkinds,
    client,
    cluster,
    discovery,
    informers,
    listening,
    orphans,
    recorder,
)
from ansible_operator.kube.proxy import intercept, mapping
from ansible_operator.kube.proxy import server as proxies

ECHO = 1.0
"""Seconds after the first signal within which another one is the same wish."""

EARS_LIMIT = 10.0
"""Seconds that listening gets to end; a server that does not answer must not hold us up."""

log = structlog.get_logger("manager")


def run(config: settings.Settings, watched: tuple[watches.Watch, ...]) -> int:
    """Run the operator until a signal ends it; the process's exit code."""
    try:
        manager = Manager(config, watched)
        manager.open()
    except errors.OperatorError as error:
        log.error("cannot start", error=str(error))
        return 1
    return manager.run()


class Manager:
    """The parts of one operator, built but not started.

    Raises :class:`errors.OperatorError` if no connection to an API server is configured, the
    runner's directory cannot be used, or the metrics cannot be served where they were asked for.
    An API server that does not answer is no such error.
    """

    def __init__(self, config: settings.Settings, watched: tuple[watches.Watch, ...]) -> None:
        engine = config.engine
        self._grace = engine.graceful_shutdown_timeout
        self._stop = threading.Event()
        self._code = 0
        connection = client.Client.load(config.environ)
        brief = asking.Brief(connection, self._stop.is_set)
        self._metrics = metrics.Metrics(
            [watch.gvk for watch in watched],
            version=ansible_operator.__version__,
            commit=provenance.commit(),
        )
        self._serving = self._new_serving(config.metrics)
        self._informers = informers.Informers(connection, config.namespaces)
        guard = loopguard.LoopGuard(engine.loop_guard_runs, engine.loop_guard_window)
        self._dependents = dependents.Dependents(self._informers, self._enqueue, guard=guard)
        self._interceptor = intercept.Ownership(
            mapping.Mapper(connection),
            connection,
            self._dependents,
            inject=config.proxy.inject_owner_ref,
        )
        self._proxy = proxies.Proxy(
            connection,
            port=config.proxy.port,
            allow_anonymous=config.proxy.allow_anonymous,
            interceptor=self._interceptor,
        )
        environ = {**config.environ, **self._serving.environ}
        ansible = _Counted(runner.AnsibleRunner(config, self._access, environ), self._metrics)
        reconcile = reconciler.Reconciler(
            cluster.Cluster(connection, self._resource),
            ansible,
            config,
            loop_note=self._dependents.note,
            recorder=recorder.Recorder(connection),
        )
        self._references = named.References(
            self._informers,
            lambda gvk: childkinds.resolve(brief, gvk),
            self._enqueue,
            active=lambda: self._controller.active(),
            own_write=self._dependents.has_written,
        )
        self._controller = controller.Controller(
            reconcile,
            watched,
            config,
            retired=self._is_retired,
            on_edit=self._dependents.edited,
            on_forget=self._forget,
            on_retire=self._retire,
            listeners=(self._references.observe, self._metrics.observe),
            own_write=self._dependents.has_written,
        )
        self._orphans = orphans.Orphans(
            connection, watched, config.namespaces, release=config.release_orphaned_finalizers
        )
        source = kopf_source.KopfSource(connection, self._controller.observe)
        self._listening = listening.Listening(
            connection,
            watched,
            config.namespaces,
            source,
            on_superseded=self._controller.retire,
        )
        log.info("talking to the API server", server=connection.server)

    def _new_serving(self, where: settings.MetricsSettings) -> serving.Serving:
        taken = usermetrics.UserMetrics(self._metrics.registry)
        return serving.Serving(
            self._metrics.registry,
            taken,
            metrics=where.bind_address if where.bind_is_required else None,
            intake=where.user_port,
        )

    @contextlib.contextmanager
    def _access(self, request: runs.RunRequest) -> Iterator[str]:
        """The kubeconfig of a run, for as long as it lasts."""
        key = objects.key_of(request.obj, request.watch.gvk)
        owner = children.Owner(request.watch, key, objects.uid(request.obj), request.job)
        with self._dependents.running(owner), self._proxy.access(owner) as kubeconfig:
            yield kubeconfig

    # Some parts are built before those that they report to.

    def _enqueue(self, key: objects.ObjectKey, why: priority.Priority, delay: float = 0.0) -> None:
        self._controller.enqueue(key, why, delay)

    def _forget(self, key: objects.ObjectKey) -> None:
        self._dependents.forget(key)
        self._references.forget(key)
        self._metrics.forget(key)

    def _retire(self, gvk: objects.GVK) -> None:
        self._dependents.retire(gvk)
        self._references.retire(gvk)
        self._metrics.retire(gvk)

    def _resource(self, gvk: objects.GVK) -> discovery.Resource:
        return self._listening.resource(gvk)

    def _is_retired(self, gvk: objects.GVK) -> bool:
        return self._listening.superseded(gvk)

    def open(self) -> None:
        """Serve runs and metrics; raises SettingsError if a port cannot be had."""
        self._serving.start()
        self._proxy.start()

    def run(self) -> int:
        """Start everything, wait for a signal, stop everything in reverse order."""
        threading.Thread(target=self._obey, args=(_signals(),), name="signals", daemon=True).start()
        ears = threading.Thread(target=self._listen, name="listening", daemon=True)
        self._references.start()
        self._controller.start()
        ears.start()
        threading.Thread(target=self._orphans.check, name="orphans", daemon=True).start()
        self._stop.wait()
        log.info(
            "stopping: runs under way may go on for the grace time; a second signal ends them",
            grace=durations.render(self._grace),
            active=len(self._controller.active()),
        )
        self._controller.stop(self._grace)
        ears.join(EARS_LIMIT)
        self._references.close()
        self._informers.close()
        self._proxy.stop()
        self._interceptor.close()
        self._serving.stop()
        log.info("stopped")
        return self._code

    def _listen(self) -> None:
        """Listen until told to stop; an operator that has gone deaf must not look alive."""
        try:
            self._listening.run(self._stop)
        except Exception:
            log.exception("bug: the operator no longer listens, and ends")
            self._code = 1
            self._stop.set()

    def _obey(self, reader: int) -> None:
        """The first signal stops in good order, a further one ends the runs at once.

        Those that come right after the first are its echo: who ends a process and its group, as
        timeout does, sends two.
        """
        os.read(reader, 1)
        told = time.monotonic()
        self._stop.set()
        while os.read(reader, 1):
            if time.monotonic() - told < ECHO:
                continue
            log.warning("told again to stop: ending the runs now")
            self._controller.hurry()


class _Counted:
    """A runner whose results are counted."""

    def __init__(self, inner: runner.AnsibleRunner, counts: metrics.Metrics) -> None:
        self._inner = inner
        self._counts = counts

    def run(self, request: runs.RunRequest, *, cancel: threading.Event) -> runs.RunResult:
        """As the inner one's; a run that was ended before its time is no result."""
        result = self._inner.run(request, cancel=cancel)
        if result.outcome is not runs.Outcome.CANCELLED:
            self._counts.finished(request.watch.gvk, succeeded=result.succeeded)
        return result

    def forget(self, key: objects.ObjectKey) -> None:
        """As the inner one's."""
        self._inner.forget(key)


def _signals() -> int:
    """A descriptor from which each SIGTERM, SIGINT and SIGHUP is read as a byte.

    Handlers of their own would run between any two steps of the main thread, also while it holds
    the lock that they need.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return reader
