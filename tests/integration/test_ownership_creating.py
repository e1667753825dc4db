"""What runs create through the proxy has its owner, whichever way it is created."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ownership_lab
import pytest
from ownership_lab import APPLY, PROTOBUF, YAML, Lab, configmap, owners, reference

from ansible_operator import children, objects
from ansible_operator.kube.proxy import interceptor, representation
from ansible_operator.testing import controlplane

LEASES = "/apis/coordination.k8s.io/v1"


@pytest.fixture
def lab(control_plane: controlplane.ControlPlane, namespace: str) -> Iterator[Lab]:
    """A proxy that injects."""
    with ownership_lab.started(control_plane.client, namespace) as found:
        yield found


def lease(name: str, **meta: Any) -> ownership_lab.Obj:
    """A Lease, which may be created by PUT."""
    metadata = {"name": name, **meta}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}


def test_json(lab: Lab) -> None:
    """A POST of JSON: owned, everything else as it was sent, and reported."""
    owner = lab.owner()
    sent = configmap("x", labels={"a": "b"}, annotations={"n": "1e400"})
    answer = lab.run(owner).call("POST", lab.path("configmaps"), sent)
    assert answer.code == 201
    found = lab.get(lab.path("configmaps", "x"))
    assert owners(found) == [reference(owner)]
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["metadata"]["annotations"] == {"n": "1e400"}
    assert found["data"] == {"a": "b"}
    assert lab.heard.owned == [("one", "configmaps", children.Tie.REFERENCE)]
    (write,) = lab.heard.writes
    told = (write.verb, write.namespace, write.name, write.uid, write.resource_version)
    meta = found["metadata"]
    assert told == ("create", lab.namespace, "x", meta["uid"], meta["resourceVersion"])


@pytest.mark.case("K5")
def test_yaml(lab: Lab) -> None:
    """A POST of YAML: owned, and words that YAML libraries disagree about are what they were."""
    owner = lab.owner()
    text = (
        "apiVersion: v1\nkind: ConfigMap  # one\nmetadata:\n  name: text\n  labels: {a: 'on'}\n"
        "data:\n  date: '2020-01-01'\n  flag: 'yes'\n"
    )
    answer = lab.run(owner).call("POST", lab.path("configmaps"), text, YAML)
    assert answer.code == 201, answer.raw
    found = lab.get(lab.path("configmaps", "text"))
    assert owners(found) == [reference(owner)]
    assert found["data"] == {"date": "2020-01-01", "flag": "yes"}
    assert found["metadata"]["labels"] == {"a": "on"}


def test_generated_names(lab: Lab) -> None:
    """The server chooses the name, which the report has."""
    owner = lab.owner()
    sent = configmap("", generateName="g-")
    answer = lab.run(owner).call("POST", lab.path("configmaps"), sent)
    assert owners(answer.body) == [reference(owner)]
    assert lab.heard.writes[0].name == objects.name(answer.body) != ""


def test_others_are_kept(lab: Lab) -> None:
    """Whoever is named as owner already stays named; an owner is not named twice."""
    owner, other = lab.owner("one"), lab.owner("two")
    own = {**reference(owner), "controller": True}
    sent = configmap("kept", ownerReferences=[reference(other), own])
    answer = lab.run(owner).call("POST", lab.path("configmaps"), sent)
    assert owners(answer.body) == [reference(other), own]
    sent = configmap("added", ownerReferences=[reference(other)])
    answer = lab.run(owner).call("POST", lab.path("configmaps"), sent)
    assert owners(answer.body) == [reference(other), reference(owner)]


def test_across_namespaces(lab: Lab, control_plane: controlplane.ControlPlane) -> None:
    """A child elsewhere or of the whole cluster has the two annotations, and no reference."""
    owner = lab.owner(namespace="elsewhere")
    run = lab.run(owner)
    wanted = {
        "operator-sdk/primary-resource": "elsewhere/one",
        "operator-sdk/primary-resource-type": "Owner.test.example.com",
        "own": "x",
    }
    sent = configmap("far", annotations={"own": "x"})
    answer = run.call("POST", lab.path("configmaps"), sent)
    assert (answer.body["metadata"]["annotations"], owners(answer.body)) == (wanted, [])
    name = f"r{lab.namespace}"
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    answer = run.call("POST", roles, {**role, "metadata": {"name": name}})
    control_plane.client.request("DELETE", f"{roles}/{name}")
    assert answer.body["metadata"]["annotations"].items() <= wanted.items()
    assert owners(answer.body) == []
    ties = [tie for _, _, tie in lab.heard.owned]
    assert ties == [children.Tie.ANNOTATION, children.Tie.ANNOTATION]


def test_cluster_scoped_owner(lab: Lab, control_plane: controlplane.ControlPlane) -> None:
    """It can be named by everything."""
    owner = lab.owner(namespace="")
    run = lab.run(owner)
    answer = run.call("POST", lab.path("configmaps"), configmap("x"))
    assert owners(answer.body) == [reference(owner)]
    name = f"s{lab.namespace}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    answer = run.call("POST", "/api/v1/namespaces", body)
    control_plane.delete_namespace(name)
    assert owners(answer.body) == [reference(owner)]
    assert "annotations" not in answer.body["metadata"]


def test_put_creates(lab: Lab) -> None:
    """A PUT of what is not there creates it with its owner."""
    owner = lab.owner()
    path = lab.path("leases", "p", LEASES)
    answer = lab.run(owner).call("PUT", path, lease("p"))
    assert (answer.code, owners(answer.body)) == (201, [reference(owner)])
    assert lab.heard.verbs == [("create", "leases.coordination.k8s.io", "p")]


def test_put_replaces(lab: Lab) -> None:
    """A PUT keeps the owners, whoever's it is, unless its body says who the owners are."""
    owner, other = lab.owner("one"), lab.owner("two")
    run, path = lab.run(owner), lab.path("configmaps", "x")
    run.call("POST", lab.path("configmaps"), configmap("x"))
    answer = run.call("PUT", path, configmap("x", labels={"new": "yes"}))
    assert (answer.code, owners(answer.body)) == (200, [reference(owner)])
    assert answer.body["metadata"]["labels"] == {"new": "yes"}
    answer = lab.run(other).call("PUT", path, configmap("x"))
    assert (answer.code, owners(answer.body)) == (200, [reference(owner)])
    answer = lab.run(other).call("PUT", path, configmap("x", ownerReferences=[]))
    assert (answer.code, owners(answer.body)) == (200, [])
    answer = run.call("PUT", path, configmap("x"))
    assert owners(answer.body) == []


