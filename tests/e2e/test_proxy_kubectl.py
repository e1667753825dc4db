"""kubectl through the proxy does what it does without, on pods that kwok answers for."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import filecmp
import http.client
import os
import re
import socketserver
import ssl
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import api
import pytest
import yaml

from ansible_operator import children, objects, watches
from ansible_operator.kube import client
from ansible_operator.kube.proxy import interceptor, server
from ansible_operator.testing import controlplane

pytestmark = [pytest.mark.real, pytest.mark.kubectl, pytest.mark.case("K2")]

LIMIT = 60.0
"""Seconds until a command that should have ended is given up."""

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved"


class Passing:
    """Lets everything through."""

    async def plan(self, *_: object) -> interceptor.Plan:
        return interceptor.PASS


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


@dataclasses.dataclass(frozen=True)
class Ways:
    """kubectl by two ways to the same cluster."""

    kubectl: Path
    direct: Path
    proxied: Path
    namespace: str
    scratch: Path

    def command(self, config: Path, *arguments: str) -> list[str]:
        """A command line."""
        cache = f"--cache-dir={self.scratch / 'cache'}"
        return [
            str(self.kubectl),
            f"--kubeconfig={config}",
            cache,
            "-n",
            self.namespace,
            *arguments,
        ]

    def run(self, config: Path, *arguments: str, text: str = "") -> Outcome:
        """Run to the end."""
        done = subprocess.run(
            self.command(config, *arguments),
            input=text,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env={"PATH": os.defpath, "HOME": str(self.scratch)},
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def both(self, *arguments: str, text: str = "") -> Outcome:
        """The same command by both ways must say the same and end the same."""
        direct, proxied = (
            self.run(config, *arguments, text=text) for config in (self.direct, self.proxied)
        )
        assert proxied == direct
        return proxied

    @contextlib.contextmanager
    def started(self, config: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """Run until the end of the block. Some of them end by no milder signal in each shell."""
        with subprocess.Popen(
            self.command(config, *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": os.defpath, "HOME": str(self.scratch)},
        ) as process:
            giving_up = threading.Timer(LIMIT, process.kill)
            giving_up.start()
            try:
                yield process
            finally:
                giving_up.cancel()
                process.kill()
                process.wait(LIMIT)


@pytest.fixture(scope="module")
def proxy(control_plane: controlplane.ControlPlane) -> Iterator[server.Proxy]:
    """A proxy with the administrator's rights."""
    connection = client.Client.load({"KUBECONFIG": str(control_plane.kubeconfig)})
    running = server.Proxy(connection, port=0, allow_anonymous=False, interceptor=Passing())
    running.start()
    yield running
    running.stop()
    connection.close()


def owner(name: str) -> children.Owner:
    """An owner; nothing looks at it."""
    gvk = objects.GVK("test.example.com", "v1", "Example")
    watched = watches.Watch(gvk=gvk, target=watches.Playbook(Path("/p.yml")))
    return children.Owner(watched, objects.ObjectKey(gvk, "default", name), "uid", "job")


@pytest.fixture(scope="module")
def ways(
    control_plane: controlplane.ControlPlane,
    proxy: server.Proxy,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ways]:
    """Both ways, with a run that lasts as long as the tests of this module."""
    scratch = tmp_path_factory.mktemp("kubectl")
    config = scratch / "kubeconfig"
    with proxy.access(owner("one")) as text:
        config.write_text(text)
        kubectl = control_plane.binaries / "kubectl"
        yield Ways(kubectl, control_plane.kubeconfig, config, module_namespace, scratch)


@dataclasses.dataclass(frozen=True)
class Pod:
    """A pod, and where what it answers with is kept."""

    name: str
    log: Path
    work: Path


@pytest.fixture
def pod(ways: Ways, tmp_path: Path) -> Iterator[Pod]:
    """A pod that runs commands, has a log and serves on port 80."""
    made = Pod(f"pod-{uuid.uuid4().hex[:6]}", tmp_path / "log", tmp_path / "work")
    made.work.mkdir()
    say(made, "first", "second")
    with serving() as port:
        documents = yaml.safe_dump_all(answering(made, port))
        assert ways.run(ways.direct, "apply", "-f", "-", text=documents).code == 0
        ready = ways.run(ways.direct, "wait", "--for=condition=Ready", f"pod/{made.name}")
        assert ready.code == 0, ready
        until_known(ways, made)
        yield made
        ways.run(ways.direct, "delete", "--wait=false", "-f", "-", text=documents)


