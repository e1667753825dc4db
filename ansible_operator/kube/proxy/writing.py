"""One write of a run: its object gets its owner before or after, and the write is reported."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from concurrent import futures
from dataclasses import dataclass
from typing import TypeVar
from urllib import parse

import structlog

from ansible_operator import children, errors, objects, ownership
from ansible_operator.kube import client as kube_client
from ansible_operator.kube.proxy import (
    adoption,
    bodies,
    interceptor,
    reports,
    representation,
    troubles,
)

log = structlog.get_logger("proxy")

CREATED = 201
_LARGE = 64 * 1024
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Tools:
    """What all writes work with."""

    adoption: adoption.Adoption
    reports: reports.Reports
    troubles: troubles.Troubles
    threads: futures.Executor

    async def apart(self, work: Callable[[], _T]) -> _T:
        """Do what waits or takes long in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, work)


class Writing:
    """A create, update, patch or delete of one object, or of a collection.

    With ``owning`` its object is given its owner. The body gets it where that can be read, so
    that the object is never seen without. Otherwise the object is adopted when it was created.
    Without, a new object gets none, but one that has the owner already does not lose it.
    """

    def __init__(
        self,
        tools: Tools,
        owner: children.Owner,
        request: interceptor.Request,
        headers: Mapping[str, str],
        kind: children.ChildKind,
        *,
        owning: bool,
    ) -> None:
        self._owning = owning
        self._tools = tools
        self._owner = owner
        self._request = request
        self._media = bodies.media_type(headers)
        self._accept = headers.get("accept") or kube_client.JSON
        self._kind = kind
        self._left: ownership.Claim | None = None  # what the body did not get
        self._only_if_new = False
        self._trouble: troubles.Trouble | None = None

    def plan(self) -> interceptor.Plan:
        """What is to be done about the request."""
        replaces = (
            self._media in (bodies.APPLY, bodies.APPLY_CBOR) or self._request.verb == "update"
        )
        if not (replaces or (self._owning and self._request.verb == "create")):
            return interceptor.Plan(inspect=self.inspect)
        if self._owning:
            # Until the body was shown, which one with a content encoding never is.
            self._left, self._only_if_new = self._claim({}), True
        return interceptor.Plan(self.rewrite, self.inspect)

    async def rewrite(self, body: bytes) -> bytes:
        """The body with the owner in it; the same one where that is not possible or not wanted."""
        try:
            claim, others = await self._wanted()
        except errors.KubeError as exc:
            self._trouble = troubles.no_read(self._request, exc)
            return body
        self._left, self._only_if_new = None, False
        if claim is None and not others:
            return body
        if self._media not in bodies.EDITABLE:
            self._left = claim
            return body
        try:
            return await self._owned(body, claim, others)
        except bodies.BodyError as exc:
            log.debug("body cannot be changed", target=self._request.target, error=str(exc))
            self._left = claim
            return body

    async def inspect(self, answer: interceptor.Answer) -> interceptor.Answer:
        """Report what was accepted; adopt what came without owner."""
        if not representation.is_success(answer) or "dryRun" in self._request.query:
            return answer
        obj = representation.read(answer)
        new = answer.status == CREATED or self._request.verb == "create"
        self._report("create" if new else self._request.verb, obj or {})
        if self._left is not None and (new or not self._only_if_new):
            return await self._adopted(answer, obj, self._left)
        if self._trouble is not None and self._request.verb == "update":
            return self._warned(answer, self._trouble)
        return answer

    async def _wanted(self) -> tuple[ownership.Claim | None, tuple[ownership.Claim, ...]]:
        """What the object must have for its owner, and what it must not lose of other owners.

        The first is None if the object was there before and is not the owner's.
        """
        if self._request.verb == "create":
            return self._claim({}), ()
        live = await self._tools.apart(
            functools.partial(self._tools.adoption.live, _path(self._request))
        )
        if live is None:
            return (self._claim({}) if self._owning else None), ()
        others = ownership.claims_of_others(live, self._owner)
        if self._request.verb == "patch":
            manager = self._request.query.get("fieldManager", "")
            others = ownership.applied(live, manager, others)
        return ownership.claim_of(live, self._owner), others

    def _claim(self, obj: objects.Obj) -> ownership.Claim:
        namespace = self._request.namespace or objects.namespace(obj)
        return ownership.claim_for(self._owner, self._kind, namespace)

    async def _owned(
        self, body: bytes, claim: ownership.Claim | None, others: tuple[ownership.Claim, ...]
    ) -> bytes:
        def choose(obj: objects.Obj) -> ownership.Claim | None:
            return self._claim(obj) if self._request.verb == "create" else claim

        def work() -> bytes:
            kept = bodies.keep(body, self._media, others)
            return bodies.own(kept, self._media, choose)

        return work() if len(body) < _LARGE else await self._tools.apart(work)

    async def _adopted(
        self, answer: interceptor.Answer, obj: objects.Obj | None, claim: ownership.Claim
    ) -> interceptor.Answer:
        """The answer with the object as it is after the adoption, or with a warning."""
        if obj is not None and ownership.tie(obj, self._owner) is not None:
            return answer
        try:
            adopted = await self._tools.apart(functools.partial(self._adopt, obj, claim))
        except errors.KubeError as exc:
            return self._warned(answer, troubles.no_adoption(self._request, exc))
        except LookupError:
            return self._warned(answer, troubles.unreadable_answer(self._request))
        if adopted is None:
            return answer
        headers = {**answer.headers, "content-type": adopted.headers.get("content-type", "")}
        headers.pop("content-length", None)
        shown = interceptor.Answer(answer.status, headers, adopted.body)
        self._report("patch", representation.read(shown) or {})
        return shown

    def _adopt(
        self, obj: objects.Obj | None, claim: ownership.Claim
    ) -> kube_client.RawAnswer | None:
        """In another thread. Raises LookupError if it is not known which object it is."""
        path = _path(self._request)
        if not self._request.name:
            name = objects.name(obj or {})
            if not name:
                raise LookupError(path)
            path = f"{path}/{parse.quote(name, safe='')}"
        found = obj if obj and objects.uid(obj) else self._tools.adoption.live(path)
        return self._tools.adoption.adopt(path, found, claim, self._accept) if found else None

    def _report(self, verb: str, obj: objects.Obj) -> None:
        if verb == "deletecollection":
            obj = {}  # a list, or nothing
        elif verb != "delete":
            self._tools.reports.owns(self._owner, self._request, self._kind, obj)
        self._tools.reports.wrote(self._owner, self._request, self._kind, verb, obj)

    def _warned(self, answer: interceptor.Answer, trouble: troubles.Trouble) -> interceptor.Answer:
        text = self._tools.troubles.warn(self._owner, self._request, trouble)
        return representation.with_warning(answer, text)


def _path(request: interceptor.Request) -> str:
    return request.target.partition("?")[0]
