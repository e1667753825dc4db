"""For all tests: which of them this run can do, and patience with busy machines."""

from __future__ import annotations

import os
from pathlib import Path

import cases
import hypothesis
import pytest

from ansible_operator.testing import binaries

ROOT = Path(__file__).resolve().parents[1]
# As the targets of the Makefile have it; for a bare `pytest`.
os.environ.setdefault(
    "ANSIBLE_COLLECTIONS_PATH", f"{ROOT}/.collections:{ROOT}/ansible_operator/collections"
)

# Generated examples never fail for being slow.
hypothesis.settings.register_profile(
    "unhurried",
    parent=hypothesis.settings.default,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")


def left_out(config: pytest.Config) -> dict[str, str]:
    """The markers of tests that cannot be done here, and why."""
    if config.getoption("--control-plane") == "real":
        return {}
    found = {"real": "they need the real control plane or its programs, --control-plane=real"}
    if not binaries.kubectls(os.environ):
        found["kubectl"] = "there is no kubectl on this machine"
    return found


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is left out."""
    return [f"without the tests marked {mark}: {why}" for mark, why in left_out(config).items()]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is left out; nothing is skipped."""
    marks = left_out(config)
    out = [item for item in items if any(item.get_closest_marker(mark) for mark in marks)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many of the cases of the field reports have a test."""
    terminalreporter.write_line(cases.summary())
