"""Tables: what ``kubectl get`` shows, worked out by the server.

A table has a row per object; its cells are those of columns.yaml for built-in resources and the
additional printer columns for custom ones.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Any

import yaml

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.schemas import schema
from ansible_operator.sandbox.views import (
    ages,
    cells,
    jsonpath,
    kindcells,
    podcells,
    representation,
)

Obj = dict[str, Any]
Cell = Callable[[Obj, datetime], Any]
_TYPES = {"int": "integer", "bool": "boolean", "date": "date"}
_EMPTY = {"string": "", "integer": 0, "boolean": False, "date": None}
_CREATED = {"name": "Created At", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_AGE = {**_CREATED, "name": "Age"}
INCLUDED = ("", "None", "Metadata", "Object")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its definition in the answer, and what it shows of an object."""

    definition: Obj
    cell: Cell


def table(
    resource: kinds.Resource,
    objects: Iterable[Obj],
    columns: Sequence[Obj] = (),
    *,
    include: str = "Metadata",
    now: datetime,
    version: str = "v1",
) -> Obj:
    """The objects as a Table, whose metadata is for the caller to fill.

    ``columns`` are the additional printer columns of a custom resource. ``include`` is what goes
    with each row: the whole Object, its Metadata (also when empty) or None. Raises ApiFailure 400.
    """
    if include not in INCLUDED:
        raise failure.bad_request(
            "Unable to convert to Table as requested: includeObject: Invalid value: "
            f"{failure.shown(include)}: must be 'Metadata', 'Object', 'None', or empty"
        )
    shown = _custom(columns) if resource.custom else _builtin(resource.qualified)
    rows = [
        {"cells": [c.cell(obj, now) for c in shown], "object": _included(obj, include, version)}
        for obj in objects
    ]
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {},
        "columnDefinitions": [c.definition for c in shown],
        # The server's generic printers leave the list out where its others leave it empty.
        "rows": rows or (None if shown[-1].definition["name"] == "Created At" else []),
    }


def _included(obj: Obj, include: str, version: str) -> Obj | None:
    if include == "None":
        return None
    return obj if include == "Object" else representation.partial(obj, version)


@functools.cache
def _described(field: str) -> str:
    meta = schema.definitions()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
    return str(meta["properties"][field]["description"])


def _definition(name: str, kind: str, priority: int, description: str = "") -> Obj:
    shape = "name" if name == "Name" else ""
    known = {"Name": "name", "Age": "creationTimestamp", "Created At": "creationTimestamp"}
    text = description or (_described(known[name]) if name in known else "")
    return {"name": name, "type": kind, "format": shape, "description": text, "priority": priority}


@functools.cache
def _name() -> Column:
    return Column(_definition("Name", "string", 0), lambda obj, _: obj["metadata"].get("name", ""))


@functools.cache
def _table() -> Mapping[str, Mapping[str, str]]:
    text = resources.files(__package__).joinpath("columns.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Mapping[str, Mapping[str, str]] = yaml.load(text, loader)  # noqa: S506 - a safe loader
    return found


@functools.cache
def _builtin(qualified: str) -> tuple[Column, ...]:
    given = _table().get(qualified)
    if given is None:
        return (_name(), _printer(_CREATED, raw=True))
    listed = tuple(_read(name, text) for name, text in given.items())
    return listed if "Name" in given else (_name(), *listed)


def _read(name: str, text: str) -> Column:
    """A column of columns.yaml: flags, function, field, what is shown without it."""
    text, _, fallback = text.partition(" or ")
    words = text.split()
    kind = next((_TYPES[word] for word in words if word in _TYPES), "string")
    field = next((word[1:] for word in words if word.startswith(".")), "")
    functions = [w for w in words if w not in _TYPES and w != "wide" and not w.startswith(".")]
    definition = _definition(name, kind, int("wide" in words))
    function = _function(functions[0]) if functions else None
    return Column(definition, _cell(function, field, fallback or _EMPTY[kind], bool(fallback)))


def _function(name: str) -> cells.Cell:
    found = (getattr(module, name, None) for module in (cells, kindcells, podcells))
    function: cells.Cell = next(function for function in found if function is not None)
    return function


def _cell(function: cells.Cell | None, field: str, missing: Any, told: bool) -> Cell:
    def cell(obj: Obj, now: datetime) -> Any:
        value = cells.at(obj, field) if field else obj
        if function is None or (told and value is None):
            return missing if value is None or (told and value == "") else value
        return function(value, now)

    return cell


def _custom(columns: Sequence[Obj]) -> list[Column]:
    """The columns of a custom resource, up to the first whose path cannot be read."""
    found = [_name()]
    for column in columns or (_AGE,):
        try:
            found.append(_printer(column))
        except ValueError:
            break
    return found


def _printer(column: Obj, *, raw: bool = False) -> Column:
    """A printer column. ``raw``: dates are shown as they are, not as the time since."""
    path, kind = column["jsonPath"], column["type"]
    told = column.get("description", "")
    if not told and column not in (_AGE, _CREATED):
        told = f"Custom resource definition column (in JSONPath format): {path}"
    definition = _definition(column["name"], kind, column.get("priority", 0), told)
    definition["format"] = column.get("format", definition["format"])
    find = jsonpath.parse(path)

    def cell(obj: Obj, now: datetime) -> Any:
        found = find(obj)
        return _printed(found[0], "string" if raw else kind, now) if found else None

    return Column(definition, cell)


def _printed(value: Any, kind: str, now: datetime) -> Any:
    """A value in a column of a type; None where it does not fit."""
    if kind == "string":
        return _text(value)
    if kind == "date":
        return None if value is None else ages.since(value, now)
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return math.trunc(value) if kind == "integer" else value
    return None


def _text(value: Any) -> str:
    """A value as Go prints it: texts as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
