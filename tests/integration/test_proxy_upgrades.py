"""Connections that change their protocol, through the proxy."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import proxy_lab
import pytest

LARGE = 24 << 20


class Server:
    """Answers 101 to whoever asks for it and then sends everything back."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.gone = threading.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        if "/refused" in head:
            writer.write(refusal())
        elif "upgrade:" not in head.lower():
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
        else:
            await self._switched(head, reader, writer)
        await writer.drain()

    async def _switched(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        [protocol] = [line for line in head.split("\r\n") if line.lower().startswith("upgrade:")]
        begin = f"HTTP/1.1 101 Switching Protocols\r\n{protocol}\r\nConnection: Upgrade\r\n"
        # The first bytes of the new protocol come together with the head.
        writer.write(begin.encode() + b"X-Stream-Protocol-Version: v4\r\n\r\nwelcome\n")
        try:
            while data := await reader.read(65536):
                if data == b"bye":
                    writer.write(b"farewell")
                    break
                writer.write(data)
                await writer.drain()
        finally:
            self.gone.set()


def refusal() -> bytes:
    """What the API server says when there is nothing to connect to."""
    body = json.dumps({"kind": "Status", "code": 404, "message": 'pods "p" not found'}).encode()
    head = f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.fixture
def server() -> Server:
    """The server of one test."""
    return Server()


@pytest.fixture
def proxied(server: Server, tmp_path: Path) -> Iterator[proxy_lab.Proxied]:
    """A proxy before it."""
    with proxy_lab.Lab() as lab:
        config = proxy_lab.kubeconfig(tmp_path / "config", lab.raw(server.serve))
        with proxy_lab.proxied(config) as running:
            yield running


@contextlib.contextmanager
def opened(
    running: proxy_lab.Proxied, target: str, protocol: str, *, token: str = "", method: str = "POST"
) -> Iterator[socket.socket]:
    """A TLS connection on which an upgrade was asked for."""
    context = ssl.create_default_context(cadata=proxy_lab.authority(running.kubeconfig))
    with (
        socket.create_connection(("127.0.0.1", running.port), timeout=60) as bare,
        context.wrap_socket(bare, server_hostname="localhost") as line,
    ):
        head = f"{method} {target} HTTP/1.1\r\nHost: localhost:{running.port}\r\n"
        head += f"Authorization: Bearer {token or running.token}\r\n"
        head += f"Connection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n"
        line.sendall(head.encode())
        yield line


def read(line: socket.socket, end: bytes) -> bytes:
    """What comes until ``end``, or until the connection ends."""
    said = b""
    while not said.endswith(end) and (part := line.recv(65536)):
        said += part
    return said


EXEC = "/api/v1/namespaces/n/pods/p/exec?command=a%20b&stdin=true"


@pytest.mark.parametrize(
    ("protocol", "method"), [("SPDY/3.1", "POST"), ("websocket", "GET"), ("anything", "POST")]
)
def test_bytes_go_both_ways(
    server: Server, proxied: proxy_lab.Proxied, protocol: str, method: str
) -> None:
    """Whatever the protocol; what comes together with the server's 101 is not lost."""
    with opened(proxied, EXEC, protocol, method=method) as line:
        said = read(line, b"welcome\n")
        assert said.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
        assert f"\r\nUpgrade: {protocol}\r\n".encode() in said
        assert b"\r\nX-Stream-Protocol-Version: v4\r\n" in said
        for word in (b"\x00\x80one", b"two"):
            line.sendall(word)
            assert read(line, word) == word
        line.sendall(b"bye")
        assert read(line, b"never") == b"farewell"
    [head] = server.heads
    assert head.startswith(f"{method} {EXEC} HTTP/1.1\r\n")
    assert f"Authorization: Bearer {proxy_lab.UPSTREAM}\r\n" in head
    assert proxied.token not in head


def test_more_than_buffers_hold(proxied: proxy_lab.Proxied) -> None:
    """A client that writes without reading is held up, and gets all of it when it does read."""
    content = os.urandom(1 << 20) * (LARGE >> 20)
    with opened(proxied, EXEC, "SPDY/3.1") as line:
        read(line, b"welcome\n")
        writing = threading.Thread(target=line.sendall, args=(content,))
        writing.start()
        got = bytearray()
        while len(got) < len(content):
            got += line.recv(1 << 20)
        writing.join()
    assert got == content


def test_a_refusal_is_an_answer_like_any_other(proxied: proxy_lab.Proxied) -> None:
    """The server's own Status, when it does not change the protocol."""
    with opened(proxied, "/refused", "SPDY/3.1") as line:
        said = read(line, b"}")
    assert said.startswith(b"HTTP/1.1 404 Not Found\r\n")
    assert said.endswith(b'"pods \\"p\\" not found"}')


def test_the_end_of_a_client_reaches_the_server(server: Server, proxied: proxy_lab.Proxied) -> None:
    """A client that goes takes the connection to the server with it."""
    with opened(proxied, EXEC, "websocket", method="GET") as line:
        read(line, b"welcome\n")
    assert server.gone.wait(30)


def test_the_end_of_a_run_ends_its_sessions(server: Server, proxied: proxy_lab.Proxied) -> None:
    """An exec that outlives its run is cut on both sides; without a token there is none."""
    with contextlib.ExitStack() as stack:
        with proxied.proxy.access(proxy_lab.owner("two")) as text:
            token = proxy_lab.token_of(text)
            line = stack.enter_context(opened(proxied, EXEC, "SPDY/3.1", token=token))
            read(line, b"welcome\n")
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            assert read(line, b"never") == b""
        assert server.gone.wait(30)
    with opened(proxied, EXEC, "SPDY/3.1", token=token) as line:
        assert read(line, b"}\n").startswith(b"HTTP/1.1 401 Unauthorized\r\n")


def test_h2c_is_not_taken_up(server: Server, proxied: proxy_lab.Proxied) -> None:
    """Clients that offer HTTP/2 with each request get a plain answer."""
    with opened(proxied, "/api", "h2c", method="GET") as line:
        assert read(line, b"no").startswith(b"HTTP/1.1 200 OK\r\n")
    assert "h2c" not in server.heads[0]
