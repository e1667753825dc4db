"""The sandbox as a process: what it prints, runs and leaves, and how it ends."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.sandbox.front import process
from ansible_operator.testing import api, credentials, errors
from ansible_operator.testing import process as processes

SANDBOX = [sys.executable, "-m", "ansible_operator", "sandbox"]
LIMIT = 60.0
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.command.example.com}
spec:
  group: command.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: integer}}}
"""
OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: command.example.com/v1
kind: Thing
metadata: {name: one, namespace: shop}
spec: {size: 1}
"""
# What a command in the tests does: print the answer to a request, with the kubeconfig it is given.
ASK = """
import json, os, ssl, sys, urllib.request, base64
config = json.load(open(os.environ["KUBECONFIG"]))
cluster = config["clusters"][0]["cluster"]
data = base64.b64decode(cluster["certificate-authority-data"]).decode()
headers = {"Authorization": "Bearer " + config["users"][0]["user"]["token"]}
request = urllib.request.Request(cluster["server"] + sys.argv[1], headers=headers)
context = ssl.create_default_context(cadata=data)
for item in json.load(urllib.request.urlopen(request, context=context))["items"]:
    print(item["metadata"]["name"])
"""


@pytest.fixture(autouse=True)
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Home and temporary files of every sandbox in a directory of the test."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("K8S_AUTH_HOST", "https://elsewhere")
    return tmp_path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the sandbox until it ends by itself."""
    argv = [*SANDBOX, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)


def begin(*arguments: str) -> subprocess.Popen[str]:
    """Start a sandbox that has to be ended."""
    return subprocess.Popen(
        [*SANDBOX, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[subprocess.Popen[str], Path]]]:
    """Starts sandboxes; returns process and kubeconfig when ready. They end with the test."""
    started: list[subprocess.Popen[str]] = []

    def make(*arguments: str) -> tuple[subprocess.Popen[str], Path]:
        child = begin(*arguments)
        started.append(child)
        assert child.stdout is not None
        path = child.stdout.readline().strip()
        assert path, child.stderr.read() if child.stderr else ""
        return child, Path(path)

    yield make
    for child in started:
        child.kill()
        child.communicate()


def finish(child: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str]:
    """End a sandbox by a signal; its exit code and what it said to people."""
    child.send_signal(number)
    _, said = child.communicate(timeout=LIMIT)
    return child.returncode, said


def client(kubeconfig: Path, user: int = 0) -> api.Client:
    """Requests as one of the users of a kubeconfig, with the authority from it."""
    config = json.loads(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    ca = kubeconfig.with_name("ca-of-test")
    ca.write_bytes(base64.b64decode(cluster.get("certificate-authority-data", "")))
    return api.Client(cluster["server"], ca, config["users"][user]["user"]["token"])


def until(holds: Callable[[], Any], what: str) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_a_command_sees_the_sandbox_and_ends_it(own_files: Path) -> None:
    """Its output is all there is on standard output, and nothing is left."""
    done = run("--exec", sys.executable, "-c", ASK, "/api/v1/namespaces")
    assert done.stdout.split() == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert done.returncode == 0
    assert re.match(r"Sandbox: .* for trying and testing only, at https://127", done.stderr)
    assert list((own_files / "tmp").iterdir()) == []


def test_the_environment_of_a_command() -> None:
    """What would lead kubernetes.core to another cluster is taken out."""
    code = "import os; print(sorted(n for n in os.environ if n.startswith(('K8S_', 'KUBECONFIG'))))"
    assert run("--exec", sys.executable, "-c", code).stdout.strip() == "['KUBECONFIG']"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
        (["no-such-command"], 127),
        (["/"], 126),
    ],
)
def test_the_exit_code_is_the_commands(command: list[str], code: int) -> None:
    """As a shell has it."""
    done = run("--exec", *command)
    assert done.returncode == code
    if code in (126, 127):
        assert f"--exec {command[0]}: " in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_go_to_the_command(number: signal.Signals, own_files: Path) -> None:
    """It decides what they mean, and the sandbox ends with it."""
    mark = own_files / "mark"
    trap = f"trap 'echo got; exit 5' {number.name[3:]}; touch {mark}; while :; do sleep 0.1; done"
    child = begin("--exec", "sh", "-c", trap)
    until(mark.exists, "the command did not start")
    child.send_signal(number)
    out, _ = child.communicate(timeout=LIMIT)
    assert (child.returncode, out) == (5, "got\n")


