"""The programs of a control plane: which there are, and where they are found on this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.testing import build, errors, progress

KUBERNETES = "1.37.2"
ETCD = "3.7.3"
KWOK = "0.8.0"

PROGRAMS = (
    build.Program("etcd", "go.etcd.io/etcd/server/v3", ETCD),
    build.Program("kubectl", "k8s.io/kubernetes/cmd/kubectl", KUBERNETES),
    build.Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", KUBERNETES),
    build.Program(
        "kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", KUBERNETES
    ),
    build.Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", KUBERNETES),
    build.Program("kwok", "sigs.k8s.io/kwok/cmd/kwok", KWOK, module="sigs.k8s.io/kwok"),
)

ASSETS = "KUBEBUILDER_ASSETS"


@dataclass(frozen=True, slots=True)
class Found:
    """Where each program is; ``missing`` are those that have to be built into ``cache``."""

    paths: Mapping[str, Path]
    missing: tuple[build.Program, ...]
    cache: Path


def cache_root(environ: Mapping[str, str]) -> Path:
    """``$XDG_CACHE_HOME/ansible-operator/control-plane``, by default below ``~/.cache``."""
    base = environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "ansible-operator" / "control-plane"


def find(environ: Mapping[str, str]) -> Found:
    """Look in ``KUBEBUILDER_ASSETS`` if it is set, then in the cache.

    Raises ControlPlaneError if ``KUBEBUILDER_ASSETS`` is set but holds no etcd or kube-apiserver:
    whoever sets it wants those used, so a silent replacement would test something else.
    """
    assets = _assets(environ)
    cache = cache_root(environ) / KUBERNETES
    paths: dict[str, Path] = {}
    missing = []
    for program in PROGRAMS:
        if assets is not None and _runnable(assets / program.name):
            paths[program.name] = assets / program.name
        elif build.is_current(cache, program):
            paths[program.name] = cache / program.name
        else:
            missing.append(program)
    return Found(paths, tuple(missing), cache)


def kubectls(environ: Mapping[str, str]) -> list[Path]:
    """Every kubectl of this machine: the control plane's own if it was built, the one on PATH."""
    built: Path | None = None
    with contextlib.suppress(errors.ControlPlaneError):  # bad KUBEBUILDER_ASSETS: not wanted here
        built = find(environ).paths.get("kubectl")
    other = shutil.which("kubectl", path=environ.get("PATH"))
    found = [path for path in (built, Path(other) if other else None) if path is not None]
    return list(dict.fromkeys(found))


def ensure(environ: Mapping[str, str], report: progress.Report) -> Mapping[str, Path]:
    """Find all programs, building what is missing; the result names each by its file name.

    Raises ControlPlaneError if something is missing and cannot be built.
    """
    found = find(environ)
    if environ.get(ASSETS):
        report(_origins(environ[ASSETS], found))
    if not found.missing:
        return found.paths
    build.build(found.missing, found.cache, KUBERNETES, environ, report)
    found = find(environ)
    if found.missing:
        names = ", ".join(program.name for program in found.missing)
        raise errors.ControlPlaneError(
            f"{names} missing in {found.cache} right after the build: is another process removing "
            "the cache? Run `scripts/control-plane build` again."
        )
    return found.paths


def _assets(environ: Mapping[str, str]) -> Path | None:
    value = environ.get(ASSETS, "")
    if not value:
        return None
    directory = Path(value)
    absent = [name for name in ("etcd", "kube-apiserver") if not _runnable(directory / name)]
    if absent:
        raise errors.ControlPlaneError(
            f"{ASSETS}={value}: no executable {' and no '.join(absent)} there. Point it at a "
            "directory with the envtest binaries, or unset it to use the project's own build."
        )
    return directory.absolute()


def _origins(assets: str, found: Found) -> str:
    here = [name for name, path in found.paths.items() if path.parent == Path(assets).absolute()]
    cached = [name for name in found.paths if name not in here]
    parts = [f"{ASSETS}={assets}: {', '.join(here)} from there"]
    if cached:
        parts.append(f"{', '.join(cached)} not there, from the cache {found.cache}")
    if found.missing:
        names = ", ".join(program.name for program in found.missing)
        parts.append(f"{names} neither there nor in the cache, to be built")
    return "; ".join(parts)


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
