"""kubectl and workloads: run, scale, roll out, wait, expose, and the generators of create."""

from __future__ import annotations

import base64
import json
from typing import Any

import kubectls
import pytest
import wire

pytestmark = pytest.mark.kubectl


def test_a_deployment_rolls_out_and_back(kubectl: kubectls.Kubectl) -> None:
    """create, rollout status, set image, history, undo, pause, resume and restart."""
    kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=2")
    status = ("rollout", "status", "deployment/web", "--timeout=60s")
    assert 'deployment "web" successfully rolled out' in kubectl(*status)
    assert kubectl("set", "image", "deployment/web", "nginx=nginx:2") == (
        "deployment.apps/web image updated\n"
    )
    kubectl(*status)
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert kubectl("get", "deployment", "web", "-o", image) == "nginx:2"
    history = kubectls.table(kubectl("rollout", "history", "deployment/web"))
    assert [row[0] for row in history[2:]] == ["1", "2"]
    assert "nginx:1" in kubectl("rollout", "history", "deployment/web", "--revision=1")
    assert kubectl("rollout", "undo", "deployment/web") == "deployment.apps/web rolled back\n"
    kubectl(*status)
    assert kubectl("get", "deployment", "web", "-o", image) == "nginx:1"
    history = kubectls.table(kubectl("rollout", "history", "deployment/web"))
    assert [row[0] for row in history[2:]] == ["2", "3"]
    assert kubectl("rollout", "pause", "deployment/web") == "deployment.apps/web paused\n"
    paused = kubectl.fails("rollout", "restart", "deployment/web")
    assert "can't restart paused deployment" in paused
    assert kubectl("rollout", "resume", "deployment/web") == "deployment.apps/web resumed\n"
    assert kubectl("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    kubectl(*status)
    stamp = "jsonpath={.spec.template.metadata.annotations}"
    assert "kubectl.kubernetes.io/restartedAt" in kubectl("get", "deploy", "web", "-o", stamp)
    found = kubectls.table(kubectl("get", "deployment", "web"))
    assert found[1][:4] == ["web", "2/2", "2", "2"]


def test_scale_changes_replicas(kubectl: kubectls.Kubectl, crd: Any) -> None:
    """Of built-in kinds and of custom ones with that subresource; a precondition may be given."""
    kubectl("create", "deployment", "web", "--image=nginx")
    assert kubectl("scale", "deployment/web", "--replicas=3") == "deployment.apps/web scaled\n"
    kubectl("wait", "--for=jsonpath={.status.readyReplicas}=3", "deployment/web")
    wrong = kubectl.fails("scale", "deployment/web", "--replicas=1", "--current-replicas=2")
    assert "Expected replicas to be 2, was 3" in wrong
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    path = crd(subresources={"scale": paths})
    group = path.split("/")[2]
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}}
    kubectl.apply({**thing, "spec": {"size": 1}})
    told = kubectl("scale", f"things.{group}/t", "--replicas=5")
    assert told == f"thing.{group}/t scaled\n"
    assert kubectl.read(f"things.{group}", "t")["spec"]["size"] == 5


