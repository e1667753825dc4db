"""The command lines that the etcd role writes are proved with the real etcd, on loopback.

No container runs on the control plane of the tests. So the role's StatefulSet, ConfigMap and Jobs
are read from the API server, only their addresses and the data directory are replaced, and what
they say is run here.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import api
import pytest
import sample

from ansible_operator.testing import controlplane, process

pytestmark = [pytest.mark.timeout(sample.TIMEOUT), pytest.mark.real]
NAME = "proof"
CLASS = "proof-volumes"
STORAGE_CLASS = api.Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", False)
PORTS = {"client": 2379, "peer": 2380, "metrics": 2381}


def free_ports(count: int) -> list[int]:
    """Ports that nothing listened on a moment ago, all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]


@dataclass
class Lab:
    """Members of one etcd cluster as local processes, made from what is in the API server."""

    server: api.Api
    etcd: Path
    scratch: Path
    ports: list[dict[str, int]]
    children: dict[int, subprocess.Popen[str]] = field(default_factory=dict)

    def start(self, ordinal: int) -> None:
        """Start a member exactly as its pod would be started now."""
        template = self.get(sample.STATEFULSET, NAME)["spec"]["template"]["spec"]
        container = template["containers"][0]
        assert container["command"] == ["/usr/local/bin/etcd"]
        variables = {item["name"]: self.value(item, ordinal) for item in container["env"]}
        arguments = [self.local(expand(text, variables), ordinal) for text in container["args"]]
        environment = {key: self.local(text, ordinal) for key, text in variables.items()}
        with (self.scratch / f"member-{ordinal}.log").open("w") as log:
            self.children[ordinal] = subprocess.Popen(
                [self.etcd, *arguments],
                env={"PATH": os.environ["PATH"], **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                preexec_fn=process.tied(),
            )

    def value(self, variable: api.Obj, ordinal: int) -> str:
        """The value that the kubelet would give an environment variable."""
        source = variable["valueFrom"]
        if "configMapKeyRef" in source:
            reference = source["configMapKeyRef"]
            data: dict[str, str] = self.get(sample.CONFIGMAP, reference["name"])["data"]
            return data[reference["key"]]
        assert source == {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
        return f"{NAME}-{ordinal}"

    def local(self, text: str, ordinal: int) -> str:
        """The text with cluster addresses and the data directory replaced by local ones."""
        domain = f"{NAME}-peers.{self.server.namespace}.svc"
        for number, ports in enumerate(self.ports):
            for role, port in PORTS.items():
                text = text.replace(f"{NAME}-{number}.{domain}:{port}", f"127.0.0.1:{ports[role]}")
        for role, port in PORTS.items():
            text = text.replace(f"0.0.0.0:{port}", f"127.0.0.1:{self.ports[ordinal][role]}")
        service = f"{NAME}-client.{self.server.namespace}.svc:{PORTS['client']}"
        text = text.replace(service, f"127.0.0.1:{self.ports[0]['client']}")
        text = text.replace("/var/lib/etcd/data", str(self.scratch / f"data-{ordinal}"))
        assert not re.search(r"\.svc\b|0\.0\.0\.0|/var/lib|\$\(", text), f"not replaced: {text}"
        return text

    def get(self, kind: api.Kind, name: str) -> api.Obj:
        """An object that must be there."""
        found = self.server.get(kind, name)
        assert found is not None, f"{kind.kind} {name} is missing"
        return found

    def ready(self, ordinal: int) -> bool:
        """What the member's readiness probe would say."""
        template = self.get(sample.STATEFULSET, NAME)["spec"]["template"]["spec"]
        probe = template["containers"][0]["readinessProbe"]["httpGet"]
        assert probe["port"] == "metrics"
        url = f"http://127.0.0.1:{self.ports[ordinal]['metrics']}{probe['path']}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def until_ready(self, *ordinals: int) -> None:
        """Wait until these members are ready; the failure shows the end of their logs."""
        deadline = time.monotonic() + sample.LIMIT
        while not all(self.ready(ordinal) for ordinal in ordinals):
            ended = {
                n: self.children[n].poll() for n in ordinals if self.children[n].poll() is not None
            }
            assert not ended, f"ended {ended}\n{self.logs()}"
            assert time.monotonic() < deadline, f"not ready\n{self.logs()}"
            time.sleep(0.1)

    def logs(self) -> str:
        """The last lines of every member's log."""
        paths = sorted(self.scratch.glob("member-*.log"))
        return "\n".join(f"{p.name}:\n" + "\n".join(p.read_text().splitlines()[-8:]) for p in paths)

    def call(self, ordinal: int, method: str, **request: Any) -> Any:
        """One call of etcd's JSON gateway."""
        url = f"http://127.0.0.1:{self.ports[ordinal]['client']}/v3/{method}"
        with urllib.request.urlopen(url, json.dumps(request).encode(), timeout=10) as answer:
            return json.load(answer)

    def put(self, ordinal: int, key: str, value: str) -> None:
        """Write a key through one member."""
        self.call(ordinal, "kv/put", key=encoded(key), value=encoded(value))

    def read(self, ordinal: int, key: str) -> str:
        """Read a key through one member."""
        found = self.call(ordinal, "kv/range", key=encoded(key))["kvs"]
        return base64.b64decode(found[0]["value"]).decode()

    def members(self) -> list[str]:
        """The names in etcd's own member list; a member that never started has none."""
        listed = self.call(0, "cluster/member/list")["members"]
        return sorted(member.get("name", "") for member in listed)

    def run_job(self, name: str) -> str:
        """Run the container of a Job here; its output."""
        container = self.get(sample.JOB, name)["spec"]["template"]["spec"]["containers"][0]
        assert container["command"][0] == "python3"
        arguments = [self.local(text, 0) for text in container["args"]]
        command = [sys.executable, *container["command"][1:], *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def resize(self, size: int) -> None:
        """Edit the size and wait until the operator has dealt with it."""
        self.server.patch(sample.CLUSTER, NAME, {"spec": {"size": size}})
        obj = self.server.until(sample.CLUSTER, NAME, api.settled, seconds=sample.LIMIT)
        assert api.successful(obj), obj["status"]
        assert obj["status"]["members"] == size


def expand(text: str, variables: dict[str, str]) -> str:
    """Replace ``$(NAME)`` as the kubelet does."""
    return re.sub(r"\$\((\w+)\)", lambda found: variables[found.group(1)], text)


def encoded(text: str) -> str:
    """Base64, as the JSON gateway wants bytes."""
    return base64.b64encode(text.encode()).decode()


@pytest.fixture(scope="module")
def lab(
    control_plane: controlplane.ControlPlane,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Lab]:
    """Three members, started from the StatefulSet and ConfigMap of an EtcdCluster of size 3."""
    ports = free_ports(4 * len(PORTS))
    triples = [dict(zip(PORTS, ports[n::4], strict=True)) for n in range(4)]
    runner_dir = tmp_path_factory.mktemp("runner")
    with sample.running(control_plane, module_namespace, runner_dir) as server:
        scratch = tmp_path_factory.mktemp("etcd")
        found = Lab(server, control_plane.binaries / "etcd", scratch, triples)
        spec = {
            "size": 3,
            "storage": {"className": CLASS},
            "extraArgs": ["--quota-backend-bytes=1073741824"],
        }
        server.create(sample.CLUSTER, NAME, spec=spec)
        # Their volumes wait for a class, so the members of the API server are not ready, and what
        # the role tells them is what members of a new cluster read at their start.
        server.until(sample.STATEFULSET, NAME, lambda obj: True, seconds=sample.LIMIT)
        try:
            for ordinal in range(3):
                found.start(ordinal)
            found.until_ready(0, 1, 2)
            provide_volumes(server)
            server.until(sample.CLUSTER, NAME, api.successful, seconds=sample.LIMIT)
            yield found
        finally:
            process.stop(list(found.children.values()), 5)
            server.delete(STORAGE_CLASS, CLASS)


def provide_volumes(server: api.Api) -> None:
    """Make the StorageClass of the cluster, a copy of the control plane's own."""
    standard = server.get(STORAGE_CLASS, "standard")
    assert standard is not None
    server.create(STORAGE_CLASS, CLASS, provisioner=standard["provisioner"])


def names(*ordinals: int) -> Sequence[str]:
    """Names of members."""
    return [f"{NAME}-{ordinal}" for ordinal in ordinals]


def test_three_members_form_one_cluster_and_accept_a_write(lab: Lab) -> None:
    """The three command lines make one cluster: one member list, a write seen by all."""
    assert lab.members() == names(0, 1, 2)
    lab.put(0, "greeting", "hello")
    assert [lab.read(ordinal, "greeting") for ordinal in range(3)] == ["hello"] * 3


def test_size_changes_by_a_member_that_joins_and_leaves(lab: Lab) -> None:
    """One more: its job adds it, its pod joins with the old data. One less: its job removes it."""
    lab.put(1, "before", "growth")
    lab.resize(4)
    assert "added" in lab.run_job(f"{NAME}-add-3-g2")
    assert "nothing to do" in lab.run_job(f"{NAME}-add-3-g2")
    lab.start(3)
    lab.until_ready(0, 1, 2, 3)
    assert lab.members() == names(0, 1, 2, 3)
    assert lab.read(3, "before") == "growth"

    lab.resize(3)
    assert "removed" in lab.run_job(f"{NAME}-remove-3-g3")
    assert "nothing to do" in lab.run_job(f"{NAME}-remove-3-g3")
    assert lab.members() == names(0, 1, 2)
