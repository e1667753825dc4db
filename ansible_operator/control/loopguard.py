"""Recognises a role that keeps itself running through its own dependents, and slows it down.

A run is *self-caused* if a change of a dependent asked for it, and

- that same dependent was really changed, made or deleted by this run or the one before: the role
  and somebody else fight over it; or
- it changed by somebody unknown while the one before was under way, and again during this one: the
  role writes it past the operator's API proxy, or somebody else all the time.

``runs`` of them within ``window`` seconds because of the same dependent are a loop; somebody who
edits one dependent after the other makes none. From then on runs that changes of that dependent
ask for wait: 10 s after the last self-caused run, after each further one twice as long, at most as
long as the window. An edit of the object ends the loop, and so does a window without a self-caused
run after the last wait. Pure: the clock is an argument, in seconds; not thread-safe.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from dataclasses import dataclass, field

from ansible_operator import durations, objects
from ansible_operator.control import runledger

FIRST_WAIT = 10.0
"""Seconds that the first run waits once a loop is recognised."""

REMEDY = (
    "let only one of them set these fields, or put the kind on the blacklist in watches.yaml; an "
    "edit of the object ends the wait"
)

_CHILDREN_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop, for people. ``within`` is the time in which the ``runs`` were, in seconds.

    ``fresh``: it was recognised just now. ``fight``: the role is known to change the dependent
    itself, as the field managers ``ours``; ``others`` are those of the changes that asked for runs.
    """

    child: runledger.Child
    runs: int
    within: float
    wait: float
    fresh: bool
    fight: bool
    ours: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What the condition says."""
        return (
            f"Runs of this object cause further runs, {self.runs} within {_round(self.within)}: "
            f"{self._who} Runs that this causes wait {durations.render(self.wait)}. To mend it, "
            f"{REMEDY}."
        )

    @property
    def _who(self) -> str:
        others = f"others{_among(self.others)}"
        if self.fight:
            return f"the role{_among(self.ours)} and {others} change {self.child} in turn."
        return (
            f"{self.child} is changed by {others} while the role runs; that may be the role "
            "itself, past the operator's API proxy."
        )


@dataclass(slots=True)
class _Record:
    """What is known of one object: its self-caused runs, and who changed which dependents."""

    last: float = 0.0
    times: dict[runledger.Child, collections.deque[float]] = field(default_factory=dict)
    managers: dict[runledger.Child, frozenset[str]] = field(default_factory=dict)
    fought: set[runledger.Child] = field(default_factory=set)
    loop: Loop | None = None
    began: float = 0.0


class LoopGuard:
    """Looks after all objects. ``runs`` 0 switches it off; ``window`` is in seconds."""

    def __init__(self, runs: int, window: float) -> None:
        self._runs = runs
        self._window = window
        self._records: dict[objects.ObjectKey, _Record] = {}

    def ended(self, key: objects.ObjectKey, ran: runledger.Ran, now: float) -> Loop | None:
        """Hear of a run; the loop that it is part of, if it is."""
        again = self_caused(ran)
        if not again or self._runs <= 0:
            return None
        record = self._records.setdefault(key, _Record())
        self._learn(record, again, now)
        children = [cause.child for cause in again if cause.child in record.fought]
        if record.loop is None or children:
            record.last = now
        if not children:
            return None
        record.loop = self._grown(record, ran, children[0])
        return record.loop

    def over(self, key: objects.ObjectKey, now: float) -> Loop | None:
        """Forget what is past; the loop that this has ended, if there was one."""
        record = self._records.get(key)
        if record is None or now < self._end(record):
            return None
        return self._records.pop(key).loop

    def wait(self, key: objects.ObjectKey, child: runledger.Child, now: float) -> float:
        """The seconds for which a run that a change of this dependent asks for has to wait."""
        record = self._records.get(key)
        if record is None or record.loop is None or child not in record.fought:
            return 0.0
        return max(0.0, record.last + record.loop.wait - now)

    def lasts(self, key: objects.ObjectKey, now: float) -> float:
        """The seconds after which the loop is over unless it goes on; 0 if there is none."""
        record = self._records.get(key)
        if record is None or record.loop is None:
            return 0.0
        return max(0.0, self._end(record) - now)

    def note(self, key: objects.ObjectKey, now: float) -> str:
        """What the object's condition has to say; empty if there is no loop."""
        record = self._records.get(key)
        if record is None or record.loop is None or now >= self._end(record):
            return ""
        return record.loop.text

    def forget(self, key: objects.ObjectKey) -> Loop | None:
        """The object was edited, or is gone; the loop that this has ended, if there was one."""
        record = self._records.pop(key, None)
        return record.loop if record else None

    def _end(self, record: _Record) -> float:
        """When it is over, if nothing happens until then."""
        return record.last + self._window + (record.loop.wait if record.loop else 0.0)

    def _learn(self, record: _Record, causes: Iterable[runledger.Cause], now: float) -> None:
        """Note which dependents asked for a self-caused run, when, and who had changed them."""
        for cause in causes:
            child = cause.child
            if child not in record.times and len(record.times) >= _CHILDREN_LIMIT:
                continue
            known = record.managers.get(child, frozenset())
            record.managers[child] = known.union(cause.managers)
            times = record.times.setdefault(child, collections.deque(maxlen=self._runs))
            times.append(now)
            if len(times) == self._runs and times[0] >= now - self._window:
                record.fought.add(child)

    def _grown(self, record: _Record, ran: runledger.Ran, child: runledger.Child) -> Loop:
        if record.loop is None:
            record.began, wait, runs = record.times[child][0], FIRST_WAIT, self._runs
        else:
            wait, runs = record.loop.wait * 2, record.loop.runs + 1
        ours = ran.managers.get(child, frozenset())
        others = record.managers.get(child, frozenset())
        return Loop(
            child,
            runs,
            within=record.last - record.began,
            wait=min(wait, self._window),
            fresh=record.loop is None,
            fight=child in ran.wrote | ran.earlier.wrote,
            ours=tuple(sorted(ours)),
            # Who takes fields from the role in the second of its write seems to be both.
            others=tuple(sorted(others - ours or others)),
        )


def self_caused(ran: runledger.Ran) -> tuple[runledger.Cause, ...]:
    """Those causes of a run that make it a self-caused one."""
    fought_over = ran.wrote | ran.earlier.wrote
    restless = ran.earlier.left & frozenset(cause.child for cause in ran.left)
    return tuple(cause for cause in ran.causes if cause.child in fought_over | restless)


def _among(managers: Iterable[str]) -> str:
    names = ", ".join(managers)
    return f" (field managers: {names})" if names else ""


def _round(seconds: float) -> str:
    return durations.render(float(max(1, round(seconds))))
