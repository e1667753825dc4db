"""Booleans, integers and sizes as Go and Kubernetes write them."""

from __future__ import annotations

import pytest

from ansible_operator import gotext


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_true(text: str) -> None:
    """Every true form of strconv.ParseBool."""
    assert gotext.boolean(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_false(text: str) -> None:
    """Every false form of strconv.ParseBool."""
    assert gotext.boolean(text) is False


@pytest.mark.parametrize("text", ["", "yes", "on", "tRUE", " true", "2"])
def test_no_boolean(text: str) -> None:
    """Anything else is an error that lists what is accepted."""
    with pytest.raises(ValueError, match="write true or false"):
        gotext.boolean(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4), ("-1", -1), ("+7", 7), ("", None), ("1_0", None), (" 1", None), ("1.0", None),
     ("٣", None), ("x", None)],
)  # fmt: skip
def test_integer(text: str, value: int | None) -> None:
    """As strconv.Atoi, None where that fails."""
    assert gotext.integer(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("1024", 1024), ("1Ki", 1024), ("512Mi", 512 << 20), ("1Gi", 1 << 30),
     ("2Ti", 2 << 40), ("1k", 1000), ("5M", 5_000_000), ("1G", 10**9), ("1T", 10**12)],
)  # fmt: skip
def test_size(text: str, value: int) -> None:
    """Plain bytes and Kubernetes quantities."""
    assert gotext.size(text) == value


@pytest.mark.parametrize("text", ["", "-1", "1.5Gi", "1GB", "1K", "1ki", "Gi", "1 Gi"])
def test_no_size(text: str) -> None:
    """Anything else is an error with an example."""
    with pytest.raises(ValueError, match="for example 512Mi"):
        gotext.size(text)
