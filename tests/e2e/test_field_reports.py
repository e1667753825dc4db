"""What users of such operators have run into, end to end: each test is one report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import api
import pytest
from conftest import LATE_CRD, World, environment, install_crds
from conftest import PROJECT as KINDS

from ansible_operator.testing import controlplane, operator

PROJECT = Path(__file__).parent / "field_reports"
RBAC = "rbac.authorization.k8s.io/v1"
BINDING = api.Kind(RBAC, "ClusterRoleBinding", "clusterrolebindings", False)
NAMESPACE = api.Kind("v1", "Namespace", "namespaces", False)
CONFIG_MAP, POD = api.Kind("v1", "ConfigMap", "configmaps"), api.Kind("v1", "Pod", "pods")
FLAGS = ("--retry-base-delay=500ms", "--retry-max-delay=2s", "--max-concurrent-reconciles=1")
ACCOUNT = "reported"


@dataclass(frozen=True)
class Reported(World):
    """The operator of the tests and its runner directory."""

    runner: Path


@pytest.fixture(scope="module")
def kubeconfig(control_plane: controlplane.ControlPlane, module_namespace: str) -> Iterator[Path]:
    """An account of the operator's own, so that its requests stand out in the audit log."""
    install_crds(control_plane, KINDS / "crds", but=LATE_CRD)
    server = api.Api(control_plane.kubeconfig, module_namespace)
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": module_namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    server.create(BINDING, module_namespace, subjects=[subject], roleRef=role)
    yield control_plane.service_account_kubeconfig(module_namespace, ACCOUNT)
    server.delete(BINDING, module_namespace)


@pytest.fixture(scope="module")
def reported(
    control_plane: controlplane.ControlPlane,
    kubeconfig: Path,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Reported]:
    """The operator of tests/e2e/field_reports at work."""
    record, runner = tmp_path_factory.mktemp("record"), tmp_path_factory.mktemp("runner")
    runner.chmod(0o700)
    env = environment(record, module_namespace)
    arguments = [f"--runner-dir={runner}", *FLAGS]
    with operator.run_operator(PROJECT, kubeconfig, *arguments, env=env) as running:
        server = api.Api(control_plane.kubeconfig, module_namespace)
        yield Reported(server, running, record, runner)


def eventually(holds: Callable[[], object], what: str, seconds: float = 90.0) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def ran(world: World, of: str, name: str, times: int) -> None:
    """Wait until an object has run so often."""
    eventually(lambda: len(world.lines(of, name)) >= times, f"{of} {name}: not {times} runs")


def served(world: World) -> None:
    """Return when everything that was to run before now has begun."""
    name = f"last-{time.monotonic_ns()}"
    world.api.create(api.SCENARIO, name, spec={})
    world.api.until(api.SCENARIO, name, api.successful)


@pytest.mark.case("E10")
def test_clean_up_that_asks_to_run_again(reported: Reported) -> None:
    """The finalizer stays while the clean-up asks to come back, and goes after a plain success."""
    reported.api.create(api.CLEANED, "patient", spec={"rounds": 3})
    reported.api.until(api.CLEANED, "patient", api.successful)
    reported.api.delete(api.CLEANED, "patient")
    ran(reported, "Cleaned", "patient", 2)
    found = reported.api.get(api.CLEANED, "patient")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["test.example.com/cleanup"]
    reported.api.until_gone(api.CLEANED, "patient")
    served(reported)
    assert reported.lines("Cleaned", "patient") == ["run", "cleanup", "cleanup", "cleanup"]


@pytest.mark.case("E15")
def test_a_hanging_play_holds_up_only_its_kind(reported: Reported) -> None:
    """While one object hangs, those of other kinds run; its limit frees those behind it."""
    limit = {"annotations": {"ansible.sdk.operatorframework.io/run-timeout": "8s"}}
    spec = {"mode": "hang", "seconds": 86397}
    reported.api.create(api.SCENARIO, "stuck", meta=limit, spec=spec)
    ran(reported, "Scenario", "stuck", 1)
    reported.api.create(api.SCENARIO, "behind", spec={})
    reported.api.create(api.CLEANED, "beside", spec={})
    reported.api.until(api.CLEANED, "beside", api.successful)
    assert reported.lines("Scenario", "stuck") == ["run"]
    assert reported.lines("Scenario", "behind") == []
    obj = reported.api.until(api.SCENARIO, "stuck", api.failed)
    assert "timed out after 8s" in api.condition(obj, "Failure")["message"]
    reported.api.delete(api.SCENARIO, "stuck")
    reported.api.until(api.SCENARIO, "behind", api.successful)


