"""One HTTP client for the conformance tests, with patience, and the objects that most use."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import urllib3

from ansible_operator.testing import controlplane, credentials

Obj = dict[str, Any]
JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
LIMIT = 60.0


@dataclass(frozen=True)
class Answer:
    """What the server answered. ``body`` is the parsed JSON, ``text`` what it was parsed from."""

    code: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)

    @property
    def warnings(self) -> list[str]:
        """The texts of the Warning headers, without code and quotes."""
        raw = self.headers.get("Warning", "")
        return [part.strip() for part in raw.split("299 - ")[1:]]


class Server:
    """Requests to the API server under test, as its administrator or with another token."""

    def __init__(self, plane: controlplane.ControlPlane, token: str | None = None) -> None:
        self.url = plane.server
        self.token = credentials.token_of(plane.kubeconfig) if token is None else token
        context = ssl.create_default_context(cafile=str(plane.ca_file))
        self._pool = urllib3.PoolManager(ssl_context=context, retries=False, timeout=60.0)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        """Send a request; a ``body`` that is no str or bytes is sent as JSON.

        ``headers`` are further ones. ``query`` becomes the query string (``labelSelector="a=b"``).
        """
        data = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
        answer = self._pool.request(
            method,
            self._target(path, query),
            body=data,
            headers={**self._headers(content_type, accept), **(headers or {})},
        )
        return Answer(answer.status, answer.headers, answer.data.decode())

    def get(self, path: str, **query: Any) -> Answer:
        """GET."""
        return self.call("GET", path, **query)

    def post(self, path: str, body: Any, **query: Any) -> Answer:
        """POST of JSON."""
        return self.call("POST", path, body, **query)

    def put(self, path: str, body: Any, **query: Any) -> Answer:
        """PUT of JSON."""
        return self.call("PUT", path, body, **query)

    def patch(self, path: str, body: Any, *, content_type: str = MERGE, **query: Any) -> Answer:
        """PATCH, a merge patch unless told otherwise."""
        return self.call("PATCH", path, body, content_type=content_type, **query)

    def apply(self, path: str, body: Any, *, manager: str, **query: Any) -> Answer:
        """Server-side apply."""
        return self.patch(path, body, content_type=APPLY, fieldManager=manager, **query)

    def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        """DELETE, with DeleteOptions in the body where given."""
        return self.call("DELETE", path, body, **query)

    def watch(
        self, path: str, *, seconds: int = 5, accept: str = JSON, **query: Any
    ) -> Generator[Obj, None, None]:
        """The events of a watch, until the server ends it after ``seconds``."""
        target = self._target(path, {"watch": "true", "timeoutSeconds": seconds, **query})
        answer = self._pool.request(
            "GET", target, headers=self._headers(JSON, accept), preload_content=False
        )
        rest = b""
        try:
            for chunk in answer.stream(None):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (json.loads(line) for line in lines if line)
        finally:
            answer.close()

    def until(self, path: str, holds: Callable[[Obj], Any], *, seconds: float = LIMIT) -> Obj:
        """GET until ``holds`` is true of the answer's body; the failure shows the last one."""
        deadline = time.monotonic() + seconds
        while True:
            answer = self.get(path)
            if answer.code == 200 and holds(answer.body):
                found: Obj = answer.body
                return found
            assert time.monotonic() < deadline, f"GET {path} did not get there: {answer.text}"
            time.sleep(0.05)

    def until_gone(self, path: str, *, seconds: float = LIMIT) -> None:
        """GET until the answer is 404."""
        deadline = time.monotonic() + seconds
        while (answer := self.get(path)).code != 404:
            assert time.monotonic() < deadline, f"GET {path} is still there: {answer.text}"
            time.sleep(0.05)

    def _target(self, path: str, query: Mapping[str, Any]) -> str:
        given = {key: value for key, value in query.items() if value is not None}
        joint = "&" if "?" in path else "?"
        return self.url + path + (joint + urlencode(given, doseq=True) if given else "")

    def _headers(self, content_type: str, accept: str) -> dict[str, str]:
        headers = {"Content-Type": content_type, "Accept": accept}
        return headers | ({"Authorization": f"Bearer {self.token}"} if self.token else {})


def configmaps(namespace: str, name: str = "") -> str:
    """The path of the config maps of a namespace, or of one of them."""
    return f"/api/v1/namespaces/{namespace}/configmaps" + (f"/{name}" if name else "")


def configmap(name: str, data: Mapping[str, str] | None = None, **meta: Any) -> Obj:
    """A config map; ``meta`` are further fields of its metadata."""
    metadata = {"name": name, **meta}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data or {})}


ANYTHING: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def crd(group: str, schema: Obj | None = None, **version: Any) -> Obj:
    """A CRD of the namespaced kind Thing in a group, with the one version v1.

    ``version`` holds further fields of the version (``subresources={"status": {}}``).
    """
    v1 = {"name": "v1", "served": True, "storage": True} | version
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [v1 | {"schema": {"openAPIV3Schema": schema or ANYTHING}}],
        },
    }


def established(crd: Obj) -> bool:
    """Whether a CRD's kind is served."""
    listed = crd.get("status", {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in listed)
