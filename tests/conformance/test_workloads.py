"""Deployments, StatefulSets, DaemonSets, pods and claims: what their controllers make of them."""

from __future__ import annotations

from typing import Any

import wire

Obj = dict[str, Any]
REVISION = "deployment.kubernetes.io/revision"
NEVER = {"example.com/no": "such-node"}


def apps(ns: str, plural: str, name: str = "") -> str:
    """The path of a workload."""
    return f"/apis/apps/v1/namespaces/{ns}/{plural}" + (f"/{name}" if name else "")


def core(ns: str, plural: str, name: str = "") -> str:
    """The path of a namespaced object of the core group."""
    return f"/api/v1/namespaces/{ns}/{plural}" + (f"/{name}" if name else "")


def workload(
    kind: str, name: str, *, image: str = "x:1", pod: Obj | None = None, **spec: Any
) -> Obj:
    """A workload of one container whose pods carry the label ``app``."""
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": image}], **(pod or {})},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }


def made(server: wire.Server, path: str, body: Obj) -> Obj:
    """Create an object."""
    answer = server.post(path, body)
    assert answer.code == 201, answer.text
    found: Obj = answer.body
    return found


def changed(server: wire.Server, path: str, patch: Any, **how: Any) -> Obj:
    """Patch an object."""
    answer = server.patch(path, patch, **how)
    assert answer.code == 200, answer.text
    found: Obj = answer.body
    return found


def listed(server: wire.Server, path: str, **query: Any) -> list[Obj]:
    """The objects of a collection."""
    found: list[Obj] = server.get(path, **query).body["items"]
    return found


def conditions(obj: Obj) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    found = obj["status"].get("conditions") or []
    return {c["type"]: (c["status"], c.get("reason", "")) for c in found}


def messages(server: wire.Server, ns: str, kind: str) -> list[str]:
    """The messages of the events about objects of a kind."""
    found = listed(server, core(ns, "events"), fieldSelector=f"involvedObject.kind={kind}")
    return [event["message"] for event in found]


def rolled_out(obj: Obj) -> bool:
    """Whether a deployment is complete in its latest generation."""
    status, wanted = obj["status"], obj["spec"]["replicas"]
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    seen = status.get("observedGeneration") == obj["metadata"]["generation"]
    return seen and counts == [wanted] * 3 and conditions(obj)["Progressing"][1] == DONE


DONE = "NewReplicaSetAvailable"
IMAGE = "/spec/template/spec/containers/0/image"


def set_image(image: str) -> list[Obj]:
    """A JSON patch of the image."""
    return [{"op": "replace", "path": IMAGE, "value": image}]


def test_deployment_becomes_available(server: wire.Server, ns: str) -> None:
    """A deployment has a replica set and ready pods; status, owners, labels and events say so."""
    body = workload("Deployment", "web", replicas=2)
    body["metadata"] |= {"labels": {"tier": "front"}, "annotations": {"note": "hi"}}
    uid = made(server, apps(ns, "deployments"), body)["metadata"]["uid"]
    found = server.until(apps(ns, "deployments", "web"), rolled_out)
    assert found["metadata"]["annotations"] == {REVISION: "1", "note": "hi"}
    status = dict(found["status"])
    told = {c["type"]: c for c in status.pop("conditions")}
    assert status == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
    }
    (replica_set,) = listed(server, apps(ns, "replicasets"))
    meta = replica_set["metadata"]
    assert set(told) == {"Available", "Progressing"}
    assert told["Available"]["status"] == told["Progressing"]["status"] == "True"
    assert told["Available"]["reason"] == "MinimumReplicasAvailable"
    assert told["Available"]["message"] == "Deployment has minimum availability."
    assert told["Progressing"]["message"] == (
        f'ReplicaSet "{meta["name"]}" has successfully progressed.'
    )
    digest = meta["labels"]["pod-template-hash"]
    assert meta["name"] == f"web-{digest}"
    assert meta["labels"] == {"app": "web", "pod-template-hash": digest}
    assert replica_set["spec"]["selector"]["matchLabels"] == meta["labels"]
    assert replica_set["spec"]["template"]["metadata"]["labels"] == meta["labels"]
    assert meta["annotations"] == {
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        REVISION: "1",
        "note": "hi",
    }
    owner = {"blockOwnerDeletion": True, "controller": True, "uid": uid}
    assert meta["ownerReferences"] == [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", **owner}
    ]
    final = server.until(
        apps(ns, "replicasets", meta["name"]), lambda obj: obj["status"].get("availableReplicas")
    )
    assert final["status"] == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }
    for pod in listed(server, core(ns, "pods")):
        assert pod["metadata"]["generateName"] == f"{meta['name']}-"
        assert pod["metadata"]["name"].startswith(pod["metadata"]["generateName"])
        assert pod["metadata"]["labels"] == meta["labels"]
        assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
        assert pod["metadata"]["ownerReferences"][0]["uid"] == meta["uid"]
    told_events = messages(server, ns, "Deployment")
    assert f"Scaled up replica set {meta['name']} from 0 to 2" in told_events
    assert all(m.startswith("Created pod: web-") for m in messages(server, ns, "ReplicaSet"))


