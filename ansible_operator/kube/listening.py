"""Keeps every watched kind listened to as long as the API server serves and permits it.

A kind that cannot be listened to (its CRD is missing, permissions are missing, the server is
away) is looked at again every ten seconds, and what is wrong is said once, and again when it
changes. The other kinds go on meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from ansible_operator import errors, objects, watches
from ansible_operator.kube import access, discovery
from ansible_operator.kube import client as kube_client

log = structlog.get_logger("listening")

TICK = 1.0
RECHECK = 10.0
START_LIMIT = 30.0
STEADY = 60.0
BACKOFF = (1.0, 30.0)


@dataclass(frozen=True, slots=True)
class Target:
    """What a source listens to; without namespaces it is the whole cluster."""

    watch: watches.Watch
    resource: discovery.Resource
    namespaces: tuple[str, ...] = ()

    @property
    def gvk(self) -> objects.GVK:
        """The kind."""
        return self.watch.gvk


@dataclass(frozen=True, slots=True)
class State:
    """How it goes with a target: ``ended`` says why it stopped by itself, None if it did not."""

    listening: bool = False
    ended: str | None = None


class Source(Protocol):
    """What hears changes. Every method returns without waiting for the API server."""

    def start(self, target: Target) -> None:
        """Begin to listen, in place of what is listened to of the same kind."""

    def stop(self, gvk: objects.GVK) -> None:
        """Stop listening to a kind; nothing happens if it is not listened to."""

    def state(self, gvk: objects.GVK) -> State:
        """How it goes with a kind that was started."""

    def close(self) -> None:
        """Stop listening to everything, within a few seconds."""


@dataclass(slots=True)
class _Entry:
    """One watch.

    ``resource`` is None while the kind is not served, ``known`` is the last one that was.
    ``scopes`` are where it can be listened to, ``ready`` says that it may be started there, and
    ``target`` is what the source was told, None while it was told nothing.
    """

    watch: watches.Watch
    resource: discovery.Resource | None = None
    known: discovery.Resource | None = None
    scopes: tuple[str, ...] = ()
    ready: bool = False
    target: Target | None = None
    due: float = 0.0
    since: float = 0.0
    failures: int = 0
    listening: bool = False
    said: str = ""
    said_superseded: bool = False
    said_lacking: str = ""


class Supervisor:
    """Starts and restarts a source for every watch; one thread calls :meth:`run`."""

    def __init__(
        self,
        client: kube_client.Client,
        listed: Sequence[watches.Watch],
        namespaces: tuple[str, ...],
        source: Source,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._namespaces = namespaces
        self._source = source
        self._clock = clock
        self._entries = {watch.gvk: _Entry(watch) for watch in listed}
        self._stop = threading.Event()

    def run(self, stop: threading.Event) -> None:
        """Keep listening until ``stop`` is set, then close the source."""
        self._stop = stop
        try:
            while not stop.is_set():
                self.step()
                stop.wait(TICK)
        finally:
            self._source.close()

    def step(self) -> None:
        """Look once at every kind that is due."""
        now = self._clock()
        for entry in self._entries.values():
            self._observe(entry, now)
        for entry in self._entries.values():
            if entry.due <= now and not self._stop.is_set():
                self._probe(entry, now)
        self._apply(now)

    def resource(self, gvk: objects.GVK) -> discovery.Resource:
        """The resource of a watched kind, as it was last served; raises NotFoundError before."""
        entry = self._entries.get(gvk)
        if entry is None or entry.known is None:
            raise errors.NotFoundError(f"{gvk} is not served", status=404)
        return entry.known

    def listening(self) -> frozenset[objects.GVK]:
        """The kinds that are listened to now."""
        return frozenset(gvk for gvk, entry in self._entries.items() if entry.listening)

    def superseded(self, gvk: objects.GVK) -> bool:
        """Whether a newer listed version of the kind is served, under which its objects run."""
        entry = self._entries.get(gvk)
        return entry is not None and entry.said_superseded

    def _observe(self, entry: _Entry, now: float) -> None:
        """Take note of how listening goes, and take it back if it ended."""
        if entry.target is None:
            return
        state = self._source.state(entry.target.gvk)
        reason = state.ended
        if reason is None and not state.listening and now - entry.since > START_LIMIT:
            reason = f"it did not begin within {START_LIMIT:.0f} s"
        if reason is None:
            entry.listening = state.listening
            if state.listening and now - entry.since > STEADY:
                entry.failures = 0
            return
        delay = min(BACKOFF[0] * 2**entry.failures, BACKOFF[1])
        log.warning(
            "listening ended, starting again",
            kind=str(entry.target.gvk),
            reason=reason,
            delay=delay,
        )
        self._silence(entry)
        entry.ready = False
        entry.failures += 1
        entry.due = now + delay

    def _probe(self, entry: _Entry, now: float) -> None:
        """Find out where the kind can be listened to, and say what is in the way."""
        entry.due = now + RECHECK
        try:
            problems = self._problems(entry)
        except errors.KubeError as exc:
            problems = (access.problem(exc),)
        self._say(entry, problems)
        if not problems:
            entry.due = float("inf")

    def _problems(self, entry: _Entry) -> tuple[access.Problem, ...]:
        """Ask the server anew; raises KubeError if it does not answer what it serves."""
        gvk = entry.watch.gvk
        resource = discovery.resolve(self._client, gvk)
        entry.resource = resource
        if resource is None:
            served = discovery.versions(self._client, gvk.group) if gvk.group else []
            return (access.missing(self._client.server, gvk, served),)
        entry.known = resource
        scopes = (self._namespaces if resource.namespaced else ()) or ("",)
        found = {scope: access.check(self._client, resource, scope) for scope in scopes}
        entry.scopes = tuple(scope for scope, problem in found.items() if problem is None)
        entry.ready = bool(entry.scopes)
        self._say_lacking(entry, resource)
        return tuple(problem for problem in found.values() if problem)

    def _apply(self, now: float) -> None:
        """Make the source listen to exactly what can be and should be listened to."""
        served = {gvk for gvk, entry in self._entries.items() if entry.resource}
        choice = discovery.choose([entry.watch for entry in self._entries.values()], served)
        for watch, winner in choice.superseded:
            self._supersede(self._entries[watch.gvk], winner)
        for watch in choice.running:
            self._listen(self._entries[watch.gvk], now)

    def _listen(self, entry: _Entry, now: float) -> None:
        """Start what is ready. What runs is only ever widened: if it fails it ends by itself."""
        if entry.resource is None or not entry.ready:
            return
        namespaces = tuple(scope for scope in entry.scopes if scope)
        if entry.target is not None and set(namespaces) <= set(entry.target.namespaces):
            return
        log.info("listening", kind=str(entry.watch.gvk), namespaces=list(namespaces) or "all")
        entry.target = Target(entry.watch, entry.resource, namespaces)
        entry.since, entry.listening, entry.said_superseded = now, False, False
        self._source.start(entry.target)

    def _supersede(self, entry: _Entry, winner: watches.Watch) -> None:
        if not entry.said_superseded:
            entry.said_superseded = True
            log.warning(
                "kind is not run in this version: a newer version of it is listed",
                kind=str(entry.watch.gvk),
                runs=str(winner.gvk),
                hint="both show the same objects; remove one of them from watches.yaml",
            )
        if entry.target is not None:
            self._silence(entry)

    def _silence(self, entry: _Entry) -> None:
        self._source.stop(entry.watch.gvk)
        entry.target, entry.listening = None, False

    def _say(self, entry: _Entry, problems: Sequence[access.Problem]) -> None:
        text = "\n".join(map(str, problems))
        if text == entry.said:
            return
        entry.said = text
        for problem in problems:
            log.error(
                "cannot listen to a kind",
                kind=str(entry.watch.gvk),
                reason=problem.reason.value,
                error=problem.message,
                retry=f"every {RECHECK:.0f} s",
            )
        if not problems:
            log.info("kind can be listened to now", kind=str(entry.watch.gvk))

    def _say_lacking(self, entry: _Entry, resource: discovery.Resource) -> None:
        texts = [
            access.lacking(self._client, resource, scope, entry.watch) for scope in entry.scopes
        ]
        text = "\n".join(text for text in texts if text)
        if text and text != entry.said_lacking:
            log.warning("permission is missing", kind=str(entry.watch.gvk), error=text)
        entry.said_lacking = text
