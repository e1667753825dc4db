"""What names and the like may look like."""

from __future__ import annotations

import pytest

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.builtins import names

KINDS = kinds.Kinds()
LETTERS = "alphanumeric characters"


def resource(qualified: str) -> kinds.Resource:
    """A built-in resource by its name."""
    found = KINDS.named(qualified)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (names.subdomain, ["a", "1a", "a.b-c", "x" * 253], ["", "A", "a_b", "-a", "a.", "x" * 254]),
        (names.label, ["a", "1a", "x" * 63], ["", "a.b", "A", "x" * 64]),
        (names.short_name(52), ["a.b", "x" * 52], ["x" * 53, "A"]),
        (names.path_segment, ["A:b", "", "..."], [".", "..", "a/b", "a%b"]),
        (names.qualified, ["a", "A_b.c", "a.b/C"], ["", "a/", "/a", "a/b/c", "A.b/c", "a b"]),
        (names.qualified, ["x" * 63], ["x" * 64, "x" * 254 + "/a"]),
        (names.label_value, ["", "A_b.c"], ["a b", "-a", "x" * 64, "a/b"]),
        (names.config_key, ["a", ".a", "A_b.c-d"], ["", "a/b", ".", "..", "..a", "x" * 254]),
        (names.environment, ["A", "a b", "1.x"], ["", "A=B", "Ä"]),
        (names.port_name, ["http", "a-1"], ["", "1", "A", "a--b", "-a", "a-", "x" * 16]),
        (names.header, ["X-Forwarded-For"], ["", "a b"]),
        (names.percent, ["0%", "100%"], ["1", "-1%", "%"]),
        (names.host, ["a.b", "*.a.b"], ["*", "a.*.b", "*a.b", "1.2.3.4", "A"]),
        (names.domain_path, ["a.b/c", "a/b/c"], ["a", "a/", "A/b"]),
        (names.address, ["1.2.3.4", "::1"], ["", "1.2.3", "1.2.3.4/8"]),
        (names.network, ["1.2.3.0/24", "::/0"], ["1.2.3.4", "1.2.3.4/8", "1.0.0.0/255.0.0.0", ""]),
    ],
)
def test_rules(rule: names.Rule, good: list[str], bad: list[str]) -> None:
    """Each rule says nothing of what is fine, and something of what is not."""
    assert [text for text in good if rule(text)] == []
    assert [text for text in bad if not rule(text)] == []


def test_what_is_wrong_is_told_in_full() -> None:
    """A text can be wrong in more than one way."""
    assert names.label("a.b") == ["must not contain dots"]
    long, letters = names.label("X" * 64)
    assert long == "must be no more than 63 characters"
    assert LETTERS in letters
    assert names.port_name("A") == [
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        "must contain at least one letter (a-z)",
    ]


@pytest.mark.parametrize(
    ("qualified", "rule"),
    [
        ("configmaps", names.subdomain),
        ("namespaces", names.label),
        ("services", names.label),
        ("statefulsets.apps", names.label),
        ("roles.rbac.authorization.k8s.io", names.path_segment),
        ("events", names.path_segment),
    ],
)
def test_kinds_have_rules(qualified: str, rule: names.Rule) -> None:
    """What names may be depends on the kind."""
    assert names.rule(resource(qualified)) is rule


def test_names_of_objects() -> None:
    """A name must be there and be right, a prefix may end with a dash."""
    maps = resource("configmaps")
    assert names.validate(maps, "a-12345", "a-") == []
    missing = "name or generateName is required"
    assert names.validate(maps, "") == [failure.required("metadata.name", missing)]
    fields = [cause.field for cause in names.validate(maps, "A12345", "A")]
    assert fields == ["metadata.generateName", "metadata.name"]
    assert [c.field for c in names.validate(maps, "a.12345", "a.")] == ["metadata.generateName"]
