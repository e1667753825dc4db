"""The supervisor: what is listened to, what is said when it cannot be, and what happens next."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_api
import pytest
import structlog
import yaml

from ansible_operator import errors, objects, watches
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import kubeconfig, listening

THING = fake_api.Kind("test.example.com", "v1", "Thing", "things")
OLD = fake_api.Kind("test.example.com", "v1beta1", "Thing", "things")
PLAN = fake_api.Kind("plan.example.com", "v1", "Plan", "plans", namespaced=False)


def gvk_of(kind: fake_api.Kind) -> objects.GVK:
    """The kind as the program names it."""
    return objects.GVK(kind.group, kind.version, kind.kind)


class FakeSource:
    """Notes what it is told, and is in the state that the test wishes."""

    def __init__(self) -> None:
        self.running: dict[objects.GVK, listening.Target] = {}
        self.started: list[listening.Target] = []
        self.states: dict[objects.GVK, listening.State] = {}
        self.closed = 0

    def start(self, target: listening.Target) -> None:
        self.running[target.gvk] = target
        self.started.append(target)
        self.states[target.gvk] = listening.State(listening=True)

    def stop(self, gvk: objects.GVK) -> None:
        self.running.pop(gvk, None)

    def state(self, gvk: objects.GVK) -> listening.State:
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

    def supervise(
        self, *kinds: fake_api.Kind, namespaces: tuple[str, ...] = (), **more: Any
    ) -> listening.Supervisor:
        """A supervisor of watches of these kinds."""
        target = watches.Playbook(Path("/p.yml"))
        listed = [watches.Watch(gvk_of(kind), target, **more) for kind in kinds]
        return listening.Supervisor(
            self.client, listed, namespaces, self.source, clock=lambda: self.now
        )

    def later(self, supervisor: listening.Supervisor, seconds: float) -> None:
        """Let time pass and look again."""
        self.now += seconds
        supervisor.step()

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
    """Namespaces apply to namespaced kinds only; nothing is asked again once it runs."""
    world.api.serve(THING)
    world.api.serve(PLAN)
    supervisor = world.supervise(THING, PLAN, namespaces=("a", "b"))
    supervisor.step()
    assert world.source.running[gvk_of(THING)].namespaces == ("a", "b")
    assert world.source.running[gvk_of(PLAN)].namespaces == ()
    assert supervisor.resource(gvk_of(THING)).plural == "things"
    asked = len(world.api.seen)
    for _ in range(30):
        world.later(supervisor, 10)
    assert len(world.api.seen) == asked
    assert len(world.source.started) == 2
    assert supervisor.listening() == {gvk_of(THING), gvk_of(PLAN)}
    assert world.said() == world.said("warning") == []


def test_a_missing_crd_is_waited_for_and_said_once(world: World) -> None:
    """The other kinds go on, and the kind is picked up within ten seconds of its arrival."""
    world.api.serve(PLAN)
    supervisor = world.supervise(THING, PLAN)
    supervisor.step()
    for _ in range(12):
        world.later(supervisor, 5)
    assert world.running() == {"v1 Plan"}
    (said,) = world.said()
    assert "does not serve kind Thing in test.example.com/v1: install" in said
    with pytest.raises(errors.NotFoundError):
        supervisor.resource(gvk_of(THING))
    world.api.serve(THING)
    world.later(supervisor, listening.RECHECK)
    assert world.running() == {"v1 Plan", "v1 Thing"}
    assert len(world.said()) == 1


def test_a_version_that_is_not_served_names_those_that_are(world: World) -> None:
    """A wrong version in watches.yaml is not taken for a missing CRD."""
    world.api.serve(THING)
    supervisor = world.supervise(OLD)
    supervisor.step()
    assert "but the group test.example.com in version v1: correct the version" in world.said()[0]


def test_missing_permission_is_said_with_its_rule_and_again_when_it_changes(world: World) -> None:
    """First list, then watch; each has the rule; then the kind is picked up."""
    world.api.serve(THING)
    fault = world.api.fail("GET", r"things\?limit", 403, message="user x cannot list things")
    supervisor = world.supervise(THING, namespaces=("team-a",))
    supervisor.step()
    world.later(supervisor, 10)
    assert len(world.said()) == 1
    assert "user x cannot list things" in world.said()[0]
    assert "a Role in namespace team-a" in world.said()[0]
    assert '"resources": ["things"], "verbs": ["get", "list", "watch"]' in world.said()[0]
    world.api.faults.remove(fault)
    world.api.denied = {("watch", "things")}
    world.later(supervisor, 10)
    assert len(world.said()) == 2
    assert "watching things.test.example.com is not allowed" in world.said()[1]
    assert world.running() == set()
    world.api.denied = set()
    world.later(supervisor, 10)
    assert world.running() == {"v1 Thing"}


def test_namespaces_that_are_permitted_are_not_held_up_by_others(world: World) -> None:
    """The kind runs where it may, and is widened when more is permitted."""
    world.api.serve(THING)
    fault = world.api.fail("GET", "namespaces/b/things", 403)
    supervisor = world.supervise(THING, namespaces=("a", "b"))
    supervisor.step()
    gvk = gvk_of(THING)
    assert world.source.running[gvk].namespaces == ("a",)
    assert "in namespace b" in world.said()[0]
    world.later(supervisor, 10)
    assert len(world.source.started) == 1
    world.api.faults.remove(fault)
    world.later(supervisor, 10)
    assert world.source.running[gvk].namespaces == ("a", "b")
    world.api.fail("GET", "namespaces/b/things", 500)
    world.later(supervisor, 10)
    assert world.source.running[gvk].namespaces == ("a", "b")


def test_writes_that_are_not_permitted_are_said_but_stop_nothing(world: World) -> None:
    """The runs would fail one by one; the rule is said before that."""
    world.api.serve(THING)
    world.api.denied = {("patch", "things/status"), ("patch", "things")}
    finalizer = watches.Finalizer("a/b")
    supervisor = world.supervise(THING, finalizer=finalizer)
    supervisor.step()
    assert world.running() == {"v1 Thing"}
    (said,) = world.said("warning")
    assert '"resources": ["things"], "verbs": ["patch"]' in said
    assert '"resources": ["things/status"], "verbs": ["patch"]' in said
    assert "ClusterRole" in said


def test_a_server_that_cannot_answer_reviews_stops_nothing(world: World) -> None:
    """The request itself will tell."""
    world.api.serve(THING)
    world.api.fail("POST", "selfsubjectaccessreviews", 500)
    world.supervise(THING).step()
    assert world.running() == {"v1 Thing"}


def test_an_unreachable_server_is_said_and_waited_for(tmp_path: Path) -> None:
    """Nothing crashes; the message names the URL."""
    with fake_api.FakeApi() as gone:
        world = World(gone, tmp_path)
        supervisor = world.supervise(THING)
    with structlog.testing.capture_logs() as world.logs:
        supervisor.step()
        world.later(supervisor, 10)
    (said,) = world.said()
    assert f"no answer from {gone.url}" in said


def test_a_kind_that_ends_is_started_again_with_growing_delays(world: World) -> None:
    """One second, then two, up to thirty; a steady minute resets that."""
    world.api.serve(THING)
    supervisor = world.supervise(THING)
    supervisor.step()
    gvk = gvk_of(THING)
    for delay in (1, 2, 4, 8, 16, 30, 30):
        world.source.states[gvk] = listening.State(ended="as the test wishes")
        starts = len(world.source.started)
        supervisor.step()
        assert supervisor.listening() == frozenset()
        world.later(supervisor, delay - 0.5)
        assert len(world.source.started) == starts
        world.later(supervisor, 0.5)
        assert len(world.source.started) == starts + 1
    assert "listening ended, starting again: as the test wishes" in world.said("warning")
    world.later(supervisor, listening.STEADY + 1)
    world.source.states[gvk] = listening.State(ended="again")
    supervisor.step()
    world.later(supervisor, 1)
    assert supervisor.resource(gvk).plural == "things"
    assert world.running() == {"v1 Thing"}


def test_a_kind_that_does_not_begin_is_started_again(world: World) -> None:
    """kopf that did not find the resource would wait silently for ever."""
    world.api.serve(THING)
    supervisor = world.supervise(THING)
    supervisor.step()
    world.source.states[gvk_of(THING)] = listening.State()
    world.later(supervisor, listening.START_LIMIT)
    assert len(world.source.started) == 1
    assert supervisor.listening() == frozenset()
    world.later(supervisor, 1)
    world.later(supervisor, 1)
    assert len(world.source.started) == 2
    assert "did not begin within 30 s" in world.said("warning")[0]


def test_a_crd_that_vanishes_is_said_and_picked_up_when_it_returns(world: World) -> None:
    """Its resource stays known for what is still in the queue."""
    world.api.serve(THING)
    supervisor = world.supervise(THING)
    supervisor.step()
    gvk = gvk_of(THING)
    world.api.withdraw(THING)
    world.source.states[gvk] = listening.State(ended="404")
    supervisor.step()
    world.later(supervisor, 1)
    assert world.running() == set()
    assert "does not serve kind Thing" in world.said()[0]
    assert supervisor.resource(gvk).plural == "things"
    world.api.serve(THING)
    world.later(supervisor, 10)
    assert world.running() == {"v1 Thing"}


def test_of_two_versions_only_the_newest_served_runs(world: World) -> None:
    """It is said once; trouble of the newest does not wake the older; only its end does."""
    world.api.serve(OLD)
    supervisor = world.supervise(OLD, THING)
    supervisor.step()
    assert world.running() == {"v1beta1 Thing"}
    world.api.serve(THING)
    world.later(supervisor, 10)
    assert world.running() == {"v1 Thing"}
    (said,) = [entry for entry in world.logs if "newer version" in entry["event"]]
    assert said["runs"] == "test.example.com/v1, Kind=Thing"
    world.source.states[gvk_of(THING)] = listening.State(ended="trouble")
    supervisor.step()
    assert world.running() == set()
    world.later(supervisor, 1)
    assert world.running() == {"v1 Thing"}
    world.api.withdraw(THING)
    world.source.states[gvk_of(THING)] = listening.State(ended="404")
    supervisor.step()
    world.later(supervisor, 2)
    assert world.running() == {"v1beta1 Thing"}


def test_run_closes_the_source_in_the_end(world: World) -> None:
    """It returns soon after it is told to stop."""
    world.api.serve(THING)
    supervisor = world.supervise(THING)
    stop = threading.Event()
    thread = threading.Thread(target=supervisor.run, args=(stop,))
    thread.start()
    stop.set()
    thread.join(30)
    assert not thread.is_alive()
    assert world.source.closed == 1
