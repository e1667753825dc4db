"""The server's answer on its way to the client, as it comes or as somebody has changed it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import aiohttp
from aiohttp import HttpVersion11, web
from multidict import CIMultiDict

from ansible_operator.kube.proxy import answers, bodyreading, headers, interceptor, upstream

Inspect: TypeAlias = Callable[[interceptor.Answer], Awaitable[interceptor.Answer]]
_BODYLESS = (204, 304)


@dataclass(slots=True)
class Reply:
    """An answer whose head is here. ``start`` is what was already read of its body.

    ``shown`` is the whole answer as it is to be given, where somebody had a look at it.
    """

    response: aiohttp.ClientResponse
    source: upstream.Upstream
    start: bytes = b""
    shown: interceptor.Answer | None = None
    before: interceptor.Answer | None = None

    def close(self) -> None:
        """Have done with it; what is not yet read of it is broken off."""
        self.response.close()
        self.source.done()


async def show(reply: Reply, inspect: Inspect) -> None:
    """Let somebody look at an answer, if it is small enough and not encoded."""
    response = reply.response
    if response.headers.get("Content-Encoding", "identity") != "identity":
        return
    reply.start, whole = await bodyreading.start(response, bodyreading.INSPECTED)
    if whole:
        lowered = headers.lowered(response.headers)
        reply.before = interceptor.Answer(response.status, lowered, reply.start)
        reply.shown = await inspect(reply.before)


async def write(request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
    """Give the client the answer; one that breaks off is broken off for the client too.

    Raises Refusal, with nothing written, for headers that cannot be passed on.
    """
    code, made = _head(reply)
    keeps = _frame(request, code, made)
    writer = request.writer
    try:
        await writer.write_headers(f"HTTP/1.1 {code} {reply.response.reason or ''}", made)
    except ValueError as problem:
        raise answers.Refusal(502, f"the server's answer cannot be passed on: {problem}") from (
            problem
        )
    if "Transfer-Encoding" in made:
        writer.enable_chunking()
    try:
        await _body(request, reply)
    except (aiohttp.ClientError, OSError):
        if request.transport is not None:
            request.transport.abort()
        keeps = False
    return answers.Sent(code, keep_alive=keeps)


async def _body(request: web.BaseRequest, reply: Reply) -> None:
    writer = request.writer
    if reply.shown is not None:
        await writer.write_eof(b"" if request.method == "HEAD" else reply.shown.body)
        return
    if reply.start:
        await writer.write(reply.start)
    elif reply.response.content_length is None:
        writer.send_headers()  # whoever watches wants to know at once that the watch stands
    async for part in reply.response.content.iter_any():
        await writer.write(part)
    await writer.write_eof()


def _head(reply: Reply) -> tuple[int, CIMultiDict[str]]:
    made = headers.returned(reply.response.headers)
    if reply.shown is None or reply.before is None:
        return reply.response.status, made
    made = headers.changed(made, reply.before.headers, reply.shown.headers)
    made["Content-Length"] = str(len(reply.shown.body))
    return reply.shown.status, made


def _frame(request: web.BaseRequest, code: int, made: CIMultiDict[str]) -> bool:
    """Say how long the body is; whether the connection can go on afterwards."""
    bodyless = request.method == "HEAD" or code in _BODYLESS
    modern = request.version >= HttpVersion11
    counted = bodyless or "Content-Length" in made
    if not counted and modern:
        made["Transfer-Encoding"] = "chunked"
        counted = True
    keeps = bool(request.keep_alive) and counted
    if not keeps:
        made["Connection"] = "close"
    elif not modern:
        made["Connection"] = "keep-alive"
    return keeps