def test_put_keeps_annotations(lab: Lab) -> None:
    """The same for a child in another namespace, also when another owner's run replaces it."""
    owner, other = lab.owner(namespace="elsewhere"), lab.owner("two", namespace="there")
    run, path = lab.run(owner), lab.path("configmaps", "x")
    run.call("POST", lab.path("configmaps"), configmap("x"))
    for replacing in (run, lab.run(other)):
        answer = replacing.call("PUT", path, configmap("x"))
        assert answer.body["metadata"]["annotations"]["operator-sdk/primary-resource"] == (
            "elsewhere/one"
        )


def test_apply(lab: Lab) -> None:
    """Server-side apply owns what it creates, and goes on to when it is applied again."""
    owner, other = lab.owner("one"), lab.owner("two")
    run, path = lab.run(owner), lab.path("configmaps", "x")
    answer = run.apply(path, configmap("x"))
    assert (answer.code, owners(answer.body)) == (201, [reference(owner)])
    answer = run.apply(path, configmap("x", labels={"a": "b"}))
    assert (answer.code, owners(answer.body)) == (200, [reference(owner)])
    answer = lab.run(other).apply(path, configmap("x", labels={"c": "d"}), manager="b")
    assert (answer.code, owners(answer.body)) == (200, [reference(owner)])
    assert [verb for verb, _, _ in lab.heard.verbs] == ["create", "patch", "patch"]
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\n"
    answer = run.apply(lab.path("configmaps", "applied"), text)
    assert owners(answer.body) == [reference(owner)]


