"""The kubectls of this machine: the control plane's own and the one on PATH."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.testing import binaries

Obj = dict[str, Any]
MISSING = "there is no kubectl: put one on PATH, or run `make control-plane`"
LIMIT = 60.0


def found() -> list[Path]:
    """Every kubectl that there is, once."""
    return list({path.resolve(): path for path in binaries.kubectls(os.environ)}.values())


def identity(path: Path | None) -> str:
    """How tests name a kubectl: by its version."""
    if path is None:
        return "no-kubectl"
    argv = [str(path), "version", "--client", "--output=json"]
    told = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    version = json.loads(told or "{}").get("clientVersion", {}).get("gitVersion", "unknown")
    return f"kubectl-{version}"


@dataclass(frozen=True)
class Kubectl:
    """One kubectl as the administrator, in one namespace, with a home directory of its own."""

    path: Path
    kubeconfig: Path
    namespace: str
    home: Path

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0, **env: str) -> str:
        """Run it; what it prints. Fails unless it ends with ``code``."""
        done = self._run(arguments, stdin, env)
        told = f"kubectl {' '.join(arguments)} ended with {done.returncode}:\n"
        assert done.returncode == code, told + done.stdout + done.stderr
        return done.stdout

    def warned(self, *arguments: str, stdin: str = "") -> str:
        """Run it; what it prints to standard error. Fails unless it ends with 0."""
        done = self._run(arguments, stdin, {})
        assert done.returncode == 0, done.stderr
        return _without_skew(done.stderr)

    def fails(self, *arguments: str, stdin: str = "", code: int = 1) -> str:
        """Run it; what it prints to standard error. Fails unless it ends with ``code``."""
        done = self._run(arguments, stdin, {})
        told = f"kubectl {' '.join(arguments)} ended with {done.returncode}:\n"
        assert done.returncode == code, told + done.stdout + done.stderr
        return _without_skew(done.stderr)

    def apply(self, *objects: Obj, options: tuple[str, ...] = ()) -> str:
        """Apply objects; what it prints."""
        return self("apply", *options, "-f", "-", stdin=manifest(*objects))

    def read(self, *arguments: str) -> Obj:
        """Get something as JSON."""
        found: Obj = json.loads(self("get", *arguments, "--output=json"))
        return found

    def _run(
        self, arguments: tuple[str, ...], stdin: str, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._argv(arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env=self._environ(env),
            check=False,
        )

    def _argv(self, arguments: tuple[str, ...]) -> list[str]:
        common = [f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}"]
        return [str(self.path), *common, *arguments]

    def _environ(self, env: Mapping[str, str]) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], **env}

    @contextlib.contextmanager
    def running(self, *arguments: str) -> Iterator[Output]:
        """Run it in the background; it is ended afterwards."""
        file = self.home / "output"
        with file.open("w") as out:
            process = subprocess.Popen(
                self._argv(arguments),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._environ({}),
            )
        try:
            yield Output(file, process)
        finally:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Output:
    """What a kubectl in the background prints, and that it ends."""

    file: Path
    process: subprocess.Popen[bytes]

    def ends(self) -> str:
        """Wait until it ends by itself, and well; what it printed."""
        code = self.process.wait(LIMIT)
        assert code == 0, self.file.read_text()
        return self.file.read_text()

    def until(self, pattern: str) -> str:
        """Wait for lines that match; everything that was printed by then."""
        deadline = time.monotonic() + LIMIT
        while not re.search(pattern, text := self.file.read_text(), re.MULTILINE):
            assert time.monotonic() < deadline, f"{pattern!r} was not printed, but: {text}"
            time.sleep(0.02)
        return text


def start(request: pytest.FixtureRequest, kubeconfig: Path, namespace: str, home: Path) -> Kubectl:
    """The kubectl that a test is parametrized with; without any the test fails."""
    if request.param is None:
        pytest.fail(MISSING, pytrace=False)
    return Kubectl(request.param, kubeconfig, namespace, home)


def manifest(*objects: Obj) -> str:
    """Objects as one file."""
    return "\n".join(json.dumps(obj) for obj in objects)


def table(text: str) -> list[list[str]]:
    """The cells of a printed table, with its header."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if line.strip()]


def _without_skew(text: str) -> str:
    """Without the warning that an older kubectl prints about its age."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if "version difference between" not in line)
