"""A small HTTP API server that keeps objects in memory and misbehaves when it is told to.

It has what listening and patching need: discovery, list in pages, watch with resourceVersions, get,
JSON and merge patches with optimistic locking, ``/status``, access reviews, metadata alone. It is
not a Kubernetes API server; what only a real one can show is tested against a real one.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jsonpatch
from aiohttp import web

Obj = dict[str, Any]


@dataclass
class Kind:
    """A served kind; ``prune`` and ``validate`` stand for its schema."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    has_status: bool = True
    prune: Callable[[Obj], None] = lambda status: None
    validate: Callable[[Obj], list[str]] = lambda obj: []

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


@dataclass
class Fault:
    """What to answer instead, ``times`` times (-1: until removed), to requests that match."""

    method: str
    pattern: str
    status: int
    times: int = -1
    message: str = "as the test wishes"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Seen:
    """One request that reached the server."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


RESET = 0
HANG = -1
NAMESPACES = Kind("", "v1", "Namespace", "namespaces", namespaced=False)


class FakeApi:
    """The server, in a thread of its own, on a free port of the loopback interface."""

    def __init__(self, *kinds: Kind, tls: ssl.SSLContext | None = None) -> None:
        self.kinds = [NAMESPACES, *kinds]
        self.objects: dict[tuple[str, str, str], Obj] = {}
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.tokens: set[str] | None = None
        self.denied: set[tuple[str, str]] = set()
        self.before_patch: Callable[[Obj], None] | None = None
        self.expire_tokens = False
        self.list_seconds = 0.0
        self.most_lists = 0
        self._lists = 0
        self._pages: dict[str, list[Obj]] = {}
        self._watching: dict[int, tuple[web.Request, web.StreamResponse]] = {}
        self._history: list[tuple[int, str, str, Obj]] = []
        self._floor = 0
        self._version = 100
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._changed: asyncio.Event
        self.port = 0

    # life cycle

    def __enter__(self) -> FakeApi:
        self._thread.start()
        assert self._ready.wait(10), "the fake API server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the fake API server did not stop"

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}"

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._changed = asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls)
        self._loop.run_until_complete(site.start())
        self.port = runner.addresses[0][1]
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(asyncio.sleep(0.05))  # transports close in a later turn
        self._loop.close()

    # what tests do

    def call(self, action: Callable[[], Any]) -> Any:
        """Run something in the server's thread, and wait for it."""

        async def run() -> Any:
            return action()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    def put(self, kind: Kind, obj: Obj) -> Obj:
        """Create or replace an object as somebody else would."""
        return self.call(lambda: copy.deepcopy(self._store(kind, copy.deepcopy(obj))))  # type: ignore[no-any-return]

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """Remove an object as somebody else would."""
        self.call(lambda: self._remove(kind, namespace, name))

    def fetch(self, kind: Kind, namespace: str, name: str) -> Obj:
        """What is stored."""
        return copy.deepcopy(self.objects[kind.plural, namespace, name])

    def forget_history(self) -> None:
        """Make every resourceVersion that was given out too old."""

        def forget() -> None:
            self._version += 1
            self._floor = self._version
            self._history.clear()
            self._wake()

        self.call(forget)

    def utter(self, data: bytes, *, raw: bool = False, end: bool = False) -> None:
        """Say something in every open watch, ``raw`` outside of HTTP's chunks; hang up then."""

        async def utter() -> None:
            for request, response in list(self._watching.values()):
                if raw:
                    assert request.transport is not None
                    request.transport.write(data)
                elif data:
                    await response.write(data)
                if end:
                    assert request.transport is not None
                    request.transport.close()

        asyncio.run_coroutine_threadsafe(utter(), self._loop).result(10)

    def watches(self) -> int:
        """How many watches are open."""
        return len(self._watching)

    def withdraw(self, kind: Kind) -> None:
        """Stop serving a kind; its watches end."""

        def withdraw() -> None:
            self.kinds.remove(kind)
            self._wake()

        self.call(withdraw)

    def serve(self, kind: Kind) -> None:
        """Begin to serve a kind."""
        self.call(lambda: self.kinds.append(kind))

    def fail(self, method: str, pattern: str, status: int, **more: Any) -> Fault:
        """Answer requests whose path with query matches ``pattern`` with an error."""
        fault = Fault(method, pattern, status, **more)
        self.faults.append(fault)
        return fault

    def requests(self, method: str, pattern: str = "") -> list[Seen]:
        """The requests so far whose path matches."""
        return [
            seen
            for seen in list(self.seen)
            if seen.method == method and re.search(pattern, seen.path)
        ]

    # store

    def _store(self, kind: Kind, obj: Obj, *, type_: str = "") -> Obj:
        meta = obj.setdefault("metadata", {})
        key = (kind.plural, meta.get("namespace", ""), meta["name"])
        self._version += 1
        meta["resourceVersion"] = str(self._version)
        meta.setdefault("uid", f"uid-{self._version}")
        obj.setdefault("apiVersion", f"{kind.group}/{kind.version}".lstrip("/"))
        obj.setdefault("kind", kind.kind)
        event = type_ or ("MODIFIED" if key in self.objects else "ADDED")
        self.objects[key] = obj
        self._history.append((self._version, kind.plural, event, copy.deepcopy(obj)))
        self._wake()
        return obj

    def _remove(self, kind: Kind, namespace: str, name: str) -> None:
        obj = self.objects.pop((kind.plural, namespace, name))
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        self._history.append((self._version, kind.plural, "DELETED", obj))
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # requests

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else None
        headers = {key.lower(): value for key, value in request.headers.items()}
        self.seen.append(Seen(request.method, request.path, dict(request.query), headers, body))
        for fault in self.faults:
            if fault.method == request.method and re.search(fault.pattern, request.path_qs):
                if fault.times == 0:
                    continue
                fault.times -= 1
                if fault.status == RESET:
                    assert request.transport is not None
                    request.transport.abort()
                if fault.status == HANG:
                    await asyncio.sleep(600)  # cancelled when the client gives up
                return problem(fault.status, fault.message, headers=fault.headers)
        if self.tokens is not None:
            scheme, _, token = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or token not in self.tokens:
                return problem(401, "Unauthorized")
        return await self._route(request, body)

    async def _route(self, request: web.Request, body: Any) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if path.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            name = "/".join(filter(None, (asked["resource"], asked["subresource"])))
            allowed = (asked["verb"], name) not in self.denied
            return web.json_response({**body, "status": {"allowed": allowed}}, status=201)
        if (found := self._discovery(path)) is not None:
            return web.json_response(found)
        for kind in self.kinds:
            pattern = (
                rf"{kind.root}(?:/namespaces/(?P<ns>[^/]+))?/{kind.plural}"
                r"(?:/(?P<name>[^/]+)(?:/(?P<sub>status))?)?"
            )
            if match := re.fullmatch(pattern, path):
                return await self._resource(kind, match, request, body)
        return problem(404, "the server could not find the requested resource")

    def _discovery(self, path: str) -> Obj | None:
        groups: dict[str, list[str]] = {}
        for kind in self.kinds:
            if kind.group and kind.version not in groups.setdefault(kind.group, []):
                groups[kind.group].append(kind.version)
        documents = [
            {
                "name": group,
                "versions": [{"groupVersion": f"{group}/{v}", "version": v} for v in versions],
                "preferredVersion": {"version": versions[0]},
            }
            for group, versions in groups.items()
        ]
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        if path == "/apis":
            return {"kind": "APIGroupList", "groups": documents}
        for document in documents:
            if path == f"/apis/{document['name']}":
                return {"kind": "APIGroup", **document}
        entries = [entry for kind in self.kinds if kind.root == path for entry in entries_of(kind)]
        return {"kind": "APIResourceList", "resources": entries} if entries else None

    async def _resource(
        self, kind: Kind, match: re.Match[str], request: web.Request, body: Any
    ) -> web.StreamResponse:
        namespace, name, subresource = match["ns"] or "", match["name"], match["sub"]
        if not name:
            if request.query.get("watch"):
                return await self._watch(kind, namespace, request)
            self._lists += 1
            self.most_lists = max(self.most_lists, self._lists)
            try:
                await asyncio.sleep(self.list_seconds)
                return self._list(kind, namespace, request)
            finally:
                self._lists -= 1
        obj = self.objects.get((kind.plural, namespace, name))
        if obj is None or (subresource and not kind.has_status):
            return problem(404, f'{kind.plural} "{name}" not found', "NotFound")
        if request.method == "GET":
            return web.json_response(obj)
        if self.before_patch is not None:
            self.before_patch(obj)
            obj = self.objects.get((kind.plural, namespace, name))
            if obj is None:
                return problem(404, f'{kind.plural} "{name}" not found', "NotFound")
        return self._patch(kind, obj, subresource, request, body)

    def _patch(
        self, kind: Kind, obj: Obj, subresource: str | None, request: web.Request, body: Any
    ) -> web.Response:
        content_type = request.headers["Content-Type"]
        before = copy.deepcopy(obj)
        if content_type == "application/json-patch+json":
            try:
                after = jsonpatch.apply_patch(before, body)
            except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
                return problem(
                    422, "the server rejected our request due to an error in our request", "Invalid"
                )
        elif content_type == "application/merge-patch+json":
            asked = body.get("metadata", {}).get("resourceVersion")
            if asked not in (None, obj["metadata"]["resourceVersion"]):
                return problem(409, "the object has been modified", "Conflict")
            after = merged(before, body)
        else:
            return problem(415, f"content type {content_type}")
        if subresource:
            kind.prune(after["status"])
            after = {**copy.deepcopy(obj), "status": after["status"]}
        if fields := kind.validate(after):
            return problem(422, f"{fields[0]}: Invalid value", "Invalid", fields)
        if after != obj:
            meta = after["metadata"]
            if meta.get("deletionTimestamp") and not meta.get("finalizers"):
                self._remove(kind, meta.get("namespace", ""), meta["name"])
            else:
                after = self._store(kind, after)
        return web.json_response(after)

    def _list(self, kind: Kind, namespace: str, request: web.Request) -> web.Response:
        version, _, start = request.query.get("continue", "").partition("-")
        if version and self.expire_tokens:
            return problem(410, "The provided continue parameter is too old")
        if not version:
            version = str(self._version)
            self._pages[version] = [
                copy.deepcopy(obj)
                for (plural, ns, _), obj in self.objects.items()
                if plural == kind.plural and namespace in ("", ns) and selected(obj, request)
            ]
        first = int(start or 0)
        last = first + int(request.query.get("limit") or 0) or None
        found = self._pages[version]
        meta = {"resourceVersion": version}
        if last is not None and last < len(found):
            meta["continue"] = f"{version}-{last}"
        else:
            self._pages.pop(version)
        return web.json_response(
            {
                "apiVersion": f"{kind.group}/{kind.version}".lstrip("/"),
                "kind": f"{kind.kind}List",
                "metadata": meta,
                "items": [shown(obj, request) for obj in found[first:last]],
            }
        )

    async def _watch(self, kind: Kind, namespace: str, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        self._watching[id(response)] = (request, response)
        try:
            async with asyncio.timeout(float(request.query.get("timeoutSeconds") or 3600)):
                await self._follow(kind, namespace, request, response)
        except TimeoutError:
            pass
        finally:
            del self._watching[id(response)]
        return response

    async def _follow(
        self, kind: Kind, namespace: str, request: web.Request, response: web.StreamResponse
    ) -> None:
        since = int(request.query.get("resourceVersion") or self._version)

        async def send(type_: str, obj: Obj) -> None:
            line = json.dumps({"type": type_, "object": obj})
            await response.write(line.encode() + b"\n")

        while kind in self.kinds:
            if since < self._floor:
                await send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
                break
            changed = self._changed
            for version, plural, type_, obj in list(self._history):
                if version <= since or plural != kind.plural:
                    continue
                if namespace in ("", obj["metadata"].get("namespace", "")) and selected(
                    obj, request
                ):
                    await send(type_, shown(obj, request))
                since = version
            await changed.wait()


def entries_of(kind: Kind) -> list[Obj]:
    """The entries of an APIResourceList for a kind."""
    verbs = ["get", "list", "watch", "patch"]
    entry = {"name": kind.plural, "singularName": kind.kind.lower(), "kind": kind.kind}
    entries: list[Obj] = [{**entry, "namespaced": kind.namespaced, "verbs": verbs}]
    if kind.has_status:
        entries.append({**entries[0], "name": f"{kind.plural}/status"})
    return entries


def shown(obj: Obj, request: web.Request) -> Obj:
    """The object, or its metadata where only that was asked for."""
    if "as=PartialObjectMetadata" not in request.headers.get("Accept", ""):
        return obj
    head = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}
    return {**head, "metadata": obj["metadata"]}


def selected(obj: Obj, request: web.Request) -> bool:
    """Whether an object passes the labelSelector, of which only key=value and key in () work."""
    labels = obj["metadata"].get("labels") or {}
    text = request.query.get("labelSelector", "")
    sets = re.findall(r"([^,\s]+) in \(([^)]*)\)", text)
    pairs = sets or re.findall(r"([^,=]+)=([^,=]+)", text)
    return all(labels.get(key) in values.split(",") for key, values in pairs)


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def problem(
    status: int,
    message: str,
    reason: str = "",
    fields: list[str] | None = None,
    headers: dict[str, str] | None = None,
) -> web.Response:
    """A Status object as an answer."""
    names = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 410: "Expired"}
    content: Obj = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason or names.get(status, ""),
        "code": status,
    }
    if fields:
        content["details"] = {"causes": [{"field": name} for name in fields]}
    return web.json_response(content, status=status, headers=headers)
