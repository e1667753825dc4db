"""Informers over real HTTP: what is asked, what is heard, who shares what, and how they end."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_api
import informer_lab as lab
import pytest
import structlog

from ansible_operator import children, objects
from ansible_operator.kube import admission, informers, scopes
from ansible_operator.kube import client as kube_client


@pytest.fixture
def api() -> Iterator[fake_api.FakeApi]:
    """A server with two kinds."""
    with fake_api.FakeApi(dataclasses.replace(lab.THING), lab.PLAN) as server:
        yield server


@pytest.fixture
def client(api: fake_api.FakeApi, tmp_path: Path) -> Iterator[kube_client.Client]:
    """A client of it."""
    made = lab.connect(api.url, tmp_path / "config")
    yield made
    made.close()


def ready(api: fake_api.FakeApi, count: int = 1) -> None:
    """Wait until so many watches are open."""
    lab.eventually(lambda: api.watches() == count)


def test_what_is_there_and_what_happens_is_heard(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """Only metadata is asked for, in pages, then a watch with bookmarks that ends in time."""
    api.put(lab.THING, lab.thing("old"))
    ear = lab.Ear()
    with lab.informing(client) as found:
        subscription = found.subscribe(lab.THINGS, ear)
        lab.eventually(subscription.synced)
        assert ear.heard == [("INITIAL", "old")]
        ready(api)
        api.put(lab.THING, lab.thing("new", uid="u"))
        api.put(lab.THING, lab.thing("new", uid="u", labels={"a": "b"}))
        api.delete(lab.THING, "ns", "new")
        ear.until(("DELETED", "new"))
    assert ear.heard[1:] == [("ADDED", "new"), ("MODIFIED", "new"), ("DELETED", "new")]
    assert ear.known() == {"ns/old": "101"}
    listed, watched = api.requests("GET", lab.LISTS)
    assert listed.query == {"limit": "500"}
    partial = "application/json;as={};g=meta.k8s.io;v=v1,application/json"
    assert listed.headers["accept"] == partial.format("PartialObjectMetadataList")
    assert watched.headers["accept"] == partial.format("PartialObjectMetadata")
    assert 240 <= int(watched.query.pop("timeoutSeconds")) <= 300
    assert watched.query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "101",
    }


@pytest.mark.case("K6")
def test_nothing_is_asked_before_somebody_wants_to_know(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """What tasks only read is none of the operator's business; nor is it after the last one."""
    with lab.informing(client) as found:
        assert lab.threads() == []
        found.subscribe(lab.THINGS, lab.Ear()).stop()
        lab.eventually(lambda: lab.threads() == [])
        asked = len(api.seen)
        api.put(lab.THING, lab.thing("x"))
        assert len(api.seen) == asked
    assert {seen.path for seen in api.seen} <= {"/apis/test.example.com/v1/things"}


