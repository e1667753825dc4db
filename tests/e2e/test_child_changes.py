"""Changes of dependents run their owners' roles again, each exactly once, and no others.

That something does *not* run is shown without waiting for time to pass: a dependent of the object
``beat``, of the same kind, is changed afterwards. News of one kind come in order, and objects of
one kind run one after the other, so by the time ``beat`` has run everything before would have.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import api
import conftest
import pytest
import sample

from ansible_operator import children
from ansible_operator.testing import controlplane, operator

pytestmark = pytest.mark.timeout(sample.TIMEOUT)

PROJECT = Path(__file__).parent / "dependents"
KEEPER, WIDER, BLIND = api.kind("Keeper"), api.kind("Wider"), api.kind("Blind")
PICKY = api.Kind("test.example.com/v1alpha1", "Picky", "pickies")
CONFIG_MAP, SERVICE = api.Kind("v1", "ConfigMap", "configmaps"), sample.SERVICE
DEPLOYMENT = api.Kind("apps/v1", "Deployment", "deployments")
RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER_ROLE = api.Kind(RBAC, "ClusterRole", "clusterroles", False)
ROLE, BINDING = api.Kind(RBAC, "Role", "roles"), api.Kind(RBAC, "RoleBinding", "rolebindings")
GUARD = ["--loop-guard-runs=3", "--loop-guard-window=10m"]
PATIENCE = 300.0


def config_map(name: str, **metadata: Any) -> api.Obj:
    """A ConfigMap that a role wants."""
    meta = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"}}


def deployment(name: str) -> api.Obj:
    """A Deployment that a role wants."""
    labels = {"app": name}
    container = {"name": "web", "image": "registry.example.com/web:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def service(name: str) -> api.Obj:
    """A Service that a role wants."""
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def cluster_role(name: str) -> api.Obj:
    """A cluster-scoped object that a role wants."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    meta = {"name": name}
    return {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": meta, "rules": rules}


@dataclass
class Keepers:
    """An operator at work on the project, and what its role has written down."""

    server: api.Api
    operator: operator.Operator
    record: Path
    other: str = ""
    beats: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def runs(self, name: str) -> int:
        """How often the role has begun to run for an object, whatever its kind."""
        return self._lines(name).count("begin")

    def make(self, kind: api.Kind, *wanted: api.Obj, **spec: Any) -> str:
        """An object that wants these dependents; its name, once its first run is over."""
        name = f"{kind.kind.lower()}-{uuid.uuid4().hex[:6]}"
        self.server.create(kind, name, spec={"wanted": list(wanted), **spec})
        found = self.server.until(kind, name, api.settled, seconds=PATIENCE)
        assert api.successful(found), found["status"]
        return name

    def until(self, name: str, runs: int) -> None:
        """Wait until so many runs of an object have ended."""
        deadline = time.monotonic() + PATIENCE
        while not self._ended(name, runs):
            lines = self._lines(name)
            assert time.monotonic() < deadline, f"{name} did not run {runs} times: {lines}"
            time.sleep(0.1)

    def beat(self, kind: api.Kind) -> None:
        """Wait until everything is done that was to be done about dependents of this kind."""
        runs = self.runs("beat") + 1
        changed = {"metadata": {"annotations": {"beat": str(next(self.beats))}}}
        self.server.patch(kind, "beat", changed)
        self.until("beat", runs)

    def found(self, kind: api.Kind, name: str) -> api.Obj:
        """An object that must be there."""
        found = self.server.get(kind, name)
        assert found is not None, f"there is no {kind.kind} {name}"
        return found

    def _ended(self, name: str, runs: int) -> bool:
        lines = self._lines(name)
        return lines.count("begin") == lines.count("end") >= runs

    def _lines(self, name: str) -> list[str]:
        path = self.record / name
        return path.read_text().splitlines() if path.exists() else []


@contextlib.contextmanager
def keepers(
    plane: controlplane.ControlPlane,
    scratch: Path,
    namespace: str,
    other: str = "",
    *,
    kubeconfig: Path | None = None,
) -> Iterator[Keepers]:
    """An operator of the project for one namespace or two."""
    conftest.install_crds(plane, PROJECT / "crds")
    record, runner = scratch / "record", scratch / f"runner-{uuid.uuid4().hex[:6]}"
    record.mkdir(exist_ok=True)
    runner.mkdir(mode=0o700)
    env = conftest.environment(record, ",".join(filter(None, (namespace, other))))
    env["ANSIBLE_COLLECTIONS_PATH"] = str(sample.ROOT / ".collections")
    chosen, arguments = kubeconfig or plane.kubeconfig, [f"--runner-dir={runner}", *GUARD]
    with operator.run_operator(PROJECT, chosen, *arguments, env=env) as running:
        yield Keepers(api.Api(plane.kubeconfig, namespace), running, record, other)


@pytest.fixture(scope="module")
def world(
    control_plane: controlplane.ControlPlane,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Keepers]:
    """The operator of most tests, in two namespaces, with the object ``beat``."""
    other = control_plane.create_namespace()
    scratch = tmp_path_factory.mktemp("dependents")
    with keepers(control_plane, scratch, module_namespace, other) as found:
        wanted = [config_map("beat"), deployment("beat"), service("beat")]
        found.server.create(KEEPER, "beat", spec={"wanted": wanted})
        found.server.until(KEEPER, "beat", api.successful, seconds=PATIENCE)
        yield found
    control_plane.delete_namespace(other)


def unique(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{uuid.uuid4().hex[:6]}"


def test_own_writes_run_nothing(world: Keepers) -> None:
    """What a role makes and changes is no reason to run it again (E1 for dependents)."""
    names = unique("cm"), unique("web")
    wanted = [config_map(names[0]), deployment(names[1])]
    keeper = world.make(KEEPER, *wanted)
    wanted[0]["data"] = {"a": "2"}
    wanted[1]["spec"]["replicas"] = 2
    world.server.patch(KEEPER, keeper, {"spec": {"wanted": wanted}})
    world.until(keeper, 2)
    assert world.found(DEPLOYMENT, names[1])["spec"]["replicas"] == 2
    for kind in (CONFIG_MAP, DEPLOYMENT):
        world.beat(kind)
    assert world.runs(keeper) == 2


def test_drift_of_a_config_map(world: Keepers) -> None:
    """A change by hand is taken back by one run of the owner, and of nobody else."""
    name = unique("cm")
    keeper, bystander = world.make(KEEPER, config_map(name)), world.make(KEEPER)
    world.server.patch(CONFIG_MAP, name, {"data": {"a": "by hand"}})
    world.until(keeper, 2)
    assert world.found(CONFIG_MAP, name)["data"] == {"a": "1"}
    world.beat(CONFIG_MAP)
    assert (world.runs(keeper), world.runs(bystander)) == (2, 1)


def test_drift_of_a_deployment(world: Keepers) -> None:
    """A Deployment that somebody scales is scaled back by one run."""
    name = unique("web")
    keeper = world.make(KEEPER, deployment(name))
    world.server.patch(DEPLOYMENT, name, {"spec": {"replicas": 3}}, "scale")
    world.until(keeper, 2)
    assert world.found(DEPLOYMENT, name)["spec"]["replicas"] == 1
    world.beat(DEPLOYMENT)
    assert world.runs(keeper) == 2


@pytest.mark.parametrize("kind", [CONFIG_MAP, DEPLOYMENT], ids=lambda kind: kind.kind)
def test_deleted_dependent(world: Keepers, kind: api.Kind) -> None:
    """What somebody deletes is made again by one run, though controllers write to the new one."""
    name = unique("gone")
    wanted = config_map(name) if kind is CONFIG_MAP else deployment(name)
    keeper = world.make(KEEPER, wanted)
    before = world.found(kind, name)["metadata"]["uid"]
    world.server.delete(kind, name)
    world.server.until(kind, name, lambda found: found["metadata"]["uid"] != before)
    world.until(keeper, 2)
    world.beat(kind)
    assert world.runs(keeper) == 2


def test_status_of_a_dependent(world: Keepers) -> None:
    """A change of nothing but the status runs nothing, with a generation or without."""
    web, port = unique("web"), unique("port")
    keeper = world.make(KEEPER, deployment(web), service(port))
    condition = {"type": "Seen", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    world.server.patch(DEPLOYMENT, web, {"status": {"conditions": [condition]}}, "status")
    world.beat(DEPLOYMENT)
    condition |= {"reason": "Seen", "message": ""}
    for number in range(3):
        status = {"conditions": [{**condition, "observedGeneration": number}]}
        world.server.patch(SERVICE, port, {"status": status}, "status")
    world.beat(SERVICE)
    assert world.runs(keeper) == 1


def test_owner_changes(world: Keepers) -> None:
    """A dependent that is given from one object to another runs both."""
    name = unique("cm")
    old, new = world.make(KEEPER, config_map(name)), world.make(KEEPER)
    owner = world.found(KEEPER, new)
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    world.server.patch(CONFIG_MAP, name, {"metadata": {"ownerReferences": [reference]}})
    for keeper in (old, new):
        world.until(keeper, 2)
    world.beat(CONFIG_MAP)
    assert (world.runs(old), world.runs(new)) == (2, 2)


def test_dependent_in_another_namespace(
    world: Keepers, control_plane: controlplane.ControlPlane
) -> None:
    """Where no owner reference can be, the annotations tell whose role is to run."""
    name = unique("far")
    keeper = world.make(KEEPER, config_map(name, namespace=world.other))
    far = api.Api(control_plane.kubeconfig, world.other)
    found = far.get(CONFIG_MAP, name)
    assert found is not None
    primary = f"{world.server.namespace}/{keeper}"
    assert found["metadata"]["annotations"] == {
        children.PRIMARY: primary,
        children.PRIMARY_TYPE: f"Keeper.{api.GROUP}",
    }
    far.patch(CONFIG_MAP, name, {"data": {"a": "by hand"}})
    world.until(keeper, 2)
    far.delete(CONFIG_MAP, name)
    world.until(keeper, 3)
    world.beat(CONFIG_MAP)
    assert world.runs(keeper) == 3


def test_cluster_scoped_dependent(world: Keepers) -> None:
    """One is watched where the watch says so, and only there."""
    names = {kind: unique("e2e-dependents") for kind in (KEEPER, WIDER)}
    owners = {kind: world.make(kind, cluster_role(name)) for kind, name in names.items()}
    try:
        for name in names.values():
            world.server.patch(CLUSTER_ROLE, name, {"metadata": {"labels": {"by": "hand"}}})
        world.until(owners[WIDER], 2)
        world.beat(CONFIG_MAP)
        assert {kind.kind: world.runs(name) for kind, name in owners.items()} == {
            "Keeper": 1,
            "Wider": 2,
        }
    finally:
        for name in names.values():
            world.server.delete(CLUSTER_ROLE, name)


@pytest.mark.case("W16")
@pytest.mark.parametrize("kind", [BLIND, PICKY], ids=lambda kind: kind.kind)
def test_what_a_watch_does_not_want(world: Keepers, kind: api.Kind) -> None:
    """Kinds on the blacklist never trigger, nor does any where watchDependentResources is false."""
    name = unique("port")
    owner = world.make(kind, service(name))
    owned = "ownerReferences" in world.found(SERVICE, name)["metadata"]
    assert owned is (kind is BLIND), "nothing is injected into kinds of the blacklist"
    world.server.patch(SERVICE, name, {"spec": {"selector": {"app": "hand"}}})
    world.server.delete(SERVICE, name)
    world.beat(SERVICE)
    assert world.runs(owner) == 1
    said = [entry for entry in world.operator.logs if entry.get("msg") == "watching dependents"]
    assert not [entry for entry in said if kind.kind in entry["owners"]]


@pytest.mark.case("E2")
def test_fight_over_a_dependent(world: Keepers) -> None:
    """A role and a second writer: slowed down, named in condition and log; an edit ends it."""
    name, stop = unique("cm"), threading.Event()
    keeper = world.make(KEEPER, config_map(name))

    def fight() -> None:
        while not stop.wait(0.3):
            if world.found(CONFIG_MAP, name)["data"]["a"] == "1":
                world.server.patch(CONFIG_MAP, name, {"data": {"a": "mine"}})

    rival = threading.Thread(target=fight)
    rival.start()
    try:
        said = world.operator.wait_for_log(
            lambda e: e["level"] == "warn" and e.get("child", "").endswith(f"/{name}"), PATIENCE
        )
    finally:
        stop.set()
        rival.join()
    assert said["logger"] == "loopguard"
    assert said["child_kind"] == "ConfigMap"
    assert said["object"].endswith(f"/{keeper}")
    assert said["managers_of_others"]
    assert said["managers_of_the_role"]

    def looping(obj: api.Obj) -> bool:
        found = api.condition(obj, "LoopDetected")
        return bool(found) and found["status"] == "True" and f"/{name}" in found["message"]

    world.server.until(KEEPER, keeper, looping, seconds=PATIENCE)
    world.server.patch(KEEPER, keeper, {"spec": {"edited": True}})
    world.operator.wait_for_log(
        lambda e: "no longer wait" in str(e) and e.get("object", "").endswith(f"/{keeper}"),
        PATIENCE,
    )
    world.server.until(KEEPER, keeper, lambda obj: api.settled(obj) and not looping(obj))


def test_restart_of_the_operator(
    control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """After a restart a role that only looks at its dependents is enough to watch them again."""
    names = unique("cm"), unique("keeper")
    with keepers(control_plane, tmp_path, namespace) as first:
        first.server.create(KEEPER, names[1], spec={"wanted": [config_map(names[0])]})
        first.server.until(KEEPER, names[1], api.successful, seconds=PATIENCE)
        looked = [{"apiVersion": "v1", "kind": "ConfigMap", "name": names[0]}]
        first.server.patch(KEEPER, names[1], {"spec": {"wanted": [], "looked": looked}})
        first.until(names[1], 2)
        first.server.until(KEEPER, names[1], api.successful, seconds=PATIENCE)
    with keepers(control_plane, tmp_path, namespace) as second:
        second.until(names[1], 3)
        second.operator.wait_for_log(lambda e: e.get("msg") == "watching dependents", PATIENCE)
        second.server.delete(CONFIG_MAP, names[0])
        second.until(names[1], 4)


def test_missing_rights_to_watch(
    control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Where dependents may not be listed the role runs all the same; one warning has the rule."""
    admin = api.Api(control_plane.kubeconfig, namespace)
    account = unique("limited")
    kubeconfig = control_plane.service_account_kubeconfig(namespace, account, tmp_path / "k")
    writes = ["get", "create", "patch"]
    rules = [
        {"apiGroups": [api.GROUP], "resources": ["*"], "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": writes},
    ]
    admin.create(ROLE, account, rules=rules)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account}
    admin.create(BINDING, account, subjects=[subject], roleRef=role)
    with keepers(control_plane, tmp_path, namespace, kubeconfig=kubeconfig) as found:
        name = unique("cm")
        keeper = found.make(KEEPER, config_map(name))
        assert api.successful(found.found(KEEPER, keeper))

        def warnings() -> list[dict[str, Any]]:
            logs = found.operator.logs
            return [e for e in logs if e.get("level") == "warn" and "configmaps" in str(e)]

        said = found.operator.wait_for_log(lambda e: e in warnings(), PATIENCE)
        for word in ("list", "watch", "configmaps"):
            assert word in str(said)
        found.make(KEEPER, config_map(unique("cm")))
        assert len(warnings()) == 1