def test_rollout_and_rollback(server: wire.Server, ns: str) -> None:
    """A new template gets a new replica set and revision; an old one its old replica set again."""
    path = apps(ns, "deployments", "web")
    made(server, apps(ns, "deployments"), workload("Deployment", "web", replicas=2))
    server.until(path, rolled_out)
    changed(server, path, set_image("x:2"), content_type=wire.JSON_PATCH)
    found = server.until(path, rolled_out)
    assert found["metadata"]["annotations"][REVISION] == "2"
    sets = {
        r["metadata"]["annotations"][REVISION]: r for r in listed(server, apps(ns, "replicasets"))
    }
    assert {revision: r["spec"]["replicas"] for revision, r in sets.items()} == {"1": 0, "2": 2}
    told = messages(server, ns, "Deployment")
    old, new = sets["1"]["metadata"]["name"], sets["2"]["metadata"]["name"]
    assert f"Scaled up replica set {new} from 0 to 1" in told
    assert f"Scaled down replica set {old} from 1 to 0" in told
    pods = server.until(core(ns, "pods"), lambda found: len(found["items"]) == 2)["items"]
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"x:2"}
    changed(server, path, set_image("x:1"), content_type=wire.JSON_PATCH)
    found = server.until(
        path, lambda obj: rolled_out(obj) and obj["metadata"]["annotations"][REVISION] == "3"
    )
    again = server.get(apps(ns, "replicasets", old)).body
    notes = again["metadata"]["annotations"]
    assert (notes[REVISION], notes["deployment.kubernetes.io/revision-history"]) == ("3", "1")
    assert len(listed(server, apps(ns, "replicasets"))) == 2
    empty = server.until(
        apps(ns, "replicasets", new),
        lambda obj: obj["status"]["replicas"] == obj["status"]["terminatingReplicas"] == 0,
    )
    assert empty["status"] == {
        "observedGeneration": empty["metadata"]["generation"],
        "replicas": 0,
        "terminatingReplicas": 0,
    }


def test_history_is_limited(server: wire.Server, ns: str) -> None:
    """Replica sets beyond revisionHistoryLimit are deleted."""
    path = apps(ns, "deployments", "web")
    body = workload("Deployment", "web", replicas=1, revisionHistoryLimit=0)
    made(server, apps(ns, "deployments"), body)
    server.until(path, rolled_out)
    changed(server, path, set_image("x:2"), content_type=wire.JSON_PATCH)
    server.until(apps(ns, "replicasets"), lambda found: _images(found) == ["x:2"])


def _images(found: Obj) -> list[str]:
    return [r["spec"]["template"]["spec"]["containers"][0]["image"] for r in found["items"]]


