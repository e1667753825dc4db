"""The tokens of runs: random, each for one owner, dead as soon as its run is over."""

from __future__ import annotations

import hashlib
import secrets
import threading
import weakref
from typing import Protocol

from ansible_operator import children


class Closable(Protocol):
    """A connection that can be cut."""

    def cut(self) -> None:
        """Close it without waiting for what is not yet sent."""
        ...


class Session:
    """One run's right to ask. Everything but ``ended`` belongs to the proxy's thread."""

    def __init__(self, owner: children.Owner) -> None:
        self.owner = owner
        self.ended = False
        self._held: weakref.WeakSet[Closable] = weakref.WeakSet()

    def hold(self, connection: Closable) -> None:
        """Remember a connection that speaks with this token; it goes when the session ends."""
        self._held.add(connection)

    def close(self) -> None:
        """Cut all connections of the session at once."""
        for connection in list(self._held):
            connection.cut()


class Tokens:
    """All live tokens; thread-safe.

    Only digests are kept and compared, so how long a look-up takes tells nothing of a token.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[bytes, Session] = {}

    def issue(self, owner: children.Owner) -> tuple[str, Session]:
        """A new token for a run of this owner."""
        token, session = secrets.token_urlsafe(32), Session(owner)
        with self._lock:
            self._sessions[_digest(token)] = session
        return token, session

    def find(self, token: str) -> Session | None:
        """Whose token it is; None if nobody's, or if its run is over."""
        with self._lock:
            return self._sessions.get(_digest(token))

    def end(self, token: str) -> None:
        """The run of this token is over."""
        with self._lock:
            session = self._sessions.pop(_digest(token), None)
        if session is not None:
            session.ended = True


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
