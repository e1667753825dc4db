"""How the proxy reaches the API server: credentials, addresses, and a server that is not there."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import proxy_lab
import pytest
from aiohttp import web
from structlog import testing as logs

from ansible_operator.kube.proxy import certificate


class Server:
    """Knows one token at a time; remembers the tokens and bodies that came."""

    def __init__(self) -> None:
        self.token = proxy_lab.UPSTREAM
        self.seen: list[tuple[str, str, int]] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        size = len(await request.read())
        token = request.headers.get("Authorization", "").partition(" ")[2]
        self.seen.append((token, request.raw_path, size))
        if token != self.token:
            content = {"kind": "Status", "code": 401, "message": "from the server"}
            return web.json_response(content, status=401)
        return web.json_response({})


@pytest.fixture
def lab() -> Iterator[proxy_lab.Lab]:
    """Where servers run."""
    with proxy_lab.Lab() as running:
        yield running


@pytest.mark.parametrize("body", [None, b"x" * 1000])
def test_a_rotated_token_is_read_again(
    lab: proxy_lab.Lab, tmp_path: Path, body: bytes | None
) -> None:
    """The run does not notice: the request is repeated, with its body, and once only."""
    server = Server()
    config = proxy_lab.kubeconfig(tmp_path / "config", lab.http(server.handle))
    with proxy_lab.proxied(config) as running:
        assert running.ask("GET", "/api")[0] == 200
        server.token = "rotated"
        proxy_lab.kubeconfig(config, running_url(config), token="rotated")
        server.seen.clear()
        assert running.ask("POST", "/a", body)[0] == 200
        size = len(body or b"")
        assert server.seen == [(proxy_lab.UPSTREAM, "/a", size), ("rotated", "/a", size)]
        assert running.ask("GET", "/b")[0] == 200
        assert server.seen[2:] == [("rotated", "/b", 0)]


def running_url(config: Path) -> str:
    """The server in a kubeconfig."""
    return str(json.loads(config.read_text())["clusters"][0]["cluster"]["server"])


def test_credentials_that_stay_wrong(lab: proxy_lab.Lab, tmp_path: Path) -> None:
    """The server's own 401 goes through, and the credentials are not read for each request."""
    server = Server()
    server.token = "other"
    config = proxy_lab.kubeconfig(tmp_path / "config", lab.http(server.handle))
    with proxy_lab.proxied(config) as running:
        for _ in range(3):
            status, _, body = running.ask("GET", "/api")
            assert (status, json.loads(body)["message"]) == (401, "from the server")
        assert len(server.seen) == 3
        config.write_text("{")
        assert running.ask("GET", "/api")[0] == 401


def test_a_body_that_is_gone_cannot_be_repeated(lab: proxy_lab.Lab, tmp_path: Path) -> None:
    """A large upload is not kept for a second try; the next request has the new token."""
    server = Server()
    config = proxy_lab.kubeconfig(tmp_path / "config", lab.http(server.handle))
    with proxy_lab.proxied(config) as running:
        running.ask("GET", "/api")
        server.token = "rotated"
        proxy_lab.kubeconfig(config, running_url(config), token="rotated")
        assert running.ask("POST", "/a", b"x" * 500_000)[0] == 401
        assert running.ask("GET", "/b")[0] == 200


def test_a_server_below_a_path(lab: proxy_lab.Lab, tmp_path: Path) -> None:
    """The path of the server's URL stays in front, and nobody gets out of it."""
    server = Server()
    url = lab.http(server.handle) + "/clusters/one/"
    with proxy_lab.proxied(proxy_lab.kubeconfig(tmp_path / "config", url)) as running:
        assert running.ask("GET", "/api/v1/pods?x=%2F")[0] == 200
        for target in ("/../two/api", "/api/%2e%2E/../two", "/api/.."):
            assert running.ask("GET", target)[0] == 400
    assert [path for _, path, _ in server.seen] == ["/clusters/one/api/v1/pods?x=%2F"]


def test_a_private_authority_a_name_and_an_http_proxy(lab: proxy_lab.Lab, tmp_path: Path) -> None:
    """TLS to a server under another name, through the tunnel of a proxy-url."""
    issued = certificate.issue(datetime.datetime.now(datetime.UTC))
    context = certificate.context(issued)
    asked: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await writer.drain()
        await writer.start_tls(context)
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.split(b"\r\n")[0])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        await reader.read()

    cluster = {
        "certificate-authority-data": base64.b64encode(issued.authority.encode()).decode(),
        "proxy-url": lab.raw(tunnel),
        "tls-server-name": "localhost",
    }
    config = proxy_lab.kubeconfig(tmp_path / "config", "https://cluster.invalid:6443", **cluster)
    with proxy_lab.proxied(config) as running:
        assert running.ask("GET", "/api/v1/pods")[::2] == (200, b"{}")
    assert asked == [b"CONNECT cluster.invalid:6443 HTTP/1.1", b"GET /api/v1/pods HTTP/1.1"]


def test_a_server_that_is_not_trusted(lab: proxy_lab.Lab, tmp_path: Path) -> None:
    """Its certificate must be of the kubeconfig's authority: no request is sent otherwise."""
    issued = certificate.issue(datetime.datetime.now(datetime.UTC))
    server = Server()
    url = lab.http(server.handle, certificate.context(issued))
    with proxy_lab.proxied(proxy_lab.kubeconfig(tmp_path / "config", url)) as running:
        status, _, body = running.ask("GET", "/api")
    assert status == 503
    assert "certificate verify failed" in json.loads(body)["message"]
    assert server.seen == []


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    """503 as a Status that says who does not answer; one warning, however often it is asked."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    config = proxy_lab.kubeconfig(tmp_path / "config", f"http://127.0.0.1:{port}")
    with proxy_lab.proxied(config) as running, logs.capture_logs() as said:
        for _ in range(3):
            status, _, body = running.ask("GET", "/api")
            content = json.loads(body)
            assert (status, content["reason"]) == (503, "ServiceUnavailable")
            assert f"no answer from http://127.0.0.1:{port}" in content["message"]
    assert len([line for line in said if line["log_level"] == "warning"]) == 1


@pytest.mark.parametrize(
    ("said", "status"),
    [(b"nonsense\r\n\r\n", 502), (b"", 503), (b"HTTP/1.1 200 OK\r\nContent-Len", 503)],
)
def test_a_server_that_talks_nonsense(
    lab: proxy_lab.Lab, tmp_path: Path, said: bytes, status: int
) -> None:
    """An error in words, not a broken connection, as long as no answer has begun."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()

    config = proxy_lab.kubeconfig(tmp_path / "config", lab.raw(serve))
    with proxy_lab.proxied(config) as running:
        code, _, body = running.ask("POST", "/api")
        assert code == status
        assert json.loads(body)["kind"] == "Status"


def test_connections_to_the_server_are_used_again(lab: proxy_lab.Lab, tmp_path: Path) -> None:
    """Whatever client asks: one connection after another is not one connection each."""
    ports = set()

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        ports.add(request.transport.get_extra_info("peername")[1])
        return web.json_response({})

    config = proxy_lab.kubeconfig(tmp_path / "config", lab.http(serve))
    with proxy_lab.proxied(config) as running:
        for _ in range(10):
            running.ask("GET", "/api")
    assert len(ports) == 1
