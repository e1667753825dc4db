"""Bodies of requests and answers: streamed, and read whole only where somebody needs that."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from ansible_operator.kube.proxy import answers

REWRITTEN = 3 << 20
"""Bytes of a body that can be rewritten: the API server takes no larger ones."""
INSPECTED = 4 << 20
"""Bytes of an answer that can be inspected; larger ones stream on unseen."""
REPEATABLE = 256 << 10
"""Bytes of a body that is kept until the answer begins, as the request may have to be repeated."""
_PART = 64 << 10


def exists(request: web.BaseRequest) -> bool:
    """Whether a request has a body."""
    return request.can_read_body


def is_small(request: web.BaseRequest) -> bool:
    """Whether a request says that its body is small enough to be kept."""
    return request.content_length is not None and request.content_length <= REPEATABLE


async def welcome(request: web.BaseRequest) -> None:
    """Tell a client that waits for it to send its body (``Expect: 100-continue``)."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def whole(request: web.BaseRequest, limit: int) -> bytes:
    """A whole body; raises Refusal as the API server would if it is too large."""
    if (request.content_length or 0) > limit:
        raise _too_large(limit)
    await welcome(request)
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    return b"".join(parts)


async def parts(request: web.BaseRequest) -> AsyncIterator[bytes]:
    """A body as it comes."""
    await welcome(request)
    async for part in request.content.iter_any():
        yield part


async def split(body: bytes) -> AsyncIterator[bytes]:
    """A body that is here, in parts."""
    for begin in range(0, len(body), _PART):
        yield body[begin : begin + _PART]


async def start(answer: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    """The first bytes of an answer, and whether they are all: the rest is left in it."""
    if (answer.content_length or 0) > limit:
        return b"", False
    parts: list[bytes] = []
    size = 0
    async for part in answer.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > limit:
            return b"".join(parts), False
    return b"".join(parts), True


def _too_large(limit: int) -> answers.Refusal:
    return answers.Refusal(413, f"Request entity too large: limit is {limit}")
