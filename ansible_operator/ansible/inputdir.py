"""The private directory of one run, and the paths that roles know.

Roles rely on ``<runner_dir>/<group>/<version>/<Kind>/<namespace>/<name>/inventory/hosts`` and
``.../project``. Below that object directory each run gets a directory of its own, and the known
paths are symlinks to the one that is running::

    <name>/.runs/<job>/env/extravars      the variables, 0600
                       env/settings       settings of ansible-runner
                       env/cmdline        extra arguments, only if there are any
                       inventory/hosts    or a copy of ANSIBLE_INVENTORY
                       project/           working directory; a role's play is project/main.json
                       kubeconfig         0600
                       artifacts/<job>/   what ansible-runner writes, moved away afterwards
    <name>/.runs/<job>.lock               held while the run lasts, so that a restarted operator
                                          can tell what a dead one left behind
    <name>/inventory, project, env        -> .runs/<job>/...
    <name>/artifacts/<job>/, latest       see :mod:`ansible_operator.ansible.artifacts`

No name of an object begins with a dot, so ``.runs`` marks an object directory. Two operators may
share the root: a run only ever uses its private directory.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_operator import errors, objects
from ansible_operator.ansible import processes

RUNS = ".runs"
_LINKS = ("inventory", "project", "env")


@dataclass(frozen=True, slots=True)
class Content:
    """What goes into the directory; ``play`` is the generated play of a role, else None."""

    variables: Mapping[str, Any]
    kubeconfig: str = ""
    args: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    inventory: Path | None = None
    default_inventory: str = ""
    play: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class RunDir:
    """The directory of one run; ``object_dir`` is the one of its object."""

    path: Path
    object_dir: Path

    @property
    def kubeconfig(self) -> Path:
        """The run's kubeconfig."""
        return self.path / "kubeconfig"

    @property
    def play(self) -> Path:
        """The generated playbook of a role."""
        return self.path / "project" / "main.json"

    @property
    def artifacts(self) -> Path:
        """Where ansible-runner writes the artifacts of this run."""
        return self.path / "artifacts" / self.path.name


def object_dir(root: Path, key: objects.ObjectKey) -> Path:
    """The directory of an object; empty group and namespace collapse, as the incumbent does.

    Raises ReconcileError for names that would leave the root; the API server allows none.
    """
    for part in (key.gvk.version, key.gvk.kind, key.name):
        if not part:
            raise errors.ReconcileError(f"{key}: version, kind and name must not be empty")
    parts = [key.gvk.group, key.gvk.version, key.gvk.kind, key.namespace, key.name]
    for part in parts:
        if part.startswith(".") or "/" in part or "\0" in part:
            raise errors.ReconcileError(f"{part!r} cannot be the name of a directory for {key}")
    return root.joinpath(*filter(None, parts))


def prepare_root(root: Path, uid: int | None = None) -> str:
    """Make the root directory and its missing parents, 0700; return a warning, or ``""``.

    Raises SettingsError if somebody other than the user ``uid`` (us) and root could put files or
    links there, or anything else in its place: it holds variables and credentials of runs. A
    volume that the cluster mounted there or above belongs to root and is accepted.
    """
    us = os.geteuid() if uid is None else uid
    try:
        warnings = _make_private(root, us)
        if root.resolve() != root:  # what a trusted link leads to
            warnings += _make_private(root.resolve(), us)
    except OSError as error:
        raise errors.SettingsError(
            f"the runner directory {root} cannot be made: {error.strerror}. Make it writable for "
            "this user or choose another one with --runner-dir"
        ) from error
    return "; ".join(dict.fromkeys(warnings))


def _make_private(root: Path, uid: int) -> list[str]:
    """Make and check from the top down: what is above is trusted before anything is made in it."""
    warnings = []
    for path in (*reversed(root.parents), root):
        if not os.path.lexists(path):
            path.mkdir(mode=0o700, exist_ok=True)
        info = path.lstat()
        found = problem(info, uid, is_root=path == root)
        if not found:
            continue
        if info.st_uid == 0 and path != Path(path.anchor) and os.path.ismount(path):
            warnings += [f"{path} is a volume that others may write to"] * _is_shared(info)
            continue
        what = f"{path}" if path == root else f"{root} cannot be trusted: its parent {path}"
        raise errors.SettingsError(
            f"the runner directory {what} {found}. Mend that or choose another one with "
            "--runner-dir"
        )
    return warnings


