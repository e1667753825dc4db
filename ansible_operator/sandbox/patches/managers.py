"""The entries of ``metadata.managedFields``: one manager's part of an object each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.patches import fieldset

Obj = dict[str, Any]

ANCIENT = "ancient-changes"
"""The manager that takes over from the oldest updates, when there are more than UPDATES."""
UPDATES = 10
NAME_LIMIT, SUBRESOURCE_LIMIT = 128, 256


@dataclass(frozen=True, slots=True)
class Entry:
    """One manager's part. Applies of one manager are one entry, in whatever version."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""
    time: str = ""
    fields: fieldset.Fields = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from the other entries of an object."""
        version = self.api_version if self.operation == "Update" else ""
        return (self.manager, self.operation, self.subresource, version)

    @property
    def encoded(self) -> Obj:
        """As it stands in the object."""
        found: Obj = {"manager": self.manager} if self.manager else {}
        found |= {"operation": self.operation, "apiVersion": self.api_version}
        if self.time:
            found["time"] = self.time
        found |= {"fieldsType": "FieldsV1", "fieldsV1": self.fields}
        return found | ({"subresource": self.subresource} if self.subresource else {})

    def owning(self, fields: fieldset.Fields) -> Entry:
        """The same manager, with other fields."""
        return self if fields is self.fields else replace(self, fields=fields)

    def __str__(self) -> str:
        """As conflicts name it."""
        told = json.dumps(self.manager, ensure_ascii=False)
        if self.subresource:
            told += f' with subresource "{self.subresource}"'
        return told if self.operation == "Apply" else f"{told} using {self.api_version}"


Entries = dict[tuple[str, ...], Entry]


def decode(noted: Iterable[Obj] | None) -> Entries:
    """The entries of an object."""
    found = {}
    for raw in noted or ():
        entry = Entry(
            raw.get("manager", ""),
            raw["operation"],
            raw["apiVersion"],
            raw.get("subresource", ""),
            raw.get("time") or "",
            raw.get("fieldsV1") or {},
        )
        found[entry.key] = entry
    return found


def encode(obj: Obj, entries: Entries) -> Obj:
    """The object with these entries; those that own nothing are left out."""
    meta = {key: item for key, item in obj["metadata"].items() if key != "managedFields"}
    if noted := [entry.encoded for entry in _sorted(entries) if entry.fields]:
        meta["managedFields"] = noted
    return {**obj, "metadata": meta}


def capped(entries: Entries) -> Entries:
    """At most UPDATES updates: the oldest of a version are put together."""
    updates = [entry for entry in _sorted(entries) if entry.operation == "Update" and entry.fields]
    if len(updates) <= UPDATES:
        return entries
    found = dict(entries)
    left = len(updates)
    for entry in updates:
        if left <= UPDATES:
            break
        del found[entry.key]
        bucket = replace(entry, manager=ANCIENT, subresource="")
        left -= bucket.key in found
        had = found[bucket.key].fields if bucket.key in found else {}
        found[bucket.key] = bucket.owning(fieldset.union(had, entry.fields))
    return found


def _sorted(entries: Entries) -> list[Entry]:
    return sorted(
        entries.values(),
        key=lambda one: (one.operation, one.time, one.manager, one.api_version, one.subresource),
    )


def readable(noted: Any) -> bool:
    """Whether all of them can be read; a server ignores what it cannot read."""
    return all(
        raw.get("operation") in ("Apply", "Update")
        and raw.get("fieldsType") == "FieldsV1"
        and bool(raw.get("apiVersion"))
        and raw["apiVersion"].count("/") <= 1
        and fieldset.valid(raw.get("fieldsV1") or {})
        for raw in noted
    )


def validate(noted: Iterable[Obj] | None) -> list[failure.Cause]:
    """What is wrong with the names in entries."""
    causes = []
    for index, raw in enumerate(noted or ()):
        path = f"metadata.managedFields[{index}]"
        causes += validate_name(f"{path}.manager", raw.get("manager", ""))
        if len(raw.get("subresource", "").encode()) > SUBRESOURCE_LIMIT:
            causes.append(failure.too_long(f"{path}.subresource", SUBRESOURCE_LIMIT))
    return causes


def of_agent(agent: str) -> str:
    """The manager that a user agent is taken for: its first word."""
    name = "".join(filter(str.isprintable, agent.partition("/")[0]))
    return name.encode()[:NAME_LIMIT].decode("utf-8", "ignore") or "unknown"


def validate_name(path: str, name: str) -> list[failure.Cause]:
    """What is wrong with the name of a manager."""
    causes = []
    if len(name.encode()) > NAME_LIMIT:
        causes.append(failure.too_long(path, NAME_LIMIT))
    for at, character in enumerate(name):
        if not character.isprintable():
            place = len(name[:at].encode())
            told = f"invalid character U+{ord(character):04X} (at position {place})"
            causes.append(failure.invalid_value(path, name, told))
    return causes
