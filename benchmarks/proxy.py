#!/usr/bin/env python3
"""What the API proxy costs: time beside direct access, memory while a large log passes.

Usage: .venv/bin/python benchmarks/proxy.py [--control-plane sandbox|real] [--kubeconfig FILE]

Direct and through the proxy alternate, so that a busy machine disturbs both alike; the figures are
medians, and the ratio of the two is what counts. It ends with 1 when a ratio is above the aim. The
proxy runs as in the operator: a thread beside others, with TLS on both sides.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import http.client
import json
import logging
import os
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import structlog
import yaml

from ansible_operator import children, objects, watches
from ansible_operator.kube import client, connection
from ansible_operator.kube import kubeconfig as kubeconfigs
from ansible_operator.kube.proxy import interceptor, server
from ansible_operator.sandbox.front import process as sandboxes
from ansible_operator.testing import cluster, supervisor

AIM = 1.3
OBJECTS = 5000
LOG = 100 << 20
PART = b"a line of a log\n" * 4096
NAMESPACE = "proxy-benchmark"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
COLLECTIONS = Path(__file__).resolve().parents[1] / ".collections"


class Passing:
    """Lets everything through, as for requests that create nothing."""

    async def plan(self, *_: object) -> interceptor.Plan:
        """Nothing is to be done."""
        return interceptor.PASS


def owner() -> children.Owner:
    """An owner; nothing looks at it."""
    gvk = objects.GVK("test.example.com", "v1", "Example")
    watched = watches.Watch(gvk=gvk, target=watches.Playbook(Path("/p.yml")))
    return children.Owner(watched, objects.ObjectKey(gvk, "default", "one"), "uid", "job")


@contextlib.contextmanager
def plane(kind: str, kubeconfig: Path | None, scratch: Path) -> Iterator[Path]:
    """The kubeconfig of a control plane."""
    if kubeconfig is not None:
        yield kubeconfig
    elif kind == "sandbox":
        with sandboxes.start([], scratch) as running:
            yield running.kubeconfig
    else:
        name = f"benchmark-{os.getpid()}"
        order = supervisor.Order(name, owners=(os.getpid(),))
        cluster.start(order, os.environ, lambda line: print(line, file=sys.stderr))
        try:
            state = next(found for found in cluster.list_all() if found.name == name)
            yield Path(cluster.as_json(state)["kubeconfig"])
        finally:
            cluster.stop(name)


@contextlib.contextmanager
def proxied(kubeconfig: Path, scratch: Path) -> Iterator[Path]:
    """A kubeconfig that leads there through a proxy in this process."""
    upstream = client.Client.load({"KUBECONFIG": str(kubeconfig)})
    proxy = server.Proxy(upstream, port=0, allow_anonymous=False, interceptor=Passing())
    proxy.start()
    try:
        with proxy.access(owner()) as text:
            path = scratch / "proxied"
            path.write_text(text)
            yield path
    finally:
        proxy.stop()
        upstream.close()


class Line:
    """Requests on one connection that stays open, to the server of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        source = connection.Kubeconfig(str(kubeconfig))
        facts = connection.facts(connection.load(source, {}))
        scheme, _, address = facts.server.partition("://")
        self._headers = {"Authorization": facts.authorization, "Content-Type": "application/json"}
        context = ssl.create_default_context(cafile=facts.ca_file)
        if scheme == "https":
            self._line: http.client.HTTPConnection = http.client.HTTPSConnection(
                address, context=context
            )
        else:
            self._line = http.client.HTTPConnection(address)

    def begin(self, method: str, path: str, body: object = None) -> http.client.HTTPResponse:
        """Send a request; the answer is yet to be read."""
        data = None if body is None else json.dumps(body)
        self._line.request(method, path, data, self._headers)
        return self._line.getresponse()

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request and read its answer."""
        return self.begin(method, path, body).read()


def fill(line: Line) -> None:
    """A namespace with as many config maps as are listed, half a kilobyte each."""
    meta = {"name": NAMESPACE}
    line.ask("POST", "/api/v1/namespaces", {"metadata": meta})
    for number in range(OBJECTS):
        body: dict[str, Any] = {"metadata": {"name": f"c{number:05}"}, "data": {"text": "x" * 400}}
        line.ask("POST", PATH, body)


def listed(line: Line) -> float:
    """Seconds to list all of them, the reading of the JSON included, as every client does."""
    begun = time.perf_counter()
    found = json.loads(line.ask("GET", PATH))["items"]
    took = time.perf_counter() - begun
    assert len(found) >= OBJECTS
    return took


def list_on_demand(*paths: Path) -> int:
    """List for each number that is read: through the kubeconfig of that number."""
    lines = [Line(path) for path in paths]
    gc.disable()  # else it runs in every second list, and always in those of one way
    for number in sys.stdin:
        print(listed(lines[int(number)]), flush=True)
        gc.collect()
    return 0


@contextlib.contextmanager
def lister(*paths: Path) -> Iterator[Callable[[int], float]]:
    """A client in a process of its own, as clients of the proxy are."""
    command = [sys.executable, __file__, "--list", *map(str, paths)]
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as listing:
        assert listing.stdin is not None
        assert listing.stdout is not None
        into, out = listing.stdin, listing.stdout

        def ask(number: int) -> float:
            print(number, file=into, flush=True)
            return float(out.readline())

        yield ask
        into.close()


def module(kubeconfig: Path, scratch: Path) -> float:
    """Seconds of one k8s_info: the module's file in a process of its own, as Ansible runs it."""
    asked = {"api_version": "v1", "kind": "ConfigMap", "namespace": "default"}
    arguments = scratch / f"{kubeconfig.name}.json"
    content = {"ANSIBLE_MODULE_ARGS": {**asked, "kubeconfig": str(kubeconfig)}}
    arguments.write_text(json.dumps(content))
    modules = COLLECTIONS / "ansible_collections/kubernetes/core/plugins/modules"
    # Where the module keeps what it has discovered, by the URL of the server.
    env = {**os.environ, "PYTHONPATH": str(COLLECTIONS), "TMPDIR": str(scratch)}
    command = [sys.executable, str(modules / "k8s_info.py"), str(arguments)]
    begun = time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    took = time.perf_counter() - begun
    assert '"resources"' in done.stdout, done.stdout + done.stderr
    return took