def test_scaling_is_no_rollout(server: wire.Server, ns: str) -> None:
    """Scaling to zero and back keeps the replica set; counts of zero are not written."""
    path = apps(ns, "deployments", "web")
    made(server, apps(ns, "deployments"), workload("Deployment", "web", replicas=2))
    server.until(path, rolled_out)
    scale = server.patch(f"{path}/scale", {"spec": {"replicas": 0}})
    assert (scale.code, scale.body["spec"]) == (200, {})
    found = server.until(
        path,
        lambda obj: (
            obj["status"].get("observedGeneration") == 2
            and "replicas" not in obj["status"]
            and obj["status"]["terminatingReplicas"] == 0
        ),
    )
    assert set(found["status"]) == {"conditions", "observedGeneration", "terminatingReplicas"}
    assert conditions(found) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", DONE),
    }
    server.until(core(ns, "pods"), lambda found: not found["items"])
    changed(server, path, {"spec": {"replicas": 1}})
    found = server.until(path, rolled_out)
    (replica_set,) = listed(server, apps(ns, "replicasets"))
    assert replica_set["metadata"]["annotations"][REVISION] == "1"
    name = replica_set["metadata"]["name"]
    told = messages(server, ns, "Deployment")
    assert f"Scaled down replica set {name} from 2 to 0" in told
    assert f"Scaled up replica set {name} from 0 to 1" in told


def test_paused_deployment_scales_but_does_not_roll_out(server: wire.Server, ns: str) -> None:
    """While paused a deployment changes its size only; the new template comes when resumed."""
    path = apps(ns, "deployments", "web")
    made(server, apps(ns, "deployments"), workload("Deployment", "web", replicas=1))
    server.until(path, rolled_out)
    changed(server, path, {"spec": {"paused": True}})
    found = server.until(path, lambda obj: conditions(obj)["Progressing"][0] == "Unknown")
    assert conditions(found)["Progressing"] == ("Unknown", "DeploymentPaused")
    changed(server, path, set_image("x:2"), content_type=wire.JSON_PATCH)
    changed(server, path, {"spec": {"replicas": 2}})
    found = server.until(path, lambda obj: obj["status"].get("availableReplicas") == 2)
    assert "updatedReplicas" not in found["status"]
    (only,) = listed(server, apps(ns, "replicasets"))
    assert only["spec"]["template"]["spec"]["containers"][0]["image"] == "x:1"
    changed(server, path, {"spec": {"paused": None}})
    server.until(path, rolled_out)
    assert len(listed(server, apps(ns, "replicasets"))) == 2


def test_recreate_ends_the_old_pods_first(server: wire.Server, ns: str) -> None:
    """With the strategy Recreate the old replica set is empty before the new one is filled."""
    path = apps(ns, "deployments", "web")
    body = workload("Deployment", "web", replicas=2, strategy={"type": "Recreate"})
    made(server, apps(ns, "deployments"), body)
    server.until(path, rolled_out)
    changed(server, path, set_image("x:2"), content_type=wire.JSON_PATCH)
    server.until(path, rolled_out)
    told = messages(server, ns, "Deployment")
    steps = sorted(m.partition("web-")[2].partition(" ")[2] for m in told)
    assert steps == ["from 0 to 2", "from 0 to 2", "from 2 to 0"]


def test_rollout_that_gets_nowhere(server: wire.Server, ns: str) -> None:
    """Pods that fit no node stay pending, and the deployment says that its deadline has passed."""
    path = apps(ns, "deployments", "web")
    pod = {"nodeSelector": NEVER}
    body = workload("Deployment", "web", replicas=1, progressDeadlineSeconds=1, pod=pod)
    made(server, apps(ns, "deployments"), body)
    found = server.until(path, lambda obj: conditions(obj).get("Progressing", ("",))[0] == "False")
    assert conditions(found) == {
        "Available": ("False", "MinimumReplicasUnavailable"),
        "Progressing": ("False", "ProgressDeadlineExceeded"),
    }
    assert found["status"]["unavailableReplicas"] == 1
    (replica_set,) = listed(server, apps(ns, "replicasets"))
    message = next(
        c["message"] for c in found["status"]["conditions"] if c["type"] == "Progressing"
    )
    assert message == f'ReplicaSet "{replica_set["metadata"]["name"]}" has timed out progressing.'
    (waiting,) = listed(server, core(ns, "pods"))
    assert (waiting["status"]["phase"], conditions(waiting)) == (
        "Pending",
        {"PodScheduled": ("False", "Unschedulable")},
    )
    told = waiting["status"]["conditions"][0]["message"]
    assert "nodes are available: " in told
    assert "node(s) didn't match Pod's node affinity/selector" in told
    assert told in messages(server, ns, "Pod")


