"""Finalizers that this operator has put on objects which it looks after no longer.

Such an object cannot be deleted: it waits for a clean-up that nobody does. Looked at are the kinds
of the API groups in watches.yaml: of a kind that is not listed (any more) every finalizer of ours
is an orphan, of a watched kind every one but that of its entry. Groups without a dot in the name,
which are the API server's own, are left out.

A finalizer is ours if ``metadata.managedFields`` says that it was written by ``ansible-operator``,
which is also what the incumbent is called there. Of objects that were made without a single field
beside their name the API server keeps no managedFields; they are not found.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import structlog

from ansible_operator import errors, objects, watches
from ansible_operator.kube import access, discovery, patches
from ansible_operator.kube import client as kube_client

MANAGER = "ansible-operator"
PAGE = 500
ATTEMPTS = 3

_METADATA = f"{kube_client.JSON};as={{}};g=meta.k8s.io;v=v1,{kube_client.JSON}"

log = structlog.get_logger("orphans")


class Asks(Protocol):
    """What this needs of :class:`client.Client`."""

    @property
    def server(self) -> str:
        """The URL of the API server."""
        ...

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = kube_client.JSON,
        accept: str = kube_client.JSON,
    ) -> objects.Obj:
        """As :meth:`client.Client.request`."""
        ...


@dataclass(slots=True)
class Orphaned:
    """The objects of one kind that hold one such finalizer; ``deleted`` are those that wait.

    ``example`` is one that is being deleted, if there is any.
    """

    resource: discovery.Resource
    finalizer: str
    example: objects.Obj
    count: int = 0
    deleted: list[objects.Obj] = field(default_factory=list)

    def add(self, obj: objects.Obj) -> None:
        """Count one more object."""
        self.count += 1
        if objects.is_deleted(obj):
            if not self.deleted:
                self.example = obj
            self.deleted.append(obj)

    def command(self) -> str:
        """What takes the finalizer from the example."""
        obj = self.example
        where = f" -n {objects.namespace(obj)}" if objects.namespace(obj) else ""
        path = f"/metadata/finalizers/{objects.finalizers(obj).index(self.finalizer)}"
        patch = [
            {"op": "test", "path": path, "value": self.finalizer},
            {"op": "remove", "path": path},
        ]
        name = objects.name(obj)
        return f"kubectl patch {self.resource} {name}{where} --type=json -p '{json.dumps(patch)}'"


class Orphans:
    """Looks for such objects once; ``namespaces`` as in the settings, empty for all.

    With ``release`` the finalizers of those that are being deleted are removed. That is for
    clusters where nobody else looks after kinds of these groups under the name of this operator.
    """

    def __init__(
        self,
        client: Asks,
        watched: Sequence[watches.Watch],
        namespaces: Sequence[str],
        *,
        release: bool = False,
    ) -> None:
        self._client = client
        self._watched = {(watch.gvk.group, watch.gvk.kind): watch for watch in watched}
        self._namespaces = namespaces
        self._release = release

    def check(self) -> list[Orphaned]:
        """Look, warn once per kind and finalizer, release if told to; never raises a KubeError."""
        found: list[Orphaned] = []
        for group in sorted({group for group, _ in self._watched if "." in group}):
            for resource in self._resources(group):
                found += self._look(resource)
        for orphaned in found:
            _warn(orphaned)
            if self._release:
                for obj in orphaned.deleted:
                    self._let_go(orphaned, obj)
        return found

    def _resources(self, group: str) -> Iterator[discovery.Resource]:
        """The kinds of a group, each in the version that the server prefers of those it has."""
        seen: set[str] = set()
        with _quietly("kinds of a group are not looked at for finalizers", group=group):
            for version in discovery.versions(self._client, group):
                answer = discovery.resources(self._client, objects.GVK(group, version, ""))
                for entry in answer.get("resources") or ():
                    kind = str(entry.get("kind"))
                    if kind not in seen and "list" in (entry.get("verbs") or ()):
                        seen.add(kind)
                        found = discovery.find(answer, objects.GVK(group, version, kind))
                        if found is not None:
                            yield found

    def _look(self, resource: discovery.Resource) -> list[Orphaned]:
        watch = self._watched.get((resource.gvk.group, resource.gvk.kind))
        ours = watch.finalizer.name if watch is not None and watch.finalizer else ""
        found: dict[str, Orphaned] = {}
        for namespace in (resource.namespaced and self._namespaces) or ("",):
            with _quietly("a kind is not looked at for finalizers", kind=str(resource.gvk)):
                for obj in self._list(resource, namespace):
                    for name in put_by_us(obj):
                        if name != ours:
                            new = Orphaned(resource, name, obj)
                            found.setdefault(name, new).add(obj)
        return list(found.values())

    def _list(self, resource: discovery.Resource, namespace: str) -> Iterator[objects.Obj]:
        path, token = discovery.path(resource, namespace), ""
        while True:
            query = {"limit": str(PAGE), **({"continue": token} if token else {})}
            accept = _METADATA.format("PartialObjectMetadataList")
            answer = self._client.request("GET", path, query=query, accept=accept)
            yield from answer.get("items") or ()
            token = str(objects.metadata(answer).get("continue") or "")
            if not token:
                return

    def _let_go(self, orphaned: Orphaned, obj: objects.Obj) -> None:
        """Remove the finalizer of one object that is being deleted."""
        resource, namespace = orphaned.resource, objects.namespace(obj)
        said = {"object": f"{namespace}/{objects.name(obj)}".lstrip("/"), "kind": str(resource.gvk)}
        try:
            if self._remove(orphaned, obj):
                log.warning(
                    "finalizer removed without a clean-up", finalizer=orphaned.finalizer, **said
                )
        except errors.ForbiddenError as error:
            rule = f"{access.grant(namespace)}: {access.rule(resource, ['patch'])}"
            log.warning("finalizer cannot be removed", error=str(error), hint=rule, **said)
        except errors.KubeError as error:
            log.warning("finalizer cannot be removed", error=str(error), **said)

    def _remove(self, orphaned: Orphaned, obj: objects.Obj) -> bool:
        """Whether it was removed; an object that has changed is looked at again, gone is fine."""
        path = discovery.path(orphaned.resource, objects.namespace(obj), objects.name(obj))
        uid = objects.uid(obj)
        for _ in range(ATTEMPTS):
            if objects.uid(obj) != uid or orphaned.finalizer not in objects.finalizers(obj):
                return False
            patch = patches.remove_finalizer(obj, orphaned.finalizer)
            try:
                self._client.request("PATCH", path, body=patch, content_type=kube_client.JSON_PATCH)
            except errors.NotFoundError:
                return False
            except (errors.ConflictError, errors.InvalidError) as error:
                # The server says Invalid where the test of a JSON patch does not hold.
                refused: errors.KubeError = error
                obj = self._client.request("GET", path)
            else:
                return True
        raise refused


def put_by_us(obj: Mapping[str, Any]) -> list[str]:
    """The finalizers on an object that were written by an Ansible operator."""
    ours: set[str] = set()
    for entry in objects.metadata(obj).get("managedFields") or ():
        if entry.get("manager") == MANAGER and not entry.get("subresource"):
            fields = entry.get("fieldsV1") or {}
            ours |= set(_members((fields.get("f:metadata") or {}).get("f:finalizers") or {}))
    return [name for name in objects.finalizers(obj) if name in ours]


def _members(fields: Mapping[str, Any]) -> Iterator[str]:
    """The members of a set out of managed fields, which are keys such as ``v:"name"``."""
    for key in fields:
        if key.startswith("v:"):
            with contextlib.suppress(ValueError):
                yield str(json.loads(key[2:]))


def _warn(orphaned: Orphaned) -> None:
    log.warning(
        "objects hold a finalizer of this operator, but nothing in watches.yaml looks after it",
        kind=str(orphaned.resource.gvk),
        finalizer=orphaned.finalizer,
        objects=orphaned.count,
        being_deleted=len(orphaned.deleted),
        example=f"{objects.namespace(orphaned.example)}/{objects.name(orphaned.example)}".lstrip(
            "/"
        ),
        command=orphaned.command(),
        hint="unless another operator does their clean-up, list the kind in watches.yaml again, "
        "release the objects with the command, or start once with --release-orphaned-finalizers",
    )


@contextlib.contextmanager
def _quietly(event: str, **more: str) -> Iterator[None]:
    """What may not be looked at, or cannot be just now, is no concern of the user."""
    try:
        yield
    except errors.KubeError as error:
        log.debug(event, error=str(error), **more)