def answering(pod: Pod, port: int) -> list[dict[str, object]]:
    """The pod, and kwok's objects by which it answers."""

    def kwok(kind: str, **spec: object) -> dict[str, object]:
        head = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind}
        return {**head, "metadata": {"name": pod.name}, "spec": spec}

    local = {"workDir": str(pod.work), "envs": [{"name": "WHO", "value": "kwok"}]}
    target = {"address": "127.0.0.1", "port": port}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod.name},
            "spec": {"containers": [{"name": "main", "image": "none"}]},
        },
        kwok("Exec", execs=[{"local": local}]),
        kwok("Logs", logs=[{"logsFile": str(pod.log), "follow": True}]),
        kwok("Attach", attaches=[{"logsFile": str(pod.log)}]),
        kwok("PortForward", forwards=[{"ports": [80], "target": target}]),
    ]


def until_known(ways: Ways, pod: Pod) -> None:
    """kwok hears of its objects a moment later."""
    deadline = time.monotonic() + LIMIT
    for command in (("logs", pod.name), ("exec", pod.name, "--", "true")):
        while (last := ways.run(ways.direct, *command)).code != 0:
            assert time.monotonic() < deadline, last
            time.sleep(0.1)


def say(pod: Pod, *lines: str) -> None:
    """Add lines to a pod's log, as a container runtime writes it."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    with pod.log.open("a") as log:
        log.writelines(f"{now} stdout F {line}\n" for line in lines)


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """The port of something that answers as a web server."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.request.sendall(ANSWER)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        try:
            yield served.server_address[1]
        finally:
            served.shutdown()
            thread.join()


