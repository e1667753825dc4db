"""The listening side of a sandbox: socket, TLS and the loop's server around a world."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Sequence
from typing import TextIO

from aiohttp import web

from ansible_operator import certificates as common
from ansible_operator.sandbox import server, world
from ansible_operator.sandbox.front import certificates
from ansible_operator.testing import errors

IDLE = 90.0
"""Seconds that a connection without requests is kept, as a real server does."""
PATIENCE = 0.1
"""Seconds that requests get to end by themselves; 0 would be for ever."""
LINE = 1 << 20
"""Bytes of a request line and of all headers that are read."""

Identity = tuple[str, str, tuple[str, ...]]
"""A token, its user's name and groups."""


class Serving:
    """Where to listen, and how."""

    def __init__(self, host: str, port: int, *, encrypted: bool) -> None:
        self._host = host
        self._port = port
        self._encrypted = encrypted

    @contextlib.asynccontextmanager
    async def started(
        self, identities: Sequence[Identity], *, enforced: bool, log: TextIO | None
    ) -> AsyncIterator[tuple[str, str]]:
        """Serve a fresh world; the URL and the PEM text of the authority (empty for HTTP).

        The first identity is the administrator. Raises ControlPlaneError when the port is taken.
        """
        listening = self._listen()
        issued = certificates.issue(self._host) if self._encrypted else None
        loop = asyncio.get_running_loop()
        (token, _, _), *others = identities
        sandbox = world.build(
            later=loop.call_later,
            token=token,
            users={secret: (name, *groups) for secret, name, groups in others},
            enforced=enforced,
            ca=issued.authority if issued else "",
        )
        handler = server.Server(sandbox, log)
        requests = web.Server(
            handler.handle,
            keepalive_timeout=IDLE,
            max_line_size=LINE,
            max_field_size=LINE,
            auto_decompress=False,  # as with a real server, bodies are what they are
            handler_cancellation=True,  # a watch ends when its client goes
        )
        context = common.context(issued) if issued else None
        served = await loop.create_server(requests, sock=listening, ssl=context)
        try:
            yield self._url(listening), issued.authority if issued else ""
        finally:
            served.close()
            await requests.shutdown(PATIENCE)

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            return socket.create_server((self._host, self._port), family=family, backlog=512)
        except OSError as error:
            at = f"--port {self._port}" if self._port else f"--bind {self._host}"
            why = error.strerror
            if error.errno == errno.EADDRINUSE:
                why = f"another program listens on {self._host}:{self._port}. Choose another port, "
                why += "or leave --port out: a free one is taken then"
            raise errors.ControlPlaneError(f"{at}: {why}") from error

    def _url(self, listening: socket.socket) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http{'s' if self._encrypted else ''}://{host}:{listening.getsockname()[1]}"
