"""docs/compatibility.md: each row of its tables says how it is and names tests that exist."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "compatibility.md"
CHECKLIST, DIFFERENCES = "## Checklist", "## Differences"
VERDICT = re.compile(r"same\b|better, because .+|not, because .+|not yet\b")
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def rows(section: str) -> list[list[str]]:
    """The cells of every row of the tables of one section."""
    text = PAGE.read_text().partition(f"\n{section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [cells for cells in table if cells[-1] != "shown by"]


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    """The names of the test functions of a file; none if there is no such file."""
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def test_the_page_has_its_tables() -> None:
    """What the other tests of this file look at is there."""
    assert len(rows(CHECKLIST)) > 60
    assert len(rows(DIFFERENCES)) > 50


@pytest.mark.parametrize("cells", rows(CHECKLIST), ids=lambda cells: cells[0][:40])
def test_each_row_of_the_checklist_has_a_verdict(cells: list[str]) -> None:
    """It is the same, better or not, with the reason, and has tests; or it is not there yet."""
    _, verdict, shown = cells
    assert VERDICT.match(verdict)
    assert bool(NAMED.search(shown)) is not verdict.startswith("not yet")


@pytest.mark.parametrize("cells", rows(DIFFERENCES), ids=lambda cells: cells[0][:40])
def test_each_difference_has_tests(cells: list[str]) -> None:
    """It says how it is there, how it is here, and which tests show that."""
    assert len(cells) == 4
    assert all(cells)
    assert NAMED.search(cells[-1])


def test_each_named_test_exists() -> None:
    """A test that the page names is in the file that it names."""
    named = NAMED.findall(PAGE.read_text())
    missing = [f"{path}::{name}" for path, name in named if name not in names_in(TESTS / path)]
    assert missing == []