def test_autoscale_makes_an_autoscaler(kubectl: kubectls.Kubectl) -> None:
    """Of the version that both the client and the server know."""
    kubectl("create", "deployment", "web", "--image=nginx")
    told = kubectl("autoscale", "deployment", "web", "--min=2", "--max=4", "--cpu-percent=70")
    assert "horizontalpodautoscaler.autoscaling/web autoscaled" in told
    spec = kubectl.read("hpa", "web")["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 4)
    assert spec["metrics"][0]["resource"]["target"]["averageUtilization"] == 70
    found = kubectls.table(kubectl("get", "hpa"))
    assert found[1][1:5] == ["Deployment/web", "cpu: <unknown>/70%", "2", "4"]


def test_run_and_expose(kubectl: kubectls.Kubectl) -> None:
    """A pod that becomes ready, and services for what is there."""
    assert kubectl("run", "p", "--image=nginx", "--port=80", "--labels=a=b") == "pod/p created\n"
    kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=60s")
    assert kubectls.table(kubectl("get", "pod", "p"))[1][:4] == ["p", "1/1", "Running", "0"]
    assert kubectl("expose", "pod", "p", "--name=svc") == "service/svc exposed\n"
    service = kubectl.read("service", "svc")["spec"]
    assert (service["selector"], service["ports"][0]["port"]) == ({"a": "b"}, 80)
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("expose", "deployment", "web", "--port=8080", "--target-port=80", "--type=NodePort")
    found = kubectls.table(kubectl("get", "service", "web"))
    assert found[1][1] == "NodePort"
    assert found[1][4].startswith("8080:3")
    told = kubectl("delete", "pod", "p", "--now")
    assert told.startswith('pod "p" deleted')


def test_wait_ends_when_what_it_waits_for_holds(kubectl: kubectls.Kubectl) -> None:
    """A condition, a value, an object's coming and its end; otherwise it gives up."""
    with kubectl.running("wait", "--for=create", "deployment/web", "--timeout=60s") as output:
        kubectl("create", "deployment", "web", "--image=nginx")
        assert output.ends() == "deployment.apps/web condition met\n"
    met = "deployment.apps/web condition met\n"
    assert kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s") == met
    phase = "--for=jsonpath={.status.phase}=Running"
    assert "condition met" in kubectl("wait", phase, "pod", "-l", "app=web", "--timeout=60s")
    late = kubectl.fails("wait", "--for=condition=Nope", "deployment/web", "--timeout=1s")
    assert late == "error: timed out waiting for the condition on deployments/web\n"
    with kubectl.running("wait", "--for=delete", "deployment/web", "--timeout=60s") as output:
        kubectl("delete", "deployment", "web", "--wait=false")
        output.ends()
    missing = kubectl.fails("wait", "--for=condition=Available", "deployment/web")
    assert missing == 'Error from server (NotFound): deployments.apps "web" not found\n'


def test_delete_takes_dependents_along_or_leaves_them(kubectl: kubectls.Kubectl) -> None:
    """In the background, before the owner goes, or not at all."""
    deploy = ("create", "deployment", "web", "--image=nginx")
    ready = ("rollout", "status", "deployment/web", "--timeout=60s")
    kubectl(*deploy)
    kubectl(*ready)
    kubectl("delete", "deployment", "web", "--cascade=orphan")
    sets = kubectl.read("rs", "-l", "app=web")["items"]
    assert len(sets) == 1
    assert "ownerReferences" not in sets[0]["metadata"]
    kubectl(*deploy)
    kubectl(*ready)
    adopted = kubectl.read("rs", "-l", "app=web")["items"]
    assert [s["metadata"]["uid"] for s in adopted] == [sets[0]["metadata"]["uid"]]
    kubectl("delete", "deployment", "web", "--cascade=foreground")
    assert kubectl("get", "rs,pods", "-l", "app=web", "-o", "name") == ""
    kubectl(*deploy)
    kubectl(*ready)
    kubectl("delete", "deployment", "web")
    kubectl("wait", "--for=delete", "rs", "-l", "app=web", "--timeout=60s")


def test_jobs_are_made_and_end(kubectl: kubectls.Kubectl) -> None:
    """A job by itself, and one from a cron job, which owns it."""
    kubectl("create", "job", "once", "--image=busybox", "--", "true")
    kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=60s")
    assert kubectls.table(kubectl("get", "job", "once"))[1][:3] == ["once", "Complete", "1/1"]
    kubectl("create", "cronjob", "cron", "--image=busybox", "--schedule=1 1 1 1 *")
    assert kubectl("create", "job", "now", "--from=cronjob/cron") == "job.batch/now created\n"
    owner = kubectl.read("job", "now")["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("CronJob", "cron")
    kubectl("wait", "--for=condition=Complete", "job/now", "--timeout=60s")


def test_create_has_generators(kubectl: kubectls.Kubectl, tmp_path: Any) -> None:
    """Config maps, secrets, accounts with tokens, roles, and more."""
    (tmp_path / "file.txt").write_text("content")
    kubectl("create", "cm", "c", "--from-literal=a=b", f"--from-file={tmp_path}/file.txt")
    assert kubectl.read("cm", "c")["data"] == {"a": "b", "file.txt": "content"}
    kubectl("create", "secret", "generic", "s", "--from-literal=a=b")
    assert kubectl.read("secret", "s")["data"] == {"a": base64.b64encode(b"b").decode()}
    kubectl("create", "sa", "robot")
    token = kubectl("create", "token", "robot", "--duration=1h").strip()
    claims = token.split(".")[1]
    decoded = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert decoded["sub"] == f"system:serviceaccount:{kubectl.namespace}:robot"
    missing = kubectl.fails("create", "token", "nosuch")
    assert missing.startswith('error: failed to create token: serviceaccounts "nosuch" not found')
    kubectl("create", "role", "r", "--verb=get", "--resource=pods,deployments.apps/scale")
    rules = kubectl.read("role", "r")["rules"]
    assert rules[1]["resources"] == ["deployments/scale"]
    kubectl("create", "rolebinding", "rb", "--role=r", "--user=u")
    kubectl("create", "quota", "q", "--hard=pods=10")
    kubectl("create", "pdb", "p", "--selector=a=b", "--min-available=1")
    kubectl("create", "ingress", "i", "--rule=foo.example/*=svc:80")
    kubectl("create", "service", "clusterip", "svc", "--tcp=80:8080")
    assert kubectl.read("service", "svc")["spec"]["ports"][0]["targetPort"] == 8080
    assert kubectls.table(kubectl("get", "ingress", "i"))[1][2] == "foo.example"


def test_nodes_are_closed_and_opened(
    kubectl: kubectls.Kubectl, server: wire.Server, unique: str
) -> None:
    """cordon and uncordon; taints and labels of nodes."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": unique}}
    taint = {"key": "example.com/mine", "effect": "NoSchedule"}
    server.post("/api/v1/nodes", {**node, "spec": {"unschedulable": True, "taints": [taint]}})
    try:
        assert kubectl("uncordon", unique) == f"node/{unique} uncordoned\n"
        assert kubectl("cordon", unique) == f"node/{unique} cordoned\n"
        assert "SchedulingDisabled" in kubectl("get", "node", unique)
        kubectl("taint", "node", unique, "other=x:NoSchedule")
        keys = {t["key"] for t in kubectl.read("node", unique)["spec"]["taints"]}
        assert {"example.com/mine", "other"} <= keys
        assert f"node/{unique} drained" in kubectl("drain", unique, "--ignore-daemonsets")
    finally:
        server.delete(f"/api/v1/nodes/{unique}")
