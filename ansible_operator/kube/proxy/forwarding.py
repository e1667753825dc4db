"""One request, from a client to the API server and its answer back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import structlog
from aiohttp import web
from multidict import CIMultiDict

from ansible_operator import children
from ansible_operator.kube.proxy import (
    answers,
    bodyreading,
    headers,
    interceptor,
    relaying,
    tunnels,
    upstream,
)

_READING = ("GET", "HEAD", "OPTIONS")
_LARGE = 1 << 20  # beyond this aiohttp wants a body in parts

log = structlog.get_logger("proxy")


class Forwarder:
    """Passes requests on; ``look`` says what is to be done about those with an owner."""

    def __init__(self, upstreams: upstream.Upstreams, look: interceptor.Interceptor) -> None:
        self._upstreams = upstreams
        self._look = look
        self._lasting: set[asyncio.Task[relaying.Reply]] = set()
        self._silent = False

    async def forward(
        self,
        request: web.BaseRequest,
        asked: interceptor.Request,
        owner: children.Owner | None,
    ) -> web.StreamResponse:
        """Give the client what the server says; raises Refusal if it says nothing.

        Without an owner nothing is intercepted.
        """
        protocol = headers.upgrade(request.headers)
        plan = interceptor.PASS if protocol else await self._plan(request, asked, owner)
        sent = headers.forwarded(request.headers)
        if protocol:
            sent["Connection"], sent["Upgrade"] = "Upgrade", protocol
        if plan.inspect is not None:
            sent.popall("Accept-Encoding", None)
        body = await _body(request, plan, sent)
        work = self._replied(request, asked, plan, sent, body)
        if plan.inspect is not None and request.method not in _READING:
            reply = await self._to_the_end(work)
        else:
            reply = await work
        try:
            if reply.response.status == 101:
                await tunnels.join(request, reply.response)
                return answers.Sent(101, keep_alive=False)
            return await relaying.write(request, reply)
        finally:
            reply.close()

    async def close(self) -> None:
        """Give up what goes on without a client."""
        for task in self._lasting:
            task.cancel()
        await asyncio.gather(*self._lasting, return_exceptions=True)

    async def _plan(
        self, request: web.BaseRequest, asked: interceptor.Request, owner: children.Owner | None
    ) -> interceptor.Plan:
        if owner is None:
            return interceptor.PASS
        try:
            return await self._look.plan(owner, asked, headers.lowered(request.headers))
        except Exception:
            log.exception("bug: a request could not be looked at, and goes on as it is")
            return interceptor.PASS

    async def _to_the_end(self, work: Coroutine[Any, Any, relaying.Reply]) -> relaying.Reply:
        """What a run has written is looked at even if the run no longer waits for the answer."""
        task = asyncio.create_task(work)
        self._lasting.add(task)
        task.add_done_callback(self._lasting.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_abandon)
            raise

    async def _replied(
        self,
        request: web.BaseRequest,
        asked: interceptor.Request,
        plan: interceptor.Plan,
        sent: CIMultiDict[str],
        body: _Body,
    ) -> relaying.Reply:
        reply = await self._asked(request, asked, sent, body)
        if plan.inspect is None:
            return reply
        try:
            await relaying.show(reply, plan.inspect)
        except (aiohttp.ClientError, OSError) as problem:
            reply.close()
            raise _broken(reply.source.server, problem) from problem
        except BaseException:
            reply.close()
            raise
        return reply

    async def _asked(
        self,
        request: web.BaseRequest,
        asked: interceptor.Request,
        sent: CIMultiDict[str],
        body: _Body,
    ) -> relaying.Reply:
        """Ask, and once more with new credentials if the server no longer accepts ours."""
        current = await self._upstreams.current()
        reply = await self._once(current, request, asked, sent, body)
        if reply.response.status != 401 or not body.repeatable:
            return reply
        fresh = await self._upstreams.renewed(current)
        if fresh is None:
            return reply
        reply.close()
        return await self._once(fresh, request, asked, sent, body)

    async def _once(
        self,
        source: upstream.Upstream,
        request: web.BaseRequest,
        asked: interceptor.Request,
        sent: CIMultiDict[str],
        body: _Body,
    ) -> relaying.Reply:
        try:
            response = await source.ask(asked.method, asked.target, sent, body.made())
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            if request.transport is None:
                raise ConnectionResetError("the client has gone") from problem
            if isinstance(problem.__cause__, web.RequestPayloadError):
                raise answers.Refusal(400, f"the body cannot be read: {problem.__cause__}") from (
                    problem
                )
            refusal = _broken(source.server, problem)
            self._note(silent=True, why=refusal.message)
            raise refusal from problem
        self._note(silent=False)
        return relaying.Reply(response, source)

    def _note(self, *, silent: bool, why: str = "") -> None:
        """One line when the server stops answering, one when it answers again."""
        if silent and not self._silent:
            log.warning("the API server does not answer what runs ask", error=why)
        if self._silent and not silent:
            log.info("the API server answers again")
        self._silent = silent


class _Body:
    """The body of a request, as the client of the upstream takes it."""

    def __init__(self, made: Callable[[], upstream.Body], *, repeatable: bool) -> None:
        self.made = made
        self.repeatable = repeatable


async def _body(request: web.BaseRequest, plan: interceptor.Plan, sent: CIMultiDict[str]) -> _Body:
    if not bodyreading.exists(request):
        return _Body(lambda: None, repeatable=True)
    plain = request.headers.get("Content-Encoding", "identity") == "identity"
    if plan.rewrite is not None and plain:
        content = await plan.rewrite(await bodyreading.whole(request, bodyreading.REWRITTEN))
    elif bodyreading.is_small(request):
        content = await bodyreading.whole(request, bodyreading.REPEATABLE)
    else:
        if request.content_length is not None:
            sent["Content-Length"] = str(request.content_length)
        return _Body(lambda: bodyreading.parts(request), repeatable=False)
    sent["Content-Length"] = str(len(content))
    large = len(content) >= _LARGE
    return _Body(lambda: bodyreading.split(content) if large else content, repeatable=True)


def _broken(server: str, problem: Exception) -> answers.Refusal:
    """The words for a server that gave no whole answer."""
    match problem:
        case TimeoutError():
            told = f"no connection within {upstream.CONNECT_LIMIT:.0f} s"
            return answers.Refusal(504, f"no answer from {server}: {told}")
        case aiohttp.ClientConnectionError():
            return answers.Refusal(503, f"no answer from {server}: {problem or repr(problem)}")
        case aiohttp.ClientResponseError() | ValueError():
            return answers.Refusal(502, f"no usable answer from {server}: {problem}")
        case _:
            return answers.Refusal(503, f"no answer from {server}: {problem or repr(problem)}")


def _abandon(task: asyncio.Task[relaying.Reply]) -> None:
    if not task.cancelled() and task.exception() is None:
        task.result().close()
