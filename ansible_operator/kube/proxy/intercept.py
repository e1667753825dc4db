"""The proxy's interceptor: what runs create is owned, and what they own and write is reported."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping
from concurrent import futures

from ansible_operator import children, errors
from ansible_operator.kube import client as kube_client
from ansible_operator.kube.proxy import (
    adoption,
    guarding,
    interceptor,
    mapping,
    reports,
    representation,
    subresources,
    troubles,
    writing,
)

_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_OWNED_WRITES = frozenset({"create", "update", "patch"})
_THREADS = 32
"""Most of them wait, and one API that does not answer must not take those of the others."""


class Ownership:
    """Implements interceptor.Interceptor.

    With ``inject`` False objects are left as runs send them, and only reports are made.
    ``listener`` is called in the proxy's loop, as is all of this.
    """

    def __init__(
        self,
        mapper: mapping.Mapper,
        client: kube_client.Client,
        listener: children.Listener,
        *,
        inject: bool,
    ) -> None:
        self._mapper = mapper
        self._inject = inject
        self._threads = futures.ThreadPoolExecutor(_THREADS, "ownership")
        self._reports = reports.Reports(listener)
        self._troubles = troubles.Troubles()
        self._tools = writing.Tools(
            adoption.Adoption(client), self._reports, self._troubles, self._threads
        )
        self._asking: dict[tuple[str, str, str], asyncio.Future[mapping.Served | None]] = {}

    async def plan(
        self, owner: children.Owner, request: interceptor.Request, headers: Mapping[str, str]
    ) -> interceptor.Plan:
        """As interceptor.Interceptor."""
        return guarding.guarded(await self._plan(owner, request, headers))

    def close(self) -> None:
        """Start nothing more; what runs already ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _plan(
        self, owner: children.Owner, request: interceptor.Request, headers: Mapping[str, str]
    ) -> interceptor.Plan:
        if request.verb == "get" and request.name and not request.subresource:
            return self._reading(owner, request)
        if request.verb not in _WRITES or not subresources.is_write(request):
            return interceptor.PASS
        try:
            served = await self._served(request)
        except errors.KubeError:
            served = None
        if served is None:
            return self._unknown(owner, request, headers)
        if served.is_virtual:
            return interceptor.PASS
        if request.subresource:
            return interceptor.Plan(
                inspect=functools.partial(self._written_part, owner, request, served.kind)
            )
        return self._writing(owner, request, headers, served.kind)

    def _writing(
        self,
        owner: children.Owner,
        request: interceptor.Request,
        headers: Mapping[str, str],
        kind: children.ChildKind,
    ) -> interceptor.Plan:
        owning = _is_ownable(owner, kind)
        write = writing.Writing(self._tools, owner, request, headers, kind, owning=owning)
        return write.plan() if self._inject else interceptor.Plan(inspect=write.inspect)

    def _reading(self, owner: children.Owner, request: interceptor.Request) -> interceptor.Plan:
        """After a restart of the operator, runs that change nothing show what is owned."""
        if self._reports.is_settled(owner, request):
            return interceptor.PASS
        return interceptor.Plan(inspect=functools.partial(self._read, owner, request))

    async def _read(
        self, owner: children.Owner, request: interceptor.Request, answer: interceptor.Answer
    ) -> interceptor.Answer:
        if not representation.is_success(answer) or not self._reports.may_own(owner, answer.body):
            return answer
        obj = representation.read(answer)
        try:
            served = await self._served(request)
        except errors.KubeError:
            return answer
        if obj and served:
            self._reports.owns(owner, request, served.kind, obj)
        return answer

    async def _written_part(
        self,
        owner: children.Owner,
        request: interceptor.Request,
        kind: children.ChildKind,
        answer: interceptor.Answer,
    ) -> interceptor.Answer:
        if representation.is_success(answer):
            obj = representation.read(answer) or {}
            if verb := subresources.verb(request, kind, obj):
                self._reports.wrote(owner, request, kind, verb, obj)
        return answer

    def _unknown(
        self, owner: children.Owner, request: interceptor.Request, headers: Mapping[str, str]
    ) -> interceptor.Plan:
        """What discovery does not know may be created all the same: it is a moment behind."""
        if not self._inject or request.subresource or request.verb not in _OWNED_WRITES:
            return interceptor.PASS

        async def inspect(answer: interceptor.Answer) -> interceptor.Answer:
            if answer.status != writing.CREATED:
                return answer
            try:
                served = await self._served(request)
            except errors.KubeError as exc:
                trouble = troubles.no_discovery(request, exc)
                text = self._troubles.warn(owner, request, trouble)
                return representation.with_warning(answer, text)
            if served is None or served.is_virtual:
                return answer
            adopt = self._writing(owner, request, headers, served.kind).inspect
            return await adopt(answer) if adopt else answer

        return interceptor.Plan(inspect=inspect)

    async def _served(self, request: interceptor.Request) -> mapping.Served | None:
        """The kind of a request; what several ask at the same time is asked once."""
        key = (request.group, request.version, request.resource)
        known = self._mapper.known(*key)
        if known is not None:
            return known
        if key not in self._asking:
            loop = asyncio.get_running_loop()
            asked = loop.run_in_executor(self._threads, self._mapper.find, *key)
            self._asking[key] = asked
            asked.add_done_callback(functools.partial(self._asked, key))
        return await asyncio.shield(self._asking[key])

    def _asked(
        self, key: tuple[str, str, str], answer: asyncio.Future[mapping.Served | None]
    ) -> None:
        del self._asking[key]
        if not answer.cancelled():
            answer.exception()  # seen, even where everybody who waited has gone


def _is_ownable(owner: children.Owner, kind: children.ChildKind) -> bool:
    """Events are records, and the blacklist is the user's word.

    The incumbent keeps only watches from the kinds on it, and owns them all the same.
    """
    is_event = kind.plural == "events" and kind.gvk.group in ("", "events.k8s.io")
    return not is_event and kind.gvk not in owner.watch.blacklist
