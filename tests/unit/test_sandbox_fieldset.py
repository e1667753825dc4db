"""Sets of fields, and values as such sets see them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.sandbox.patches import fieldset, fieldwalk
from ansible_operator.sandbox.schemas import schema

ENTRY: schema.Schema = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "port": {"type": "integer", "default": 80},
        "value": {"type": "string"},
    },
}
MAP: schema.Schema = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
    "items": ENTRY,
}
SET: schema.Schema = {
    "type": "array",
    "x-kubernetes-list-type": "set",
    "items": {"type": "string"},
}
SCHEMA: schema.Schema = {
    "type": "object",
    "properties": {
        "map": MAP,
        "set": SET,
        "list": {"type": "array", "items": ENTRY},
        "object": ENTRY,
        "atomic": {**ENTRY, "x-kubernetes-map-type": "atomic"},
        "dict": {"type": "object", "additionalProperties": ENTRY},
        "free": schema.ANY,
        "size": {"type": "integer"},
    },
}
A, B = 'k:{"name":"a","port":80}', 'k:{"name":"b","port":1}'


def sets() -> st.SearchStrategy[Any]:
    """Sets of fields: no step stands for nothing, as none is an empty dict with ``.`` alone."""
    steps = st.sampled_from(["f:a", "f:b", "f:c"])
    nodes: st.SearchStrategy[Any] = st.recursive(
        st.just({}),
        lambda inner: st.builds(
            lambda below, included: {**({".": {}} if included else {}), **below},
            st.dictionaries(steps, inner, min_size=1, max_size=3),
            st.booleans(),
        ),
        max_leaves=8,
    )
    return st.dictionaries(steps, nodes, max_size=3)


def members(fields: fieldset.Fields) -> set[str]:
    """The set as Python has it."""
    return set(fieldset.paths(fields))


@given(sets(), sets())
def test_algebra(one: Any, other: Any) -> None:
    """It is that of sets, and every result is in the one form that a set has."""
    mine, yours = members(one), members(other)
    for found, wanted in (
        (fieldset.union(one, other), mine | yours),
        (fieldset.intersection(one, other), mine & yours),
        (fieldset.difference(one, other), mine - yours),
    ):
        assert members(found) == wanted
        assert (found == {}) == (not wanted)
        assert fieldset.valid(found)


def test_paths_are_told_as_in_messages() -> None:
    """The members of a level come before what is below them."""
    fields: fieldset.Fields = {
        "f:z": {},
        "f:a": {"f:b": {}, A: {"f:x": {}}, 'v:"s"': {}, "i:0": {}},
    }
    assert list(fieldset.paths(fields)) == [
        ".z",
        ".a.b",
        '.a[="s"]',
        ".a[0]",
        '.a[name="a",port=80].x',
    ]


@pytest.mark.parametrize("wrong", [{"x": {}}, {"f:a": 1}, [], {"f:a": {"b": {}}}])
def test_what_is_no_set(wrong: Any) -> None:
    """Steps have a kind, and below them are sets."""
    assert not fieldset.valid(wrong)


def test_what_is_owned_of_a_value() -> None:
    """Leaves, entries of lists and of maps; fields that are declared only if they are empty."""
    value = {
        "map": [{"name": "a"}, {"name": "b", "port": 1, "value": "x"}],
        "set": ["<"],
        "list": [{"name": "a"}],
        "object": {"name": "x"},
        "atomic": {"name": "x"},
        "dict": {"k": {"name": "x"}, "l": {}},
        "free": {"a": {"b": [1]}},
        "size": None,
    }
    assert fieldwalk.of(value, SCHEMA) == {
        "f:map": {
            A: {".": {}, "f:name": {}},
            B: {".": {}, "f:name": {}, "f:port": {}, "f:value": {}},
        },
        "f:set": {'v:"\\u003c"': {}},
        "f:list": {},
        "f:object": {"f:name": {}},
        "f:atomic": {},
        "f:dict": {"f:k": {".": {}, "f:name": {}}, "f:l": {}},
        "f:free": {"f:a": {".": {}, "f:b": {}}},
        "f:size": {},
    }
    assert fieldwalk.of({"object": {}, "set": []}, SCHEMA) == {"f:object": {}}


def test_what_changed() -> None:
    """What came or went is told with all that is in it; atomic values and scalars as a whole."""
    before = {
        "map": [{"name": "a", "value": "x"}, {"name": "c"}],
        "object": {"name": "x"},
        "atomic": {"name": "x"},
        "list": [1],
        "free": {"a": 1, "b": {}},
    }
    after = {
        "map": [{"name": "a", "value": "y"}, {"name": "b", "port": 1}],
        "object": {},
        "atomic": {"name": "y"},
        "list": [2],
        "dict": {"k": {}},
        "free": {"a": {"c": 1}, "b": None},
    }
    found = fieldwalk.compare(before, after, SCHEMA)
    assert found.added == {
        "f:map": {B: {".": {}, "f:name": {}, "f:port": {}}},
        "f:dict": {".": {}, "f:k": {}},
        "f:free": {"f:a": {"f:c": {}}},
    }
    assert found.modified == {
        "f:map": {A: {"f:value": {}}},
        "f:atomic": {},
        "f:list": {},
        "f:free": {"f:a": {}, "f:b": {}},
    }
    assert found.removed == {
        "f:map": {'k:{"name":"c","port":80}': {".": {}, "f:name": {}}},
        "f:object": {"f:name": {}},
    }
    assert fieldwalk.compare(after, after, SCHEMA).same


def test_entries_that_are_there_twice() -> None:
    """They are compared together, without a look at what is in them."""
    twice = {"set": ["a", "a"], "map": [{"name": "a"}, {"name": "a"}]}
    once = {"set": ["a"], "map": [{"name": "a"}]}
    found = fieldwalk.compare(once, twice, SCHEMA)
    assert found.added == {"f:map": {A: {}}, "f:set": {'v:"a"': {}}}
    assert found.removed == {"f:map": {A: {".": {}, "f:name": {}}}, "f:set": {'v:"a"': {}}}
    assert fieldwalk.compare(twice, twice, SCHEMA).same


def test_taking_fields_out_of_a_value() -> None:
    """A map or list of which nothing is left is null; atomic values are not looked into."""
    value = {
        "map": [{"name": "a", "value": "x"}, {"name": "b", "port": 1}],
        "set": ["a"],
        "atomic": {"name": "x"},
        "dict": {"k": {"name": "x"}},
        "size": 1,
    }
    fields = {
        "f:map": {A: {"f:value": {}}, B: {}},
        "f:set": {'v:"a"': {}},
        "f:atomic": {"f:name": {}},
        "f:dict": {"f:k": {"f:name": {}}},
        "f:size": {},
    }
    assert fieldwalk.without(value, fields, SCHEMA) == {
        "map": [{"name": "a"}],
        "set": None,
        "atomic": {"name": "x"},
        "dict": {"k": None},
    }


def test_declared_fields_become_members() -> None:
    """Entries of maps and of lists do not."""
    fields: fieldset.Fields = {"f:dict": {"f:k": {"f:name": {}}}, "f:map": {A: {"f:value": {}}}}
    assert fieldwalk.named(fields, SCHEMA) == {
        "f:dict": {".": {}, "f:k": {"f:name": {}}},
        "f:map": {".": {}, A: {"f:value": {}}},
    }


def test_overlay() -> None:
    """What is applied wins; a null does not clear a map or list that has something."""
    value = {"object": {"name": "x"}, "atomic": {"name": "x"}, "set": ["a"], "size": 1, "list": [1]}
    applied = {
        "object": {"port": 1},
        "atomic": {"port": 1},
        "set": None,
        "size": None,
        "list": [2],
        "dict": {},
    }
    assert fieldwalk.overlay(value, applied, SCHEMA) == {
        "object": {"name": "x", "port": 1},
        "atomic": {"port": 1},
        "set": ["a"],
        "size": None,
        "list": [2],
        "dict": {},
    }


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("abc", "b", "abc"),
        ("abc", "zcb", "azcb"),
        ("abc", "xb", "axbc"),
        ("abc", "cx", "abcx"),
        ("abcd", "da", "bcda"),
        ("", "ba", "ba"),
        ("ab", "", "ab"),
    ],
)
def test_the_order_of_merged_lists(old: str, new: str, wanted: str) -> None:
    """What is applied is in its order, the others stay behind what they follow."""
    assert "".join(fieldwalk.overlay(list(old), list(new), SET)) == wanted
