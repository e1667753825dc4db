"""What is never given an owner, and what runs are told where that fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import canned_api
import ownership_lab
import pytest
from canned_api import CannedApi, Said
from ownership_lab import PROTOBUF, YAML, Lab, configmap, owners, reference

from ansible_operator import children, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.testing import controlplane

CONFIGMAPS = {"name": "configmaps", "kind": "ConfigMap", "namespaced": True}
VERBS = ("create", "get", "list", "watch", "patch")
PATH = "/api/v1/namespaces/ns/configmaps"


@pytest.fixture
def lab(control_plane: controlplane.ControlPlane, namespace: str) -> Iterator[Lab]:
    """A proxy that injects."""
    with ownership_lab.started(control_plane.client, namespace) as found:
        yield found


@pytest.fixture
def canned(tmp_path: Path) -> Iterator[tuple[CannedApi, Lab]]:
    """A proxy before a server that says what the test wants."""
    with CannedApi() as api:
        api.serve("/api/v1", CONFIGMAPS)
        with ownership_lab.started(api.client(tmp_path), "ns") as lab:
            yield api, lab


@pytest.mark.case("W16")
def test_blacklist(lab: Lab) -> None:
    """Kinds on the watch's blacklist get no owner, the core group among them; others do."""
    listed = frozenset({objects.GVK("", "v1", "ConfigMap"), objects.GVK("batch", "v1", "Job")})
    owner = lab.owner(blacklist=listed)
    run = lab.run(owner)
    answer = run.call("POST", lab.path("configmaps"), configmap("x"))
    assert (answer.code, owners(answer.body)) == (201, [])
    assert owners(run.apply(lab.path("configmaps", "y"), configmap("y")).body) == []
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert owners(run.call("POST", lab.path("secrets"), secret).body) == [reference(owner)]
    assert {kind for _, kind, _ in lab.heard.owned} == {"secrets"}


@pytest.mark.case("W16")
def test_put_on_the_blacklist_later(lab: Lab) -> None:
    """An object that has the owner keeps it through applies and replaces; new ones get none."""
    owner = lab.owner()
    run = lab.run(owner)
    assert len(owners(run.apply(lab.path("configmaps", "y"), configmap("y")).body)) == 1
    listed = frozenset({objects.GVK("", "v1", "ConfigMap")})
    watch = dataclasses.replace(owner.watch, blacklist=listed)
    later = lab.run(dataclasses.replace(owner, watch=watch))
    applied = later.apply(lab.path("configmaps", "y"), configmap("y")).body
    assert len(owners(applied)) == 1
    replaced = later.call("PUT", lab.path("configmaps", "y"), configmap("y"))
    assert (replaced.code, len(owners(replaced.body))) == (200, 1)
    assert owners(later.apply(lab.path("configmaps", "z"), configmap("z")).body) == []


def test_events(lab: Lab) -> None:
    """Events are records, in both of their groups."""
    run = lab.run(lab.owner())
    about = {"kind": "Pod", "namespace": lab.namespace, "name": "p"}
    old = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": about}
    answer = run.call("POST", lab.path("events"), {**old, "reason": "R", "type": "Normal"})
    assert (answer.code, owners(answer.body)) == (201, [])
    new = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "f"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": about,
        "reason": "R",
        "type": "Normal",
        "action": "A",
        "reportingController": "example.com/c",
        "reportingInstance": "i",
    }
    answer = run.call("POST", lab.path("events", root="/apis/events.k8s.io/v1"), new)
    assert (answer.code, owners(answer.body)) == (201, [])


def test_reviews(lab: Lab) -> None:
    """Reviews are answers, not objects."""
    run = lab.run(lab.owner())
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = run.call("POST", path, review)
    assert (answer.code, owners(answer.body)) == (201, [])
    assert lab.heard == ownership_lab.Recorder()


