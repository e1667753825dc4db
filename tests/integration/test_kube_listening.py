"""Listening: what is listened to, what is said when it cannot be, and what happens next."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_api
import pytest
import structlog
import yaml
from kubernetes import config

from ansible_operator import errors, objects, watches
from ansible_operator.kube import asking, kubeconfig, listening
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import source as kube_source

THING = fake_api.Kind("test.example.com", "v1", "Thing", "things")
OLD = fake_api.Kind("test.example.com", "v1beta1", "Thing", "things")
PLAN = fake_api.Kind("plan.example.com", "v1", "Plan", "plans", namespaced=False)


def gvk_of(kind: fake_api.Kind) -> objects.GVK:
    """The kind as the program names it."""
    return objects.GVK(kind.group, kind.version, kind.kind)


class FakeSource:
    """Notes what it is told, and is in the state that the test wishes."""

    def __init__(self) -> None:
        self.running: dict[objects.GVK, kube_source.Target] = {}
        self.started: list[kube_source.Target] = []
        self.states: dict[objects.GVK, kube_source.State] = {}
        self.closed = 0

    def start(self, target: kube_source.Target) -> None:
        self.running[target.gvk] = target
        self.started.append(target)
        self.states[target.gvk] = kube_source.State(listening=True)

    def stop(self, gvk: objects.GVK) -> None:
        self.running.pop(gvk, None)

    def state(self, gvk: objects.GVK) -> kube_source.State:
        return self.states[gvk]

    def close(self) -> None:
        self.closed += 1


class World:
    """A fake server, a fake source, a fake clock and everything that was logged."""

    def __init__(self, api: fake_api.FakeApi, directory: Path) -> None:
        self.api = api
        self.now = 1000.0
        self.source = FakeSource()
        path = directory / "config"
        path.write_text(yaml.safe_dump(kubeconfig.document({"server": api.url}, {})))
        self.client = kube_client.Client.load({"KUBECONFIG": str(path)})
        self.logs: list[Any] = []
        self.retired: list[tuple[str, set[str]]] = []

    def retire(self, gvk: objects.GVK) -> None:
        """Note which version was superseded, and what ran at that moment."""
        self.retired.append((gvk.version, self.running()))

    def listen(
        self, *kinds: fake_api.Kind, namespaces: tuple[str, ...] = (), **more: Any
    ) -> listening.Listening:
        """The listening to watches of these kinds."""
        target = watches.Playbook(Path("/p.yml"))
        listed = [watches.Watch(gvk_of(kind), target, **more) for kind in kinds]
        return listening.Listening(
            self.client,
            listed,
            namespaces,
            self.source,
            clock=lambda: self.now,
            on_superseded=self.retire,
        )

    def later(self, ears: listening.Listening, seconds: float) -> None:
        """Let time pass and look again."""
        self.now += seconds
        ears.step()

    def running(self) -> set[str]:
        """The kinds that the source was told to listen to, as apiVersion and kind."""
        return {f"{gvk.version} {gvk.kind}" for gvk in self.source.running}

    def said(self, level: str = "error") -> list[str]:
        """The errors (or warnings) so far: event and error text."""
        return [
            f"{entry['event']}: {entry.get('error') or entry.get('reason') or ''}"
            for entry in self.logs
            if entry["log_level"] == level
        ]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world of its own for every test."""
    with fake_api.FakeApi() as api, structlog.testing.capture_logs() as logs:
        made = World(api, tmp_path)
        made.logs = logs
        yield made
        made.client.close()


def test_served_kinds_are_started_once(world: World) -> None:
    """Namespaces apply to namespaced kinds only; once they run little is asked and nothing said."""
    world.api.serve(THING)
    world.api.serve(PLAN)
    ears = world.listen(THING, PLAN, namespaces=("a", "b"))
    ears.step()
    assert world.source.running[gvk_of(THING)].namespaces == ("a", "b")
    assert world.source.running[gvk_of(PLAN)].namespaces == ()
    assert ears.resource(gvk_of(THING)).plural == "things"
    asked, said = len(world.api.seen), len(world.logs)
    for _ in range(30):
        world.later(ears, 10)
    again = [seen.path for seen in world.api.seen[asked:]]
    assert again == ["/apis/test.example.com/v1", "/apis/plan.example.com/v1"] * 2
    assert len(world.source.started) == 2
    assert len(world.logs) == said
    assert world.said() == world.said("warning") == []


