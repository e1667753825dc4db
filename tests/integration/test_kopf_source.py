"""Listening with kopf over real HTTP: what is heard, and that nothing is ever written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_api
import pytest
import structlog
import yaml

from ansible_operator import kopf_source, objects, selector, watches
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import connection, discovery, kubeconfig
from ansible_operator.kube import source as kube_source

THING = fake_api.Kind("test.example.com", "v1", "Thing", "things")
PLAN = fake_api.Kind("test.example.com", "v1", "Plan", "plans", namespaced=False)
SECRET = fake_api.Kind("", "v1", "Secret", "secrets")
LISTS = r"/things$"


def watch_of(kind: fake_api.Kind, **more: Any) -> watches.Watch:
    """A watch of a served kind."""
    gvk = objects.GVK(kind.group, kind.version, kind.kind)
    return watches.Watch(gvk, watches.Playbook(Path("/p.yml")), **more)


def target_of(kind: fake_api.Kind, *namespaces: str, **more: Any) -> kube_source.Target:
    """What the source would be told."""
    watch = watch_of(kind, **more)
    resource = discovery.Resource(watch.gvk, kind.plural, kind.namespaced, kind.has_status)
    return kube_source.Target(watch, resource, namespaces)


def thing(name: str, namespace: str = "ns", **meta: Any) -> dict[str, Any]:
    """An object."""
    return {"metadata": {"name": name, "namespace": namespace, **meta}}


class Ears:
    """A source and what it heard."""

    def __init__(self, api: fake_api.FakeApi, path: Path) -> None:
        path.write_text(yaml.safe_dump(kubeconfig.document({"server": api.url}, {"token": "t"})))
        self.client = kube_client.Client.load({"KUBECONFIG": str(path)})
        self.source = kopf_source.KopfSource(self.client, self.listen)
        self.heard: list[tuple[str, str | None, str]] = []
        self.objects: list[objects.Obj] = []
        self._changed = threading.Condition()

    def listen(self, watch: watches.Watch, event: str | None, obj: objects.Obj) -> None:
        with self._changed:
            self.heard.append((watch.gvk.kind, event, objects.name(obj)))
            self.objects.append(obj)
            self._changed.notify_all()

    def until(self, *expected: tuple[str, str | None, str], seconds: float = 30) -> None:
        """Wait until all of these were heard."""
        with self._changed:
            done = self._changed.wait_for(lambda: set(expected) <= set(self.heard), seconds)
        assert done, f"not heard: {set(expected) - set(self.heard)}; heard: {self.heard}"


@pytest.fixture
def api() -> Iterator[fake_api.FakeApi]:
    """A server with three kinds."""
    with fake_api.FakeApi(THING, PLAN, SECRET) as server:
        yield server


@pytest.fixture
def ears(api: fake_api.FakeApi, tmp_path: Path) -> Iterator[Ears]:
    """A source that is closed in the end."""
    made = Ears(api, tmp_path / "config")
    yield made
    made.source.close()
    made.client.close()


def eventually(check: Callable[[], Any], seconds: float = 30) -> Any:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.02)
    return found


@pytest.mark.case("K11")
def test_everything_that_happens_is_heard_and_nothing_is_written(
    api: fake_api.FakeApi, ears: Ears
) -> None:
    """Existing objects come with type None, changes with their types, as plain dicts."""
    api.put(THING, thing("old"))
    api.put(PLAN, {"metadata": {"name": "plan"}})
    api.put(SECRET, {**thing("key"), "data": {"k": "v" * 900_000}})
    for kind in (THING, PLAN, SECRET):
        ears.source.start(target_of(kind))
    ears.until(("Thing", None, "old"), ("Plan", None, "plan"), ("Secret", None, "key"))
    eventually(lambda: any("watch" in seen.query for seen in api.requests("GET", LISTS)))
    api.put(THING, thing("new", finalizers=["kopf.dev/finalizer"]))
    ears.until(("Thing", "ADDED", "new"))
    api.put(THING, thing("new", labels={"a": "b"}))
    ears.until(("Thing", "MODIFIED", "new"))
    api.delete(THING, "ns", "new")
    ears.until(("Thing", "DELETED", "new"))
    assert all(type(obj) is dict and obj["kind"] for obj in ears.objects)
    assert ears.source.state(watch_of(THING).gvk) == kube_source.State(listening=True)
    assert {seen.method for seen in api.seen} == {"GET"}


def test_only_selected_objects_are_asked_for(api: fake_api.FakeApi, ears: Ears) -> None:
    """The server filters; an object whose label is removed is heard as deleted by a real one."""
    requirement = selector.Requirement("tier", "In", ("a", "b"))
    api.put(THING, thing("yes", labels={"tier": "a"}))
    api.put(THING, thing("no", labels={"tier": "c"}))
    ears.source.start(target_of(THING, selector=selector.Selector((requirement,))))
    ears.until(("Thing", None, "yes"))
    eventually(lambda: any("watch" in seen.query for seen in api.requests("GET", LISTS)))
    api.put(THING, thing("late", labels={"tier": "b"}))
    ears.until(("Thing", "ADDED", "late"))
    queries = [seen.query for seen in api.requests("GET", LISTS)]
    assert len(queries) >= 2
    assert {query["labelSelector"] for query in queries} == {"tier in (a,b)"}
    assert not any("fieldSelector" in query for query in queries)
    assert ("Thing", None, "no") not in ears.heard


@pytest.mark.case("K7")
def test_only_the_given_namespaces_are_asked_for(api: fake_api.FakeApi, ears: Ears) -> None:
    """Nothing cluster-wide is requested of a namespaced kind, and nothing else is scanned."""
    for namespace in ("a", "b", "c"):
        api.put(THING, thing(f"in-{namespace}", namespace))
    ears.source.start(target_of(THING, "a", "b"))
    ears.until(("Thing", None, "in-a"), ("Thing", None, "in-b"))
    eventually(lambda: len(api.requests("GET", LISTS)) >= 4)
    paths = {seen.path for seen in api.requests("GET", LISTS)}
    root = "/apis/test.example.com/v1/namespaces"
    assert paths == {f"{root}/a/things", f"{root}/b/things"}
    assert api.requests("GET", "namespaces$|customresourcedefinitions") == []


@pytest.mark.case("K9")
def test_a_gap_is_closed_by_a_new_list(api: fake_api.FakeApi, ears: Ears) -> None:
    """After 410 Gone every object is heard again, and later changes too."""
    api.put(THING, thing("one"))
    ears.source.start(target_of(THING))
    ears.until(("Thing", None, "one"))
    eventually(lambda: any("watch" in seen.query for seen in api.requests("GET", LISTS)))
    api.forget_history()
    eventually(lambda: ears.heard.count(("Thing", None, "one")) >= 2)
    api.put(THING, thing("two"))
    ears.until(("Thing", "ADDED", "two"))


@pytest.mark.case("K9")
@pytest.mark.parametrize("status", [500, 429, fake_api.RESET])
def test_a_passing_trouble_of_the_server_loses_nothing(
    api: fake_api.FakeApi, ears: Ears, status: int
) -> None:
    """A list that fails once is asked for again."""
    api.put(THING, thing("one"))
    api.fail("GET", LISTS, status, times=1)
    ears.source.start(target_of(THING))
    ears.until(("Thing", None, "one"))


def test_what_ends_one_kind_leaves_the_others_alone(api: fake_api.FakeApi, ears: Ears) -> None:
    """A kind that is no longer served ends with a reason; the other one still hears."""
    ears.source.start(target_of(THING))
    ears.source.start(target_of(PLAN))
    gvk = watch_of(THING).gvk
    eventually(lambda: ears.source.state(gvk).listening)
    api.put(PLAN, {"metadata": {"name": "before"}})
    eventually(lambda: [heard for heard in ears.heard if heard[2] == "before"])
    eventually(lambda: any("watch" in seen.query for seen in api.requests("GET", LISTS)))
    api.withdraw(THING)
    ended = eventually(lambda: ears.source.state(gvk).ended)
    assert "404" in ended or "could not find" in ended
    api.put(PLAN, {"metadata": {"name": "after"}})
    eventually(lambda: [heard for heard in ears.heard if heard[2] == "after"])
    api.serve(THING)
    ears.source.start(target_of(THING))
    api.put(THING, thing("back"))
    eventually(lambda: [heard for heard in ears.heard if heard[2] == "back"])


def test_a_kind_that_kopf_does_not_find_is_never_called_listening(
    api: fake_api.FakeApi, ears: Ears
) -> None:
    """kopf waits silently then; the state is what tells the supervisor."""
    api.withdraw(THING)
    ears.source.start(target_of(THING))
    eventually(lambda: api.requests("GET", r"/apis/test.example.com/v1$"))
    ears.source.start(target_of(PLAN))
    api.put(PLAN, {"metadata": {"name": "plan"}})
    eventually(lambda: [heard for heard in ears.heard if heard[0] == "Plan"])
    assert ears.source.state(watch_of(THING).gvk) == kube_source.State()


def test_stopping_is_quick_and_final(api: fake_api.FakeApi, ears: Ears) -> None:
    """Whatever kopf is doing, its threads are gone within seconds and nothing is heard later."""
    before = threading.active_count()
    for kind in (THING, PLAN, SECRET):
        ears.source.start(target_of(kind))
    ears.source.close()  # immediately: none of them is up yet
    for kind in (THING, PLAN, SECRET):
        ears.source.start(target_of(kind))
        api.put(kind, thing("x") if kind.namespaced else {"metadata": {"name": "x"}})
    eventually(lambda: len(ears.heard) >= 3)
    ears.source.start(target_of(THING))  # once more, in place of the first
    with structlog.testing.capture_logs() as logs:
        ears.source.close()
    assert logs == []
    heard = len(ears.heard)
    api.put(THING, thing("later"))
    eventually(lambda: threading.active_count() <= before)
    assert len(ears.heard) == heard
    assert ears.source.state(watch_of(THING).gvk).ended


def test_a_rotated_token_is_picked_up(api: fake_api.FakeApi, tmp_path: Path) -> None:
    """The login handler reads the credentials anew when the server refuses the old ones."""
    token = tmp_path / "token"
    token.write_text("old\n")
    ears = Ears(api, tmp_path / "config")
    document = kubeconfig.document({"server": api.url}, {"tokenFile": str(token)})
    (tmp_path / "config").write_text(yaml.safe_dump(document))
    api.tokens = {"old"}
    ears.source.start(target_of(THING))
    eventually(lambda: any("watch" in seen.query for seen in api.requests("GET", LISTS)))
    token.write_text("new\n")
    api.tokens = {"new"}
    api.forget_history()
    api.put(THING, thing("x"))
    eventually(lambda: [heard for heard in ears.heard if heard[2] == "x"])
    ears.source.close()
    ears.client.close()


def test_credentials_that_cannot_be_read_end_it_with_the_reason(
    api: fake_api.FakeApi, ears: Ears, tmp_path: Path
) -> None:
    """The kubeconfig vanished: the reason names it."""
    (tmp_path / "config").unlink()
    ears.source.start(target_of(THING))
    ended = eventually(lambda: ears.source.state(watch_of(THING).gvk).ended)
    assert str(tmp_path / "config") in ended


def test_credentials_are_handed_over_completely() -> None:
    """Certificates, authority, proxy and the scheme of the header."""
    facts = connection.Connection(
        "https://s", "Basic dTpw", "/ca", "/cert", "/key", verify=False, proxy="http://p:1"
    )
    info = kopf_source.credentials(facts)
    assert (info.server, info.ca_path, info.insecure) == ("https://s", "/ca", True)
    assert (info.certificate_path, info.private_key_path) == ("/cert", "/key")
    assert (info.scheme, info.token, info.proxy_url) == ("Basic", "dTpw", "http://p:1")
    assert kopf_source.credentials(connection.Connection("https://s")).as_http_headers() == {}
