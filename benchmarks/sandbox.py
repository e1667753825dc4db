#!/usr/bin/env python3
"""How fast and how large the sandbox is: boot, creates, pages, watch latency, memory.

Usage: .venv/bin/python benchmarks/sandbox.py [--objects 10000] [--clients 4]

It starts a sandbox of its own (HTTPS, no RBAC) and prints one line per figure, with the aim where
there is one. Times are of this machine and this moment; the ratios are to compare with: the boot to
the start of an empty Python that imports aiohttp, a create to a GET of /version on the same
connection, which is what the network side alone costs.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from ansible_operator.sandbox.front import process
from ansible_operator.testing import credentials

PATH = "/api/v1/namespaces/default/configmaps"
PAYLOAD = "x" * 400


class Connection:
    """Requests on one connection that stays open."""

    def __init__(self, server: str, ca: str, token: str) -> None:
        context = ssl.create_default_context(cafile=ca)
        self._connection = http.client.HTTPSConnection(urlsplit(server).netloc, context=context)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request; the answer must be one of 2xx."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        assert answer.status < 300, text
        return text

    def stream(self, path: str) -> http.client.HTTPResponse:
        """Begin a watch."""
        self._connection.request("GET", path, None, self._headers)
        return self._connection.getresponse()


def configmap(name: str) -> dict[str, object]:
    """A config map of about half a kilobyte."""
    meta = {"name": name, "labels": {"app": "benchmark"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"text": PAYLOAD}}


def create(access: tuple[str, str, str], first: int, count: int) -> None:
    """What one client does: create ``count`` objects, one after another."""
    connection = Connection(*access)
    for number in range(first, first + count):
        connection.ask("POST", PATH, configmap(f"c{number:06}"))


def timed(action: Callable[[], object]) -> float:
    """Seconds that something takes."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def boot() -> tuple[float, float]:
    """Median seconds until a sandbox is ready, and until an empty program has imported aiohttp.

    The first of each is not counted: it writes the byte code, which an installed package has.
    """
    ready, bare = [], []
    for _ in range(6):
        with tempfile.TemporaryDirectory() as scratch:
            begun = time.perf_counter()
            with process.start([], Path(scratch)):
                ready.append(time.perf_counter() - begun)
        empty = [sys.executable, "-c", "import aiohttp.web"]
        bare.append(timed(lambda: subprocess.run(empty, check=True)))  # noqa: B023
    return statistics.median(ready[1:]), statistics.median(bare[1:])


def creates(access: tuple[str, str, str], objects: int, clients: int) -> float:
    """Creates a second, of all clients together."""
    share = objects // clients
    start = multiprocessing.get_context("spawn").Process
    workers = [start(target=create, args=(access, n * share, share)) for n in range(clients)]
    # Starting the interpreters is not what is measured: the first object marks the beginning.
    for worker in workers:
        worker.start()
    connection = Connection(*access)
    while not json.loads(connection.ask("GET", f"{PATH}?limit=1&labelSelector=app"))["items"]:
        time.sleep(0.01)
    begun = time.perf_counter()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    return share * clients / (time.perf_counter() - begun)


def pages(connection: Connection) -> tuple[int, float]:
    """How many objects come in pages of 500, and in how many seconds."""
    begun, seen, go_on = time.perf_counter(), 0, ""
    while True:
        page = json.loads(connection.ask("GET", f"{PATH}?limit=500&continue={go_on}"))
        seen += len(page["items"])
        go_on = page["metadata"].get("continue", "")
        if not go_on:
            return seen, time.perf_counter() - begun


def latencies(access: tuple[str, str, str], count: int = 200) -> list[float]:
    """Seconds from the beginning of a create to its event at another client."""
    writer, watcher = Connection(*access), Connection(*access)
    version = json.loads(writer.ask("GET", f"{PATH}?limit=1"))["metadata"]["resourceVersion"]
    stream = watcher.stream(f"{PATH}?watch=1&resourceVersion={version}")
    arrived: dict[str, float] = {}

    def read() -> None:
        while len(arrived) < count:
            event = json.loads(stream.readline())
            arrived[event["object"]["metadata"]["name"]] = time.perf_counter()

    reader = threading.Thread(target=read)
    reader.start()
    sent = {}
    for number in range(count):
        name = f"w{number:06}"
        sent[name] = time.perf_counter()
        writer.ask("POST", PATH, configmap(name))
    reader.join()
    return [arrived[name] - sent[name] for name in sent]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PYTHONPYCACHEPREFIX"] = cache
        ready, bare = boot()
        del os.environ["PYTHONPYCACHEPREFIX"]
    print(
        f"boot            {ready:.2f} s (aim: under 1 s), {ready / bare:.1f} times import aiohttp"
    )
    with tempfile.TemporaryDirectory() as scratch, process.start([], Path(scratch)) as running:
        token = credentials.token_of(running.kubeconfig)
        access = (running.server, str(running.ca_file), token)
        connection = Connection(*access)
        sandbox = psutil.Process(running.pid)
        empty = sandbox.memory_info().rss / 2**20
        asked = statistics.median(
            timed(lambda: connection.ask("GET", "/version")) for _ in range(300)
        )
        made = statistics.median(
            timed(lambda: connection.ask("POST", PATH, configmap(f"s{time.monotonic_ns()}")))
            for _ in range(300)
        )
        print(f"one create      {made * 1e3:.2f} ms, {made / asked:.1f} times GET /version")
        rate = creates(access, given.objects, given.clients)
        print(f"creates         {rate:.0f} a second from {given.clients} clients (aim: 1000)")
        seen, seconds = pages(connection)
        print(f"list in pages   {seen} objects in {seconds:.2f} s")
        waits = latencies(access)
        worst = max(waits) * 1e3
        print(
            f"watch           {statistics.median(waits) * 1e3:.1f} ms from create to event, "
            f"at most {worst:.1f} ms (aim: 50)"
        )
        full = sandbox.memory_info().rss / 2**20
        print(f"memory          {full:.0f} MB with them, {empty:.0f} MB without (aim: under 400)")


if __name__ == "__main__":
    main()
