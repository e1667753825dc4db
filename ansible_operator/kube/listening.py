"""Keeps every watched kind listened to as long as the API server serves and permits it.

A kind that cannot be listened to (its CRD is missing, permissions are missing, the server is
away) is looked at again every ten seconds, with many namespaces less often, and what is wrong is
said once, and again when it changes. The other kinds go on meanwhile. What is served of the
healthy ones is asked again every two minutes, because a CRD may be changed without an end of the
listening.

More than a few namespaces are listened to by way of the whole cluster where that is permitted.
Where it is not, kinds are started one after another: each lists all of its namespaces at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import structlog

from ansible_operator import errors, objects, watches
from ansible_operator.kube import access, admission, asking, discovery, scopes
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import entry as kube_entry
from ansible_operator.kube import source as kube_source

log = structlog.get_logger("listening")

TICK = 1.0
RECHECK = 10.0
RENEWAL = 120.0
START_LIMIT = 30.0
STEADY = 60.0
BACKOFF = (1.0, 30.0)
NAMESPACES_RATE = 20.0
"""Namespaces of all kinds in which listening begins, in a second."""


class Listening:
    """Starts and restarts a source for every watch; one thread calls :meth:`run`.

    ``on_superseded`` is called in that thread when the objects of a kind are about to run under
    another listed version of it, before that version is listened to; it must be quick.
    """

    def __init__(
        self,
        client: kube_client.Client,
        listed: Sequence[watches.Watch],
        namespaces: tuple[str, ...],
        source: kube_source.Source,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_superseded: Callable[[objects.GVK], None] = lambda gvk: None,
    ) -> None:
        self._client = asking.Brief(client, lambda: self._stop.is_set())
        self._namespaces = namespaces
        # Each of many namespaces is asked for, so that is done less often.
        self._recheck = RECHECK * max(1.0, len(namespaces) / scopes.MANY)
        self._source = source
        self._clock = clock
        self._on_superseded = on_superseded
        self._entries = {watch.gvk: kube_entry.Entry(watch) for watch in listed}
        self._starts = admission.Bucket(NAMESPACES_RATE, NAMESPACES_RATE, clock)
        self._stop = threading.Event()
        self._renewal = clock() + RENEWAL

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
        if now >= self._renewal:
            self._renewal = now + RENEWAL
            self._renew(now)
        for entry in self._entries.values():
            if entry.due <= now:
                self._probe(entry, now)
        if not self._stop.is_set():
            self._apply(now)

    def resource(self, gvk: objects.GVK) -> discovery.Resource:
        """The resource of a watched kind, as it was last served; raises NotFoundError before."""
        entry = self._entries.get(gvk)
        if entry is None or entry.known is None:
            raise errors.NotFoundError(f"{gvk} is not served", status=404)
        return entry.known

    def superseded(self, gvk: objects.GVK) -> bool:
        """Whether the objects of the kind run under another listed version of it."""
        entry = self._entries.get(gvk)
        return entry is not None and entry.superseded

    def _observe(self, entry: kube_entry.Entry, now: float) -> None:
        """Take note of how listening goes, and take it back if it ended."""
        if entry.target is None:
            return
        state = self._source.state(entry.target.gvk)
        reason = state.ended
        if reason is None and not state.listening and now - entry.since > START_LIMIT:
            reason = f"it did not begin within {START_LIMIT:.0f} s"
        if reason is None:
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
        for other in self._entries.values():
            # Whether another version can run in its place must not be decided on old knowledge.
            if other.superseded and other.gvk.kind == entry.gvk.kind:
                other.due = min(other.due, entry.due)

    def _renew(self, now: float) -> None:
        """Notice what has changed about healthy kinds, with one request for each version.

        A kind that is not found any more is left alone: its listening ends by itself.
        """
        lists: dict[str, objects.Obj] = {}
        for entry in self._entries.values():
            gvk = entry.gvk
            if not entry.healthy:
                continue
            if gvk.api_version not in lists:
                lists[gvk.api_version] = self._served(gvk)
            found = discovery.find(lists[gvk.api_version], gvk)
            if found is not None and found != entry.known:
                entry.say_changed(found)
                entry.due = now

    def _served(self, gvk: objects.GVK) -> objects.Obj:
        try:
            return discovery.resources(self._client, gvk)
        except errors.KubeError as exc:
            log.debug("not known what is served now", version=gvk.api_version, error=str(exc))
            return {}

    def _probe(self, entry: kube_entry.Entry, now: float) -> None:
        """Find out where the kind can be listened to, and say what is in the way."""
        entry.due = now + self._recheck
        try:
            problems = self._problems(entry)
        except errors.KubeError as exc:
            problems = (access.problem(exc),)
        if self._stop.is_set():
            return
        entry.say(problems, retry=f"every {self._recheck:.0f} s")
        if not problems:
            entry.due = float("inf")

    def _problems(self, entry: kube_entry.Entry) -> tuple[access.Problem, ...]:
        """Ask the server anew; raises KubeError if it does not answer what it serves."""
        gvk = entry.gvk
        resource = discovery.resolve(self._client, gvk)
        entry.resource = resource
        if resource is None:
            served = discovery.versions(self._client, gvk.group) if gvk.group else []
            return (access.missing(self._client.server, gvk, served),)
        entry.known = resource
        if self._try_wide(entry, resource):
            return ()
        entry.wide = False
        found = {
            scope: access.check(self._client, resource, scope)
            for scope in scopes.each(resource, self._namespaces).asked
        }
        entry.scopes = tuple(scope for scope, problem in found.items() if problem is None)
        entry.ready = bool(entry.scopes)
        entry.say_lacking(scopes.lacking(self._client, resource, entry.scopes, entry.watch))
        return tuple(problem for problem in found.values() if problem)

    def _try_wide(self, entry: kube_entry.Entry, resource: discovery.Resource) -> bool:
        """Whether many namespaces can be listened to by way of the whole cluster."""
        asked = scopes.each(resource, self._namespaces).asked
        if len(asked) <= scopes.MANY or access.check(self._client, resource, ""):
            return False
        entry.scopes, entry.wide, entry.ready = asked, True, True
        entry.say_lacking(scopes.lacking(self._client, resource, asked, entry.watch))
        return True

    def _apply(self, now: float) -> None:
        """Make the source listen to exactly what can be and should be listened to.

        A listed version in whose place another one runs is superseded whether it is served or
        not: it may have been served a moment ago, and its runs may go on.
        """
        served = {gvk for gvk, entry in self._entries.items() if entry.resource}
        choice = discovery.choose([entry.watch for entry in self._entries.values()], served)
        winners = {(watch.gvk.group, watch.gvk.kind): watch for watch in choice.running}
        for gvk, entry in self._entries.items():
            if (winner := winners.get((gvk.group, gvk.kind))) not in (None, entry.watch):
                self._supersede(entry, winner)
        for watch in choice.running:
            self._listen(self._entries[watch.gvk], now)

    def _listen(self, entry: kube_entry.Entry, now: float) -> None:
        """Start what is ready. What runs is only ever widened: if it fails it ends by itself."""
        entry.superseded = entry.said_superseded = False
        if entry.resource is None or not entry.ready:
            return
        namespaces = tuple(scope for scope in entry.scopes if scope)
        if entry.target is not None and entry.target.covers(entry.resource, namespaces):
            return
        target = kube_source.Target(entry.watch, entry.resource, namespaces, entry.wide)
        if self._starts.take(len(target.asked) or 1) > 0:
            return  # another time: this is asked once a second
        log.info("listening", kind=str(entry.gvk), namespaces=list(namespaces) or "all")
        entry.target = target
        entry.since = now
        self._source.start(entry.target)

    def _supersede(self, entry: kube_entry.Entry, winner: watches.Watch) -> None:
        entry.say_superseded(winner)
        if entry.target is not None:
            self._silence(entry)
        if not entry.superseded:
            entry.superseded = True
            self._on_superseded(entry.gvk)

    def _silence(self, entry: kube_entry.Entry) -> None:
        self._source.stop(entry.gvk)
        entry.target = None
