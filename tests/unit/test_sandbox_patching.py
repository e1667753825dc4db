"""JSON patches and merge patches."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.patches import patching

OBJ = {"a": {"b": 1}, "list": [1, 2, 3], "s~l/ash": "x"}


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    """One operation."""
    return {"op": name, "path": path, **more}


def patched(*operations: Any) -> Any:
    """OBJ after these operations."""
    before = copy.deepcopy(OBJ)
    found = patching.json_patch(OBJ, list(operations))
    assert before == OBJ
    return found


def refused(*operations: Any) -> tuple[int, str]:
    """Code and message of a patch that cannot be done."""
    with pytest.raises(failure.ApiFailure) as caught:
        patched(*operations)
    return caught.value.code, caught.value.message


def test_operations_work_on_fields_and_entries() -> None:
    """All six, one after the other; the object that is given stays as it was."""
    found = patched(
        op("test", "/a/b", value=1),
        op("add", "/a/c", value={"d": None}),
        op("replace", "/a/b", value=2),
        op("copy", "/copied", **{"from": "/a"}),
        op("move", "/moved", **{"from": "/list/0"}),
        op("remove", "/a/c"),
        op("add", "/list/-", value=4),
        op("add", "/list/0", value=0),
        op("replace", "/s~0l~1ash", value="y"),
    )
    assert found == {
        "a": {"b": 2},
        "copied": {"b": 2, "c": {"d": None}},
        "moved": 1,
        "list": [0, 2, 3, 4],
        "s~l/ash": "y",
    }


def test_what_is_not_there_is_null() -> None:
    """It can be replaced, tested for null and copied, but not removed or moved."""
    found = patched(
        op("replace", "/n", value=1), op("test", "/m"), op("copy", "/o", **{"from": "/m"})
    )
    assert (found["n"], found["o"]) == (1, None)
    assert refused(op("remove", "/m"))[0] == 422
    assert refused(op("move", "/m", **{"from": "/n"}))[0] == 422


def test_negative_indices_count_from_the_end() -> None:
    """Of an insertion the end is one further."""
    assert patched(op("add", "/list/-1", value=4))["list"] == [1, 2, 3, 4]
    assert patched(op("replace", "/list/-1", value=4))["list"] == [1, 2, 4]
    assert patched(op("remove", "/list/-3"))["list"] == [2, 3]


@pytest.mark.parametrize(
    "operation",
    [
        op("add", "/list/5", value=1),
        op("add", "/list/x", value=1),
        op("remove", "/list/-"),
        op("test", "/list/3"),
        op("test", "/a", value={"b": True}),
        op("add", "/x/y", value=1),
        op("add", "/a/b/c", value=1),
        op("add", "", value={}),
        op("replace", "", value=[]),
        op("copy", "/x"),
        op("frob", "/a"),
        {"op": "add", "value": 1},
        None,
    ],
)
def test_what_cannot_be_done(operation: Any) -> None:
    """All of it has one answer."""
    told = "the server rejected our request due to an error in our request"
    assert refused(operation) == (422, told)


def test_the_whole_document() -> None:
    """It can be tested and replaced."""
    assert patched(op("test", "", value=OBJ), op("replace", "", value={"n": 1})) == {"n": 1}


def test_what_is_no_json_patch() -> None:
    """The decoder says what it is instead."""
    for patch, told in (
        ({}, "object into Go value of type []handlers.jsonPatchOp"),
        (["x"], "string into Go value of type handlers.jsonPatchOp"),
        ([{"op": "add", "path": []}], "array into Go struct field jsonPatchOp.path of type string"),
    ):
        with pytest.raises(failure.ApiFailure) as caught:
            patching.json_patch(OBJ, patch)
        assert caught.value.message == f"error decoding patch: json: cannot unmarshal {told}"
    assert patching.json_patch(OBJ, None) == OBJ
    assert refused(*[op("test", "/a")] * (patching.LIMIT + 1))[0] == 413


def test_a_merge_patch() -> None:
    """Maps are merged, nulls remove, everything else replaces."""
    obj = {"a": {"b": 1, "c": 2}, "list": [1], "map": {"x": 1}, "scalar": 1}
    before = copy.deepcopy(obj)
    patch = {
        "a": {"b": None, "absent": None},
        "list": [{"n": None}],
        "map": [{"n": None}],
        "scalar": {"m": None},
        "new": {"n": None, "o": {"p": None}},
    }
    assert patching.merge_patch(obj, patch) == {
        "a": {"c": 2},
        "list": [{}],
        "map": [{"n": None}],
        "scalar": {},
        "new": {"o": {}},
    }
    assert obj == before


def test_what_is_no_merge_patch() -> None:
    """Lists, scalars and null are refused."""
    for patch, told in (
        (
            [],
            "error decoding patch: json: cannot unmarshal array into Go value of type "
            "map[string]interface {}",
        ),
        (None, "Invalid JSON Patch"),
    ):
        with pytest.raises(failure.ApiFailure) as caught:
            patching.merge_patch(OBJ, patch)
        assert (caught.value.code, caught.value.message) == (400, told)
