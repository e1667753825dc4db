"""A proxy that gives what is created through it an owner, and a client with a run's token."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import urllib3
import yaml

from ansible_operator import children, objects, targets, watch
from ansible_operator.kube import client as kube_client
from ansible_operator.kube.proxy import intercept, mapping, server

Obj = dict[str, Any]
JSON = "application/json"
YAML = "application/yaml"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
OWNER_GVK = objects.GVK("test.example.com", "v1", "Owner")


@dataclass
class Recorder:
    """A listener that keeps what it hears."""

    owned: list[tuple[str, str, children.Tie]] = field(default_factory=list)
    writes: list[children.Write] = field(default_factory=list)

    def owns(self, owner: children.Owner, kind: children.ChildKind, tie: children.Tie) -> None:
        self.owned.append((owner.key.name, str(kind), tie))

    def wrote(self, owner: children.Owner, write: children.Write) -> None:
        self.writes.append(write)

    @property
    def verbs(self) -> list[tuple[str, str, str]]:
        """What was written in the order of it: verb, resource, name."""
        return [(write.verb, str(write.kind), write.name) for write in self.writes]


@dataclass(frozen=True)
class Answer:
    """What the proxy answered."""

    code: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The body as JSON."""
        return json.loads(self.raw)

    @property
    def warnings(self) -> str:
        """The header Warning."""
        return self.headers.get("Warning", "")


class Run:
    """Requests with the token of one run."""

    def __init__(self, kubeconfig: str) -> None:
        content = yaml.safe_load(kubeconfig)
        cluster = content["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._url = cluster["server"]
        self._token = content["users"][0]["user"]["token"]
        self._pool = urllib3.PoolManager(
            ssl_context=ssl.create_default_context(cadata=authority), retries=False, timeout=60.0
        )

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        **headers: str,
    ) -> Answer:
        """Send a request; a ``body`` that is no text or bytes is sent as JSON."""
        data = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
        sent = {"Authorization": f"Bearer {self._token}", "Accept": accept, **headers}
        if data is not None:
            sent["Content-Type"] = content_type
        answer = self._pool.request(method, self._url + path, body=data, headers=sent)
        return Answer(answer.status, answer.headers, answer.data)

    def apply(self, path: str, body: Any, manager: str = "a", **kept: str) -> Answer:
        """Server-side apply."""
        return self.call("PATCH", f"{path}?fieldManager={manager}", body, APPLY, **kept)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()


@dataclass
class Lab:
    """A proxy for one test, and the one who owns what is created through it."""

    proxy: server.Proxy
    heard: Recorder
    client: kube_client.Client
    namespace: str
    runs: contextlib.ExitStack

    def owner(self, name: str = "one", *, namespace: str | None = None, **watched: Any) -> Any:
        """An owner that is not there: it is not asked for, and the collector takes its time."""
        target = targets.Role(Path("/roles/x"))
        entry = replace(watch.Watch(OWNER_GVK, target), **watched)
        home = self.namespace if namespace is None else namespace
        key = objects.ObjectKey(OWNER_GVK, home, name)
        return children.Owner(entry, key, f"{name}-{uuid.uuid4().hex[:6]}", uuid.uuid4().hex)

    def run(self, owner: children.Owner) -> Run:
        """The client of a run on behalf of this owner."""
        kubeconfig = self.runs.enter_context(self.proxy.access(owner))
        return self.runs.enter_context(contextlib.closing(Run(kubeconfig)))

    def path(self, plural: str, name: str = "", root: str = "/api/v1") -> str:
        """The URL path of a collection in the namespace, or of one object."""
        return f"{root}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    def get(self, path: str) -> Obj:
        """An object, past the proxy."""
        return self.client.request("GET", path)


@contextlib.contextmanager
def started(client: kube_client.Client, namespace: str, *, inject: bool = True) -> Iterator[Lab]:
    """A proxy for the length of the block."""
    heard = Recorder()
    look = intercept.Ownership(mapping.Mapper(client), client, heard, inject=inject)
    proxy = server.Proxy(client, port=0, allow_anonymous=False, interceptor=look)
    proxy.start()
    try:
        with contextlib.ExitStack() as runs:
            yield Lab(proxy, heard, client, namespace, runs)
    finally:
        proxy.stop()
        look.close()


def reference(owner: children.Owner) -> Obj:
    """The owner reference as it has to be."""
    return {
        "apiVersion": "test.example.com/v1",
        "kind": "Owner",
        "name": owner.key.name,
        "uid": owner.uid,
    }


def owners(obj: Obj) -> list[Obj]:
    """The owner references of an object."""
    found: list[Obj] = obj["metadata"].get("ownerReferences", [])
    return found


def configmap(name: str, **meta: Any) -> Obj:
    """A ConfigMap to create."""
    metadata = {"name": name, **meta} if name else meta
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}
