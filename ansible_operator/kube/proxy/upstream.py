"""The API server as the proxy reaches it: a pool of connections and the operator's credentials."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias
from urllib import parse

import aiohttp
import structlog
import yarl
from multidict import CIMultiDict

from ansible_operator import errors
from ansible_operator.kube import connection
from ansible_operator.kube.proxy import answers, headers

CONNECT_LIMIT = 10.0
"""Seconds until a connection, with its TLS handshake, must stand."""
IDLE = 30.0
"""Seconds that an unused connection is kept: less than servers do, so that none is used that the
server is just closing."""
FRESH = 60.0
"""Seconds after which credentials are read again, as rotated tokens need it."""
VAIN = 5.0
"""Seconds that credentials are not read again after that was to no avail."""
AHEAD = 256 << 10
"""Bytes of an answer that may wait here before the server is made to wait."""
_PROBE = 15
"""Seconds of silence until the kernel asks whether the other side is still there."""

Body: TypeAlias = bytes | AsyncIterator[bytes] | None

log = structlog.get_logger("proxy")


class Upstream:
    """One server with one identity. To be made and used in the proxy's loop."""

    def __init__(self, facts: connection.Connection) -> None:
        self.facts = facts
        self.server = facts.server.rstrip("/")
        self._base = parse.urlsplit(self.server).path
        self.active = 0
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=_context(facts),
                limit=0,
                keepalive_timeout=IDLE,
                socket_factory=_socket,
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_LIMIT),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            auto_decompress=False,
            read_bufsize=AHEAD,
            max_line_size=headers.LIMIT,
            max_field_size=headers.LIMIT,
            max_headers=headers.COUNT,
        )

    async def ask(
        self, method: str, target: str, sent: CIMultiDict[str], body: Body
    ) -> aiohttp.ClientResponse:
        """Send a request as ourselves and wait for the head of its answer.

        Raises what aiohttp raises, and Refusal for a target that would leave the path of the
        server's URL. The answer must be closed, and ``done`` called then.
        """
        if self._base and _climbs(target):
            raise answers.Refusal(400, "the path holds . or .., which no API server needs")
        if self.facts.authorization:
            sent["Authorization"] = self.facts.authorization
        self.active += 1
        try:
            return await self._session.request(
                method,
                yarl.URL(self.server + target, encoded=True),
                headers=sent,
                data=body,
                allow_redirects=False,
                proxy=self.facts.proxy,
                server_hostname=self.facts.tls_server_name,
            )
        except BaseException:
            self.done()
            raise

    def done(self) -> None:
        """One answer of ``ask`` is no longer needed."""
        self.active -= 1

    async def close(self) -> None:
        """Close all connections, whoever uses them."""
        await self._session.close()


class Upstreams:
    """The current way to the server; ``read`` reads the credentials and may take its time."""

    def __init__(self, read: Callable[[], connection.Connection]) -> None:
        self._read = read
        self._lock = asyncio.Lock()
        self._current: Upstream | None = None
        self._retired: list[Upstream] = []
        self._read_at = 0.0
        self._vain_until = 0.0
        self._reading: asyncio.Task[None] | None = None

    async def current(self) -> Upstream:
        """The upstream to ask; raises Refusal if there are no usable credentials.

        Credentials older than a minute are still used while they are read anew.
        """
        if self._current is None:
            async with self._lock:
                if self._current is None:
                    self._current = await self._made()
        elif self._now() - self._read_at > FRESH and self._reading is None:
            self._reading = asyncio.create_task(self._freshen(self._current))
        return self._current

    async def renewed(self, refused: Upstream) -> Upstream | None:
        """One with other credentials than the server refused; None if there are none."""
        async with self._lock:
            if self._current is refused:
                await self._reread(refused, refused=True)
            return None if self._current is refused else self._current

    async def close(self) -> None:
        """Close all connections."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        for one in (self._current, *self._retired):
            if one is not None:
                await one.close()

    async def _freshen(self, old: Upstream) -> None:
        try:
            async with self._lock:
                if self._current is old:
                    await self._reread(old, refused=False)
        finally:
            self._reading = None

    async def _reread(self, old: Upstream, *, refused: bool) -> None:
        """Read the credentials and use them if they are others.

        Those in certificate files may be others although their names are the same.
        """
        if refused and self._now() < self._vain_until:
            return
        try:
            self._read_at = self._now()
            facts = await asyncio.to_thread(self._read)
            if facts != old.facts or (refused and facts.cert_file):
                self._current = Upstream(facts)
                self._retired.append(old)
            elif refused:
                self._vain_until = self._now() + VAIN
        except (errors.ConfigError, OSError, ValueError) as problem:
            log.warning("cannot read the credentials again", error=str(problem))
        await self._sweep()

    async def _sweep(self) -> None:
        """Close what was replaced and is no longer used."""
        unused = [one for one in self._retired if not one.active]
        self._retired = [one for one in self._retired if one.active]
        for one in unused:
            await one.close()

    async def _made(self) -> Upstream:
        try:
            self._read_at = self._now()
            return Upstream(await asyncio.to_thread(self._read))
        except (errors.ConfigError, OSError, ValueError) as problem:
            raise answers.Refusal(503, f"the operator has no usable credentials: {problem}") from (
                problem
            )

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _climbs(target: str) -> bool:
    path = parse.unquote(target.partition("?")[0])
    return any(part in (".", "..") for part in path.split("/"))


def _context(facts: connection.Connection) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=facts.ca_file)
    # Python 3.13 is stricter than Go with certificate authorities that clusters do have.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not facts.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if facts.cert_file:
        context.load_cert_chain(facts.cert_file, facts.key_file)
    context.set_alpn_protocols(["http/1.1"])
    return context


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """A socket on which a server that has vanished is noticed, also on a watch without events."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", _PROBE), ("TCP_KEEPINTVL", _PROBE), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
