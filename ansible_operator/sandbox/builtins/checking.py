"""Reads builtin.yaml, and holds objects against it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml

from ansible_operator.sandbox.builtins import (
    config,
    containers,
    jobs,
    network,
    persistence,
    pods,
    policy,
    quotas,
    scaling,
    services,
    volumes,
    webhooks,
    wording,
    workloads,
)
from ansible_operator.sandbox.builtins.fields import Field

Check = Callable[[Field], Any]
"""Notes what is wrong with a field; the ones after it are left out if it returns False."""

_MODULES = (
    config,
    containers,
    jobs,
    network,
    pods,
    policy,
    quotas,
    scaling,
    services,
    persistence,
    volumes,
    webhooks,
    wording,
    workloads,
)


@dataclass(frozen=True, slots=True)
class _Step:
    """What is to be checked of one field. ``absent``: even if it is not given."""

    name: str
    each: bool
    checks: tuple[tuple[bool, Check], ...]
    inner: tuple[_Step, ...]
    absent: bool
    allowed: tuple[str, ...] = ()


def check(kind: str, field: Field, *, section: str = "kinds") -> None:
    """Note in the field's causes what is wrong with an object of a built-in kind."""
    steps = _plans(section).get(kind)
    if steps:
        _walk(field, steps)


def kinds_of(section: str) -> set[str]:
    """The kinds that a section has rules for."""
    return set(_plans(section))


def _walk(field: Field, steps: tuple[_Step, ...]) -> None:
    value, old = field.value, field.old if isinstance(field.old, dict) else {}
    for step in steps:
        if not step.name:
            _run(field, step)
            continue
        got = value.get(step.name)
        # Most fields are not given or hold one of the values allowed, and cost no more than this.
        if (got is None and not step.absent) or got in step.allowed:
            continue
        child = Field(got, old.get(step.name), field, step.name, field.causes)
        if not step.each:
            _run(child, step)
            continue
        for entry in child.entries():
            _run(entry, step)


def _run(field: Field, step: _Step) -> None:
    missing = field.value is None
    for absent, checked in step.checks:
        if missing and not absent:
            continue
        if checked(field) is False:
            break
    if step.inner and isinstance(field.value, dict):
        _walk(field, step.inner)


@functools.cache
def _plans(section: str) -> Mapping[str, tuple[_Step, ...]]:
    done: dict[int, tuple[_Step, ...]] = {}
    return {kind: _steps(rules, done) for kind, rules in _table()[section].items()}


@functools.cache
def _table() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("builtin.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Mapping[str, Any] = yaml.load(text, loader)  # noqa: S506 - a safe loader
    return found


def _steps(rules: Mapping[str, Any], done: dict[int, tuple[_Step, ...]]) -> tuple[_Step, ...]:
    # What YAML shares between kinds is the same object, and is read once.
    if id(rules) not in done:
        done[id(rules)] = tuple(_step(name, told, done) for name, told in rules.items())
    return done[id(rules)]


def _step(name: str, told: Any, done: dict[int, tuple[_Step, ...]]) -> _Step:
    each = name.endswith("[]")
    name = "" if name == "." else name.removesuffix("[]")
    if isinstance(told, dict):
        return _Step(name, each, (), _steps(told, done), absent=False)
    if isinstance(told, list):
        return _Step(name, each, ((False, _allowed(told)),), (), absent=False, allowed=tuple(told))
    words = told.split()
    checks = tuple((word.isupper(), _named(word.lower())) for word in words)
    return _Step(name, each, checks, (), absent=any(absent for absent, _ in checks) and not each)


def _allowed(values: list[str]) -> Check:
    return lambda field: field.one_of(*values)


def _named(word: str) -> Check:
    found = [getattr(module, word) for module in _MODULES if hasattr(module, word)]
    if len(found) != 1:
        raise LookupError(f"builtin.yaml names a word that is not there once: {word}")
    check: Check = found[0]
    return check