def test_applied_by_the_runs_of_two_owners(lab: Lab) -> None:
    """The same field manager in the run of another owner takes nobody's ownership away."""
    near, far = lab.owner("one"), lab.owner("two", namespace="elsewhere")
    path, apart = lab.path("configmaps", "x"), lab.path("configmaps", "y")
    first, second = lab.run(near), lab.run(far)
    first.apply(path, configmap("x"))
    second.apply(apart, configmap("y"))
    answer = second.apply(path, configmap("x", labels={"a": "b"}))
    assert (answer.code, owners(answer.body)) == (200, [reference(near)])
    answer = first.apply(apart, configmap("y"))
    named = answer.body["metadata"]["annotations"]
    assert named["operator-sdk/primary-resource"] == "elsewhere/two"
    answer = second.apply(path, configmap("x", ownerReferences=[]))
    assert owners(answer.body) == []


def test_applied_over_what_others_manage(lab: Lab) -> None:
    """An owner that another manager has named stays that manager's, and is not applied."""
    other = lab.owner("two")
    sent = configmap("x", ownerReferences=[reference(other)])
    lab.client.request("POST", lab.path("configmaps"), body=sent)
    run, path = lab.run(lab.owner("one")), lab.path("configmaps", "x")
    answer = run.apply(path, configmap("x"))
    assert (answer.code, owners(answer.body)) == (200, [reference(other)])
    emptied = {"metadata": {"ownerReferences": None}}
    lab.client.request("PATCH", path, body=emptied, content_type="application/merge-patch+json")
    assert owners(run.apply(path, configmap("x")).body) == []


def test_apply_to_what_was_created(lab: Lab) -> None:
    """Applying to an object of one's own that another manager created is no conflict."""
    owner = lab.owner()
    run = lab.run(owner)
    run.call("POST", lab.path("configmaps"), configmap("x"))
    answer = run.apply(lab.path("configmaps", "x"), configmap("x"))
    assert (answer.code, owners(answer.body)) == (200, [reference(owner)])


def test_other_patches_are_left_alone(lab: Lab) -> None:
    """A merge patch does not make an object the owner's, and says what it changed."""
    lab.client.request("POST", lab.path("configmaps"), body=configmap("x"))
    path, patch = lab.path("configmaps", "x"), {"data": {"a": "c"}}
    answer = lab.run(lab.owner()).call("PATCH", path, patch, ownership_lab.MERGE)
    assert (answer.code, owners(answer.body)) == (200, [])
    assert lab.heard.owned == []
    (write,) = lab.heard.writes
    meta = answer.body["metadata"]
    assert (write.verb, write.uid) == ("patch", meta["uid"])
    assert write.resource_version == meta["resourceVersion"]


