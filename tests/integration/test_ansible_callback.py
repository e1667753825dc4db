"""The limits of the callback plugin that runs inside ansible-playbook."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.ansible.callbacks import operator_default as plugin

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
)


@given(JSON)
def test_small_results_are_copied_unchanged(value: Any) -> None:
    """What is within the limits comes out as it is."""
    assert plugin._limited(value, plugin.RESULT_LIMIT) == value


@pytest.mark.parametrize(
    "value",
    [
        "x" * 50_000_000,
        ["line"] * 1_000_000,
        {f"k{i}": {"deep": ["x" * 100] * 100} for i in range(1000)},
        {"stdout": "x" * 5_000_000, "stdout_lines": ["x" * 5_000_000], "msg": "the message"},
        {"results": [{"failed": True, "msg": "m" * 1000} for _ in range(5000)]},
    ],
)
def test_any_result_is_limited(value: Any) -> None:
    """Whatever a task returns, about the limit is reported at most."""
    assert len(json.dumps(plugin._limited(value, plugin.RESULT_LIMIT))) < 3 * plugin.RESULT_LIMIT


def test_what_the_verdict_reads_survives() -> None:
    """Message, exit code, period and the no_log mark are kept, wherever they stand in the map."""
    result = {
        "big": ["x" * 1000] * 10_000,
        "msg": "the message",
        "rc": 3,
        "period": "1m",
        "_ansible_no_log": True,
        "failed": True,
        "last": 1,
    }
    limited = plugin._limited(result, plugin.RESULT_LIMIT)
    assert {key: limited[key] for key in result if key not in ("big", "last")} == {
        key: value for key, value in result.items() if key not in ("big", "last")
    }
    assert "cut by the operator" in limited["_operator_cut"]


def test_long_string_is_cut_with_a_note() -> None:
    """A long string keeps its beginning and says how much is missing."""
    limited = plugin._limited("x" * 30_000, plugin.RESULT_LIMIT)
    assert limited == "x" * plugin.STRING_LIMIT + "... cut by the operator, 9520 more characters"


def test_loop_keeps_failed_items_first() -> None:
    """Of many items the first failed and the first others stay, and the rest is counted."""
    items = [{"item": i, "failed": i >= 900} for i in range(1000)]
    limited = plugin._limited({"results": items}, plugin.RESULT_LIMIT)
    assert [one["item"] for one in limited["results"]] == [*range(50), *range(900, 950)]
    assert limited["_operator_omitted_items"] == 900
    assert limited["_operator_omitted_failed"] == 50
    assert plugin._limited({"results": "x" * 200}, 1000) == {"results": "x" * 200}
