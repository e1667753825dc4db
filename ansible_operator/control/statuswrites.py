"""From which version of an object the operator's own status writes have made the next one.

Events of a burst are merged, so the version that is heard of is often that of a status write of the
operator. Who has changed the rest of the status is then told by the version before it.
"""

from __future__ import annotations

from ansible_operator import objects

LIMIT = 16
"""So many writes of an object are remembered; a pass has two."""


class StatusWrites:
    """Safe to use from several threads, one of which writes for an object at a time."""

    def __init__(self) -> None:
        self._origins: dict[objects.ObjectKey, dict[str, str]] = {}

    def note(self, key: objects.ObjectKey, before: str, after: str) -> None:
        """The operator has made the resourceVersion ``after`` from ``before``."""
        if before == after:
            return
        known = list(self._origins.get(key, {}).items())[1 - LIMIT :]
        self._origins[key] = {**dict(known), after: before}

    def origin(self, key: objects.ObjectKey, version: str) -> str:
        """The version from which own writes alone have made this one; itself if none have."""
        known = self._origins.get(key, {})
        for _ in range(LIMIT):
            if version not in known:
                break
            version = known[version]
        return version

    def forget(self, key: objects.ObjectKey) -> None:
        """The object is gone."""
        self._origins.pop(key, None)
