"""The build, driven by a stand-in for Go: order, progress, resumption, failure."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from ansible_operator.testing import build, errors, lock

PROGRAMS = (
    build.Program("one", "example.org/cmd/one", "1.0"),
    build.Program("two", "example.org/cmd/two", "2.0", module="example.org"),
)

# Answers what the build asks Go for, appends each call to $CALLS, and fails once on $FAIL.
GO = r"""#!/bin/sh
echo "$1 GOFLAGS=$GOFLAGS $*" >> "$CALLS"
if [ -n "$FAIL" ] && [ "$1" = "$FAIL" ]; then echo "example.org/lib: it broke" >&2; exit 1; fi
last=$(for last; do :; done; echo "$last")
case "$1" in
env) echo go1.99.1 ;;
mod) echo "{\"Dir\": \"$PWD\"}" ;;
list) echo example.org/lib; echo "$last" ;;
build)
  echo example.org/lib >&2; echo "$last" >&2
  while [ "$1" != "-o" ]; do shift; done
  echo built > "$2"; chmod 755 "$2" ;;
install)
  echo example.org/cmd/two >&2
  echo built > "$GOBIN/two"; chmod 755 "$GOBIN/two" ;;
esac
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose Go is the stand-in."""
    directory = tmp_path / "path"
    directory.mkdir()
    (directory / "go").write_text(GO)
    (directory / "go").chmod(0o755)
    path = f"{directory}{os.pathsep}{os.defpath}"
    return {"PATH": path, "CALLS": str(tmp_path / "calls"), "GOFLAGS": "-mod=vendor"}


def calls(environ: dict[str, str]) -> list[str]:
    """The Go commands that were run, first words only."""
    return [line.split()[0] for line in Path(environ["CALLS"]).read_text().splitlines()]


def test_build_fills_the_cache_and_counts_packages(tmp_path: Path, environ: dict[str, str]) -> None:
    """Programs and stamps arrive, progress counts packages, the user's GOFLAGS do not matter."""
    cache = tmp_path / "cache" / "1"
    lines: list[str] = []
    build.build(PROGRAMS, cache, "9.9.9", environ, lines.append)
    assert all(build.is_current(cache, item) for item in PROGRAMS)
    assert sorted(path.name for path in cache.iterdir()) == [
        *(".lock", "one", "one.version", "two", "two.version")
    ]
    assert calls(environ) == ["env", "mod", "mod", "list", "list", "build", "install"]
    assert any("compiling one: 0 of 3 packages done" in line for line in lines)
    assert any("compiling two: 2 of 3 packages done" in line for line in lines)
    text = Path(environ["CALLS"]).read_text()
    assert "vendor" not in text
    assert "gitVersion=v9.9.9" in text
    assert "example.org/cmd/two@v2.0" in text


def test_failure_tells_the_compiler_s_words_and_the_way_out(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """A failing build names what Go said; what was finished before is kept and not built again."""
    cache = tmp_path / "cache" / "1"
    environ["FAIL"] = "install"
    with pytest.raises(errors.ControlPlaneError) as caught:
        build.build(PROGRAMS, cache, "9.9.9", environ, lambda line: None)
    assert "example.org/lib: it broke" in str(caught.value)
    assert "scripts/control-plane build" in str(caught.value)
    assert build.is_current(cache, PROGRAMS[0])
    assert not build.is_current(cache, PROGRAMS[1])
    assert not list(cache.glob(".building-*"))

    del environ["FAIL"]
    Path(environ["CALLS"]).unlink()
    build.build(PROGRAMS, cache, "9.9.9", environ, lambda line: None)
    assert build.is_current(cache, PROGRAMS[1])
    assert "build" not in calls(environ)


def test_leftovers_of_a_killed_build_are_removed(tmp_path: Path, environ: dict[str, str]) -> None:
    """A half-written program is never used and does not stay."""
    cache = tmp_path / "cache" / "1"
    half = cache / ".building-abc" / "one"
    half.parent.mkdir(parents=True)
    half.write_text("half")
    build.build(PROGRAMS[:1], cache, "9.9.9", environ, lambda line: None)
    assert not half.parent.exists()
    assert (cache / "one").read_text() == "built\n"


def test_second_builder_waits_and_builds_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    """While one builds the other says for whom it waits, and finds everything done."""
    cache = tmp_path / "cache" / "1"
    cache.mkdir(parents=True)
    waiting = threading.Event()
    lines: list[str] = []

    def report(line: str) -> None:
        lines.append(line)
        waiting.set()

    arguments = (PROGRAMS[:1], cache, "9.9.9", environ, report)
    with lock.waiting(cache / ".lock", "the lock on the build", lambda line: None):
        second = threading.Thread(target=build.build, args=arguments)
        second.start()
        assert waiting.wait(30)
        (cache / "one").write_text("built by the first")
        (cache / "one").chmod(0o755)
        (cache / "one.version").write_text("1.0")
    second.join(30)
    assert not second.is_alive()
    assert f"waiting for process {os.getpid()}, which has the lock on the build" in lines[0]
    assert not Path(environ["CALLS"]).exists()


def test_without_a_checkout_the_message_names_the_alternative(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed package has no go.mod to build from and says what to set instead."""
    monkeypatch.setattr(build, "SOURCE", tmp_path / "nowhere")
    with pytest.raises(errors.ControlPlaneError, match="KUBEBUILDER_ASSETS"):
        build.build(PROGRAMS, tmp_path / "cache", "9.9.9", environ, lambda line: None)
