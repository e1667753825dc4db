"""Informers and everything that goes wrong: nothing is lost, nobody is flooded."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_api
import informer_lab as lab
import pytest
import relay
import structlog
from aiohttp import web

from ansible_operator import children
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import informer, listwatch, recovery


@pytest.fixture
def api() -> Iterator[fake_api.FakeApi]:
    """A server with a kind."""
    with fake_api.FakeApi(dataclasses.replace(lab.THING)) as server:
        yield server


@pytest.fixture
def network(api: fake_api.FakeApi) -> Iterator[relay.Relay]:
    """What is between us and the server."""
    with relay.Relay(api.port) as made:
        yield made


@pytest.fixture
def client(network: relay.Relay, tmp_path: Path) -> Iterator[kube_client.Client]:
    """A client of the server, by way of the network."""
    made = lab.connect(network.url, tmp_path / "config")
    yield made
    made.close()


@pytest.fixture
def ear(
    api: fake_api.FakeApi, client: kube_client.Client, monkeypatch: pytest.MonkeyPatch
) -> Iterator[lab.Ear]:
    """Somebody who listens; connections count as dead after two seconds, delays are short."""
    monkeypatch.setattr(recovery, "FLOOR", 0.05)
    api.put(lab.THING, lab.thing("there"))
    made = lab.Ear()
    with lab.informing(client, quiet=2.0) as found:
        lab.eventually(found.subscribe(lab.THINGS, made).synced)
        lab.eventually(api.watches)
        yield made


def lists(api: fake_api.FakeApi) -> list[dict[str, str]]:
    """The lists so far."""
    found = [seen.query for seen in api.requests("GET", lab.LISTS)]
    return [query for query in found if "watch" not in query]


def everything(api: fake_api.FakeApi, ear: lab.Ear) -> None:
    """Change something, and wait until the listener knows what the server has."""
    api.put(lab.THING, lab.thing("later"))
    expected = {
        f"ns/{key[2]}": obj["metadata"]["resourceVersion"] for key, obj in api.objects.items()
    }
    lab.eventually(lambda: ear.known() == expected)


ERROR = b'{"type": "ERROR", "object": {"kind": "Status", "code": %d, "message": "moon"}}\n'
TROUBLES: dict[str, dict[str, Any]] = {
    "an end": {"data": b"", "end": True},
    "410": {"data": ERROR % 410},
    "500": {"data": ERROR % 500},
    "504": {"data": ERROR % 504},
    "an error without code": {"data": b'{"type": "ERROR", "object": {}}\n'},
    "garbage": {"data": b"}{\n"},
    "half a line": {"data": b'{"type": "ADD', "end": True},
    "half a chunk": {"data": b'ff\r\n{"type": "ADD', "raw": True, "end": True},
    "no chunk": {"data": b"this is not HTTP\r\n", "raw": True},
    "no text": {"data": b"\xff\xfe\x00\n"},
}


@pytest.mark.case("K9")
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=list(TROUBLES))
def test_a_watch_that_breaks_loses_nothing(
    api: fake_api.FakeApi, ear: lab.Ear, trouble: dict[str, Any]
) -> None:
    """However it breaks, what happened meanwhile is heard, and nothing is heard twice."""
    with structlog.testing.capture_logs() as logs:
        api.utter(**trouble)
        api.delete(lab.THING, "ns", "there")
        everything(api, ear)
        ear.until(("DELETED", "there"))
    assert [entry for entry in logs if entry["log_level"] != "debug"] == []


@pytest.mark.case("K9")
@pytest.mark.parametrize("status", [429, 500, 503, 504, 410, 401, fake_api.RESET])
@pytest.mark.parametrize("what", ["list", "watch"])
def test_a_request_that_fails_is_tried_again(
    api: fake_api.FakeApi, ear: lab.Ear, status: int, what: str
) -> None:
    """Lists and watches, three times in a row; meanwhile the history is lost, too."""
    pattern = "things.*watch=" if what == "watch" else r"things(\?limit=500)?$"
    api.fail("GET", pattern, status, times=3, headers={"Retry-After": "0"})
    api.delete(lab.THING, "ns", "there")
    api.forget_history()
    everything(api, ear)
    ear.until(("DELETED", "there"))
    assert len(api.requests("GET", lab.LISTS)) < 20


@pytest.mark.case("K9")
def test_a_reset_connection_is_noticed_at_once(
    api: fake_api.FakeApi, network: relay.Relay, ear: lab.Ear
) -> None:
    """It goes on where it was, without a new list."""
    network.reset()
    everything(api, ear)
    assert len(lists(api)) == 1


@pytest.mark.case("K9")
def test_a_half_open_connection_is_noticed(
    api: fake_api.FakeApi, network: relay.Relay, ear: lab.Ear
) -> None:
    """Nothing comes any more, not even an end; well before the watch would have ended."""
    assert listwatch.LASTS[0] > informer.QUIET
    begun = time.monotonic()
    assert network.silence()
    everything(api, ear)
    assert time.monotonic() - begun >= 1.0
    assert len(lists(api)) == 1


@pytest.mark.case("K9")
def test_an_answer_that_never_comes_is_noticed(api: fake_api.FakeApi, ear: lab.Ear) -> None:
    """The server takes the request for a watch and says nothing."""
    api.fail("GET", "things.*watch=", fake_api.HANG, times=1)
    api.utter(b"", end=True)
    everything(api, ear)


def test_a_server_that_was_away_is_caught_up_with(
    api: fake_api.FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it was away from the beginning."""
    monkeypatch.setattr(recovery, "FLOOR", 0.05)
    with relay.Relay(api.port) as network:
        client = lab.connect(network.url, tmp_path / "config")
        fault = api.fail("GET", "", fake_api.RESET)
        ear = lab.Ear()
        with lab.informing(client) as found:
            subscription = found.subscribe(lab.THINGS, ear)
            lab.eventually(lambda: len(api.requests("GET")) >= 3)
            assert not subscription.synced()
            api.faults.remove(fault)
            everything(api, ear)
            assert subscription.synced()
        client.close()


