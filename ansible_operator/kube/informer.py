"""Lists and watches one kind in one namespace, or in all of them, for as long as it runs.

Only metadata is asked for unless told otherwise. Whatever goes wrong is tried again, and what was
missed meanwhile is found by a new list.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import Protocol

import structlog

from ansible_operator import children, errors, objects
from ansible_operator.kube import access, admission, listwatch, recovery, streaming, watchevents
from ansible_operator.kube import client as kube_client

log = structlog.get_logger("informer")

QUIET = 90.0
"""Seconds without a word, after which a connection counts as dead.

Servers send a bookmark every minute. One that sends none is asked anew, which loses nothing.
"""

_HASTE = 1.0
_STEADY = 5.0


class Sink(Protocol):
    """What hears of the objects; called in the thread of an informer."""

    def listed(self, namespace: str, items: list[children.Digest]) -> None:
        """This is everything in the namespace, in the cluster if it is empty."""

    def happened(self, event: children.Event, digest: children.Digest) -> None:
        """One object came, changed or went."""

    def forbidden(self, namespace: str) -> bool:
        """Listening is not permitted; True if the informer has no more to do therefore."""
        ...


class Informer:
    """One thread that tells a sink what is there and what happens.

    ``namespace`` is empty for the whole cluster; ``within`` are the namespaces that count then,
    none for all. ``clock`` is monotonic, ``quiet`` as :data:`QUIET`.
    """

    def __init__(
        self,
        client: kube_client.Client,
        wish: listwatch.Wish,
        sink: Sink,
        gate: admission.Admission,
        *,
        namespace: str = "",
        within: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
        quiet: float = QUIET,
    ) -> None:
        self._wish = wish
        self._sink = sink
        self._gate = gate
        self._namespace = namespace
        self._asker = listwatch.ListWatch(client, wish, namespace, within)
        self._clock = clock
        self._quiet = quiet
        self._version = ""
        self._said = False
        self._recovery = recovery.Recovery(clock, listwatch.spread)
        self._interrupt = streaming.Interrupt()
        self.thread = threading.Thread(
            target=self._run, name=f"informer-{wish.kind}-{namespace or 'all'}", daemon=True
        )

    def start(self) -> None:
        """Begin."""
        self.thread.start()

    def stop(self) -> None:
        """End soon, also while an answer is waited for; returns at once."""
        self._interrupt.set()

    def _run(self) -> None:
        with self._interrupt.bound():
            while not self._interrupt.is_set():
                try:
                    self._turn()
                except Exception:
                    log.exception("bug: an informer failed, starting it again", **self._where())
                    self._version = ""
                    self._interrupt.wait(recovery.CEILING)

    def _turn(self) -> None:
        try:
            self._go_on()
        except errors.KubeError as exc:
            self._recover(exc)

    def _go_on(self) -> None:
        """List if that is due, then watch until the watch ends."""
        if not self._version:
            with self._gate.turn(self._interrupt.wait) as admitted:
                if not admitted:
                    return
                items, version = self._asker.everything()
            self._sink.listed(self._namespace, items)
            self._version = version
        self._watch()

    def _recover(self, exc: errors.KubeError) -> None:
        """Say what is to be said about a failure, and wait."""
        if self._interrupt.is_set():
            return
        delay = self._recovery.failed(exc)
        if self._recovery.starts_over(exc):
            self._version = ""
        state = self._recovery.state
        log.debug("listening again", **self._where(), error=str(exc), delay=round(delay, 1))
        if isinstance(exc, errors.ForbiddenError):
            if self._sink.forbidden(self._namespace):
                self.stop()
                return
            self._say_forbidden(exc)
        elif state is recovery.State.MISSING and self._recovery.gone:
            self._sink.listed(self._namespace, [])
        self._interrupt.wait(delay)

    def _watch(self) -> None:
        with self._asker.watch(self._version, self._quiet) as stream:
            if self._recovery.state is not recovery.State.TROUBLE:
                self._succeed()
            self._follow(stream)

    def _follow(self, stream: streaming.Stream) -> None:
        begun, events = self._clock(), 0
        try:
            for line in stream.lines():
                self._take(watchevents.parse(line))
                self._succeed()
                events += 1
        finally:
            lasted = self._clock() - begun
            if lasted >= _STEADY:
                self._succeed()
        if not events and lasted < _HASTE:
            raise errors.KubeError("the watch ended at once")

    def _take(self, event: watchevents.WatchEvent) -> None:
        if isinstance(event, watchevents.Bookmark):
            self._version = event.version
            return
        for digest in self._asker.digests([event.obj]):
            self._sink.happened(event.event, digest)
        self._version = objects.resource_version(event.obj)

    def _succeed(self) -> None:
        self._recovery.succeeded()
        if self._said:
            self._said = False
            log.info("a kind can be listened to now", **self._where())

    def _say_forbidden(self, exc: errors.KubeError) -> None:
        if self._said:
            return
        self._said = True
        rule = access.rule(self._wish.resource, ("list", "watch"))
        log.warning(
            "cannot listen to a kind: changes of its objects start no run",
            **self._where(),
            error=f"{exc}. {access.grant(self._namespace)}: {rule}",
            retry="after a minute, later every five minutes",
        )

    def _where(self) -> dict[str, str]:
        return {"kind": str(self._wish.kind), "namespace": self._namespace or "all"}
