"""What is kept of finished runs: the newest of each object, and a limit on bytes over all.

Artifacts live in ``<object directory>/artifacts/<job>/``; ``latest`` is a symlink to the newest
and never counts. What is there is read once at start and remembered afterwards, so that a run
does not walk the whole tree.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

import structlog

from ansible_operator.ansible import inputdir

ARTIFACTS = "artifacts"
LATEST = "latest"

log = structlog.get_logger("runner")


@dataclass(frozen=True, slots=True)
class Found:
    """What an operator finds at its start: artifacts that were kept, runs that were left over."""

    artifacts: int
    bytes: int
    stale_runs: int


class Store:
    """The kept artifacts below one root. Safe to use from several threads.

    ``max_bytes`` limits the size of all artifacts together; when it is passed, the oldest go
    first, of whichever object they are. An artifact that is larger by itself is not kept.
    """

    def __init__(self, root: Path, max_bytes: int) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._sizes: dict[Path, int] = {}  # artifact -> bytes, oldest first
        self._total = 0

    def open(self) -> Found:
        """Read what is there, remove what dead operators left behind, apply the limit."""
        stale, found = 0, []
        for directory in _object_dirs(self._root):
            stale += inputdir.remove_stale_runs(directory)
            found += _artifacts(directory)
        with self._lock:
            self._sizes = {path: size_of(path) for _, path in sorted(found)}
            self._total = sum(self._sizes.values())
            result = Found(len(self._sizes), self._total, stale)
            self._apply_limit()
        return result

    def keep(self, run: inputdir.RunDir, count: int) -> Path | None:
        """Move the artifacts of a finished run to where they are kept.

        Of the object's artifacts the newest ``count`` stay (0: none, negative: all). Returns the
        new place, or None if this one was not kept. If the disk does not want it, that is logged.
        """
        directory = run.object_dir / ARTIFACTS
        path = directory / run.path.name
        with self._lock:
            if count != 0 and run.artifacts.is_dir():
                self._move(run.artifacts, path)
            if count >= 0:
                mine = [known for known in self._sizes if known.parent == directory]
                for known in mine[: max(0, len(mine) - count)]:
                    self._remove(known)
            self._apply_limit()
            self._point_latest(directory)
            return path if path in self._sizes else None

    def forget(self, directory: Path) -> None:
        """Remove the artifacts of an object that is gone, and its directories if empty."""
        with self._lock:
            for path in [p for p in self._sizes if p.parent == directory / ARTIFACTS]:
                self._remove(path)
            shutil.rmtree(directory / ARTIFACTS, ignore_errors=True)
            inputdir.remove_empty(directory, self._root)

    def _move(self, source: Path, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            source.rename(path)
        except OSError as error:
            log.warning("The artifacts of a run could not be kept", path=str(path),
                        reason=str(error))  # fmt: skip
            return
        self._sizes[path] = size_of(path)
        self._total += self._sizes[path]

    def _apply_limit(self) -> None:
        while self._total > self._max_bytes and self._sizes:
            path = next(iter(self._sizes))
            self._remove(path)
            self._point_latest(path.parent)

    def _remove(self, path: Path) -> None:
        self._total -= self._sizes.pop(path)
        shutil.rmtree(path, ignore_errors=True)

    def _point_latest(self, directory: Path) -> None:
        mine = [path for path in self._sizes if path.parent == directory]
        if mine:
            try:
                inputdir.link(directory / LATEST, mine[-1].name)
            except OSError as error:
                log.warning("The link to the newest artifacts could not be made",
                            path=str(directory / LATEST), reason=str(error))  # fmt: skip
            return
        with contextlib.suppress(OSError):
            (directory / LATEST).unlink(missing_ok=True)
            directory.rmdir()


def size_of(path: Path) -> int:
    """The bytes of all files below ``path``; links are not followed."""
    total = 0
    for parent, _, files in os.walk(path):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def _object_dirs(root: Path) -> list[Path]:
    found = []
    for parent, names, _ in os.walk(root):
        if inputdir.RUNS in names:
            found.append(Path(parent))
            names.clear()
    return found


def _artifacts(directory: Path) -> list[tuple[float, Path]]:
    with contextlib.suppress(FileNotFoundError), os.scandir(directory / ARTIFACTS) as entries:
        return [
            (entry.stat().st_mtime, Path(entry.path))
            for entry in entries
            if entry.is_dir(follow_symlinks=False)
        ]
    return []