def test_ctrl_c_reaches_the_command_once(own_files: Path) -> None:
    """The terminal gives it to both, so it is not passed on."""
    mark = own_files / "mark"
    trap = "trap 'n=x$n; echo got=$n' INT; trap 'exit 5' TERM"
    command = f"{trap}; touch {mark}; while :; do sleep 0.1; done"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*SANDBOX, "--exec", "sh", "-c", command])  # noqa: S606
    until(mark.exists, "the command did not start")
    os.write(terminal, b"\x03")
    seen = b""
    while b"got=x" not in seen:
        seen += os.read(terminal, 1000)
    time.sleep(0.3)  # a second one would come now
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    with contextlib.suppress(OSError):
        seen += os.read(terminal, 1000)
    os.close(terminal)
    assert b"got=xx" not in seen


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="orphans are found on Linux only")
def test_a_command_leaves_no_process(own_files: Path) -> None:
    """What it left in the background ends as well."""
    mark = own_files / "pid"
    done = run("--exec", "sh", "-c", f"sh -c 'sleep 1000 & echo $! > {mark}' & wait")
    assert done.returncode == 0
    pid = int(mark.read_text())
    assert not processes.alive(pid)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel does it on Linux only")
def test_a_killed_sandbox_takes_its_command_along(own_files: Path) -> None:
    """Even SIGKILL leaves no command behind."""
    mark = own_files / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    child = begin("--exec", sys.executable, "-c", code)
    until(lambda: mark.exists() and mark.read_text(), "the command did not start")
    child.kill()
    child.communicate()
    until(lambda: not processes.alive(int(mark.read_text())), "the command is still there")


def test_the_first_screen(
    serve: Callable[..., tuple[subprocess.Popen[str], Path]], own_files: Path
) -> None:
    """It says what this is, what to export and how to stop; the kubeconfig is private."""
    child, path = serve()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert client(path).send("GET", "/version")["gitVersion"].startswith("v1.37.")
    code, said = finish(child, signal.SIGINT)
    assert code == 0
    for words in (
        "for trying and testing only",
        f"export KUBECONFIG={path}",
        "kubectl get namespaces",
        "Ctrl-C",
        "--rbac",
        "The sandbox has ended.",
    ):
        assert words in said
    assert list((own_files / "tmp").iterdir()) == []


def test_a_kubeconfig_where_it_is_told(
    serve: Callable[..., tuple[subprocess.Popen[str], Path]], own_files: Path
) -> None:
    """It is written there, used again by the next sandbox, and removed at the end."""
    wanted = own_files / "k"
    child, path = serve(f"--kubeconfig={wanted}")
    assert path == wanted
    child.kill()  # one that could not clean up
    child.communicate()
    assert wanted.exists()
    child, _ = serve(f"--kubeconfig={wanted}")
    assert finish(child)[0] == 0
    assert not wanted.exists()
    wanted.write_text("mine")
    refused = run(f"--kubeconfig={wanted}")
    assert (refused.returncode, wanted.read_text()) == (1, "mine")
    assert "not overwritten" in refused.stderr


def test_users_and_rights(
    serve: Callable[..., tuple[subprocess.Popen[str], Path]], own_files: Path
) -> None:
    """With --rbac a test user may do what is granted to it, the administrator everything."""
    binding = own_files / "b.yaml"
    subject = "{kind: Group, name: readers, apiGroup: rbac.authorization.k8s.io}"
    binding.write_text(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n"
        f"metadata: {{name: readers}}\nsubjects: [{subject}]\n"
        "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\n"
    )
    users = ("--user=bob:readers", "--user=eve")
    _, path = serve("--rbac", "--token=secret", f"--apply={binding}", *users)
    config = json.loads(path.read_text())
    assert [c["name"] for c in config["contexts"]] == ["ansible-operator-sandbox", "bob", "eve"]
    assert credentials.token_of(path) == "secret"
    seen = [client(path, user).ask("GET", "/api/v1/pods")[0] for user in range(3)]
    assert seen == [200, 200, 403]
    seen = [client(path, user).ask("GET", "/api/v1/secrets")[0] for user in range(3)]
    assert seen == [200, 403, 403]
    _, path = serve(*users)
    seen = [client(path, user).ask("GET", "/api/v1/secrets")[0] for user in range(3)]
    assert seen == [200, 200, 200]
    nobody = api.Client(client(path).server, client(path).ca, "")
    assert nobody.ask("GET", "/api/v1/secrets")[0] == 401


def test_plain_http(serve: Callable[..., tuple[subprocess.Popen[str], Path]]) -> None:
    """The same without certificates."""
    child, path = serve("--http", "--bind=localhost")
    asking = client(path)
    assert asking.server.startswith("http://127.0.0.1:")
    assert asking.send("GET", "/api/v1/namespaces")["kind"] == "NamespaceList"
    _, said = finish(child)
    assert "not with kubectl" in said