def test_subresources(lab: Lab) -> None:
    """Tokens, scales and states are no objects of their own; the parent's write is reported."""
    run = lab.run(lab.owner())
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}}
    run.call("POST", lab.path("serviceaccounts"), account)
    token = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = run.call("POST", lab.path("serviceaccounts", "sa/token"), token)
    assert (answer.code, owners(answer.body)) == (201, [])
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    pods["spec"]["containers"][0]["image"] = "example.com/i"  # type: ignore[index]
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": pods}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    created = run.call(
        "POST", lab.path("deployments", root="/apis/apps/v1"), {**deployment, "spec": spec}
    )
    assert created.code == 201, created.raw
    del lab.heard.writes[:]
    path = lab.path("deployments", "d", root="/apis/apps/v1")
    scaled = run.call("PATCH", f"{path}/scale", {"spec": {"replicas": 0}}, ownership_lab.MERGE)
    assert scaled.body["kind"] == "Scale"
    state = {"status": {"observedGeneration": 7}}
    written = run.call("PATCH", f"{path}/status", state, ownership_lab.MERGE)
    found = [(write.verb, str(write.kind), write.name) for write in lab.heard.writes]
    assert found == [("patch", "deployments.apps", "d")] * 2
    assert {write.uid for write in lab.heard.writes} == {created.body["metadata"]["uid"]}
    versions = [answer.body["metadata"]["resourceVersion"] for answer in (scaled, written)]
    assert [write.resource_version for write in lab.heard.writes] == versions


def test_eviction(lab: Lab) -> None:
    """An eviction is sent as it is, and is a deletion."""
    run = lab.run(lab.owner())
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    spec = {"containers": [{"name": "c", "image": "example.com/i"}]}
    answer = run.call("POST", lab.path("pods"), {**pod, "spec": spec})
    assert answer.code == 201, answer.raw
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    answer = run.call("POST", lab.path("pods", "p/eviction"), eviction)
    assert answer.code == 201, answer.raw
    assert lab.heard.verbs[-1] == ("delete", "pods", "p")


def test_deletions(lab: Lab) -> None:
    """Deletions are reported, of one with its uid, of all without name."""
    run = lab.run(lab.owner())
    created = run.call("POST", lab.path("configmaps"), configmap("x"))
    run.call("DELETE", lab.path("configmaps", "x"))
    run.call("DELETE", lab.path("configmaps"))
    one, all_of_them = lab.heard.writes[1:]
    assert (one.verb, one.name, one.uid) == ("delete", "x", created.body["metadata"]["uid"])
    told = (all_of_them.verb, all_of_them.namespace, all_of_them.name, all_of_them.uid)
    assert told == ("deletecollection", lab.namespace, "", "")


def test_reading_recovers(lab: Lab) -> None:
    """After a restart a run that only reads shows once what is owned; lists and others do not."""
    owner = lab.owner()
    lab.client.request(
        "POST", lab.path("configmaps"), body=configmap("x", ownerReferences=[reference(owner)])
    )
    lab.client.request("POST", lab.path("configmaps"), body=configmap("other"))
    run = lab.run(owner)
    run.call("GET", lab.path("configmaps"))
    run.call("GET", lab.path("configmaps", "other"))
    assert run.call("GET", lab.path("configmaps", "none")).code == 404
    assert lab.heard.owned == []
    run.call("GET", lab.path("configmaps", "x"))
    run.call("GET", lab.path("configmaps", "x"))
    assert lab.heard.owned == [("one", "configmaps", children.Tie.REFERENCE)]
    assert lab.heard.writes == []


