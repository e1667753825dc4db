"""What is kept of finished runs."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import structlog

from ansible_operator.ansible import artifacts, inputdir

CONTENT = inputdir.Content({})
numbers: Iterator[int] = count()


def finish(store: artifacts.Store, directory: Path, keep: int, size: int = 10) -> Path | None:
    """A run that wrote ``size`` bytes of artifacts and is over."""
    with inputdir.create(directory, f"job{next(numbers):04}", CONTENT) as run:
        run.artifacts.mkdir()
        (run.artifacts / "stdout").write_text("x" * size)
        return store.keep(run, keep)


def kept(directory: Path) -> list[str]:
    """The artifacts of an object, without ``latest``."""
    return sorted(p.name for p in (directory / "artifacts").glob("*") if not p.is_symlink())


@pytest.mark.parametrize(("keep", "left"), [(1, 1), (2, 2), (3, 3), (20, 5), (-1, 5)])
def test_newest_are_kept(tmp_path: Path, keep: int, left: int) -> None:
    """The newest n stay, ``latest`` shows the newest and does not count; negative keeps all."""
    store = artifacts.Store(tmp_path, 1 << 20)
    paths = [finish(store, tmp_path / "one", keep) for _ in range(5)]
    assert kept(tmp_path / "one") == [p.name for p in paths[-left:] if p]
    assert (tmp_path / "one" / "artifacts" / "latest").resolve() == paths[-1]
    assert (tmp_path / "one" / "artifacts" / "latest" / "stdout").stat().st_size == 10


def test_zero_keeps_none(tmp_path: Path) -> None:
    """0 keeps nothing, and drops what was kept before."""
    store = artifacts.Store(tmp_path, 1 << 20)
    finish(store, tmp_path / "one", 3)
    assert finish(store, tmp_path / "one", 0) is None
    assert not (tmp_path / "one" / "artifacts").exists()


def test_bytes_are_limited_over_all_objects(tmp_path: Path) -> None:
    """Past the limit the oldest go first, of whichever object they are."""
    store = artifacts.Store(tmp_path, 100)
    first = finish(store, tmp_path / "one", 20, 40)
    second = finish(store, tmp_path / "two", 20, 40)
    third = finish(store, tmp_path / "two", 20, 40)
    assert first is not None
    assert not first.exists()
    assert not (tmp_path / "one" / "artifacts").exists()
    assert second is not None
    assert third is not None
    assert kept(tmp_path / "two") == [second.name, third.name]
    assert finish(store, tmp_path / "three", 20, 20) is not None  # 100 in all, which is allowed
    assert kept(tmp_path / "two") == [second.name, third.name]


def test_artifact_that_is_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    """An artifact that does not fit by itself is not kept; afterwards all the room is free."""
    store = artifacts.Store(tmp_path, 100)
    assert finish(store, tmp_path / "one", 20, 101) is None
    assert kept(tmp_path / "one") == []
    assert finish(store, tmp_path / "one", 20, 100) is not None


def test_disk_that_keeps_nothing(tmp_path: Path) -> None:
    """Artifacts that cannot be moved are not kept; that is logged, and the next ones are."""
    store = artifacts.Store(tmp_path, 100)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "artifacts").touch()
    with structlog.testing.capture_logs() as captured:
        assert finish(store, tmp_path / "one", 20) is None
    assert captured[0]["event"] == "The artifacts of a run could not be kept"
    assert captured[0]["path"].startswith(f"{tmp_path}/one/artifacts/job")
    assert "File exists" in captured[0]["reason"]
    (tmp_path / "one" / "artifacts").unlink()
    assert finish(store, tmp_path / "one", 20, 100) is not None


def test_link_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Artifacts whose ``latest`` cannot be made are kept all the same, and that is logged."""
    store = artifacts.Store(tmp_path, 100)

    def full(path: Path, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with (
        inputdir.create(tmp_path / "one", "job", CONTENT) as run,
        structlog.testing.capture_logs() as captured,
    ):
        run.artifacts.mkdir()
        monkeypatch.setattr(inputdir, "link", full)
        path = store.keep(run, 20)
    assert path is not None
    assert path.is_dir()
    assert "No space left" in captured[0]["reason"]


def test_run_without_artifacts(tmp_path: Path) -> None:
    """A run that wrote none leaves the others alone."""
    store = artifacts.Store(tmp_path, 1 << 20)
    old = finish(store, tmp_path / "one", 2)
    with inputdir.create(tmp_path / "one", "bare", CONTENT) as run:
        assert store.keep(run, 2) is None
    assert old is not None
    assert (tmp_path / "one" / "artifacts" / "latest").resolve() == old


def test_open_finds_what_an_earlier_operator_kept(tmp_path: Path) -> None:
    """A new store knows age and size of what is there, and removes stale runs."""
    store = artifacts.Store(tmp_path, 1 << 20)
    young = finish(store, tmp_path / "ns" / "one", 20, 40)
    old = finish(store, tmp_path / "ns" / "two", 20, 40)
    assert old is not None
    assert young is not None
    os.utime(old, (1, 1))
    (tmp_path / "ns" / "one" / ".runs" / "dead").mkdir()
    (tmp_path / "ns" / "two" / "artifacts" / "stray").touch()
    again = artifacts.Store(tmp_path, 60)
    assert again.open() == artifacts.Found(artifacts=2, bytes=80, stale_runs=1)
    assert young.exists()
    assert not old.exists()
    assert artifacts.Store(tmp_path, 60).open().bytes == 40


def test_open_an_empty_root(tmp_path: Path) -> None:
    """Nothing there is nothing found."""
    assert artifacts.Store(tmp_path, 1).open() == artifacts.Found(0, 0, 0)


def test_forget_leaves_nothing_of_the_object(tmp_path: Path) -> None:
    """The artifacts and empty directories of a gone object go, a neighbour's stay."""
    store = artifacts.Store(tmp_path, 1 << 20)
    finish(store, tmp_path / "ns" / "one", 20)
    finish(store, tmp_path / "ns" / "two", 20)
    store.forget(tmp_path / "ns" / "one")
    assert [p.name for p in (tmp_path / "ns").iterdir()] == ["two"]
    store.forget(tmp_path / "ns" / "two")
    store.forget(tmp_path / "ns" / "two")
    assert list(tmp_path.iterdir()) == []


def test_forget_while_another_operator_runs(tmp_path: Path) -> None:
    """A run in the same directory goes on undisturbed."""
    store = artifacts.Store(tmp_path, 1 << 20)
    with inputdir.create(tmp_path / "one", "theirs", CONTENT) as run:
        store.forget(tmp_path / "one")
        assert (run.path / "env" / "extravars").exists()