def test_deleting_a_deployment_deletes_all_it_made(server: wire.Server, ns: str) -> None:
    """Replica sets and pods go with their deployment; orphaned ones are adopted by the next."""
    path = apps(ns, "deployments", "web")
    body = workload("Deployment", "web", replicas=1)
    made(server, apps(ns, "deployments"), body)
    server.until(path, rolled_out)
    (pod,) = listed(server, core(ns, "pods"))
    assert server.delete(path, propagationPolicy="Orphan").code == 200
    server.until_gone(path)
    (left,) = listed(server, apps(ns, "replicasets"))
    assert "ownerReferences" not in left["metadata"]
    uid = made(server, apps(ns, "deployments"), body)["metadata"]["uid"]
    server.until(path, rolled_out)
    (again,) = listed(server, apps(ns, "replicasets"))
    assert again["metadata"]["uid"] == left["metadata"]["uid"]
    assert again["metadata"]["ownerReferences"][0]["uid"] == uid
    assert listed(server, core(ns, "pods"))[0]["metadata"]["uid"] == pod["metadata"]["uid"]
    assert server.delete(path).code == 200
    server.until_gone(path)
    server.until_gone(apps(ns, "replicasets", left["metadata"]["name"]))
    server.until_gone(core(ns, "pods", pod["metadata"]["name"]))


def test_replica_set_replaces_and_releases_pods(server: wire.Server, ns: str) -> None:
    """A deleted pod is replaced; one whose labels do not match any more is let go."""
    path = apps(ns, "replicasets", "web")
    made(server, apps(ns, "replicasets"), workload("ReplicaSet", "web", replicas=1))
    server.until(path, lambda obj: obj["status"].get("readyReplicas") == 1)
    (first,) = listed(server, core(ns, "pods"))
    assert server.delete(core(ns, "pods", first["metadata"]["name"])).code == 200
    server.until_gone(core(ns, "pods", first["metadata"]["name"]))
    second = server.until(core(ns, "pods"), lambda found: len(found["items"]) == 1)["items"][0]
    name = second["metadata"]["name"]
    changed(server, core(ns, "pods", name), {"metadata": {"labels": {"app": "other"}}})
    server.until(core(ns, "pods", name), lambda pod: "ownerReferences" not in pod["metadata"])
    server.until(core(ns, "pods"), lambda found: len(found["items"]) == 2)


