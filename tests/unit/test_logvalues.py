"""Values of log lines: times in zap's encodings, JSON that cannot fail."""

from __future__ import annotations

import datetime
import enum
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator import logvalues

MOMENT = 1_767_225_600_123_456_700  # 2026-01-01T00:00:00.1234567Z


@pytest.mark.parametrize(
    ("encoding", "value"),
    [
        ("epoch", 1767225600.1234567),
        ("millis", 1767225600123.4567),
        ("nanos", MOMENT),
        ("iso8601", "2026-01-01T00:00:00.123Z"),
        ("rfc3339", "2026-01-01T00:00:00Z"),
        ("rfc3339nano", "2026-01-01T00:00:00.1234567Z"),
    ],
)
def test_timestamp(encoding: str, value: str | float | int) -> None:
    """Each encoding is zap's, in UTC."""
    assert logvalues.timestamp(MOMENT, encoding) == value


def test_whole_seconds() -> None:
    """rfc3339nano has no fraction where there is none."""
    assert logvalues.timestamp(MOMENT // 10**9 * 10**9, "rfc3339nano") == "2026-01-01T00:00:00Z"


class Color(enum.Enum):
    RED = 1


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Path("/a"), "/a"),
        (b"a\xff", "a\ufffd"),
        (Color.RED, "Color.RED"),
        (datetime.date(2026, 1, 1), "2026-01-01"),
        (ValueError("x"), "x"),
        (Unprintable(), "<Unprintable that cannot be printed>"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        ({(1, 2): b"x"}, {"(1, 2)": "x"}),
        ({1: {None: float("inf"), "b": [True, None, 1.5, ("a",)]}},
         {"1": {"None": "inf", "b": [True, None, 1.5, ["a"]]}}),
        ("\ud800 ü \n", "\ud800 ü \n"),
    ],
)  # fmt: skip
def test_dumps(value: Any, text: Any) -> None:
    """What JSON cannot hold becomes text, and the line is one line of ASCII."""
    line = logvalues.dumps({"key": value})
    assert json.loads(line, parse_constant=pytest.fail) == {"key": text}
    assert line.isascii()
    assert "\n" not in line


def test_dumps_circle() -> None:
    """A value that contains itself is cut."""
    circle: dict[str, Any] = {}
    circle["self"] = circle
    assert json.loads(logvalues.dumps({"key": circle}))["key"]["self"]["self"]


def test_dumps_deep() -> None:
    """A value nested too deep for JSON is cut."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "..." in logvalues.dumps({"key": deep})


LEAVES = st.floats() | st.binary(max_size=3) | st.text(max_size=3) | st.none() | st.just({1})
KEYS = st.text(max_size=3) | st.integers() | st.none() | st.booleans() | st.just((1, 2))
VALUES = st.recursive(
    LEAVES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(KEYS, VALUES, max_size=3))
def test_dumps_anything(value: dict[Any, Any]) -> None:
    """Whatever the value, the line is strict JSON."""
    json.loads(logvalues.dumps({"key": value}), parse_constant=pytest.fail)


def test_failure() -> None:
    """An exception's text, or its type where it has none."""
    assert logvalues.failure(ValueError("bad")) == "bad"
    assert logvalues.failure(ValueError()) == "ValueError"
