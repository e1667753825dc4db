"""Tokens of runs."""

from __future__ import annotations

import children_fakes

from ansible_operator.kube.proxy import tokens


class Line:
    """A connection that knows whether it was cut."""

    def __init__(self) -> None:
        self.is_cut = False

    def cut(self) -> None:
        self.is_cut = True


def test_each_run_has_a_token_of_its_own() -> None:
    """A token leads to its owner and to no other."""
    known = tokens.Tokens()
    one, two = children_fakes.owner("one"), children_fakes.owner("two")
    (first, session), (second, _) = known.issue(one), known.issue(two)
    assert first != second
    assert len(first) >= 32
    assert known.find(first) is session
    assert session.owner is one


def test_a_token_dies_with_its_run() -> None:
    """Once ended it is nobody's; ending it again, or an unknown one, does nothing."""
    known = tokens.Tokens()
    token, session = known.issue(children_fakes.owner("one"))
    known.end(token)
    known.end(token)
    known.end("other")
    assert session.ended
    assert known.find(token) is None


def test_what_is_no_token() -> None:
    """Nothing but the exact text is found, whatever characters it has."""
    known = tokens.Tokens()
    token, _ = known.issue(children_fakes.owner("one"))
    for wrong in ("", token[:-1], token + "x", token.swapcase(), "\udcff"):
        assert known.find(wrong) is None


def test_connections_are_cut_with_the_session() -> None:
    """All that it holds, and those that are gone by themselves are not kept for it."""
    _, session = tokens.Tokens().issue(children_fakes.owner("one"))
    lines = [Line(), Line()]
    for line in (*lines, Line()):
        session.hold(line)
    session.close()
    session.close()
    assert [line.is_cut for line in lines] == [True, True]
