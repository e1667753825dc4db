"""Where the proxy lets others look at what a run asks and is answered, and change it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ansible_operator import children


@dataclass(frozen=True, slots=True)
class Request:
    """A request as the API server understands it.

    ``target`` is the path with the query, as it came. ``verb`` is that of RBAC (get, list, watch,
    create, update, patch, delete, deletecollection); it and all that follows but ``query`` are
    empty for what is no resource, such as discovery. ``query`` has the first value of each key.
    """

    method: str
    target: str
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_resource(self) -> bool:
        """Whether it is about objects."""
        return bool(self.resource)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer of the API server. Names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done about one request; with neither it streams through as it is.

    ``rewrite`` gets the whole body of the request, without content encoding, and returns what is
    sent in its place; it never raises. ``inspect`` gets the whole answer, without content
    encoding, before the run sees any of it, and returns what the run gets; it never raises
    either. An answer that is larger than the proxy buffers is not shown to it.
    """

    rewrite: Callable[[bytes], Awaitable[bytes]] | None = None
    inspect: Callable[[Answer], Awaitable[Answer]] | None = None


PASS = Plan()


class Interceptor(Protocol):
    """What looks at requests with the token of a live run. Called in the proxy's loop."""

    async def plan(
        self, owner: children.Owner, request: Request, headers: Mapping[str, str]
    ) -> Plan:
        """What to do about this request; never raises. Names of ``headers`` are in lower case."""
        ...
