"""watches.yaml as YAML 1.1 with the lines of the file as it was written."""

from __future__ import annotations

import pytest

from ansible_operator import envtext, errors, watchfile

PLACE = errors.Place("w.yaml")


def _document(text: str) -> watchfile.Document:
    return watchfile.parse(envtext.expand(text, {}), "w.yaml")


def _value(text: str) -> object:
    root = _document(text).root
    assert root is not None
    return watchfile.value(root, PLACE)


def test_a_value_can_hold_yaml() -> None:
    """The expansion is one of text, so a value may bring structure."""
    source = envtext.expand("a: $X", {"X": "{b: [1, 2]}"})
    root = watchfile.parse(source, "w.yaml").root
    assert root is not None
    assert watchfile.value(root, PLACE) == {"a": {"b": [1, 2]}}


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "---\n---\n", "~"])
def test_no_content(text: str) -> None:
    """An empty file, in whichever form, has no root."""
    assert _document(text).root is None


def test_comment_before_the_document_start() -> None:
    """A comment before --- is a comment, and an empty document after it does no harm."""
    document = _document("# comment\n---\n- a: True\n---\n")
    assert document.root is not None
    assert watchfile.value(document.root, PLACE) == [{"a": True}]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("- a\n--- \n- b\n", 3, "a second YAML document starts here"),
        ("a: 1\n  b: 2\n", 2, "this is not YAML: mapping values are not allowed here"),
        ("a: [1,\n", 2, "this is not YAML: while parsing a flow"),
        ("a: *nowhere\n", 1, "this is not YAML: found undefined alias"),
        ("a: 1\nb: \x07\n", 2, "this is not YAML: a character that YAML does not allow"),
        ("a:\n\t- b\n", 2, "this is not YAML: while scanning"),
        ("- a: 1\n  b: 2\n  a: 3\n", 3, "this key is given twice, first in line 1"),
        ("- vars:\n    x: {y: 1, y: 2}\n", 2, "this key is given twice"),
        ("x: 1\nx: 2\n", 2, "this key is given twice, first in line 1"),
    ],
)
def test_refused_text(text: str, line: int, problem: str) -> None:
    """What is no single document with distinct keys is refused with its line."""
    with pytest.raises(errors.WatchesError) as caught:
        _document(text)
    assert caught.value.place.line == line
    assert caught.value.problem.startswith(problem)
    assert caught.value.hint


def test_the_line_of_an_error_after_a_value_with_breaks() -> None:
    """An error below an expanded variable has the line that an editor shows."""
    source = envtext.expand("a: |\n  $TWO\nb: 1\n  c: 2\n", {"TWO": "x\n  y\n  z"})
    with pytest.raises(errors.WatchesError) as caught:
        watchfile.parse(source, "w.yaml")
    assert caught.value.place.line == 4


def test_an_unset_variable_that_breaks_the_yaml_is_named() -> None:
    """An unset variable in a flow map is no YAML; the error says why the brace is there."""
    with pytest.raises(errors.WatchesError) as caught:
        _document("- a\n- {a: $UNSET}\n")
    assert caught.value.place.line == 2
    assert "the environment variable UNSET is not set" in caught.value.problem


def test_duplicate_keys_name_the_entry() -> None:
    """A key given twice is found in its entry."""
    with pytest.raises(errors.WatchesError, match=r"^w\.yaml:3: entry 2: b: this key is given"):
        _document("- a: 1\n- b: 1\n  b: 2\n")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[yes, No, ON, off, True, 'true']", [True, False, True, False, True, "true"]),
        ("[1, -2, 0x10, 010, 0b11, 1_000, 0]", [1, -2, 16, 8, 3, 1000, 0]),
        ("[1.5, 1e3, .5, -1.]", [1.5, 1000.0, 0.5, -1.0]),
        ("[22:22, 1:30.5, 2024-01-01, 2024-01-01T00:00:00Z]",
         ["22:22", "1:30.5", "2024-01-01", "2024-01-01T00:00:00Z"]),
        ("[~, null, '']", [None, None, ""]),
        ("{1: a, yes: b, no: c, ~: d, 1.5: e}",
         {"1": "a", "true": "b", "false": "c", "null": "d", "1.5": "e"}),
        ("{a: &x [1], b: *x}", {"a": [1], "b": [1]}),
        ("{a: &x {p: 1, q: 1}, b: {<<: *x, q: 2}}",
         {"a": {"p": 1, "q": 1}, "b": {"p": 1, "q": 2}}),
    ],
)  # fmt: skip
def test_yaml_as_the_incumbent_reads_it(text: str, value: object) -> None:
    """YAML 1.1 booleans and numbers; dates and base 60 are text; keys are text; merges work."""
    assert _value(text) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[.nan]", "nan cannot be handed to Ansible"),
        ("[-.inf]", "-inf cannot be handed to Ansible"),
        ("[!!binary aGk=]", "b'hi' cannot be handed to Ansible"),
        ("{[1]: a}", "[1] cannot be the key of a map"),
        ("{!!binary aGk=: a}", "b'hi' cannot be the key of a map"),
        ("&a [*a]", "found unconstructable recursive node"),
        ("!!python/object:os.system {}", "could not determine a constructor for the tag"),
    ],
)
def test_values_that_json_cannot_hold(text: str, problem: str) -> None:
    """They are refused where they stand, and no code of a tag runs."""
    with pytest.raises(errors.WatchesError) as caught:
        _value(text)
    assert caught.value.problem.startswith(problem)