@pytest.mark.case("K6")
def test_least_rights(canned: tuple[CannedApi, Lab]) -> None:
    """A run that may get one Secret gets it, and nothing more is asked of the server."""
    api, lab = canned
    path = "/api/v1/namespaces/ns/secrets"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one", "uid": "u"}}
    api.say("GET", f"{path}/one", Said(200, secret))
    api.say("GET", f"{path}/two", canned_api.status(403, "Forbidden", "no"))
    run = lab.run(lab.owner())
    for _ in range(3):
        assert run.call("GET", f"{path}/one").body == secret
    assert run.call("GET", f"{path}/two").code == 403
    asked = [(asked.method, asked.path) for asked in api.asked]
    assert asked == [("GET", f"{path}/one")] * 3 + [("GET", f"{path}/two")]


def test_without_the_right_to_read(
    control_plane: controlplane.ControlPlane, namespace: str
) -> None:
    """Whose an object is cannot be known: what apply creates is adopted, a PUT is warned of."""
    rights = [["create,patch,update", "configmaps", ""]]
    client = restricted(control_plane, namespace, rights)
    with ownership_lab.started(client, namespace) as lab:
        owner = lab.owner()
        run = lab.run(owner)
        answer = run.apply(lab.path("configmaps", "x"), configmap("x"))
        assert (answer.code, owners(answer.body)) == (201, [reference(owner)])
        assert answer.warnings == ""
        answer = run.apply(lab.path("configmaps", "x"), configmap("x"))
        assert (answer.code, owners(answer.body)) == (200, [reference(owner)])
        assert answer.warnings == ""
        answer = run.call("PUT", lab.path("configmaps", "x"), configmap("x"))
        assert answer.code == 200
        assert "Permit the operator to get configmaps" in answer.warnings


