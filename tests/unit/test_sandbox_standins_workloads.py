"""The stand-ins for StatefulSets, DaemonSets, ReplicaSets, claims, services and budgets."""

from __future__ import annotations

from typing import Any

import pytest
import sandbox_fakes as fakes

Obj = dict[str, Any]


@pytest.fixture
def lab() -> fakes.Lab:
    """Stand-ins at work."""
    return fakes.Lab()


def workload(lab: fakes.Lab, resource: str, **spec: Any) -> None:
    """Create a workload ``web``."""
    given = {"selector": fakes.SELECTOR, "template": fakes.template(), **spec}
    lab.create(resource, "web", spec=given)


def test_stateful_set_waits_for_each_pod(lab: fakes.Lab) -> None:
    """The next pod comes when the one before is available; in parallel all come at once."""
    slow = fakes.template(ready_after="10s")
    workload(lab, "statefulsets.apps", serviceName="web", replicas=2, template=slow)
    lab.run(5)
    assert lab.names("pods") == ["web-0"]
    lab.run(10)
    assert lab.names("pods") == ["web-0", "web-1"]
    lab.delete("statefulsets.apps", "web")
    lab.run()
    spec = {"serviceName": "web", "replicas": 2, "podManagementPolicy": "Parallel"}
    workload(lab, "statefulsets.apps", template=slow, **spec)
    lab.run(1)
    assert lab.names("pods") == ["web-0", "web-1"]


def test_stateful_set_with_a_failing_update_stops(lab: fakes.Lab) -> None:
    """The last pod is replaced by one that fails, and the others stay; a repair goes on."""
    workload(lab, "statefulsets.apps", serviceName="web", replicas=3)
    lab.run()
    lab.edit("statefulsets.apps", "web", template=fakes.template("x:2", fail="oh"))
    lab.run(60)
    images = [pod["spec"]["containers"][0]["image"] for pod in lab.pods()]
    assert images == ["x:1", "x:1", "x:2"]
    assert lab.status("statefulsets.apps", "web")["readyReplicas"] == 2


def test_stateful_set_on_delete_replaces_nothing_itself(lab: fakes.Lab) -> None:
    """With OnDelete a pod gets the new template when somebody deletes it."""
    strategy = {"type": "OnDelete"}
    workload(lab, "statefulsets.apps", serviceName="web", replicas=2, updateStrategy=strategy)
    lab.run()
    lab.edit("statefulsets.apps", "web", template=fakes.template("x:2"))
    lab.run()
    lab.delete("pods", "web-0")
    lab.run()
    assert [pod["spec"]["containers"][0]["image"] for pod in lab.pods()] == ["x:2", "x:1"]


def test_stateful_set_numbers_from_its_start(lab: fakes.Lab) -> None:
    """Ordinals may begin at another number."""
    workload(lab, "statefulsets.apps", serviceName="web", replicas=2, ordinals={"start": 5})
    lab.run()
    assert lab.names("pods") == ["web-5", "web-6"]


def test_history_of_revisions_is_limited(lab: fakes.Lab) -> None:
    """Old revisions go; one that comes back is used again with a new number."""
    workload(lab, "statefulsets.apps", serviceName="web", replicas=1, revisionHistoryLimit=1)
    for image in ("x:1", "x:2", "x:3", "x:2"):
        lab.edit("statefulsets.apps", "web", template=fakes.template(image))
        lab.run()
    found = lab.api.list("controllerrevisions.apps", "ns")
    assert sorted(one["revision"] for one in found) == [3, 4]


def test_daemon_set_follows_the_nodes(lab: fakes.Lab) -> None:
    """A new node gets a pod; tainted nodes do not, unless that is tolerated."""
    workload(lab, "daemonsets.apps")
    lab.run()
    lab.create("nodes", "node-4", namespace="")
    taint = {"key": "special", "effect": "NoSchedule"}
    lab.create("nodes", "node-5", namespace="", spec={"taints": [taint]})
    lab.run()
    status = lab.status("daemonsets.apps", "web")
    assert (status["desiredNumberScheduled"], status["numberReady"]) == (4, 4)
    tolerations = [{"key": "special", "operator": "Exists"}]
    lab.edit("daemonsets.apps", "web", template=fakes.template(spec={"tolerations": tolerations}))
    lab.run()
    assert lab.status("daemonsets.apps", "web")["numberReady"] == 5


def test_daemon_set_with_a_failing_update_stops(lab: fakes.Lab) -> None:
    """Not more pods than maxUnavailable are replaced."""
    workload(lab, "daemonsets.apps")
    lab.run()
    lab.edit("daemonsets.apps", "web", template=fakes.template("x:2", ready_after="never"))
    lab.run(60)
    status = lab.status("daemonsets.apps", "web")
    assert (status["numberAvailable"], status["updatedNumberScheduled"]) == (2, 1)


