"""Compile the programs of a control plane with Go into a cache directory, once."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.testing import errors, gotoolchain, lock, progress

SOURCE = Path(__file__).resolve().parents[2] / "tests" / "controlplane"
"""The directory of the go.mod that pins what is built."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, its Go package and version; ``module`` if it is built from a module of its own."""

    name: str
    package: str
    version: str
    module: str = ""


def is_current(cache: Path, program: Program) -> bool:
    """Whether the cache holds this version. Programs are moved in whole, so present means good."""
    try:
        built = (cache / f"{program.name}.version").read_text()
    except OSError:
        return False
    return built == program.version and os.access(cache / program.name, os.X_OK)


def build(
    programs: Sequence[Program],
    cache: Path,
    kubernetes: str,
    environ: Mapping[str, str],
    report: progress.Report,
) -> None:
    """Build ``programs`` into ``cache``; returns at once for those that another process built.

    Each finished program is moved in by itself and Go keeps compiled packages, so an interrupted
    build goes on where it was. Raises ControlPlaneError.
    """
    if not (SOURCE / "go.mod").is_file():
        raise errors.ControlPlaneError(
            "the control plane can only be built from a checkout of ansible-operator (there is no "
            f"{SOURCE / 'go.mod'}). Set KUBEBUILDER_ASSETS to a directory with etcd, "
            "kube-apiserver, kube-controller-manager, kube-scheduler, kwok and kubectl instead."
        )
    cache.mkdir(parents=True, exist_ok=True)
    with lock.waiting(cache / ".lock", "the lock on the build", report):
        todo = [program for program in programs if not is_current(cache, program)]
        if todo:
            _Build(cache, kubernetes, environ, report).run(todo)


class _Build:
    def __init__(
        self, cache: Path, kubernetes: str, environ: Mapping[str, str], report: progress.Report
    ):
        self._cache = cache
        self._kubernetes = kubernetes
        self._report = report
        self._go = gotoolchain.find(cache.parent, environ, report)
        # The result must not depend on what the user set for other projects.
        self._env = {
            **environ,
            **self._go.environment,
            "GOFLAGS": "-mod=readonly -buildvcs=false",
            "GOWORK": "off",
            "GOTOOLCHAIN": "local",
            "GO111MODULE": "on",
        }
        self._env.pop("GOOS", None)
        self._env.pop("GOARCH", None)

    def run(self, programs: Sequence[Program]) -> None:
        """Download, count, compile one program after the other."""
        for leftover in self._cache.glob(".building-*"):  # of a build that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        names = ", ".join(program.name for program in programs)
        self._report(f"building {names} {self._go.version} into {self._cache}")
        homes = self._download(programs)
        stale = self._stale(programs, homes)
        steps = progress.Steps(len(stale), self._report)
        with tempfile.TemporaryDirectory(prefix=".building-", dir=self._cache) as scratch:
            for program in programs:
                self._compile(program, homes[program.name], Path(scratch), stale, steps)
        self._report(f"built {names}")

    def _download(self, programs: Sequence[Program]) -> dict[str, Path]:
        """Fetch the modules' sources; the directory to run Go in, by program."""
        steps = progress.Steps(0, self._report)
        steps.doing = "downloading sources"
        steps.say()
        if any(not program.module for program in programs):
            self._run(["mod", "download"], steps, SOURCE)
        homes = {}
        for program in programs:
            homes[program.name] = SOURCE
            if program.module:
                wanted = f"{program.module}@v{program.version}"
                said = self._run(["mod", "download", "-json", wanted], steps, self._cache)
                homes[program.name] = Path(json.loads(said)["Dir"])
        return homes

    def _stale(self, programs: Sequence[Program], homes: Mapping[str, Path]) -> set[str]:
        """The packages that Go has not compiled yet, all programs together."""
        steps = progress.Steps(0, self._report)
        steps.doing = "counting packages"
        template = "{{if .Stale}}{{.ImportPath}}{{end}}"
        found: set[str] = set()
        for program in programs:
            argv = ["list", "-deps", "-f", template, *self._flags(), program.package]
            found.update(self._run(argv, steps, homes[program.name]).split())
        return found

    def _compile(
        self, program: Program, home: Path, scratch: Path, stale: set[str], steps: progress.Steps
    ) -> None:
        def on_line(line: str) -> None:  # `go build -v` names each package as it compiles it
            if line in stale:
                stale.discard(line)
                steps.advance()
                last = line == program.package
                steps.doing = f"{'linking' if last else 'compiling'} {program.name}"

        steps.doing = f"compiling {program.name}"
        steps.say()
        target = scratch / program.name
        if program.module:
            # `go install` with a version stamps that version into the program.
            self._env["GOBIN"] = str(scratch)
            wanted = f"{program.package}@v{program.version}"
            self._run(["install", "-v", *self._flags(), wanted], steps, self._cache, on_line)
        else:
            argv = ["build", "-v", *self._flags(), "-o", str(target), program.package]
            self._run(argv, steps, home, on_line)
        self._publish(program, target)

    def _publish(self, program: Program, built: Path) -> None:
        stamp = built.with_name(f"{program.name}.version")
        stamp.write_text(program.version)
        # The program first: a stamp beside an older program must never be seen.
        (self._cache / stamp.name).unlink(missing_ok=True)
        os.replace(built, self._cache / program.name)
        os.replace(stamp, self._cache / stamp.name)

    def _flags(self) -> list[str]:
        # Without the version the server reports a placeholder that clients cannot parse.
        version = f"-X k8s.io/component-base/version.gitVersion=v{self._kubernetes}"
        return ["-trimpath", "-ldflags", f"-s -w {version}"]

    def _run(
        self,
        argv: Sequence[str],
        steps: progress.Steps,
        cwd: Path,
        on_line: progress.Report = lambda line: None,
    ) -> str:
        try:
            return progress.run([self._go.program, *argv], steps, on_line, cwd=cwd, env=self._env)
        except errors.ControlPlaneError as error:
            raise errors.ControlPlaneError(
                f"{error}\nThe build stopped; what is compiled is kept. Sources come from the Go "
                "module proxy (`go env GOPROXY`), about 4.5 GB of disk are used below "
                "`go env GOCACHE GOMODCACHE`. Run `scripts/control-plane build` again, or set "
                "KUBEBUILDER_ASSETS to ready-made binaries."
            ) from error
