"""Who may ask the proxy, and until when."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import proxy_lab
import pytest
from aiohttp import web

from ansible_operator import errors
from ansible_operator.kube import client
from ansible_operator.kube.proxy import server, sockets


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    """Says what it was asked, and by whom; a watch never ends."""
    if "watch" in request.raw_path:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"{}\n")
        await asyncio.sleep(600)  # cancelled when the client goes
    content = {"path": request.raw_path, "headers": dict(request.headers)}
    return web.json_response(content)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A kubeconfig that leads to a server that echoes."""
    with proxy_lab.Lab() as lab:
        yield proxy_lab.kubeconfig(tmp_path_factory.mktemp("echo") / "config", lab.http(echo))


@pytest.fixture(scope="module")
def proxied(config: Path) -> Iterator[proxy_lab.Proxied]:
    """A proxy before it that lets only runs in."""
    with proxy_lab.proxied(config) as running:
        yield running


def plain(port: int, **headers: str) -> tuple[int, dict[str, object]]:
    """One request over plain HTTP: status and body."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as line:
        line.request("GET", "/api/v1/pods", headers=headers)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())


def refused(answer: tuple[int, dict[str, object]], code: int, reason: str) -> None:
    """An answer must be a Status of the API server's form."""
    status, content = answer
    assert status == code
    assert (content["kind"], content["apiVersion"], content["status"]) == (
        "Status",
        "v1",
        "Failure",
    )
    assert (content["code"], content["reason"]) == (code, reason)


def test_the_server_sees_the_operator(proxied: proxy_lab.Proxied) -> None:
    """The run's token goes no further; the operator's takes its place, the rest is as it came."""
    status, _, body = proxied.ask("GET", "/api/v1/pods?x=%2Fy&x=z", **{"X-Own": "1"})
    assert status == 200
    content = json.loads(body)
    assert content["path"] == "/api/v1/pods?x=%2Fy&x=z"
    assert content["headers"]["Authorization"] == f"Bearer {proxy_lab.UPSTREAM}"
    assert content["headers"]["X-Own"] == "1"
    assert proxied.token not in body.decode()


def test_without_a_live_token(proxied: proxy_lab.Proxied) -> None:
    """No token, an unknown one or another scheme: 401 as a Status, over either protocol."""
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic dTpw"}):
        refused(plain(proxied.port, **headers), 401, "Unauthorized")


def test_a_token_ends_with_its_run(config: Path, proxied: proxy_lab.Proxied) -> None:
    """Another run's token works while it lasts, and never again."""
    with proxied.proxy.access(proxy_lab.owner("two")) as text:
        token = proxy_lab.token_of(text)
        assert token != proxied.token
        assert plain(proxied.port, Authorization=f"Bearer {token}")[0] == 200
    refused(plain(proxied.port, Authorization=f"Bearer {token}"), 401, "Unauthorized")
    assert proxied.ask("GET", "/api")[0] == 200


def test_a_watch_is_cut_when_the_run_ends(proxied: proxy_lab.Proxied) -> None:
    """What a left-over process still has open with the token is closed."""
    with contextlib.closing(proxied.connect()) as line:
        with proxied.proxy.access(proxy_lab.owner("two")) as text:
            headers = {"Authorization": f"Bearer {proxy_lab.token_of(text)}"}
            line.request("GET", "/api/v1/pods?watch=1", headers=headers)
            answer = line.getresponse()
            assert answer.readline() == b"{}\n"
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            answer.read()


def test_anonymous_requests_only_where_allowed(config: Path) -> None:
    """Then also those of the incumbent's form; a token that is no run's is still refused."""
    look = proxy_lab.Passing()
    with proxy_lab.proxied(config, look, allow_anonymous=True) as running:
        for headers in ({}, {"Authorization": "Basic dTpw"}):
            status, content = plain(running.port, **headers)
            assert status == 200
            assert "upstream" in json.dumps(content)
        refused(plain(running.port, Authorization="Bearer x"), 401, "Unauthorized")
        assert look.seen == []
        running.ask("GET", "/api/v1/pods")
        assert len(look.seen) == 1


def test_host_must_be_this_machine(proxied: proxy_lab.Proxied) -> None:
    """A name that merely points here is refused, whoever asks."""
    refused(plain(proxied.port, Host="evil.example.com", **proxied.headers), 403, "Forbidden")
    assert plain(proxied.port, Host="localhost", **proxied.headers)[0] == 200


