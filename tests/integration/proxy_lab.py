"""What tests of the API proxy need: API servers made by hand, a proxy before them, an owner."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from ansible_operator import children, objects, watches
from ansible_operator.kube import client
from ansible_operator.kube.proxy import interceptor, server

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Raw = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

UPSTREAM = "upstream"
"""The token that the server by hand knows the operator by."""


def owner(name: str = "one") -> children.Owner:
    """An owner of a kind that no server knows."""
    gvk = objects.GVK("test.example.com", "v1", "Example")
    watched = watches.Watch(gvk=gvk, target=watches.Playbook(Path("/p.yml")))
    return children.Owner(watched, objects.ObjectKey(gvk, "default", name), f"uid-{name}", "job-1")


class Passing:
    """An interceptor that has its plan told by the test; it remembers what it was asked."""

    def __init__(self, plan: interceptor.Plan = interceptor.PASS) -> None:
        self.answer = plan
        self.seen: list[tuple[interceptor.Request, Mapping[str, str]]] = []

    async def plan(
        self, owner: children.Owner, request: interceptor.Request, headers: Mapping[str, str]
    ) -> interceptor.Plan:
        self.seen.append((request, headers))
        return self.answer


class Lab:
    """Servers in a thread of their own, for the length of the block."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._ends: list[Callable[[], Awaitable[Any]]] = []

    def __enter__(self) -> Lab:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._loop.close()

    def run(self, work: Awaitable[Any]) -> Any:
        """Do something in the servers' thread, and wait for it."""

        async def wrapped() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(wrapped(), self._loop).result(60)

    def http(self, handler: Handler, tls: ssl.SSLContext | None = None) -> str:
        """The URL of a server that answers with what ``handler`` makes."""

        async def start() -> str:
            served = web.Server(
                handler,
                handler_cancellation=True,
                max_line_size=2 << 20,
                max_field_size=2 << 20,
                max_headers=2000,
                auto_decompress=False,
                access_log=None,
            )
            listening = await asyncio.get_running_loop().create_server(
                served, "127.0.0.1", 0, ssl=tls
            )

            async def stop() -> None:
                listening.close()
                for connection in served.connections:
                    connection.force_close()
                await served.shutdown(0.1)

            self._ends.append(stop)
            scheme = "https" if tls else "http"
            return f"{scheme}://127.0.0.1:{listening.sockets[0].getsockname()[1]}"

        return str(self.run(start()))

    def raw(self, handler: Raw) -> str:
        """The URL of a server that gives ``handler`` the bytes of each connection."""
        working: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            working.add(task)
            try:
                with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                    await handler(reader, writer)
            finally:
                working.discard(task)
                writer.close()

        async def start() -> str:
            listening = await asyncio.start_server(serve, "127.0.0.1", 0)

            async def stop() -> None:
                listening.close()
                for task in list(working):
                    task.cancel()
                await asyncio.gather(*working, return_exceptions=True)
                await asyncio.sleep(0.01)

            self._ends.append(stop)
            return f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"

        return str(self.run(start()))

    async def _end(self) -> None:
        for end in self._ends:
            await end()
        await asyncio.sleep(0.01)  # transports close in a later turn


def kubeconfig(path: Path, url: str, *, token: str = UPSTREAM, **cluster: str) -> Path:
    """Write a kubeconfig with a token."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "x", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    path.write_text(json.dumps(content))
    return path


class Proxied:
    """A proxy, the token of a live run, and plain HTTP connections with it."""

    def __init__(self, proxy: server.Proxy, text: str) -> None:
        self.proxy = proxy
        self.kubeconfig = text
        self.token = token_of(text)
        self.port = int(proxy.url.rpartition(":")[2])

    def connect(self, timeout: float = 30) -> http.client.HTTPConnection:
        """A new connection; the caller closes it."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(
        self, method: str, target: str, body: Any = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """One request with the run's token: status, headers and body of its answer."""
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, target, body, {**self.headers, **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def token_of(text: str) -> str:
    """The token in a kubeconfig."""
    return str(yaml.safe_load(text)["users"][0]["user"]["token"])


def authority(text: str) -> str:
    """The certificate authority in a kubeconfig."""
    data = yaml.safe_load(text)["clusters"][0]["cluster"]["certificate-authority-data"]
    return base64.b64decode(data).decode()


@contextlib.contextmanager
def proxied(
    config: Path,
    look: interceptor.Interceptor | None = None,
    *,
    allow_anonymous: bool = False,
    port: int = 0,
) -> Iterator[Proxied]:
    """A proxy with the credentials of a kubeconfig, and a run that lasts as long as the block."""
    connection = client.Client.load({"KUBECONFIG": str(config)})
    proxy = server.Proxy(
        connection, port=port, allow_anonymous=allow_anonymous, interceptor=look or Passing()
    )
    proxy.start()
    try:
        with proxy.access(owner()) as text:
            yield Proxied(proxy, text)
    finally:
        proxy.stop()
        connection.close()
