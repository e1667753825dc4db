"""The verdict of a run, from its return code and its final stats.

===========================  =======================================================
return code 0, clean stats   success: rescued and ignored failures are fine
failures or unreachable      failure, also when the return code is that of a later play
no hosts matched             failure if no host was processed at all; an empty play is success
no stats                     failure: the parser's message, or the signal that ended the run
bad ``requeue_after``        failure
===========================  =======================================================

A :class:`Tally` is fed with every event and remembers what the verdict needs in bounded memory.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_operator import durations
from ansible_operator.ansible import events, message, run

_MAX_FAILURES = 32
_MAX_OUTPUT = 200
_NO_COUNTS = run.TaskCounts()


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed task on one host; whether it was rescued is known only from the final stats."""

    host: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Success if ``message`` is empty. ``requeue_after`` is in seconds."""

    message: str = ""
    counts: run.TaskCounts = _NO_COUNTS
    requeue_after: float | None = None

    @property
    def outcome(self) -> run.Outcome:
        """Succeeded or failed."""
        return run.Outcome.FAILED if self.message else run.Outcome.SUCCEEDED


@dataclass(slots=True)
class Tally:
    """What is remembered of a run's events."""

    current: events.Event | None = None
    stats: events.Event | None = None
    no_hosts_matched: bool = False
    failures: deque[Failure] = field(default_factory=lambda: deque(maxlen=_MAX_FAILURES))
    output: deque[str] = field(default_factory=lambda: deque(maxlen=_MAX_OUTPUT))
    periods: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def observe(self, event: events.Event) -> None:
        """Take notice of one event; cheap."""
        if event.kind == events.TASK_START:
            self.current = event
        elif event.kind == events.STATS:
            self.stats = event
        elif event.kind == events.NO_HOSTS:
            self.no_hosts_matched = True
        elif event.kind in (events.FAILED, events.UNREACHABLE):
            self._observe_failure(event)
        elif event.kind == events.OK and event.actions & events.REQUEUE_AFTER:
            self._observe_requeue(event)
        elif event.kind == events.ERROR or (event.kind in events.OUTPUT and not event.task):
            self.output.append(message.cut(event.stdout, message.LIMIT))

    def _observe_failure(self, event: events.Event) -> None:
        if not event.is_ignored:
            # More than the limit, so that whoever cuts the whole message notices and says so.
            text = message.cut(events.clean(message.failure(event)), 2 * message.LIMIT)
            self.failures.append(Failure(event.host, text))

    def _observe_requeue(self, event: events.Event) -> None:
        for result in events.results(event):
            if result.get("skipped") is True:
                continue
            period = result.get("period")
            try:
                if not isinstance(period, str):
                    raise ValueError("its result has no period")
                self.periods.append(durations.parse(period))
            except ValueError as error:
                self.problems.append(f"{event.where} did not say when to run again: {error}")

    @property
    def where(self) -> str:
        """The task that started last: `` while running task ...``, or ``""``."""
        return f" while running {self.current.where}" if self.current else ""


def reach(tally: Tally, rc: int | None) -> Verdict:
    """The verdict on a run that ended with the exit code ``rc`` (128 + n for signal n)."""
    counts = task_counts(tally.stats)
    found = message.join(list(_reasons(tally, rc)))
    wanted = [period for period in tally.periods if period > 0]
    return Verdict(found, counts, min(wanted) if wanted and not found else None)


def task_counts(stats: events.Event | None) -> run.TaskCounts:
    """The counts of the host named localhost, as the incumbent counts."""
    if stats is None:
        return run.TaskCounts()
    ok, changed, skipped, failures = (
        _count(stats, key, "localhost") for key in ("ok", "changed", "skipped", "failures")
    )
    return run.TaskCounts(ok, changed, skipped, failures, completion(stats.created))


def completion(created: str) -> str:
    """An event's time as the incumbent writes it: no trailing zeros in the fraction."""
    whole, dot, rest = created.partition(".")
    if not dot:
        return created
    fraction, plus, zone = rest.partition("+")
    fraction = fraction[:8].rstrip("0")
    return f"{whole}.{fraction}{plus}{zone}" if fraction else f"{whole}{plus}{zone}"


def _reasons(tally: Tally, rc: int | None) -> Iterator[str]:
    died = _died(rc)
    if died:
        yield f"{died}{tally.where}"
    failed = list(_unrescued(tally))
    yield from failed
    yield from tally.problems
    if tally.stats is None:
        yield from _without_stats(tally, rc, bool(died or failed))
    elif tally.no_hosts_matched and not _hosts(tally.stats, "processed"):
        yield "no hosts matched: the play's hosts are not in the inventory, so nothing was done"
    elif rc != 0 and not (died or failed):
        yield f"ansible-playbook ended with exit code {rc}"
        yield message.output("\n".join(tally.output))


def _without_stats(tally: Tally, rc: int | None, explained: bool) -> Iterator[str]:
    said = message.output("\n".join(tally.output), whole=not explained)
    if said:
        yield f"{said}{tally.where}"
    if not explained and (not said or rc == 0):
        yield f"ansible-playbook ended with exit code {rc} and without a summary{tally.where}"


def _died(rc: int | None) -> str:
    """``runner died (signal 9)`` if a signal ended the run, else ``""``."""
    if rc is None:
        return "runner died (killed by a signal)"
    if 128 < rc < 128 + signal.NSIG:
        return f"runner died (signal {rc - 128})"
    return ""


def _unrescued(tally: Tally) -> Iterator[str]:
    """The failures that were not rescued.

    An event does not tell whether its failure was rescued afterwards, the final stats only how
    many were. A host gets no further task after a failure that is not rescued (except in
    ``always``), so it is the last failures of a host that count, as many as the stats say.
    """
    for host in dict.fromkeys(known.host for known in tally.failures):
        mine = [known.text for known in tally.failures if known.host == host]
        if tally.stats is None:
            yield mine[-1]
            continue
        number = _count(tally.stats, "failures", host) + _count(tally.stats, "dark", host)
        yield from mine[max(0, len(mine) - number) :]
    if tally.stats is not None:
        known_hosts = {known.host for known in tally.failures}
        for key, text in (("failures", "a task failed on"), ("dark", "unreachable:")):
            for host in _hosts(tally.stats, key):
                if host not in known_hosts:
                    yield f"{text} host {host}"


def _hosts(stats: events.Event, key: str) -> Mapping[str, Any]:
    return events.mapping(stats.data.get(key))


def _count(stats: events.Event, key: str, host: str) -> int:
    value = _hosts(stats, key).get(host)
    return value if isinstance(value, int) else 0
