"""The pytest plugin and the command line, each as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "control-plane"
TEST = 'def test_it(control_plane):\n    """Never reached."""\n'

# A project as users have it, and tests that use every fixture on the sandbox.
FIXTURES = '''
import os

WATCH = {"version": "v1", "group": "", "kind": "ConfigMap", "playbook": "play.yml"}
WATCH["manageStatus"] = False
TEXT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"


def test_objects(control_plane, sandbox, namespace, wait_for):
    """What is applied is there, is patched, and goes."""
    assert control_plane is sandbox
    [made] = control_plane.apply(TEXT, namespace=namespace)
    assert made["metadata"]["namespace"] == namespace
    control_plane.patch(made, {"data": {"key": "value"}})
    assert wait_for(lambda found: found.get("data"), made)["data"] == {"key": "value"}
    assert control_plane.apply(control_plane.find(made)) != []
    control_plane.delete(made)
    assert wait_for("deleted", made) is None
    assert control_plane.get("v1", "ConfigMap", "a", namespace) is None


def test_operators(control_plane, namespace, run_operator):
    """Two of them run side by side, from Python values and from a file."""
    operators = [
        run_operator(watches=[WATCH], namespace=namespace, env={"GREETING": "hello"}),
        run_operator(watches="watches.yaml", namespace=namespace),
    ]
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}}
    control_plane.apply(body, namespace=namespace)
    for running, word in zip(operators, ("hello", "nothing")):
        running.wait_for_log(lambda entry: f"greeting is {word}" in str(entry))


def test_failure(run_operator):
    """Its report shows the log."""
    run_operator(watches=[WATCH]).wait_for_log(lambda entry: True)
    raise AssertionError("on purpose")


def test_without_kubectl(kubectl):
    """Never reached."""
'''
PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - debug:
        msg: "greeting is {{ lookup('env', 'GREETING') | default('nothing', true) }}"
"""
WATCHES = "[{version: v1, group: '', kind: ConfigMap, playbook: play.yml, manageStatus: false}]"


def run_pytest(directory: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on the tests of a directory, with an empty cache."""
    kept = {key: os.environ[key] for key in os.environ if key not in ("CI", "KUBEBUILDER_ASSETS")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=directory,
        env={**kept, "XDG_CACHE_HOME": str(directory / "cache"), **env},
        capture_output=True,
        text=True,
    )


def run_real(directory: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on one test that wants a real control plane."""
    (directory / "test_it.py").write_text(TEST)
    return run_pytest(directory, "--control-plane=real", **env)


def script(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/control-plane without any installed package."""
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
    )


def test_fixtures_for_tests_of_operators(tmp_path: Path) -> None:
    """Objects, operators, waiting and the report of a failure, on the sandbox by default."""
    (tmp_path / "test_fixtures.py").write_text(FIXTURES)
    (tmp_path / "play.yml").write_text(PLAY)
    (tmp_path / "watches.yaml").write_text(WATCHES)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = run_pytest(tmp_path, PATH=str(tmp_path))
    assert "control plane: sandbox" in done.stdout
    assert "2 passed" in done.stdout, done.stdout
    assert "1 failed, 2 passed, 1 error" in done.stdout
    assert "AssertionError: on purpose" in done.stdout
    assert "- Operator 1 -" in done.stdout
    assert "there is no kubectl: put one on PATH" in done.stdout


def test_missing_programs_are_a_failure_in_ci(tmp_path: Path) -> None:
    """With CI set nothing is built and nothing is skipped."""
    done = run_real(tmp_path, CI="true")
    assert done.returncode == 1
    assert "control plane: real" in done.stdout
    assert "no control plane in CI: etcd, kubectl" in done.stdout
    assert "1 error" in done.stdout
    assert "skipped" not in done.stdout


def test_wrong_assets_are_a_failure_everywhere(tmp_path: Path) -> None:
    """The message of the search is the message of the test."""
    done = run_real(tmp_path, KUBEBUILDER_ASSETS=str(tmp_path))
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
