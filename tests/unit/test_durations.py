"""Go durations: what parses, what does not, and how they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator import durations

NANOSECONDS = st.integers(min_value=-(1 << 62), max_value=1 << 62)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("+0", 0.0),
        ("-0", 0.0),
        ("0s", 0.0),
        ("300ms", 0.3),
        ("1h2m", 3720.0),
        ("-1.5h", -5400.0),
        ("+5s", 5.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("1us", 1e-6),
        ("1µs", 1e-6),
        ("1\u03bcs", 1e-6),
        ("1ns", 1e-9),
        ("0.5ns", 0.0),
        ("2m1h", 3720.0),
        ("10h", 36000.0),
    ],
)
def test_parses_what_go_parses(text: str, seconds: float) -> None:
    """Every form of time.ParseDuration gives its seconds."""
    assert durations.parse(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", "3", "10", "1.5", ".", "s", ".s", "1d", "1h30", "1 h", " 1h", "1h ", "abc",
     "--1s", "1e3s", "٣s", "1S"],
)  # fmt: skip
def test_refuses_what_go_refuses(text: str) -> None:
    """A text that is no duration is an error that quotes it and gives an example."""
    with pytest.raises(ValueError, match="for example") as caught:
        durations.parse(text)
    assert f'"{text}"' in str(caught.value)


def test_names_the_unknown_unit() -> None:
    """An unknown unit is named together with the known ones."""
    with pytest.raises(ValueError, match=r'unknown unit "d"; the units are ns, us, ms, s, m and h'):
        durations.parse("1d")


def test_says_that_the_unit_is_missing() -> None:
    """A bare number is answered with the same number and a unit."""
    with pytest.raises(ValueError, match=r'the unit is missing; write for example "300s"'):
        durations.parse("300")


def test_refuses_what_does_not_fit() -> None:
    """Like in Go a duration ends at 2^63 - 1 nanoseconds."""
    assert durations.parse("2562047h") == 2562047 * 3600
    with pytest.raises(ValueError, match="too long"):
        durations.parse("2562048h")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (1, "1s"),
        (1.5, "1.5s"),
        (0.3, "300ms"),
        (0.0015, "1.5ms"),
        (0.0000015, "1.5µs"),
        (0.000000001, "1ns"),
        (60, "1m0s"),
        (3720, "1h2m0s"),
        (36000, "10h0m0s"),
        (3601.25, "1h0m1.25s"),
        (-5400, "-1h30m0s"),
        (-0.0000000001, "0s"),
        (0.9999999999, "1s"),
    ],
)
def test_renders_as_go(seconds: float, text: str) -> None:
    """The text is that of Go's Duration.String."""
    assert durations.render(seconds) == text


@given(NANOSECONDS)
def test_a_rendered_duration_parses_back(nanoseconds: int) -> None:
    """Any whole number of nanoseconds survives the way through text."""
    seconds = nanoseconds / 10**9
    assert durations.parse(durations.render(seconds)) == seconds


@given(st.text(alphabet="0123456789.hmsnuµ+- ", max_size=12))
def test_only_value_errors_come_out(text: str) -> None:
    """Whatever the text, it is a duration or a ValueError, and a duration renders stably."""
    try:
        seconds = durations.parse(text)
    except ValueError:
        return
    rendered = durations.render(seconds)
    assert durations.render(durations.parse(rendered)) == rendered
