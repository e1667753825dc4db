"""Tests of ansible_operator.sandbox.options: queries that make sense, and those that do not."""

from __future__ import annotations

import pytest

from ansible_operator.sandbox import failure, options
from ansible_operator.sandbox.rights import access

USER = access.User("somebody")


def test_the_manager_is_named_or_the_first_part_of_the_user_agent() -> None:
    """As the API server does it."""
    named = options.write("PatchOptions", {"fieldManager": ["me"]}, "kubectl/v1.37", [], USER)
    assert named.manager == "me"
    assert options.write("PatchOptions", {}, "kubectl/v1.37", [], USER).manager == "kubectl"


@pytest.mark.parametrize(
    "query", [{"dryRun": ["Some"]}, {"fieldManager": ["x" * 129]}, {"fieldValidation": ["Odd"]}]
)
def test_writes_that_make_no_sense(query: dict[str, list[str]]) -> None:
    """Are 422 and name the options."""
    with pytest.raises(failure.ApiFailure, match="CreateOptions") as refused:
        options.write("CreateOptions", query, "", [], USER)
    assert refused.value.code == 422


def test_the_body_of_a_deletion_comes_before_its_query() -> None:
    """Options in the body win; without a body the query counts."""
    query = {"propagationPolicy": ["Orphan"], "gracePeriodSeconds": ["5"]}
    assert options.delete(query, None).propagation == "Orphan"
    assert options.delete(query, None).grace == 5
    body = {"propagationPolicy": "Foreground", "preconditions": {"uid": "u"}}
    found = options.delete(query, body)
    assert (found.propagation, found.uid) == ("Foreground", "u")


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": ["Exact"]},
        {"resourceVersionMatch": ["Odd"], "resourceVersion": ["1"]},
        {"resourceVersionMatch": ["Exact"], "resourceVersion": ["0"]},
        {"watch": ["1"], "sendInitialEvents": ["true"]},
        {"watch": ["1"], "resourceVersionMatch": ["Exact"], "resourceVersion": ["1"]},
    ],
)
def test_lists_that_make_no_sense(query: dict[str, list[str]]) -> None:
    """Are 422 and name the options."""
    with pytest.raises(failure.ApiFailure, match="ListOptions"):
        options.listing(query)
