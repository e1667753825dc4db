"""What the API server refuses of the kinds it knows, and what it says of it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wire
import yaml

Obj = dict[str, Any]
TEXTS = {
    "<subdomain>": "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
    "'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    "<label>": "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
    "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    "<qualified>": "must consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
    "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    "<label value>": "a valid label must be an empty string or consist of alphanumeric "
    "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
    "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    "<key>": "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
    "'[-._a-zA-Z0-9]+')",
    "<percent>": "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
    "'1%',  or '93%', regex used for validation is '[0-9]+%')",
}
TEMPLATE = "{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: n}]}}"
SELECTED = f"selector: {{matchLabels: {{a: b}}}}, template: {TEMPLATE}"
JOB = "{template: {spec: {restartPolicy: Never, containers: [{name: c, image: n}]}}}"
PATH = "{path: /, pathType: Prefix, backend: {service: {name: x, port: {number: 80}}}}"
BASES: dict[str, tuple[str, str, Obj]] = {
    kind: (group, plural, yaml.safe_load(text))
    for kind, group, plural, text in (
        ("PodSpec", "v1", "pods", "{spec: {containers: [{name: c, image: nginx}]}}"),
        ("Deployment", "apps/v1", "deployments", f"{{spec: {{{SELECTED}}}}}"),
        ("ReplicaSet", "apps/v1", "replicasets", f"{{spec: {{{SELECTED}}}}}"),
        ("DaemonSet", "apps/v1", "daemonsets", f"{{spec: {{{SELECTED}}}}}"),
        ("StatefulSet", "apps/v1", "statefulsets", f"{{spec: {{serviceName: x, {SELECTED}}}}}"),
        ("Job", "batch/v1", "jobs", f"{{spec: {JOB}}}"),
        (
            "CronJob",
            "batch/v1",
            "cronjobs",
            f'{{spec: {{schedule: "* * * * *", jobTemplate: {{spec: {JOB}}}}}}}',
        ),
        ("Service", "v1", "services", "{spec: {ports: [{port: 80}]}}"),
        (
            "Ingress",
            "networking.k8s.io/v1",
            "ingresses",
            f"{{spec: {{rules: [{{http: {{paths: [{PATH}]}}}}]}}}}",
        ),
        ("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies", "{spec: {podSelector: {}}}"),
        (
            "IngressClass",
            "networking.k8s.io/v1",
            "ingressclasses",
            "{spec: {controller: a.b/c}}",
        ),
        (
            "PersistentVolumeClaim",
            "v1",
            "persistentvolumeclaims",
            "{spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
        ),
        (
            "PersistentVolume",
            "v1",
            "persistentvolumes",
            "{spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi},"
            " hostPath: {path: /x}}}",
        ),
        ("StorageClass", "storage.k8s.io/v1", "storageclasses", "{provisioner: a.b/c}"),
        (
            "HorizontalPodAutoscaler",
            "autoscaling/v2",
            "horizontalpodautoscalers",
            "{spec: {maxReplicas: 3, scaleTargetRef: "
            "{apiVersion: apps/v1, kind: Deployment, name: x}}}",
        ),
        ("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", "{spec: {}}"),
        ("Secret", "v1", "secrets", "{}"),
        ("ConfigMap", "v1", "configmaps", "{}"),
        ("Role", "rbac.authorization.k8s.io/v1", "roles", "{rules: []}"),
        ("ClusterRole", "rbac.authorization.k8s.io/v1", "clusterroles", "{rules: []}"),
        (
            "RoleBinding",
            "rbac.authorization.k8s.io/v1",
            "rolebindings",
            "{roleRef: {kind: Role, name: x, apiGroup: rbac.authorization.k8s.io}}",
        ),
        ("Lease", "coordination.k8s.io/v1", "leases", "{spec: {}}"),
        ("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", "{value: 5}"),
        ("ServiceAccount", "v1", "serviceaccounts", "{}"),
        ("Namespace", "v1", "namespaces", "{}"),
        (
            "Event",
            "v1",
            "events",
            "{involvedObject: {kind: Pod, namespace: default, name: x}}",
        ),
        (
            "NewEvent",
            "events.k8s.io/v1",
            "events",
            '{eventTime: "2020-01-01T00:00:00.000000Z", regarding: '
            "{kind: Pod, namespace: default, name: x}, reason: x, action: y, type: Normal, "
            "reportingController: a/b, reportingInstance: x}",
        ),
        ("LimitRange", "v1", "limitranges", "{spec: {limits: []}}"),
        ("ResourceQuota", "v1", "resourcequotas", "{spec: {hard: {}}}"),
        (
            "ValidatingWebhookConfiguration",
            "admissionregistration.k8s.io/v1",
            "validatingwebhookconfigurations",
            "{webhooks: []}",
        ),
        ("Endpoints", "v1", "endpoints", "{}"),
        (
            "EndpointSlice",
            "discovery.k8s.io/v1",
            "endpointslices",
            "{addressType: IPv4, endpoints: []}",
        ),
    )
}
CLUSTER = (
    "persistentvolumes",
    "storageclasses",
    "clusterroles",
    "priorityclasses",
    "namespaces",
    "ingressclasses",
    "validatingwebhookconfigurations",
)
UID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
IMMUTABLE = "field is immutable"


def sections() -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """The cases of builtin_validation.txt by kind: a change, and what is said of it."""
    text = Path(__file__).with_name("builtin_validation.txt").read_text("utf-8")
    for section in text.split("\n## ")[1:]:
        heading, *lines = section.splitlines()
        cases: list[tuple[str, list[str]]] = []
        for line in filter(None, lines):
            if line.startswith(" "):
                cases[-1][1].append(line.strip())
            else:
                cases.append((line, []))
        yield heading, cases


def changed(base: Obj, change: Obj) -> Obj:
    """A copy of an object with some fields replaced, maps field by field."""
    found = copy.deepcopy(base)
    for key, value in change.items():
        if value == "DEL":
            found.pop(key, None)
        elif value and isinstance(value, dict) and isinstance(found.get(key), dict):
            found[key] = changed(found[key], value)
        else:
            found[key] = value
    return found


def collection(group: str, plural: str, namespace: str) -> str:
    """The path of a collection."""
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    return f"{root}/{plural}" if plural in CLUSTER else f"{root}/namespaces/{namespace}/{plural}"


def built(heading: str, change: Obj) -> tuple[str, str, Obj]:
    """Group, plural and object of a case. Containers are tried in a pod."""
    if heading != "Container":
        group, plural, base = BASES[heading]
        wrapped = {"spec": change} if heading == "PodSpec" else change
        return group, plural, changed({"metadata": {"name": "x"}, **base}, wrapped)
    group, plural, base = BASES["PodSpec"]
    container = {**base["spec"]["containers"][0], **change}
    return group, plural, {"metadata": {"name": "x"}, "spec": {"containers": [container]}}


def told(answer: wire.Answer) -> list[str]:
    """What an answer says is wrong, as builtin_validation.txt writes it."""
    if answer.code == 201:
        return ["accepted"]
    assert answer.code == 422, answer.text
    causes = answer.body["details"]["causes"]
    found = (f"{cause['field']}: {cause['message']}" for cause in causes)
    return list(dict.fromkeys(UID.sub("<uid>", text) for text in found))


def spelt(line: str) -> str:
    """A line of builtin_validation.txt with the long texts."""
    for short, text in TEXTS.items():
        line = line.replace(short, text)
    return line


def ready(server: wire.Server, namespace: str) -> None:
    """Wait until pods can be made in a namespace."""
    server.until(f"/api/v1/namespaces/{namespace}/serviceaccounts/default", lambda body: True)


@pytest.mark.parametrize(("heading", "cases"), [*sections()], ids=[s[0] for s in sections()])
def test_invalid_objects_are_refused(
    server: wire.Server, heading: str, cases: list[tuple[str, list[str]]]
) -> None:
    """Every case of builtin_validation.txt is answered as it says there."""
    ready(server, "default")
    wrong = []
    for text, wanted in cases:
        group, plural, obj = built(heading, yaml.safe_load(text))
        answer = server.post(collection(group, plural, "default"), obj, dryRun="All")
        if (found := told(answer)) != [spelt(line) for line in wanted]:
            wrong.append({"case": text, "answered": found, "expected": wanted})
    assert not wrong


def refused(server: wire.Server, path: str, body: Obj) -> list[str]:
    """What the server says of a change to an object; nothing if it allows it."""
    answer = server.patch(path, body, dryRun="All")
    return [] if answer.code == 200 else told(answer)


def test_selectors_are_immutable(server: wire.Server, ns: str) -> None:
    """What a workload selects cannot be changed."""
    other = {"c": "d"}
    change = {
        "selector": {"matchLabels": other},
        "template": {"metadata": {"labels": other}},
    }
    for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"):
        group, plural, base = BASES[kind]
        path = collection(group, plural, ns)
        assert server.post(path, {"metadata": {"name": "x"}, **base}).code == 201
        shown = '{"matchLabels":{"a":"b","c":"d"}}'
        expected = [f"spec.selector: Invalid value: {shown}: {IMMUTABLE}"]
        assert refused(server, f"{path}/x", {"spec": change}) == expected


def test_most_of_a_stateful_set_stays(server: wire.Server, ns: str) -> None:
    """Only some fields of a stateful set can be changed."""
    group, plural, base = BASES["StatefulSet"]
    path = collection(group, plural, ns)
    server.post(path, {"metadata": {"name": "x"}, **base})
    for name, value in (("podManagementPolicy", "Parallel"), ("serviceName", "other")):
        expected = f'spec.{name}: Invalid value: "{value}": {IMMUTABLE}'
        assert refused(server, f"{path}/x", {"spec": {name: value}}) == [expected]
    for spec in (
        {"replicas": 0},
        {"minReadySeconds": 2},
        {"revisionHistoryLimit": 1},
        {"ordinals": {"start": 2}},
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}},
        {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}},
    ):
        assert refused(server, f"{path}/x", {"spec": spec}) == []


def test_what_a_job_does_stays(server: wire.Server, ns: str) -> None:
    """Width and patience of a job can be changed, its pods and their number cannot."""
    group, plural, base = BASES["Job"]
    path = collection(group, plural, ns)
    server.post(path, {"metadata": {"name": "x"}, **base})
    for spec, told in (
        ({"completions": 2}, "spec.completions: Invalid value: 2"),
        ({"completionMode": "Indexed"}, 'spec.completionMode: Invalid value: "Indexed"'),
    ):
        assert refused(server, f"{path}/x", {"spec": spec}) == [f"{told}: {IMMUTABLE}"]
    template = {"spec": {"containers": [{"name": "c", "image": "z"}]}}
    (found,) = refused(server, f"{path}/x", {"spec": {"template": template}})
    assert found.startswith("spec.template: Invalid value: ")
    assert found.endswith(IMMUTABLE)
    for spec in ({"parallelism": 0}, {"backoffLimit": 3}, {"activeDeadlineSeconds": 90}):
        assert refused(server, f"{path}/x", {"spec": spec}) == []


def test_pods_stay_as_they_are(server: wire.Server, ns: str) -> None:
    """Of a pod the images and the deadline can be changed, and tolerations be added."""
    ready(server, ns)
    group, plural, base = BASES["PodSpec"]
    path = collection(group, plural, ns)
    spec = {**base["spec"], "schedulerName": "nobody"}
    assert server.post(path, {"metadata": {"name": "x"}, "spec": spec}).code == 201
    place = f"{path}/x"

    def change(spec: Obj) -> list[str]:
        answer = server.patch(place, {"spec": spec}, content_type=wire.STRATEGIC, dryRun="All")
        return [] if answer.code == 200 else told(answer)

    (found,) = change({"hostname": "other"})
    assert found.startswith(
        "spec: Forbidden: pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
        "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
        "previously negative)"
    )
    more = {"containers": [{"name": "more", "image": "n"}]}
    expected = "spec.containers: Forbidden: pod updates may not add or remove containers"
    assert change(more) == [expected]
    assert change({"containers": [{"name": "c", "image": "other"}]}) == []
    assert change({"activeDeadlineSeconds": 9}) == []
    live = server.get(place).body["spec"]["tolerations"]
    assert change({"tolerations": [*live, {"key": "a", "operator": "Exists"}]}) == []


def test_immutable_data(server: wire.Server, ns: str) -> None:
    """What is called immutable cannot be changed, nor be called something else."""
    path = wire.configmaps(ns)
    server.post(path, {**wire.configmap("x", {"a": "b"}), "immutable": True})
    because = "Forbidden: field is immutable when `immutable` is set"
    assert refused(server, f"{path}/x", {"data": {"a": "c"}}) == [f"data: {because}"]
    for flag in (False, None):
        assert refused(server, f"{path}/x", {"immutable": flag}) == [f"immutable: {because}"]
    assert refused(server, f"{path}/x", {"metadata": {"labels": {"a": "b"}}}) == []
    path = f"/api/v1/namespaces/{ns}/secrets"
    server.post(path, {"metadata": {"name": "x"}, "data": {"a": "eA=="}, "immutable": True})
    both = {"data": {"b": "eA=="}, "immutable": False}
    assert refused(server, f"{path}/x", both) == [f"immutable: {because}", f"data: {because}"]
    server.post(path, {"metadata": {"name": "y"}})
    expected = f'type: Invalid value: "other": {IMMUTABLE}'
    assert refused(server, f"{path}/y", {"type": "other"}) == [expected]


@pytest.mark.parametrize(("plural", "field"), [("configmaps", "[]"), ("secrets", "data")])
def test_sizes(server: wire.Server, shared_ns: str, plural: str, field: str) -> None:
    """The data of an object are at most a mebibyte."""
    texts = "stringData" if plural == "secrets" else "data"
    path = f"/api/v1/namespaces/{shared_ns}/{plural}"
    body = {"metadata": {"name": "big"}, texts: {"a": "x" * 2**20}}
    assert server.post(path, body, dryRun="All").code == 201
    body[texts]["a"] += "x"
    answer = server.post(path, body, dryRun="All")
    told = f"{field}: Too long: may not be more than 1048576 bytes"
    assert answer.code == 422
    assert answer.body["message"].endswith(f'"big" is invalid: {told}')


def test_bindings_keep_their_role(server: wire.Server, ns: str) -> None:
    """A binding can get other subjects, never another role."""
    group, plural, base = BASES["RoleBinding"]
    path = collection(group, plural, ns)
    server.post(path, {"metadata": {"name": "x"}, **base})
    shown = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}'
    expected = f"roleRef: Invalid value: {shown}: {IMMUTABLE}"
    assert refused(server, f"{path}/x", {"roleRef": {"name": "other"}}) == [expected]
    assert refused(server, f"{path}/x", {"subjects": [{"kind": "User", "name": "u"}]}) == []


def test_claims_only_grow(server: wire.Server, ns: str) -> None:
    """A claim cannot be changed in other ways than by its size."""
    group, plural, base = BASES["PersistentVolumeClaim"]
    path = collection(group, plural, ns)
    spec = {**base["spec"], "storageClassName": ""}
    server.post(path, {"metadata": {"name": "x"}, "spec": spec})
    for change in ({"accessModes": ["ReadWriteMany"]}, {"storageClassName": "other"}):
        (found,) = refused(server, f"{path}/x", {"spec": change})
        assert found.startswith(
            "spec: Forbidden: spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims"
        )
    assert refused(server, f"{path}/x", {"metadata": {"labels": {"a": "b"}}}) == []


def test_cluster_kinds_that_stay(server: wire.Server, unique: str) -> None:
    """Storage classes, priorities and controllers of ingresses cannot be changed."""
    changes: dict[str, list[tuple[Obj, list[str]]]] = {
        "StorageClass": [
            ({"provisioner": "o"}, [f"provisioner: Invalid value: null: {IMMUTABLE}"]),
            ({"parameters": {"a": "b"}}, [f"parameters: Invalid value: null: {IMMUTABLE}"]),
            ({"reclaimPolicy": "Retain"}, [f"reclaimPolicy: Invalid value: null: {IMMUTABLE}"]),
            ({"allowVolumeExpansion": True}, []),
        ],
        "PriorityClass": [
            ({"value": 6}, ["value: Forbidden: may not be changed in an update."]),
            (
                {"preemptionPolicy": "Never"},
                [f'preemptionPolicy: Invalid value: "Never": {IMMUTABLE}'],
            ),
            ({"description": "some"}, []),
        ],
        "IngressClass": [
            (
                {"spec": {"controller": "other.io/x"}},
                [f'spec.controller: Invalid value: "other.io/x": {IMMUTABLE}'],
            ),
        ],
    }
    for kind, cases in changes.items():
        group, plural, base = BASES[kind]
        path = collection(group, plural, "")
        assert server.post(path, {"metadata": {"name": unique}, **base}).code == 201
        try:
            for change, expected in cases:
                assert refused(server, f"{path}/{unique}", change) == expected
        finally:
            server.delete(f"{path}/{unique}")


def test_kinds_in_two_groups_are_named_by_the_first(server: wire.Server) -> None:
    """An event of the newer group is told to be one of the core group."""
    _, _, base = BASES["NewEvent"]
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    answer = server.post(path, {"metadata": {"name": "x"}, **base, "reason": ""}, dryRun="All")
    assert answer.body["message"] == 'Event "x" is invalid: reason: Required value'
    assert "group" not in answer.body["details"]


def test_pods_keep_the_tolerations_that_all_have(server: wire.Server, ns: str) -> None:
    """Tolerations that admission adds cannot be taken away."""
    ready(server, ns)
    _, _, base = BASES["PodSpec"]
    path = f"/api/v1/namespaces/{ns}/pods"
    spec = {**base["spec"], "schedulerName": "nobody"}
    live = server.post(path, {"metadata": {"name": "x"}, "spec": spec}).body
    answer = server.patch(f"{path}/x", {"spec": {"tolerations": None}}, dryRun="All")
    assert answer.code == 200
    assert answer.body["spec"]["tolerations"] == live["spec"]["tolerations"]
