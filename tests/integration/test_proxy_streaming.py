"""Bodies through the proxy: as they come, in both directions, with bounded memory."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import proxy_lab
import psutil
import pytest
from aiohttp import web

MIB = 1 << 20
PART = bytes(range(256)) * 256  # 64 KiB
LARGE = 100 * MIB
MOST = 32 * MIB
"""By how much this process, with client, proxy and server in it, may grow while 100 MiB pass."""


class Upstream:
    """A server by hand that remembers what became of its requests."""

    def __init__(self) -> None:
        self.gone = threading.Event()
        self.sent = 0
        self.go_on = threading.Event()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        name = request.raw_path.partition("?")[0].rpartition("/")[2]
        answer: web.StreamResponse = await getattr(self, name)(request)
        return answer

    async def log(self, request: web.BaseRequest) -> web.StreamResponse:
        """100 MiB in chunks."""
        return await self._stream(request, LARGE // len(PART))

    async def endless(self, request: web.BaseRequest) -> web.StreamResponse:
        """Chunks for as long as the client is there."""
        try:
            return await self._stream(request, 1 << 60)
        finally:
            self.gone.set()

    async def _stream(self, request: web.BaseRequest, parts: int) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        for _ in range(parts):
            await answer.write(PART)
            self.sent += len(PART)
        return answer

    async def upload(self, request: web.BaseRequest) -> web.StreamResponse:
        """Says what came."""
        digest, size = hashlib.sha256(), 0
        async for part in request.content.iter_any():
            digest.update(part)
            size += len(part)
        told = {
            "size": size,
            "sha": digest.hexdigest(),
            "length": request.headers.get("Content-Length"),
            "encoding": request.headers.get("Transfer-Encoding"),
            "type": request.headers.get("Content-Type"),
            "expect": request.headers.get("Expect"),
        }
        return web.json_response(told)

    async def slow(self, request: web.BaseRequest) -> web.StreamResponse:
        """Reads nothing before it is told to."""
        await asyncio.to_thread(self.go_on.wait, 60)
        return await self.upload(request)

    async def waiting(self, request: web.BaseRequest) -> web.StreamResponse:
        """Does not answer; notices when the client goes."""
        self.sent = 1
        try:
            await asyncio.sleep(600)
        finally:
            self.gone.set()
        raise AssertionError

    async def events(self, request: web.BaseRequest) -> web.StreamResponse:
        """A watch whose events come when the test says so."""
        answer = web.StreamResponse()
        await answer.prepare(request)
        for number in range(3):
            await asyncio.to_thread(self.go_on.wait, 60)
            self.go_on.clear()
            await answer.write(json.dumps({"n": number}).encode() + b"\n")
        return answer

    async def head(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(headers={"Content-Length": "12345", "X-Seen": "yes"})

    async def several(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = web.Response(body=b"\x1f\x8bnot really", headers={"Content-Encoding": "gzip"})
        answer.headers.add("Warning", '299 - "a"')
        answer.headers.add("Warning", '299 - "b"')
        return answer

    async def nothing(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=204)


@pytest.fixture
def upstream() -> Upstream:
    """The server of one test."""
    return Upstream()


@pytest.fixture
def proxied(upstream: Upstream, tmp_path: Path) -> Iterator[proxy_lab.Proxied]:
    """A proxy before it."""
    with proxy_lab.Lab() as lab:
        config = proxy_lab.kubeconfig(tmp_path / "config", lab.http(upstream.handle))
        with proxy_lab.proxied(config) as running:
            yield running


@contextlib.contextmanager
def growth() -> Iterator[Callable[[], int]]:
    """How many bytes this process has grown at most since the block began."""
    process, most, done = psutil.Process(), 0, threading.Event()
    begin = process.memory_info().rss

    def look() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, process.memory_info().rss - begin)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield lambda: most
    finally:
        done.set()
        looking.join()


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that must come true."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_large_log_in_bounded_memory(proxied: proxy_lab.Proxied) -> None:
    """100 MiB arrive complete, and the process does not grow by what passes through it."""
    with contextlib.closing(proxied.connect()) as line, growth() as grown:
        line.request("GET", "/log", headers=proxied.headers)
        answer = line.getresponse()
        size, digest = 0, hashlib.sha256()
        while part := answer.read(len(PART)):
            size += len(part)
            digest.update(part)
        assert size == LARGE
        assert grown() < MOST
    expected = hashlib.sha256()
    for _ in range(LARGE // len(PART)):
        expected.update(PART)
    assert digest.digest() == expected.digest()


@pytest.mark.parametrize("counted", [True, False])
def test_a_large_upload_in_bounded_memory(proxied: proxy_lab.Proxied, counted: bool) -> None:
    """With a length it keeps it, in chunks it stays in chunks."""
    parts = LARGE // len(PART)
    length = {"Content-Length": str(LARGE)} if counted else {}
    with contextlib.closing(proxied.connect()) as line, growth() as grown:
        body = (PART for _ in range(parts))
        headers = {**proxied.headers, **length}
        line.request("POST", "/upload", body, headers, encode_chunked=not counted)
        told = json.loads(line.getresponse().read())
        assert grown() < MOST
    assert told["size"] == LARGE
    assert told["length"] == (str(LARGE) if counted else None)
    assert told["encoding"] == (None if counted else "chunked")


def test_a_client_that_reads_slowly_slows_the_server(
    upstream: Upstream, proxied: proxy_lab.Proxied
) -> None:
    """Nothing is hoarded between the two: the server cannot get far ahead."""
    with contextlib.closing(proxied.connect()) as line:
        line.request("GET", "/endless", headers=proxied.headers)
        line.getresponse().read(1)
        until(lambda: stands_still(lambda: upstream.sent))
        assert upstream.sent < 48 * MIB  # what sockets hold by themselves


def test_a_server_that_reads_slowly_slows_the_client(
    upstream: Upstream, proxied: proxy_lab.Proxied
) -> None:
    """The other way round; once it reads, all of it arrives."""
    sent = 0

    def parts() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(LARGE // len(PART)):
            yield PART
            sent += len(PART)

    with contextlib.closing(proxied.connect()) as line:
        headers = {**proxied.headers, "Content-Length": str(LARGE)}
        writing = threading.Thread(target=lambda: line.request("POST", "/slow", parts(), headers))
        writing.start()
        until(lambda: sent > 0 and stands_still(lambda: sent))
        assert sent < 48 * MIB
        upstream.go_on.set()
        writing.join()
        assert json.loads(line.getresponse().read())["size"] == LARGE


def stands_still(value: Callable[[], int]) -> bool:
    """Whether a number does not change for a while."""
    before = value()
    time.sleep(0.3)
    return value() == before


@pytest.mark.parametrize("path", ["/endless", "/waiting"])
def test_a_client_that_goes_ends_the_request_to_the_server(
    upstream: Upstream, proxied: proxy_lab.Proxied, path: str
) -> None:
    """At once, whether the answer has begun or not."""
    with contextlib.closing(proxied.connect()) as line:
        line.request("GET", path, headers=proxied.headers)
        until(lambda: upstream.sent > 0)
    assert upstream.gone.wait(30)


def test_events_arrive_one_by_one(upstream: Upstream, proxied: proxy_lab.Proxied) -> None:
    """The head before the first event, each event as soon as the server sends it."""
    with contextlib.closing(proxied.connect()) as line:
        line.request("GET", "/events?watch=1", headers=proxied.headers)
        answer = line.getresponse()
        for number in range(3):
            upstream.go_on.set()
            assert json.loads(answer.readline()) == {"n": number}
        assert answer.read() == b""
        line.request("GET", "/nothing", headers=proxied.headers)
        assert line.getresponse().status == 204


def test_head_answers_have_the_length_and_no_body(proxied: proxy_lab.Proxied) -> None:
    """And the connection goes on."""
    with contextlib.closing(proxied.connect()) as line:
        for _ in range(2):
            line.request("HEAD", "/head", headers=proxied.headers)
            answer = line.getresponse()
            assert (answer.status, answer.headers["Content-Length"]) == (200, "12345")
            assert answer.read() == b""


def test_answers_are_not_touched(proxied: proxy_lab.Proxied) -> None:
    """Encoded bodies stay encoded, headers that come twice come twice, none is added."""
    status, headers, body = proxied.ask("GET", "/several", **{"Accept-Encoding": "gzip"})
    assert (status, body) == (200, b"\x1f\x8bnot really")
    assert headers.get_all("Warning") == ['299 - "a"', '299 - "b"']
    assert headers["Content-Length"] == str(len(body))


@pytest.mark.case("K5")
@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/apply-patch+yaml",
        "application/strategic-merge-patch+json",
    ],
)
def test_bodies_of_any_type_pass_byte_for_byte(proxied: proxy_lab.Proxied, kind: str) -> None:
    """The incumbent answers 400 to what is not JSON."""
    content = b"k8s\x00\x0a\xff - not: [valid"
    _, _, body = proxied.ask("POST", "/upload", content, **{"Content-Type": kind})
    told = json.loads(body)
    assert told["sha"] == hashlib.sha256(content).hexdigest()
    assert (told["type"], told["length"]) == (kind, str(len(content)))


def test_a_body_that_waits_to_be_asked_for(proxied: proxy_lab.Proxied) -> None:
    """100-continue is answered here, and only when somebody will read the body."""
    head = "POST {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n"
    head += "Connection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    with contextlib.closing(socket.create_connection(("127.0.0.1", proxied.port))) as line:
        line.sendall(head.format("/upload", proxied.token).encode())
        assert line.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.sendall(b"abc")
        said = b"".join(iter(lambda: line.recv(65536), b""))
        assert said.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b'"size": 3' in said
        assert b'"expect": null' in said
    with contextlib.closing(socket.create_connection(("127.0.0.1", proxied.port))) as line:
        line.sendall(head.format("/upload", "wrong").encode())
        assert line.recv(65536).startswith(b"HTTP/1.1 401 Unauthorized\r\n")


def test_old_clients(proxied: proxy_lab.Proxied) -> None:
    """HTTP/1.0 gets an answer without chunks, that ends with the connection."""
    with contextlib.closing(socket.create_connection(("127.0.0.1", proxied.port))) as line:
        request = f"GET /several HTTP/1.0\r\nAuthorization: Bearer {proxied.token}\r\n\r\n"
        line.sendall(request.encode())
        said = b"".join(iter(lambda: line.recv(65536), b""))
    assert said.endswith(b"\r\n\r\n\x1f\x8bnot really")


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 100\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"],
)
def test_an_answer_that_breaks_off_breaks_off(tmp_path: Path, head: bytes) -> None:
    """A client must not take half an answer for a whole one."""

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" + head)
        await writer.drain()

    with proxy_lab.Lab() as lab:
        config = proxy_lab.kubeconfig(tmp_path / "config", lab.raw(cut))
        with proxy_lab.proxied(config) as running, contextlib.closing(running.connect()) as line:
            line.request("GET", "/api/v1/pods", headers=running.headers)
            answer = line.getresponse()
            assert answer.status == 200
            with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
                answer.read()
