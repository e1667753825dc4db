"""kopf as the ears for custom resources, and nothing else; the only module that imports it.

Every kind has a kopf operator of its own, in a thread and event loop of its own: what ends one
(its CRD is removed, a permission is withdrawn, the server reports an error in a watch) does not
deafen the others, and a restart lists only the one kind again.

Only ``on.event`` is registered, and its handler returns nothing: everything else that kopf offers
writes annotations, finalizers or status to the objects.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import kopf
import structlog

from ansible_operator import errors, objects, watches
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import connection, informer, listwatch
from ansible_operator.kube import source as kube_source

log = structlog.get_logger("kopf")

Listener: TypeAlias = Callable[[watches.Watch, str | None, objects.Obj], None]

# As the informers do it: kopf's own defaults never notice a half-open connection.
LASTS = listwatch.LASTS
QUIET = informer.QUIET

STOP_LIMIT = 8.0
GRACE = 1.5

# What these say is either said by kube.listening in our words or of no concern (that signals are
# not handled outside the main thread, that a login was cancelled by our stopping).
_SILENT = (
    "kopf._core.reactor.running",
    "kopf._core.reactor.orchestration",
    "kopf._core.reactor.observation",
    "kopf.activities.authentication",
)


class KopfSource:
    """Calls ``listener(watch, event type, object)`` for every change of the started targets.

    The event type is None for objects of the initial list and of every list after a gap. The
    listener is called in threads of this source, must be quick, and must not change the object.
    Nothing is ever written to the server.
    """

    def __init__(self, client: kube_client.Client, listener: Listener) -> None:
        self._client = client
        self._listener = listener
        self._ears: dict[objects.GVK, _Ear] = {}
        quiet()

    def start(self, target: kube_source.Target) -> None:
        """Begin to listen, in place of what is listened to of the same kind."""
        self.stop(target.gvk)
        ear = self._ears[target.gvk] = _Ear(target, self._client, self._listener)
        ear.start()

    def stop(self, gvk: objects.GVK) -> None:
        """Stop listening to a kind, without waiting until it has stopped."""
        if ear := self._ears.pop(gvk, None):
            ear.stop()

    def state(self, gvk: objects.GVK) -> kube_source.State:
        """How it goes with a kind that was started."""
        ear = self._ears.get(gvk)
        return ear.state() if ear else kube_source.State(ended="it was never started")

    def close(self) -> None:
        """Stop listening to everything; returns when all threads ended, or after 8 s."""
        ears = list(self._ears.values())
        self._ears.clear()
        for ear in ears:
            ear.stop()
        deadline = time.monotonic() + STOP_LIMIT
        for ear in ears:
            ear.join(max(0.0, deadline - time.monotonic()))


class _Ear:
    """One kopf operator for one target, in its own thread and loop."""

    def __init__(
        self, target: kube_source.Target, client: kube_client.Client, listener: Listener
    ) -> None:
        self._target = target
        self._client = client
        self._listener = listener
        self._asked = threading.Event()
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flag: asyncio.Event | None = None
        self._task: asyncio.Task[Any] | None = None
        self._ended: str | None = None
        self._no_login = ""
        self._lock = threading.Lock()
        self._thread = threading.Thread(
            target=self._run, name=f"kopf-{target.resource}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the operator to end; safe at any time and from any thread."""
        with self._lock:
            self._stopping.set()
            if self._loop is not None and self._flag is not None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
                    self._loop.call_soon_threadsafe(self._end)

    def join(self, timeout: float) -> None:
        self._thread.join(timeout)
        if self._thread.is_alive():
            log.warning("kopf does not stop", kind=str(self._target.gvk), waited=STOP_LIMIT)

    def state(self) -> kube_source.State:
        return kube_source.State(self._asked.is_set() and self._ended is None, self._ended)

    def _run(self) -> None:
        try:
            asyncio.run(self._listen())
        except (Exception, asyncio.CancelledError) as exc:  # ends this kind only
            self._ended = self._no_login or reason(exc)
        else:
            self._ended = self._no_login or "kopf ended"

    async def _listen(self) -> None:
        # An asyncio.Event: kopf would wait for a threading.Event in a thread that blocks the exit.
        with self._lock:
            self._loop, self._flag = asyncio.get_running_loop(), asyncio.Event()
            self._task = asyncio.current_task()
            self._loop.set_exception_handler(note_stray_error)
            if self._stopping.is_set():
                return
        namespaces = self._target.asked
        await kopf.operator(
            registry=self._registry(),
            settings=settings(self._target, self._note),
            standalone=True,
            clusterwide=not namespaces,
            namespaces=namespaces,
            stop_flag=self._flag,
        )

    def _end(self) -> None:
        """End the operator; called in its loop. kopf waits 5 s for some of its tasks; we do not."""
        if self._loop is not None and self._flag is not None and self._task is not None:
            self._flag.set()
            self._loop.call_later(GRACE, self._task.cancel)

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        gvk, plural = self._target.gvk, self._target.resource.plural
        kopf.on.login(registry=registry)(self._login)
        kopf.on.event(gvk.group, gvk.version, plural, registry=registry)(self._hear)
        return registry

    async def _hear(self, event: Any, **_: Any) -> None:
        # A coroutine runs in kopf's loop, in order; a plain function would run in a thread pool.
        if not self._stopping.is_set() and self._target.tells(event["object"]):
            self._listener(self._target.watch, event["type"], event["object"])

    async def _login(self, **_: Any) -> kopf.ConnectionInfo | None:
        # In a thread, because credentials may come from a program that takes its time.
        try:
            return credentials(await asyncio.to_thread(self._client.connection))
        except errors.ConfigError as exc:
            # Not raised: kopf ends if there are no credentials, but hangs if there was an error.
            self._no_login = str(exc)
            return None

    def _note(self, resource: Any) -> bool:
        if resource.plural == self._target.resource.plural:
            self._asked.set()
        return False