@pytest.mark.case("K9")
@pytest.mark.parametrize("body", ["", "{}\n", (ERROR % 500).decode(), (ERROR % 410).decode()])
def test_a_watch_that_ends_at_once_is_not_asked_for_without_end(
    api: fake_api.FakeApi, client: kube_client.Client, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that begins with an error each time; with the delays as they are."""

    async def watch(self: fake_api.FakeApi, *more: Any) -> Any:
        return web.Response(text=body, content_type="application/json")

    monkeypatch.setattr(fake_api.FakeApi, "_watch", watch)
    with lab.informing(client) as found:
        found.subscribe(lab.THINGS, lab.Ear())
        lab.eventually(lambda: len(api.requests("GET", lab.LISTS)) >= 2)
        begun, asked = time.monotonic(), len(api.requests("GET", lab.LISTS))
        lab.eventually(lambda: time.monotonic() - begun > 2.0)
        assert len(api.requests("GET", lab.LISTS)) - asked <= 6


@pytest.mark.case("K9")
def test_a_server_that_asks_for_time_is_left_alone(api: fake_api.FakeApi, ear: lab.Ear) -> None:
    """For as many seconds as Retry-After says."""
    api.fail("GET", "things.*watch=", 429, times=1, headers={"Retry-After": "2"})
    asked = len(api.requests("GET", lab.LISTS))
    api.utter(b"", end=True)
    lab.eventually(lambda: len(api.requests("GET", lab.LISTS)) > asked)
    begun = time.monotonic()
    lab.eventually(lambda: len(api.requests("GET", lab.LISTS)) > asked + 1)
    assert time.monotonic() - begun > 1.5


@pytest.mark.parametrize("body", ["[]", "nonsense", '{"metadata": 1}', '{"items": [1]}'])
def test_a_list_that_is_none_is_asked_for_again(
    api: fake_api.FakeApi, ear: lab.Ear, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing about what is there."""
    real = fake_api.FakeApi._list
    served: list[str] = []

    def once(self: fake_api.FakeApi, *more: Any) -> Any:
        if served:
            return real(self, *more)
        served.append(body)
        return web.Response(text=body, content_type="application/json")

    monkeypatch.setattr(fake_api.FakeApi, "_list", once)
    api.forget_history()
    everything(api, ear)
    assert served
    assert ("DELETED", "there") not in ear.heard


def said(logs: list[Any], level: str) -> list[Any]:
    """What was logged at a level."""
    return [entry for entry in logs if entry["log_level"] == level]


@pytest.mark.case("K6")
@pytest.mark.parametrize("what", ["list", "watch"])
def test_missing_permission_is_said_once_with_its_rule(
    api: fake_api.FakeApi,
    client: kube_client.Client,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    """It is asked for slowly, and it is said when it works; others are not held up."""
    assert min(recovery.FORBIDDEN) >= 60
    monkeypatch.setattr(recovery, "FORBIDDEN", (0.1, 0.1))
    pattern = "/a/things.*watch=" if what == "watch" else r"/a/things\?limit"
    fault = api.fail("GET", pattern, 403, message="user x may not")
    for namespace in "ab":
        api.put(lab.THING, lab.thing(f"in-{namespace}", namespace))
    ear = lab.Ear()
    with lab.informing(client, "a", "b") as found, structlog.testing.capture_logs() as logs:
        subscription = found.subscribe(lab.THINGS, ear)
        lab.eventually(lambda: len(api.requests("GET", "/a/things")) > 8)
        ear.until(("INITIAL", "in-b"))
        assert subscription.synced() is (what == "watch")
        (warning,) = said(logs, "warning")
        assert "user x may not" in warning["error"]
        assert "Role in namespace a" in warning["error"]
        assert '"resources": ["things"], "verbs": ["list", "watch"]' in warning["error"]
        assert said(logs, "info") == []
        api.faults.remove(fault)
        lab.eventually(lambda: said(logs, "info"))
        lab.eventually(subscription.synced)
        api.put(lab.THING, lab.thing("later", "a"))
        ear.until(("ADDED", "later"))
    assert len(said(logs, "warning")) == len(said(logs, "info")) == 1
    assert ear.known().keys() == {"a/in-a", "b/in-b", "a/later"}


@pytest.mark.case("K6")
def test_missing_permission_is_no_storm(api: fake_api.FakeApi, client: kube_client.Client) -> None:
    """With the delays as they are, a server that refuses is asked once."""
    api.fail("GET", "things", 403)
    with lab.informing(client) as found:
        found.subscribe(lab.THINGS, lab.Ear())
        found.subscribe(lab.THINGS, lab.Ear())
        lab.eventually(lambda: api.requests("GET", lab.LISTS))
        time.sleep(1.5)
        assert len(api.requests("GET", lab.LISTS)) == 1


def test_a_kind_that_vanishes_takes_its_objects_along(
    api: fake_api.FakeApi, ear: lab.Ear, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while, as a server that starts anew serves it in a moment; then it is waited for."""
    assert recovery.PATIENCE >= 10
    kind = api.kinds[-1]
    api.withdraw(kind)
    asked = len(api.seen)
    lab.eventually(lambda: len(api.seen) > asked + 2)
    assert ("DELETED", "there") not in ear.heard
    monkeypatch.setattr(recovery, "PATIENCE", 0.2)
    monkeypatch.setattr(recovery, "MISSING", 0.2)
    ear.until(("DELETED", "there"))
    api.serve(kind)
    everything(api, ear)
    assert ear.heard == [
        ("INITIAL", "there"),
        ("DELETED", "there"),
        ("ADDED", "there"),
        ("ADDED", "later"),
    ]


def test_a_kind_that_is_not_there_yet_is_waited_for(
    api: fake_api.FakeApi, client: kube_client.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to be told of, and then there is."""
    monkeypatch.setattr(recovery, "FLOOR", 0.05)
    monkeypatch.setattr(recovery, "PATIENCE", 0.2)
    monkeypatch.setattr(recovery, "MISSING", 0.2)
    kind = api.kinds[-1]
    api.withdraw(kind)
    ear = lab.Ear()
    with lab.informing(client) as found, structlog.testing.capture_logs() as logs:
        lab.eventually(found.subscribe(lab.THINGS, ear).synced)
        api.serve(kind)
        everything(api, ear)
    assert ear.heard == [("ADDED", "later")]
    assert [entry for entry in logs if entry["log_level"] != "debug"] == []


def test_a_bug_ends_no_informer(
    api: fake_api.FakeApi, client: kube_client.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is logged, and everything begins anew."""
    monkeypatch.setattr(recovery, "CEILING", 0.1)
    bugs = [RuntimeError("as the test wishes")]

    def digest(obj: Any) -> Any:
        if bugs:
            raise bugs.pop()
        return children.digest(obj)

    api.put(lab.THING, lab.thing("there"))
    ear = lab.Ear()
    with lab.informing(client) as found, structlog.testing.capture_logs() as logs:
        lab.eventually(found.subscribe(lab.THINGS, ear, digest=digest).synced)
        everything(api, ear)
    assert [entry["event"] for entry in said(logs, "error")] == [
        "bug: an informer failed, starting it again"
    ]
