"""Quantities: their value and the one way in which they are written."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ansible_operator.sandbox.builtins import quantity


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1000Ki", "1000Ki"),
        ("0.5", "500m"),
        (".5", "500m"),
        (0.5, "500m"),
        (1024, "1024"),
        (2000, "2k"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.1Mi", "104857600m"),
        ("0Mi", "0"),
        ("-1.5Gi", "-1536Mi"),
        ("1e3", "1e3"),
        ("1e4", "10e3"),
        ("12e2", "1200"),
        ("1e-3", "1e-3"),
        ("1e1000", "10e999"),
        ("1000E", "1000E"),
        ("100Ei", "9223372036854775807"),
        ("0.0000000001", "1n"),
        (" 1 ", "1"),
        ("Ki", "0"),
    ],
)
def test_an_amount_is_written_in_one_way(given: str | float, written: str) -> None:
    """The largest suffix that leaves a whole number, of the kind that was used."""
    assert quantity.canonical(given) == written
    assert quantity.canonical(written) == written


def test_small_parts_are_rounded_up() -> None:
    """Resources are counted in thousandths, away from zero."""
    assert quantity.canonical("1n", 3) == "1m"
    assert quantity.canonical("-1.0001", 3) == "-1001m"


@pytest.mark.parametrize("text", ["", "abc", "1x", "1.2.3", "0x1", "1e3Ki", "1_0"])
def test_a_text_without_the_form_of_a_quantity(text: str) -> None:
    """The regular expression is told, as the server does."""
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        quantity.canonical(text)


@pytest.mark.parametrize("text", ["1K", "1i", "1e", "--1"])
def test_a_suffix_that_is_none(text: str) -> None:
    """The suffix is what is wrong."""
    with pytest.raises(ValueError, match="unable to parse quantity's suffix"):
        quantity.number(text)


def test_amounts_can_be_compared() -> None:
    """The value is exact."""
    assert quantity.number("1Gi") == 2**30
    assert quantity.number("250m") == Fraction(1, 4)
    assert quantity.number("1500m") > quantity.number(1)
