"""kopf, the framework under the runner: an operator of its own works from CREATE to DELETE."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wire

from ansible_operator.testing import controlplane, operator

OPERATOR = Path(__file__).parent / "kopf_operator.py"


def said(server: wire.Server, ns: str, reason: str) -> Callable[[Any], bool]:
    """Whether the events of a namespace have one with this reason."""
    return lambda listed: any(item["reason"] == reason for item in listed["items"])


def test_operator(
    control_plane: controlplane.ControlPlane,
    server: wire.Server,
    ns: str,
    crd: Callable[..., str],
    tmp_path: Path,
) -> None:
    """Its handlers see creation, change and deletion; finalizer, status and events arrive."""
    path = crd()
    command = [sys.executable, "-m", "kopf", "run", "--standalone", f"--namespace={ns}"]
    command += [str(OPERATOR)]
    environment = {"KUBECONFIG": str(control_plane.kubeconfig), "HOME": str(tmp_path)}
    environment["GROUP"] = path.split("/")[2]
    with operator.run_process(command, tmp_path, environment):
        server.post(path, {**_thing(path), "spec": {"size": 1}})
        made = server.until(f"{path}/one", lambda obj: _size(obj) == 1)
        assert made["metadata"]["finalizers"] == ["conformance.example.com/finalizer"]
        server.patch(f"{path}/one", {"spec": {"size": 2}})
        server.until(f"{path}/one", lambda obj: _size(obj) == 2)
        events = f"/api/v1/namespaces/{ns}/events"
        server.until(events, said(server, ns, "Sized"))
        server.delete(f"{path}/one")
        server.until_gone(f"{path}/one")
        server.until(events, said(server, ns, "Dismantled"))


def _thing(path: str) -> wire.Obj:
    group, version = path.split("/")[2:4]
    metadata = {"name": "one"}
    return {"apiVersion": f"{group}/{version}", "kind": "Thing", "metadata": metadata}


def _size(obj: wire.Obj) -> int | None:
    found: int | None = obj.get("status", {}).get("changed", {}).get("size")
    return found
