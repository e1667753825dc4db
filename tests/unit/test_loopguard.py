"""A role that keeps itself running is recognised, slowed down and let go again."""

from __future__ import annotations

import engine_fakes as fakes
import pytest

from ansible_operator.control import loopguard, runledger
from ansible_operator.control.childpredicates import Reason

KEY = fakes.key()
X = runledger.Child("", "ConfigMap", "prod", "settings")
Y = runledger.Child("apps", "Deployment", "prod", "web")
WINDOW = 600.0


def cause(child: runledger.Child = X, *managers: str) -> runledger.Cause:
    """A change of a dependent."""
    return runledger.Cause(child, Reason.CHANGED, managers or ("kubectl-edit",))


def fight(child: runledger.Child = X, *managers: str) -> runledger.Ran:
    """A run because somebody changed what the role had set, which the role sets again."""
    return runledger.Ran(
        causes=(cause(child, *managers),),
        wrote=frozenset([child]),
        managers={child: frozenset(["ansible"])},
    )


def guard(runs: int = 3, window: float = WINDOW) -> loopguard.LoopGuard:
    """A guard that recognises a loop by its third run."""
    return loopguard.LoopGuard(runs, window)


def looping(now: float = 20.0) -> loopguard.LoopGuard:
    """A guard that has just recognised one."""
    found = guard()
    for at in (now - 20, now - 10, now):
        found.ended(KEY, fight(), at)
    return found


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        (runledger.Ran(), False),
        (runledger.Ran(causes=(cause(),)), False),
        (runledger.Ran(wrote=frozenset([X]), left=(cause(),)), False),
        (runledger.Ran((cause(),), wrote=frozenset([Y])), False),
        (runledger.Ran((cause(),), wrote=frozenset([X])), True),
        (runledger.Ran((cause(),), earlier=runledger.Earlier(wrote=frozenset([X]))), True),
        (runledger.Ran((cause(),), earlier=runledger.Earlier(left=frozenset([X]))), False),
        (
            runledger.Ran((cause(),), (cause(),), earlier=runledger.Earlier(left=frozenset([X]))),
            True,
        ),
        (
            runledger.Ran((cause(),), (cause(Y),), earlier=runledger.Earlier(left=frozenset([X]))),
            False,
        ),
    ],
)
def test_what_a_self_caused_run_is(ran: runledger.Ran, expected: bool) -> None:
    """Caused by a dependent that this role changes too, or that changes in run after run."""
    assert bool(loopguard.self_caused(ran)) is expected


@pytest.mark.case("E2")
def test_loop_is_recognised_and_named() -> None:
    """The third self-caused run in the window is one too many; it is told who is involved."""
    found = guard()
    assert found.ended(KEY, fight(X, "kubectl-edit"), 0.0) is None
    assert found.ended(KEY, fight(X, "argocd"), 60.0) is None
    assert found.note(KEY, 60.0) == ""
    loop = found.ended(KEY, fight(), 120.0)
    assert loop == loopguard.Loop(
        X,
        3,
        120.0,
        10.0,
        fresh=True,
        fight=True,
        ours=("ansible",),
        others=("argocd", "kubectl-edit"),
    )
    note = found.note(KEY, 120.0)
    for word in ("3 within 2m0s", "ConfigMap prod/settings", "ansible", "argocd, kubectl-edit"):
        assert word in note
    assert "blacklist" in note


def test_foreign_manager_without_a_role_that_is_seen_to_write() -> None:
    """What changes whenever the role runs is told of as what it may be."""
    restless = runledger.Ran(
        (cause(X, "curl"),), (cause(X),), earlier=runledger.Earlier(left=frozenset([X]))
    )
    found = guard(runs=1)
    found.ended(KEY, restless, 0.0)
    assert "past the operator's API proxy" in found.note(KEY, 1.0)
    assert "curl" in found.note(KEY, 1.0)


def test_own_manager_is_not_among_the_others() -> None:
    """Unless there is no other: then the second writer has the same name as the role."""
    found = guard(runs=1)
    loop = found.ended(KEY, fight(X, "ansible", "argocd"), 0.0)
    assert loop is not None
    assert loop.others == ("argocd",)
    same = guard(runs=1).ended(KEY, fight(X, "ansible"), 0.0)
    assert same is not None
    assert same.others == ("ansible",)


def test_nobody_known() -> None:
    """A dependent that somebody deletes again and again: no manager is known, none is named."""
    gone = runledger.Ran((runledger.Cause(X, Reason.GONE),), wrote=frozenset([X]))
    found = guard(runs=1)
    found.ended(KEY, gone, 0.0)
    assert "the role and others change ConfigMap prod/settings in turn" in found.note(KEY, 1.0)


