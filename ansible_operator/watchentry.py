"""One entry of watches.yaml -> :class:`watch.Watch`: keys, defaults and what is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator import errors, fieldpath, objects, reference, selector, targets, watch
from ansible_operator.section import Section

_KEYS = (
    "version",
    "group",
    "kind",
    "playbook",
    "role",
    "vars",
    "maxRunnerArtifacts",
    "reconcilePeriod",
    "runTimeout",
    "ansibleArgs",
    "manageStatus",
    "watchDependentResources",
    "watchClusterScopedResources",
    "snakeCaseParameters",
    "snakeCaseTopLevelOnly",
    "watchAnnotationsChanges",
    "markUnsafe",
    "cancelOnChange",
    "runOncePerGeneration",
    "watchStatusPaths",
    "references",
    "blacklist",
    "selector",
    "finalizer",
)
_WORKERS = (
    "set the environment variable MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP> "
    "or --max-concurrent-reconciles"
)
_ADVICE = {
    "maxConcurrentReconciles": _WORKERS,
    "maxWorkers": _WORKERS,
    "ansibleVerbosity": (
        "set the environment variable ANSIBLE_VERBOSITY_<KIND>_<GROUP> or --ansible-verbosity"
    ),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the list; ``environ`` and ``cwd`` are what roles and playbooks are found by."""

    section: Section
    environ: Mapping[str, str]
    cwd: Path

    def read(self) -> watch.Watch:
        """The watch; raises :class:`errors.WatchesError` that lists all problems of the entry."""
        entry = self.section
        entry.expect(_KEYS, _ADVICE)
        values: dict[str, Any] = {}
        problems: list[errors.WatchesError] = []
        for name, read in self._readers().items():
            try:
                values[name] = read()
            except errors.WatchesError as error:
                problems.append(error)
        if problems:
            raise errors.WatchesError.all(problems)
        return watch.Watch(**values)

    def _readers(self) -> Mapping[str, Callable[[], Any]]:
        """Field of :class:`watch.Watch` -> what reads it."""
        entry, flag = self.section, functools.partial
        return {
            "gvk": self._gvk,
            "target": self._main_target,
            "vars": lambda: entry.data("vars"),
            "max_runner_artifacts": self._artifacts,
            "reconcile_period": self._period,
            "run_timeout": self._run_timeout,
            "ansible_args": lambda: entry.words("ansibleArgs"),
            "manage_status": flag(self._flag, "manageStatus", default=True),
            "watch_dependent_resources": flag(self._flag, "watchDependentResources", default=True),
            "watch_cluster_scoped_resources": flag(self._flag, "watchClusterScopedResources"),
            "snake_case_parameters": flag(self._flag, "snakeCaseParameters", default=True),
            "snake_case_top_level_only": flag(self._flag, "snakeCaseTopLevelOnly"),
            "watch_annotations_changes": flag(self._flag, "watchAnnotationsChanges"),
            "mark_unsafe": flag(self._flag, "markUnsafe"),
            "cancel_on_change": flag(self._flag, "cancelOnChange"),
            "run_once_per_generation": self._once,
            "watch_status_paths": lambda: tuple(self._status_paths()),
            "references": self._references,
            "blacklist": lambda: frozenset(self._blacklist()),
            "selector": self._selector,
            "finalizer": self._finalizer,
            "place": lambda: str(entry.place()),
        }

    def _main_target(self) -> targets.Target:
        target = self._target(self.section)
        if target is None:
            raise self.section.error(
                "",
                f"{self.section.text('kind') or 'this entry'} has neither a role nor a playbook",
                "Add 'role: <name or path>' or 'playbook: <path>'",
            )
        return target

    def _artifacts(self) -> int:
        found = self.section.number("maxRunnerArtifacts")
        return watch.DEFAULT_MAX_RUNNER_ARTIFACTS if found is None else found

    def _period(self) -> float | None:
        found = self.section.duration("reconcilePeriod")
        return None if found is None else max(found, 0.0)

    def _flag(self, key: str, *, default: bool = False) -> bool:
        found = self.section.flag(key)
        return default if found is None else found

    def _once(self) -> bool:
        key = "runOncePerGeneration"
        once = self._flag(key)
        if once and not self._flag("manageStatus", default=True):
            self.section.caution(
                key,
                "with manageStatus: false nothing remembers what was run, so each start of the "
                "operator runs every object again",
            )
        return once

    def _status_paths(self) -> Iterable[fieldpath.FieldPath]:
        key = "watchStatusPaths"
        for text in self.section.texts(key):
            path = _field_path(self.section, key, text)
            if path.steps[0] != "status":
                raise self.section.error(
                    key, f'"{text}" is not in the status', "Write for example status.phase"
                )
            yield path

    def _references(self) -> tuple[reference.Reference, ...]:
        found: list[reference.Reference] = []
        problems: list[errors.WatchesError] = []
        for item in self.section.sections("references"):
            try:
                found.append(_reference(item))
            except errors.WatchesError as error:
                problems.append(error)
        if problems:
            raise errors.WatchesError.all(problems)
        return tuple(found)

    def _gvk(self) -> objects.GVK:
        entry = self.section
        for key, example in (("version", "v1alpha1"), ("kind", "Memcached")):
            if not entry.text(key):
                raise entry.error(
                    key, f"the {key} is missing", f"Add for example '{key}: {example}'"
                )
        for key in ("group", "version", "kind"):
            if "/" in entry.text(key):
                raise entry.error(
                    key,
                    f'"{entry.text(key)}" has a slash',
                    "Write the two parts of apiVersion as group and version",
                )
        return objects.GVK(entry.text("group"), entry.text("version"), entry.text("kind"))

    def _target(self, where: Section) -> targets.Target | None:
        playbook, role = where.text("playbook"), where.text("role")
        if playbook and role:
            where.caution("role", "ignored, because there is a playbook too; keep one of the two")
        try:
            if playbook:
                return targets.playbook(playbook, self.cwd)
            return targets.role(role, self.environ, self.cwd) if role else None
        except targets.NotFoundError as error:
            key = "playbook" if playbook else "role"
            raise where.error(key, error.problem, error.hint) from error

    def _run_timeout(self) -> float | None:
        found = self.section.duration("runTimeout")
        if found is not None and found < 0:
            raise self.section.error(
                "runTimeout", "a time limit cannot be negative", "Write 0 for no limit"
            )
        return found

    def _blacklist(self) -> Iterable[objects.GVK]:
        for item in self.section.sections("blacklist"):
            item.expect(("group", "version", "kind"))
            if item.text("version") and item.text("kind"):
                yield objects.GVK(item.text("group"), item.text("version"), item.text("kind"))
            else:
                item.caution("", "matches nothing, because version or kind is missing")

    def _selector(self) -> selector.Selector | None:
        where = self.section.section("selector")
        if where is None:
            return None
        where.expect(("matchLabels", "matchExpressions"))
        found = [
            _requirement(where, key, "In", (value,), field="matchLabels")
            for key, value in where.text_map("matchLabels").items()
        ]
        for item in where.sections("matchExpressions"):
            item.expect(("key", "operator", "values"))
            found.append(
                _requirement(item, item.text("key"), item.text("operator"), item.texts("values"))
            )
        return selector.Selector(tuple(found)) if found else None

    def _finalizer(self) -> watch.Finalizer | None:
        found = self.section.section("finalizer")
        if found is None:
            return None
        found.expect(("name", "playbook", "role", "vars"))
        name, target = found.text("name"), self._target(found)
        if not name:
            raise found.error(
                "name",
                "the name of the finalizer is missing",
                "Add for example 'name: memcached.example.com/finalizer'",
            )
        if target is None and not found.given("vars"):
            raise found.error(
                "",
                "nothing to run: there is no role, playbook or vars",
                "Add one of them; with only vars the main role or playbook runs with them added",
            )
        return watch.Finalizer(name, target, found.data("vars"))


