"""The proxy's own answers: Status objects, as the API server's errors are."""

from __future__ import annotations

import json

from aiohttp import web

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    413: "RequestEntityTooLarge",
    431: "RequestHeaderFieldsTooLarge",
    500: "InternalError",
    502: "ServiceUnavailable",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Refusal(Exception):
    """The proxy answers itself, with this HTTP status and these words."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(message)


def status(code: int, message: str) -> bytes:
    """A Status object in JSON."""
    content = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": _REASONS.get(code, ""),
        "code": code,
    }
    return json.dumps(content).encode() + b"\n"


def response(code: int, message: str) -> web.Response:
    """An answer that is a Status object."""
    headers = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
    return web.Response(status=code, body=status(code, message), headers=headers)


class Sent(web.StreamResponse):
    """Stands for an answer that is already on the wire, for a server that wants one to write."""

    def __init__(self, code: int, *, keep_alive: bool) -> None:
        super().__init__(status=code)
        self._keeps = keep_alive

    @property
    def keep_alive(self) -> bool | None:
        """Whether the connection may serve another request."""
        return self._keeps

    async def prepare(self, request: web.BaseRequest) -> None:
        """Nothing is left to write."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to write."""