def test_one_dependent_after_the_other_is_no_loop() -> None:
    """Somebody who tries each dependent once has each put right at once; none is fought over."""
    found = guard()
    children = [runledger.Child("", "ConfigMap", "prod", f"c{number}") for number in range(9)]
    assert [found.ended(KEY, fight(child), at) for at, child in enumerate(children)] == [None] * 9
    assert found.note(KEY, 9.0) == ""
    assert {found.wait(KEY, child, 9.0) for child in children} == {0.0}


def test_only_the_fought_over_dependent_waits() -> None:
    """Another one that was put right once, or is during the loop, runs the role at once."""
    found = guard()
    found.ended(KEY, fight(Y), 0.0)
    for at in (1.0, 2.0, 3.0):
        found.ended(KEY, fight(), at)
    assert (found.wait(KEY, X, 3.0), found.wait(KEY, Y, 3.0)) == (10.0, 0.0)
    assert found.ended(KEY, fight(Y), 4.0) is None
    assert found.wait(KEY, X, 4.0) == 9.0


def test_slow_repetition_is_no_loop() -> None:
    """Three self-caused runs that are not within the window slow nothing down."""
    found = guard()
    assert [found.ended(KEY, fight(), at) for at in (0.0, 400.0, 800.0, 1200.0)] == [None] * 4
    assert found.wait(KEY, X, 1200.0) == 0.0


def test_waits_double_up_to_the_window() -> None:
    """10 s after the run at first, then twice as long each time, at most the window."""
    found, now = looping(), 20.0
    waits = []
    for _ in range(9):
        waits.append(found.wait(KEY, X, now))
        now += waits[-1]
        found.ended(KEY, fight(), now)
    assert waits == [10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 600.0, 600.0, 600.0]


def test_only_the_first_is_fresh() -> None:
    """Growing waits are no news."""
    loop = looping().ended(KEY, fight(), 30.0)
    assert loop is not None
    assert (loop.fresh, loop.runs, loop.wait) == (False, 4, 20.0)


def test_the_time_since_the_run_counts() -> None:
    """Who is as slow as the wait does not wait."""
    found = looping(now=20.0)
    assert found.wait(KEY, X, 26.0) == 4.0
    assert found.wait(KEY, X, 31.0) == 0.0


def test_other_dependents_and_objects_do_not_wait() -> None:
    """Runs that are asked for by something else are as fast as ever."""
    found = looping()
    assert found.wait(KEY, Y, 20.0) == 0.0
    assert found.wait(fakes.key("two"), X, 20.0) == 0.0
    assert found.note(fakes.key("two"), 20.0) == ""


def test_runs_without_a_cause_change_nothing() -> None:
    """A periodic run neither prolongs the loop nor ends it."""
    found = looping()
    before = found.lasts(KEY, 100.0)
    assert found.ended(KEY, runledger.Ran(), 100.0) is None
    assert found.lasts(KEY, 100.0) == before > 0


def test_edit_ends_it() -> None:
    """After an edit everything is as if nothing had been."""
    found = looping()
    assert found.forget(KEY) is not None
    assert found.forget(KEY) is None
    assert (found.note(KEY, 21.0), found.wait(KEY, X, 21.0)) == ("", 0.0)
    assert found.ended(KEY, fight(), 30.0) is None


def test_quiet_window_ends_it() -> None:
    """A window after the last wait without a self-caused run, and it is over, once."""
    found = looping(now=20.0)
    end = 20.0 + 10.0 + WINDOW
    assert found.lasts(KEY, 20.0) == end - 20.0
    assert found.over(KEY, end - 1) is None
    assert found.note(KEY, end - 1)
    assert found.note(KEY, end) == ""
    assert found.over(KEY, end) is not None
    assert found.over(KEY, end) is None
    assert found.lasts(KEY, end) == 0.0


def test_few_self_caused_runs_are_forgotten_silently() -> None:
    """What never was a loop does not end either."""
    found = guard()
    found.ended(KEY, fight(), 0.0)
    assert found.over(KEY, WINDOW + 1) is None
    assert found.forget(KEY) is None


def test_off() -> None:
    """With 0 runs nothing is ever slowed down."""
    found = guard(runs=0)
    assert [found.ended(KEY, fight(), float(at)) for at in range(20)] == [None] * 20
    assert (found.note(KEY, 20.0), found.wait(KEY, X, 20.0), found.lasts(KEY, 20.0)) == ("", 0, 0)


def test_short_window() -> None:
    """No wait is longer than the window."""
    found = guard(runs=1, window=4.0)
    found.ended(KEY, fight(), 0.0)
    assert found.wait(KEY, X, 0.0) == 4.0
