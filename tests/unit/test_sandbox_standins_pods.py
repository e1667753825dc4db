"""The stand-ins for the scheduler and the kubelet."""

from __future__ import annotations

from typing import Any

import pytest
import sandbox_fakes as fakes

Obj = dict[str, Any]


@pytest.fixture
def lab() -> fakes.Lab:
    """Stand-ins at work."""
    return fakes.Lab()


def start(lab: fakes.Lab, name: str = "p", **template: Any) -> Obj:
    """Create a pod from a template; annotations are those of the sandbox."""
    found = fakes.template(**template)
    return lab.create("pods", name, meta=found["metadata"], spec=found["spec"])


def phases(lab: fakes.Lab) -> list[tuple[str, bool, bool]]:
    """Phase, having a node, being ready: the states of the pod ``p``."""
    seen = [
        (
            obj["status"]["phase"],
            "nodeName" in obj["spec"],
            {"Ready": "True"}.items()
            <= {c["type"]: c["status"] for c in obj["status"].get("conditions", ())}.items(),
        )
        for obj in lab.history("pods", "p")
    ]
    return list(dict.fromkeys(seen))


def test_pod_is_scheduled_then_runs(lab: fakes.Lab) -> None:
    """A watch sees it pending, then with a node, then ready."""
    start(lab)
    lab.run(0.05)
    assert phases(lab) == [("Pending", False, False), ("Pending", True, False)]
    lab.run(0.1)
    assert phases(lab)[-1] == ("Running", True, True)


def test_readiness_can_be_delayed(lab: fakes.Lab) -> None:
    """With ready-after the pod runs for so long before it is ready."""
    start(lab, ready_after="10s")
    lab.run(9)
    found = lab.get("pods", "p")
    assert (phases(lab)[-1], found["status"]["containerStatuses"][0]["ready"]) == (
        ("Running", True, False),
        False,
    )
    unready = next(c for c in found["status"]["conditions"] if c["type"] == "Ready")
    assert unready["message"] == "containers with unready status: [c]"
    lab.run(2)
    assert phases(lab)[-1] == ("Running", True, True)


def test_readiness_that_somebody_took_stays_taken(lab: fakes.Lab) -> None:
    """A status that was written from outside is not set right."""
    start(lab)
    lab.run()
    pod = lab.get("pods", "p")
    conditions = [
        {**c, "status": "False"} if c["type"] == "Ready" else c for c in pod["status"]["conditions"]
    ]
    lab.api.update_status("pods", {**pod, "status": {**pod["status"], "conditions": conditions}})
    lab.run(60)
    assert phases(lab)[-1] == ("Running", True, False)


def test_failing_pod_crashes_again_and_again(lab: fakes.Lab) -> None:
    """With fail the containers are restarted after ever longer pauses, and never are ready."""
    start(lab, fail="no disk")
    lab.run(1)
    container = lab.status("pods", "p")["containerStatuses"][0]
    assert container["state"]["waiting"] == {"reason": "CrashLoopBackOff", "message": "no disk"}
    last = container["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"], last["message"]) == (1, "Error", "no disk")
    assert lab.status("pods", "p")["phase"] == "Running"
    early = container["restartCount"]
    lab.run(3600)
    assert early < lab.status("pods", "p")["containerStatuses"][0]["restartCount"] < 30


@pytest.mark.parametrize(("notes", "phase"), [({}, "Succeeded"), ({"fail": "oh"}, "Failed")])
def test_pod_that_is_not_restarted_ends(lab: fakes.Lab, notes: Obj, phase: str) -> None:
    """It runs for a moment, then it has succeeded, or failed if it was told to."""
    start(lab, spec={"restartPolicy": "Never"}, **notes)
    lab.run(0.2)
    assert lab.status("pods", "p")["phase"] == "Running"
    lab.run(1)
    assert lab.status("pods", "p")["phase"] == phase


def test_pod_can_be_told_how_long_to_run(lab: fakes.Lab) -> None:
    """With run-for it ends after so long."""
    start(lab, spec={"restartPolicy": "Never"}, run_for="1m")
    lab.run(59)
    assert lab.status("pods", "p")["phase"] == "Running"
    lab.run(2)
    assert lab.status("pods", "p")["phase"] == "Succeeded"


def test_deleted_pod_goes_at_once(lab: fakes.Lab) -> None:
    """Its grace period is not waited for; finalizers are."""
    start(lab)
    found = fakes.template()
    held = {**found["metadata"], "finalizers": ["example.com/hold"]}
    lab.create("pods", "held", meta=held, spec=found["spec"])
    lab.run()
    lab.delete("pods", "p")
    lab.delete("pods", "held")
    assert lab.get("pods", "p")["metadata"]["deletionGracePeriodSeconds"] == 30
    lab.run(1)
    assert lab.find("pods", "p") is None
    assert lab.get("pods", "held")["metadata"]["deletionGracePeriodSeconds"] == 0


def test_pods_are_spread_over_the_nodes(lab: fakes.Lab) -> None:
    """Each next pod gets the next node, and every pod its own address."""
    for name in "abc":
        start(lab, name)
    lab.run()
    assert {pod["spec"]["nodeName"] for pod in lab.pods()} == {"node-1", "node-2", "node-3"}
    assert len({pod["status"]["podIP"] for pod in lab.pods()}) == 3


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"nodeSelector": {"no": "where"}}, "3 node(s) didn't match Pod's node affinity/selector"),
        (
            {
                "containers": [
                    {"name": "c", "image": "x", "resources": {"requests": {"cpu": "999"}}}
                ]
            },
            "3 Insufficient cpu",
        ),
    ],
)
def test_pod_that_fits_nowhere_waits(lab: fakes.Lab, spec: Obj, reason: str) -> None:
    """It says why; it says so once."""
    start(lab, spec=spec)
    lab.run(60)
    (condition,) = lab.status("pods", "p")["conditions"]
    assert condition["reason"] == "Unschedulable"
    assert condition["message"] == (
        f"0/3 nodes are available: {reason}. preemption: 0/3 nodes are available: "
        "3 Preemption is not helpful for scheduling."
    )
    assert lab.events("Pod", "FailedScheduling") == [condition["message"]]


def test_cordoned_node_gets_no_pods(lab: fakes.Lab) -> None:
    """A cordoned node is tainted; a pod that waits for it is scheduled when it is uncordoned."""
    lab.edit("nodes", "node-1", "", unschedulable=True)
    lab.run()
    (taint,) = lab.get("nodes", "node-1", "")["spec"]["taints"]
    assert (taint["key"], taint["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")
    pin = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
            ]
        }
    }
    start(lab, spec={"affinity": {"nodeAffinity": pin}})
    lab.run()
    (condition,) = lab.status("pods", "p")["conditions"]
    assert "1 node(s) were unschedulable, 2 node(s) didn't match" in condition["message"]
    lab.edit("nodes", "node-1", "", unschedulable=False)
    lab.run()
    assert lab.get("pods", "p")["spec"]["nodeName"] == "node-1"
    assert "taints" not in lab.get("nodes", "node-1", "")["spec"]