def field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message."""
    return bytes([number << 3 | 2, len(content)]) + content


def protobuf_configmap(meta: bytes) -> bytes:
    """A ConfigMap as Go programs send it."""
    type_meta = field(1, b"v1") + field(2, b"ConfigMap")
    return b"k8s\x00" + field(1, type_meta) + field(2, field(1, meta))


@pytest.mark.case("K5")
@pytest.mark.parametrize("accept", [ownership_lab.JSON, f"{PROTOBUF},application/json"])
@pytest.mark.parametrize("meta", [field(1, b"p"), field(2, b"generated-")])
def test_protobuf(lab: Lab, accept: str, meta: bytes) -> None:
    """A POST of protobuf: adopted before the run sees it, and the run sees what it is then."""
    owner = lab.owner()
    body = protobuf_configmap(meta)
    answer = lab.run(owner).call("POST", lab.path("configmaps"), body, PROTOBUF, accept)
    assert answer.code == 201
    headers = {"content-type": answer.headers["Content-Type"]}
    shown = representation.read(interceptor.Answer(201, headers, answer.raw))
    assert shown is not None
    found = lab.get(lab.path("configmaps", objects.name(shown)))
    assert owners(found) == owners(shown) == [reference(owner)]
    assert objects.resource_version(found) == objects.resource_version(shown)
    assert answer.warnings == ""
    assert [verb for verb, _, _ in lab.heard.verbs] == ["create", "patch"]
    versions = [write.resource_version for write in lab.heard.writes]
    assert versions[0] != versions[1] == objects.resource_version(found)
    assert lab.heard.owned == [("one", "configmaps", children.Tie.REFERENCE)]


def test_protobuf_replaces(lab: Lab) -> None:
    """A PUT of protobuf does not lose the owner of what is the owner's."""
    owner = lab.owner()
    run = lab.run(owner)
    run.call("POST", lab.path("configmaps"), configmap("p"))
    body = protobuf_configmap(field(1, b"p"))
    answer = run.call("PUT", lab.path("configmaps", "p"), body, PROTOBUF)
    assert (answer.code, owners(answer.body)) == (200, [reference(owner)])
    lab.client.request("POST", lab.path("configmaps"), body=configmap("q"))
    body = protobuf_configmap(field(1, b"q"))
    answer = run.call("PUT", lab.path("configmaps", "q"), body, PROTOBUF)
    assert (answer.code, owners(answer.body)) == (200, [])


def test_dry_run(lab: Lab) -> None:
    """A dry run shows the owner; nothing is there and nothing is reported."""
    owner = lab.owner()
    run, path = lab.run(owner), lab.path("configmaps")
    answer = run.call("POST", f"{path}?dryRun=All", configmap("x"))
    assert (answer.code, owners(answer.body)) == (201, [reference(owner)])
    body = protobuf_configmap(field(1, b"x"))
    assert run.call("POST", f"{path}?dryRun=All", body, PROTOBUF).code == 201
    applied = run.call("PATCH", f"{path}/x?dryRun=All&fieldManager=a", configmap("x"), APPLY)
    assert (applied.code, owners(applied.body)) == (201, [reference(owner)])
    assert run.call("GET", f"{path}/x").code == 404
    assert lab.heard == ownership_lab.Recorder()


def test_refused(lab: Lab) -> None:
    """What the server refuses is answered in its words, and not reported."""
    run = lab.run(lab.owner())
    answer = run.call("POST", lab.path("configmaps"), configmap("NOT A NAME"))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    answer = run.call("POST", lab.path("configmaps"), "{not json")
    assert (answer.code, answer.body["kind"]) == (400, "Status")
    assert lab.heard == ownership_lab.Recorder()


def test_off(control_plane: controlplane.ControlPlane, namespace: str) -> None:
    """Without injection nothing is changed, and what the role itself ties is reported."""
    with ownership_lab.started(control_plane.client, namespace, inject=False) as lab:
        owner = lab.owner()
        run = lab.run(owner)
        answer = run.call("POST", lab.path("configmaps"), configmap("x"))
        assert owners(answer.body) == []
        assert owners(run.apply(lab.path("configmaps", "y"), configmap("y")).body) == []
        answer = run.call("PUT", lab.path("leases", "p", LEASES), lease("p"))
        assert owners(answer.body) == []
        assert lab.heard.owned == []
        assert [verb for verb, _, _ in lab.heard.verbs] == ["create"] * 3
        tied = configmap("z", ownerReferences=[reference(owner)])
        run.call("POST", lab.path("configmaps"), tied)
        assert lab.heard.owned == [("one", "configmaps", children.Tie.REFERENCE)]
