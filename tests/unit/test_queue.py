"""The work queue: merging, order, delays, caps, one service per key at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import engine_fakes as fakes
import hypothesis
import pytest
from hypothesis import stateful
from hypothesis import strategies as st

from ansible_operator import objects
from ansible_operator.control import queue
from ansible_operator.control.priority import Priority


@pytest.fixture
def clock() -> fakes.Clock:
    """Time stands still until a test moves it."""
    return fakes.Clock()


def make(clock: fakes.Clock, cap: int = 10, total: int = 10) -> queue.WorkQueue:
    """A queue with the same cap for every kind."""
    return queue.WorkQueue(lambda gvk: cap, total, clock)


def drain(work: queue.WorkQueue, now: float) -> list[str]:
    """The names that are handed out now, each done at once."""
    names = []
    while (key := work.poll(now)) is not None:
        names.append(key.name)
        work.done(key)
    return names


def add_all(work: queue.WorkQueue, names: Iterable[str], priority: Priority) -> None:
    """Add several keys."""
    for name in names:
        work.add(fakes.key(name), priority)


@pytest.mark.case("E5")
def test_adding_again_merges(clock: fakes.Clock) -> None:
    """Twenty edits are one pass (E5)."""
    work = make(clock)
    add_all(work, ["one"] * 20, Priority.EDIT)
    assert drain(work, clock.now) == ["one"]


@pytest.mark.case("E13")
def test_priority_then_first_come(clock: fakes.Clock) -> None:
    """A better priority is first, within one it is first come, first served (E13)."""
    work = make(clock)
    add_all(work, ["p1", "p2"], Priority.PERIODIC)
    add_all(work, ["r1"], Priority.RETRY)
    add_all(work, ["d1"], Priority.DEPENDENT)
    add_all(work, ["e1", "e2"], Priority.EDIT)
    add_all(work, ["x1"], Priority.DELETION)
    assert drain(work, clock.now) == ["x1", "e1", "e2", "d1", "r1", "p1", "p2"]


@pytest.mark.case("E13")
def test_new_object_is_served_before_three_hundred_periodic_ones(clock: fakes.Clock) -> None:
    """A new object does not wait for the periodic pass over all others (E13)."""
    work = make(clock)
    add_all(work, [f"old-{n}" for n in range(300)], Priority.PERIODIC)
    add_all(work, ["new"], Priority.EDIT)
    assert work.poll(clock.now) == fakes.key("new")


def test_better_priority_wins_when_merged(clock: fakes.Clock) -> None:
    """A waiting periodic pass becomes an edit; a waiting edit stays one."""
    work = make(clock)
    add_all(work, ["a", "b"], Priority.PERIODIC)
    add_all(work, ["c"], Priority.RETRY)
    work.add(fakes.key("b"), Priority.EDIT)
    work.add(fakes.key("b"), Priority.PERIODIC)
    assert drain(work, clock.now) == ["b", "c", "a"]


def test_upgraded_while_it_waits_for_a_worker(clock: fakes.Clock) -> None:
    """What became urgent while it waited for a free worker is served once."""
    work = make(clock, total=1)
    add_all(work, ["busy"], Priority.EDIT)
    work.poll(clock.now)
    add_all(work, ["a"], Priority.PERIODIC)
    assert work.poll(clock.now) is None
    add_all(work, ["a"], Priority.EDIT)
    work.done(fakes.key("busy"))
    assert drain(work, clock.now) == ["a"]


def test_delay(clock: fakes.Clock) -> None:
    """A delayed key is handed out when its time has come, not before."""
    work = make(clock)
    work.add(fakes.key(), Priority.RETRY, 5.0)
    assert work.poll(clock.now + 4.9) is None
    assert work.poll(clock.now + 5.0) == fakes.key()


@pytest.mark.case("E8")
def test_edit_ends_a_delay(clock: fakes.Clock) -> None:
    """An edit during a retry delay is served now, and only once (E8)."""
    work = make(clock)
    work.add(fakes.key(), Priority.RETRY, 300.0)
    work.add(fakes.key(), Priority.EDIT)
    assert drain(work, clock.now) == ["one"]
    assert drain(work, clock.now + 1000.0) == []


def test_earlier_time_wins(clock: fakes.Clock) -> None:
    """A later timer does not put off an earlier one."""
    work = make(clock)
    work.add(fakes.key(), Priority.RETRY, 5.0)
    work.add(fakes.key(), Priority.PERIODIC, 100.0)
    assert work.poll(clock.now + 5.0) == fakes.key()


def test_timers_that_are_due_keep_their_order(clock: fakes.Clock) -> None:
    """Among equals the one whose time came first is first."""
    work = make(clock)
    work.add(fakes.key("late"), Priority.PERIODIC, 9.0)
    work.add(fakes.key("early"), Priority.PERIODIC, 3.0)
    assert drain(work, clock.now + 10.0) == ["early", "late"]


@pytest.mark.case("E4")
def test_active_key_is_not_handed_out_again(clock: fakes.Clock) -> None:
    """Edits during a run give exactly one more pass, after it (E4)."""
    work = make(clock)
    add_all(work, ["one"], Priority.EDIT)
    assert work.poll(clock.now) == fakes.key()
    add_all(work, ["one"] * 5, Priority.EDIT)
    assert work.poll(clock.now) is None
    work.done(fakes.key())
    assert drain(work, clock.now) == ["one"]


def test_edit_during_a_run_beats_the_timer_set_at_its_end(clock: fakes.Clock) -> None:
    """A retry delay set while an edit waits does not put the edit off."""
    work = make(clock)
    add_all(work, ["one"], Priority.EDIT)
    work.poll(clock.now)
    work.add(fakes.key(), Priority.EDIT)
    work.add(fakes.key(), Priority.RETRY, 300.0)
    add_all(work, ["other"], Priority.DEPENDENT)
    work.done(fakes.key())
    assert drain(work, clock.now) == ["one", "other"]


@pytest.mark.case("E15")
def test_full_kind_does_not_block_others(clock: fakes.Clock) -> None:
    """A kind at its cap is passed over, though it is first in line (E15)."""
    work = make(clock, cap=1)
    add_all(work, ["a", "b"], Priority.DELETION)
    assert work.poll(clock.now) == fakes.key("a")
    work.add(fakes.key("c", fakes.OTHER), Priority.PERIODIC)
    assert work.poll(clock.now) == fakes.key("c", fakes.OTHER)
    assert work.poll(clock.now) is None
    work.done(fakes.key("a"))
    assert work.poll(clock.now) == fakes.key("b")


@pytest.mark.case("E14")
def test_total_cap_holds_over_all_kinds(clock: fakes.Clock) -> None:
    """Thirty kinds start no more runs than the global cap allows (E14)."""
    work = make(clock, cap=5, total=2)
    kinds = [objects.GVK("g", "v1", f"Kind{n}") for n in range(30)]
    for gvk in kinds:
        work.add(fakes.key(gvk=gvk), Priority.EDIT)
    served = [work.poll(clock.now) for _ in range(3)]
    assert [key is not None for key in served] == [True, True, False]


@pytest.mark.parametrize("check_first", [True, False])
@pytest.mark.parametrize("active", [True, False])
def test_check_yields_to_anything_else(clock: fakes.Clock, check_first: bool, active: bool) -> None:
    """A check neither hastens a run that waits for its time nor is done beside it."""
    work = make(clock)
    if active:
        add_all(work, ["one"], Priority.EDIT)
        work.poll(clock.now)
    adds = [(Priority.CHECK, 5.0), (Priority.PERIODIC, 100.0)]
    for priority, delay in adds if check_first else reversed(adds):
        work.add(fakes.key(), priority, delay)
    if active:
        work.done(fakes.key())
    assert drain(work, clock.now + 99.9) == []
    assert work.poll(clock.now + 100.0) == fakes.key()
    assert work.priority(fakes.key()) is Priority.PERIODIC
    work.done(fakes.key())
    assert drain(work, clock.now + 1e6) == []


def test_checks_merge(clock: fakes.Clock) -> None:
    """Of two checks the earlier is done, and it is known to be only a check."""
    work = make(clock)
    work.add(fakes.key(), Priority.CHECK, 100.0)
    work.add(fakes.key(), Priority.CHECK, 50.0)
    assert work.poll(clock.now + 50.0) == fakes.key()
    assert work.priority(fakes.key()) is Priority.CHECK


def test_replaced_timers_do_not_pile_up(clock: fakes.Clock) -> None:
    """An object that is edited all the time leaves no heap of old timers behind."""
    work = make(clock)
    for _ in range(1000):
        work.add(fakes.key(), Priority.PERIODIC, 36000.0)
        work.add(fakes.key(), Priority.EDIT)
        assert drain(work, clock.now) == ["one"]
    assert len(work._delayed) < 100


def test_active(clock: fakes.Clock) -> None:
    """What is being served since when, and why."""
    work = make(clock, total=1)
    add_all(work, ["a", "b"], Priority.EDIT)
    work.poll(clock.now)
    clock.advance(7.0)
    assert work.active() == {fakes.key("a"): 7.0}
    assert work.priority(fakes.key("a")) is Priority.EDIT


def test_get_without_waiting(clock: fakes.Clock) -> None:
    """With a time-out of 0, get answers at once."""
    work = make(clock)
    assert work.get(timeout=0) is None
    add_all(work, ["one"], Priority.EDIT)
    assert work.get(timeout=0) == fakes.key()


def test_get_waits_for_an_add() -> None:
    """A worker that waits wakes when a key is added by another thread."""
    work = queue.WorkQueue(lambda gvk: 1, 1)
    got: list[objects.ObjectKey | None] = []
    worker = threading.Thread(target=lambda: got.append(work.get(timeout=60)))
    worker.start()
    work.add(fakes.key(), Priority.EDIT)
    worker.join(60)
    assert got == [fakes.key()]


def test_get_waits_for_a_timer() -> None:
    """A worker that waits wakes when a timer is due, though nobody adds anything."""
    work = queue.WorkQueue(lambda gvk: 1, 1)
    work.add(fakes.key(), Priority.RETRY, 0.02)
    assert work.get(timeout=60) == fakes.key()


def test_shutdown_wakes_everybody() -> None:
    """After a shutdown waiting workers get None, and nothing is added any more."""
    work = queue.WorkQueue(lambda gvk: 1, 4)
    got: list[objects.ObjectKey | None] = []
    workers = [threading.Thread(target=lambda: got.append(work.get())) for _ in range(3)]
    for worker in workers:
        worker.start()
    work.shutdown()
    for worker in workers:
        worker.join(60)
    work.add(fakes.key(), Priority.DELETION)
    assert got == [None, None, None]
    assert work.get() is None


def test_shutdown_hands_out_nothing(clock: fakes.Clock) -> None:
    """What was queued stays queued after a shutdown; an active key may end."""
    work = make(clock)
    add_all(work, ["a", "b"], Priority.EDIT)
    work.poll(clock.now)
    work.shutdown()
    assert work.poll(clock.now) is None
    work.done(fakes.key("a"))
    assert work.active() == {}


KINDS = (fakes.GVK, fakes.OTHER)
CAPS = {fakes.GVK: 1, fakes.OTHER: 2}
TOTAL = 2
_keys = st.builds(lambda n, gvk: fakes.key(f"o{n}", gvk), st.integers(0, 3), st.sampled_from(KINDS))


class QueueMachine(stateful.RuleBasedStateMachine):
    """Any sequence of adds, polls, ends and waiting, against a simple model."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = fakes.Clock()
        self.work = queue.WorkQueue(CAPS.__getitem__, TOTAL, self.clock)
        self.active: set[objects.ObjectKey] = set()
        self.wanted: dict[objects.ObjectKey, tuple[Priority, float]] = {}

    @stateful.rule(
        key=_keys,
        priority=st.sampled_from(Priority),
        delay=st.sampled_from([0.0, 0.0, 1.0, 5.0, 100.0]),
    )
    def add(self, key: objects.ObjectKey, priority: Priority, delay: float) -> None:
        self.work.add(key, priority, delay)
        new = (priority, self.clock.now + delay)
        old = self.wanted.get(key, new)
        if Priority.CHECK in (old[0], priority):
            self.wanted[key] = min(old, new)
        else:
            self.wanted[key] = (min(old[0], priority), min(old[1], new[1]))

    @stateful.rule(seconds=st.sampled_from([0.5, 1.0, 10.0]))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @stateful.rule()
    def poll(self) -> None:
        eligible = self.eligible()
        key = self.work.poll(self.clock.now)
        if not eligible:
            assert key is None
            return
        assert key in eligible
        assert self.wanted[key][0] == min(self.wanted[other][0] for other in eligible)
        assert self.work.priority(key) == self.wanted[key][0]
        del self.wanted[key]
        self.active.add(key)

    @stateful.precondition(lambda self: self.active)
    @stateful.rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.active)))
        self.active.remove(key)
        self.work.done(key)

    @stateful.invariant()
    def caps_hold(self) -> None:
        assert set(self.work.active()) == self.active
        assert len(self.active) <= TOTAL
        for gvk, cap in CAPS.items():
            assert sum(key.gvk == gvk for key in self.active) <= cap

    def eligible(self) -> set[objects.ObjectKey]:
        """The keys that the model would serve now."""
        if len(self.active) >= TOTAL:
            return set()
        open_kinds = {
            gvk for gvk, cap in CAPS.items() if sum(k.gvk == gvk for k in self.active) < cap
        }
        return {
            key
            for key, (_, due) in self.wanted.items()
            if due <= self.clock.now and key not in self.active and key.gvk in open_kinds
        }

    def teardown(self) -> None:
        """Nothing is lost: everything that is wanted is served in the end."""
        for key in sorted(self.active):
            self.work.done(key)
        self.clock.advance(1000.0)
        served = set()
        while (served_key := self.work.poll(self.clock.now)) is not None:
            served.add(served_key)
            self.work.done(served_key)
        assert served == set(self.wanted)


QueueMachine.TestCase.settings = hypothesis.settings(
    max_examples=40, stateful_step_count=30, deadline=None
)
TestQueueMachine = QueueMachine.TestCase
