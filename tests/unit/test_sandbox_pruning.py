"""Tests of ansible_operator.sandbox.pruning."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.schemas import pruning, schema

TEXT = {"type": "string"}
PAIR = {"type": "object", "properties": {"a": TEXT}}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def pruned(value: Any, **properties: Any) -> tuple[Any, list[str]]:
    """What is left of a spec, and what was unknown."""
    spec = {"type": "object", "properties": properties}
    custom = schema.custom({"type": "object", "properties": {"spec": spec}})
    found, unknown = pruning.prune({"metadata": {}, "spec": value}, custom)
    assert found["metadata"] == {}
    return found["spec"], unknown


def test_unknown_fields_are_dropped_and_told_in_order() -> None:
    """Their paths have indices, and are sorted."""
    value = {"z": {"deep": 1}, "pair": {"b": 1, "a": "x"}, "list": [{"a": "x"}, {"c": 1}]}
    found = pruned(value, pair=PAIR, list={"type": "array", "items": PAIR})
    expected = {"pair": {"a": "x"}, "list": [{"a": "x"}, {}]}
    assert found == (expected, ["spec.list[1].c", "spec.pair.b", "spec.z"])


def test_the_object_itself_is_not_changed() -> None:
    """What is stored elsewhere may be pruned."""
    value = {"pair": {"b": 1}}
    pruned(value, pair=PAIR)
    assert value == {"pair": {"b": 1}}


def test_map_entries_are_pruned() -> None:
    """Under ``additionalProperties: true`` nothing is described, so nothing is kept."""
    entries = {"type": "object", "additionalProperties": PAIR}
    assert pruned({"map": {"x": {"b": 1}}}, map=entries) == ({"map": {"x": {}}}, ["spec.map.x.b"])
    anything = {"type": "object", "additionalProperties": True}
    assert pruned({"map": {"x": 1, "y": {"b": 1}}}, map=anything) == (
        {"map": {"x": 1, "y": {}}},
        ["spec.map.y.b"],
    )


def test_free_values_are_kept_but_for_what_is_described_in_them() -> None:
    """Keeping unknown fields ends where a field is described."""
    free = {**FREE, "properties": {"pair": PAIR}}
    value = {"free": {"x": {"y": [1, {"z": None}]}, "pair": {"b": 1}}}
    expected = {"free": {"x": {"y": [1, {"z": None}]}, "pair": {}}}
    assert pruned(value, free=free) == (expected, ["spec.free.pair.b"])


def test_metadata_of_embedded_objects_are_left_alone() -> None:
    """They are read by their types elsewhere."""
    whole = {"type": "object", "x-kubernetes-embedded-resource": True}
    value = {"whole": {"apiVersion": "v1", "kind": "Pod", "metadata": {"foo": 1}, "spec": {}}}
    expected = {"whole": {"apiVersion": "v1", "kind": "Pod", "metadata": {"foo": 1}}}
    assert pruned(value, whole=whole) == (expected, ["spec.whole.spec"])


def test_nulls_are_dropped_unless_they_are_allowed_or_defaulted() -> None:
    """Nobody is told; list entries stay, as a list would get shorter."""
    value = {"plain": None, "nullable": None, "filled": None, "list": [None]}
    properties = {
        "plain": TEXT,
        "nullable": {**TEXT, "nullable": True},
        "filled": {**TEXT, "default": "x"},
        "list": {"type": "array", "items": TEXT},
    }
    expected = {"nullable": None, "filled": None, "list": [None]}
    assert pruned(value, **properties) == (expected, [])


def test_values_of_wrong_types_are_left_to_validation() -> None:
    """A text where an object should be has no fields to drop."""
    assert pruned({"pair": "x"}, pair=PAIR) == ({"pair": "x"}, [])
