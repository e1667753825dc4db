"""Wiring and life cycle only: what is built, in which order it is started and stopped."""

from __future__ import annotations

import functools
import signal
import threading
from types import FrameType

import structlog

from ansible_operator import errors, kopf_source, settings, watches
from ansible_operator.ansible import runner
from ansible_operator.control import controller, reconciler
from ansible_operator.kube import client, cluster, kubeconfig, listening

log = structlog.get_logger("manager")


def run(config: settings.Settings, watched: tuple[watches.Watch, ...]) -> int:
    """Run the operator until a signal ends it; the process's exit code."""
    try:
        manager = Manager(config, watched)
    except errors.OperatorError as error:
        log.error("cannot start", error=str(error))
        return 1
    return manager.run()


class Manager:
    """The parts of one operator, built but not started.

    Raises :class:`errors.OperatorError` if no connection to an API server is configured, or the
    runner's directory cannot be used. An API server that does not answer is no such error.
    """

    def __init__(self, config: settings.Settings, watched: tuple[watches.Watch, ...]) -> None:
        self._grace = config.engine.graceful_shutdown_timeout
        self._stop = threading.Event()
        self._code = 0
        connection = client.Client.load(config.environ)
        write_kubeconfig = functools.partial(kubeconfig.write_for_run, environ=config.environ)
        ansible = runner.AnsibleRunner(config, write_kubeconfig, config.environ)
        # The ears are built last, as they report to what is built from the store.
        store = cluster.Cluster(connection, lambda gvk: self._listening.resource(gvk))
        reconcile = reconciler.Reconciler(store, ansible, config)
        retired = lambda gvk: self._listening.superseded(gvk)  # noqa: E731
        self._controller = controller.Controller(reconcile, watched, config, retired=retired)
        source = kopf_source.KopfSource(connection, self._controller.observe)
        self._listening = listening.Supervisor(connection, watched, config.namespaces, source)
        log.info("talking to the API server", server=connection.server)

    def run(self) -> int:
        """Start everything, wait for a signal, stop everything in reverse order."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        ears = threading.Thread(target=self._listen, name="listening")
        self._controller.start()
        ears.start()
        self._stop.wait()
        self._end(ears)
        return self._code

    def _listen(self) -> None:
        """Listen until told to stop; an operator that has gone deaf must not look alive."""
        try:
            self._listening.run(self._stop)
        except Exception:
            log.exception("bug: the operator no longer listens, and ends")
            self._code = 1
            self._stop.set()

    def _end(self, ears: threading.Thread) -> None:
        """Take no new work, give the active runs their grace time, then end them."""
        log.info("stopping", grace=self._grace, active=len(self._controller.active()))
        self._controller.stop(self._grace)
        ears.join()
        log.info("stopped")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """The first signal stops in good order, the second does not wait for the runs."""
        if self._stop.is_set():
            self._controller.hurry()
        self._stop.set()
