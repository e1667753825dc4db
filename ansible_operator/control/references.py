"""Runs objects again when another object that they name, such as a Secret, changes.

=============================================================  =========================
what happens to an object that is named                        those that name it run
=============================================================  =========================
changed, created, deleted, gone                                yes
there when listening to its kind begins                        no, unless it is newer
only its status changed (kinds with generations)               no
a run of the object that names it did it                       no
=============================================================  =========================

Newer is what was written after an object that names it was made, before listening had begun: the
run may have missed it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from ansible_operator import children, errors, objects, watches
from ansible_operator.control import predicates, referenceindex
from ansible_operator.control.priority import Priority

RETRY = 10.0
"""Seconds after which a kind that is not served, or could not be asked for, is looked up again."""

HOLD = 1.0
"""Seconds for which a change during a run is held: the proxy tells soon if the run has made it."""

log = structlog.get_logger("references")


@dataclass(frozen=True, slots=True)
class _Held:
    due: float
    key: objects.ObjectKey
    digest: children.Digest


class References:
    """Keeps an index of what objects name, and listens to the kinds of it while there are any.

    ``resolve`` finds a kind as it is served and may raise KubeError. ``enqueue`` asks for a pass.
    ``active`` are the objects that are being run, ``own_write`` tells whether a run of the object
    has made another one what it is now. ``clock`` is a monotonic clock in seconds.
    """

    def __init__(
        self,
        informers: children.Informers,
        resolve: Callable[[objects.GVK], children.ChildKind],
        enqueue: Callable[[objects.ObjectKey, Priority], None],
        *,
        active: Callable[[], Collection[objects.ObjectKey]] = tuple,
        own_write: Callable[[objects.ObjectKey, children.Digest], bool] = lambda key, digest: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._informers = informers
        self._resolve = resolve
        self._enqueue = enqueue
        self._active = active
        self._own_write = own_write
        self._clock = clock
        self._lock = threading.Lock()
        self._index = referenceindex.ReferenceIndex()
        self._held: list[_Held] = []
        self._subscriptions: dict[objects.GVK, children.Subscription] = {}
        self._retries: dict[objects.GVK, float] = {}
        self._namespaced: dict[objects.GVK, bool] = {}
        self._said: set[tuple[objects.GVK, str]] = set()
        self._news = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="references", daemon=True)

    def observe(self, watch: watches.Watch, event_type: str | None, obj: Mapping[str, Any]) -> None:
        """Hear of a watched object, as :class:`controller.Controller` tells its listeners."""
        if not watch.references:
            return
        key = objects.key_of(obj, watch.gvk)
        gone = event_type == predicates.DELETED or not predicates.is_selected(obj, watch)
        names = () if gone else _names(obj, watch)
        since = None if event_type is None else _number(objects.resource_version(obj))
        with self._lock:
            before = (self._index.kinds(), self._index.placeless())
            self._index.put(key, names, since)
            changed = (self._index.kinds(), self._index.placeless()) != before
        if changed:
            self._news.set()

    def forget(self, key: objects.ObjectKey) -> None:
        """The object is gone."""
        with self._lock:
            self._index.drop(key)
        self._news.set()

    def retire(self, gvk: objects.GVK) -> None:
        """The kind's objects are run under another version of it."""
        with self._lock:
            self._index.retire(gvk)
        self._news.set()

    def start(self) -> None:
        """Listen from now on; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Listen no longer; returns when that has ended, or after 5 s."""
        self._closed = True
        self._news.set()
        if self._thread.ident is not None:
            self._thread.join(5.0)
        for subscription in self._subscriptions.values():
            subscription.stop()

    def step(self) -> float:
        """Do what is due; the seconds until there is more to do. For one thread at a time."""
        with self._lock:
            wanted, placeless = self._index.kinds(), self._index.placeless()
        for gvk in self._subscriptions.keys() - wanted:
            self._subscriptions.pop(gvk).stop()
        for gvk in sorted(wanted - self._subscriptions.keys()):
            if self._retries.get(gvk, -math.inf) <= self._clock():
                self._subscribe(gvk)
        self._complain(placeless)
        waiting = [at for gvk, at in self._retries.items() if gvk in wanted]
        return min([*waiting, self._let_go()], default=math.inf) - self._clock()

    def _work(self) -> None:
        while not self._closed:
            self._news.clear()
            try:
                patience = self.step()
            except Exception:
                log.exception("bug: references could not be looked after, trying again")
                patience = RETRY
            if not self._closed:
                self._news.wait(min(max(patience, 0.0), threading.TIMEOUT_MAX))

    def _subscribe(self, gvk: objects.GVK) -> None:
        try:
            kind = self._resolve(gvk)
        except errors.KubeError as error:
            self._retries[gvk] = self._clock() + RETRY
            self._warn(gvk, "cannot listen to a kind that objects name, trying again", str(error))
            return
        self._retries.pop(gvk, None)
        self._namespaced[gvk] = kind.namespaced
        self._subscriptions[gvk] = self._informers.subscribe(kind, self._changed)

    def _complain(self, placeless: Iterable[objects.GVK]) -> None:
        """Of cluster-scoped objects that name namespaced ones without telling where."""
        for gvk in placeless:
            if self._namespaced.get(gvk):
                self._warn(
                    gvk,
                    "cluster-scoped objects name objects of a kind without a namespace: ignored",
                    "add 'namespace: <path of the field that has it>' to references",
                )

    def _warn(self, gvk: objects.GVK, event: str, text: str) -> None:
        if (gvk, text) not in self._said:
            self._said.add((gvk, text))
            log.warning(event, kind=str(gvk), error=text)

    def _changed(self, change: children.Change) -> None:
        """Hear of an object of a kind that is named; called in an informer's thread."""
        if not _counts(change):
            return
        new = change.new
        name = referenceindex.Name(change.kind.gvk, new.namespace, new.name)
        with self._lock:
            found = list(self._index.naming(name, namespaced=change.kind.namespaced))
        active = self._active() if found else ()
        for key, since in found:
            if change.initial and not _is_newer(new, since):
                continue
            if key in active:
                self._hold(key, new)
            else:
                self._ask(key, new)

    def _hold(self, key: objects.ObjectKey, digest: children.Digest) -> None:
        with self._lock:
            self._held.append(_Held(self._clock() + HOLD, key, digest))
        self._news.set()

    def _let_go(self) -> float:
        """Decide on the changes that were held long enough; when the next one will have been."""
        now = self._clock()
        with self._lock:
            due = [held for held in self._held if held.due <= now]
            self._held = [held for held in self._held if held.due > now]
            following = min((held.due for held in self._held), default=math.inf)
        for held in due:
            self._ask(held.key, held.digest)
        return following

    def _ask(self, key: objects.ObjectKey, digest: children.Digest) -> None:
        if not self._own_write(key, digest):
            self._enqueue(key, Priority.DEPENDENT)


def _names(obj: Mapping[str, Any], watch: watches.Watch) -> list[referenceindex.Name]:
    return [
        referenceindex.Name(reference.gvk, namespace, name)
        for reference in watch.references
        for namespace, name in reference.named(obj)
    ]


def _counts(change: children.Change) -> bool:
    """Whether the object is another than before, its status left aside.

    Kinds without generations, such as Secret and ConfigMap, tell any change by their
    resourceVersion. For others the status does not count, or two objects that name each other
    would run for ever because of what the operator writes.
    """
    old, new = change.old, change.new
    if old is None or change.event is not children.Event.MODIFIED or old.uid != new.uid:
        return True
    if old.generation and new.generation:
        return (old.generation, old.metadata) != (new.generation, new.metadata)
    return old.resource_version != new.resource_version


def _is_newer(digest: children.Digest, since: int | None) -> bool:
    number = _number(digest.resource_version)
    return since is not None and number is not None and number > since


def _number(version: str) -> int | None:
    return int(version) if version.isascii() and version.isdecimal() else None
