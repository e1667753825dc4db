"""What people order by annotations, on an API server: pause, one more run, no clean-up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import api
import pytest
from conftest import World
from ordering import ORDERED, PROJECT, running, serve_another

from ansible_operator.testing import controlplane

ONCE, OBSERVED = (api.kind(name) for name in ("Once", "Observed"))
EVENT = api.Kind("v1", "Event", "events")
CHILD = api.Kind("v1", "ConfigMap", "configmaps")
PREFIX = "ansible.sdk.operatorframework.io/"


@pytest.fixture(scope="module")
def world(
    control_plane: controlplane.ControlPlane,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """One operator for all tests here but those that start their own."""
    directory = tmp_path_factory.mktemp("orders")
    with running(control_plane, module_namespace, directory) as found:
        yield found


def annotate(world: World, kind: api.Kind, name: str, **values: str | None) -> None:
    """Set annotations, or remove those that are None; underscores stand for dashes."""
    given = {PREFIX + key.replace("_", "-"): value for key, value in values.items()}
    world.api.patch(kind, name, {"metadata": {"annotations": given}})


def is_paused(obj: api.Obj) -> bool:
    """Whether the condition says so."""
    return bool(api.condition(obj, "Paused").get("status") == "True")


def has_run_for(value: str) -> Callable[[api.Obj], bool]:
    """Whether an object is done, and this order was the last that was handled."""
    return lambda obj: api.condition(obj, "ForcedRun")["message"] == value and api.successful(obj)


def events(world: World, name: str) -> list[tuple[str, str]]:
    """Type and reason of the Events about an Ordered, oldest first."""
    path = EVENT.path(world.api.namespace)
    listed = world.api.client.request("GET", path)["items"]
    about = [e for e in listed if e["involvedObject"].get("name") == name]
    return [(e["type"], e["reason"]) for e in sorted(about, key=lambda e: e["firstTimestamp"])]


def test_pause_and_resume(world: World) -> None:
    """A paused object is not run, whatever changes; resumed it runs once with its newest spec."""
    world.api.create(ORDERED, "paused", meta={"annotations": {PREFIX + "pause": "true"}})
    obj = world.api.until(ORDERED, "paused", is_paused)
    assert "Remove it to run the object again" in api.condition(obj, "Paused")["message"]
    assert "observedGeneration" not in obj["status"]
    world.api.patch(ORDERED, "paused", {"spec": {"size": 2}})
    serve_another(world, "after-pause")
    assert world.lines("Ordered", "paused") == []
    annotate(world, ORDERED, "paused", pause=None)
    obj = world.api.until(ORDERED, "paused", api.successful)
    assert api.condition(obj, "Paused") == {}
    assert world.lines("Ordered", "paused") == ["present"]


def test_pause_holds_the_clean_up(world: World) -> None:
    """An object that is deleted while it is paused waits; resumed it is cleaned up and goes."""
    world.api.create(ORDERED, "held")
    world.api.until(ORDERED, "held", api.successful)
    annotate(world, ORDERED, "held", pause="true")
    world.api.until(ORDERED, "held", is_paused)
    world.api.delete(ORDERED, "held")
    serve_another(world, "after-held")
    assert world.lines("Ordered", "held") == ["present"]
    annotate(world, ORDERED, "held", pause=None)
    world.api.until_gone(ORDERED, "held")
    assert world.lines("Ordered", "held") == ["present", "absent"]


def test_pause_with_a_wrong_value(world: World) -> None:
    """The object is run, and InputWarning names the annotation."""
    world.api.create(ORDERED, "wrong", meta={"annotations": {PREFIX + "pause": "yes"}})
    obj = world.api.until(ORDERED, "wrong", api.successful)
    assert f"{PREFIX}pause" in api.condition(obj, "InputWarning")["message"]


@pytest.mark.case("E7")
def test_force_run(world: World) -> None:
    """One run per new value, none for the same again; the value at creation is no order (E7)."""
    world.api.create(ORDERED, "forced", meta={"annotations": {PREFIX + "force-run": "first"}})
    obj = world.api.until(ORDERED, "forced", api.successful)
    assert api.condition(obj, "ForcedRun")["message"] == "first"
    for value in ("a", "a", "b"):
        annotate(world, ORDERED, "forced", force_run=value, unrelated=os.urandom(4).hex())
        world.api.until(ORDERED, "forced", has_run_for(value))
    serve_another(world, "after-force")
    assert len(world.lines("Ordered", "forced")) == 3


@pytest.mark.case("D2")
def test_skip_cleanup(world: World) -> None:
    """A clean-up that always fails is an Event, and the annotation lets the object go (D2)."""
    (world.record / "refuse.stuck").touch()
    world.api.create(ORDERED, "stuck")
    world.api.until(ORDERED, "stuck", api.successful)
    world.api.delete(ORDERED, "stuck")
    obj = world.api.until(ORDERED, "stuck", api.failed)
    message = api.condition(obj, "Failure")["message"]
    assert "the clean-up is refused" in message
    assert f"{PREFIX}skip-cleanup=true" in message
    tries = len(world.lines("Ordered", "stuck"))
    world.api.until(ORDERED, "stuck", lambda _: len(world.lines("Ordered", "stuck")) > tries + 1)
    assert events(world, "stuck") == [("Warning", "CleanupFailed")]
    annotate(world, ORDERED, "stuck", skip_cleanup="true")
    world.api.until_gone(ORDERED, "stuck")
    line = world.operator.wait_for_log(lambda entry: entry.get("msg") == "clean-up skipped")
    assert (line["name"], line["level"]) == ("stuck", "warn")
    assert set(events(world, "stuck")) == {
        ("Warning", "CleanupFailed"),
        ("Normal", "CleanupSkipped"),
    }


@pytest.mark.kubectl
@pytest.mark.case("D2")
def test_way_out_as_it_is_told(world: World, kubectl: Callable[..., str]) -> None:
    """The command in the Failure message does what it says (D2)."""
    (world.record / "refuse.told").touch()
    world.api.create(ORDERED, "told")
    world.api.until(ORDERED, "told", api.successful)
    world.api.delete(ORDERED, "told")
    obj = world.api.until(ORDERED, "told", api.failed)
    command = api.condition(obj, "Failure")["message"].splitlines()[-1].partition(": ")[2]
    assert command.startswith("kubectl annotate ordered.test.example.com told -n ")
    kubectl(*command.split()[1:])
    world.api.until_gone(ORDERED, "told")


@pytest.mark.case("E20")
def test_watched_status(world: World) -> None:
    """Others who write a chosen path of the status start a run; operator and role do not (E20)."""
    world.api.create(OBSERVED, "seen")
    obj = world.api.until(OBSERVED, "seen", api.successful)
    reported = obj["status"]["reported"]
    world.api.patch(OBSERVED, "seen", {"status": {"other": 1}}, "status")
    serve_another(world, "after-status")
    assert len(world.lines("Observed", "seen")) == 1
    world.api.patch(OBSERVED, "seen", {"status": {"phase": "Degraded"}}, "status")
    world.api.until(
        OBSERVED, "seen", lambda o: o["status"]["reported"] != reported and api.successful(o)
    )
    serve_another(world, "after-phase")
    assert len(world.lines("Observed", "seen")) == 2


@pytest.fixture
def own_directory(tmp_path: Path) -> Path:
    """For an operator of a test's own, which other accounts must not write into."""
    tmp_path.chmod(0o700)
    return tmp_path


