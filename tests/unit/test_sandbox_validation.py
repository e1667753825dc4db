"""Tests of ansible_operator.sandbox.validation; the messages are in tests/conformance."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator.sandbox.schemas import schema, validation

TEXT = {"type": "string", "maxLength": 3}
KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": TEXT}},
}


def fields(new: Any, old: Any = None, **properties: Any) -> list[str]:
    """The fields of what is wrong with an object."""
    custom = schema.custom({"type": "object", "properties": properties})
    return [cause.field for cause in validation.validate(new, custom, old)]


def told(value: Any, **of: Any) -> list[str]:
    """What is said of a field ``x`` with this schema."""
    custom = schema.custom({"type": "object", "properties": {"x": of}})
    return [str(cause) for cause in validation.validate({"x": value}, custom)]


def test_fields_that_are_not_there_are_not_asked_for() -> None:
    """Unless they are required, in the order in which that is written."""
    assert fields({}, x=TEXT) == []
    needed = {"type": "object", "required": ["b", "a"]}
    assert fields({"x": {}}, x=needed) == ["x.b", "x.a"]


def test_all_that_is_wrong_is_told_once() -> None:
    """The same thing found on two ways is one thing."""
    twice = {"type": "object", "allOf": [{"required": ["a"]}], "required": ["a"]}
    assert told({}, **twice) == [
        "x.a: Required value",
        '<nil>: Invalid value: "": "x" must validate all the schemas (allOf). None validated',
    ]


@pytest.mark.parametrize(
    ("value", "of", "fine"),
    [
        (1, {"type": "number"}, True),
        (1.0, {"type": "integer"}, True),
        (True, {"type": "integer"}, False),
        (True, {"enum": [1]}, False),
        (1, {"enum": [1.0]}, True),
        (None, {"type": "string", "nullable": True}, True),
        (None, {"enum": [None], "nullable": True}, False),
        ([], {"type": "string", "format": "uuid"}, True),  # formats excuse lists, as on a server
        ("x", {"type": "integer", "format": "uuid"}, False),
        ("x", {"format": "unheard-of"}, True),
        ("é" * 3, {"type": "string", "maxLength": 3}, True),
        ("a\n", {"type": "string", "pattern": "^a$"}, False),
        (2**31, {"type": "integer", "format": "int32"}, False),
        (2**31, {"type": "integer"}, True),
        (2**63, {"type": "integer"}, False),
        (1, {"type": "integer", "maximum": 1.9}, True),
        (2, {"type": "integer", "maximum": 1.9}, False),
        (0.3, {"type": "number", "multipleOf": 0.1}, True),
    ],
)
def test_values(value: Any, of: dict[str, Any], fine: bool) -> None:
    """Types, formats and bounds are those of Go and JSON, not of Python."""
    assert (told(value, **of) == []) is fine


def test_the_alternative_that_fits_best_is_told() -> None:
    """Of anyOf and oneOf: that which held out longest."""
    either = [{"type": "integer"}, {"type": "string", "minLength": 2}]
    assert told("a", anyOf=either)[1:] == [
        'x: Invalid value: "a": x in body should be at least 2 chars long'
    ]


def test_what_was_wrong_before_may_stay() -> None:
    """In fields and in the entries of lists of type map, wherever they stand now."""
    old = {"text": "long", "list": ["long"], "keyed": [{"k": "1", "v": "long"}]}
    of: dict[str, Any] = {"text": TEXT, "list": {"type": "array", "items": TEXT}, "keyed": KEYED}
    assert fields(old, old, **of) == []
    assert fields(old, **of) == ["text", "list[0]", "keyed[0].v"]
    more = [{"k": "2", "v": "long"}, {"k": "1", "v": "long"}]
    new = {"text": "longer", "list": ["long", "x"], "keyed": more}
    assert fields(new, old, **of) == ["text", "list[0]", "keyed[0].v"]


def test_repeated_entries_may_stay_too() -> None:
    """Then nobody looks for others."""
    of: dict[str, Any] = {"x": {"type": "array", "x-kubernetes-list-type": "set"}}
    assert fields({"x": [1, 1]}, **of) == ["x[1]"]
    assert fields({"x": [1, 1]}, {"x": [1]}, **of) == ["x[1]"]
    assert fields({"x": [1, 1, 2, 2]}, {"x": [1, 1]}, **of) == []


def test_of_a_status_update_only_the_status_is_validated() -> None:
    """Its messages do not say that they are about the status, its fields do."""
    properties = {"spec": TEXT, "status": {"type": "object", "properties": {"x": TEXT}}}
    custom = schema.custom({"type": "object", "properties": properties})
    obj = {"spec": "long", "status": {"x": 1}}
    (cause,) = validation.validate(obj, custom, None, "status")
    assert cause.field == "status.x"
    assert cause.message.endswith('x in body must be of type string: "integer"')
    assert validation.validate({"spec": "long"}, custom, None, "status") == []


def test_embedded_objects_have_version_and_kind() -> None:
    """And names and labels that objects can have."""
    whole: dict[str, Any] = {"type": "object", "x-kubernetes-embedded-resource": True}
    assert fields({"x": {}}, x=whole) == ["x.apiVersion", "x.kind"]
    bad = {"apiVersion": "a/b/c", "kind": "9", "metadata": {"name": "a/b", "labels": {"x y": ""}}}
    wrong = ["x.apiVersion", "x.kind", "x.metadata.name", "x.metadata.labels"]
    assert fields({"x": bad}, x=whole) == wrong
    meta = {"namespace": "A", "finalizers": ["a b"], "generation": -1, "generateName": "%"}
    bad = {"apiVersion": "", "kind": "", "metadata": meta}
    metas = [f"x.metadata.{key}" for key in ("generateName", "namespace", "generation")]
    wrong = ["x.apiVersion", "x.kind", *metas, "x.metadata.finalizers"]
    assert fields({"x": bad}, x=whole) == wrong
    assert fields({"x": {"apiVersion": "v1", "kind": "Pod"}}, x=whole) == []
    assert fields({"x": [{}]}, x={"type": "array", "items": whole}) == [
        "x[0].apiVersion",
        "x[0].kind",
    ]
