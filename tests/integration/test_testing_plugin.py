"""The pytest plugin and the command line, each as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "control-plane"
TEST = 'def test_it(control_plane):\n    """Never reached."""\n'


def run_pytest(directory: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on one test that wants a control plane, with an empty cache."""
    (directory / "test_it.py").write_text(TEST)
    kept = {key: os.environ[key] for key in os.environ if key not in ("CI", "KUBEBUILDER_ASSETS")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "test_it.py"],
        cwd=directory,
        env={**kept, "XDG_CACHE_HOME": str(directory / "cache"), **env},
        capture_output=True,
        text=True,
    )


def script(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/control-plane without any installed package."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )


def test_missing_programs_are_a_failure_in_ci(tmp_path: Path) -> None:
    """With CI set nothing is built and nothing is skipped."""
    done = run_pytest(tmp_path, CI="true")
    assert done.returncode == 1
    assert "no control plane in CI: etcd, kubectl" in done.stdout
    assert "1 error" in done.stdout
    assert "skipped" not in done.stdout


def test_wrong_assets_are_a_failure_everywhere(tmp_path: Path) -> None:
    """The message of the search is the message of the test."""
    done = run_pytest(tmp_path, KUBEBUILDER_ASSETS=str(tmp_path))
    assert done.returncode == 1
    assert f"KUBEBUILDER_ASSETS={tmp_path}: no executable etcd" in done.stdout


def test_unknown_kind_of_control_plane_is_a_usage_error(tmp_path: Path) -> None:
    """--control-plane takes what there is."""
    done = run_pytest(tmp_path, "--control-plane=imaginary")
    assert done.returncode == 4
    assert "choose from" in done.stderr
    assert "real" in done.stderr


def test_script_without_command_tells_the_commands() -> None:
    """Usage is a matter of exit code 2."""
    done = script()
    assert done.returncode == 2
    assert "COMMAND" in done.stderr


def test_script_tells_bad_names_and_leaves_nothing(tmp_path: Path) -> None:
    """A wrong name ends with code 1 before anything is built or started."""
    done = script("up", "--name", "A/B", TMPDIR=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "control-plane up: 'A/B' is not a good name" in done.stderr


def test_script_lists_nothing_and_stops_nothing(tmp_path: Path) -> None:
    """Without clusters status says how to start one, down is content."""
    assert "up --detach" in script("status", TMPDIR=str(tmp_path)).stderr
    assert script("status", "--json", TMPDIR=str(tmp_path)).stdout == "[]\n"
    done = script("down", TMPDIR=str(tmp_path))
    assert done.returncode == 0
    assert "default was not there" in done.stderr
    assert script("down", "--all", TMPDIR=str(tmp_path)).returncode == 0
