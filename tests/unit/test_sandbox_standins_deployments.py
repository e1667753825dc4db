"""The stand-in for the deployment controller."""

from __future__ import annotations

from typing import Any

import pytest
import sandbox_fakes as fakes

Obj = dict[str, Any]
SETS = "replicasets.apps"


def reasons(obj: Obj) -> dict[str, str]:
    """The reason of each condition."""
    return {c["type"]: c["reason"] for c in obj.get("status", {}).get("conditions", ())}


def deploy(lab: fakes.Lab, **spec: Any) -> None:
    """Create the deployment ``web``."""
    given = {"replicas": 2, "selector": fakes.SELECTOR, "template": fakes.template(), **spec}
    lab.create("deployments.apps", "web", spec=given)


@pytest.fixture
def lab() -> fakes.Lab:
    """Stand-ins at work."""
    return fakes.Lab()


def test_states_come_in_order(lab: fakes.Lab) -> None:
    """A watch sees the deployment progress from created over updated to complete."""
    deploy(lab)
    lab.run()
    seen = [reasons(obj) for obj in lab.history("deployments.apps", "web")]
    progress = list(dict.fromkeys(one.get("Progressing", "") for one in seen))
    assert progress == ["", "NewReplicaSetCreated", "ReplicaSetUpdated", "NewReplicaSetAvailable"]
    available = list(dict.fromkeys(one.get("Available", "") for one in seen))
    assert available == ["", "MinimumReplicasUnavailable", "MinimumReplicasAvailable"]
    assert lab.status("deployments.apps", "web")["availableReplicas"] == 2


def test_nothing_is_written_when_nothing_changes(lab: fakes.Lab) -> None:
    """Once complete a deployment is left alone."""
    deploy(lab)
    lab.run()
    lab.changes.clear()
    lab.run(1000)
    assert lab.changes == []


def test_pods_that_are_ready_too_shortly_do_not_count(lab: fakes.Lab) -> None:
    """With minReadySeconds pods become available when they have been ready for so long."""
    deploy(lab, minReadySeconds=10)
    lab.run(5)
    status = lab.status("deployments.apps", "web")
    assert (status["readyReplicas"], status.get("availableReplicas")) == (2, None)
    lab.run(10)
    assert lab.status("deployments.apps", "web")["availableReplicas"] == 2


def test_never_ready_template_runs_into_the_deadline(lab: fakes.Lab) -> None:
    """A rollout of pods that never are ready says ProgressDeadlineExceeded, and then recovers."""
    deploy(lab, template=fakes.template(ready_after="never"), progressDeadlineSeconds=30)
    lab.run(25)
    assert reasons(lab.get("deployments.apps", "web"))["Progressing"] == "ReplicaSetUpdated"
    lab.run(10)
    assert reasons(lab.get("deployments.apps", "web")) == {
        "Available": "MinimumReplicasUnavailable",
        "Progressing": "ProgressDeadlineExceeded",
    }
    lab.edit("deployments.apps", "web", template=fakes.template("x:2"))
    lab.run()
    assert reasons(lab.get("deployments.apps", "web"))["Progressing"] == "NewReplicaSetAvailable"


def test_failed_rollout_keeps_what_works(lab: fakes.Lab) -> None:
    """While new pods fail the old ones that must be available stay."""
    deploy(lab, replicas=4)
    lab.run()
    lab.edit("deployments.apps", "web", template=fakes.template("x:2", fail="no disk"))
    lab.run(60)
    sizes = {
        obj["spec"]["template"]["spec"]["containers"][0]["image"]: obj["spec"]["replicas"]
        for obj in lab.api.list(SETS, "ns")
    }
    assert sizes == {"x:1": 3, "x:2": 2}
    assert lab.status("deployments.apps", "web")["availableReplicas"] == 3


def test_scaling_while_paused_gives_the_rest_to_the_newest(lab: fakes.Lab) -> None:
    """Of two active replica sets the newer one grows."""
    deploy(lab, replicas=4)
    lab.run()
    lab.edit("deployments.apps", "web", template=fakes.template("x:2", ready_after="never"))
    lab.run()
    lab.edit("deployments.apps", "web", paused=True)
    lab.run()
    lab.edit("deployments.apps", "web", replicas=6)
    lab.run()
    assert sorted(obj["spec"]["replicas"] for obj in lab.api.list(SETS, "ns")) == [3, 3]


def test_refused_pods_are_told(lab: fakes.Lab) -> None:
    """What the API refuses becomes the condition ReplicaFailure, until it is allowed."""
    deploy(lab, template=fakes.template(spec={"serviceAccountName": "builder"}))
    lab.run()
    found = lab.get("deployments.apps", "web")
    assert reasons(found)["ReplicaFailure"] == "FailedCreate"
    assert 'serviceaccount "builder" not found' in lab.events("ReplicaSet", "FailedCreate")[0]
    lab.create("serviceaccounts", "builder")
    lab.run()
    assert "ReplicaFailure" not in reasons(lab.get("deployments.apps", "web"))


def test_deployment_without_deadline_has_no_progress(lab: fakes.Lab) -> None:
    """The largest number as a deadline means that progress is not looked at."""
    deploy(lab, progressDeadlineSeconds=2**31 - 1)
    lab.run()
    assert reasons(lab.get("deployments.apps", "web")) == {"Available": "MinimumReplicasAvailable"}


def test_annotations_of_the_deployment_are_handed_down(lab: fakes.Lab) -> None:
    """A changed annotation reaches the replica set without a rollout."""
    deploy(lab)
    lab.run()
    meta = {**lab.get("deployments.apps", "web")["metadata"]}
    meta["annotations"] = {**meta["annotations"], "kubernetes.io/change-cause": "because"}
    lab.api.update("deployments.apps", {**lab.get("deployments.apps", "web"), "metadata": meta})
    lab.run()
    (found,) = lab.api.list(SETS, "ns")
    assert found["metadata"]["annotations"]["kubernetes.io/change-cause"] == "because"
