"""Wiring and life cycle only: what is built, in which order it is started and stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import structlog

from ansible_operator import durations, errors, kopf_source, objects, settings, watches
from ansible_operator.ansible import run as runs
from ansible_operator.ansible import runner
from ansible_operator.control import controller, reconciler
from ansible_operator.kube import client, cluster, discovery, kubeconfig, listening

EARS_LIMIT = 10.0
"""Seconds that listening gets to end; a server that does not answer must not hold us up."""

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
        self._environ = config.environ
        self._stop = threading.Event()
        self._code = 0
        connection = client.Client.load(config.environ)
        ansible = runner.AnsibleRunner(config, self._access, config.environ)
        store = cluster.Cluster(connection, self._resource)
        reconcile = reconciler.Reconciler(store, ansible, config)
        self._controller = controller.Controller(
            reconcile, watched, config, retired=self._is_retired
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
        log.warning(
            "owner references and watches of dependent objects are not active yet",
            hint="set metadata.ownerReferences of what a role creates in the role itself",
        )

    @contextlib.contextmanager
    def _access(self, request: runs.RunRequest) -> Iterator[str]:
        """The kubeconfig of a run."""
        yield kubeconfig.for_run(request.obj, self._environ)

    # The ears are built last, as they report to what is built from these two.

    def _resource(self, gvk: objects.GVK) -> discovery.Resource:
        return self._listening.resource(gvk)

    def _is_retired(self, gvk: objects.GVK) -> bool:
        return self._listening.superseded(gvk)

    def run(self) -> int:
        """Start everything, wait for a signal, stop everything in reverse order."""
        threading.Thread(target=self._obey, args=(_signals(),), name="signals", daemon=True).start()
        ears = threading.Thread(target=self._listen, name="listening", daemon=True)
        self._controller.start()
        ears.start()
        self._stop.wait()
        log.info(
            "stopping: runs under way may go on for the grace time; a second signal ends them",
            grace=durations.render(self._grace),
            active=len(self._controller.active()),
        )
        self._controller.stop(self._grace)
        ears.join(EARS_LIMIT)
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
        """The first signal stops in good order, every further one ends the runs at once."""
        os.read(reader, 1)
        self._stop.set()
        while os.read(reader, 1):
            log.warning("told again to stop: ending the runs now")
            self._controller.hurry()


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
