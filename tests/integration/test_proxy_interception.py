"""What an interceptor gets to see and to change."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import proxy_lab
import pytest
from aiohttp import web
from structlog import testing as logs

from ansible_operator.kube.proxy import bodyreading, interceptor

PODS = "/api/v1/namespaces/n/pods"


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    """The body as it came; ``/large`` answers with more than is buffered."""
    body = b"".join([part async for part in request.content.iter_any()])
    if "large" in request.raw_path:
        body = b"x" * (bodyreading.INSPECTED + 1)
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(body)
        return answer
    headers = {
        "X-Encoding": request.headers.get("Accept-Encoding", "none"),
        "X-Length": request.headers.get("Content-Length", "none"),
        "X-Gone": "1",
    }
    if "gzip" in request.raw_path:
        headers["Content-Encoding"] = "gzip"
    return web.Response(body=body, status=201, headers=headers)


@pytest.fixture
def look() -> proxy_lab.Passing:
    """The interceptor of one test."""
    return proxy_lab.Passing()


@pytest.fixture
def proxied(look: proxy_lab.Passing, tmp_path: Path) -> Iterator[proxy_lab.Proxied]:
    """A proxy before an echo."""
    with proxy_lab.Lab() as lab:
        config = proxy_lab.kubeconfig(tmp_path / "config", lab.http(echo))
        with proxy_lab.proxied(config, look) as running:
            yield running


async def doubled(body: bytes) -> bytes:
    """A rewrite that makes a body longer."""
    return body * 2


def test_requests_are_shown_as_the_server_understands_them(
    look: proxy_lab.Passing, proxied: proxy_lab.Proxied
) -> None:
    """With the names of headers in lower case."""
    proxied.ask("POST", f"{PODS}?dryRun=All", b"{}", **{"Content-Type": "application/json"})
    [(request, headers)] = look.seen
    assert (request.verb, request.resource, request.namespace) == ("create", "pods", "n")
    assert request.query == {"dryRun": "All"}
    assert headers["content-type"] == "application/json"


def test_a_rewritten_body(look: proxy_lab.Passing, proxied: proxy_lab.Proxied) -> None:
    """The server gets it with its own length, also where it came in chunks, and a large one."""
    look.answer = interceptor.Plan(rewrite=doubled)
    status, headers, body = proxied.ask("POST", PODS, b"abc")
    assert (status, body, headers["X-Length"]) == (201, b"abcabc", "6")
    with contextlib.closing(proxied.connect()) as line:
        line.request("POST", PODS, iter([b"a", b"b"]), proxied.headers, encode_chunked=True)
        assert line.getresponse().read() == b"abab"
    large = b"x" * bodyreading.REWRITTEN
    assert proxied.ask("PUT", f"{PODS}/p", large)[1]["X-Length"] == str(2 * len(large))
    assert proxied.ask("POST", PODS)[2] == b""


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_too_large_to_be_rewritten(
    look: proxy_lab.Passing, proxied: proxy_lab.Proxied, chunked: bool
) -> None:
    """The API server takes no larger ones either, and says so the same way."""
    look.answer = interceptor.Plan(rewrite=doubled)
    large = b"x" * (bodyreading.REWRITTEN + 1)
    with contextlib.closing(proxied.connect()) as line:
        body = iter([large]) if chunked else large
        line.request("POST", PODS, body, proxied.headers, encode_chunked=chunked)
        answer = line.getresponse()
        content = json.loads(answer.read())
    assert (answer.status, content["reason"]) == (413, "RequestEntityTooLarge")
    assert content["message"] == "Request entity too large: limit is 3145728"


def test_an_inspected_answer(look: proxy_lab.Passing, proxied: proxy_lab.Proxied) -> None:
    """Seen whole and without encoding before the run gets any of it; what it becomes is sent."""
    shown: list[interceptor.Answer] = []

    async def inspect(answer: interceptor.Answer) -> interceptor.Answer:
        shown.append(answer)
        headers = {key: value for key, value in answer.headers.items() if key != "x-gone"}
        return interceptor.Answer(202, {**headers, "x-new": "1"}, b"other")

    look.answer = interceptor.Plan(inspect=inspect)
    status, headers, body = proxied.ask("POST", PODS, b"abc", **{"Accept-Encoding": "gzip"})
    assert (status, body) == (202, b"other")
    assert (headers["x-new"], headers["X-Gone"], headers["Content-Length"]) == ("1", None, "5")
    assert (shown[0].status, shown[0].body) == (201, b"abc")
    assert shown[0].headers["x-encoding"] == "none"


def test_answers_that_are_not_shown(look: proxy_lab.Passing, proxied: proxy_lab.Proxied) -> None:
    """Those that are encoded all the same, and those that are too large: they stream on."""

    async def inspect(answer: interceptor.Answer) -> interceptor.Answer:
        raise AssertionError("shown")

    look.answer = interceptor.Plan(inspect=inspect)
    assert proxied.ask("POST", f"{PODS}?gzip", b"abc")[::2] == (201, b"abc")
    assert len(proxied.ask("GET", f"{PODS}?large")[2]) == bodyreading.INSPECTED + 1


def test_a_write_is_inspected_even_if_the_run_goes(
    look: proxy_lab.Passing, proxied: proxy_lab.Proxied
) -> None:
    """What was created must be known, although nobody waits for the answer any more."""
    begun, done = threading.Event(), threading.Event()

    async def inspect(answer: interceptor.Answer) -> interceptor.Answer:
        begun.set()
        await asyncio.sleep(0.2)
        done.set()
        return answer

    look.answer = interceptor.Plan(inspect=inspect)
    with contextlib.closing(proxied.connect()) as line:
        line.request("POST", PODS, b"{}", proxied.headers)
        assert begun.wait(30)
    assert done.wait(30)


def test_an_interceptor_with_a_bug(proxied: proxy_lab.Proxied, look: proxy_lab.Passing) -> None:
    """The request goes on as it is, and the log says that there is a bug."""

    async def broken(*_: object) -> interceptor.Plan:
        raise RuntimeError("oops")

    look.plan = broken  # type: ignore[method-assign, assignment]
    with logs.capture_logs() as said:
        assert proxied.ask("POST", PODS, b"abc")[::2] == (201, b"abc")
    assert [line["event"] for line in said if line["log_level"] == "error"] == [
        "bug: a request could not be looked at, and goes on as it is"
    ]


def test_what_runs_asked_is_counted(proxied: proxy_lab.Proxied) -> None:
    """From it the least rights can be written."""
    proxied.ask("POST", PODS, b"{}")
    proxied.ask("GET", f"{PODS}?watch=0")
    proxied.ask("GET", "/apis")
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "list"]}]
    assert proxied.proxy.usage.rules() == rules
