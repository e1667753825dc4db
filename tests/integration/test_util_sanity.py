"""The bundled collection under Ansible's own checks, as far as they need no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
NAME = Path("ansible_collections/operator_sdk/util")
MODULES = ("k8s_event", "k8s_status", "osdk_metric", "requeue_after")
# Those of `ansible-test sanity` that install nothing; validate-modules is started by itself.
SANITY = (
    *("action-plugin-docs", "changelog", "compile", "empty-init", "ignores", "line-endings"),
    *("no-assert", "no-get-exception", "no-illegal-filenames", "no-smart-quotes"),
    *("replace-urlopen", "shebang", "symlinks", "use-argspec-type-path", "use-compat-six"),
)
# The licence is Apache's, and an option that roles know as `message` cannot have another name.
KNOWN = {
    ("missing-gplv3-license", "GPLv3 license header not found"),
    ("invalid-argument-name", "Argument 'message' in argument_spec"),
    ("nonexistent-parameter-documented", "Argument 'message' "),
}


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A copy beside kubernetes.core, as these checks want it."""
    source = ROOT / "ansible_operator/collections" / NAME
    shutil.copytree(source, tmp_path / NAME, ignore=shutil.ignore_patterns("__pycache__"))
    core = Path("ansible_collections/kubernetes/core")
    (tmp_path / core).parent.mkdir()
    (tmp_path / core).symlink_to(ROOT / ".collections" / core)
    return tmp_path / NAME


def run(collection: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """A command in the collection's directory, with nothing of this machine's configuration."""
    root = str(collection.parents[2])
    env = {k: v for k, v in os.environ.items() if not k.startswith("ANSIBLE_")}
    env |= {"ANSIBLE_COLLECTIONS_PATH": root, "PYTHONPATH": root, "HOME": root, "LC_ALL": "C.UTF-8"}
    env["PATH"] = f"{BIN}{os.pathsep}{env['PATH']}"
    return subprocess.run(
        command, cwd=collection, env=env, capture_output=True, text=True, timeout=280
    )


def test_ansible_test_sanity(collection: Path) -> None:
    """Nothing is found."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    chosen = [part for name in SANITY for part in ("--test", name)]
    done = run(collection, BIN / "ansible-test", "sanity", "--python", version, *chosen)
    assert done.returncode == 0, done.stdout + done.stderr


def test_validate_modules(collection: Path) -> None:
    """Documentation and options of every module are the same, but for what cannot be helped."""
    found = util.find_spec("ansible_test")
    assert found is not None
    assert found.origin is not None
    script = Path(found.origin).parent / "_util/controller/sanity/validate-modules/validate.py"
    modules = [f"plugins/modules/{name}.py" for name in MODULES]
    options = ("--format", "json", "--arg-spec", "--collection", str(NAME))
    done = run(collection, sys.executable, script, *options, *modules)
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert sorted(told) == modules
    errors = [(path, each["code"], each["msg"]) for path in told for each in told[path]["errors"]]
    assert [error for error in errors if not _known(error)] == []
    assert {code for _, code, _ in errors} == {code for code, _ in KNOWN}


def _known(error: tuple[str, str, str]) -> bool:
    _, code, message = error
    return any(code == known and message.startswith(words) for known, words in KNOWN)


def test_ansible_lint(collection: Path) -> None:
    """The strictest profile has nothing to say; a repository is for collections of Galaxy."""
    options = ("--offline", "--nocolor", "--profile", "production")
    done = run(collection, BIN / "ansible-lint", *options, "-x", "galaxy[no-repository]", ".")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed: 0 failure(s), 0 warning(s)" in done.stderr


def test_ansible_doc(collection: Path) -> None:
    """It knows every module, with examples, results and a description of every option."""
    names = [f"operator_sdk.util.{name}" for name in MODULES]
    done = run(collection, BIN / "ansible-doc", "--json", *names)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert sorted(told) == names
    for name in names:
        assert told[name]["return"], name
        assert name in told[name]["examples"]
        assert all(option["description"] for option in told[name]["doc"]["options"].values())
