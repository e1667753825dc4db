"""Objects of twelve kinds that a role makes: owned, watched, and gone with their owner.

Two objects of the watched kind are there, so that it shows whose role runs. Runs are counted over
the whole module: one too many of any test is found by the next one, or at the end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api
import conftest
import pytest
import sample

from ansible_operator import objects
from ansible_operator.testing import controlplane, operator

pytestmark = pytest.mark.timeout(sample.TIMEOUT)

PROJECT = Path(__file__).parent / "ownership"
WHOLE, PART = api.kind("Whole"), api.kind("Part")
CONFIGMAP = api.Kind("v1", "ConfigMap", "configmaps")
RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER_ROLE = api.Kind(RBAC, "ClusterRole", "clusterroles", False)
CLUSTER_BINDING = api.Kind(RBAC, "ClusterRoleBinding", "clusterrolebindings", False)
CHANGES: list[tuple[api.Kind, api.Obj]] = [
    (CONFIGMAP, {"data": {"a": "2"}}),
    (api.SECRET, {"data": {"a": "Mg=="}}),
    (
        api.Kind("v1", "ServiceAccount", "serviceaccounts"),
        {"automountServiceAccountToken": True},
    ),
    (api.Kind("v1", "Service", "services"), {"spec": {"selector": {"app": "other"}}}),
    (api.Kind("apps/v1", "Deployment", "deployments"), {"spec": {"replicas": 2}}),
    (
        api.Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
        {"spec": {"minAvailable": 0}},
    ),
    (
        api.Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
        {"spec": {"podSelector": {"matchLabels": {"app": "other"}}}},
    ),
    (api.Kind(RBAC, "Role", "roles"), {"rules": []}),
    (api.Kind(RBAC, "RoleBinding", "rolebindings"), {"subjects": []}),
    (PART, {"spec": {"size": 2}}),
    (CLUSTER_ROLE, {"rules": []}),
    (CLUSTER_BINDING, {"subjects": []}),
]
CLUSTER_WIDE = (CLUSTER_ROLE, CLUSTER_BINDING)
IDS = [kind.kind for kind, _ in CHANGES]


class World:
    """An operator, and objects whose roles have run; ``counted`` is how often each should have."""

    def __init__(self, server: api.Api, record: Path) -> None:
        self.api = server
        self.record = record
        self.counted: dict[str, int] = {}

    def runs(self) -> dict[str, int]:
        """How often the role of each object has begun."""
        return {
            path.name.removeprefix("Whole."): len(path.read_text().splitlines())
            for path in self.record.iterdir()
        }

    def expect(self, *names: str) -> None:
        """Wait for one more run of each of these, and for their ends."""
        for name in names:
            self.counted[name] = self.counted.get(name, 0) + 1
        deadline = time.monotonic() + 90.0
        while any(self.runs().get(name, 0) < self.counted[name] for name in names):
            assert time.monotonic() < deadline, f"{self.runs()}, not {self.counted}"
            time.sleep(0.1)
        for name in names:
            self.api.until(WHOLE, name, api.successful)

    def settle(self) -> None:
        """What is due runs before what comes last; then runs are as many as they should be."""
        self.api.create(WHOLE, "last", spec={})
        self.expect("last")
        self.forget("last")
        assert self.runs() == self.counted

    def forget(self, name: str) -> None:
        """Remove an object with all that is its own."""
        self.api.delete(WHOLE, name)
        self.api.until_gone(WHOLE, name)
        for kind in CLUSTER_WIDE:
            self.api.delete(kind, self.child(kind, name))

    def child(self, kind: api.Kind, name: str) -> str:
        """The name of a child; those of the whole cluster have the namespace in it."""
        return name if kind.namespaced else f"{self.api.namespace}-{name}"


@pytest.fixture(scope="module")
def world(
    control_plane: controlplane.ControlPlane,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """The operator of tests/e2e/ownership in all namespaces, and two objects."""
    conftest.install_crds(control_plane, PROJECT / "crds")
    record, runner = tmp_path_factory.mktemp("record"), tmp_path_factory.mktemp("runner")
    runner.chmod(0o700)
    found = World(api.Api(control_plane.kubeconfig, module_namespace), record)
    environ = conftest.environment(record, module_namespace, WATCH_NAMESPACE="")
    arguments = [f"--runner-dir={runner}", "--max-concurrent-reconciles=2"]
    with operator.run_operator(PROJECT, control_plane.kubeconfig, *arguments, env=environ):
        for name in ("first", "second"):
            found.api.create(WHOLE, name, spec={})
        found.expect("first", "second")
        yield found
        for name in ("first", "second"):
            found.forget(name)


def test_all_are_owned(world: World) -> None:
    """By reference in the namespace, by the two annotations beyond it; one run made them."""
    owner = world.api.get(WHOLE, "first")
    assert owner is not None
    reference = {
        "apiVersion": WHOLE.api_version,
        "kind": "Whole",
        "name": "first",
        "uid": objects.uid(owner),
    }
    annotations = {
        "operator-sdk/primary-resource": f"{world.api.namespace}/first",
        "operator-sdk/primary-resource-type": "Whole.test.example.com",
    }
    for kind, _ in CHANGES:
        child = world.api.get(kind, world.child(kind, "first"))
        assert child is not None, kind
        found = child["metadata"].get("ownerReferences", [])
        assert found == ([reference] if kind.namespaced else []), kind
        if not kind.namespaced:
            assert objects.annotations(child).items() >= annotations.items(), kind
    assert world.runs() == world.counted


@pytest.mark.parametrize(("kind", "change"), CHANGES, ids=IDS)
def test_child(world: World, kind: api.Kind, change: dict[str, Any]) -> None:
    """A changed and a deleted child run the roles of their owners once, which put them right."""
    changed, deleted = world.child(kind, "first"), world.child(kind, "second")
    before, lost = world.api.get(kind, changed), world.api.get(kind, deleted)
    assert before is not None
    assert lost is not None
    world.api.patch(kind, changed, change)
    world.api.delete(kind, deleted)
    world.expect("first", "second")
    world.api.until(kind, changed, lambda obj: content(obj) == content(before))
    world.api.until(kind, deleted, lambda obj: objects.uid(obj) != objects.uid(lost))
    assert world.runs() == world.counted


def test_deletion_of_the_owner(world: World) -> None:
    """None of the children in its namespace is left; those beyond it stay, and say whose."""
    world.api.create(WHOLE, "third", spec={})
    world.expect("third")
    world.api.delete(WHOLE, "third")
    world.api.until_gone(WHOLE, "third")
    for kind, _ in CHANGES:
        if kind.namespaced:
            world.api.until_gone(kind, "third")
    for kind in CLUSTER_WIDE:
        left = world.api.get(kind, world.child(kind, "third"))
        assert left is not None
        assert objects.annotations(left)["operator-sdk/primary-resource"].endswith("/third")
    world.forget("third")
    world.settle()


def content(obj: api.Obj) -> api.Obj:
    """An object without what the server counts and writes."""
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}
