"""One control plane and, for most tests, one operator: the project in tests/e2e/project."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import api
import pytest

from ansible_operator.testing import controlplane, operator

PROJECT = Path(__file__).parent / "project"
LATE_CRD = "late.yaml"


@dataclass(frozen=True)
class World:
    """An operator at work in a namespace of its own, and what its playbooks write down."""

    api: api.Api
    operator: operator.Operator
    record: Path

    def lines(self, kind: str, name: str) -> list[str]:
        """One line per run of this object, oldest first."""
        path = self.record / f"{kind}.{name}"
        return path.read_text().splitlines() if path.exists() else []


def install_crds(plane: controlplane.ControlPlane, directory: Path, *, but: str = "") -> None:
    """Apply the CRDs of a directory; their kinds are served when it returns."""
    for path in sorted(directory.glob("*.yaml")):
        if path.name != but:
            plane.apply(path)


def environment(record: Path, namespace: str, **more: str) -> dict[str, str]:
    """The environment of an operator under test."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ANSIBLE_", "K8S_AUTH_"))}
    own = {"RECORD": str(record), "WATCH_NAMESPACE": namespace, "ANSIBLE_GATHERING": "explicit"}
    return inherited | own | more


@pytest.fixture(scope="module")
def module_namespace(control_plane: controlplane.ControlPlane) -> Iterator[str]:
    """A namespace for the tests of one module."""
    server = api.Api(control_plane.kubeconfig, "")
    namespaces = api.Kind("v1", "Namespace", "namespaces", False)
    name = f"e2e-{uuid.uuid4().hex[:8]}"
    server.create(namespaces, name)
    yield name
    server.delete(namespaces, name)


@pytest.fixture(scope="module")
def world(
    control_plane: controlplane.ControlPlane,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """The operator of tests/e2e/project, all of its CRDs but Late installed."""
    install_crds(control_plane, PROJECT / "crds", but=LATE_CRD)
    record = tmp_path_factory.mktemp("record")
    runner_dir = tmp_path_factory.mktemp("runner")
    runner_dir.chmod(0o700)
    arguments = [f"--runner-dir={runner_dir}", "--retry-base-delay=500ms", "--retry-max-delay=2s"]
    env = environment(record, module_namespace)
    with operator.run_operator(PROJECT, control_plane.kubeconfig, *arguments, env=env) as running:
        yield World(api.Api(control_plane.kubeconfig, module_namespace), running, record)
