"""An API server that says what a test tells it to say, and remembers what it was asked."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ansible_operator.kube import client as kube_client

JSON = "application/json"


@dataclass(frozen=True)
class Said:
    """One answer; ``body`` that is no bytes is sent as JSON."""

    code: int
    body: Any
    content_type: str = JSON

    @property
    def raw(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class CannedApi:
    """The server, in threads of its own. Answers to the same request are used up in order.

    The last one is said again and again; what nobody has set is 404.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._said: dict[tuple[str, str], list[Said]] = {}
        handler = type("Handler", (_Handler,), {"api": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> CannedApi:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def say(self, method: str, path: str, *said: Said) -> None:
        """What to answer to a method and a path without query."""
        self._said[method, path] = list(said)

    def serve(self, root: str, *resources: Mapping[str, Any]) -> None:
        """Answer discovery of one version; resources without verbs have all of them."""
        verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
        entries = [{"verbs": verbs, **resource} for resource in resources]
        self.say("GET", root, Said(200, {"kind": "APIResourceList", "resources": entries}))

    def answer(self, asked: Asked) -> Said:
        self.asked.append(asked)
        said = self._said.get((asked.method, asked.path))
        if not said:
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}
            return Said(404, {**status, "reason": "NotFound", "message": "not found"})
        return said.pop(0) if len(said) > 1 else said[0]

    def requests(self, method: str) -> list[Asked]:
        """The requests of one method so far."""
        return [asked for asked in self.asked if asked.method == method]

    def client(self, directory: Path) -> kube_client.Client:
        """A client of this server; its kubeconfig is written to the directory."""
        url = f"http://127.0.0.1:{self._server.server_address[1]}"
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        path = directory / "kubeconfig"
        path.write_text(yaml.safe_dump(content))
        return kube_client.Client.load({"KUBECONFIG": str(path)})


def status(code: int, reason: str, message: str) -> Said:
    """An answer that is an error of the API server."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return Said(code, {**body, "reason": reason, "message": message})


class _Handler(http.server.BaseHTTPRequestHandler):
    api: CannedApi
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {key.lower(): value for key, value in self.headers.items()}
        path = self.path.partition("?")[0]
        said = self.api.answer(Asked(self.command, path, headers, raw))
        self.send_response(said.code)
        self.send_header("Content-Type", said.content_type)
        self.send_header("Content-Length", str(len(said.raw)))
        self.end_headers()
        self.wfile.write(said.raw)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