def config_map(name: str, value: str) -> str:
    """A manifest."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"tier": value}},
            "data": {"key": value},
        }
    )


@pytest.mark.parametrize("more", [(), ("--server-side",), ("--server-side", "--force-conflicts")])
def test_apply(ways: Ways, more: Sequence[str]) -> None:
    """Create, change and leave alone: the same words and exit codes."""
    said: list[list[Outcome]] = []
    for config in (ways.direct, ways.proxied):
        name = f"a-{uuid.uuid4().hex[:6]}"
        outcomes = [
            ways.run(config, "apply", *more, "-f", "-", text=config_map(name, value))
            for value in ("one", "two", "two")
        ]
        outcomes.append(ways.run(config, "apply", *more, "-f", "-", text="kind: Nothing\n"))
        said.append(
            [Outcome(found.code, found.out.replace(name, "N"), found.err) for found in outcomes]
        )
    assert said[0] == said[1]
    assert [found.code for found in said[1]] == [0, 0, 0, 1]


def test_reading(ways: Ways) -> None:
    """Tables, YAML, selectors, errors, discovery and explanations."""
    ways.run(ways.direct, "apply", "-f", "-", text=config_map("read", "web"))
    for arguments in (
        ("get", "configmap", "read", "-o", "yaml"),
        ("get", "configmap", "-l", "tier in (web, db),tier notin (x)", "-o", "name"),
        ("get", "configmap", "--field-selector", "metadata.name==read", "-o", "name"),
        ("get", "configmap", "-l", "!tier", "-o", "name"),
        ("get", "configmap", "absent"),
        ("get", "nothings"),
        ("api-resources", "-o", "name"),
        ("explain", "pod.spec.containers"),
        ("auth", "can-i", "create", "pods"),
        ("version",),
    ):
        ways.both(*arguments)


def test_exec(ways: Ways, pod: Pod) -> None:
    """Output, errors, input, environment and the exit code."""
    told = ways.both("exec", pod.name, "--", "sh", "-c", "pwd; echo $WHO; echo e >&2")
    assert (told.code, told.out) == (0, f"{pod.work}\nkwok\n")
    assert told.err == "e\n"
    assert ways.both("exec", pod.name, "--", "sh", "-c", "exit 3").code != 0
    told = ways.both("exec", "-i", pod.name, "--", "head", "-n", "1", text="hello\nmore\n")
    assert (told.code, told.out) == (0, "hello\n")
    assert ways.both("exec", "absent", "--", "true").code == 1


def test_exec_over_spdy(ways: Ways, pod: Pod) -> None:
    """The protocol of older clients."""
    command = ways.command(ways.proxied, "exec", "-i", pod.name, "--", "head", "-n", "1")
    old = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "PATH": os.defpath}
    home = {"HOME": str(ways.scratch)}
    done = subprocess.run(
        [*command[:1], "-v=8", *command[1:]],
        input="hello\nmore\n",
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=old | home,
    )
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert re.search(r"SPDY/3\.1", done.stderr)


def test_logs(ways: Ways, pod: Pod) -> None:
    """Whole, the end of it, and of a container that there is not."""
    assert ways.both("logs", pod.name).out == "first\nsecond\n"
    assert ways.both("logs", "--tail=1", pod.name).out == "second\n"
    assert ways.both("logs", pod.name, "-c", "absent").code == 1


@pytest.mark.parametrize("command", [("logs", "-f"), ("attach",)])
def test_following(ways: Ways, pod: Pod, command: Sequence[str]) -> None:
    """Lines arrive as they are written."""
    for config, number in ((ways.direct, 1), (ways.proxied, 2)):
        with ways.started(config, *command, pod.name) as process:
            assert process.stdout is not None
            if command[0] == "logs":
                assert process.stdout.readline() == "first\n"
            writing = threading.Event()
            again = threading.Thread(target=repeat, args=(pod, f"line {number}", writing))
            again.start()
            try:
                assert any(line == f"line {number}\n" for line in process.stdout)
            finally:
                writing.set()
                again.join()


def repeat(pod: Pod, line: str, done: threading.Event) -> None:
    """Say a line again and again: whoever attaches sees only what comes after it."""
    while not done.wait(0.1):
        say(pod, line)


def test_copies(ways: Ways, pod: Pod) -> None:
    """Into a pod and out of it, byte for byte."""
    original, back = ways.scratch / "original", ways.scratch / "back"
    original.write_bytes(os.urandom(2_000_000))
    for config, name in ((ways.direct, "direct"), (ways.proxied, "proxied")):
        inside = pod.work / name
        done = ways.run(config, "cp", str(original), f"{pod.name}:{inside}")
        assert (done.code, done.out) == (0, ""), done
        assert filecmp.cmp(original, inside, shallow=False)
        done = ways.run(config, "cp", f"{pod.name}:{inside}", str(back))
        assert done.code == 0, done
        assert filecmp.cmp(original, back, shallow=False)
        back.unlink()


def test_port_forward(ways: Ways, pod: Pod) -> None:
    """A request through the forwarded port, several times."""
    for config in (ways.direct, ways.proxied):
        with ways.started(config, "port-forward", f"pod/{pod.name}", ":80") as process:
            assert process.stdout is not None
            found = re.fullmatch(
                r"Forwarding from 127\.0\.0\.1:(\d+) -> 80\n", process.stdout.readline()
            )
            assert found
            for _ in range(3):
                line = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=LIMIT)
                with contextlib.closing(line):
                    line.request("GET", "/")
                    assert line.getresponse().read() == b"served"


def test_wait(ways: Ways, pod: Pod) -> None:
    """For what is so, for what never comes, and for what is not there."""
    ready = ways.both("wait", "--for=condition=Ready", f"pod/{pod.name}")
    assert ready == Outcome(0, f"pod/{pod.name} condition met\n", "")
    never = ("wait", "--for=condition=Never", "--timeout=1s", f"pod/{pod.name}")
    assert ways.both(*never).code == 1
    assert ways.both("wait", "--for=delete", "pod/absent").code == 0


def test_get_and_watch(ways: Ways, control_plane: controlplane.ControlPlane) -> None:
    """What is there, then each change when it happens."""
    server_api = api.Api(control_plane.kubeconfig, ways.namespace)
    kind = api.Kind("v1", "ConfigMap", "configmaps", True)
    for config in (ways.direct, ways.proxied):
        name = f"w-{uuid.uuid4().hex[:6]}"
        ways.run(ways.direct, "apply", "-f", "-", text=config_map(name, "one"))
        watch = ("get", "configmap", name, "-w", "-o", "jsonpath={.data.key}{'\\n'}")
        with ways.started(config, *watch) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "one\n"
            ways.run(ways.direct, "apply", "-f", "-", text=config_map(name, "two"))
            assert process.stdout.readline() == "two\n"
        server_api.delete(kind, name)


def test_without_a_live_token(ways: Ways, proxy: server.Proxy, pod: Pod) -> None:
    """None, and that of a run that is over: 401 for whatever is asked."""
    with proxy.access(owner("two")) as text:
        ended = ways.scratch / "ended"
        ended.write_text(text)
        assert ways.run(ended, "get", "pods").code == 0
    for command in (
        ("get", "pods"),
        ("logs", pod.name),
        ("exec", pod.name, "--", "true"),
        ("apply", "--server-side", "-f", "-"),
    ):
        refused = ways.run(ended, *command, text=config_map("x", "y"))
        assert refused.code == 1
        assert re.search(r"Unauthorized|must be logged in|credentials", refused.err), refused
    told = ways.run(ended, "get", "--raw", "/api/v1/pods")
    assert "its run is over" in told.err
    path = f"/api/v1/namespaces/{ways.namespace}/pods"
    upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    for target, headers in ((path, {}), (f"{path}/{pod.name}/exec?command=true", upgrade)):
        assert ask(text, target, headers) == 401


def ask(text: str, target: str, headers: dict[str, str]) -> int:
    """The status of a request without a token to the server of a kubeconfig."""
    cluster = yaml.safe_load(text)["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    address = cluster["server"].removeprefix("https://")
    line = http.client.HTTPSConnection(address, context=context, timeout=LIMIT)
    with contextlib.closing(line):
        line.request("POST", target, headers=headers)
        return line.getresponse().status
