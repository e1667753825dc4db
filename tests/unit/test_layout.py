"""How the tests lie in their directories."""

from __future__ import annotations

import collections
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_names_are_unique() -> None:
    """No two test files bear the same name, so that a bare pytest collects all of them."""
    found = collections.Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in found.items() if count > 1] == []