def test_a_kind_is_listened_to_once_for_everybody(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """Who comes later is told of what is there first; it ends with the last one."""
    api.put(lab.THING, lab.thing("a"))
    first, second = lab.Ear(), lab.Ear()
    with lab.informing(client) as found:
        one = found.subscribe(lab.THINGS, first)
        lab.eventually(one.synced)
        ready(api)
        api.put(lab.THING, lab.thing("b"))
        first.until(("ADDED", "b"))
        two = found.subscribe(lab.THINGS, second)
        lab.eventually(two.synced)
        assert second.heard == [("INITIAL", "a"), ("INITIAL", "b")]
        assert len(api.requests("GET", lab.LISTS)) == 2
        one.stop()
        api.put(lab.THING, lab.thing("c"))
        second.until(("ADDED", "c"))
        assert ("ADDED", "c") not in first.heard
        assert api.watches() == 1
        two.stop()
        two.stop()
        ready(api, 0)
        again = lab.Ear()
        lab.eventually(found.subscribe(lab.THINGS, again).synced)
        assert again.heard == [("INITIAL", name) for name in "abc"]


def test_late_listeners_have_neither_gaps_nor_doubles(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """While objects come and go, everybody ends up with the same, from reports that fit."""
    ears = [lab.Ear() for _ in range(12)]
    chance = random.Random(4)  # noqa: S311 - a seed makes it the same each time
    with lab.informing(client) as found:
        for ear in ears:
            found.subscribe(lab.THINGS, ear)
            for _ in range(20):
                name = chance.choice("abcdef")
                if ("things", "ns", name) in api.objects and chance.random() < 0.4:
                    api.delete(lab.THING, "ns", name)
                else:
                    api.put(lab.THING, lab.thing(name))
        expected = {f"ns/{key[2]}": obj["metadata"] for key, obj in api.objects.items()}
        versions = {name: meta["resourceVersion"] for name, meta in expected.items()}
        for ear in ears:
            lab.eventually(lambda ear=ear: ear.known() == versions)  # type: ignore[misc]


def test_selectors_and_whole_objects_are_other_informers(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """The server selects; who wants more than metadata says what is remembered of it."""
    api.put(lab.THING, lab.thing("yes", labels={"tier": "a"}))
    api.put(lab.THING, lab.thing("no"))
    chosen, whole = lab.Ear(), lab.Ear()
    specs: list[Any] = []

    def digest(obj: objects.Obj) -> children.Digest:
        specs.append(obj.get("spec"))
        return children.digest(obj)

    with lab.informing(client) as found:
        one = found.subscribe(lab.THINGS, chosen, selector="tier=a")
        two = found.subscribe(lab.THINGS, whole, full=True, digest=digest)
        lab.eventually(lambda: one.synced() and two.synced())
    assert chosen.heard == [("INITIAL", "yes")]
    assert specs == [{"big": "x" * 99}] * 2
    assert len(whole.heard) == 2
    accepted = {seen.headers["accept"] for seen in api.requests("GET", lab.LISTS)}
    assert "application/json" in accepted


def test_long_lists_are_read_in_pages(api: fake_api.FakeApi, client: kube_client.Client) -> None:
    """And all at once where a page can no longer be had."""
    for number in range(1203):
        api.objects["things", "ns", f"t{number}"] = lab.thing(
            f"t{number}", resourceVersion=str(number), uid=str(number)
        )
    ear, late = lab.Ear(), lab.Ear()
    with lab.informing(client) as found:
        lab.eventually(found.subscribe(lab.THINGS, ear).synced)
    assert len(ear.known()) == 1203
    pages = [seen.query for seen in api.requests("GET", lab.LISTS) if "watch" not in seen.query]
    assert [page.get("continue", "")[-4:] for page in pages] == ["", "-500", "1000"]
    api.expire_tokens = True
    with lab.informing(client) as found:
        lab.eventually(found.subscribe(lab.THINGS, late).synced)
    assert late.known() == ear.known()
    pages = [seen.query for seen in api.requests("GET", lab.LISTS) if "watch" not in seen.query]
    assert [sorted(page) for page in pages[3:]] == [["limit"], ["continue", "limit"], []]


@pytest.mark.case("K7")
def test_namespaces_are_listened_to_one_by_one(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """Kinds that are in none are listened to in the whole cluster."""
    for namespace in "abc":
        api.put(lab.THING, lab.thing(f"in-{namespace}", namespace))
    api.put(lab.PLAN, {"metadata": {"name": "plan"}})
    things, plans = lab.Ear(), lab.Ear()
    with lab.informing(client, "a", "b") as found:
        one = found.subscribe(lab.THINGS, things)
        lab.eventually(one.synced)
        lab.eventually(found.subscribe(lab.PLANS, plans).synced)
        assert sorted(things.heard) == [("INITIAL", "in-a"), ("INITIAL", "in-b")]
        assert plans.heard == [("INITIAL", "plan")]
        ready(api, 3)
        api.put(lab.THING, lab.thing("more", "b"))
        things.until(("ADDED", "more"))
    root = "/apis/test.example.com/v1"
    assert {seen.path for seen in api.requests("GET", lab.LISTS)} == {
        f"{root}/namespaces/a/things",
        f"{root}/namespaces/b/things",
        f"{root}/plans",
    }
    assert api.requests("POST") == []


MANY = [f"n{number}" for number in range(40)]


@pytest.mark.case("K12")
def test_many_namespaces_take_one_watch_where_that_is_permitted(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """What is in other namespaces is not told."""
    for namespace in ("n3", "other", "n39"):
        api.put(lab.THING, lab.thing(f"in-{namespace}", namespace))
    ear = lab.Ear()
    with lab.informing(client, *MANY) as found:
        lab.eventually(found.subscribe(lab.THINGS, ear).synced)
        ready(api)
        api.put(lab.THING, lab.thing("later", "other"))
        api.put(lab.THING, lab.thing("later", "n7"))
        ear.until(("ADDED", "later"))
    assert sorted(ear.known()) == ["n3/in-n3", "n39/in-n39", "n7/later"]
    assert len(api.requests("GET", lab.LISTS)) == 2


@pytest.mark.case("K12")
def test_many_namespaces_are_begun_one_after_another_where_it_is_not(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """So many lists at once and no more, and so many in a second."""
    api.denied = {("watch", "things")}
    api.list_seconds = 0.02
    for namespace in MANY:
        api.put(lab.THING, lab.thing(f"in-{namespace}", namespace))
    ear = lab.Ear()
    gate = admission.Admission(at_once=4, rate=200, burst=10)
    with lab.informing(client, *MANY, gate=gate) as found:
        lab.eventually(found.subscribe(lab.THINGS, ear).synced)
        ready(api, len(MANY))
    assert len(ear.known()) == len(MANY)
    assert 1 <= api.most_lists <= 4


@pytest.mark.case("K12")
def test_the_whole_cluster_is_given_up_when_it_is_no_longer_permitted(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """Nothing is lost, nothing told twice, and nobody is warned: the namespaces are permitted."""
    for namespace in ("n3", "other", "n39"):
        api.put(lab.THING, lab.thing(f"in-{namespace}", namespace))
    ear = lab.Ear()
    gate = admission.Admission(rate=1000, burst=1000)
    with lab.informing(client, *MANY, gate=gate) as found, structlog.testing.capture_logs() as logs:
        subscription = found.subscribe(lab.THINGS, ear)
        lab.eventually(subscription.synced)
        ready(api)
        api.fail("GET", r"v1/things\?", 403)
        api.utter(b"", end=True)
        ready(api, len(MANY))
        api.put(lab.THING, lab.thing("later", "n7"))
        ear.until(("ADDED", "later"))
        assert subscription.synced()
    assert sorted(ear.known()) == ["n3/in-n3", "n39/in-n39", "n7/later"]
    assert [entry for entry in logs if entry["log_level"] != "debug"] == []


def test_listeners_that_fail_end_nothing(api: fake_api.FakeApi, client: kube_client.Client) -> None:
    """What they raise is logged; the others hear everything, and so do they."""
    heard: list[str] = []

    def bad(change: children.Change) -> None:
        heard.append(change.new.name)
        raise ValueError("as the test wishes")

    ear = lab.Ear()
    with lab.informing(client) as found, structlog.testing.capture_logs() as logs:
        found.subscribe(lab.THINGS, bad)
        found.subscribe(lab.THINGS, ear)
        ready(api)
        api.put(lab.THING, lab.thing("a"))
        api.put(lab.THING, lab.thing("b"))
        ear.until(("ADDED", "b"))
    assert heard == ["a", "b"]
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == [
        "bug: a listener failed"
    ] * 2


def test_a_listener_may_end_everything(api: fake_api.FakeApi, client: kube_client.Client) -> None:
    """Its own subscription or all of them, from inside of a call; it hears nothing more."""
    heard: list[str] = []
    ended = threading.Event()
    api.put(lab.THING, lab.thing("a"))
    api.put(lab.THING, lab.thing("b"))

    def once(change: children.Change) -> None:
        heard.append(change.new.name)
        found.close()
        ended.set()

    with lab.informing(client) as found:
        found.subscribe(lab.THINGS, once)
        assert ended.wait(60)
        late = found.subscribe(lab.THINGS, once)
        lab.eventually(lambda: lab.threads() == [])
        assert not late.synced()
        late.stop()
    assert heard == ["a"]


def hung_list(api: fake_api.FakeApi) -> Callable[[], Any]:
    """A list gets no answer."""
    api.fail("GET", lab.LISTS, fake_api.HANG)
    return lambda: api.requests("GET", lab.LISTS)


def hung_review(api: fake_api.FakeApi) -> Callable[[], Any]:
    """Nor does the question whether the cluster may be asked."""
    api.fail("POST", "reviews", fake_api.HANG)
    return lambda: api.requests("POST", "reviews")


def quiet_watch(api: fake_api.FakeApi) -> Callable[[], Any]:
    """A watch is open, and nothing happens."""
    return api.watches


def backing_off(api: fake_api.FakeApi) -> Callable[[], Any]:
    """The next try is due later."""
    api.fail("GET", lab.LISTS, 500)
    return lambda: api.requests("GET", lab.LISTS)


@pytest.mark.parametrize("state", [hung_list, hung_review, quiet_watch, backing_off])
def test_the_end_is_prompt_whatever_is_waited_for(
    api: fake_api.FakeApi,
    client: kube_client.Client,
    state: Callable[[fake_api.FakeApi], Callable[[], Any]],
) -> None:
    """Threads that wait for an answer are woken; none is left, and nothing is said."""
    reached = state(api)
    found = informers.Informers(client, MANY if state is hung_review else ())
    with structlog.testing.capture_logs() as logs:
        found.subscribe(lab.THINGS, lab.Ear())
        lab.eventually(reached)
        before = len(api.seen)
        closer = threading.Thread(target=found.close)
        closer.start()
        closer.join(informers.STOP_LIMIT / 2)
        assert not closer.is_alive()
    assert lab.threads() == []
    assert len(api.seen) <= before + 1
    assert [entry for entry in logs if entry["log_level"] != "debug"] == []
    assert len(MANY) > scopes.MANY


def test_other_requests_of_the_client_outlive_the_end(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """They share its connections, not its end."""
    api.put(lab.THING, lab.thing("a"))
    for _ in range(5):
        with lab.informing(client) as found:
            lab.eventually(found.subscribe(lab.THINGS, lab.Ear()).synced)
        answer = client.request("GET", "/apis/test.example.com/v1/namespaces/ns/things/a")
        assert objects.name(answer) == "a"


def test_the_end_of_one_leaves_the_others_alone(
    api: fake_api.FakeApi, client: kube_client.Client
) -> None:
    """Connections go from hand to hand; none is cut that another one has by now."""
    ear = lab.Ear()
    with lab.informing(client, *MANY) as found, structlog.testing.capture_logs() as logs:
        subscriptions = [
            found.subscribe(
                lab.THINGS, ear if number == 0 else lab.Ear(), selector=f"n in (all,{number})"
            )
            for number in range(8)
        ]
        ready(api, 8)
        for subscription in subscriptions[1:]:
            subscription.stop()
        ready(api, 1)
        api.put(lab.THING, lab.thing("later", "n7", labels={"n": "all"}))
        ear.until(("ADDED", "later"))
        assert [entry for entry in logs if entry["event"] == "listening again"] == []


def test_a_replaced_token_is_picked_up(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """Credentials are read again when the server refuses them, in the middle of it."""
    token = tmp_path / "token"
    token.write_text("old\n")
    api.tokens = {"old"}
    client = lab.connect(api.url, tmp_path / "config", tokenFile=str(token))
    ear = lab.Ear()
    with lab.informing(client) as found:
        lab.eventually(found.subscribe(lab.THINGS, ear).synced)
        ready(api)
        token.write_text("new\n")
        api.tokens = {"new"}
        api.forget_history()
        api.put(lab.THING, lab.thing("x"))
        ear.until(("ADDED", "x"))
    client.close()
