"""Metrics over real HTTP: what is shown, what is taken in, and where ports are taken already."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from prometheus_client import registry

from ansible_operator import endpoints, errors, serving, usermetrics


class Served:
    """A serving under test."""

    def __init__(self, found: serving.Serving) -> None:
        self.serving = found

    def ask(
        self, port: int, method: str, path: str = "/metrics", body: bytes | None = None
    ) -> tuple[int, str, dict[str, str]]:
        """Status, text and headers of an answer."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as wire:
            wire.request(method, path, body)
            answer = wire.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())

    def post(self, document: Any) -> tuple[int, str]:
        """Send a metric."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.ask(self.serving.intake_port, "POST", body=body)[:2]

    def shown(self) -> str:
        """The text of the metrics."""
        return self.ask(self.serving.metrics_port, "GET")[1]


def build(metrics: str | None = "127.0.0.1:0", intake: int = 0) -> serving.Serving:
    """A serving of an empty registry, with a limit of two metrics."""
    shown = registry.CollectorRegistry()
    taken = usermetrics.UserMetrics(shown, limit=2)
    return serving.Serving(shown, taken, metrics=metrics, intake=intake)


@pytest.fixture
def served() -> Iterator[Served]:
    """Both servers on free ports."""
    found = build(intake=_free())
    found.start()
    yield Served(found)
    found.stop()


def test_a_metric_that_is_sent_is_shown(served: Served) -> None:
    """The reply is 200 with an empty body; the text says what was sent."""
    document = {"name": "level", "description": "How high", "gauge": {"set": 7}}
    assert served.post(document) == (200, "")
    status, text, headers = served.ask(served.serving.metrics_port, "GET")
    assert (status, text) == (200, "# HELP level How high\n# TYPE level gauge\nlevel 7\n")
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"\xff", 400, "no JSON"),
        (b"[" * 10000, 400, "no JSON"),
        (b"{}", 400, "is no name of a metric"),
        (b'{"name": "m", "gauge": {"set": NaN}}', 400, "must be a number"),
        (b'{"name": "m", "gauge": {"set": 1e999}}', 400, "must be a number"),
        (b"1" * 16385, 413, ""),
    ],
)
def test_bad_bodies_are_refused(served: Served, body: bytes, status: int, words: str) -> None:
    """A refusal says why, and the server lives on."""
    found, text = served.post(body)
    assert found == status
    assert words in text
    assert served.post({"name": "m", "counter": {}}) == (200, "")


def test_too_many_names(served: Served) -> None:
    """The third new name is refused, known ones are not."""
    replies = [served.post({"name": name, "counter": {}})[0] for name in "abcab"]
    assert replies == [200, 200, 429, 200, 200]


@pytest.mark.parametrize(
    ("side", "method", "path", "status"),
    [
        ("intake", "GET", "/metrics", 405),
        ("intake", "PUT", "/metrics", 405),
        ("intake", "POST", "/", 404),
        ("metrics", "POST", "/metrics", 405),
        ("metrics", "GET", "/", 404),
    ],
)
def test_other_requests(served: Served, side: str, method: str, path: str, status: int) -> None:
    """The two ports answer nothing but what they are for."""
    port = getattr(served.serving, f"{side}_port")
    assert served.ask(port, method, path)[0] == status


def test_the_intake_is_on_the_loopback_address_only(served: Served) -> None:
    """Nobody outside of the pod can send metrics."""
    other = "127.0.0.2"  # loopback too, but another address than the one that is bound
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((other, served.serving.intake_port), timeout=30).close()


def test_nothing_is_served_when_both_are_off() -> None:
    """0 and nothing at all mean off."""
    for address in ("0", ""):
        off = build(address, 0)
        off.start()
        assert (off.metrics_port, off.intake_port, off.environ) == (0, 0, {})
        off.stop()


@pytest.mark.parametrize("address", ["8443", "host", "1.2.3.4:99999", "::1:80", "[::1]", "a:b:1"])
def test_an_address_that_is_none_ends_the_start(address: str) -> None:
    """The error names the flag and shows how addresses look."""
    with pytest.raises(errors.SettingsError, match=r"--metrics-bind-address=.*Write HOST:PORT"):
        build(address)


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [(":8443", "", 8443), ("[::1]:0", "::1", 0), ("10.0.0.1:80", "10.0.0.1", 80)],
)
def test_addresses(address: str, host: str, port: int) -> None:
    """They are written as for Go programs."""
    assert endpoints.parse(address) == endpoints.Place(host, port)


def test_every_address_of_the_host(served: Served) -> None:
    """Without a host IPv4 is served as well, on systems with IPv6 too."""
    found = build(":0")
    found.start()
    assert served.ask(found.metrics_port, "GET")[0] == 200
    found.stop()


def test_a_taken_port_that_was_asked_for_ends_the_start(served: Served) -> None:
    """The error names the flag; the other port is free again afterwards."""
    address = f"127.0.0.1:{served.serving.metrics_port}"
    with pytest.raises(errors.SettingsError, match=r"--metrics-bind-address=.*another program"):
        build(address)
    free = f"127.0.0.1:{_free()}"
    with pytest.raises(errors.SettingsError, match=r"--user-metrics-port=.*another program"):
        build(free, served.serving.intake_port)
    build(free).stop()


@pytest.mark.parametrize(
    ("address", "words"),
    [("no-such-host.invalid:0", "not known|resolution|No address"), ("192.0.2.1:0", "assign")],
)
def test_an_address_of_another_host_ends_the_start(address: str, words: str) -> None:
    """The error has the words of the system."""
    with pytest.raises(
        errors.SettingsError, match=f"--metrics-bind-address={address}: .*({words})"
    ):
        build(address)


@pytest.mark.parametrize("port", [-1, 70000])
def test_a_port_that_is_none_ends_the_start(port: int) -> None:
    """The error names the flag."""
    with pytest.raises(errors.SettingsError, match=f"--user-metrics-port={port}: .*1 to 65535"):
        build("0", port)


def test_taken_defaults_are_only_warned_of(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics are not shown then; the intake has another port, which runs are told."""
    monkeypatch.setattr(endpoints, "METRICS", f"127.0.0.1:{served.serving.metrics_port}")
    monkeypatch.setattr(endpoints, "INTAKE_PORT", served.serving.intake_port)
    with structlog.testing.capture_logs() as logged:
        found = build(None, endpoints.INTAKE_PORT)
    assert [entry["log_level"] for entry in logged] == ["warning", "warning"]
    assert found.metrics_port == 0
    assert found.environ == {"OSDK_METRIC_ADDRESS": f"http://127.0.0.1:{found.intake_port}/metrics"}
    found.start()
    assert Served(found).post({"name": "m", "counter": {}}) == (200, "")
    found.stop()


def test_the_usual_port_needs_no_variable(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of runs stays as it is."""
    monkeypatch.setattr(endpoints, "INTAKE_PORT", served.serving.intake_port)
    assert served.serving.environ == {}


def test_stop_closes_both_ports() -> None:
    """Connections are refused afterwards; stopping twice is no error."""
    found = build(intake=_free())
    ports = (found.metrics_port, found.intake_port)
    found.start()
    found.stop()
    found.stop()
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=30).close()


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
