"""Backoff of objects whose reconcile failed."""

from __future__ import annotations

import engine_fakes as fakes

from ansible_operator.control import backoff


def test_doubles_from_floor_to_ceiling() -> None:
    """Each failure doubles the delay until the ceiling (D2)."""
    delays = backoff.Backoff(1.0, 10.0)
    assert [delays.next(fakes.key()) for _ in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_failing_for_ever_does_not_overflow() -> None:
    """After thousands of failures the delay is still the ceiling."""
    delays = backoff.Backoff(0.001, 300.0)
    assert max(delays.next(fakes.key()) for _ in range(3000)) == 300.0
    assert delays.next(fakes.key()) == 300.0


def test_reset_and_other_keys() -> None:
    """A reset starts at the floor again and does not concern other keys."""
    delays = backoff.Backoff(1.0, 10.0)
    one, two = fakes.key("one"), fakes.key("two")
    delays.next(one)
    delays.next(two)
    delays.reset(one)
    delays.reset(fakes.key("never seen"))
    assert (delays.next(one), delays.next(two)) == (1.0, 2.0)
