"""Label selectors: what they match, how they are written, what is refused."""

from __future__ import annotations

import pytest

from ansible_operator import selector

IN = selector.Requirement("tier", "In", ("a", "b"))
NOT_IN = selector.Requirement("tier", "NotIn", ("a", "b"))
EXISTS = selector.Requirement("tier", "Exists")
ABSENT = selector.Requirement("tier", "DoesNotExist")


@pytest.mark.parametrize(
    ("requirement", "labels", "matches"),
    [
        (IN, {"tier": "a"}, True),
        (IN, {"tier": "c"}, False),
        (IN, {}, False),
        (NOT_IN, {"tier": "a"}, False),
        (NOT_IN, {"tier": "c"}, True),
        (NOT_IN, {}, True),
        (EXISTS, {"tier": ""}, True),
        (EXISTS, {"other": "a"}, False),
        (ABSENT, {"tier": "a"}, False),
        (ABSENT, {}, True),
    ],
)
def test_requirement(
    requirement: selector.Requirement, labels: dict[str, str], matches: bool
) -> None:
    """Each operator matches as the API server does, absent labels included."""
    assert requirement.matches(labels) is matches


def test_all_requirements_must_hold() -> None:
    """A selector is the conjunction of its requirements."""
    both = selector.Selector((IN, selector.Requirement("app", "Exists")))
    assert both.matches({"tier": "a", "app": "x"})
    assert not both.matches({"tier": "a"})
    assert selector.Selector(()).matches({})


def test_query_text() -> None:
    """The text is that of a labelSelector query parameter."""
    text = str(selector.Selector((IN, NOT_IN, EXISTS, ABSENT)))
    assert text == "tier in (a,b),tier notin (a,b),tier,!tier"


@pytest.mark.parametrize(
    ("key", "operator", "values"),
    [
        ("tier", "In", ("a",)),
        ("example.com/tier", "NotIn", ("a", "")),
        ("A.b_c-d", "Exists", ()),
        ("a" * 63, "DoesNotExist", ()),
    ],
)
def test_accepts(key: str, operator: str, values: tuple[str, ...]) -> None:
    """What the API server accepts becomes a requirement."""
    made = selector.requirement(key, operator, values)
    assert (made.key, made.operator, made.values) == (key, operator, values)


@pytest.mark.parametrize(
    ("key", "operator", "values", "field", "text"),
    [
        ("a", "in", ("x",), "operator", "Use one of In, NotIn, Exists, DoesNotExist"),
        ("a", "", (), "operator", '"" is not an operator'),
        ("a", "In", (), "values", "In needs at least one value"),
        ("a", "NotIn", (), "values", "NotIn needs at least one value"),
        ("a", "Exists", ("x",), "values", "Exists takes no values"),
        ("a", "DoesNotExist", ("x",), "values", "DoesNotExist takes no values"),
        ("", "Exists", (), "key", '"" cannot be the key'),
        ("-a", "Exists", (), "key", '"-a" cannot be the key'),
        ("a" * 64, "Exists", (), "key", "cannot be the key"),
        ("/a", "Exists", (), "key", "cannot be the key"),
        ("Bad_Domain/a", "Exists", (), "key", "cannot be the key"),
        ("a", "In", ("ok", "not ok"), "values", '"not ok" cannot be the value'),
    ],
)
def test_refuses(key: str, operator: str, values: tuple[str, ...], field: str, text: str) -> None:
    """What the API server would refuse is an error that names the field."""
    with pytest.raises(selector.SelectorError) as caught:
        selector.requirement(key, operator, values)
    assert caught.value.field == field
    assert text in str(caught.value)
