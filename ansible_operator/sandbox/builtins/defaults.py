"""What the API server fills in where an object of a built-in kind says nothing."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml

from ansible_operator.sandbox.builtins import derived

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Default:
    """What is filled in at one field: a value, or what is in ``inner``."""

    name: str
    given: bool
    each: bool
    value: Any
    inner: tuple[_Default, ...]


def fill(kind: str, obj: Obj) -> Obj:
    """Fill in the defaults of an object of a built-in kind, as it was decoded; in place."""
    if kind in derived.BEFORE:
        derived.BEFORE[kind](obj)
    steps = _plans().get(kind)
    if steps:
        _fill(obj, steps)
    if kind in derived.AFTER:
        derived.AFTER[kind](obj)
    return obj


def _fill(obj: Obj, steps: tuple[_Default, ...]) -> None:
    for step in steps:
        got = obj.get(step.name)
        if step.each:
            for entry in got or ():
                _fill(entry, step.inner)
        elif step.given:
            if got is not None:
                _fill(got, step.inner)
        elif step.inner:
            if got is None:
                got = obj[step.name] = {}
            _fill(got, step.inner)
        elif got is None or got == "":
            value = step.value
            obj[step.name] = copy.deepcopy(value) if isinstance(value, dict | list) else value


@functools.cache
def _plans() -> Mapping[str, tuple[_Default, ...]]:
    text = resources.files(__package__).joinpath("defaults.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    table: Mapping[str, Any] = yaml.load(text, loader)  # noqa: S506 - a safe loader
    return {kind: _steps(found) for kind, found in table["kinds"].items()}


def _steps(found: Mapping[str, Any]) -> tuple[_Default, ...]:
    return tuple(_step(name, told) for name, told in found.items())


def _step(name: str, told: Any) -> _Default:
    inner = _steps(told) if isinstance(told, dict) else ()
    bare = name.removesuffix("?").removesuffix("[]")
    return _Default(bare, name.endswith("?"), name.endswith("[]"), told, inner)
