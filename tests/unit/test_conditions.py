"""Condition lists: find, set, remove."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_operator import conditions

OLD, NOW = "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"

_types = st.sampled_from(["Running", "Failure", "Foreign", "Other"])
_condition = st.fixed_dictionaries(
    {"type": _types, "status": st.sampled_from(["True", "False", "Unknown"])},
    optional={"lastTransitionTime": st.just(OLD), "lastHeartbeatTime": st.just(OLD)},
)
_new = st.builds(
    lambda type_, status: {"type": type_, "status": status, "reason": "R", "message": ""},
    _types,
    st.sampled_from(["True", "False", "Unknown"]),
)


def test_read_leaves_out_what_is_no_map() -> None:
    """Entries that are no maps are removed, the others keep all their fields."""
    foreign = {"type": "Foreign", "status": "True", "lastHeartbeatTime": OLD, "x": [1]}
    assert conditions.read({"conditions": ["text", foreign, None, 7]}) == [foreign]


def test_read_of_no_list() -> None:
    """A status without conditions, or with some that are no list, has none."""
    assert conditions.read({}) == []
    assert conditions.read({"conditions": {"type": "Running"}}) == []


def test_find() -> None:
    """The first condition of the type is found, or None."""
    first = {"type": "A", "status": "True"}
    assert conditions.find([{"type": "B"}, first, {"type": "A"}], "A") is first
    assert conditions.find([first], "B") is None


def test_transition_time_marks_a_flip() -> None:
    """lastTransitionTime changes only with the status."""
    old = [{"type": "A", "status": "True", "lastTransitionTime": OLD}]
    same = {"type": "A", "status": "True", "reason": "New", "message": "m"}
    flip = {**same, "status": "False"}
    assert conditions.set_condition(old, same, now=NOW)[0]["lastTransitionTime"] == OLD
    assert conditions.set_condition(old, flip, now=NOW)[0]["lastTransitionTime"] == NOW


@pytest.mark.parametrize("time", [{}, {"lastTransitionTime": ""}, {"lastTransitionTime": [OLD]}])
def test_missing_transition_time_becomes_now(time: dict[str, Any]) -> None:
    """A stored condition without a time, or with none that is text, gets one in any case."""
    new = {"type": "A", "status": "True"}
    assert conditions.set_condition([{**new, **time}], new, now=NOW) == [
        {"type": "A", "status": "True", "lastTransitionTime": NOW}
    ]


def test_a_written_condition_moves_to_the_end() -> None:
    """The order is that of writing, as at the incumbent."""
    old = [{"type": name, "status": "True", "lastTransitionTime": OLD} for name in "ABC"]
    changed = conditions.set_condition(old, {"type": "A", "status": "True"}, now=NOW)
    assert [entry["type"] for entry in changed] == ["B", "C", "A"]


@settings(max_examples=50)
@given(st.lists(_condition, max_size=6), _new)
def test_setting_is_idempotent_and_touches_nothing_else(
    old: list[dict[str, Any]], new: dict[str, Any]
) -> None:
    """One condition of the type is left, at the end; the others are as they were; twice is once."""
    before = copy.deepcopy(old)
    once = conditions.set_condition(old, new, now=NOW)
    assert old == before
    assert once[:-1] == [entry for entry in old if entry["type"] != new["type"]]
    assert {**once[-1], "lastTransitionTime": ""} == {**new, "lastTransitionTime": ""}
    assert conditions.set_condition(once, new, now="2027-01-01T00:00:00Z") == once
