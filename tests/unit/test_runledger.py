"""The book about one object: what its runs were about, and how much is kept of it."""

from __future__ import annotations

from dataclasses import replace

import children_fakes as fakes
import pytest

from ansible_operator import children
from ansible_operator.control import ownwrites, runledger
from ansible_operator.control.childpredicates import Reason

SIGHT = ownwrites.Sight("", "ConfigMap", "prod", "settings", "uid-settings", "7")
CHILD = runledger.Child("", "ConfigMap", "prod", "settings")
CAUSE = runledger.Cause(CHILD, Reason.CHANGED, ("kubectl-edit",))
PATCH = children.Write("patch", fakes.CONFIG_MAP, "prod", "settings", "uid-settings", "7")


def running() -> runledger.Ledger:
    """The book of an object whose first run is under way."""
    ledger = runledger.Ledger()
    ledger.begin()
    return ledger


def numbered(number: int) -> tuple[ownwrites.Sight, runledger.Cause]:
    """One of many dependents that change."""
    name = f"c{number}"
    child = replace(CHILD, name=name)
    return replace(SIGHT, name=name, uid=name), replace(CAUSE, child=child)


def test_causes_of_the_next_run() -> None:
    """What is asked for between runs, and what is left of one, is what the next one is about."""
    ledger = running()
    ledger.heard(SIGHT, CAUSE, 0.0)
    assert ledger.end(1.0).left == (CAUSE,)
    other = numbered(1)
    assert ledger.heard(*other, 2.0)
    ledger.begin()
    assert ledger.end(3.0) == runledger.Ran(
        causes=(CAUSE, other[1]), earlier=runledger.Earlier(left=frozenset([CHILD]))
    )


@pytest.mark.parametrize(
    ("verb", "really"), [("create", True), ("delete", True), ("patch", False), ("update", False)]
)
def test_what_a_run_has_really_changed(verb: str, really: bool) -> None:
    """A patch may change nothing; that it has is known by its echo only."""
    ledger = running()
    ledger.wrote(replace(PATCH, verb=verb), 0.0)
    assert (CHILD in ledger.end(1.0).wrote) is really


def test_late_echo() -> None:
    """What is heard of a write after its run is still about that run."""
    ledger = running()
    ledger.wrote(PATCH, 0.0)
    ledger.end(1.0)
    assert not ledger.heard(SIGHT, replace(CAUSE, managers=("ansible",)), 2.0)
    ledger.begin()
    ran = ledger.end(3.0)
    assert ran.earlier.wrote == {CHILD}
    assert ran.managers == {CHILD: {"ansible"}}


def test_changes_held_are_bounded() -> None:
    """Beyond the limit they are taken to be foreign, without loss."""
    ledger = running()
    for number in range(runledger.HELD_LIMIT + 2):
        ledger.heard(*numbered(number), 0.0)
    assert ledger.held == 1
    assert len(ledger.end(1.0).left) == runledger.CHILDREN_LIMIT


def test_own_changes_are_let_go_before_the_limit() -> None:
    """Very many writes, all heard of before they are told of, leave nothing."""
    ledger = running()
    for number in range(3 * ownwrites.LIMIT):
        sight, cause = numbered(number)
        ledger.heard(sight, cause, 0.0)
        ledger.wrote(replace(PATCH, name=sight.name, uid=sight.uid), 0.0)
    assert ledger.end(1.0).left == ()


def test_idle() -> None:
    """There is something to keep while a run is under way, asked for, or may still be heard of."""
    ledger = runledger.Ledger()
    states = [ledger.idle]
    ledger.begin()
    states.append(ledger.idle)
    ledger.wrote(PATCH, 0.0)
    ledger.end(1.0)
    states.append(ledger.idle)
    ledger.prune(1.0 + ownwrites.KEEP)
    states.append(ledger.idle)
    ledger.heard(SIGHT, CAUSE, 999.0)
    states.append(ledger.idle)
    assert states == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("child", "text"),
    [
        (CHILD, "ConfigMap prod/settings"),
        (runledger.Child("apps", "Deployment", "prod", "web"), "Deployment.apps prod/web"),
        (runledger.Child("", "Namespace", "", "prod"), "Namespace prod"),
    ],
)
def test_names_for_people(child: runledger.Child, text: str) -> None:
    """Kind, group if there is one, namespace if there is one, name."""
    assert str(child) == text
