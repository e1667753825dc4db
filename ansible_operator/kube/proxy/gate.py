"""Who may ask: every request passes here, and every answer."""

from __future__ import annotations

import time

import structlog
from aiohttp import web

from ansible_operator.kube.proxy import (
    answers,
    connections,
    forwarding,
    headers,
    requests,
    tokens,
    usage,
)

log = structlog.get_logger("proxy")


class Gate:
    """Lets in requests with the token of a live run, and others only if it is told to."""

    def __init__(
        self,
        forwarder: forwarding.Forwarder,
        known: tokens.Tokens,
        counts: usage.Usage,
        *,
        allow_anonymous: bool,
    ) -> None:
        self._forwarder = forwarder
        self._tokens = known
        self._usage = counts
        self._anonymous = allow_anonymous

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        begun = time.monotonic()
        try:
            answer = await self._answered(request)
        except answers.Refusal as refused:
            answer = answers.response(refused.status, refused.message)
        log.debug(
            "served",
            method=request.method,
            target=request.raw_path,
            status=answer.status,
            seconds=round(time.monotonic() - begun, 3),
        )
        return answer

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        _check(request)
        session = self._session(request)
        asked = requests.parse(request.method, request.raw_path)
        if session is None:
            return await self._forwarder.forward(request, asked, None)
        self._usage.note(asked)
        _hold(session, request)
        return await self._forwarder.forward(request, asked, session.owner)

    def _session(self, request: web.BaseRequest) -> tokens.Session | None:
        """Whose request it is, None if nobody's and that is allowed."""
        value = request.headers.get("Authorization", "")
        token = headers.bearer(value)
        if token is None:
            if self._anonymous:
                return None
            raise answers.Refusal(401, "Unauthorized: the request has no token of a run")
        session = self._tokens.find(token)
        if session is None:
            raise answers.Refusal(401, "Unauthorized: the token is of no run, or its run is over")
        return session


def _hold(session: tokens.Session, request: web.BaseRequest) -> None:
    """Let the connection end with the session; a session that is just ending lets nobody in."""
    if session.ended:
        raise answers.Refusal(401, "Unauthorized: the run is over")
    if isinstance(request.protocol, connections.Connection):
        session.hold(request.protocol)


def _check(request: web.BaseRequest) -> None:
    """Refuse what no honest client of this machine sends."""
    target: str = request.raw_path
    if not target.startswith("/") or request.method == "CONNECT":
        raise answers.Refusal(400, f"this is no proxy for other servers: {request.method} {target}")
    if not target.isascii():
        raise answers.Refusal(400, "the path holds a character that must be percent-encoded")
    if not headers.is_loopback(request.headers.get("Host", "localhost")):
        raise answers.Refusal(403, "the Host header does not name this machine")
    if len(target) + headers.size(request.raw_headers) > headers.LIMIT:
        raise answers.Refusal(431, f"the headers are larger than {headers.LIMIT} bytes")
