"""The pytest plugin: ``--control-plane``, and fixtures to test operators with (docs/testing.md).

It is loaded by every pytest run in an environment that has ansible-operator, so it imports what it
needs only when a test asks for a fixture.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ansible_operator.testing import controlplane, launcher, operator, waiting

SANDBOX = "sandbox"
REAL = "real"

_OPERATORS: pytest.StashKey[list[operator.Operator]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--control-plane`` and ``--reuse-control-plane``."""
    group = parser.getgroup("ansible-operator")
    group.addoption(
        "--control-plane",
        choices=(SANDBOX, REAL),
        default=SANDBOX,
        help="what the fixture control_plane starts: sandbox = the Kubernetes API from the memory "
        "of a process; real = etcd, kube-apiserver and the rest as processes on loopback "
        "(default: %(default)s)",
    )
    group.addoption(
        "--reuse-control-plane",
        metavar="NAME",
        default="",
        help="with --control-plane=real: use the one that `scripts/control-plane up` keeps running "
        "under this name instead of starting another",
    )


def pytest_report_header(config: pytest.Config) -> str:
    """Which control plane the tests of this run get."""
    kind = config.getoption("--control-plane")
    running = config.getoption("--reuse-control-plane") if kind == REAL else ""
    return f"control plane: {kind}" + (f" (the running one named {running})" if running else "")


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[controlplane.ControlPlane]:
    """A sandbox for the whole session, whatever ``--control-plane`` says; it ends with it."""
    from ansible_operator.testing import errors, sandboxes

    with contextlib.ExitStack() as stack:
        try:
            found = stack.enter_context(sandboxes.started(tmp_path_factory.mktemp("sandbox")))
        except errors.ControlPlaneError as error:
            pytest.fail(f"no sandbox: {error}", pytrace=False)
        yield found


@pytest.fixture(scope="session")
def control_plane(request: pytest.FixtureRequest) -> controlplane.ControlPlane:
    """The control plane that ``--control-plane`` names, for the whole session, with RBAC.

    It is never a reason to skip: what is missing is built, or in CI (``CI`` is set) is a failure.
    """
    kind = request.config.getoption("--control-plane")
    name = "sandbox" if kind == SANDBOX else "_real_control_plane"
    found: controlplane.ControlPlane = request.getfixturevalue(name)
    return found


@pytest.fixture
def namespace(control_plane: controlplane.ControlPlane) -> Iterator[str]:
    """The name of a fresh namespace; it is deleted after the test."""
    name = control_plane.create_namespace()
    yield name
    control_plane.delete_namespace(name)


@pytest.fixture(scope="session")
def kubectl(control_plane: controlplane.ControlPlane) -> Callable[..., str]:
    """Call it with kubectl's arguments; it returns what kubectl printed.

    It has the administrator's kubeconfig and a home directory of its own. Where there is no
    kubectl the test fails.
    """
    from ansible_operator.testing import errors

    try:
        control_plane.kubectl  # noqa: B018 - raises if there is none
    except errors.ControlPlaneError as error:
        pytest.fail(str(error), pytrace=False)
    return control_plane.run_kubectl


@pytest.fixture(scope="session")
def wait_for(control_plane: controlplane.ControlPlane) -> waiting.WaitFor:
    """Call it with a condition and an object, or with a function; see ``waiting.WaitFor``."""
    from ansible_operator.testing import waiting

    return waiting.WaitFor(control_plane)


@pytest.fixture
def run_operator(
    request: pytest.FixtureRequest, control_plane: controlplane.ControlPlane, tmp_path: Path
) -> Iterator[launcher.Launcher]:
    """Call it to run an operator until the end of the test; see ``launcher.Launcher``."""
    from ansible_operator.testing import launcher

    with contextlib.ExitStack() as stack:
        root = request.config.rootpath
        run = launcher.Launcher(control_plane.kubeconfig, root, tmp_path, stack)
        request.node.stash[_OPERATORS] = run.started
        yield run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the end of the log of each operator that it ran."""
    report = yield
    started = item.stash.get(_OPERATORS, None) or []
    if report.failed and report.when == "call":
        for number, running in enumerate(started, 1):
            report.sections.append((f"Operator {number}", running.explain("was still needed")))
    return report


@pytest.fixture(scope="session")
def _real_control_plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[controlplane.ControlPlane]:
    from ansible_operator.testing import binaries, cluster, errors, supervisor

    scratch = tmp_path_factory.mktemp("control-plane")
    if running := request.config.getoption("--reuse-control-plane"):
        yield _reused(running, scratch)
        return
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
        state = cluster.start(order, os.environ, _reporter(request.config))
    except errors.ControlPlaneError as error:
        pytest.fail(f"no control plane: {error}", pytrace=False)
    try:
        yield _held(name, state.server, audit_log, scratch)
    finally:
        cluster.stop(name)


def _reused(name: str, scratch: Path) -> controlplane.ControlPlane:
    from ansible_operator.testing import registry

    state = registry.read(registry.layout(name))
    if state is None:
        pytest.fail(f"no control plane {name} is running: scripts/control-plane up", pytrace=False)
    return _held(name, state.server, scratch / "no-audit.log", scratch)


def _held(name: str, server: str, audit_log: Path, scratch: Path) -> controlplane.ControlPlane:
    from ansible_operator.testing import controlplane, registry

    place = registry.layout(name)
    return controlplane.ControlPlane(
        kubeconfig=place.kubeconfig,
        server=server,
        ca_file=place.ca,
        binaries=place.binaries,
        audit_log=audit_log,
        scratch=scratch,
    )


def _reporter(config: pytest.Config) -> Callable[[str], None]:
    """Progress goes past pytest's capturing: a build takes minutes and must not look dead."""
    capture = config.pluginmanager.getplugin("capturemanager")

    def report(line: str) -> None:
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            print(line, file=sys.stderr, flush=True)

    return report