@pytest.mark.case("D4")
def test_deleted_before_it_was_looked_at(reported: Reported) -> None:
    """An object that goes while it waits for its turn has no finalizer: it goes, unrun."""
    limit = {"annotations": {"ansible.sdk.operatorframework.io/run-timeout": "5s"}}
    spec = {"mode": "hang", "seconds": 86396}
    reported.api.create(api.CLEANED, "first", meta=limit, spec=spec)
    ran(reported, "Cleaned", "first", 1)
    reported.api.create(api.CLEANED, "early", spec={})
    reported.api.delete(api.CLEANED, "early")
    assert reported.api.get(api.CLEANED, "early") is None
    reported.api.patch(api.CLEANED, "first", {"spec": {"mode": None}})
    reported.api.until(api.CLEANED, "first", api.successful)
    reported.api.create(api.CLEANED, "later", spec={})
    reported.api.until(api.CLEANED, "later", api.successful)
    assert reported.lines("Cleaned", "early") == []


@pytest.mark.case("D9")
def test_deleted_without_a_finalizer(reported: Reported) -> None:
    """Nothing runs for it any more, and what was kept of its runs is gone."""
    reported.api.create(api.SCENARIO, "gone", spec={})
    reported.api.until(api.SCENARIO, "gone", api.successful)
    kept = [path for path in reported.runner.rglob("gone") if path.is_dir()]
    assert kept
    reported.api.delete(api.SCENARIO, "gone")
    eventually(lambda: not any(path.exists() for path in kept), f"{kept} is still there")
    served(reported)
    assert reported.lines("Scenario", "gone") == ["run"]
    reported.api.create(api.SCENARIO, "gone", spec={})
    reported.api.until(api.SCENARIO, "gone", api.successful)
    assert reported.lines("Scenario", "gone") == ["run", "run"]


@pytest.mark.case("D10", "W15")
def test_watched_namespace_is_cleaned_up(reported: Reported) -> None:
    """A namespace under watch runs when it appears and is cleaned up before it goes."""
    name = f"{reported.api.namespace}-team"
    reported.api.create(NAMESPACE, name, meta={"labels": {"field-reports": "watched"}})
    ran(reported, "Namespace", name, 1)
    reported.api.until(NAMESPACE, name, lambda o: o["metadata"].get("finalizers"))
    reported.api.delete(NAMESPACE, name)
    reported.api.until_gone(NAMESPACE, name)
    served(reported)
    assert reported.lines("Namespace", name) == ["run", "cleanup"]


LABELS = {
    "front": {"role": "a", "x": "1.1.0"},
    "back": {"role": "b", "x": "1.2.0"},
    "other": {"role": "c", "x": "1.1.0"},
    "plain": {},
}
QUERIES = [
    ({"labels": ["role in (a,b)"]}, ["back", "front"]),
    ({"labels": ["role in (a, b)", "x notin (1.1.0)"]}, ["back"]),
    ({"labels": ["for = selecting", "x notin (1.1.0)"]}, ["back", "plain"]),
    ({"labels": ["for=selecting", "role != a"]}, ["back", "other", "plain"]),
    ({"labels": ["role==c"]}, ["other"]),
    ({"labels": ["for=selecting", "!role"]}, ["plain"]),
    ({"labels": ["role"]}, ["back", "front", "other"]),
    ({"labels": ["role in (z)"]}, []),
    ({"fields": ["metadata.name=back"]}, ["back"]),
    ({"labels": ["for=selecting"], "fields": ["metadata.name!=back"]}, ["front", "other", "plain"]),
]


@pytest.mark.case("K1")
def test_selectors_of_every_form(reported: Reported) -> None:
    """What a role asks for by labels and fields is what the API server itself answers."""
    for name, labels in LABELS.items():
        meta = {"labels": {"for": "selecting", **labels}}
        reported.api.create(CONFIG_MAP, name, meta=meta)
    asked = [query for query, _ in QUERIES]
    reported.api.create(api.SCENARIO, "selecting", spec={"mode": "select", "queries": asked})
    obj = reported.api.until(api.SCENARIO, "selecting", api.settled)
    assert api.successful(obj), obj["status"]
    found = json.loads((reported.record / "Scenario.selecting.json").read_text())
    assert found == [names for _, names in QUERIES]


@pytest.mark.case("K4")
def test_waiting_for_pods_that_change_their_names(reported: Reported) -> None:
    """However many pods come and go while a role waits, the log stays short and the wait ends."""
    name, start = "waiting", len(reported.operator.logs)
    created = reported.api.create(api.SCENARIO, name, spec={"mode": "pods"})
    reported.api.until(POD, f"{name}-first", lambda _: True)
    owner = {"apiVersion": api.SCENARIO.api_version, "kind": "Scenario", "name": name}
    meta = {
        "labels": {"waited": name},
        "ownerReferences": [owner | {"uid": created["metadata"]["uid"]}],
    }
    spec = {"containers": [{"name": "main", "image": "registry.example.com/app:1"}]}
    for number in range(100):
        reported.api.create(POD, f"{name}-{number}", meta=meta, spec=spec)
        reported.api.delete(POD, f"{name}-{number - 1}")
        time.sleep(0.1)
    assert reported.lines("Scenario", name) == ["run"], "the wait did not last"
    reported.api.create(POD, f"{name}-last", meta=meta, spec=spec)
    reported.api.until(api.SCENARIO, name, api.successful)
    served(reported)
    assert len(reported.lines("Scenario", name)) <= 3
    told = [e for e in reported.operator.logs[start:] if e.get("name") == name]
    assert len(told) < 60, [e["msg"] for e in told]
    assert not [e for e in reported.operator.logs[start:] if e["level"] in ("warn", "error")]


