"""The network side: one handler for all requests, which reads, asks who and whether, answers."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TextIO

from aiohttp import HttpVersion11, web

from ansible_operator.sandbox import (
    audit,
    documents,
    failure,
    handlers,
    kinds,
    options,
    target,
    watching,
    world,
)
from ansible_operator.sandbox.rights import attributes, impersonation
from ansible_operator.sandbox.views import representation, tables

Obj = dict[str, Any]
BODY_LIMIT = 3 * 1024 * 1024
DRAINED = 64 * 1024 * 1024
"""Bytes of a body that is too long which are read to be polite, so that the client sees 413."""

NOT_FOUND = "404 page not found\n"
HEADERS = {"Cache-Control": "no-cache, private"}


class Server:
    """Serves a world. ``log`` is where the audit log goes, None for nowhere."""

    def __init__(self, sandbox: world.World, log: TextIO | None = None) -> None:
        self._world = sandbox
        self._log = log

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; what goes wrong is a Status."""
        begun = datetime.now(UTC)
        query = target.query(request.raw_path)
        flat = {key: values[0] for key, values in query.items()}
        try:
            path = target.path(request.raw_path)
        except ValueError:
            return web.Response(status=400, text="400 Bad Request")
        at = attributes.of_request(request.method, path, flat)
        exchange = audit.Exchange(str(uuid.uuid4()), at, request, begun)
        try:
            answer = await self._answered(request, at, query, exchange)
        except failure.ApiFailure as refused:
            answer = _refused(refused, representation.Form())
        except (ConnectionError, TimeoutError):  # the client went away
            raise
        except RecursionError:
            answer = _refused(failure.bad_request("exceeded max depth"), representation.Form())
        except Exception as error:
            told = f"the sandbox failed: {type(error).__name__}: {error}"
            broken = failure.ApiFailure(500, "InternalError", told)
            answer = _written(500, broken.status(), representation.Form())
            documents.report(error)
        self._note(exchange, answer.status)
        if not answer.prepared:
            answer.headers["Audit-Id"] = exchange.id
        return answer

    def _note(self, exchange: audit.Exchange, code: int, stage: str = audit.COMPLETE) -> None:
        if self._log is not None:
            self._log.write(json.dumps(exchange.line(code, stage)) + "\n")
            self._log.flush()

    async def _answered(
        self,
        request: web.BaseRequest,
        at: attributes.Attributes,
        query: options.Query,
        exchange: audit.Exchange,
    ) -> web.StreamResponse:
        raw = await _body(request)
        sandbox = self._world
        header = request.headers.get("Authorization", "")
        # As with a real server that lets everybody do everything, nobody is not somebody then.
        anonymous = sandbox.access.enforced or at.path in documents.OPEN
        user = sandbox.tokens.of_request(header, anonymous=anonymous)
        exchange.user = user
        user = impersonation.effective(sandbox.access, user, at, request.headers.items())
        exchange.acting = user
        sandbox.access.require(user, at)
        exchange.body = raw
        if at.path or not at.plural:
            return documents.answer(sandbox, request, at.path)
        resource = sandbox.kinds.find(at.group, at.version, at.plural)
        if resource is None or resource.namespaced < bool(
            at.namespace and at.plural != "namespaces"
        ):
            return self._no_resource(at)
        if not resource.custom and request.method == "HEAD":
            raise failure.method_not_allowed()
        if resource.namespaced and not at.namespace and at.verb not in ("list", "watch"):
            return _unplaced(resource, at)
        accept = request.headers.get("Accept", "")
        form = representation.negotiate(accept, builtin=not resource.custom)
        asked = handlers.Request(
            _of_namespaces(at),
            resource,
            query,
            user,
            request.headers.get("User-Agent", ""),
            request.headers.get("Content-Type", "").partition(";")[0].strip(),
            raw,
        )
        if resource.deprecation:
            asked.warnings.append(resource.deprecation)
        if at.verb == "watch":
            if request.method != "GET":
                raise failure.method_not_allowed()
            return await self._watched(request, asked, form, exchange)
        return self._resource(asked, form, query)

    def _no_resource(self, at: attributes.Attributes) -> web.Response:
        if at.group in kinds.UNSERVED:
            raise failure.not_implemented(f"{at.group}/{at.version}")
        if at.qualified in kinds.UNSERVED:
            raise failure.not_implemented(at.qualified)
        if kinds.builtin_group(at.group):
            raise failure.no_such_path()
        return _not_found()

    def _resource(
        self, asked: handlers.Request, form: representation.Form, query: options.Query
    ) -> web.Response:
        try:
            answer = handlers.handle(self._world, asked)
            shown = self._shown(asked.resource, answer, form, query)
        except failure.ApiFailure as refused:
            return _refused(refused, form, asked.warnings)
        return _written(answer.code, shown, form, asked.warnings)

    def _shown(
        self,
        resource: kinds.Resource,
        answer: handlers.Answer,
        form: representation.Form,
        query: options.Query,
    ) -> Any:
        """The answer in the shape that is asked for; a Status keeps its own."""
        if answer.items is None:
            whole = answer.found.get("kind") != resource.kind
            if whole or not form.shape:
                return answer.found
            if form.table:
                return self._table(resource, [answer.found], query, answer.found["metadata"], form)
            return representation.partial(answer.found)
        meta = answer.found["metadata"]
        if form.table:
            return self._table(resource, answer.items, query, meta, form)
        if form.metadata_only:
            representation.check_list(form, resource.group, resource.list_kind, resource.custom)
            return representation.partial_list(answer.items, meta)
        return answer.found | {"items": _bare(resource, answer.items)}

    def _table(
        self,
        resource: kinds.Resource,
        items: list[Obj],
        query: options.Query,
        meta: Obj,
        form: representation.Form,
    ) -> Obj:
        include = query.get("includeObject", ["Metadata"])[0]
        columns = self._world.registry.catalogue.columns(resource)
        found = tables.table(
            resource, items, columns, include=include, now=world.now(), version=form.version
        )
        kept = ("resourceVersion", "continue", "remainingItemCount")
        return found | {"metadata": {key: meta[key] for key in kept if key in meta}}

    async def _watched(
        self,
        request: web.BaseRequest,
        asked: handlers.Request,
        form: representation.Form,
        exchange: audit.Exchange,
    ) -> web.StreamResponse:
        """Stream the changes until the client goes, the time is over or the kind is gone."""
        at, resource = asked.at, asked.resource
        how = options.listing(asked.query)
        watch = watching.Watch(self._world.registry, resource, at.namespace, at.name, how)
        try:
            answer = web.StreamResponse(headers=HEADERS)
            answer.content_type = representation.JSON
            if request.version >= HttpVersion11:  # older clients read until the end
                answer.enable_chunked_encoding()
            for warning in asked.warnings:
                answer.headers.add("Warning", _warning(warning))
            await answer.prepare(request)
            self._note(exchange, answer.status, audit.STARTED)
            first = True
            async for piece in watch.pieces():
                lines = []
                for event in piece:
                    shown = self._event(resource, event, form, asked.query, first)
                    lines.append(representation.event(event.type, shown))
                    first = False
                await answer.write(b"".join(lines))
            await answer.write_eof()
        except ConnectionError:
            pass
        except Exception as error:  # too late for another answer
            documents.report(error)
        finally:
            watch.close()
        return answer

    def _event(
        self,
        resource: kinds.Resource,
        event: watching.Event,
        form: representation.Form,
        query: options.Query,
        first: bool,
    ) -> Obj:
        if event.type == "ERROR" or not form.shape:
            return event.object
        if form.metadata_only:
            return representation.partial(event.object)
        table = self._table(resource, [event.object], query, event.object["metadata"], form)
        return table if first else table | {"columnDefinitions": None}


