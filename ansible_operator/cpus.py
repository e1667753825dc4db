"""How many CPUs this process may use."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def effective(cgroups: Path = _CGROUPS, membership: Path = _MEMBERSHIP) -> int:
    """CPUs of this process: its affinity, limited by the quotas of its control groups (v2).

    A quota of one and a half CPUs counts as two. The result is at least 1.
    """
    quotas = [quota for path in _groups(cgroups, membership) if (quota := _quota(path)) is not None]
    return max(1, min([_affinity(), *(math.ceil(quota) for quota in quotas)]))


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _groups(cgroups: Path, membership: Path) -> Iterator[Path]:
    """The directory of this process's control group and those above it."""
    own = Path()
    for line in _text(membership).splitlines():
        if line.startswith("0::/"):
            own = Path(line[4:])
    yield cgroups / own
    for parent in own.parents:
        yield cgroups / parent


def _quota(group: Path) -> float | None:
    quota, _, period = _text(group / "cpu.max").partition(" ")
    try:
        return int(quota) / int(period)
    except (ValueError, ZeroDivisionError):  # "max 100000", or no such file
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