def problem(info: os.stat_result, uid: int, *, is_root: bool) -> str:
    """Why a directory, or a link to one, is not safe for the user ``uid``; ``""`` if it is.

    The runner directory must be the user's own and writable for nobody else. Links and parents
    may belong to root too, and for parents the sticky bit will do, as in ``/tmp``. Pure.
    """
    is_link = stat.S_ISLNK(info.st_mode)
    if info.st_uid != uid and (info.st_uid != 0 or (is_root and not is_link)):
        return f"belongs to user {info.st_uid}, not to us ({uid})"
    is_sticky = bool(info.st_mode & stat.S_ISVTX) and not is_root
    if is_link or is_sticky or not _is_shared(info):
        return ""
    return (
        f"can be written to by others (mode {stat.S_IMODE(info.st_mode):04o}), `chmod go-w` helps"
    )


def _is_shared(info: os.stat_result) -> bool:
    return bool(info.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


@contextlib.contextmanager
def create(directory: Path, job: str, content: Content) -> Iterator[RunDir]:
    """The private directory of the run ``job`` below an object's directory, for its duration.

    Raises ReconcileError if it is there already, or if the inventory cannot be copied.
    """
    runs = _make(directory / RUNS)
    run = RunDir(runs / job, directory)
    with _locked(runs / f"{job}.lock"):
        try:
            run.path.mkdir(mode=0o700)
        except FileExistsError:
            raise errors.ReconcileError(f"the run directory {run.path} is in use") from None
        try:
            _fill(run.path, content)
            _link(run)
            yield run
        finally:
            _unlink(run)
            shutil.rmtree(run.path, ignore_errors=True)


def remove_stale_runs(directory: Path) -> int:
    """End and remove what dead operators left in an object's directory; how many runs that were.

    Links to runs that are gone go too, or the object's directory could never be removed.

    A play may outlive its operator; it must not go on beside the one that we start.
    """
    removed = 0
    for path in list((directory / RUNS).iterdir()):
        lock = path if path.suffix == ".lock" else path.with_name(f"{path.name}.lock")
        try:
            with _locked(lock):
                left = lock.with_suffix("")
                removed += left.is_dir()
                processes.kill(left.name)
                shutil.rmtree(left, ignore_errors=True)
        except errors.ReconcileError:
            continue
    for name in _LINKS:
        _remove_dangling(directory / name)
    return removed


def remove_empty(directory: Path, root: Path) -> None:
    """Remove an object's directory and its parents below ``root`` as far as they are empty."""
    with contextlib.suppress(OSError):
        (directory / RUNS).rmdir()
    while directory != root and root in directory.parents:
        try:
            directory.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            return
        directory = directory.parent


def link(path: Path, target: str) -> None:
    """Make ``path`` a symlink to ``target``, whatever was there before, in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    temporary.symlink_to(target)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_private(path: Path, text: str) -> None:
    """Make a file that only we can read. Raises FileExistsError if anything is there already."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _make(directory: Path) -> Path:
    for _ in range(100):  # the parents may vanish under us when a neighbour is forgotten
        with contextlib.suppress(FileNotFoundError):
            os.makedirs(directory, mode=0o700, exist_ok=True)
            return directory
    raise errors.ReconcileError(f"the directory {directory} cannot be made")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file; it is removed afterwards. Raises ReconcileError if it is held."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise errors.ReconcileError(f"the run directory of {path} is in use") from None
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _fill(path: Path, content: Content) -> None:
    for name in ("env", "inventory", "project", "artifacts"):
        (path / name).mkdir(mode=0o700)
    write_private(path / "env" / "extravars", json.dumps(content.variables, default=str))
    write_private(path / "kubeconfig", content.kubeconfig)
    write_private(path / "env" / "settings", json.dumps(content.settings))
    if content.args:
        write_private(path / "env" / "cmdline", content.args)
    if content.play is not None:
        write_private(path / "project" / "main.json", json.dumps(content.play))
    _copy_inventory(path / "inventory", content)


def _copy_inventory(target: Path, content: Content) -> None:
    source = content.inventory
    if source is None:
        write_private(target / "hosts", content.default_inventory)
        return
    try:
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target / "hosts")
    except (OSError, shutil.Error) as error:
        raise errors.ReconcileError(
            f"the inventory {source} (ANSIBLE_INVENTORY) cannot be read: {error}"
        ) from error


def _link(run: RunDir) -> None:
    for name in _LINKS:
        link(run.object_dir / name, f"{RUNS}/{run.path.name}/{name}")


def _unlink(run: RunDir) -> None:
    for name in _LINKS:
        path = run.object_dir / name
        with contextlib.suppress(OSError):
            if os.readlink(path) == f"{RUNS}/{run.path.name}/{name}":
                path.unlink()


def _remove_dangling(path: Path) -> None:
    with contextlib.suppress(OSError):
        if os.readlink(path).startswith(f"{RUNS}/") and not path.exists():
            path.unlink()
