"""Runs owners again when their dependents change: hears of both, and puts the two together.

The proxy tells what runs own and write, informers tell what changes, and the controller is asked
for runs. Rules are elsewhere: which changes count in ``childpredicates``, whose a dependent is in
``childowners``, what is a run's own doing in ``runledger``, what is a loop in ``loopguard``.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

import structlog

from ansible_operator import children, durations, objects
from ansible_operator.control import (
    childowners,
    childpredicates,
    childwatches,
    loopguard,
    ownwrites,
    runledger,
)
from ansible_operator.control.priority import Priority

GOING_WAIT = 2.0
"""Seconds for which a dependent that is being deleted is waited for, so that one run sees it gone.

The role can do nothing for it before; still it runs, as what holds the dependent may be its task.
"""

Enqueue: TypeAlias = Callable[[objects.ObjectKey, Priority, float], None]

log = structlog.get_logger("loopguard")


class Dependents:
    """A :class:`children.Listener`; safe to use from all threads, calls out without its lock.

    ``enqueue`` is called with the key, the priority and a delay in seconds; ``now`` is a monotonic
    clock in seconds.
    """

    def __init__(
        self,
        informers: children.Informers,
        enqueue: Enqueue,
        *,
        guard: loopguard.LoopGuard,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watches = childwatches.ChildWatches(informers, self._heard)
        self._enqueue = enqueue
        self._guard = guard
        self._now = now
        self._lock = threading.Lock()
        self._ledgers: dict[objects.ObjectKey, runledger.Ledger] = {}
        self._expiring: collections.deque[tuple[float, objects.ObjectKey]] = collections.deque()

    def owns(self, owner: children.Owner, kind: children.ChildKind, tie: children.Tie) -> None:
        """Watch the objects of this kind for the owner's kind, unless its watch is against it."""
        self._watches.add(owner, kind, tie)

    def wrote(self, owner: children.Owner, write: children.Write) -> None:
        """Remember what a run has written: its echo is no reason to run the owner again."""
        with self._lock:
            self._ledger(owner.key).wrote(write, self._now())

    def has_written(self, key: objects.ObjectKey, digest: children.Digest) -> bool:
        """Whether runs of the object have made another one, or itself, what it is now.

        Also where they have deleted it. Only what the proxy has told of by now is known.
        """
        place = (digest.namespace, digest.name, digest.uid, digest.resource_version)
        sight = ownwrites.Sight("", "", *place, going=True)
        with self._lock:
            ledger = self._ledgers.get(key)
            return ledger is not None and ledger.has_written(sight, self._now())

    @contextlib.contextmanager
    def running(self, owner: children.Owner) -> Iterator[None]:
        """Around each run of an object; reasons for another one are told when it has ended."""
        with self._lock:
            self._ledger(owner.key).begin()
        try:
            yield
        finally:
            self._ended(owner.key)

    def edited(self, key: objects.ObjectKey) -> None:
        """Somebody has edited the watched object: whatever loop there was may be mended."""
        with self._lock:
            loop = self._guard.forget(key)
        if loop is not None:
            log.info("edited: runs of this object no longer wait", object=str(key))

    def forget(self, key: objects.ObjectKey) -> None:
        """The watched object is gone; stop watching what it alone needed."""
        with self._lock:
            self._ledgers.pop(key, None)
            self._guard.forget(key)
        self._watches.forget(key)

    def retire(self, gvk: objects.GVK) -> None:
        """Objects of this kind are run under another version of it from now on."""
        with self._lock:
            for key in [key for key in self._ledgers if key.gvk == gvk]:
                del self._ledgers[key]
                self._guard.forget(key)
        self._watches.retire(gvk)

    def note(self, key: objects.ObjectKey) -> str:
        """What the conditions of the object have to say about a loop; empty: there is none."""
        with self._lock:
            return self._guard.note(key, self._now())

    def remembered(self) -> set[objects.ObjectKey]:
        """The objects of whose runs something is remembered; only those that ran lately."""
        with self._lock:
            return set(self._ledgers)

    def _heard(self, change: children.Change, kinds: tuple[childowners.OwnerKind, ...]) -> None:
        """A dependent has changed; ask for runs of those owners that have not done it."""
        reason = childpredicates.reason(change)
        if reason is None:
            return
        states = (change.new,) if change.old is None else (change.old, change.new)
        cause = runledger.Cause(_child(change), reason, childpredicates.managers(change))
        for key in childowners.keys(states, kinds):
            with self._lock:
                now = self._now()
                ask = self._ledger(key).heard(_sight(change, reason), cause, now)
                wait = self._wait(key, cause, now)
            if ask:
                self._enqueue(key, Priority.DEPENDENT, wait)

    def _ended(self, key: objects.ObjectKey) -> None:
        with self._lock:
            now = self._now()
            self._prune(now)
            ran = self._ledger(key).end(now)
            self._expiring.append((now + ownwrites.KEEP, key))
            over = self._guard.over(key, now)
            loop = self._guard.ended(key, ran, now)
            wait = min((self._wait(key, cause, now) for cause in ran.left), default=0.0)
            lasts = self._guard.lasts(key, now)
        _tell(key, over, loop)
        if ran.left:
            self._enqueue(key, Priority.DEPENDENT, wait)
        if lasts:  # so that the condition does not say so for longer than the loop is
            self._enqueue(key, Priority.PERIODIC, lasts + 1.0)

    def _wait(self, key: objects.ObjectKey, cause: runledger.Cause, now: float) -> float:
        least = GOING_WAIT if cause.reason is childpredicates.Reason.GOING else 0.0
        return max(least, self._guard.wait(key, cause.child, now))

    def _ledger(self, key: objects.ObjectKey) -> runledger.Ledger:
        return self._ledgers.setdefault(key, runledger.Ledger())

    def _prune(self, now: float) -> None:
        """Close the books of objects that have not run for so long that no echo is to come."""
        while self._expiring and self._expiring[0][0] <= now:
            _, key = self._expiring.popleft()
            ledger = self._ledgers.get(key)
            if ledger is not None:
                ledger.prune(now)
                if ledger.idle:
                    del self._ledgers[key]


def _child(change: children.Change) -> runledger.Child:
    gvk, new = change.kind.gvk, change.new
    return runledger.Child(gvk.group, gvk.kind, new.namespace, new.name)


def _sight(change: children.Change, reason: childpredicates.Reason) -> ownwrites.Sight:
    gone = reason is childpredicates.Reason.GONE
    # What is gone is the old one, which another one of the same name may have replaced.
    seen = change.old if gone and change.old is not None else change.new
    return ownwrites.Sight(
        change.kind.gvk.group,
        change.kind.gvk.kind,
        seen.namespace,
        seen.name,
        seen.uid,
        "" if gone else seen.resource_version,
        going=reason is not childpredicates.Reason.CHANGED,
        gone=gone,
    )


def _tell(key: objects.ObjectKey, over: loopguard.Loop | None, loop: loopguard.Loop | None) -> None:
    if over is not None:
        log.info("runs of this object no longer cause runs", object=str(key), child=str(over.child))
    if loop is None:
        return
    say = log.warning if loop.fresh else log.debug
    say(
        "runs of this object cause further runs: they wait from now on",
        object=str(key),
        child_kind=loop.child.kind,
        child=str(loop.child),
        managers_of_the_role=list(loop.ours),
        managers_of_others=list(loop.others),
        runs=loop.runs,
        within=durations.render(float(round(loop.within))),
        wait=durations.render(loop.wait),
        hint=loopguard.REMEDY,
    )