def test_pod_runs(server: wire.Server, ns: str) -> None:
    """A pod gets a node and an address and is ready; one that is not restarted succeeds."""
    spec = {
        "containers": [{"name": "c", "image": "x"}],
        "initContainers": [{"name": "i", "image": "y"}],
        "terminationGracePeriodSeconds": 0,
    }
    head = {"apiVersion": "v1", "kind": "Pod"}
    first = made(server, core(ns, "pods"), {**head, "metadata": {"name": "a"}, "spec": spec})
    assert first["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    once = {"restartPolicy": "Never"}
    made(server, core(ns, "pods"), {**head, "metadata": {"name": "b"}, "spec": spec | once})
    pod = server.until(core(ns, "pods", "a"), lambda obj: obj["status"]["phase"] == "Running")
    assert pod["spec"]["nodeName"] in [
        n["metadata"]["name"] for n in listed(server, "/api/v1/nodes")
    ]
    ready = ("True", "")
    assert conditions(pod) == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "PodScheduled"),
        ready,
    )
    status = pod["status"]
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["hostIPs"] == [{"ip": status["hostIP"]}]
    (container,) = status["containerStatuses"]
    started = container.pop("state")["running"]["startedAt"]
    assert started == status["startTime"]
    assert container == {
        "name": "c",
        "image": "x",
        "imageID": "",
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "started": True,
    }
    assert status["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
    assert f"Successfully assigned {ns}/a to {pod['spec']['nodeName']}" in messages(
        server, ns, "Pod"
    )
    done = server.until(core(ns, "pods", "b"), lambda obj: obj["status"]["phase"] == "Succeeded")
    assert conditions(done)["Ready"] == ("False", "PodCompleted")
    terminated = done["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (0, "Completed")
    for name in ("a", "b"):
        assert server.delete(core(ns, "pods", name)).code == 200
        server.until_gone(core(ns, "pods", name))


def test_pods_that_are_not_scheduled(server: wire.Server, ns: str) -> None:
    """A pod of another scheduler waits for that, one with gates until the last is opened."""
    head = {"apiVersion": "v1", "kind": "Pod"}
    spec = {"containers": [{"name": "c", "image": "x"}]}
    other = {**head, "metadata": {"name": "other"}, "spec": {**spec, "schedulerName": "other"}}
    made(server, core(ns, "pods"), other)
    gates = {"schedulingGates": [{"name": "example.com/gate"}]}
    gated = {**head, "metadata": {"name": "gated"}, "spec": {**spec, **gates}}
    found = made(server, core(ns, "pods"), gated)
    assert conditions(found) == {"PodScheduled": ("False", "SchedulingGated")}
    made(server, core(ns, "pods"), {**head, "metadata": {"name": "free"}, "spec": spec})
    server.until(core(ns, "pods", "free"), lambda pod: pod["status"]["phase"] == "Running")
    for name in ("other", "gated"):
        pod = server.get(core(ns, "pods", name)).body
        assert "nodeName" not in pod["spec"]
        assert pod["status"]["phase"] == "Pending"
    changed(server, core(ns, "pods", "gated"), {"spec": {"schedulingGates": None}})
    server.until(core(ns, "pods", "gated"), lambda pod: pod["status"]["phase"] == "Running")


def stateful(**spec: Any) -> Obj:
    """A StatefulSet with a claim for each pod."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": wanted}]
    return workload("StatefulSet", "db", serviceName="db", volumeClaimTemplates=claims, **spec)


def all_current(obj: Obj) -> bool:
    """Whether all pods of a StatefulSet are ready in the latest revision."""
    status, wanted = obj["status"], obj["spec"]["replicas"]
    names = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    same = status.get("currentRevision") == status.get("updateRevision")
    seen = status.get("observedGeneration") == obj["metadata"]["generation"]
    return same and seen and [status.get(name, 0) for name in names] == [wanted] * 5


def test_stateful_set_makes_numbered_pods_in_order(server: wire.Server, ns: str) -> None:
    """Pods come one after the other with their names, labels, host names and claims."""
    path = apps(ns, "statefulsets", "db")
    made(server, apps(ns, "statefulsets"), stateful(replicas=2))
    found = server.until(path, all_current)
    revision = found["status"]["currentRevision"]
    assert found["status"] == {
        "observedGeneration": 1,
        "replicas": 2,
        "readyReplicas": 2,
        "currentReplicas": 2,
        "updatedReplicas": 2,
        "availableReplicas": 2,
        "collisionCount": 0,
        "currentRevision": revision,
        "updateRevision": revision,
    }
    pods = listed(server, core(ns, "pods"))
    assert [pod["metadata"]["name"] for pod in pods] == ["db-0", "db-1"]
    for index, pod in enumerate(pods):
        assert pod["metadata"]["labels"] == {
            "app": "db",
            "apps.kubernetes.io/pod-index": str(index),
            "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": f"db-{index}",
        }
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == (f"db-{index}", "db")
        assert pod["spec"]["volumes"][0] == {
            "name": "data",
            "persistentVolumeClaim": {"claimName": f"data-db-{index}"},
        }
    (history,) = listed(server, apps(ns, "controllerrevisions"))
    assert history["metadata"]["name"] == revision
    assert history["revision"] == 1
    assert history["metadata"]["labels"]["app"] == "db"
    assert history["data"]["spec"]["template"]["$patch"] == "replace"
    claims = listed(server, core(ns, "persistentvolumeclaims"))
    assert [c["metadata"]["name"] for c in claims] == ["data-db-0", "data-db-1"]
    assert claims[0]["metadata"]["labels"] == {"app": "db"}
    assert "ownerReferences" not in claims[0]["metadata"]
    told = messages(server, ns, "StatefulSet")
    assert "Create Claim data-db-0 Pod db-0 in StatefulSet db success" in told
    assert "Create Pod db-1 in StatefulSet db successful" in told


def test_stateful_set_replaces_and_removes_from_the_end(server: wire.Server, ns: str) -> None:
    """An update replaces pods from the last one; scaling down takes the last and keeps claims."""
    path = apps(ns, "statefulsets", "db")
    made(server, apps(ns, "statefulsets"), stateful(replicas=2))
    first = server.until(path, all_current)["status"]["currentRevision"]
    partition = {"rollingUpdate": {"partition": 1}}
    changed(server, path, {"spec": {"updateStrategy": partition}})
    changed(server, path, set_image("x:2"), content_type=wire.JSON_PATCH)
    found = server.until(
        path,
        lambda obj: (
            obj["status"].get("updatedReplicas") == 1
            and obj["status"].get("readyReplicas") == 2
            and obj["status"]["updateRevision"] != first
        ),
    )
    assert found["status"]["currentRevision"] == first
    images = [p["spec"]["containers"][0]["image"] for p in listed(server, core(ns, "pods"))]
    assert images == ["x:1", "x:2"]
    changed(server, path, {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    found = server.until(path, all_current)
    assert found["status"]["currentRevision"] != first
    numbers = [r["revision"] for r in listed(server, apps(ns, "controllerrevisions"))]
    assert sorted(numbers) == [1, 2]
    changed(server, path, {"spec": {"replicas": 1}})
    server.until(path, all_current)
    assert [p["metadata"]["name"] for p in listed(server, core(ns, "pods"))] == ["db-0"]
    assert len(listed(server, core(ns, "persistentvolumeclaims"))) == 2
    assert "Delete Pod db-1 in StatefulSet db successful" in messages(server, ns, "StatefulSet")
    assert server.delete(path).code == 200
    server.until(core(ns, "pods"), lambda found: not found["items"])
    server.until(apps(ns, "controllerrevisions"), lambda found: not found["items"])
    assert len(listed(server, core(ns, "persistentvolumeclaims"))) == 2


def test_stateful_set_can_take_its_claims_along(server: wire.Server, ns: str) -> None:
    """With the retention policy Delete the claims go when the set shrinks or is deleted."""
    path = apps(ns, "statefulsets", "db")
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    body = stateful(
        replicas=2,
        podManagementPolicy="Parallel",
        persistentVolumeClaimRetentionPolicy=policy,
    )
    uid = made(server, apps(ns, "statefulsets"), body)["metadata"]["uid"]
    server.until(path, all_current)
    claim = server.get(core(ns, "persistentvolumeclaims", "data-db-0")).body
    owner = {"blockOwnerDeletion": True, "controller": True, "uid": uid}
    assert claim["metadata"]["ownerReferences"] == [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", **owner}
    ]
    changed(server, path, {"spec": {"replicas": 1}})
    server.until_gone(core(ns, "persistentvolumeclaims", "data-db-1"))
    server.delete(path)
    server.until_gone(core(ns, "persistentvolumeclaims", "data-db-0"))


def daemons_ready(obj: Obj) -> bool:
    """Whether a DaemonSet has ready pods of its latest template on all its nodes."""
    status = obj["status"]
    wanted = status.get("desiredNumberScheduled")
    counts = ("currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady")
    seen = status.get("observedGeneration") == obj["metadata"]["generation"]
    return bool(seen and wanted and all(status.get(name, 0) == wanted for name in counts))


def test_daemon_set_has_a_pod_on_every_node(server: wire.Server, ns: str) -> None:
    """One pod runs on every node that fits; an update replaces them one by one."""
    path = apps(ns, "daemonsets", "agent")
    nodes = {node["metadata"]["name"] for node in listed(server, "/api/v1/nodes")}
    made(server, apps(ns, "daemonsets"), workload("DaemonSet", "agent"))
    found = server.until(path, daemons_ready)
    count = len(nodes)
    assert found["status"] == {
        "observedGeneration": 1,
        "currentNumberScheduled": count,
        "desiredNumberScheduled": count,
        "numberAvailable": count,
        "numberMisscheduled": 0,
        "numberReady": count,
        "updatedNumberScheduled": count,
    }
    pods = listed(server, core(ns, "pods"))
    assert {pod["spec"]["nodeName"] for pod in pods} == nodes
    (history,) = listed(server, apps(ns, "controllerrevisions"))
    digest = history["metadata"]["labels"]["controller-revision-hash"]
    assert history["metadata"]["name"] == f"agent-{digest}"
    for pod in pods:
        marks = {"controller-revision-hash": digest, "pod-template-generation": "1"}
        assert pod["metadata"]["labels"] == {"app": "agent", **marks}
        assert pod["metadata"]["generateName"] == "agent-"
        tolerated = {toleration["key"] for toleration in pod["spec"]["tolerations"]}
        assert "node.kubernetes.io/unschedulable" in tolerated
    changed(server, path, set_image("x:2"), content_type=wire.JSON_PATCH)
    server.until(path, daemons_ready)
    images = {p["spec"]["containers"][0]["image"] for p in listed(server, core(ns, "pods"))}
    assert images == {"x:2"}
    only = sorted(nodes)[0]
    pin = {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": only}}}}}
    changed(server, path, pin)
    found = server.until(path, daemons_ready)
    assert found["status"]["desiredNumberScheduled"] == 1
    pods = server.until(core(ns, "pods"), lambda found: len(found["items"]) == 1)["items"]
    assert [pod["spec"]["nodeName"] for pod in pods] == [only]


def claim(name: str, **spec: Any) -> Obj:
    """A claim of 1 GiB."""
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}}
    return {**head, "spec": {**wanted, **spec}}


def user(name: str, claim_name: str) -> Obj:
    """A pod that uses a claim."""
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}
    spec = {"containers": [{"name": "c", "image": "x"}], "volumes": [volume]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def bound(obj: Obj) -> bool:
    """Whether a claim or a volume is bound."""
    return bool(obj.get("status", {}).get("phase") == "Bound")


def test_claim_gets_a_volume(server: wire.Server, ns: str) -> None:
    """A claim of the default class is bound to a new volume, which goes with it."""
    claims = core(ns, "persistentvolumeclaims")
    first = made(server, claims, claim("data"))
    assert first["status"] == {"phase": "Pending"}
    assert first["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    found = server.until(f"{claims}/data", bound)
    name = f"pvc-{first['metadata']['uid']}"
    assert found["spec"]["volumeName"] == name
    assert found["status"]["capacity"] == {"storage": "1Gi"}
    assert found["status"]["accessModes"] == ["ReadWriteOnce"]
    notes = found["metadata"]["annotations"]
    assert notes["pv.kubernetes.io/bind-completed"] == "yes"
    assert notes["pv.kubernetes.io/bound-by-controller"] == "yes"
    assert notes["volume.kubernetes.io/storage-provisioner"]
    volume = server.until(f"/api/v1/persistentvolumes/{name}", bound)
    assert volume["spec"]["claimRef"]["uid"] == first["metadata"]["uid"]
    assert volume["spec"]["storageClassName"] == found["spec"]["storageClassName"]
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    found = server.until(f"{claims}/data", lambda obj: conditions(obj))
    assert conditions(found) == {"Unused": ("True", "NoPodsUsingPVC")}
    made(server, core(ns, "pods"), user("p", "data"))
    server.until(f"{claims}/data", lambda obj: conditions(obj)["Unused"][0] == "False")
    assert server.delete(f"{claims}/data").code == 200
    server.until(core(ns, "pods", "p"), lambda pod: pod["status"]["phase"] == "Running")
    held = server.get(f"{claims}/data").body
    assert held["metadata"]["deletionTimestamp"]
    server.delete(core(ns, "pods", "p"))
    server.until_gone(f"{claims}/data")
    server.until_gone(f"/api/v1/persistentvolumes/{name}")


def test_pod_waits_for_its_claim(server: wire.Server, ns: str, unique: str) -> None:
    """A pod whose claim is missing or unbound is not scheduled, and says why."""
    made(server, core(ns, "pods"), user("a", "nope"))
    made(server, core(ns, "persistentvolumeclaims"), claim("data", storageClassName=unique))
    made(server, core(ns, "pods"), user("b", "data"))
    missing = 'persistentvolumeclaim "nope" not found. not found'
    unbound = "pod has unbound immediate PersistentVolumeClaims. not found"
    for name, problem in (("a", missing), ("b", unbound)):
        pod = server.until(core(ns, "pods", name), lambda obj: conditions(obj).get("PodScheduled"))
        told = pod["status"]["conditions"][0]["message"]
        assert told.endswith(f" nodes are available: {problem}")
    told = f'storageclass.storage.k8s.io "{unique}" not found'
    server.until(core(ns, "events"), lambda found: told in [e["message"] for e in found["items"]])


def test_claim_takes_a_volume_that_is_there(server: wire.Server, ns: str, unique: str) -> None:
    """A claim of a class that nobody provisions is bound to a free volume, and leaves it."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": unique},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "2Gi"},
            "hostPath": {"path": "/x"},
            "storageClassName": unique,
        },
    }
    path, claims = f"/api/v1/persistentvolumes/{unique}", core(ns, "persistentvolumeclaims")
    try:
        created = made(server, "/api/v1/persistentvolumes", volume)
        assert created["status"]["phase"] == "Pending"
        server.until(path, lambda obj: obj["status"]["phase"] == "Available")
        made(server, claims, claim("data", storageClassName=unique))
        found = server.until(f"{claims}/data", bound)
        assert found["spec"]["volumeName"] == unique
        assert found["status"]["capacity"] == {"storage": "2Gi"}
        assert "volume.kubernetes.io/storage-provisioner" not in found["metadata"]["annotations"]
        assert server.until(path, bound)["spec"]["claimRef"]["name"] == "data"
        server.delete(f"{claims}/data")
        server.until(path, lambda obj: obj["status"]["phase"] == "Released")
    finally:
        server.delete(path)
    server.until_gone(path)