def test_without_the_right_to_adopt(
    control_plane: controlplane.ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The object is there, the run goes on, and a warning says what to permit; logged once."""
    client = restricted(control_plane, namespace, [["create", "configmaps", ""]])
    with ownership_lab.started(client, namespace) as lab:
        run = lab.run(lab.owner())
        for name in (b"p", b"q"):
            meta = b"\x0a\x03\x0a\x01" + name
            body = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05" + meta
            answer = run.call("POST", lab.path("configmaps"), body, PROTOBUF)
            assert (answer.code, owners(answer.body)) == (201, [])
            assert answer.warnings.startswith('299 - "ansible-operator: configmaps without owner')
            assert "Permit the operator to get and patch configmaps" in answer.warnings
    told = [
        line for line in capsys.readouterr().out.splitlines() if "does not name its owner" in line
    ]
    assert [("warning" in line, "debug" in line) for line in told] == [(True, False), (False, True)]


def test_refused_in_a_form_of_the_run(canned: tuple[CannedApi, Lab]) -> None:
    """Why an adoption is refused is told in words, whatever form the run reads answers in."""
    api, lab = canned
    created = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x08\x0a\x06\x0a\x01p\x2a\x01u"
    api.say("POST", PATH, Said(201, created, PROTOBUF))
    refused = Said(403, b"k8s\x00\x0a\x00\x12\x00", PROTOBUF)
    api.say("PATCH", f"{PATH}/p", refused, canned_api.status(403, "Forbidden", "not by you"))
    answer = lab.run(lab.owner()).call("POST", PATH, created, PROTOBUF, accept=PROTOBUF)
    assert answer.code == 201
    assert "not by you" in answer.warnings


def test_discovery_is_down(canned: tuple[CannedApi, Lab]) -> None:
    """One group that does not tell what it serves: its objects are created, others owned."""
    api, lab = canned
    api.say("GET", "/apis/down.example.com/v1", canned_api.status(503, "X", "no endpoints"))
    path = "/apis/down.example.com/v1/namespaces/ns/things"
    created = {"apiVersion": "down.example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    api.say("POST", path, Said(201, created))
    api.say("POST", PATH, Said(201, configmap("x")))
    run = lab.run(lab.owner())
    sent = b'{"metadata": {"name": "t"}}'
    for _ in range(3):
        answer = run.call("POST", path, sent)
        assert (answer.code, answer.body) == (201, created)
        assert "did not tell what it serves in down.example.com/v1" in answer.warnings
    run.call("POST", PATH, configmap("x"))
    bodies = api.requests("POST")
    assert [asked.raw for asked in bodies[:3]] == [sent] * 3
    assert "ownerReferences" in bodies[3].body["metadata"]
    questions = [asked.path for asked in api.requests("GET")]
    assert "/apis" not in questions
    assert len([path for path in questions if "down" in path]) == 1


def test_discovery_is_behind(canned: tuple[CannedApi, Lab]) -> None:
    """A kind that is served before discovery knows it: what is created is adopted."""
    api, lab = canned
    owner = lab.owner()
    things = {"name": "things", "kind": "Thing", "namespaced": True, "verbs": list(VERBS)}
    lists = [{"kind": "APIResourceList", "resources": found} for found in ([], [things])]
    api.say("GET", "/apis/new.example.com/v1", *(Said(200, found) for found in lists))
    path = "/apis/new.example.com/v1/namespaces/ns/things"
    api.say("POST", path, Said(201, configmap("t", uid="u", resourceVersion="1")))
    owned = configmap("t", uid="u", resourceVersion="2", ownerReferences=[reference(owner)])
    api.say("PATCH", f"{path}/t", Said(200, owned))
    run = lab.run(owner)
    assert (run.call("POST", path, configmap("t")).body) == owned
    assert lab.heard.verbs == [
        ("create", "things.new.example.com", "t"),
        ("patch", "things.new.example.com", "t"),
    ]
    run.call("POST", path, configmap("t"))
    assert "ownerReferences" in api.requests("POST")[1].body["metadata"]


def test_body_that_cannot_be_changed(canned: tuple[CannedApi, Lab]) -> None:
    """YAML of a form that is not treated goes on as it is, and the object is adopted."""
    api, lab = canned
    owner = lab.owner()
    created = configmap("m", uid="u", resourceVersion="7")
    api.say("POST", PATH, Said(201, created))
    owned = configmap("m", uid="u", resourceVersion="8", ownerReferences=[reference(owner)])
    api.say("PATCH", f"{PATH}/m", Said(200, owned))
    text = b"base: &b {name: m}\nmetadata:\n  <<: *b\n"
    answer = lab.run(owner).call("POST", PATH, text, YAML)
    assert (answer.code, answer.body, answer.warnings) == (201, owned, "")
    assert api.requests("POST")[0].raw == text


def test_conflicts_while_adopting(canned: tuple[CannedApi, Lab]) -> None:
    """Adoption is tried again from a fresh read, and names further owners too."""
    api, lab = canned
    owner, other = lab.owner("one"), lab.owner("two")
    api.say("POST", PATH, Said(201, configmap("p", uid="u", resourceVersion="7")))
    fresh = configmap("p", uid="u", resourceVersion="8", ownerReferences=[reference(other)])
    api.say("GET", f"{PATH}/p", Said(200, fresh))
    adopted = configmap("p", uid="u", resourceVersion="9")
    api.say("PATCH", f"{PATH}/p", canned_api.status(409, "Conflict", "changed"), Said(200, adopted))
    answer = lab.run(owner).call("POST", PATH, b"k8s\x00", PROTOBUF)
    assert (answer.code, answer.body) == (201, adopted)
    first, second = (asked.body["metadata"] for asked in api.requests("PATCH"))
    guard = {"uid": "u", "resourceVersion": "7"}
    assert first == {**guard, "ownerReferences": [reference(owner)]}
    guard = {"uid": "u", "resourceVersion": "8"}
    assert second == {**guard, "ownerReferences": [reference(other), reference(owner)]}


def test_replaced_while_adopting(canned: tuple[CannedApi, Lab]) -> None:
    """Another object of the same name is not adopted; the run sees what it created."""
    api, lab = canned
    created = configmap("p", uid="u", resourceVersion="7")
    api.say("POST", PATH, Said(201, created))
    api.say("GET", f"{PATH}/p", Said(200, configmap("p", uid="v", resourceVersion="8")))
    api.say("PATCH", f"{PATH}/p", canned_api.status(409, "Conflict", "changed"))
    answer = lab.run(lab.owner()).call("POST", PATH, b"k8s\x00", PROTOBUF)
    assert (answer.code, answer.body) == (201, created)
    assert len(api.requests("PATCH")) == 1


def test_answers_that_cannot_be_read(canned: tuple[CannedApi, Lab]) -> None:
    """CBOR: an applied object is found by its name, a created one is warned of."""
    api, lab = canned
    owner = lab.owner()
    cbor = "application/cbor"
    api.say("POST", PATH, Said(201, b"\xd9\xd9\xf7", cbor))
    run = lab.run(owner)
    answer = run.call("POST", PATH, b"\xd9\xd9\xf7", cbor)
    assert (answer.code, answer.raw) == (201, b"\xd9\xd9\xf7")
    assert "Ask for JSON or protobuf" in answer.warnings
    found = configmap("c", uid="u", resourceVersion="7")
    missing = canned_api.status(404, "NotFound", "none")
    api.say("GET", f"{PATH}/c", missing, Said(200, found))
    owned = Said(200, b"\xd9\xd9\xf7\xa0", cbor)
    api.say("PATCH", f"{PATH}/c", Said(201, b"\xd9\xd9\xf7", cbor), owned)
    answer = run.call("PATCH", f"{PATH}/c", b"\xd9\xd9\xf7", "application/apply-patch+cbor", cbor)
    assert (answer.code, answer.raw) == (201, owned.raw)
    adopting = api.requests("PATCH")[1]
    assert adopting.headers["accept"] == cbor
    assert adopting.body["metadata"]["ownerReferences"] == [reference(owner)]


def test_bodies_with_an_encoding(canned: tuple[CannedApi, Lab]) -> None:
    """A body that is compressed goes on as it is; what it creates is adopted."""
    api, lab = canned
    owner = lab.owner()
    api.say("POST", PATH, Said(201, configmap("z", uid="u", resourceVersion="7")))
    owned = configmap("z", uid="u", resourceVersion="8")
    api.say("PATCH", f"{PATH}/z", Said(200, owned))
    encoding = {"Content-Encoding": "gzip"}
    answer = lab.run(owner).call("POST", PATH, b"\x1f\x8b", **encoding)
    assert (answer.code, answer.body) == (201, owned)
    assert api.requests("POST")[0].raw == b"\x1f\x8b"


def test_the_last_word_is_the_server_s(canned: tuple[CannedApi, Lab]) -> None:
    """What the server refuses is given as it is, whatever was tried before."""
    api, lab = canned
    api.say("POST", PATH, canned_api.status(403, "Forbidden", "admission says no"))
    answer = lab.run(lab.owner()).call("POST", PATH, configmap("x"))
    assert (answer.code, answer.body["message"]) == (403, "admission says no")
    assert (answer.warnings, lab.heard.writes) == ("", [])


def restricted(
    plane: controlplane.ControlPlane, namespace: str, rights: list[list[str]]
) -> kube_client.Client:
    """A client as an account with rights in the namespace: verbs, resource, name."""
    kubeconfig = plane.service_account_kubeconfig(namespace, "restricted")
    rules: list[dict[str, Any]] = [
        {"apiGroups": [""], "verbs": verbs.split(","), "resources": [resource]}
        | ({"resourceNames": [name]} if name else {})
        for verbs, resource, name in rights
    ]
    root = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    meta = {"metadata": {"name": "restricted"}}
    plane.client.request("POST", f"{root}/roles", body={**meta, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": "restricted", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "restricted"}
    plane.client.request(
        "POST", f"{root}/rolebindings", body={**meta, "subjects": [subject], "roleRef": role}
    )
    return kube_client.Client.load({"KUBECONFIG": str(kubeconfig)})
