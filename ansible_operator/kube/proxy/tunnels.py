"""Connections that have changed their protocol: bytes go both ways as they come.

aiohttp hands what it reads to a parser once one is set; ours parses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib

import aiohttp
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import StreamWriter

from ansible_operator.kube.proxy import headers

HELD = 256 << 10
"""Bytes that one side may be ahead of the other."""


class Inlet:
    """What has come from one side and not yet gone to the other."""

    def __init__(self, transport: asyncio.Transport | None) -> None:
        self._transport = transport
        self._parts: list[bytes] = []
        self._size = 0
        self._ended = False
        self._paused = False
        self._news = asyncio.Event()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Take what was read; part of what aiohttp expects of a parser."""
        if data:
            self._parts.append(data)
            self._size += len(data)
            self._news.set()
        if self._size > HELD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        return False, b""

    def feed_eof(self) -> None:
        """Nothing more will come; part of what aiohttp expects of a parser."""
        self._ended = True
        self._news.set()

    async def read(self) -> bytes:
        """Everything that is there, as soon as there is something; empty at the end."""
        while not (self._parts or self._ended):
            self._news.clear()
            await self._news.wait()
        return self.take()

    def take(self) -> bytes:
        """Everything that is there, without waiting."""
        taken = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._paused and not self._ended and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return taken


async def join(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> None:
    """Join a client with a server that has answered 101, until one of them ends."""
    far_end = answer.connection
    if far_end is None or far_end.protocol is None or request.transport is None:
        raise ConnectionResetError("the other side has gone")
    near, far = Inlet(request.transport), Inlet(far_end.transport)
    loop = asyncio.get_running_loop()
    to_client, to_server = request.writer, StreamWriter(far_end.protocol, loop)
    await _switch(request, answer)
    request.protocol.set_parser(near)  # type: ignore[arg-type]
    far_end.protocol.set_parser(far, aiohttp.EMPTY_PAYLOAD)
    pumps = [
        asyncio.create_task(_pump(near, to_server)),
        asyncio.create_task(_pump(far, to_client)),
    ]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        # Whoever ended may have said something before; transports send what they were given.
        for inlet, transport in ((near, far_end.transport), (far, request.transport)):
            if transport is not None and (rest := inlet.take()):
                transport.write(rest)
        await asyncio.gather(*pumps, return_exceptions=True)
        answer.close()


async def _switch(request: web.BaseRequest, answer: aiohttp.ClientResponse) -> None:
    made = headers.returned(answer.headers)
    made["Connection"] = "Upgrade"
    if "Upgrade" in answer.headers:
        made["Upgrade"] = answer.headers["Upgrade"]
    await request.writer.write_headers(f"HTTP/1.1 101 {answer.reason}", made)
    request.writer.send_headers()


async def _pump(inlet: Inlet, outlet: AbstractStreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await inlet.read():
            await outlet.write(data)
            await outlet.drain()
