"""What a person orders by annotations of an object: pause, one more run, no clean-up."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from ansible_operator import conditions, objects, status

PAUSE = objects.ANNOTATION_PREFIX + "pause"
FORCE_RUN = objects.ANNOTATION_PREFIX + "force-run"
SKIP_CLEANUP = objects.ANNOTATION_PREFIX + "skip-cleanup"

_LONGEST = 256
_WORDS = {"true": True, "false": False, "": False}

log = structlog.get_logger("reconciler")


@dataclass(frozen=True, slots=True)
class Orders:
    """The annotations of one object, read.

    ``force`` is the value of the force-run annotation, cut if it is long, and empty without one.
    ``notes`` name annotations whose values mean nothing.
    """

    paused: bool = False
    force: str = ""
    skip_cleanup: bool = False
    notes: tuple[str, ...] = ()


def read(obj: Mapping[str, Any]) -> Orders:
    """What the annotations of an object order; a value that means nothing orders nothing."""
    found = objects.annotations(obj)
    flags = {name: str(found.get(name, "")) for name in (PAUSE, SKIP_CLEANUP)}
    notes = tuple(
        f'the annotation {name} is neither "true" nor "false" but "{text[:_LONGEST]}": ignored'
        for name, text in flags.items()
        if text.lower() not in _WORDS
    )
    paused, skip = (_WORDS.get(text.lower(), False) for text in flags.values())
    return Orders(paused, _bounded(str(found.get(FORCE_RUN, ""))), skip, notes)


def pending(obj: Mapping[str, Any]) -> str:
    """The force-run value that the status does not say to be done; empty if there is none."""
    force = read(obj).force
    found = conditions.find(conditions.read(objects.status(obj)), status.FORCED_RUN)
    handled = found.get("message") if found is not None else ""
    return "" if force == handled else force


def _bounded(text: str) -> str:
    """Different long values stay different when they are cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= _LONGEST:
        return data.decode("utf-8")
    digest = hashlib.blake2b(data, digest_size=8).hexdigest()
    return f"{data[: _LONGEST - 20].decode('utf-8', 'ignore')}...{digest}"


class Announcer:
    """Logs what is ordered: once per object and order, not on every pass."""

    def __init__(self) -> None:
        self._said: dict[objects.ObjectKey, Orders] = {}

    def announce(self, key: objects.ObjectKey, orders: Orders) -> None:
        """Say what has changed since the pass before."""
        before = self._said.get(key, Orders())
        if orders.notes or orders.paused:
            self._said[key] = orders
        else:
            self._said.pop(key, None)
        if orders.notes and orders.notes != before.notes:
            log.warning("annotations of the object were not used", reasons=list(orders.notes))
        if orders.paused and not before.paused:
            log.info("paused: nothing runs for the object", annotation=PAUSE)
        if before.paused and not orders.paused:
            log.info("resumed: the object is run again", annotation=PAUSE)

    def forget(self, key: objects.ObjectKey) -> None:
        """The object is gone."""
        self._said.pop(key, None)
