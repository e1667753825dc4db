"""What is set in objects of built-in kinds, what they get from the cluster, what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_operator.sandbox import failure, kinds, storage
from ansible_operator.sandbox.builtins import builtin, checking
from ansible_operator.sandbox.schemas import gotypes, schema

Obj = dict[str, Any]
KINDS = kinds.Kinds()
CONTAINER = {"name": "c", "image": "n"}
SELECTED = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}},
}
JOB = {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}}


def resource(qualified: str) -> kinds.Resource:
    """A built-in resource by its name."""
    found = KINDS.named(qualified)
    assert found is not None
    return found


@pytest.fixture
def store() -> storage.Storage:
    """A cluster with an account in the namespace ``ns``."""
    found = storage.Storage()
    meta = {"name": "default", "namespace": "ns", "uid": "a"}
    found.put(("", "serviceaccounts"), {"metadata": meta})
    return found


def decoded(qualified: str, obj: Obj, **meta: Any) -> Obj:
    """An object as it is decoded and defaulted."""
    of = resource(qualified)
    head = {"apiVersion": of.api_version, "kind": of.kind}
    told = {"name": "x", "uid": "12345678", **({"namespace": "ns"} if of.namespaced else {})}
    given = {**head, "metadata": told | obj.get("metadata", {}) | meta}
    given |= {key: value for key, value in obj.items() if key != "metadata"}
    made, _ = gotypes.read(copy.deepcopy(given), schema.builtin(of.group, of.version, of.kind))
    return builtin.default(of, made)


def created(qualified: str, obj: Obj, store: storage.Storage, **meta: Any) -> Obj:
    """An object as it is stored when it is created. Raises ApiFailure."""
    of = resource(qualified)
    made = builtin.prepare_create(of, decoded(qualified, obj, **meta), store)
    causes = builtin.validate_metadata(of, made, None) + builtin.validate(of, made, None)
    if causes:
        raise failure.invalid(of, "x", causes)
    return store.put(of.key, made)


def updated(old: Obj, change: Obj, store: storage.Storage, qualified: str) -> Obj:
    """An object after an update of some of its top-level fields. Raises ApiFailure."""
    of = resource(qualified)
    before = copy.deepcopy(old)
    made = decoded(qualified, {**copy.deepcopy(old), **change})
    made = builtin.prepare_update(of, made, old, store)
    causes = builtin.validate_metadata(of, made, old) + builtin.validate(of, made, old)
    assert old == before
    if causes:
        raise failure.invalid(of, "x", causes)
    return made


def causes(raised: pytest.ExceptionInfo[failure.ApiFailure]) -> list[str]:
    """The fields that a failure complains of, with what it says."""
    details = raised.value.details or {}
    return [f"{cause['field']}: {cause['message']}" for cause in details["causes"]]


# -- pods ------------------------------------------------------------------------------------


def test_pods_are_given_an_account(store: storage.Storage) -> None:
    """They get the token of their account, its pull secrets, tolerations and a priority."""
    account = {"name": "a", "namespace": "ns"}
    store.put(("", "serviceaccounts"), {"metadata": account, "imagePullSecrets": [{"name": "p"}]})
    spec = {"serviceAccountName": "a", "containers": [CONTAINER]}
    pod = created("pods", {"spec": spec}, store)
    assert pod["spec"]["imagePullSecrets"] == [{"name": "p"}]
    assert pod["spec"]["volumes"][0]["name"] == "kube-api-access-45678"
    assert pod["spec"]["containers"][0]["volumeMounts"][0]["readOnly"] is True
    assert len(pod["spec"]["tolerations"]) == 2
    assert pod["spec"]["priority"] == 0
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert pod["metadata"]["generation"] == 1


def test_pods_can_do_without_a_token(store: storage.Storage) -> None:
    """The pod decides, or else the account, or the place is taken."""
    refused = {"name": "b", "namespace": "ns"}
    store.put(("", "serviceaccounts"), {"metadata": refused, "automountServiceAccountToken": False})
    for spec in ({"automountServiceAccountToken": False}, {"serviceAccountName": "b"}):
        pod = created("pods", {"spec": {**spec, "containers": [CONTAINER]}}, store)
        assert "volumes" not in pod["spec"]


def test_priorities(store: storage.Storage) -> None:
    """The class is looked up, the usual one is taken where none is named."""
    key = ("scheduling.k8s.io", "priorityclasses")
    store.put(key, {"metadata": {"name": "high"}, "value": 9, "preemptionPolicy": "Never"})
    spec = {"containers": [CONTAINER]}
    pod = created("pods", {"spec": {**spec, "priorityClassName": "high"}}, store)
    assert (pod["spec"]["priority"], pod["spec"]["preemptionPolicy"]) == (9, "Never")
    store.put(key, {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True})
    pod = created("pods", {"spec": spec}, store)
    assert (pod["spec"]["priority"], pod["spec"]["priorityClassName"]) == (3, "usual")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"serviceAccountName": "no"}, "error looking up service account ns/no: "),
        ({"priorityClassName": "no"}, "no PriorityClass with name no was found"),
        ({"priority": 5}, "the integer value of priority (5) must not be provided"),
        ({"preemptionPolicy": "Never"}, "the string value of PreemptionPolicy (Never) must not"),
        ({"runtimeClassName": "no"}, 'RuntimeClass "no" not found'),
    ],
)
def test_pods_that_are_not_admitted(store: storage.Storage, spec: Obj, told: str) -> None:
    """What they name is not there, or says something else."""
    with pytest.raises(failure.ApiFailure) as raised:
        created("pods", {"spec": {"containers": [CONTAINER], **spec}}, store)
    assert raised.value.code == 403
    assert told in raised.value.message


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1"}}, "Guaranteed"),
        ({"limits": {"cpu": "2", "memory": "1"}, "requests": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_quality_of_service(store: storage.Storage, resources: Obj, quality: str) -> None:
    """It follows from limits and requests."""
    spec = {"containers": [{**CONTAINER, "resources": resources}]}
    assert created("pods", {"spec": spec}, store)["status"]["qosClass"] == quality


def test_pods_hardly_change(store: storage.Storage) -> None:
    """Images, deadlines and more tolerations are all."""
    pod = created("pods", {"spec": {"containers": [CONTAINER]}}, store)
    other = copy.deepcopy(pod["spec"])
    other["containers"][0]["image"] = "z"
    other["tolerations"].append({"key": "a", "operator": "Exists"})
    assert updated(pod, {"spec": other}, store, "pods")["metadata"]["generation"] == 2
    # The tolerations that every pod has come back by themselves.
    assert updated(pod, {"spec": {**pod["spec"], "tolerations": []}}, store, "pods") == pod
    changes: list[Obj] = [{"nodeName": "n"}, {"containers": [CONTAINER] * 2}]
    for change in changes:
        with pytest.raises(failure.ApiFailure, match="pod updates may not"):
            updated(pod, {"spec": {**pod["spec"], **change}}, store, "pods")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/x"}]},
            'volumeMounts[0].name: Not found: "v"',
        ),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 99}}}}, "less than termination"),
        ({"env": [{"name": "A", "value": "b", "valueFrom": {}}]}, "may not be specified when"),
        (
            {"resources": {"requests": {"cpu": 2}, "limits": {"cpu": 1}}},
            "less than or equal to cpu",
        ),
        ({"resources": {"requests": {"a.b/c": 1}}}, "Limit must be set"),
        ({"resources": {"limits": {"what": 1}}}, "must be a standard resource"),
    ],
)
def test_containers_that_are_refused(store: storage.Storage, change: Obj, told: str) -> None:
    """What belongs together in a container must fit together."""
    with pytest.raises(failure.ApiFailure) as raised:
        created("pods", {"spec": {"containers": [{**CONTAINER, **change}]}}, store)
    assert told in raised.value.message


# -- workloads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"selector": None}, "spec.selector: Required value"),
        ({"selector": {"matchLabels": {"a": "c"}}}, "`selector` does not match template `labels`"),
        ({"selector": {}}, "empty selector is invalid for deployment"),
        ({"replicas": -1}, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        ({"strategy": {"type": "No"}}, 'supported values: "Recreate", "RollingUpdate"'),
        ({"minReadySeconds": 900}, "must be greater than minReadySeconds"),
    ],
)
def test_deployments_that_are_refused(store: storage.Storage, change: Obj, told: str) -> None:
    """Selector, template and numbers must fit."""
    with pytest.raises(failure.ApiFailure) as raised:
        created("deployments.apps", {"spec": {**SELECTED, **change}}, store)
    assert told in raised.value.message


def test_generations(store: storage.Storage) -> None:
    """They count changes of the spec, of deployments also of annotations; the status is kept."""
    old = created("deployments.apps", {"spec": SELECTED, "status": {"replicas": 7}}, store)
    assert old["status"] == {}
    meta = {**old["metadata"], "labels": {"a": "b"}}
    same = updated(old, {"metadata": meta, "status": {"replicas": 7}}, store, "deployments.apps")
    assert same["metadata"]["generation"] == 1
    assert same["status"] == {}
    meta = {**old["metadata"], "annotations": {"a": "b"}}
    assert (
        updated(old, {"metadata": meta}, store, "deployments.apps")["metadata"]["generation"] == 2
    )
    with pytest.raises(failure.ApiFailure, match="field is immutable"):
        updated(
            old,
            {"spec": {**old["spec"], "selector": {"matchLabels": {}, "matchExpressions": []}}},
            store,
            "deployments.apps",
        )


def test_daemon_sets_count_their_templates(store: storage.Storage) -> None:
    """An annotation has the number of the template."""
    old = created("daemonsets.apps", {"spec": SELECTED}, store)
    noted = "deprecated.daemonset.template.generation"
    assert old["metadata"]["annotations"] == {noted: "1"}
    other = copy.deepcopy(old["spec"])
    other["template"]["spec"]["containers"][0]["image"] = "z"
    new = updated(old, {"spec": other}, store, "daemonsets.apps")
    assert new["metadata"]["annotations"] == {noted: "2"}


def test_jobs_select_by_their_uid(store: storage.Storage) -> None:
    """Selector and labels are generated, unless the job selects by itself."""
    job = created("jobs.batch", {"spec": JOB}, store)
    assert job["spec"]["selector"]["matchLabels"] == {
        "batch.kubernetes.io/controller-uid": "12345678"
    }
    assert job["metadata"]["labels"] == job["spec"]["template"]["metadata"]["labels"]
    with pytest.raises(failure.ApiFailure) as raised:
        created("jobs.batch", {"spec": {**JOB, "manualSelector": True}}, store)
    assert causes(raised)[0] == "spec.selector: Required value"
    with pytest.raises(failure.ApiFailure, match="field is immutable"):
        updated(job, {"spec": {**job["spec"], "completions": 3}}, store, "jobs.batch")
    wide = {**job["spec"], "parallelism": 3}
    assert updated(job, {"spec": wide}, store, "jobs.batch")["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-2 * * * *", "beginning of range (5) beyond end of range (2): 5-2"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*-2 * * * *", "too many hyphens: *-2"),
        ("@often", "unrecognized descriptor: @often"),
        ("@every x", "failed to parse duration @every x"),
        ("TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ],
)
def test_schedules_that_are_refused(store: storage.Storage, schedule: str, told: str) -> None:
    """What is wrong with a schedule is told."""
    spec = {"schedule": schedule, "jobTemplate": {"spec": JOB}}
    with pytest.raises(failure.ApiFailure) as raised:
        created("cronjobs.batch", {"spec": spec}, store)
    assert told in raised.value.message


@pytest.mark.parametrize(
    "schedule", ["@daily", "@every 1h30m", "0 0 ? JAN-MAR MON", "*/5,7 1-3/2 5/2 * 0"]
)
def test_schedules_that_are_fine(store: storage.Storage, schedule: str) -> None:
    """Names, steps, ranges and lists can be used."""
    spec = {"schedule": schedule, "jobTemplate": {"spec": JOB}}
    assert created("cronjobs.batch", {"spec": spec}, store)["spec"]["schedule"] == schedule


# -- services --------------------------------------------------------------------------------


def service(store: storage.Storage, name: str, **spec: Any) -> Obj:
    """A service that is created."""
    obj = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    return created("services", obj, store)


def test_services_get_what_is_free(store: storage.Storage) -> None:
    """Addresses and ports are each given once."""
    made = [service(store, f"s{n}", type="NodePort")["spec"] for n in range(3)]
    assert [spec["clusterIP"] for spec in made] == ["10.96.1.0", "10.96.1.1", "10.96.1.2"]
    assert [spec["ports"][0]["nodePort"] for spec in made] == [30000, 30001, 30002]
    store.remove(("", "services"), "ns", "s1")
    again = service(store, "again", type="NodePort")["spec"]
    assert (again["clusterIP"], again["ports"][0]["nodePort"]) == ("10.96.1.1", 30001)


def test_one_service_can_use_a_port_for_two_protocols(store: storage.Storage) -> None:
    """A port is taken for one protocol."""
    ports = [
        {"name": name, "port": 53, "protocol": name.upper(), "nodePort": 30053}
        for name in ("tcp", "udp")
    ]
    made = service(store, "dns", type="NodePort", ports=ports)
    assert [port["nodePort"] for port in made["spec"]["ports"]] == [30053, 30053]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"clusterIP": "10.96.1.0"}, "failed to allocate IP 10.96.1.0: provided IP is already"),
        ({"clusterIP": "1.2.3.4"}, "the provided network does not match the current range"),
        ({"clusterIP": "what"}, "must be a valid IP address"),
        ({"clusterIPs": ["10.96.9.9"]}, "must be empty when `clusterIP` is not specified"),
        ({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30000}]}, "already allocated"),
        ({"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}, "not in the valid range"),
        ({"type": "NodePort", "clusterIP": "None"}, "may not be set to 'None'"),
        ({"type": "ExternalName"}, "spec.externalName: Required value"),
        ({"ports": []}, "spec.ports: Required value"),
        ({"externalIPs": ["127.0.0.1"]}, "may not be in the loopback range"),
    ],
)
def test_services_that_are_refused(store: storage.Storage, spec: Obj, told: str) -> None:
    """Addresses and ports must be free, valid and fit the type."""
    service(store, "first", type="NodePort")
    with pytest.raises(failure.ApiFailure) as raised:
        service(store, "second", **spec)
    assert told in raised.value.message


def test_services_change_their_type(store: storage.Storage) -> None:
    """They keep what both types have and lose what the new one has not."""
    old = service(store, "x", type="LoadBalancer", externalTrafficPolicy="Local")
    assert old["spec"]["healthCheckNodePort"] == 30001
    inner = updated(old, {"spec": {**old["spec"], "type": "ClusterIP"}}, store, "services")["spec"]
    assert inner["clusterIP"] == old["spec"]["clusterIP"]
    assert "nodePort" not in inner["ports"][0]
    gone = ("healthCheckNodePort", "allocateLoadBalancerNodePorts", "externalTrafficPolicy")
    assert not set(gone) & set(inner)
    spec = {**old["spec"], "type": "ExternalName", "externalName": "a.b"}
    outer = updated(old, {"spec": spec}, store, "services")["spec"]
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & set(outer)


def test_services_keep_addresses_and_ports(store: storage.Storage) -> None:
    """An update that says nothing of them changes nothing."""
    old = service(store, "x", type="LoadBalancer", externalTrafficPolicy="Local")
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}
    assert updated(old, {"spec": spec}, store, "services")["spec"] == old["spec"]
    moved = {**spec, "clusterIP": "10.96.9.9"}
    with pytest.raises(failure.ApiFailure, match="may not change once set"):
        updated(old, {"spec": moved}, store, "services")


# -- data, storage, policies -----------------------------------------------------------------


def test_claims_and_volumes_are_protected(store: storage.Storage) -> None:
    """A claim is of the default class; both wait for their users when they are deleted."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    meta = {"name": "usual", "annotations": annotations}
    store.put(("storage.k8s.io", "storageclasses"), {"metadata": meta})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = created("persistentvolumeclaims", {"spec": spec}, store)
    assert claim["spec"]["storageClassName"] == "usual"
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    source = {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}
    copied = created("persistentvolumeclaims", {"spec": {**spec, **source}}, store)
    assert copied["spec"]["dataSourceRef"]["name"] == "a"
    changed = {**claim["spec"], "accessModes": ["ReadWriteMany"]}
    with pytest.raises(failure.ApiFailure, match="spec is immutable after creation"):
        updated(claim, {"spec": changed}, store, "persistentvolumeclaims")