def settings(
    target: kube_source.Target, on_request: Callable[[Any], bool]
) -> kopf.OperatorSettings:
    """kopf's settings for one target.

    ``on_request`` is called whenever kopf is about to list or watch a resource, and returns
    False. It is handed over as a selector that never applies: kopf has no other public sign that
    it found the resource, and waits silently for ever if it did not.
    """
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.scanning.disabled = True  # scaffolded operators may list neither CRDs nor namespaces
    chosen.queueing.idle_timeout = 1
    chosen.watching.chunk_size = 500
    chosen.watching.connect_timeout = 10
    chosen.watching.server_timeout = random.randint(*LASTS)  # noqa: S311 - guards nothing
    chosen.watching.client_timeout = LASTS[1] + 60
    chosen.watching.inactivity_timeout = QUIET
    chosen.networking.connect_timeout = 10
    chosen.networking.request_timeout = 60
    chosen.networking.error_backoffs = (1, 1, 2, 3)
    chosen.process.ultimate_exiting_timeout = None  # else kopf may SIGKILL the whole process
    chosen.watching.field_selectors[on_request] = ""
    if target.watch.selector is not None:
        gvk = target.gvk
        name = (gvk.group, gvk.version, target.resource.plural)
        chosen.watching.label_selectors[name] = str(target.watch.selector)
    return chosen


def credentials(facts: connection.Connection) -> kopf.ConnectionInfo:
    """What kopf needs to reach the API server as the official client does."""
    scheme, _, token = facts.authorization.partition(" ")
    return kopf.ConnectionInfo(
        server=facts.server,
        ca_path=facts.ca_file,
        insecure=not facts.verify,
        scheme=scheme or None,
        token=token or None,
        certificate_path=facts.cert_file,
        private_key_path=facts.key_file,
        proxy_url=facts.proxy,
    )


def reason(exc: BaseException) -> str:
    """Why kopf ended, on one line: the innermost cause, which kopf wraps several times."""
    while exc.__cause__ is not None:
        exc = exc.__cause__
    text = " ".join(str(exc).split())
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def note_stray_error(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Errors of tasks that nobody waits for any more, once kopf was told to end."""
    log.debug("error in kopf", error=str(context.get("exception") or context.get("message")))


def quiet() -> None:
    """Let kopf's own loggers say only what a person has to act on."""
    logging.getLogger("kopf").setLevel(logging.WARNING)
    for name in _SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