def alternating(
    times: int, direct: Callable[[], float], proxied: Callable[[], float]
) -> tuple[float, float]:
    """Medians of both, each the first in turn; a first round warms up and is not counted."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(times + 1):
        ways = [(0, direct), (1, proxied)]
        for way, measure in ways if number % 2 else reversed(ways):
            took = measure()
            if number:
                found[way].append(took)
    return statistics.median(found[0]), statistics.median(found[1])


def report(what: str, direct: float, proxied: float) -> bool:
    """One line; whether the aim is met."""
    ratio = proxied / direct
    print(
        f"{what:<24} {ratio:.2f}x  (direct {direct * 1000:.0f} ms, proxy {proxied * 1000:.0f} ms,"
        f" at most {AIM}x)"
    )
    return ratio <= AIM


def serve_log() -> None:
    """A server that answers everything with 100 MB in chunks, until its input ends."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        while True:
            line, _ = listening.accept()
            with line:
                while b"\r\n\r\n" not in line.recv(65536):
                    pass
                head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked"
                line.sendall(head.encode() + b"\r\n\r\n")
                for _ in range(LOG // len(PART)):
                    line.sendall(f"{len(PART):x}\r\n".encode() + PART + b"\r\n")
                line.sendall(b"0\r\n\r\n")


def stream(scratch: Path) -> tuple[float, float]:
    """MB by which this process grows at most while a log passes, and MB a second."""
    command = [sys.executable, __file__, "--serve-log"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as serving:  # type: ignore[call-overload]
        config = scratch / "log"
        server_url = f"http://127.0.0.1:{serving.stdout.readline().strip()}"
        config.write_text(
            yaml.safe_dump(kubeconfigs.document({"server": server_url}, {"token": "x"}))
        )
        with proxied(config, scratch) as through:
            line = Line(through)
            before = psutil.Process().memory_info().rss
            most, size, begun = before, 0, time.perf_counter()
            answer = line.begin("GET", "/api/v1/namespaces/default/pods/p/log?follow=true")
            while part := answer.read(1 << 16):
                size += len(part)
                most = max(most, psutil.Process().memory_info().rss)
            took = time.perf_counter() - begun
        serving.communicate()
    assert size == LOG // len(PART) * len(PART)
    return (most - before) / 1e6, size / 1e6 / took


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--control-plane", choices=("sandbox", "real"), default="sandbox")
    parser.add_argument("--kubeconfig", type=Path, help="a control plane that is there already")
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--list", nargs="+", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--serve-log", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_log:
        serve_log()
    if options.list:
        return list_on_demand(*options.list)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        direct = stack.enter_context(plane(options.control_plane, options.kubeconfig, scratch))
        through = stack.enter_context(proxied(direct, scratch))
        namespace = f"/api/v1/namespaces/{NAMESPACE}"
        stack.callback(lambda: Line(direct).ask("DELETE", namespace))
        fill(Line(direct))
        ask = stack.enter_context(lister(direct, through))
        met = [
            report(
                "k8s_info",
                *alternating(
                    options.times,
                    lambda: module(direct, scratch),
                    lambda: module(through, scratch),
                ),
            ),
            report(
                f"list {OBJECTS} ConfigMaps",
                *alternating(options.times, lambda: ask(0), lambda: ask(1)),
            ),
        ]
        grown, rate = stream(scratch)
        print(f"{'100 MB of log':<24} memory grew by {grown:.1f} MB ({rate:.0f} MB/s)")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