async def _body(request: web.BaseRequest) -> bytes:
    """The body of a request. Raises ApiFailure 413."""
    if not request.can_read_body:
        return b""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    parts, size = [], 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size <= BODY_LIMIT:
            parts.append(chunk)
        elif size > DRAINED:
            break
    if size > BODY_LIMIT:
        raise failure.too_large(BODY_LIMIT)
    return b"".join(parts)


def _unplaced(resource: kinds.Resource, at: attributes.Attributes) -> web.Response:
    """The answer to what can be asked of a namespace only. Raises ApiFailure 404 and 405."""
    if resource.custom:
        return _not_found()
    if at.name or "list" not in resource.verbs:
        raise failure.no_such_path()
    raise failure.method_not_allowed()


def _not_found() -> web.Response:
    return web.Response(status=404, text=NOT_FOUND, headers=HEADERS)


def _of_namespaces(at: attributes.Attributes) -> attributes.Attributes:
    """A namespace is in no namespace, though rights on it are granted within it."""
    return dataclasses.replace(at, namespace="") if at.plural == "namespaces" else at


def _bare(resource: kinds.Resource, items: list[Obj]) -> list[Obj]:
    """Items of built-in lists do not say their kind; those of custom resources do."""
    if resource.custom:
        return items
    head = ("kind", "apiVersion")
    return [{key: value for key, value in obj.items() if key not in head} for obj in items]


def _written(
    code: int, found: Any, form: representation.Form, warnings: Iterable[str] = ()
) -> web.Response:
    answer = web.Response(
        status=code,
        body=representation.write(found, form),
        content_type=form.media_type,
        headers=HEADERS,
    )
    for warning in dict.fromkeys(warnings):
        answer.headers.add("Warning", _warning(warning))
    return answer


def _refused(
    refused: failure.ApiFailure, form: representation.Form, warnings: Iterable[str] = ()
) -> web.Response:
    answer = _written(refused.code, refused.status(), form, warnings)
    if seconds := (refused.details or {}).get("retryAfterSeconds"):
        answer.headers["Retry-After"] = str(seconds)
    return answer


def _warning(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'