def test_a_missing_crd_is_waited_for_and_said_once(world: World) -> None:
    """The other kinds go on, and the kind is picked up within ten seconds of its arrival."""
    world.api.serve(PLAN)
    ears = world.listen(THING, PLAN)
    ears.step()
    for _ in range(12):
        world.later(ears, 5)
    assert world.running() == {"v1 Plan"}
    (said,) = world.said()
    assert "does not serve kind Thing in test.example.com/v1: install" in said
    with pytest.raises(errors.NotFoundError):
        ears.resource(gvk_of(THING))
    world.api.serve(THING)
    world.later(ears, listening.RECHECK)
    assert world.running() == {"v1 Plan", "v1 Thing"}
    assert len(world.said()) == 1


def test_a_version_that_is_not_served_names_those_that_are(world: World) -> None:
    """A wrong version in watches.yaml is not taken for a missing CRD."""
    world.api.serve(THING)
    ears = world.listen(OLD)
    ears.step()
    assert "but the group test.example.com in version v1: correct the version" in world.said()[0]


def test_missing_permission_is_said_with_its_rule_and_again_when_it_changes(world: World) -> None:
    """First list, then watch; each has the rule; then the kind is picked up."""
    world.api.serve(THING)
    fault = world.api.fail("GET", r"things\?limit", 403, message="user x cannot list things")
    ears = world.listen(THING, namespaces=("team-a",))
    ears.step()
    world.later(ears, 10)
    assert len(world.said()) == 1
    assert "user x cannot list things" in world.said()[0]
    assert "a Role in namespace team-a" in world.said()[0]
    assert '"resources": ["things"], "verbs": ["get", "list", "watch"]' in world.said()[0]
    world.api.faults.remove(fault)
    world.api.denied = {("watch", "things")}
    world.later(ears, 10)
    assert len(world.said()) == 2
    assert "watching things.test.example.com is not allowed" in world.said()[1]
    assert world.running() == set()
    world.api.denied = set()
    world.later(ears, 10)
    assert world.running() == {"v1 Thing"}


def test_namespaces_that_are_permitted_are_not_held_up_by_others(world: World) -> None:
    """The kind runs where it may, and is widened when more is permitted."""
    world.api.serve(THING)
    fault = world.api.fail("GET", "namespaces/b/things", 403)
    ears = world.listen(THING, namespaces=("a", "b"))
    ears.step()
    gvk = gvk_of(THING)
    assert world.source.running[gvk].namespaces == ("a",)
    assert "in namespace b" in world.said()[0]
    world.later(ears, 10)
    assert len(world.source.started) == 1
    world.api.faults.remove(fault)
    world.later(ears, 10)
    assert world.source.running[gvk].namespaces == ("a", "b")
    world.api.fail("GET", "namespaces/b/things", 500)
    world.later(ears, 10)
    assert world.source.running[gvk].namespaces == ("a", "b")


MANY = tuple(f"n{number}" for number in range(25))


@pytest.mark.case("K12")
def test_many_namespaces_are_heard_by_way_of_the_cluster_if_that_is_permitted(
    world: World,
) -> None:
    """With few questions; when the right is taken away they are listened to one by one."""
    world.api.serve(THING)
    ears = world.listen(THING, namespaces=MANY)
    ears.step()
    (target,) = world.source.started
    assert (target.namespaces, target.asked, target.wide) == (MANY, (), True)
    assert target.tells({"metadata": {"namespace": "n3"}})
    assert not target.tells({"metadata": {"namespace": "other"}})
    assert len(world.api.seen) < 10
    world.api.fail("GET", r"v1/things\?limit", 403)
    world.source.states[gvk_of(THING)] = kube_source.State(ended="403")
    ears.step()
    world.later(ears, 10)
    target = world.source.started[-1]
    assert (target.namespaces, target.asked, target.wide) == (MANY, MANY, False)
    assert target.tells({"metadata": {"namespace": "other"}})
    assert world.said() == world.said("warning")[1:] == []