def test_what_is_no_request_for_an_api_server(proxied: proxy_lab.Proxied) -> None:
    """It is no proxy for other servers; what cannot be read gets a Status too."""
    for target in ("http://example.com/", "*"):
        status, _, body = proxied.ask("OPTIONS", target)
        assert (status, json.loads(body)["reason"]) == (400, "BadRequest")
    with contextlib.closing(socket.create_connection(("127.0.0.1", proxied.port))) as line:
        line.sendall(b"GET /a HTTP/1.1\r\nno header at all\r\n\r\n")
        said = line.recv(65536)
    assert b" 400 Bad Request\r\n" in said
    assert b'"kind": "Status"' in said


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_tls_on_every_loopback_address(proxied: proxy_lab.Proxied, host: str) -> None:
    """The kubeconfig's authority vouches for all of them, on the port that speaks HTTP too."""
    context = ssl.create_default_context(cadata=proxy_lab.authority(proxied.kubeconfig))
    line = http.client.HTTPSConnection(host, proxied.port, context=context, timeout=30)
    with contextlib.closing(line):
        line.request("GET", "/version", headers=proxied.headers)
        assert line.getresponse().status == 200


def test_kubeconfigs_differ_only_in_the_token(proxied: proxy_lab.Proxied) -> None:
    """So that clients which keep discovery by URL keep it for all runs; no default namespace."""
    with proxied.proxy.access(proxy_lab.owner("two")) as text:
        other = proxy_lab.token_of(text)
        assert text.replace(other, proxied.token) == proxied.kubeconfig
    assert f"server: https://127.0.0.1:{proxied.port}\n" in proxied.kubeconfig
    assert "namespace" not in proxied.kubeconfig


def test_a_port_that_is_taken(config: Path) -> None:
    """The error names the flag and the way out; nothing of the proxy is left."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        proxy = server.Proxy(
            client.Client.load({"KUBECONFIG": str(config)}),
            port=port,
            allow_anonymous=False,
            interceptor=proxy_lab.Passing(),
        )
        with pytest.raises(errors.SettingsError, match=rf"--proxy-port={port}: cannot listen on"):
            proxy.start()
    proxy.start()
    proxy.stop()


def test_a_fixed_port_is_kept(config: Path) -> None:
    """``--proxy-port`` is what the kubeconfig says."""
    [probe, *others] = sockets.listen(0)
    port = probe.getsockname()[1]
    for listening in (probe, *others):
        listening.close()
    with proxy_lab.proxied(config, port=port) as running:
        assert running.proxy.url == f"https://127.0.0.1:{port}"
        assert running.ask("GET", "/api")[0] == 200


def test_silent_and_broken_clients_hold_up_nobody(proxied: proxy_lab.Proxied) -> None:
    """One that says nothing, one that goes at once, one whose handshake is nonsense."""
    with contextlib.ExitStack() as stack:
        for said in (b"", b"\x16nonsense", b"\x16\x03\x01", b"G"):
            line = socket.create_connection(("127.0.0.1", proxied.port))
            stack.enter_context(contextlib.closing(line)).sendall(said)
        socket.create_connection(("127.0.0.1", proxied.port)).close()
        assert proxied.ask("GET", "/api")[0] == 200


def test_stop_ends_everything(config: Path) -> None:
    """Watches and idle connections too; runs that end later do so quietly, as does another stop."""
    before = set(threading.enumerate())
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(proxy_lab.proxied(config))
        line = stack.enter_context(contextlib.closing(running.connect()))
        line.request("GET", "/api/v1/pods?watch=1", headers=running.headers)
        answer = line.getresponse()
        assert answer.readline() == b"{}\n"
        running.proxy.stop()
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            answer.read()
        with pytest.raises(ConnectionRefusedError):
            running.ask("GET", "/api")
    assert set(threading.enumerate()) == before


def test_headers_as_large_as_go_takes_them(proxied: proxy_lab.Proxied) -> None:
    """Almost a MiB of header or query goes through; more, or without end, is refused with 431."""
    large = "x" * 1_000_000
    status, _, body = proxied.ask("GET", "/api/v1/pods", **{"X-Large": large})
    assert status == 200
    assert len(body) > 1_000_000
    assert proxied.ask("GET", f"/api/v1/pods?labelSelector={large}")[0] == 200
    status, _, body = proxied.ask("GET", "/api", **{"X-A": large, "X-B": "x" * 60_000})
    assert (status, json.loads(body)["kind"]) == (431, "Status")
    with contextlib.closing(socket.create_connection(("127.0.0.1", proxied.port))) as line:
        line.settimeout(30)
        with contextlib.suppress(ConnectionError):
            for _ in range(64):
                line.sendall(b"X-Y: " + b"x" * 65_000 + b"\r\n" if _ else b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            assert line.recv(65536)[:12] in (b"", b"HTTP/1.1 431")