def is_settled(name: str) -> Callable[[dict[str, Any]], bool]:
    """The log line of a pass that found nothing to run."""
    return lambda entry: (
        str(entry.get("msg")).startswith("not run again") and entry.get("name") == name
    )


@pytest.mark.case("E19", "E7")
def test_once_per_generation(
    control_plane: controlplane.ControlPlane, namespace: str, own_directory: Path
) -> None:
    """A child that goes, the period and a restart run it no second time; an order does (E19)."""
    with running(control_plane, namespace, own_directory) as world:
        world.api.create(ONCE, "job")
        world.api.until(ONCE, "job", api.successful)
        world.api.delete(CHILD, "job-child")
        world.operator.wait_for_log(is_settled("job"))
        assert world.lines("Once", "job") == ["ran"]
        annotate(world, ONCE, "job", force_run="again")
        world.api.until(
            ONCE, "job", lambda o: bool(api.condition(o, "ForcedRun")) and api.successful(o)
        )
        assert world.api.get(CHILD, "job-child") is not None
    with running(control_plane, namespace, own_directory) as world:
        world.operator.wait_for_log(is_settled("job"))
        assert world.lines("Once", "job") == ["ran"] * 2
        world.api.patch(ONCE, "job", {"spec": {"size": 2}})
        world.api.until(ONCE, "job", api.successful)
        assert world.lines("Once", "job") == ["ran"] * 3


@pytest.mark.case("D13")
def test_kind_that_is_no_longer_watched(
    control_plane: controlplane.ControlPlane, namespace: str, own_directory: Path
) -> None:
    """Its finalizers are reported at the start, and removed if that is asked for (D13)."""
    with running(control_plane, namespace, own_directory) as world:
        world.api.create(ORDERED, "orphan", spec={"size": 1})
        world.api.until(ORDERED, "orphan", api.successful)
    fewer = f"--watches-file={PROJECT}/fewer.yaml"

    def reports(entry: dict[str, Any]) -> bool:
        return entry.get("finalizer") == "test.example.com/ordered" and "command" in entry

    with running(control_plane, namespace, own_directory, fewer) as world:
        line = world.operator.wait_for_log(reports)
        assert (line["objects"], line["example"]) == (1, f"{namespace}/orphan")
        world.api.delete(ORDERED, "orphan")
        assert world.api.get(ORDERED, "orphan") is not None
    release = "--release-orphaned-finalizers"
    with running(control_plane, namespace, own_directory, fewer, release) as world:
        world.api.until_gone(ORDERED, "orphan")
    assert world.lines("Ordered", "orphan") == ["present"]
