"""The API proxy that runs talk to: its thread, its port and the kubeconfigs that lead to it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator

import structlog
from aiohttp import web

from ansible_operator import children, errors
from ansible_operator.kube import client, kubeconfig
from ansible_operator.kube.proxy import (
    certificate,
    connections,
    forwarding,
    gate,
    interceptor,
    sockets,
    tokens,
    upstream,
    usage,
)

HANDSHAKE = 10.0
"""Seconds that a client gets for its TLS handshake."""
STARTING = 30.0
"""Seconds until the thread must be ready, on however busy a machine."""
STOPPING = 5.0
"""Seconds until the thread must have ended."""
_CROWDED = 1.0  # seconds of rest when there are no more file descriptors

log = structlog.get_logger("proxy")


class Proxy:
    """A proxy to the API server of ``connection``, with its credentials.

    ``port`` is on loopback, 0 for any free one. ``interceptor`` looks at what runs ask; it is
    called in the proxy's thread.
    """

    def __init__(
        self,
        connection: client.Client,
        *,
        port: int,
        allow_anonymous: bool,
        interceptor: interceptor.Interceptor,
    ) -> None:
        self._connection = connection
        self._wanted = port
        self._anonymous = allow_anonymous
        self._interceptor = interceptor
        self._tokens = tokens.Tokens()
        self.usage = usage.Usage()
        self._issued = certificate.issue(certificate.now())
        self._port = 0
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where runs find it; known once it is started, the same for all runs."""
        return f"https://{sockets.V4}:{self._port}"

    @property
    def authority(self) -> str:
        """The certificate of the authority that signed the proxy's, in PEM."""
        return self._issued.authority

    def start(self) -> None:
        """Listen and serve; raises SettingsError, naming the flag, if the port cannot be had."""
        listening = sockets.listen(self._wanted)
        self._port = int(listening[0].getsockname()[1])
        context = certificate.context(self._issued)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening, context)), name="proxy", daemon=True
        )
        self._thread.start()
        if not self._ready.wait(STARTING):
            raise errors.SettingsError("the API proxy's thread did not start; the log says why")
        log.info("serving the API to runs", url=self.url)
        if self._anonymous:
            log.warning(
                "whoever reaches the proxy's port may do what the operator may",
                hint="leave --proxy-allow-anonymous out if no sidecar needs it",
            )

    def stop(self) -> None:
        """Cut all connections and end; a second call does nothing."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        thread.join(STOPPING)
        if thread.is_alive():
            log.warning("the proxy did not end in time")
        log.debug("what runs asked for", rules=self.usage.rules())

    @contextlib.contextmanager
    def access(self, owner: children.Owner) -> Iterator[str]:
        """The kubeconfig for a run on behalf of ``owner``, with a token that ends with the block.

        What still speaks with that token is cut then.
        """
        token, session = self._tokens.issue(owner)
        try:
            yield kubeconfig.for_proxy(self.url, self.authority, token)
        finally:
            self._tokens.end(token)
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # the proxy has ended before the run
                    self._loop.call_soon_threadsafe(session.close)

    async def _serve(self, listening: list[socket.socket], context: ssl.SSLContext) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        upstreams = upstream.Upstreams(self._connection.connection)
        forwarder = forwarding.Forwarder(upstreams, self._interceptor)
        door = gate.Gate(forwarder, self._tokens, self.usage, allow_anonymous=self._anonymous)
        served = web.Server(door.handle, handler_cancellation=True)
        async with asyncio.TaskGroup() as tasks:
            accepting = [tasks.create_task(self._accept(one, served, context)) for one in listening]
            self._ready.set()
            await self._stop.wait()
            for task in accepting:
                task.cancel()
        for connection in served.connections:
            if isinstance(connection, connections.Connection):
                connection.cut()
        await forwarder.close()
        await served.shutdown(0.1)
        await upstreams.close()

    async def _accept(
        self, listening: socket.socket, served: web.Server, context: ssl.SSLContext
    ) -> None:
        loop = asyncio.get_running_loop()
        with listening:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    try:
                        accepted, _ = await loop.sock_accept(listening)
                    except OSError as problem:
                        log.warning("cannot take a connection", error=str(problem))
                        await asyncio.sleep(_CROWDED)
                        continue
                    tasks.create_task(_admit(accepted, served, context))


async def _admit(accepted: socket.socket, served: web.Server, context: ssl.SSLContext) -> None:
    """Give a new connection to the server, with or without TLS."""
    taken = False
    try:
        encrypted = await sockets.is_encrypted(accepted)
        taken = True  # from here on a transport closes the socket
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: connections.Connection(served),
            accepted,
            ssl=context if encrypted else None,
            ssl_handshake_timeout=HANDSHAKE if encrypted else None,
        )
    except OSError as problem:  # among them all of TLS, and time-outs
        log.debug("a client gave up", error=str(problem))
    except Exception:
        log.exception("bug: a connection could not be served")
    finally:
        if not taken:
            accepted.close()
