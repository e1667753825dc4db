"""Tests of ansible_operator.sandbox.defaulting."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.schemas import defaulting

TEXT = {"type": "string"}
FILLED = {**TEXT, "default": "x"}
INNER = {"type": "object", "properties": {"a": FILLED}}


def defaulted(value: Any, **properties: Any) -> Any:
    """An object with its defaults."""
    return defaulting.default(value, {"type": "object", "properties": properties})


def test_missing_fields_are_filled_in() -> None:
    """Those that are there are left alone, also when they are empty."""
    assert defaulted({}, a=FILLED, b=TEXT) == {"a": "x"}
    assert defaulted({"a": ""}, a=FILLED) == {"a": ""}
    assert defaulted({}, a={"type": "boolean", "default": False}) == {"a": False}


def test_defaults_are_filled_in_within_defaults() -> None:
    """An object that comes from a default gets its own defaults; without one it is not made."""
    assert defaulted({}, inner={**INNER, "default": {}}) == {"inner": {"a": "x"}}
    assert defaulted({}, inner=INNER) == {}
    assert defaulted({"inner": {}}, inner=INNER) == {"inner": {"a": "x"}}


def test_defaults_are_copied() -> None:
    """Two objects do not share what a default made."""
    given = {"type": "object", "default": {"list": []}}
    first, second = (defaulted({}, inner=given) for _ in range(2))
    first["inner"]["list"].append(1)
    assert second == {"inner": {"list": []}}
    assert given["default"] == {"list": []}


def test_nulls_are_replaced_where_null_is_no_value() -> None:
    """Of a nullable field the null is the value."""
    assert defaulted({"a": None}, a=FILLED) == {"a": "x"}
    assert defaulted({"a": None}, a={**FILLED, "nullable": True}) == {"a": None}
    assert defaulted({"a": None}, a=TEXT) == {"a": None}


def test_entries_of_lists_and_maps_are_filled_in() -> None:
    """Nulls among them too, if there is a default for them."""
    items = {"type": "array", "items": {**INNER, "default": {}}}
    assert defaulted({"list": [{}, None]}, list=items) == {"list": [{"a": "x"}, {"a": "x"}]}
    entries = {"type": "object", "additionalProperties": {**INNER, "default": {}}}
    found = defaulted({"map": {"x": {}, "y": None}}, map=entries)
    assert found == {"map": {"x": {"a": "x"}, "y": {"a": "x"}}}
    plain = {"type": "array", "items": INNER}
    assert defaulted({"list": [None]}, list=plain) == {"list": [None]}
