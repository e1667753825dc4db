"""Environment variables in text, and the lines that survive their expansion."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator import envtext

ENVIRON = {"NAME": "value", "EMPTY": "", "TWO": "a\nb", "_X1": "x"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("${NAME}", "value"),
        ("$NAME", "value"),
        ("a${NAME}b$NAME.c", "avaluebvalue.c"),
        ("${EMPTY}|$EMPTY|", "||"),
        ("$_X1-", "x-"),
        ("${OTHER}", "${OTHER}"),
        ("$OTHER", "${OTHER}"),
        ("$NAMEX", "${NAMEX}"),
        ("$1", "${1}"),
        ("$12", "${1}2"),
        ("$$", "${$}"),
        ("$*$#$@$!$?$-", "${*}${#}${@}${!}${?}${-}"),
        ("${$}", "${$}"),
        ("$ NAME", "$ NAME"),
        ("^a$'", "^a$'"),
        ("end$", "end$"),
        ("$%x", "$%x"),
        ("a${}b", "ab"),
        ("a${NAME", "aNAME"),
        ("${a b}", "${a b}"),
        ("${NAME}: ${NAME}", "value: value"),
    ],
)
def test_expansion(text: str, expanded: str) -> None:
    """Every row of the incumbent's expansion table."""
    assert envtext.expand(text, ENVIRON).text == expanded


def test_variables_named_by_one_character() -> None:
    """The one-character names of the shell are variables like others."""
    assert envtext.expand("$1 ${1}", {"1": "one"}).text == "one one"


def test_unset_variables_are_reported_once_per_line() -> None:
    """An unset variable is named with its line; comments are not searched."""
    text = "a: $OTHER ${OTHER}\n# $COMMENT\nb: ${NAME}\nc: ${}\nd: $OTHER ${open"
    notices = envtext.expand(text, ENVIRON).notices
    assert [(notice.line, notice.text) for notice in notices] == [
        (1, "the environment variable OTHER is not set; the text ${OTHER} stays as it is"),
        (4, "'${}' is not a reference to a variable and was dropped"),
        (5, "the environment variable OTHER is not set; the text ${OTHER} stays as it is"),
        (5, "'${' is not a reference to a variable and was dropped"),
    ]


def test_lines_are_those_of_the_written_file() -> None:
    """Line breaks in values do not shift the lines of what follows."""
    source = envtext.expand("1 $TWO $TWO\n2\n3 ${TWO}\n4 ${no\n5}\n6\n", ENVIRON)
    assert source.text == "1 a\nb a\nb\n2\n3 a\nb\n4 ${no\n5}\n6\n"
    assert source.lines == (1, 1, 1, 2, 3, 3, 4, 5, 6, 7)


@given(st.text(alphabet=string.ascii_letters + "${}_1 \n#?", max_size=40))
def test_every_line_has_a_written_line(text: str) -> None:
    """Whatever the text: as many lines as the result has, ascending, within the file."""
    source = envtext.expand(text, {"A": "x\ny", "a": "", "AA": "\n\n"})
    assert len(source.lines) == source.text.count("\n") + 1
    assert list(source.lines) == sorted(source.lines)
    assert 1 <= source.lines[0] <= source.lines[-1] <= text.count("\n") + 1


@given(st.text(alphabet=string.printable.replace("$", ""), max_size=60))
def test_text_without_dollars_is_untouched(text: str) -> None:
    """Only dollars are special."""
    source = envtext.expand(text, ENVIRON)
    assert (source.text, source.notices) == (text, ())
    assert source.lines == tuple(range(1, text.count("\n") + 2))
