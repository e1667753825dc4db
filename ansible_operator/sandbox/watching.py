"""Watches: the changes of one resource as they happen, from a version on or from now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from ansible_operator.sandbox import failure, kinds, listing, options, registry, storage

Obj = dict[str, Any]
BOOKMARK_EVERY = 60.0
BOOKMARK_BEFORE_END = 2.0
LONGEST = 3600.0
PIECE = 100
"""Events that are handed over at once, at most."""

INITIAL_END = {"k8s.io/initial-events-end": "true"}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a watch. Bookmarks have an object with nothing but a version."""

    type: str
    object: Obj


class Watch:
    """One client's watch of a resource, or of one namespace of it; it must be closed.

    What waits for a client is the history that the storage keeps anyway: a client that is further
    behind is cut off, and has to list again.
    """

    def __init__(
        self,
        store: registry.Registry,
        resource: kinds.Resource,
        namespace: str,
        name: str,
        how: options.List,
    ) -> None:
        """Raises ApiFailure 400 and 500; a version that is too old is told in the stream."""
        self._registry, self._resource, self._namespace = store, resource, namespace
        self._matches = listing.selection(resource, name, how)
        self._how = how
        self._revision = listing.revision_of(how.revision)
        self._first = self._begin()
        self._told = store.storage.revision
        self._last: list[Event] = []
        self._ended = False
        self._news = asyncio.Event()
        self._cancel = store.storage.subscribe(self._note, self._end)

    def close(self) -> None:
        """Take no more changes."""
        self._cancel()

    async def pieces(self) -> AsyncIterator[list[Event]]:
        """What happened and happens, until the time is over or the resource is gone."""
        end = time.monotonic() + (self._how.timeout or LONGEST)
        mark = self._next_mark(end)
        for piece in _cut(self._first):
            yield piece
        if self._first and self._first[-1].type == "ERROR":
            return
        self._first = []
        while (now := time.monotonic()) < end:
            timely = await self._news_within(min(mark, end) - now)
            while time.monotonic() < end and (changes := self._changes(PIECE)):
                if events := self._events(changes):
                    yield events
            if self._ended:
                for piece in _cut(self._last):
                    yield piece
                return
            if not timely:
                if self._how.bookmarks and time.monotonic() < end:
                    yield [self._bookmark()]
                mark = self._next_mark(end)

    async def _news_within(self, seconds: float) -> bool:
        """Wait for changes of the resource."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True

    def _changes(self, most: int) -> storage.Changes:
        """The next changes that were not told; it ends if they are not kept any more."""
        found = self._registry.storage.since(self._resource.key, self._told)
        if found is None:
            self._ended = True
            return []
        if taken := found[:most]:
            self._told = taken[-1].revision
        return taken

    def _events(self, changes: storage.Changes) -> list[Event]:
        found = (self._event(change) for change in changes)
        return [event for event in found if event is not None]

    def _next_mark(self, end: float) -> float:
        now = time.monotonic()
        last = end - BOOKMARK_BEFORE_END
        return min(now + BOOKMARK_EVERY, last) if last > now else end + 1

    def _begin(self) -> list[Event]:
        """What the client is told first: the objects that are there, or what it has missed."""
        store, key = self._registry.storage, self._resource.key
        how = self._how
        if self._revision and not how.initial:
            missed = store.since(key, self._revision)
            if missed is None:
                told = f"too old resource version: {self._revision} ({store.oldest(key)})"
                return [Event("ERROR", failure.expired(told).status())]
            return self._events(missed)
        events = [] if how.initial is False else self._present()
        if how.initial or (how.initial is None and how.bookmarks):
            events.append(self._bookmark(INITIAL_END))
        return events

    def _present(self) -> list[Event]:
        stored = self._registry.storage.list(self._resource.key, self._namespace)
        objects = (self._registry.read(self._resource, obj) for obj in stored)
        return [Event("ADDED", obj) for obj in objects if self._matches(obj)]

    def _bookmark(self, annotations: Obj | None = None) -> Event:
        meta: Obj = {"resourceVersion": str(self._registry.storage.revision)}
        if annotations:
            meta["annotations"] = annotations
        head = {"kind": self._resource.kind, "apiVersion": self._resource.api_version}
        return Event("BOOKMARK", {**head, "metadata": meta})

    def _note(self, change: storage.Change) -> None:
        if change.key == self._resource.key:
            self._news.set()

    def _end(self, key: kinds.Key) -> None:
        """Take what is left, as long as it is known how to read it."""
        if key == self._resource.key and not self._ended:
            self._last = self._events(self._changes(storage.HISTORY))
            self._ended = True
            self._news.set()

    def _event(self, change: storage.Change) -> Event | None:
        """The change as this client sees it: objects come into its selection and leave it."""
        meta = change.object["metadata"]
        if self._namespace and meta.get("namespace") != self._namespace:
            return None
        obj = self._registry.read(self._resource, change.object)
        now = change.type != "DELETED" and self._matches(obj)
        before = change.old is not None and self._matches(
            self._registry.read(self._resource, change.old)
        )
        if now:
            return Event("MODIFIED" if before else "ADDED", obj)
        return Event("DELETED", self._gone(change)) if before else None

    def _gone(self, change: storage.Change) -> Obj:
        """The last state that the client could see, at the version at which it left."""
        assert change.old is not None
        old = self._registry.read(self._resource, change.old)
        version = change.object["metadata"]["resourceVersion"]
        return {**old, "metadata": {**old["metadata"], "resourceVersion": version}}


def _cut(events: list[Event]) -> Iterator[list[Event]]:
    for start in range(0, len(events), PIECE):
        yield events[start : start + PIECE]
