"""Short questions to the API server: what it serves and what it permits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ansible_operator import errors, objects
from ansible_operator.kube import client as kube_client

TIMEOUT = (5.0, 10.0)
"""Seconds to connect and to wait for an answer; who asks these questions asks them again."""


class Asks(Protocol):
    """What discovery and access checks need of a client."""

    @property
    def server(self) -> str:
        """The URL of the API server."""
        ...

    def request(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Any = None
    ) -> objects.Obj:
        """As :meth:`client.Client.request`."""
        ...


class Brief:
    """A client that waits only shortly for answers, and asks nothing more once it is stopped."""

    def __init__(self, client: kube_client.Client, stopped: Callable[[], bool]) -> None:
        self._client = client
        self._stopped = stopped

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self._client.server

    def request(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Any = None
    ) -> objects.Obj:
        """As :meth:`client.Client.request`; raises UnreachableError without asking if stopped."""
        if self._stopped():
            raise errors.UnreachableError(f"not asked, as the operator stops: {method} {path}")
        return self._client.request(method, path, query=query, body=body, timeout=TIMEOUT)