def _requirement(
    where: Section, key: str, operator: str, values: Sequence[str], *, field: str = ""
) -> selector.Requirement:
    try:
        return selector.requirement(key, operator, tuple(values))
    except selector.SelectorError as error:
        raise where.error(field or error.field, error.problem, error.hint) from error


def _reference(item: Section) -> reference.Reference:
    item.expect(("path", "kind", "group", "version", "namespace"))
    for key, example in (("path", "spec.tls.secretName"), ("kind", "Secret")):
        if not item.text(key):
            raise item.error(key, f"the {key} is missing", f"Add for example '{key}: {example}'")
    path = _field_path(item, "path", item.text("path"))
    namespace = None
    if item.text("namespace"):
        namespace = _field_path(item, "namespace", item.text("namespace"))
        if not reference.belongs(namespace, path):
            raise item.error(
                "namespace",
                f'"{namespace}" goes through another list than "{path}"',
                "Up to its last [*] it must be the same as path",
            )
    gvk = objects.GVK(item.text("group"), item.text("version") or "v1", item.text("kind"))
    return reference.Reference(path, gvk, namespace)


def _field_path(where: Section, key: str, text: str) -> fieldpath.FieldPath:
    try:
        return fieldpath.parse(text)
    except fieldpath.FieldPathError as error:
        hint = "Write a path such as spec.users[*].secretName; names with dots go in ['...']"
        raise where.error(key, str(error), hint) from error