@pytest.mark.case("K12")
def test_kinds_with_many_namespaces_begin_one_after_another(world: World) -> None:
    """So many namespaces in a second, of all kinds together; few kinds begin at once."""
    kinds = [dataclasses.replace(THING, kind=f"K{n}", plural=f"k{n}s") for n in range(4)]
    for kind in kinds:
        world.api.serve(kind)
    world.api.fail("GET", r"v1/k.s\?limit", 403)
    names = tuple(f"n{number}" for number in range(60))
    ears = world.listen(*kinds, namespaces=names)
    started = []
    for _ in range(7):
        ears.step()
        started.append(len(world.source.started))
        world.now += 1
    assert listening.NAMESPACES_RATE == 20
    assert started == [1, 1, 1, 2, 2, 2, 3]
    assert all(target.asked == names for target in world.source.started)


@pytest.mark.case("K12")
def test_many_namespaces_are_not_all_asked_for_again_every_ten_seconds(world: World) -> None:
    """One that is not permitted would cost as many questions as there are namespaces."""
    world.api.serve(THING)
    world.api.fail("GET", r"(v1|n3)/things\?limit", 403)
    ears = world.listen(THING, namespaces=MANY)
    ears.step()
    assert len(world.source.running[gvk_of(THING)].asked) == len(MANY) - 1
    asked = len(world.api.seen)
    world.later(ears, 20)
    assert len(world.api.seen) == asked
    world.later(ears, 5)
    assert len(world.api.seen) > asked


@pytest.mark.case("K12")
def test_missing_writes_are_looked_for_in_each_of_many_namespaces(world: World) -> None:
    """Only where they are not granted for all."""
    world.api.serve(THING)
    world.api.denied = {("patch", "things/status")}
    world.listen(THING, namespaces=MANY).step()
    (said,) = world.said("warning")
    assert "Role in namespace n24" in said


def test_writes_that_are_not_permitted_are_said_but_stop_nothing(world: World) -> None:
    """The runs would fail one by one; the rule is said before that."""
    world.api.serve(THING)
    world.api.denied = {("patch", "things/status"), ("patch", "things")}
    finalizer = watches.Finalizer("a/b")
    ears = world.listen(THING, finalizer=finalizer)
    ears.step()
    assert world.running() == {"v1 Thing"}
    (said,) = world.said("warning")
    assert '"resources": ["things"], "verbs": ["patch"]' in said
    assert '"resources": ["things/status"], "verbs": ["patch"]' in said
    assert "ClusterRole" in said


def test_a_server_that_cannot_answer_reviews_stops_nothing(world: World) -> None:
    """The request itself will tell."""
    world.api.serve(THING)
    world.api.fail("POST", "selfsubjectaccessreviews", 500)
    world.listen(THING).step()
    assert world.running() == {"v1 Thing"}


def test_an_unreachable_server_is_said_and_waited_for(tmp_path: Path) -> None:
    """Nothing crashes; the message names the URL."""
    with fake_api.FakeApi() as gone:
        world = World(gone, tmp_path)
        ears = world.listen(THING)
    with structlog.testing.capture_logs() as world.logs:
        ears.step()
        world.later(ears, 10)
    (said,) = world.said()
    assert f"no answer from {gone.url}" in said


def test_a_kind_that_ends_is_started_again_with_growing_delays(world: World) -> None:
    """One second, then two, up to thirty; a steady minute resets that."""
    world.api.serve(THING)
    ears = world.listen(THING)
    ears.step()
    gvk = gvk_of(THING)
    for delay in (1, 2, 4, 8, 16, 30, 30):
        world.source.states[gvk] = kube_source.State(ended="as the test wishes")
        starts = len(world.source.started)
        ears.step()
        assert world.running() == set()
        world.later(ears, delay - 0.5)
        assert len(world.source.started) == starts
        world.later(ears, 0.5)
        assert len(world.source.started) == starts + 1
    assert "listening ended, starting again: as the test wishes" in world.said("warning")
    world.later(ears, listening.STEADY + 1)
    world.source.states[gvk] = kube_source.State(ended="again")
    ears.step()
    world.later(ears, 1)
    assert ears.resource(gvk).plural == "things"
    assert world.running() == {"v1 Thing"}