def test_disruption_budget_counts_and_protects(server: wire.Server, ns: str) -> None:
    """The status of a budget follows the pods, and an eviction that breaks it answers 429."""
    path = f"/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    made(server, apps(ns, "deployments"), workload("Deployment", "web", replicas=2))
    budget = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    made(server, path, {**head, "metadata": {"name": "b"}, "spec": budget})
    found = server.until(f"{path}/b", lambda obj: obj["status"]["currentHealthy"] == 2)
    told = found["status"].pop("conditions")[0]
    assert found["status"] == {
        "observedGeneration": 1,
        "currentHealthy": 2,
        "desiredHealthy": 2,
        "disruptionsAllowed": 0,
        "expectedPods": 2,
    }
    assert (told["type"], told["status"], told["reason"], told["observedGeneration"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
        1,
    )
    name = listed(server, core(ns, "pods"))[0]["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    refused = server.post(core(ns, "pods", f"{name}/eviction"), eviction)
    assert refused.code == 429
    assert refused.body["reason"] == "TooManyRequests"
    assert refused.body["message"] == (
        "Cannot evict pod as it would violate the pod's disruption budget."
    )
    why = "The disruption budget b needs 2 healthy pods and has 2 currently"
    assert refused.body["details"]["causes"][0] == {"reason": "DisruptionBudget", "message": why}
    changed(server, f"{path}/b", {"spec": {"minAvailable": "50%"}})
    found = server.until(f"{path}/b", lambda obj: obj["status"]["disruptionsAllowed"] == 1)
    assert found["status"]["desiredHealthy"] == 1
    done = server.post(core(ns, "pods", f"{name}/eviction"), eviction)
    assert (done.code, done.body["status"]) == (201, "Success")
    server.until_gone(core(ns, "pods", name))
    changed(server, f"{path}/b", {"spec": {"minAvailable": None, "maxUnavailable": 0}})
    found = server.until(
        f"{path}/b",
        lambda obj: (
            obj["status"]["observedGeneration"] == 3 and obj["status"]["currentHealthy"] == 2
        ),
    )
    assert (found["status"]["desiredHealthy"], found["status"]["expectedPods"]) == (2, 2)
