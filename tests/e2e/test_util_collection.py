"""The collection operator_sdk.util: what its modules do on a real API server, and how they fail.

Each test is one play, so that it pays for one start of Ansible.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api
import conftest
import pytest
import sample
from prometheus_client import registry

from ansible_operator import serving, usermetrics
from ansible_operator.testing import controlplane

pytestmark = pytest.mark.timeout(sample.TIMEOUT)
BUNDLED = sample.ROOT / "ansible_operator/collections"
EVENT = api.Kind("v1", "Event", "events")
BOX = {"apiVersion": sample.ETCD, "kind": "EtcdCluster", "name": "box"}
TIME = "2020-01-02T03:04:05Z"


class Plays:
    """Runs plays against one EtcdCluster named box, which no operator looks at."""

    def __init__(self, server: api.Api, kubeconfig: Path, scratch: Path) -> None:
        self.server = server
        self.environ: dict[str, str] = {}
        self._kubeconfig = kubeconfig
        self._scratch = scratch

    def run(self, *tasks: dict[str, Any]) -> list[dict[str, Any]]:
        """Run the tasks in order, each whatever came of the one before; their results."""
        names = [f"result_{number}" for number in range(len(tasks))]
        listed = [
            {**task, "register": name, "ignore_errors": True}
            for task, name in zip(tasks, names, strict=True)
        ]
        results = self._scratch / "results.json"
        content = f"{{{{ [{', '.join(names)}] | to_json }}}}"
        listed.append({"ansible.builtin.copy": {"content": content, "dest": str(results)}})
        play = [{"hosts": "localhost", "gather_facts": False, "tasks": listed}]
        path = self._scratch / "play.json"
        path.write_text(json.dumps(play))
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ANSIBLE_", "K8S_"))}
        done = subprocess.run(
            [Path(sys.executable).parent / "ansible-playbook", path],
            env=inherited | self._environment(),
            capture_output=True,
            text=True,
            timeout=sample.LIMIT,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: list[dict[str, Any]] = json.loads(results.read_text())
        return found

    def status(self, **options: Any) -> dict[str, Any]:
        """A task that writes the status of box."""
        place = {"kind": "EtcdCluster", "name": "box", "namespace": self.server.namespace}
        return {"operator_sdk.util.k8s_status": {"api_version": sample.ETCD, **place, **options}}

    def event(self, **options: Any) -> dict[str, Any]:
        """A task that writes an Event about box."""
        said = {"name": "said", "reason": "Tested", "message": "hello", "involvedObject": BOX}
        options = {"namespace": self.server.namespace, **said, **options}
        return {"operator_sdk.util.k8s_event": {k: v for k, v in options.items() if v is not None}}

    def box(self) -> dict[str, Any]:
        """The status of box."""
        found = self.server.get(sample.CLUSTER, "box")
        assert found is not None
        status: dict[str, Any] = found["status"]
        return status

    def _environment(self) -> dict[str, str]:
        return {
            "ANSIBLE_COLLECTIONS_PATH": f"{sample.ROOT / '.collections'}:{BUNDLED}",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
            "ANSIBLE_HOME": str(self._scratch / "home"),
            "K8S_AUTH_KUBECONFIG": str(self._kubeconfig),
            **self.environ,
        }


@pytest.fixture
def plays(control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path) -> Plays:
    """A fresh box whose status says members 3, and a condition Kept of somebody else."""
    conftest.install_crds(control_plane, sample.ROOT / "config/crd/bases")
    server = api.Api(control_plane.kubeconfig, namespace)
    server.create(sample.CLUSTER, "box", spec={})
    kept = {"type": "Kept", "status": "True", "reason": "Old", "lastTransitionTime": TIME}
    status = {"members": 3, "version": "3.7.3", "conditions": [kept]}
    server.patch(sample.CLUSTER, "box", {"status": status}, "status")
    return Plays(server, control_plane.kubeconfig, tmp_path)


def test_k8s_status_merges_and_tells_the_truth_about_changes(plays: Plays) -> None:
    """Fields are merged, null removes one; changed says whether the object differs afterwards."""
    results = plays.run(
        plays.status(status={"readyMembers": 2, "version": None}),
        plays.status(status={"readyMembers": 2}),
        plays.status(status={"readyMembers": 1}) | {"check_mode": True},
        plays.status(status={"unknownToTheSchema": 1}),
    )
    assert [result["changed"] for result in results] == [True, False, True, False]
    assert results[0]["result"]["status"]["readyMembers"] == 2
    assert "no status field unknownToTheSchema" in results[3]["warnings"][0]
    status = plays.box()
    assert (status["members"], status["readyMembers"], "version" in status) == (3, 2, False)
    assert [c["type"] for c in status["conditions"]] == ["Kept"]


def test_k8s_status_merges_conditions_by_type(plays: Plays) -> None:
    """Other types stay; the transition time moves only when the status of the condition does."""
    results = plays.run(
        plays.status(conditions=[{"type": "Kept", "status": "True", "reason": "Old"}]),
        plays.status(conditions=[{"type": "Kept", "status": "True", "reason": "New"}]),
        plays.status(conditions=[{"type": "More", "status": False, "message": "not yet"}]),
        plays.status(status={"conditions": [{"type": "Kept", "status": "False"}]}),
    )
    assert [result["changed"] for result in results] == [False, True, True, True]
    assert results[1]["result"]["status"]["conditions"] == [
        {"type": "Kept", "status": "True", "reason": "New", "lastTransitionTime": TIME}
    ]
    kept, more = plays.box()["conditions"]
    assert (kept["type"], kept["status"], "reason" in kept) == ("Kept", "False", False)
    assert kept["lastTransitionTime"] > TIME
    assert (more["type"], more["status"], more["message"]) == ("More", "False", "not yet")


def test_k8s_status_replaces_the_whole_status(plays: Plays) -> None:
    """With replace only what is given remains, but a kept condition keeps its transition time."""
    task = plays.status(
        replace=True,
        status={"members": 5},
        conditions=[{"type": "Kept", "status": "True"}],
    )
    assert [result["changed"] for result in plays.run(task, task)] == [True, False]
    kept = {"type": "Kept", "status": "True", "lastTransitionTime": TIME}
    assert plays.box() == {"members": 5, "conditions": [kept]}


def test_k8s_status_fails_with_what_to_do(plays: Plays) -> None:
    """A bad option, a missing kind, object or subresource and a refusal each say what is wrong."""
    condition = {"type": "Ready", "status": "True"}
    config_map = {"api_version": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt"}
    results = plays.run(
        plays.status(kind="Nothing", status={}),
        plays.status(**config_map, status={"a": 1}),
        plays.status(name="missing", status={"members": 1}),
        plays.status(namespace=None, status={"members": 1}),
        plays.status(status={"members": "five"}),
        plays.status(status={"conditions": [condition]}, conditions=[condition]),
        plays.status(conditions=[condition | {"reason": "Two words"}]),
        plays.status(conditions=[condition | {"reason": "a" * 60 + "!"}]),
        plays.status(conditions=[condition | {"lastTransitionTime": "2026-02-30T00:00:00Z"}]),
        plays.status(conditions=[condition | {"status": "Maybe"}]),
    )
    assert all(result["failed"] for result in results)
    words = [
        "Failed to find exact match for etcd.example.com/v1alpha1.Nothing: the API server has no",
        "Resource v1.ConfigMap does not support the status subresource",
        "Failed to retrieve requested object: EtcdCluster",
        "namespace is missing",
        "must be of type integer",
        "conditions in both the 'status' and 'conditions' parameters",
        "failed to validate: condition Ready: reason 'Two words' must be one word",
        "must be one word",
        "failed to validate: condition Ready: lastTransitionTime '2026-02-30T00:00:00Z' is no RFC",
        "value of status must be one of",
    ]
    for word, result in zip(words, results, strict=True):
        assert word in result["msg"]
    assert (results[2]["error"]["status"], results[2]["error"]["reason"]) == (404, "Not Found")
    assert "not found" in results[2]["error"]["body"]
    assert results[4]["error"]["status"] == 422
    assert results[6]["error"] == "Condition 'reason' must be a single, CamelCase word"
    assert (
        results[8]["error"] == "'lastTransitionTime' must be an RFC3339 compliant datetime string"
    )
    assert plays.box()["members"] == 3


def test_k8s_status_takes_what_old_roles_write(plays: Plays) -> None:
    """Aliases, a space in times, and empty texts where a variable was not set."""
    place = {"kind": "EtcdCluster", "name": "box", "namespace": plays.server.namespace}
    times = {"lastHeartbeatTime": "", "lastTransitionTime": "2021-03-04 05:06:07+01:00"}
    ready = {"type": "Ready", "status": "Unknown", "reason": "", **times}
    old = {"api": sample.ETCD, "force": True, "replace_lists": True, "conditions": [ready]}
    [result] = plays.run({"operator_sdk.util.k8s_status": {**place, **old}})
    assert result["changed"], result
    stored = {**ready, "lastTransitionTime": "2021-03-04T05:06:07+01:00"}
    del stored["lastHeartbeatTime"]
    assert plays.box() == {"conditions": [stored]}


def test_k8s_event_counts_repetitions(plays: Plays) -> None:
    """The same name and reason is one Event with a count; another reason begins anew."""
    source = {"component": "test"}
    results = plays.run(
        plays.event(type="Warning", source=source, reportingComponent="example.com/test"),
        plays.event(message="hello again"),
        plays.event(message="not sent") | {"check_mode": True},
        plays.event(reason="Other", merge_type=["merge"]),
    )
    assert [result["changed"] for result in results] == [True] * 4
    first, second, tried, other = (result["result"] for result in results)
    box = plays.server.get(sample.CLUSTER, "box")
    assert box is not None
    assert first["involvedObject"] == {
        **BOX,
        "namespace": plays.server.namespace,
        "uid": box["metadata"]["uid"],
        "resourceVersion": box["metadata"]["resourceVersion"],
    }
    assert [found["count"] for found in (first, second, tried, other)] == [1, 2, 3, 1]
    assert second["firstTimestamp"] == first["firstTimestamp"] <= second["lastTimestamp"]
    assert (second["message"], second["type"], second["source"]) == (
        "hello again",
        "Warning",
        source,
    )
    assert second["reportingComponent"] == "example.com/test"
    stored = plays.server.get(EVENT, "said")
    assert stored is not None
    assert (stored["reason"], stored["count"], stored["message"]) == ("Other", 1, "hello")


def test_k8s_event_does_what_the_incumbent_only_promises(plays: Plays) -> None:
    """A time makes a legal name, absent deletes, and an object that is not there is no failure."""
    nothing = {"apiVersion": "v1", "kind": "Nothing", "name": "box"}
    results = plays.run(
        plays.event(appendTimestamp=True),
        plays.event(appendTimestamp=True, involvedObject=None),
        plays.event(involvedObject=nothing),
        plays.event(state="absent") | {"check_mode": True},
        plays.event(state="absent"),
        plays.event(state="absent"),
    )
    one, two = results[0]["result"], results[1]["result"]
    assert re.fullmatch(r"said\.[0-9a-f]{16}", one["metadata"]["name"])
    assert one["metadata"]["name"] < two["metadata"]["name"]
    assert (one["involvedObject"]["kind"], one["count"]) == ("EtcdCluster", 1)
    assert two["involvedObject"] == {"namespace": plays.server.namespace}
    assert results[2]["result"]["involvedObject"] == {
        **nothing,
        "namespace": plays.server.namespace,
    }
    assert [result["changed"] for result in results[3:]] == [True, True, False]
    assert plays.server.get(EVENT, "said") is None


def test_k8s_event_fails_with_what_to_do(plays: Plays) -> None:
    """Bad options and refusals of the API server say what is wrong."""
    results = plays.run(
        plays.event(involvedObject={**BOX, "namespace": "elsewhere"}),
        plays.event(namespace="missing"),
        plays.event(state="absent", appendTimestamp=True),
        plays.event(type="Loud"),
        plays.event(involvedObject={"kind": "EtcdCluster"}),
    )
    assert all(result["failed"] for result in results)
    words = [
        "involvedObject.namespace",
        "missing",
        "whole name",
        "value of type must be",
        "missing required",
    ]
    for word, result in zip(words, results, strict=True):
        assert word in result["msg"]
    assert [result["error"]["status"] for result in results[:2]] == [422, 404]


@pytest.fixture
def taken() -> Iterator[serving.Serving]:
    """An intake of metrics on a free port, which also shows them."""
    shown = registry.CollectorRegistry()
    found = serving.Serving(
        shown, usermetrics.UserMetrics(shown), metrics="127.0.0.1:0", intake=_free()
    )
    found.start()
    yield found
    found.stop()


def test_osdk_metric(plays: Plays, taken: serving.Serving) -> None:
    """What tasks send is what is shown; without an address the variable of the run holds."""
    plays.environ = taken.environ
    results = plays.run(
        metric("ups_total", counter={"increment": True}),
        metric("ups_total", counter={"add": 2.5}),
        metric("ups_total", counter={"increment": True}) | {"check_mode": True},
        metric("level", gauge={"set": 5}),
        metric("level", gauge={"set": 0}),
        metric("spent", summary={"observe": 2}),
        metric("empty", histogram={}),
        metric("ups_total", gauge={}),
        metric("ups_total", counter={"add": -1}),
        metric("level"),
        metric("level", gauge={}, counter={}),
        metric("level", gauge={}, address=f"http://127.0.0.1:{_free()}/metrics"),
    )
    assert [result["changed"] for result in results[:7]] == [True] * 7, results
    with urllib.request.urlopen(f"http://127.0.0.1:{taken.metrics_port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    assert {"ups_total 3.5", "level 0", "spent_sum 2", "empty_count 0"} <= set(lines)
    assert all(result["failed"] for result in results[7:])
    assert [result.get("status_code") for result in results[7:]] == [400, 400, None, None, -1]
    words = ["cannot change metric type", "cannot decrease", "one of the following", "mutually"]
    for word, result in zip([*words, "refused"], results[7:], strict=True):
        assert word in result["msg"]


def metric(name: str, **options: Any) -> dict[str, Any]:
    """A task that sends a metric."""
    return {"operator_sdk.util.osdk_metric": {"name": name, "description": "Tested", **options}}


def test_requeue_after_takes_whole_hours_minutes_and_seconds(plays: Plays) -> None:
    """A good time comes back as the period; a bad one fails with an example of a good one."""
    good, bad = ["30s", "1h30m", "90m", "0s"], ["soon", "1.5h", "30", "10ms", "-5s", "1h 30m", ""]
    tasks = [{"operator_sdk.util.requeue_after": {"time": time}} for time in good + bad]
    results = plays.run(*tasks)
    assert [result["period"] for result in results[: len(good)]] == good
    assert not any(result["changed"] for result in results[: len(good)])
    for result in results[len(good) :]:
        assert result["failed"]
        assert "such as 30s, 5m or 1h30m" in result["msg"]


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