def test_replica_set_gives_up_the_least_useful_pods(lab: fakes.Lab) -> None:
    """Pods that wait go before pods that run."""
    workload(lab, "replicasets.apps", replicas=1)
    lab.run()
    (useful,) = lab.names("pods")
    template = fakes.template(spec={"nodeSelector": {"no": "where"}})
    lab.edit("replicasets.apps", "web", replicas=3, template=template)
    lab.run()
    lab.edit("replicasets.apps", "web", replicas=1)
    lab.run()
    assert lab.names("pods") == [useful]
    assert len(lab.events("ReplicaSet", "SuccessfulDelete")) == 2


def test_replica_set_replaces_pods_that_failed(lab: fakes.Lab) -> None:
    """A failed pod is no replica."""
    workload(lab, "replicasets.apps", replicas=1)
    lab.run()
    (pod,) = lab.pods()
    lab.api.update_status("pods", {**pod, "status": {**pod["status"], "phase": "Failed"}})
    lab.run()
    assert lab.status("replicasets.apps", "web")["readyReplicas"] == 1
    assert len(lab.pods()) == 2


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def storage_class(lab: fakes.Lab, mode: str) -> None:
    """Create the class ``fast``."""
    lab.create(
        "storageclasses.storage.k8s.io",
        "fast",
        namespace="",
        provisioner="p",
        volumeBindingMode=mode,
    )


def test_claim_is_bound_when_its_class_appears(lab: fakes.Lab) -> None:
    """A claim of an unknown class waits for it."""
    lab.create("persistentvolumeclaims", "c", spec={**CLAIM, "storageClassName": "fast"})
    lab.run()
    assert lab.status("persistentvolumeclaims", "c")["phase"] == "Pending"
    storage_class(lab, "Immediate")
    lab.run()
    assert lab.status("persistentvolumeclaims", "c")["phase"] == "Bound"


def test_claim_may_wait_for_its_first_user(lab: fakes.Lab) -> None:
    """With WaitForFirstConsumer the volume comes with the pod."""
    storage_class(lab, "WaitForFirstConsumer")
    lab.create("persistentvolumeclaims", "c", spec={**CLAIM, "storageClassName": "fast"})
    lab.run()
    assert lab.status("persistentvolumeclaims", "c")["phase"] == "Pending"
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    lab.create("pods", "p", spec=fakes.template(spec={"volumes": [volume]})["spec"])
    lab.run()
    assert lab.status("persistentvolumeclaims", "c")["phase"] == "Bound"
    assert lab.status("pods", "p")["phase"] == "Running"


def test_claim_takes_the_smallest_volume_that_fits(lab: fakes.Lab) -> None:
    """Too small, too different or taken volumes are left; labels are looked at."""
    for name, size, labels in (
        ("a", "500Mi", "x"),
        ("b", "9Gi", "x"),
        ("c", "2Gi", "x"),
        ("d", "1Gi", "y"),
    ):
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "hostPath": {"path": "/"},
        }
        lab.create(
            "persistentvolumes", name, namespace="", meta={"labels": {"l": labels}}, spec=spec
        )
    lab.run()
    selector = {"matchLabels": {"l": "x"}}
    lab.create(
        "persistentvolumeclaims", "c", spec={**CLAIM, "storageClassName": "", "selector": selector}
    )
    lab.run()
    assert lab.get("persistentvolumeclaims", "c")["spec"]["volumeName"] == "c"
    phases = {
        v["metadata"]["name"]: v["status"]["phase"] for v in lab.api.list("persistentvolumes")
    }
    assert phases == {"a": "Available", "b": "Available", "c": "Bound", "d": "Available"}


def test_budget_counts_pods_of_controllers(lab: fakes.Lab) -> None:
    """A share is one of the replicas that the controllers are to have."""
    workload(lab, "deployments.apps", replicas=4)
    spec = {"maxUnavailable": "50%", "selector": fakes.SELECTOR}
    lab.create("poddisruptionbudgets.policy", "b", spec=spec)
    lab.run()
    status = lab.status("poddisruptionbudgets.policy", "b")
    told = [status[f] for f in ("expectedPods", "desiredHealthy", "disruptionsAllowed")]
    assert told == [4, 2, 2]
    lab.edit("deployments.apps", "web", replicas=8)
    lab.run()
    assert lab.status("poddisruptionbudgets.policy", "b")["expectedPods"] == 8


def test_namespace_gets_its_account_and_authority_back(lab: fakes.Lab) -> None:
    """Both are made again when they are deleted, and the data is set right."""
    assert lab.get("configmaps", "kube-root-ca.crt")["data"] == {"ca.crt": "CA"}
    lab.delete("serviceaccounts", "default")
    found = lab.get("configmaps", "kube-root-ca.crt")
    lab.api.update("configmaps", {**found, "data": {"ca.crt": "other"}})
    lab.run()
    assert lab.find("serviceaccounts", "default")
    assert lab.get("configmaps", "kube-root-ca.crt")["data"] == {"ca.crt": "CA"}