def test_a_kind_that_does_not_begin_is_started_again(world: World) -> None:
    """kopf that did not find the resource would wait silently for ever."""
    world.api.serve(THING)
    ears = world.listen(THING)
    ears.step()
    world.source.states[gvk_of(THING)] = kube_source.State()
    world.later(ears, listening.START_LIMIT)
    assert len(world.source.started) == 1
    world.later(ears, 1)
    world.later(ears, 1)
    assert len(world.source.started) == 2
    assert "did not begin within 30 s" in world.said("warning")[0]


def test_a_crd_that_vanishes_is_said_and_picked_up_when_it_returns(world: World) -> None:
    """Its resource stays known for what is still in the queue."""
    world.api.serve(THING)
    ears = world.listen(THING)
    ears.step()
    gvk = gvk_of(THING)
    world.api.withdraw(THING)
    world.source.states[gvk] = kube_source.State(ended="404")
    ears.step()
    world.later(ears, 1)
    assert world.running() == set()
    assert "does not serve kind Thing" in world.said()[0]
    assert ears.resource(gvk).plural == "things"
    world.api.serve(THING)
    world.later(ears, 10)
    assert world.running() == {"v1 Thing"}


def test_of_two_versions_only_the_newest_served_runs(world: World) -> None:
    """It is said once; trouble of the newest does not wake the older; only its end does."""
    world.api.serve(OLD)
    ears = world.listen(OLD, THING)
    ears.step()
    assert world.running() == {"v1beta1 Thing"}
    world.api.serve(THING)
    world.later(ears, 10)
    assert world.running() == {"v1 Thing"}
    (said,) = [entry for entry in world.logs if "newer version" in entry["event"]]
    assert said["runs"] == "test.example.com/v1, Kind=Thing"
    world.source.states[gvk_of(THING)] = kube_source.State(ended="trouble")
    ears.step()
    assert world.running() == set()
    world.later(ears, 1)
    assert world.running() == {"v1 Thing"}
    world.api.withdraw(THING)
    world.source.states[gvk_of(THING)] = kube_source.State(ended="404")
    ears.step()
    world.later(ears, 2)
    assert world.running() == {"v1beta1 Thing"}


def test_run_closes_the_source_in_the_end(world: World) -> None:
    """It returns soon after it is told to stop."""
    world.api.serve(THING)
    ears = world.listen(THING)
    stop = threading.Event()
    thread = threading.Thread(target=ears.run, args=(stop,))
    thread.start()
    stop.set()
    thread.join(30)
    assert not thread.is_alive()
    assert world.source.closed == 1


def test_a_repaired_crd_is_noticed_without_a_restart(world: World) -> None:
    """Said once, its new permission is checked, and listening goes on undisturbed."""
    bare = dataclasses.replace(THING, has_status=False)
    world.api.serve(bare)
    ears = world.listen(THING)
    ears.step()
    gvk = gvk_of(THING)
    assert not ears.resource(gvk).has_status
    bare.has_status = True
    world.api.denied = {("patch", "things/status")}
    for _ in range(3):
        world.later(ears, listening.RENEWAL)
    assert ears.resource(gvk).has_status
    assert len(world.source.started) == 1
    (said,) = [entry for entry in world.logs if entry["event"] == "kind is served differently now"]
    assert said["status_subresource"] is True
    assert len(world.said("warning")) == 1
    assert '"resources": ["things/status"]' in world.said("warning")[0]


def test_a_kind_under_another_name_is_listened_to_anew(world: World) -> None:
    """A CRD that was replaced behind our back: what listens to the old name hears nothing."""
    kind = dataclasses.replace(THING)
    world.api.serve(kind)
    ears = world.listen(THING)
    ears.step()
    kind.plural, kind.namespaced = "thingies", False
    world.later(ears, listening.RENEWAL)
    assert [target.resource.plural for target in world.source.started] == ["things", "thingies"]


