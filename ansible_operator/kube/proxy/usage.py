"""What runs asked of the API, and the least rights that would do for it."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ansible_operator.kube.proxy import interceptor

MOST = 10_000
"""Different entries that are kept; whatever comes after them is only counted."""

# Websockets begin with a GET, and newer servers check the right to create as well.
_CHANGING = ("pods/exec", "pods/attach", "pods/portforward")


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One thing that was asked; ``resource`` is ``pods/log`` for a subresource."""

    group: str
    resource: str
    verb: str
    namespace: str


class Usage:
    """Counts of what was asked; thread-safe and bounded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[Entry] = Counter()
        self._others = 0

    def note(self, request: interceptor.Request) -> None:
        """Count one request; what is no resource needs no rights of its own."""
        if not (request.is_resource and request.verb):
            return
        entry = Entry(request.group, _qualified(request), request.verb, request.namespace)
        with self._lock:
            if entry in self._counts or len(self._counts) < MOST:
                self._counts[entry] += 1
            else:
                self._others += 1

    @property
    def others(self) -> int:
        """Requests that are in no entry, as there were too many different ones."""
        return self._others

    def counts(self) -> dict[Entry, int]:
        """How often each thing was asked."""
        with self._lock:
            return dict(self._counts)

    def rules(self, namespace: str | None = None) -> list[dict[str, Any]]:
        """The RBAC rules that allow exactly what was asked, in one namespace or in all."""
        verbs: dict[tuple[str, str], set[str]] = {}
        for entry in self.counts():
            if namespace in (None, entry.namespace):
                wanted = verbs.setdefault((entry.group, entry.resource), set())
                wanted.add(entry.verb)
                if entry.resource in _CHANGING and not entry.group:
                    wanted.add("create")
        resources: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for (group, resource), asked in sorted(verbs.items()):
            resources.setdefault((group, tuple(sorted(asked))), []).append(resource)
        return [
            {"apiGroups": [group], "resources": names, "verbs": list(asked)}
            for (group, asked), names in resources.items()
        ]


def _qualified(request: interceptor.Request) -> str:
    if request.subresource:
        return f"{request.resource}/{request.subresource}"
    return request.resource
