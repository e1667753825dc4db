"""A client's connection: aiohttp's, with limits and errors as the API server has them."""

from __future__ import annotations

import asyncio

import structlog
from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from ansible_operator.kube.proxy import answers, headers

KEPT = 90.0
"""Seconds that an idle connection is kept, as the API server does."""
AHEAD = 1 << 20
"""Bytes that an answer may be ahead of its client. With asyncio's 64 KiB client, proxy and server
would take turns in small steps, which a busy machine makes long."""
_SLACK = 64 << 10

OPTIONS = {
    "keepalive_timeout": KEPT,
    "max_line_size": headers.LIMIT,
    "max_field_size": headers.LIMIT,
    "max_headers": headers.COUNT,
    "auto_decompress": False,
    "access_log": None,
}

log = structlog.get_logger("proxy")


class Connection(web.RequestHandler):
    """One client. It can be cut by whoever ends its rights."""

    def __init__(self, server: web.Server) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **OPTIONS)  # type: ignore[arg-type]
        self._head = 0

    def cut(self) -> None:
        """Close it without waiting for what is not yet sent."""
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; called by the loop."""
        super().connection_made(transport)
        if isinstance(transport, asyncio.WriteTransport):
            transport.set_write_buffer_limits(high=AHEAD)

    def data_received(self, data: bytes) -> None:
        """Take what was read, but no more than the limit before a head is complete."""
        if not data or self._request_in_progress or self._messages:
            self._head = 0
        else:
            self._head += len(data)
        if self._head > headers.LIMIT + _SLACK:
            self._refuse()
            return
        before = self._request_count
        super().data_received(data)
        if self._request_count != before:
            self._head = 0

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """A Status for what could not be read or answered; ends the connection."""
        if status >= 500:
            log.error("bug: a request could not be answered", exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun and cannot become another")
        code = 431 if isinstance(exc, LineTooLong) else status
        refusal = answers.response(code, message or "the request could not be answered")
        refusal.force_close()
        return refusal

    def _refuse(self) -> None:
        body = answers.status(431, f"the headers are larger than {headers.LIMIT} bytes")
        head = (
            "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        if self.transport is not None:
            self.transport.write(head.encode() + body)
        self.force_close()
