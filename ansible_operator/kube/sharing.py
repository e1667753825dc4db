"""One kind, listened to once for everybody who wants to hear of it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import structlog

from ansible_operator import children
from ansible_operator.kube import asking, informer, listwatch, scopes, store, streaming
from ansible_operator.kube import client as kube_client

log = structlog.get_logger("informer")

WAITING = 1000
"""What informers have heard and listeners were not told yet, at most; then informers wait."""

Listener: TypeAlias = Callable[[children.Change], None]
Begin: TypeAlias = Callable[[informer.Sink, str, Sequence[str]], informer.Informer]
_Step: TypeAlias = Callable[[], None]


@dataclass(slots=True, eq=False)
class Subscriber:
    """A listener, and how far it is."""

    listener: Listener
    stopped: bool = False
    synced: bool = False

    def hear(self, change: children.Change) -> None:
        """Tell the listener; what it raises is its own affair."""
        if self.stopped:
            return
        try:
            self.listener(change)
        except Exception:
            log.exception("bug: a listener failed", kind=str(change.kind))


class Shared:
    """The informers of one kind, one store, and everybody who hears of it.

    One thread has the store and tells the listeners, so that each hears the changes in order and
    without gaps, whenever it comes. ``begin`` makes an informer for a sink, a namespace and the
    namespaces that count in it.
    """

    def __init__(
        self,
        client: kube_client.Client,
        kind: children.ChildKind,
        namespaces: Sequence[str],
        begin: Begin,
    ) -> None:
        self._client = asking.Brief(client, lambda: self._interrupt.is_set())
        self._resource = listwatch.Wish(kind).resource
        self._namespaces = tuple(namespaces)
        self._begin = begin
        self._store = store.Store(kind)
        self._subscribers: list[Subscriber] = []
        self._steps: queue.SimpleQueue[_Step] = queue.SimpleQueue()
        self._room = threading.Semaphore(WAITING)
        self._unlisted: set[str] | None = None  # None: not even begun
        self._wide = False
        self._informers: list[informer.Informer] = []
        self._lock = threading.Lock()
        self._interrupt = streaming.Interrupt()
        self._thread = threading.Thread(target=self._run, name=f"informers-{kind}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End soon; returns at once and may be called by a listener."""
        with self._lock:
            self._interrupt.set()
            for each in self._informers:
                each.stop()
        self._steps.put(lambda: None)

    def threads(self) -> list[threading.Thread]:
        """The threads that were started."""
        with self._lock:
            return [self._thread, *(each.thread for each in self._informers)]

    def join(self, subscriber: Subscriber) -> None:
        """Let somebody hear of everything, of what is there first; returns at once."""
        self._steps.put(lambda: self._joined(subscriber))

    # what informers tell, in their threads

    def listed(self, namespace: str, items: list[children.Digest]) -> None:
        """As :class:`informer.Sink`."""
        self._hand_over(lambda: self._listed(namespace, items))

    def happened(self, event: children.Event, digest: children.Digest) -> None:
        """As :class:`informer.Sink`."""
        self._hand_over(lambda: self._tell(self._store.happened(event, digest)))

    def forbidden(self, namespace: str) -> bool:
        """As :class:`informer.Sink`; the whole cluster is given up for its namespaces."""
        if not (self._wide and namespace == ""):
            return False
        self._hand_over(self._narrow)
        return True

    def _hand_over(self, step: _Step) -> None:
        while not self._room.acquire(timeout=0.2):
            if self._interrupt.is_set():
                return

        def take() -> None:
            self._room.release()
            step()

        self._steps.put(take)

    # what is done about it, in the one thread

    def _run(self) -> None:
        with self._interrupt.bound():
            where = scopes.plan(self._client, self._resource, self._namespaces)
        self._listen(where)
        while not self._interrupt.is_set():
            step = self._steps.get()
            try:
                step()
            except Exception:
                log.exception("bug: a change was lost", kind=str(self._resource))

    def _listen(self, where: scopes.Scopes) -> None:
        began = self._unlisted is None
        if began or self._unlisted:
            self._unlisted = set(where.asked)
        self._wide = bool(where.within)
        with self._lock:
            if self._interrupt.is_set():
                return
            fresh = [self._begin(self, name, where.within) for name in where.asked]
            self._informers += fresh
            for each in fresh:
                each.start()

    def _narrow(self) -> None:
        if self._wide:
            self._listen(scopes.each(self._resource, self._namespaces))

    def _listed(self, namespace: str, items: list[children.Digest]) -> None:
        waiting = self._unlisted or set()
        initial = namespace in waiting
        self._tell(self._store.listed(namespace, items, initial=initial))
        waiting.discard(namespace)
        if initial and not waiting:
            for subscriber in self._subscribers:
                subscriber.synced = True

    def _joined(self, subscriber: Subscriber) -> None:
        self._subscribers = [each for each in self._subscribers if not each.stopped]
        for change in self._store.present():
            subscriber.hear(change)
        self._subscribers.append(subscriber)
        subscriber.synced = not self._unlisted

    def _tell(self, changes: list[children.Change]) -> None:
        for change in changes:
            for subscriber in self._subscribers:
                subscriber.hear(change)
