"""Ending a run before its time."""

from __future__ import annotations

import enum
import threading


class Why(enum.Enum):
    """Why a run is ended before its time."""

    SUPERSEDED = "superseded"
    STOPPED = "stopped"


class Cancel(threading.Event):
    """Set to end a run before its time; knows why. Stopping outweighs an edit."""

    why: Why | None = None

    def request(self, why: Why) -> None:
        """Ask for the run to end."""
        if self.why is not Why.STOPPED:
            self.why = why
        self.set()
