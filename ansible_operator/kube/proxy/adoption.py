"""Objects that are there already: whose they are, and how they are adopted after their creation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ansible_operator import errors, objects, ownership
from ansible_operator.kube import asking
from ansible_operator.kube import client as kube_client

ATTEMPTS = 6
"""Busy controllers write to what was just created; six attempts take about two seconds."""

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
"""Only the metadata, of all API servers that can; content is no business of the proxy."""


class Adoption:
    """Reads and adopts objects as the operator. Its calls wait: they are for other threads.

    ``sleep`` waits for seconds.
    """

    def __init__(
        self, client: kube_client.Client, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._client = client
        self._sleep = sleep

    def live(self, path: str) -> objects.Obj | None:
        """The object at a URL path with at least its metadata; None if there is none.

        Raises KubeError.
        """
        try:
            return self._client.request("GET", path, accept=METADATA, timeout=asking.TIMEOUT)
        except errors.NotFoundError:
            return None

    def adopt(
        self, path: str, found: objects.Obj, claim: ownership.Claim, accept: str
    ) -> kube_client.RawAnswer | None:
        """Add the claim to an object as it was ``found``, and to no other of its name.

        The answer of the API server in the form of ``accept``; None if the object is gone.
        Raises KubeError.
        """
        current: objects.Obj | None = found
        for attempt in range(ATTEMPTS):
            if current is None or objects.uid(current) != objects.uid(found):
                return None
            try:
                return self._adopt(path, current, claim, accept)
            except errors.NotFoundError:
                return None
            except errors.ConflictError:
                if attempt == ATTEMPTS - 1:
                    raise
            self._sleep(0.05 * 2**attempt)
            current = self.live(path)
        raise AssertionError("unreachable")

    def _adopt(
        self, path: str, obj: objects.Obj, claim: ownership.Claim, accept: str
    ) -> kube_client.RawAnswer:
        needed = ownership.missing(obj, claim)
        if needed is None:
            return self._client.exchange("GET", path, accept=accept)
        try:
            return self._patched(path, obj, needed, accept)
        except errors.KubeError as exc:
            if exc.reason or not exc.status:
                raise
        # The refusal was told in a form that only the run reads; ask again for words.
        self._patched(path, obj, needed, kube_client.JSON)
        return self._client.exchange("GET", path, accept=accept)

    def _patched(
        self, path: str, obj: objects.Obj, needed: ownership.Claim, accept: str
    ) -> kube_client.RawAnswer:
        return self._client.exchange(
            "PATCH",
            path,
            body=_patch(obj, needed),
            content_type=kube_client.MERGE_PATCH,
            accept=accept,
        )


def _patch(obj: objects.Obj, needed: ownership.Claim) -> dict[str, Any]:
    """A merge patch that is refused if the object has changed since it was read."""
    if needed.reference is None:
        change: dict[str, Any] = {"annotations": dict(needed.annotations)}
    else:
        change = ownership.changed_metadata(obj, needed)
    guard = {"uid": objects.uid(obj), "resourceVersion": objects.resource_version(obj)}
    return {"metadata": {**guard, **change}}
