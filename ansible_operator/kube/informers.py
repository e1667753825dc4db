"""Where changes of children are heard of: every kind is listened to once, however many ask.

A kind is listened to from its first subscription to the end of its last one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import structlog

from ansible_operator import children, objects
from ansible_operator.kube import admission, informer, listwatch, sharing
from ansible_operator.kube import client as kube_client

log = structlog.get_logger("informer")

STOP_LIMIT = 8.0
"""Seconds that :meth:`Informers.close` waits; a connection that is being made takes up to five."""


class Informers:
    """Implements :class:`children.Informers` for the namespaces of the operator; none is all.

    ``clock`` is monotonic; ``quiet`` are the seconds without a word after which a connection
    counts as dead. Thread-safe. Nothing is asked of the server while nobody has subscribed.
    """

    def __init__(
        self,
        client: kube_client.Client,
        namespaces: Sequence[str],
        *,
        clock: Callable[[], float] = time.monotonic,
        quiet: float = informer.QUIET,
        gate: admission.Admission | None = None,
    ) -> None:
        self._client = client
        self._namespaces = tuple(namespaces)
        self._clock = clock
        self._quiet = quiet
        self._gate = gate or admission.Admission(clock=clock)
        self._lock = threading.Lock()
        self._closed = False
        self._shared: dict[listwatch.Wish, tuple[sharing.Shared, set[_Subscription]]] = {}
        self._ended: list[sharing.Shared] = []

    def subscribe(
        self,
        kind: children.ChildKind,
        listener: Callable[[children.Change], None],
        *,
        selector: str = "",
        full: bool = False,
        digest: Callable[[objects.Obj], children.Digest] = children.digest,
    ) -> children.Subscription:
        """Hear of all objects of a kind in the namespaces of the operator; returns at once.

        ``selector``, ``full`` and ``digest`` as in :class:`listwatch.Wish`. After :meth:`close`
        nothing is heard any more.
        """
        wish = listwatch.Wish(kind, selector, full, digest)
        made = _Subscription(self, wish, listener)
        with self._lock:
            if self._closed:
                made.subscriber.stopped = True
                return made
            if wish not in self._shared:
                self._shared[wish] = (self._begin(wish), set())
            shared, subscriptions = self._shared[wish]
            subscriptions.add(made)
        shared.join(made.subscriber)
        return made

    def close(self) -> None:
        """End everything; returns when all threads have ended, or after 8 s."""
        with self._lock:
            self._closed = True
            ending = [*self._ended, *(shared for shared, _ in self._shared.values())]
            subscriptions = [each for _, group in self._shared.values() for each in group]
            self._shared.clear()
            self._ended.clear()
        for subscription in subscriptions:
            subscription.subscriber.stopped = True
        for shared in ending:
            shared.stop()
        deadline = time.monotonic() + STOP_LIMIT
        for thread in (thread for shared in ending for thread in shared.threads()):
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
                if thread.is_alive():
                    log.warning("an informer does not stop", thread=thread.name, waited=STOP_LIMIT)

    def drop(self, subscription: _Subscription) -> None:
        """End a subscription, and what nobody else listens to."""
        with self._lock:
            subscription.subscriber.stopped = True
            found = self._shared.get(subscription.wish)
            if found is None or subscription not in found[1]:
                return
            shared, subscriptions = found
            subscriptions.discard(subscription)
            if subscriptions:
                return
            del self._shared[subscription.wish]
            alive = [each for each in self._ended if any(map(_is_alive, each.threads()))]
            self._ended = [*alive, shared]
        shared.stop()

    def _begin(self, wish: listwatch.Wish) -> sharing.Shared:
        def begin(sink: informer.Sink, namespace: str, within: Sequence[str]) -> informer.Informer:
            return informer.Informer(
                self._client,
                wish,
                sink,
                self._gate,
                namespace=namespace,
                within=within,
                clock=self._clock,
                quiet=self._quiet,
            )

        shared = sharing.Shared(self._client, wish.kind, self._namespaces, begin)
        shared.start()
        return shared


class _Subscription:
    """One listener's part; implements :class:`children.Subscription`."""

    def __init__(
        self, informers: Informers, wish: listwatch.Wish, listener: sharing.Listener
    ) -> None:
        self._informers = informers
        self.wish = wish
        self.subscriber = sharing.Subscriber(listener)

    def synced(self) -> bool:
        """Whether the listener was told of everything that there was.

        It was not as long as a namespace cannot be listed; of a kind that is not served there is
        nothing.
        """
        return self.subscriber.synced

    def stop(self) -> None:
        """Hear nothing more; the informer ends with its last listener."""
        self._informers.drop(self)


def _is_alive(thread: threading.Thread) -> bool:
    return thread.is_alive()
