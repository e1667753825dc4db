"""How long after a good run an object is run again, and saying who decided that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from ansible_operator import durations, objects, watches

ANNOTATION = objects.ANNOTATION_PREFIX + "reconcile-period"

log = structlog.get_logger("reconciler")


@dataclass(frozen=True, slots=True)
class Period:
    """The period that counts, in seconds; 0 or less means that there are no periodic runs.

    ``given`` is what each place says, as (place, duration), the winner first. ``problem`` is empty
    unless the object has an annotation that cannot be used; it names the annotation.
    """

    seconds: float
    given: tuple[tuple[str, str], ...]
    problem: str = ""


def choose(obj: Mapping[str, object], watch: watches.Watch, flag: float) -> Period:
    """The period for an object: its annotation wins over watches.yaml, which wins over the flag.

    An annotation that is no duration is passed over, so that the object goes on being reconciled
    (the incumbent stops and retries for ever). Pure.
    """
    places = [("flag", flag)]
    if watch.reconcile_period is not None:
        places.insert(0, ("watches.yaml", watch.reconcile_period))
    problem = ""
    text = objects.annotations(obj).get(ANNOTATION)
    if text is not None:
        try:
            places.insert(0, ("annotation", durations.parse(str(text))))
        except ValueError as error:
            problem = f"Unable to parse reconcile period annotation: {ANNOTATION}: {error}"
    given = tuple((place, durations.render(seconds)) for place, seconds in places)
    return Period(places[0][1], given, problem)


class Announcer:
    """Logs which of several periods counts: once per object and value, not on every pass.

    What only watches.yaml and the flag decide is said once per kind.
    """

    def __init__(self) -> None:
        self._said: dict[objects.ObjectKey | objects.GVK, Period] = {}

    def announce(self, key: objects.ObjectKey, period: Period) -> None:
        """Say it, unless it was said or there is only one place to choose from."""
        own = period.problem or period.given[0][0] == "annotation"
        subject = key if own else key.gvk
        if not own:
            self._said.pop(key, None)
        if (len(period.given) == 1 and not own) or self._said.get(subject) == period:
            return
        self._said[subject] = period
        winner, value = period.given[0]
        if period.problem:
            log.warning(
                "reconcile period annotation ignored",
                problem=period.problem,
                winner=winner,
                period=value,
            )
        else:
            others = dict(period.given[1:])
            log.info("reconcile period chosen", winner=winner, period=value, overridden=others)

    def forget(self, key: objects.ObjectKey) -> None:
        """The object is gone."""
        self._said.pop(key, None)
