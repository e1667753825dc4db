"""Listening to watched kinds when the network and the server misbehave: every event is heard."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_api
import pytest
import relay
import yaml

from ansible_operator import kopf_source, objects, watches
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import discovery, kubeconfig, listening
from ansible_operator.kube import source as kube_source

THING = fake_api.Kind("test.example.com", "v1", "Thing", "things")
GVK = objects.GVK(THING.group, THING.version, THING.kind)
QUIET = 3.0


def thing(name: str, namespace: str = "ns", **meta: Any) -> dict[str, Any]:
    """An object."""
    return {"metadata": {"name": name, "namespace": namespace, **meta}}


class Ears:
    """Everything that listens in an operator, by way of a relay, and what it heard."""

    def __init__(self, api: fake_api.FakeApi, url: str, path: Path, *namespaces: str) -> None:
        path.write_text(yaml.safe_dump(kubeconfig.document({"server": url}, {"token": "t"})))
        self.api = api
        self.client = kube_client.Client.load({"KUBECONFIG": str(path)})
        self.source = kopf_source.KopfSource(self.client, self.listen)
        self.heard: dict[str, str] = {}
        self.gone: set[str] = set()
        self._stop = threading.Event()
        watch = watches.Watch(GVK, watches.Playbook(Path("/p.yml")))
        self.listening = listening.Listening(self.client, [watch], namespaces, self.source)
        self._thread = threading.Thread(target=self.listening.run, args=(self._stop,))

    def listen(self, watch: watches.Watch, event: str | None, obj: objects.Obj) -> None:
        if event == "DELETED":
            self.gone.add(objects.name(obj))
        self.heard[objects.name(obj)] = objects.resource_version(obj)

    def __enter__(self) -> Ears:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        self.client.close()

    def until_listening(self, watches: int = 1) -> None:
        """Wait until watches are open."""
        deadline = time.monotonic() + 60
        while self.api.watches() < watches:
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.02)

    def everything(self, seconds: float = 60) -> float:
        """Wait until the newest state of every object was heard; the seconds that it took."""
        begun = time.monotonic()
        while True:
            wanted = {
                key[2]: obj["metadata"]["resourceVersion"]
                for key, obj in list(self.api.objects.items())
            }
            missing = {name for name in wanted if self.heard.get(name) != wanted[name]}
            if not missing:
                return time.monotonic() - begun
            assert time.monotonic() - begun < seconds, f"not heard: {missing}"
            time.sleep(0.02)


@pytest.fixture
def api() -> Iterator[fake_api.FakeApi]:
    """A server with a kind."""
    with fake_api.FakeApi(THING) as server:
        yield server


@pytest.fixture
def network(api: fake_api.FakeApi) -> Iterator[relay.Relay]:
    """What is between us and the server."""
    with relay.Relay(api.port) as made:
        yield made


@pytest.fixture
def ears(
    api: fake_api.FakeApi,
    network: relay.Relay,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Ears]:
    """Ears that listen; a connection counts as dead after three seconds."""
    monkeypatch.setattr(kopf_source, "QUIET", QUIET)
    api.put(THING, thing("there"))
    with Ears(api, network.url, tmp_path / "config") as made:
        made.until_listening()
        made.everything()
        yield made


def test_dead_connections_are_noticed_before_the_watch_would_end() -> None:
    """And watches end, so that a server that forgot one is asked again."""
    target = kube_source.Target(
        watches.Watch(GVK, watches.Playbook(Path("/p.yml"))),
        discovery.Resource(GVK, "things", True, True),
    )
    chosen = kopf_source.settings(target, lambda resource: False).watching
    assert chosen.inactivity_timeout == kopf_source.QUIET < kopf_source.LASTS[0]
    assert str(chosen.server_timeout).isdecimal()  # as it goes out
    assert chosen.server_timeout is not None
    assert kopf_source.LASTS[0] <= chosen.server_timeout <= kopf_source.LASTS[1]
    assert chosen.client_timeout is not None
    assert chosen.client_timeout > kopf_source.LASTS[1]


@pytest.mark.case("K9")
def test_a_half_open_connection_is_noticed(
    api: fake_api.FakeApi, network: relay.Relay, ears: Ears
) -> None:
    """Nothing comes any more, not even an end of the connection."""
    assert network.silence()
    api.put(THING, thing("there"))
    api.put(THING, thing("later"))
    assert ears.everything() > 0.5
    assert ears.gone == set()


@pytest.mark.case("K9")
def test_a_reset_connection_is_noticed(
    api: fake_api.FakeApi, network: relay.Relay, ears: Ears
) -> None:
    """At once."""
    network.reset()
    api.put(THING, thing("there"))
    api.put(THING, thing("later"))
    ears.everything()
    api.delete(THING, "ns", "later")
    deadline = time.monotonic() + 60
    while "later" not in ears.gone:
        assert time.monotonic() < deadline
        time.sleep(0.02)


ERROR = b'{"type": "ERROR", "object": {"kind": "Status", "code": %d, "message": "moon"}}\n'
TROUBLES: dict[str, dict[str, Any]] = {
    "an end": {"data": b"", "end": True},
    "410": {"data": ERROR % 410},
    "500": {"data": ERROR % 500},
    "garbage": {"data": b"}{\n"},
    "half a line": {"data": b'{"type": "ADD', "end": True},
    "half a chunk": {"data": b'ff\r\n{"type": "ADD', "raw": True, "end": True},
}


@pytest.mark.case("K9")
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=list(TROUBLES))
def test_a_watch_that_breaks_loses_nothing(
    api: fake_api.FakeApi, ears: Ears, trouble: dict[str, Any]
) -> None:
    """What kopf does not get over by itself is started again."""
    api.utter(**trouble)
    api.put(THING, thing("there"))
    api.put(THING, thing("later"))
    ears.everything()


@pytest.mark.case("K9")
@pytest.mark.parametrize("status", [500, 503, 429, fake_api.RESET])
@pytest.mark.parametrize("what", ["list", "watch"])
def test_a_request_that_fails_is_tried_again(
    api: fake_api.FakeApi, ears: Ears, status: int, what: str
) -> None:
    """After a gap, so that a list is due; twice in a row."""
    pattern = "things.*watch=" if what == "watch" else r"things\?limit=500$"
    fault = api.fail("GET", pattern, status, times=2, headers={"Retry-After": "1"})
    api.forget_history()
    api.put(THING, thing("there"))
    api.put(THING, thing("later"))
    ears.everything()
    deadline = time.monotonic() + 60
    while fault.times:
        assert time.monotonic() < deadline, "the fault was never met"
        time.sleep(0.02)


@pytest.mark.case("K12")
def test_many_namespaces_take_one_watch_where_that_is_permitted(
    api: fake_api.FakeApi, tmp_path: Path
) -> None:
    """What is in other namespaces is not heard."""
    names = [f"n{number}" for number in range(100)]
    for namespace in ("n1", "n99", "other"):
        api.put(THING, thing(f"in-{namespace}", namespace))
    with Ears(api, api.url, tmp_path / "config", *names) as ears:
        ears.until_listening()
        api.put(THING, thing("more-other", "other"))
        api.put(THING, thing("more", "n50"))
        while "more" not in ears.heard:
            time.sleep(0.02)
        assert api.watches() == 1
    assert set(ears.heard) == {"in-n1", "in-n99", "more"}
    assert len(api.seen) < 30


@pytest.mark.case("K12")
def test_many_namespaces_are_listened_to_one_by_one_where_it_is_not(
    api: fake_api.FakeApi, tmp_path: Path
) -> None:
    """Nothing is heard twice, nothing of the whole cluster."""
    names = [f"n{number}" for number in range(12)]
    api.fail("GET", r"v1/things", 403)
    for namespace in ("n1", "n11", "other"):
        api.put(THING, thing(f"in-{namespace}", namespace))
    with Ears(api, api.url, tmp_path / "config", *names) as ears:
        ears.until_listening(len(names))
        api.put(THING, thing("more", "n5"))
        while "more" not in ears.heard:
            time.sleep(0.02)
    assert set(ears.heard) == {"in-n1", "in-n11", "more"}