def test_bound_claims_grow(store: storage.Storage) -> None:
    """They never shrink."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = created("persistentvolumeclaims", {"spec": spec}, store)
    bound = {**claim, "status": {"phase": "Bound"}}
    for size, fits in (("2Gi", True), ("1Mi", False)):
        change = {"spec": {**spec, "resources": {"requests": {"storage": size}}}}
        if fits:
            updated(bound, change, store, "persistentvolumeclaims")
            continue
        with pytest.raises(failure.ApiFailure, match="field can not be less than"):
            updated(bound, change, store, "persistentvolumeclaims")


def test_data_has_a_limit(store: storage.Storage) -> None:
    """A config map or a secret has at most a mebibyte."""
    created("configmaps", {"data": {"a": "x" * 2**20}}, store)
    with pytest.raises(failure.ApiFailure) as raised:
        created("configmaps", {"data": {"a": "x" * (2**20 + 1)}}, store)
    assert raised.value.message.endswith("Too long: may not be more than 1048576 bytes")
    with pytest.raises(failure.ApiFailure, match="Too long"):
        created("secrets", {"stringData": {"a": "x" * (2**20 + 1)}}, store)


@pytest.mark.parametrize(
    ("qualified", "obj", "told"),
    [
        ("secrets", {"type": "kubernetes.io/tls"}, "data[tls.crt]: Required value"),
        ("secrets", {"data": {"a/b": ""}}, "a valid config key must consist of"),
        ("configmaps", {"data": {"a": ""}, "binaryData": {"a": ""}}, "duplicate of key present"),
        ("limitranges", {"spec": {"limits": [{"type": "What"}]}}, "must be a standard limit type"),
        ("resourcequotas", {"spec": {"hard": {"pods": "1.5"}}}, "must be an integer"),
        ("namespaces", {"spec": {"finalizers": ["what"]}}, "neither a standard finalizer name"),
        ("persistentvolumes", {"spec": {}}, "must specify a volume type"),
        ("endpoints", {"subsets": [{}]}, "must specify `addresses` or `notReadyAddresses`"),
        ("leases.coordination.k8s.io", {"spec": {"leaseDurationSeconds": 0}}, "greater than 0"),
        ("events", {"involvedObject": {"namespace": "no"}}, "does not match event.namespace"),
    ],
)
def test_other_kinds_that_are_refused(
    store: storage.Storage, qualified: str, obj: Obj, told: str
) -> None:
    """Every kind has rules of its own."""
    with pytest.raises(failure.ApiFailure) as raised:
        created(qualified, obj, store)
    assert told in raised.value.message


def test_what_is_immutable_stays(store: storage.Storage) -> None:
    """Data that is called immutable, the role of a binding, the value of a priority."""
    told = "field is immutable"
    data = created("configmaps", {"data": {"a": "b"}, "immutable": True}, store)
    with pytest.raises(failure.ApiFailure, match=told):
        updated(data, {"data": {}}, store, "configmaps")
    role = {"roleRef": {"kind": "Role", "name": "a"}}
    bindings = "rolebindings.rbac.authorization.k8s.io"
    binding = created(bindings, role, store)
    with pytest.raises(failure.ApiFailure, match=told):
        updated(binding, {"roleRef": {"kind": "Role", "name": "b"}}, store, bindings)
    classes = "priorityclasses.scheduling.k8s.io"
    high = created(classes, {"value": 5}, store)
    with pytest.raises(failure.ApiFailure, match="may not be changed in an update"):
        updated(high, {"value": 6}, store, classes)


# -- status and metadata ---------------------------------------------------------------------


def test_a_write_of_the_status(store: storage.Storage) -> None:
    """It changes the status alone, and what of the metadata goes with it."""
    of = resource("pods")
    pod = created("pods", {"spec": {"containers": [CONTAINER]}}, store)
    meta = {**pod["metadata"], "labels": {"a": "b"}, "ownerReferences": [{"name": "x"}]}
    status = {"podIP": "1.2.3.4", "conditions": [{"type": "Ready", "status": "True"}]}
    found = builtin.prepare_status(of, {"metadata": meta, "spec": {}, "status": status}, pod)
    assert found["spec"] == pod["spec"]
    assert found["metadata"]["labels"] == {"a": "b"}
    assert "ownerReferences" not in found["metadata"]
    assert found["status"]["podIPs"] == [{"ip": "1.2.3.4"}]
    assert found["status"]["conditions"][0]["lastProbeTime"] is None


def test_labels_of_deployments_are_not_status(store: storage.Storage) -> None:
    """A write of the status of a deployment keeps its labels and takes new annotations."""
    old = created("deployments.apps", {"spec": SELECTED}, store, labels={"a": "b"})
    meta = {**old["metadata"], "labels": {"c": "d"}, "annotations": {"e": "f"}}
    found = builtin.prepare_status(resource("deployments.apps"), {"metadata": meta}, old)
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["metadata"]["annotations"] == {"e": "f"}


def test_new_finalizers_of_what_is_deleted() -> None:
    """An object that is being deleted gets no further finalizers."""
    of = resource("configmaps")
    old = {"name": "x", "finalizers": ["a/b"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    new = {**old, "finalizers": ["a/b", "a/c"]}
    (cause,) = builtin.validate_metadata(of, {"metadata": new}, {"metadata": old})
    assert cause.message.endswith('found new finalizers []string{"a/c"}')
    fewer = {"metadata": {**old, "finalizers": []}}
    assert builtin.validate_metadata(of, fewer, {"metadata": old}) == []


def test_every_rule_of_the_table_is_there() -> None:
    """Every word of builtin.yaml has a function, every kind of it is served."""
    served = {found.kind for found in KINDS.all()}
    for section in ("kinds", "update"):
        assert checking.kinds_of(section) - served == set()
