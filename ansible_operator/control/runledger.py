"""What is known of one object's runs and of the changes of its dependents around them.

Pure: the clock is an argument, in seconds; not thread-safe. Changes seen while a run is under way
are held until it ends, since the news of a write may come before the proxy has told of it. What
is no echo of a run's own write by then is a reason for the next run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ansible_operator import children
from ansible_operator.control import childpredicates, ownwrites

HELD_LIMIT = 10_000
"""So many changes are held during a run; the oldest of more are taken to be foreign."""

CHILDREN_LIMIT = 1_000
"""So many dependents are remembered in each respect; what is beyond is not named, but counts."""


@dataclass(frozen=True, slots=True, order=True)
class Child:
    """A dependent by name."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return f"{kind} {self.namespace}/{self.name}" if self.namespace else f"{kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a run is asked for; ``managers`` are the field managers that made the change."""

    child: Child
    reason: childpredicates.Reason
    managers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the run before has changed, and what has changed while it was under way."""

    wrote: frozenset[Child] = frozenset()
    left: frozenset[Child] = frozenset()


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run was about, once it has ended.

    ``causes`` are the changes that it was asked for, ``left`` those that came while it was under
    way. ``wrote`` are the dependents that it is known to have really changed, made or deleted; a
    write that changes nothing is none. ``earlier`` are the same two of the run before. ``managers``
    are the names of the field managers under which runs have written.
    """

    causes: tuple[Cause, ...] = ()
    left: tuple[Cause, ...] = ()
    wrote: frozenset[Child] = frozenset()
    earlier: Earlier = Earlier()
    managers: Mapping[Child, frozenset[str]] = field(default_factory=dict)


class Ledger:
    """The book about one object; it has at most one run at a time."""

    def __init__(self) -> None:
        self._writes = ownwrites.OwnWrites()
        self._running = False
        self._pending: dict[Child, Cause] = {}
        self._causes: tuple[Cause, ...] = ()
        self._held: dict[ownwrites.Sight, Cause] = {}
        self._unread = 0  # writes since what is held was last compared with them
        self._wrote: set[Child] = set()
        self._left: tuple[Cause, ...] = ()
        self._earlier = Earlier()
        self._managers: dict[Child, frozenset[str]] = {}

    @property
    def idle(self) -> bool:
        """Whether there is nothing in it that is worth keeping."""
        return not (self._running or self._pending or len(self._writes))

    @property
    def held(self) -> int:
        """How many changes wait for the end of the run."""
        return len(self._held)

    def begin(self) -> None:
        """A run begins; it is about all that was asked for until now."""
        self._running = True
        self._writes.begin()
        self._earlier = Earlier(frozenset(self._wrote), frozenset(c.child for c in self._left))
        self._causes, self._pending = tuple(self._pending.values()), {}
        self._wrote, self._left = set(), ()

    def wrote(self, write: children.Write, now: float) -> None:
        """A run has written; the news of it is no reason for another run."""
        self._writes.wrote(write, now)
        if write.verb in ("create", "delete"):
            gvk = write.kind.gvk
            self._changed(Child(gvk.group, gvk.kind, write.namespace, write.name))
        self._unread += 1
        if self._unread >= ownwrites.LIMIT // 2:  # before the first of them are forgotten
            self._release(now)

    def has_written(self, sight: ownwrites.Sight, now: float) -> bool:
        """Whether what was seen of any object is the doing of a run."""
        return self._writes.claims(sight, now)

    def heard(self, sight: ownwrites.Sight, cause: Cause, now: float) -> bool:
        """A dependent has changed in a way that counts; whether to ask for a run now."""
        if self._writes.claims(sight, now):
            self._echo(cause)
            return False
        if not self._running:
            self._ask((cause,))
            return True
        self._held[sight] = cause
        if len(self._held) > HELD_LIMIT:
            self._release(now)
            self._ask(self._held.values())
            self._held = {}
        return False

    def end(self, now: float) -> Ran:
        """The run has ended; what is ``left`` is a reason to ask for another one."""
        self._release(now)
        self._ask(self._held.values())
        self._held = {}
        self._running = False
        self._writes.end(now)
        self._left = tuple(self._pending.values())
        return Ran(
            self._causes,
            self._left,
            frozenset(self._wrote),
            self._earlier,
            dict(self._managers),
        )

    def prune(self, now: float) -> None:
        """Forget writes of which no news can come any more."""
        self._writes.prune(now)

    def _release(self, now: float) -> None:
        """Let go of what turns out to be the run's own."""
        self._unread = 0
        for sight, cause in list(self._held.items()):
            if self._writes.claims(sight, now):
                del self._held[sight]
                self._echo(cause)

    def _ask(self, causes: Iterable[Cause]) -> None:
        for cause in causes:
            if cause.child in self._pending or len(self._pending) < CHILDREN_LIMIT:
                self._pending[cause.child] = cause

    def _echo(self, cause: Cause) -> None:
        """News of an own write: it did change something, and under these names."""
        self._changed(cause.child)
        known = self._managers.get(cause.child, frozenset())
        if cause.child in self._managers or len(self._managers) < CHILDREN_LIMIT:
            self._managers[cause.child] = known.union(cause.managers)

    def _changed(self, child: Child) -> None:
        if child.name and len(self._wrote) < CHILDREN_LIMIT:
            self._wrote.add(child)
