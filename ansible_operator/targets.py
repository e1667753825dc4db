"""What a watch runs, and where it is found: playbook files and role directories.

The order of the search is the incumbent's. Only :func:`playbook` and :func:`role` look at the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

SYSTEM_COLLECTIONS = "/usr/share/ansible/collections"
USER_COLLECTIONS = "~/.ansible/collections"


@dataclass(frozen=True, slots=True)
class Playbook:
    """A playbook file; the path is absolute."""

    path: Path


@dataclass(frozen=True, slots=True)
class Role:
    """A role directory; the path is absolute. It is run by its name within its parent."""

    path: Path

    @property
    def name(self) -> str:
        """The last component of the path."""
        return self.path.name

    @property
    def roles_path(self) -> Path:
        """The directory that holds the role."""
        return self.path.parent


Target: TypeAlias = Playbook | Role


class NotFoundError(Exception):
    """There is no such playbook or role; the text says which places were tried and the way out."""

    def __init__(self, problem: str, hint: str) -> None:
        self.problem = problem
        self.hint = hint
        super().__init__(f"{problem}. {hint}")


def playbook(text: str, cwd: Path) -> Playbook:
    """The playbook that ``text`` names: an absolute path, or one relative to ``cwd``."""
    path = cwd / text
    if os.path.isdir(path):
        raise NotFoundError(f"{path} is a directory", "Name the playbook file itself")
    if not os.path.exists(path):
        raise NotFoundError(
            f"there is no playbook {path}",
            f"Relative paths are looked up in the working directory, {cwd}",
        )
    return Playbook(path)


def role(text: str, environ: Mapping[str, str], cwd: Path) -> Role:
    """The role that ``text`` names: the first directory among :func:`role_places`."""
    places = list(role_places(text, environ, cwd))
    for path in places:
        if os.path.isdir(path):  # Path.is_dir() raises for a name that is too long
            return Role(path)
    tried = ", ".join(f"{path} (a file)" if os.path.exists(path) else str(path) for path in places)
    raise NotFoundError(f'there is no role "{text}"; tried {tried}', _role_hint(text))


def role_places(text: str, environ: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    """Every place where a role is looked for, first choice first; nothing is looked up here.

    An absolute path is taken as it is. A collection role (``namespace.collection.role``) is looked
    for in ``ANSIBLE_COLLECTIONS_PATH``, then any relative text in ``ANSIBLE_ROLES_PATH``, in
    ``<cwd>/roles`` and as a path below ``cwd``.
    """
    if os.path.isabs(text):
        yield Path(text)
        return
    if _is_collection_role(text):
        namespace, collection, name = text.split(".")
        for entry in _collection_paths(environ, cwd):
            yield entry / "ansible_collections" / namespace / collection / "roles" / name
    for entry in _entries(environ.get("ANSIBLE_ROLES_PATH", ""), environ, cwd):
        yield entry / text
        yield entry / "roles" / text
    yield cwd / "roles" / text
    yield cwd / text


def _is_collection_role(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 3 and all(parts) and "/" not in text


def _collection_paths(environ: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    default = f"{SYSTEM_COLLECTIONS}:{USER_COLLECTIONS}"
    return _entries(environ.get("ANSIBLE_COLLECTIONS_PATH") or default, environ, cwd)


def _entries(text: str, environ: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    """The directories of a colon list; one in a home directory that nobody has is left out."""
    for entry in filter(None, text.split(":")):
        if entry == "~" or entry.startswith("~/"):
            home = environ.get("HOME")
            if home:
                yield cwd / home / entry[2:]
        else:
            yield cwd / entry


def _role_hint(text: str) -> str:
    if _is_collection_role(text):
        return (
            "Install the collection, or set ANSIBLE_COLLECTIONS_PATH (--ansible-collections-path) "
            "to the directory that holds ansible_collections"
        )
    return (
        "Create the role, correct its name, or set ANSIBLE_ROLES_PATH (--ansible-roles-path) "
        "to the directory that holds it"
    )
