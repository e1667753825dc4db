"""Which kind a URL is about, from the API server's discovery, version by version.

One version of one group is one question, so that an aggregated API that does not answer matters
to nobody who does not use it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib import parse

from ansible_operator import children, errors, objects
from ansible_operator.kube import asking
from ansible_operator.kube import client as kube_client

APART = 1.0
"""Seconds between two questions for what was not there: the CRD may have come since."""

PATIENCE = 10.0
"""Seconds until a version is asked again that did not answer."""

LIFETIME = 600.0
"""Seconds after which an answer is asked for again, as a CRD may come back with another scope."""

_STORED = frozenset({"get", "list", "watch"})


@dataclass(frozen=True, slots=True)
class Served:
    """A resource as the API server serves it."""

    kind: children.ChildKind
    verbs: frozenset[str]

    @property
    def is_virtual(self) -> bool:
        """Whether there are no objects to be owned, as of reviews. The incumbent's rule."""
        return not self.verbs >= _STORED


@dataclass(frozen=True, slots=True)
class _Page:
    """The answer of one group version, or why there was none."""

    read: float
    found: Mapping[str, Served]
    error: errors.KubeError | None = None


class Mapper:
    """Thread-safe; several threads may ask the same at the same time.

    ``clock`` is monotonic, ``sleep`` waits for seconds.
    """

    def __init__(
        self,
        client: kube_client.Client,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._pages: dict[tuple[str, str], _Page] = {}

    def known(self, group: str, version: str, plural: str) -> Served | None:
        """What is known without a question; None says nothing."""
        page = self._page(group, version)
        return page.found.get(plural) if page and self._age(page) < LIFETIME else None

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The resource of a URL; None if it is not served. May ask and wait; raises KubeError."""
        page = self._page(group, version)
        if page is None or self._is_doubtful(page, plural):
            if page is not None:
                self._sleep(max(0.0, APART - self._age(page)))
            page = self._read(group, version, page)
        if page.error is not None and plural not in page.found:
            raise page.error.with_traceback(None)
        return page.found.get(plural)

    def _is_doubtful(self, page: _Page, plural: str) -> bool:
        if plural in page.found:
            return self._age(page) >= LIFETIME
        return page.error is None or self._age(page) >= PATIENCE

    def _read(self, group: str, version: str, before: _Page | None) -> _Page:
        """Ask; where there is no answer, what was known before counts on."""
        root = f"/apis/{parse.quote(group, safe='')}" if group else "/api"
        path = f"{root}/{parse.quote(version, safe='')}"
        error: errors.KubeError | None = None
        found = before.found if before else {}
        try:
            answer = self._client.request("GET", path, timeout=asking.TIMEOUT)
            found = dict(_served(answer, group, version))
        except errors.NotFoundError:
            found = {}
        except errors.KubeError as exc:
            error = exc
        page = _Page(self._clock(), found, error)
        with self._lock:
            self._pages[group, version] = page
        return page

    def _page(self, group: str, version: str) -> _Page | None:
        with self._lock:
            return self._pages.get((group, version))

    def _age(self, page: _Page) -> float:
        return self._clock() - page.read


def _served(answer: Mapping[str, Any], group: str, version: str) -> list[tuple[str, Served]]:
    """The resources of an APIResourceList by plural, without subresources."""
    return [
        (str(entry.get("name")), _resource(entry, group, version))
        for entry in answer.get("resources") or ()
        if "/" not in str(entry.get("name"))
    ]


def _resource(entry: Mapping[str, Any], group: str, version: str) -> Served:
    gvk = objects.GVK(
        str(entry.get("group") or group),
        str(entry.get("version") or version),
        str(entry.get("kind") or ""),
    )
    kind = children.ChildKind(gvk, str(entry.get("name")), bool(entry.get("namespaced")))
    return Served(kind, frozenset(map(str, entry.get("verbs") or ())))
