"""Values as sets of fields see them: what they own, how they differ, what becomes of them.

Atomic lists and maps are like scalars: owned, compared and replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ansible_operator.sandbox.patches import fieldset
from ansible_operator.sandbox.schemas import schema as schemas

Fields = fieldset.Fields
Schema = schemas.Schema


class Repeated(tuple[Any, ...]):
    """The entries of a list that have one and the same key, which they should not."""


def of(value: Any, schema: Schema) -> Fields:
    """What a manager owns who applies this value: its leaves, map entries and list entries."""
    found: Fields = {}
    declared = schemas.resolve(schema).get("properties", {})
    for step, item, sub in _children(value, schema):
        if _is_leaf(item, sub):
            found[step] = {}
        else:
            member = step[:2] != "f:" or step[2:] not in declared
            if (node := fieldset.node(member, of(item, sub))) is not None:
                found[step] = node
    return found


def _everything(value: Any, schema: Schema) -> Fields:
    """The node of a value that came or went: every step of it, fields with others below too."""
    if _is_leaf(value, schema) or not value:
        return {}
    inner = {step: _everything(item, sub) for step, item, sub in _children(value, schema)}
    return {fieldset.SELF: {}, **inner}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed between two values."""

    added: Fields
    modified: Fields
    removed: Fields

    @property
    def same(self) -> bool:
        """Whether nothing did."""
        return not (self.added or self.modified or self.removed)


def compare(before: Any, after: Any, schema: Schema) -> Comparison:
    """The fields and entries that were added, modified and removed."""
    found = Comparison({}, {}, {})
    was, now = _by_step(before, schema), _by_step(after, schema)
    for step, item in now.items():
        if step not in was:
            found.added[step] = _everything(item, _below(schema, step))
        elif was[step] is not item and was[step] != item:
            _note_change(found, step, was[step], item, _below(schema, step))
    for step, item in was.items():
        if step not in now:
            found.removed[step] = _everything(item, _below(schema, step))
    return found


def _note_change(found: Comparison, step: str, old: Any, new: Any, schema: Schema) -> None:
    if isinstance(old, Repeated) != isinstance(new, Repeated):
        found.added[step], found.removed[step] = _everything(new, schema), _everything(old, schema)
        return
    if (not old or _is_leaf(old, schema)) and (not new or _is_leaf(new, schema)):
        found.modified[step] = {}
        return
    if _differ_in_kind(old, new):
        found.modified[step] = {}
        old, new = (None if _is_leaf(one, schema) else one for one in (old, new))
    inner = compare(old, new, schema)
    for all_of_it, below in (
        (found.added, inner.added),
        (found.modified, inner.modified),
        (found.removed, inner.removed),
    ):
        if below:
            all_of_it[step] = below


def _differ_in_kind(one: Any, other: Any) -> bool:
    return one is not None and other is not None and type(one) is not type(other)


def without(value: Any, fields: Fields, schema: Schema) -> Any:
    """The value without what is in the set; None, as the server has it, if nothing is left."""
    if not fields or _is_leaf(value, schema):
        return value
    if isinstance(value, dict):
        kept = {}
        for name, item in value.items():
            below = fields.get(f"f:{name}")
            if below is None:
                kept[name] = item
            elif not fieldset.includes(below):
                kept[name] = without(item, below, _field(schema, name))
        return kept or None
    items = schemas.of_items(schema)
    left = []
    for item in value:
        below = fields.get(_step(item, schema))
        if below is None:
            left.append(item)
        elif not fieldset.includes(below):
            left.append(without(item, below, items))
    return left or None


def overlay(value: Any, applied: Any, schema: Schema) -> Any:
    """The value with what is applied merged over it."""
    if isinstance(value, dict) and isinstance(applied, dict | None) and value:
        if schemas.atomic_map(schema):
            return applied
        found = dict(value)
        for name, item in (applied or {}).items():
            found[name] = overlay(found.get(name), item, _field(schema, name))
        return found
    if isinstance(value, list) and isinstance(applied, list | None) and value:
        if schemas.list_type(schema) == "atomic":
            return applied
        return _overlay_list(value, applied or [], schema)
    return applied


def _overlay_list(value: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    """Both lists' entries; those of both in the order applied, the others after their neighbour."""
    items = schemas.of_items(schema)
    rest = [(_step(item, schema), item) for item in value]
    old = dict(rest)
    new = {_step(item, schema): item for item in applied}
    shared = [step for step in new if step in old]
    found = []
    rest.reverse()
    for step, item in new.items():
        target = shared[0] if shared else None
        while rest and rest[-1][0] != target:
            at, kept = rest.pop()
            if at not in new:
                found.append(kept)
        found.append(overlay(old.get(step), item, items))
        if step == target:
            shared.pop(0)
            del rest[-1:]
    return found + [kept for at, kept in reversed(rest) if at not in new]


def named(fields: Fields, schema: Schema) -> Fields:
    """The set with the declared fields that it has only something below of."""
    declared = schemas.resolve(schema).get("properties", {})
    found = {}
    for step, below in fields.items():
        if below and step != fieldset.SELF:
            inner = named(below, _below(schema, step))
            if step[:2] == "f:" and step[2:] in declared:
                inner[fieldset.SELF] = {}
            found[step] = inner
        else:
            found[step] = below
    return found


def _is_leaf(value: Any, schema: Schema) -> bool:
    if isinstance(value, dict):
        return not value or schemas.atomic_map(schema)
    if isinstance(value, list):
        return schemas.list_type(schema) == "atomic"
    return True


def _by_step(value: Any, schema: Schema) -> dict[str, Any]:
    if isinstance(value, dict):
        return {f"f:{name}": item for name, item in value.items()}
    return keyed(value, schema) if isinstance(value, list) else {}


def _children(value: Any, schema: Schema) -> Iterator[tuple[str, Any, Schema]]:
    for step, item in _by_step(value, schema).items():
        yield step, item, _below(schema, step) if isinstance(item, dict | list) else schemas.ANY


def keyed(value: list[Any], schema: Schema) -> dict[str, Any]:
    """The entries of a list that is a set or a map, by their steps."""
    found: dict[str, Any] = {}
    for item in value:
        step = _step(item, schema)
        if step in found:
            before = found[step]
            item = Repeated([*(before if isinstance(before, Repeated) else [before]), item])
        found[step] = item
    return found


def _step(item: Any, schema: Schema) -> str:
    keys = schemas.map_keys(schema)
    if not keys or not isinstance(item, dict):
        return f"v:{fieldset.text(item)}"
    items = schemas.of_items(schema)
    return f"k:{fieldset.text({key: _key_value(item, key, items) for key in sorted(keys)})}"


def _key_value(item: Any, key: str, items: Schema) -> Any:
    if key in item:
        return item[key]
    default = _field(items, key)
    # The schemas of the built-in kinds do not have the few defaults that keys have.
    fallback = "TCP" if key == "protocol" else "" if default.get("type") == "string" else 0
    return default.get("default", fallback)


def _below(schema: Schema, step: str) -> Schema:
    return _field(schema, step[2:]) if step[:2] == "f:" else schemas.of_items(schema)


def _field(schema: Schema, name: str) -> Schema:
    return schemas.of_field(schema, name) or schemas.ANY
