"""The pytest plugin: ``--control-plane``, and the fixtures ``control_plane`` and ``namespace``.

It is loaded by every pytest run in an environment that has ansible-operator, so it imports what it
needs only when a test asks for a fixture.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ansible_operator.testing import controlplane

KINDS = ("real",)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--control-plane``."""
    group = parser.getgroup("ansible-operator")
    group.addoption(
        "--control-plane",
        choices=KINDS,
        default="real",
        help="what the fixture control_plane starts: real = etcd, kube-apiserver and the rest as "
        "processes on loopback (default: %(default)s)",
    )


@pytest.fixture(scope="session")
def control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[controlplane.ControlPlane]:
    """A control plane for the whole session, with RBAC; it ends with the session.

    It is never a reason to skip: what is missing is built, or in CI (``CI`` is set) is a failure.
    """
    start = {"real": _real}[request.config.getoption("--control-plane")]
    yield from start(request, tmp_path_factory.mktemp("control-plane"))


@pytest.fixture
def namespace(control_plane: controlplane.ControlPlane) -> Iterator[str]:
    """The name of a fresh namespace; it is deleted after the test."""
    name = control_plane.create_namespace()
    yield name
    control_plane.delete_namespace(name)


def _real(request: pytest.FixtureRequest, scratch: Path) -> Iterator[controlplane.ControlPlane]:
    from ansible_operator.testing import (
        binaries,
        cluster,
        controlplane,
        errors,
        registry,
        supervisor,
    )

    report = _reporter(request.config)
    name = f"pytest-{os.getpid()}"
    audit_log = scratch / "audit.log"
    order = supervisor.Order(name, owners=(os.getpid(),), audit_log=audit_log)
    try:
        missing = binaries.find(os.environ).missing
        if missing and os.environ.get("CI"):
            names = ", ".join(program.name for program in missing)
            pytest.fail(
                f"no control plane in CI: {names} missing in the cache. Run "
                "`scripts/control-plane build` before the tests, or set KUBEBUILDER_ASSETS.",
                pytrace=False,
            )
        state = cluster.start(order, os.environ, report)
    except errors.ControlPlaneError as error:
        pytest.fail(f"no control plane: {error}", pytrace=False)
    place = registry.layout(name)
    try:
        yield controlplane.ControlPlane(
            kubeconfig=place.kubeconfig,
            server=state.server,
            ca_file=place.ca,
            binaries=place.binaries,
            audit_log=audit_log,
            scratch=scratch,
        )
    finally:
        cluster.stop(name)


def _reporter(config: pytest.Config) -> Callable[[str], None]:
    """Progress goes past pytest's capturing: a build takes minutes and must not look dead."""
    capture = config.pluginmanager.getplugin("capturemanager")

    def report(line: str) -> None:
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            print(line, file=sys.stderr, flush=True)

    return report