def test_what_is_not_done_says_so(
    serve: Callable[..., tuple[subprocess.Popen[str], Path]],
) -> None:
    """What a real server has and the sandbox has not is 501, not 404, and says where to read."""
    _, path = serve()
    asking = client(path)
    paths = [f"/{name}" for name in ("metrics", "openid/v1/jwks", "statusz")]
    for resource in (
        "apis/apiregistration.k8s.io/v1/apiservices",
        "apis/certificates.k8s.io/v1/certificatesigningrequests",
        "apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
        "apis/networking.k8s.io/v1/ipaddresses",
        "apis/resource.k8s.io/v1/deviceclasses",
        "apis/storage.k8s.io/v1/csinodes",
        "apis/storage.k8s.io/v1/volumeattributesclasses/x",
        "api/v1/componentstatuses",
    ):
        paths.append(f"/{resource}")
    pods = "/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "c", "image": "x"}]}
    until(
        lambda: asking.ask("POST", pods, {"metadata": {"name": "p"}, "spec": spec})[0] == 201,
        "the namespace has no account",
    )
    paths += [f"{pods}/p/{name}" for name in ("log", "exec", "attach", "portforward", "proxy")]
    for one in paths:
        code, answer = asking.ask("GET", one)
        assert (code, answer["reason"]) == (501, "NotImplemented"), one
        assert "docs/sandbox.md" in answer["message"]


def test_objects_from_files(own_files: Path) -> None:
    """CRDs first, then objects; the kinds are served when the command begins."""
    (own_files / "crds").mkdir()
    (own_files / "crds" / "thing.yaml").write_text(CRD)
    (own_files / "objects.yaml").write_text(OBJECTS)
    files = (f"--crds={own_files / 'crds'}", f"--apply={own_files / 'objects.yaml'}")
    things = "/apis/command.example.com/v1/namespaces/shop/things"
    done = run(*files, "--exec", sys.executable, "-c", ASK, things)
    assert (done.returncode, done.stdout) == (0, "one\n"), done.stderr


def test_an_invalid_object_is_told(own_files: Path) -> None:
    """File, document and the server's words; nothing is run."""
    (own_files / "crds").mkdir()
    (own_files / "crds" / "thing.yaml").write_text(CRD)
    path = own_files / "objects.yaml"
    path.write_text(OBJECTS.replace("size: 1", "size: big"))
    done = run(f"--crds={own_files / 'crds'}", f"--apply={path}", "--exec", "echo", "ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert f'Error: {path}, document 2: Thing.command.example.com "one" is invalid' in done.stderr
    assert "spec.size" in done.stderr
    path.write_text(OBJECTS)
    done = run(f"--apply={path}", "--exec", "echo", "ran")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{path}, document 2: the server does not serve Thing" in done.stderr


def test_a_port_that_is_taken() -> None:
    """The message says so, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run(f"--port={port}")
    assert done.returncode == 1
    assert f"another program listens on 127.0.0.1:{port}" in done.stderr


def test_the_audit_log(own_files: Path) -> None:
    """A line for each request with user and verb; it is private and has no secrets' content."""
    log = own_files / "audit.log"
    secret = own_files / "s.yaml"
    secret.write_text(
        "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: hidden}}"
    )
    run(f"--audit-log={log}", f"--apply={secret}", "--exec", "true")
    assert log.stat().st_mode & 0o777 == 0o600
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (created,) = [line for line in lines if line["verb"] == "create"]
    assert created["user"]["username"] == "admin"
    assert created["objectRef"]["resource"] == "secrets"
    assert created["responseStatus"]["code"] == 201
    assert "hidden" not in log.read_text()


def test_a_sandbox_of_a_test(own_files: Path) -> None:
    """It is ready within the block, and gone after it with its children."""
    place = own_files / "place"
    place.mkdir()
    with process.start(["--rbac", "--user=bob"], place) as running:
        token = credentials.token_of(running.kubeconfig)
        found = api.Client(running.server, running.ca_file, token).send("GET", "/api/v1/nodes")
        assert found["kind"] == "NodeList"
        assert processes.alive(running.pid)
    assert not processes.alive(running.pid)
    audited = [json.loads(line) for line in running.audit_log.read_text().splitlines()]
    assert [line["requestURI"] for line in audited] == ["/api/v1/nodes"]


def test_a_sandbox_that_does_not_start(own_files: Path) -> None:
    """What it said is in the error."""
    with (
        pytest.raises(errors.ControlPlaneError, match="loopback only"),
        process.start(["--bind=0.0.0.0"], own_files),
    ):
        raise AssertionError("it must not start")


def test_a_sandbox_ends_with_its_test(own_files: Path) -> None:
    """However the tests end."""
    code = (
        "import pathlib, sys, time\n"
        "from ansible_operator.sandbox.front import process\n"
        "with process.start([], pathlib.Path(sys.argv[1])) as running:\n"
        "    print(running.pid, flush=True)\n"
        "    time.sleep(1000)\n"
    )
    place = own_files / "place"
    place.mkdir()
    argv = [sys.executable, "-c", code, str(place)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=os.environ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    until(lambda: not processes.alive(pid), "the sandbox outlived its test")
