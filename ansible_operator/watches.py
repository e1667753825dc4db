"""watches.yaml -> tuple of :class:`Watch`: which kinds run which role or playbook, and how."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from ansible_operator import envtext, errors, objects, section, watchentry, watchfile
from ansible_operator.targets import Playbook as Playbook
from ansible_operator.targets import Role as Role
from ansible_operator.targets import Target as Target
from ansible_operator.watch import DEFAULT_MAX_RUNNER_ARTIFACTS as DEFAULT_MAX_RUNNER_ARTIFACTS
from ansible_operator.watch import Finalizer as Finalizer
from ansible_operator.watch import Watch as Watch


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a watches file holds, and what the person who wrote it should hear about."""

    watches: tuple[Watch, ...]
    warnings: tuple[str, ...] = ()


def load(path: Path, environ: Mapping[str, str], cwd: Path) -> Loaded:
    """Read a watches file and find every role and playbook that it names.

    ``environ`` is what ``${NAME}`` in the file is replaced from and where ``ANSIBLE_ROLES_PATH``,
    ``ANSIBLE_COLLECTIONS_PATH`` and ``HOME`` are read; relative paths are relative to ``cwd``.
    Raises :class:`errors.WatchesError` that lists the problems of all entries.
    """
    source = envtext.expand(_read(path, cwd), environ)
    document = watchfile.parse(source, str(path))
    notes = [f"{errors.Place(str(path), note.line)}: {note.text}" for note in source.notices]
    found: list[tuple[Watch, errors.Place]] = []
    problems: list[errors.WatchesError] = []
    unmarked: list[str] = []
    hints: list[str] = []
    for number, node in enumerate(_entries(document), start=1):
        known = len(notes)
        try:
            entry = section.Section(document, _map(document, node, number), number, notes.append)
            watch = watchentry.Entry(entry, environ, cwd).read()
        except errors.WatchesError as error:
            problems.append(error)
            hints += notes[known:]  # a misspelt key is often why another one is missing
            continue
        found.append((watch, entry.place()))
        if not entry.given("markUnsafe"):
            unmarked.append(watch.gvk.kind)
    problems += _duplicates(found)
    if problems:
        raise errors.WatchesError.all(problems, hints)
    watches = tuple(watch for watch, _ in found)
    return Loaded(watches, (*notes, *_about_all(str(path), watches, unmarked)))


def _read(path: Path, cwd: Path) -> str:
    place = errors.Place(str(path))
    try:
        return (cwd / path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.WatchesError(place, f"this is not UTF-8 text: {error}") from error
    except OSError as error:
        raise errors.WatchesError(
            place,
            f"cannot be read: {error.strerror or error}",
            f"Name the file with --watches-file; relative paths are looked up in {cwd}",
        ) from error


def _entries(document: watchfile.Document) -> list[yaml.Node]:
    if document.root is None:
        return []
    if not isinstance(document.root, yaml.SequenceNode):
        raise errors.WatchesError(
            document.place(document.root),
            "the file must be a list of watches",
            "Start each entry with '- version: ...'",
        )
    return list(document.root.value)


def _map(document: watchfile.Document, node: yaml.Node, number: int) -> yaml.MappingNode:
    if isinstance(node, yaml.MappingNode):
        return node
    raise errors.WatchesError(
        document.place(node, number),
        "this entry is not a map",
        "An entry has at least version, kind and a role or a playbook",
    )


def _duplicates(found: Iterable[tuple[Watch, errors.Place]]) -> Iterator[errors.WatchesError]:
    first: dict[objects.GVK, errors.Place] = {}
    for watch, place in found:
        earlier = first.setdefault(watch.gvk, place)
        if earlier is not place:
            yield errors.WatchesError(
                place,
                f"{watch.gvk} is watched twice, first by entry {earlier.entry} "
                f"in line {earlier.line}",
                "Keep one of the two entries",
            )


def _about_all(file: str, found: Sequence[Watch], unmarked: Sequence[str]) -> Iterator[str]:
    if not found:
        yield f"{file}: there are no watches; the operator has nothing to do"
    versions: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for watch in found:
        versions[watch.gvk.group, watch.gvk.kind].append(watch.gvk.version)
    for (group, kind), several in versions.items():
        if len(several) > 1:
            yield (
                f"{file}: {kind}.{group or 'core'} is watched in the versions "
                f"{', '.join(several)}; each object runs once, with the newest of them that the "
                "cluster serves"
            )
    if unmarked:
        yield (
            f"{file}: markUnsafe is not set for {', '.join(dict.fromkeys(unmarked))}: Ansible "
            "evaluates templates in the text of these objects, so whoever may write one can run "
            "code in the operator; set 'markUnsafe: true' to hand text over literally, or "
            "'markUnsafe: false' to keep it so and silence this warning"
        )