@pytest.mark.case("W16")
def test_kinds_of_the_blacklist(
    reported: Reported, control_plane: controlplane.ControlPlane
) -> None:
    """A child of such a kind starts no run, and nothing lists or watches its kind."""
    earlier = len(requests(control_plane, reported.api.namespace))
    reported.api.create(api.SCENARIO, "children", spec={"mode": "children"})
    reported.api.until(api.SCENARIO, "children", api.successful)
    served(reported)
    before = len(reported.lines("Scenario", "children"))
    reported.api.patch(CONFIG_MAP, "children", {"data": {"key": "changed"}})
    reported.api.delete(CONFIG_MAP, "children")
    served(reported)
    served(reported)
    assert len(reported.lines("Scenario", "children")) == before
    reported.api.patch(api.SECRET, "children", {"data": {"key": "b3RoZXI="}})
    ran(reported, "Scenario", "children", before + 1)
    reported.api.until(CONFIG_MAP, "children", lambda _: True)
    asked = requests(control_plane, reported.api.namespace)[earlier:]
    assert [
        path for verb, path in asked if verb in ("list", "watch") and "/configmaps" in path
    ] == []
    assert [p for verb, p in asked if verb == "watch" and "/secrets" in p] != []


def requests(plane: controlplane.ControlPlane, namespace: str) -> list[tuple[str, str]]:
    """Verb and path of what the operator and its runs have asked."""
    user = f"system:serviceaccount:{namespace}:{ACCOUNT}"
    entries = [json.loads(line) for line in plane.audit_log.read_text().splitlines()]
    own = [entry for entry in entries if entry["user"]["username"] == user]
    return [(entry["verb"], entry["requestURI"]) for entry in own]


@pytest.mark.case("K7")
@pytest.mark.parametrize(
    ("setting", "expected"), [("", "abc"), ("{a}", "a"), (" {a} , {c},", "ac")]
)
def test_namespaces_that_are_watched(
    control_plane: controlplane.ControlPlane,
    kubeconfig: Path,
    tmp_path: Path,
    setting: str,
    expected: str,
) -> None:
    """Without WATCH_NAMESPACE objects of all namespaces run, else those of the listed ones."""
    (tmp_path / "runner").mkdir(mode=0o700)
    names = {letter: control_plane.create_namespace("watched") for letter in "abc"}
    places = {letter: api.Api(control_plane.kubeconfig, name) for letter, name in names.items()}
    env = environment(tmp_path, setting.format_map(names))
    arguments = [f"--runner-dir={tmp_path / 'runner'}", *FLAGS]
    with operator.run_operator(PROJECT, kubeconfig, *arguments, env=env):
        for letter, place in places.items():
            place.create(api.SCENARIO, f"in-{letter}", spec={})
        for letter in expected:
            places[letter].until(api.SCENARIO, f"in-{letter}", api.successful)
        for letter in sorted({*"abc"} - {*expected}):
            found = places[letter].get(api.SCENARIO, f"in-{letter}")
            assert found is not None
            assert "status" not in found
    for name in names.values():
        control_plane.delete_namespace(name)


@pytest.mark.case("D7")
@pytest.mark.parametrize(("seconds", "grace", "freed"), [(3, "60s", True), (86395, "1s", False)])
def test_namespace_goes_with_the_operator_in_it(
    control_plane: controlplane.ControlPlane,
    kubeconfig: Path,
    tmp_path: Path,
    seconds: int,
    grace: str,
    freed: bool,
) -> None:
    """After SIGTERM a clean-up may end within the grace time and frees the namespace.

    One that takes longer is ended, and the object waits for the operator to come back.
    """
    (tmp_path / "runner").mkdir(mode=0o700)
    server = api.Api(control_plane.kubeconfig, control_plane.create_namespace("leaving"))
    env = environment(tmp_path, server.namespace)
    arguments = [f"--runner-dir={tmp_path / 'runner'}", f"--graceful-shutdown-timeout={grace}"]
    with operator.run_operator(PROJECT, kubeconfig, *arguments, *FLAGS, env=env) as running:
        server.create(api.CLEANED, "tenant", spec={"seconds": seconds})
        server.until(api.CLEANED, "tenant", api.successful)
        server.delete(NAMESPACE, server.namespace)
        eventually(lambda: "cleanup" in (tmp_path / "Cleaned.tenant").read_text(), "no clean-up")
        assert running.stop(grace=100) == 0
    if not freed:
        found = server.get(api.CLEANED, "tenant")
        assert found is not None
        assert "interrupted" in api.condition(found, "Failure")["message"]
        server.patch(api.CLEANED, "tenant", {"metadata": {"finalizers": None}})
    server.until_gone(NAMESPACE, server.namespace)
    assert (tmp_path / "Cleaned.tenant").read_text().split() == ["run", "cleanup"]
