"""The operator of tests/e2e/orders, and what its tests ask of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import api
from conftest import World, environment, install_crds

from ansible_operator.testing import controlplane, operator

PROJECT = Path(__file__).parent / "orders"
ORDERED = api.kind("Ordered")


@contextlib.contextmanager
def running(
    plane: controlplane.ControlPlane, namespace: str, directory: Path, *arguments: str
) -> Iterator[World]:
    """An operator with its CRDs; ``directory`` keeps what its playbooks write down."""
    install_crds(plane, PROJECT / "crds")
    runner_dir = directory / "runner"
    runner_dir.mkdir(mode=0o700, exist_ok=True)
    told = [
        f"--runner-dir={runner_dir}",
        "--retry-base-delay=500ms",
        "--retry-max-delay=1s",
        "--zap-log-level=debug",
        *arguments,
    ]
    env = environment(directory, namespace)
    with operator.run_operator(PROJECT, plane.kubeconfig, *told, env=env) as started:
        yield World(api.Api(plane.kubeconfig, namespace), started, directory)


def serve_another(world: World, name: str) -> None:
    """An object that is made and run now: what was asked for before it has been served by then."""
    world.api.create(ORDERED, name)
    world.api.until(ORDERED, name, api.successful)
