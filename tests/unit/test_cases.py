"""Every case of the field reports has a test that names it."""

from __future__ import annotations

from pathlib import Path

import cases

MARKED = """
@pytest.mark.case("K1", "K2")
@pytest.mark.real
def test_one(): ...

@pytest.mark.case("K1")
class TestMany:
    @pytest.mark.case("E4")
    async def test_two(self): ...

@pytest.mark.case("D1")
def no_test(): ...
"""
WHOLE = """
pytestmark = [pytest.mark.real, pytest.mark.case("E5")]

def test_three(): ...
"""


def test_every_case_has_a_test() -> None:
    """No case is without a test, and no test names a case that is not there."""
    found = cases.by_case()
    assert [case for case in cases.CASES if case not in found] == []
    assert {case: names for case, names in found.items() if case not in cases.CASES} == {}


def test_markers_are_found(tmp_path: Path) -> None:
    """Markers of functions, classes and modules count, those of what is no test do not."""
    (tmp_path / "test_sample.py").write_text(MARKED)
    (tmp_path / "test_whole.py").write_text(WHOLE)
    one, two = "test_sample.py::test_one", "test_sample.py::TestMany::test_two"
    assert cases.by_case(tmp_path) == {
        "K1": [one, two],
        "K2": [one],
        "E4": [two],
        "E5": ["test_whole.py::test_three"],
    }


def test_summary(tmp_path: Path) -> None:
    """The line at the end of a run says how many cases have a test and which have none."""
    marks = "".join(f'@pytest.mark.case("{case}")\n' for case in cases.CASES if case != "E5")
    (tmp_path / "test_sample.py").write_text(f"{marks}def test_most(): ...\n")
    count = len(cases.CASES)
    assert cases.summary(tmp_path) == f"cases: {count - 1} of {count} rows have a test; none: E5"
    (tmp_path / "test_more.py").write_text('@pytest.mark.case("E5")\ndef test_rest(): ...\n')
    assert cases.summary(tmp_path) == f"cases: {count} of {count} rows have a test"
