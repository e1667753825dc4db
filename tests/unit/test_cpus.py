"""The CPUs of this process, with quotas of control groups made of plain files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_operator import cpus

AFFINITY = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _group(root: Path, own: str, quotas: dict[str, str]) -> tuple[Path, Path]:
    for name, quota in quotas.items():
        path = root / "cgroup" / name / "cpu.max"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(quota)
    membership = root / "membership"
    membership.write_text(own)
    return root / "cgroup", membership


@pytest.mark.parametrize(
    ("own", "quotas", "expected"),
    [
        ("0::/pod/app\n", {"pod/app": "50000 100000"}, 1),
        ("0::/\n", {".": "100000 100000"}, 1),
        ("1:cpu:/x\n0::/pod/app\n", {"pod": "100000 100000", "pod/app": "max 100000"}, 1),
        ("0::/pod\n", {"pod": "max 100000"}, AFFINITY),
        ("0::/pod\n", {"pod": "100000000 100000"}, AFFINITY),
        ("0::/pod\n", {"pod": "rubbish"}, AFFINITY),
        ("0::/pod\n", {"pod": "100000 0"}, AFFINITY),
        ("", {}, AFFINITY),
    ],
)
def test_quota(tmp_path: Path, own: str, quotas: dict[str, str], expected: int) -> None:
    """The smallest quota of the group and those above it holds, rounded up; else the affinity."""
    assert cpus.effective(*_group(tmp_path, own, quotas)) == expected


def test_one_and_a_half_is_two(tmp_path: Path) -> None:
    """A quota is rounded up."""
    groups = _group(tmp_path, "0::/pod\n", {"pod": "150000 100000"})
    assert cpus.effective(*groups) == min(2, AFFINITY or 1)


def test_no_control_groups(tmp_path: Path) -> None:
    """Without any of the files it is the affinity."""
    assert cpus.effective(tmp_path / "no", tmp_path / "none") == AFFINITY


def test_this_machine() -> None:
    """The real files of this machine give at least one CPU."""
    assert 1 <= cpus.effective() <= (os.cpu_count() or 1)
