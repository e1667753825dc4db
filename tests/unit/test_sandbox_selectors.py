"""Tests of ansible_operator.sandbox.selectors; more against a server: conformance/test_lists.py."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.sandbox import failure, kinds, selectors

WORDS = st.from_regex(r"[a-z][a-z0-9]{0,3}", fullmatch=True)
LABELS = st.dictionaries(WORDS, WORDS, max_size=4)
PODS = kinds.Kinds().named("pods")
assert PODS is not None


def labelled(labels: dict[str, str]) -> dict[str, dict[str, dict[str, str]]]:
    """An object with labels."""
    return {"metadata": {"labels": labels}}


@given(LABELS, WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_in_and_notin_are_opposites(labels: dict[str, str], key: str, values: list[str]) -> None:
    """Every object fits exactly one of them."""
    listed = ",".join(values)
    obj = labelled(labels)
    fits = selectors.labels(f"{key} in ({listed})")(obj)
    assert fits == (labels.get(key) in values)
    assert selectors.labels(f"{key} notin ({listed})")(obj) is not fits


@given(LABELS, WORDS, WORDS)
def test_requirements_are_all_needed(labels: dict[str, str], key: str, value: str) -> None:
    """A comma is an "and"."""
    obj = labelled(labels)
    both = selectors.labels(f"{key}={value},other")(obj)
    assert both == (labels.get(key) == value and "other" in labels)
    assert selectors.labels("")(obj)


@pytest.mark.parametrize(
    "text", ["a b", "a in", "a in (", "a in (b", "=b", "a,", "a in b", "()", "a>b", "!", "-a=b"]
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    """With a 400, never with an accident."""
    with pytest.raises(failure.ApiFailure) as refused:
        selectors.labels(text)
    assert refused.value.code == 400


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text breaks the reader."""
    with contextlib.suppress(failure.ApiFailure):
        selectors.labels(text)({"metadata": {}})


def test_fields_of_a_kind() -> None:
    """Pods can be selected by their phase; by a field that is not listed nothing can."""
    running = {"metadata": {"name": "a"}, "status": {"phase": "Running"}}
    assert PODS is not None
    assert selectors.fields("status.phase=Running,metadata.name!=b", PODS)(running)
    assert not selectors.fields("status.phase!=Running", PODS)(running)
    with pytest.raises(failure.ApiFailure, match="not a known field selector"):
        selectors.fields("spec.priority=1", PODS)