def test_kinds_of_one_version_are_renewed_with_one_request(world: World) -> None:
    """And a server that does not answer changes nothing about what runs."""
    other = dataclasses.replace(THING, kind="Other", plural="others")
    world.api.serve(THING)
    world.api.serve(other)
    ears = world.listen(THING, other)
    ears.step()
    asked = len(world.api.seen)
    world.later(ears, listening.RENEWAL)
    assert len(world.api.seen) == asked + 1
    world.api.fail("GET", "/apis/test.example.com/v1$", 500)
    world.later(ears, listening.RENEWAL)
    world.api.faults.clear()
    world.api.withdraw(other)
    world.later(ears, listening.RENEWAL)
    assert world.running() == {"v1 Thing", "v1 Other"}
    assert world.said() == []


def test_who_is_superseded_is_told_once_before_the_other_begins(world: World) -> None:
    """A newer version appears, then vanishes: each time what may still run is told to end."""
    world.api.serve(OLD)
    ears = world.listen(OLD, THING)
    ears.step()
    world.retired.clear()
    world.api.serve(THING)
    for _ in range(3):
        world.later(ears, 10)
    assert world.retired == [("v1beta1", set())]
    assert ears.superseded(gvk_of(OLD))
    assert not ears.superseded(gvk_of(THING))
    world.api.withdraw(THING)
    world.source.states[gvk_of(THING)] = kube_source.State(ended="404")
    for _ in range(3):
        world.later(ears, 10)
    assert world.retired == [("v1beta1", set()), ("v1", set())]
    assert ears.superseded(gvk_of(THING))
    assert not ears.superseded(gvk_of(OLD))
    assert world.running() == {"v1beta1 Thing"}


def test_a_server_that_serves_no_version_for_a_moment_supersedes_none(world: World) -> None:
    """Right after its start an API server does not serve CRDs yet; the runs must not be ended."""
    world.api.serve(OLD)
    world.api.serve(THING)
    ears = world.listen(OLD, THING)
    ears.step()
    world.retired.clear()
    world.api.withdraw(OLD)
    world.api.withdraw(THING)
    world.source.states[gvk_of(THING)] = kube_source.State(ended="connection refused")
    for _ in range(3):
        world.later(ears, 10)
    world.api.serve(OLD)
    world.api.serve(THING)
    world.later(ears, 10)
    assert world.retired == []
    assert world.running() == {"v1 Thing"}
    assert [target.gvk.version for target in world.source.started] == ["v1", "v1"]


def test_lost_credentials_are_said_and_end_nothing(world: World, tmp_path: Path) -> None:
    """A token file that is empty for a moment is one more thing that is in the way."""
    world.api.serve(THING)
    ears = world.listen(THING)

    def fail(_: object) -> None:
        raise config.ConfigException("Token file exists but empty.")

    configuration = world.client._session.configuration
    configuration.refresh_api_key_hook = fail
    ears.step()
    (said,) = world.said()
    assert "Token file exists but empty" in said
    assert str(tmp_path / "config") in said
    configuration.refresh_api_key_hook = None
    world.later(ears, 10)
    assert world.running() == {"v1 Thing"}
    configuration.refresh_api_key_hook = fail
    world.later(ears, listening.RENEWAL)
    assert world.running() == {"v1 Thing"}


@pytest.mark.parametrize("pattern", ["/apis/test.example.com", r"things\?limit", "accessreviews"])
def test_a_server_that_does_not_answer_does_not_hold_up_the_end(
    world: World, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    """The time-outs are short, and nothing further is asked, said or started after the stop."""
    assert asking.TIMEOUT[1] <= 10
    monkeypatch.setattr(asking, "TIMEOUT", (1.0, 0.5))
    world.api.serve(THING)
    world.api.serve(OLD)
    method = "POST" if "reviews" in pattern else "GET"
    world.api.fail(method, pattern, fake_api.HANG)
    ears = world.listen(THING, OLD, namespaces=("a", "b", "c"))
    stop = threading.Event()
    thread = threading.Thread(target=ears.run, args=(stop,))
    thread.start()
    while not world.api.requests(method, pattern.partition("\\")[0]):
        stop.wait(0.01)
    stop.set()
    thread.join(30)
    assert not thread.is_alive()
    hung = {seen.path for seen in world.api.requests(method, pattern.partition("\\")[0])}
    assert len(hung) == 1
    assert world.api.seen[-1].path in hung
    assert world.logs == []
    assert world.source.started == []
