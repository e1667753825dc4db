"""The clusters of this user on this machine, by name: one private directory each."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ansible_operator.testing import components, credentials, errors, lock

DEFAULT_NAME = "default"

# Phases of a cluster.
BOOTING = "booting"
READY = "ready"
STOPPING = "stopping"
FAILED = "failed"
DEAD = "dead"


@dataclass(frozen=True, slots=True)
class State:
    """What a supervisor last said. ``started`` is in seconds since the epoch, pids by program."""

    name: str
    phase: str
    pid: int
    server: str = ""
    message: str = ""
    started: float = 0.0
    boot_seconds: float = 0.0
    exported: str = ""
    ports: Mapping[str, int] = field(default_factory=dict)
    pids: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def root() -> Path:
    """The directory of all clusters of this user; made on first use, for this user alone.

    Raises ControlPlaneError when somebody else owns it.
    """
    directory = Path(tempfile.gettempdir()) / f"ansible-operator-control-plane-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise errors.ControlPlaneError(
            f"{directory} is not a directory that only you can use; it would hold credentials. "
            "Remove it or set TMPDIR to a directory of your own."
        )
    return directory


def layout(name: str) -> components.Layout:
    """Where the cluster of this name lives or would live. Raises ControlPlaneError."""
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name) or len(name) > 60:
        raise errors.ControlPlaneError(
            f"{name!r} is not a good name for a cluster: use at most 60 lower-case letters, "
            "digits, dots and dashes, with a letter or digit at both ends."
        )
    return components.Layout(root() / name)


def names() -> list[str]:
    """All clusters that have a directory, running or not."""
    return sorted(path.name for path in root().iterdir() if path.is_dir())


def claim(name: str) -> tuple[components.Layout, int]:
    """Take the name for this process: an empty directory and the descriptor of its lock.

    What a dead cluster left is removed first. Raises ControlPlaneError if the cluster runs.
    """
    place = layout(name)
    with _alone():
        _sweep(names())
        place.home.mkdir(mode=0o700, exist_ok=True)
        descriptor = lock.take(place.lock)
    if descriptor is None:
        raise errors.ControlPlaneError(
            f"a control plane named {name!r} runs already (see `scripts/control-plane status`). "
            f"Choose another --name, or stop it: scripts/control-plane down --name {name}"
        )
    return place, descriptor


def sweep(name: str) -> None:
    """Remove what this cluster left, if its supervisor is gone."""
    with _alone():
        _sweep([name])


def remove(place: components.Layout) -> None:
    """Remove a cluster's directory and the kubeconfig that it wrote elsewhere."""
    state = read(place)
    if state is not None and state.exported:
        unexport(Path(state.exported))
    shutil.rmtree(place.home, ignore_errors=True)


def read(place: components.Layout) -> State | None:
    """What the supervisor last said; None when it said nothing yet."""
    try:
        return State(**json.loads(place.state.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def write(place: components.Layout, state: State) -> None:
    """Say it, for other processes to read."""
    credentials.write_private(place.state, json.dumps(asdict(state), indent=2) + "\n")


def check_export(path: Path) -> None:
    """Raise ControlPlaneError unless a kubeconfig may be written there."""
    try:
        ours = credentials.MARK in path.read_text()
    except FileNotFoundError:
        ours = path.parent.is_dir()
        if not ours:
            raise errors.ControlPlaneError(
                f"--kubeconfig {path}: there is no directory {path.parent}; make it first."
            ) from None
    except (OSError, ValueError):
        ours = False
    if not ours:
        raise errors.ControlPlaneError(
            f"--kubeconfig {path}: this file exists and was not written by control-plane; it is "
            "not overwritten. Name another file."
        )


def unexport(path: Path) -> None:
    """Remove a kubeconfig that was written for a cluster, unless something else is there now."""
    try:
        if credentials.MARK in path.read_text():
            path.unlink()
    except (OSError, ValueError):
        return


def _alone() -> contextlib.AbstractContextManager[None]:
    # A sweep must not see the directory of a claim that has not taken its lock yet.
    return lock.waiting(root() / ".lock", "the list of control planes", lambda line: None)


def _sweep(candidates: Sequence[str]) -> None:
    for name in candidates:
        place = layout(name)
        descriptor = lock.take(place.lock) if place.home.exists() else None
        if descriptor is not None:
            remove(place)
            os.close(descriptor)
