"""What the API server fills in and sets by itself in objects of the kinds it knows."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import wire

Obj = dict[str, Any]
CONTAINER: Obj = {"name": "c", "image": "nginx"}
FILLED: Obj = {
    **CONTAINER,
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}
POD: Obj = {
    "containers": [FILLED],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
LABELS = {"app": "a"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [CONTAINER]}}
FULL = {"metadata": {"labels": LABELS}, "spec": POD}
SELECTED = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
ENDING = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
PROBED: Obj = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
HTTP: Obj = {"path": "/", "port": 80, "scheme": "HTTP"}
RBAC = "rbac.authorization.k8s.io"
EVERYWHERE = {"namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Equivalent"}


def made(server: wire.Server, path: str, obj: Obj, name: str = "x") -> Obj:
    """What the server would make of an object."""
    metadata = {"name": name, **obj.get("metadata", {})}
    answer = server.post(path, {**obj, "metadata": metadata}, dryRun="All")
    assert answer.code == 201, answer.text
    found: Obj = answer.body
    return found


def in_group(namespace: str, group: str, plural: str) -> str:
    """The path of a collection in a namespace."""
    return f"/apis/{group}/namespaces/{namespace}/{plural}"


def pod_path(server: wire.Server, namespace: str) -> str:
    """The path of the pods of a namespace that is ready for pods."""
    core = f"/api/v1/namespaces/{namespace}"
    server.until(f"{core}/serviceaccounts/default", lambda body: True)
    return f"{core}/pods"


def spec_of_pod(server: wire.Server, namespace: str, spec: Obj) -> Obj:
    """The spec of a pod, without the access to the API that every pod gets."""
    spec = {"automountServiceAccountToken": False, **spec}
    found: Obj = made(server, pod_path(server, namespace), {"spec": spec})["spec"]
    return found


def test_a_pod_gets_defaults_and_what_admission_adds(server: wire.Server, shared_ns: str) -> None:
    """A pod of one container becomes a whole one, with an account, tolerations and a token."""
    found = made(server, pod_path(server, shared_ns), {"spec": {"containers": [CONTAINER]}})
    volume = found["spec"]["volumes"][0]["name"]
    assert re.fullmatch("kube-api-access-[a-z0-9]{5}", volume)
    away = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    mount = {"name": volume, "readOnly": True, "mountPath": account}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    certificate = {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": certificate},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    assert found["spec"] == {
        **POD,
        "containers": [{**FILLED, "volumeMounts": [mount]}],
        "volumes": [{"name": volume, "projected": {"defaultMode": 420, "sources": sources}}],
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "tolerations": [
            {"key": f"node.kubernetes.io/{state}", **away} for state in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "enableServiceLinks": True,
    }
    assert found["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert found["metadata"]["generation"] == 1


def test_a_pod_is_completed_in_depth(server: wire.Server, shared_ns: str) -> None:
    """Probes, hooks, ports, variables and volumes of a pod are filled in."""
    container = {
        **CONTAINER,
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": 80}},
        "readinessProbe": {"tcpSocket": {"port": 80}},
        "startupProbe": {"grpc": {"port": 80}, "periodSeconds": 5},
        "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
        "env": [
            {"name": "A", "value": ""},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ],
    }
    volumes = [
        {"name": "empty"},
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "map", "configMap": {"name": "m"}},
        {"name": "host", "hostPath": {"path": "/x"}},
        {"name": "projected", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
    ]
    found = spec_of_pod(server, shared_ns, {"containers": [container], "volumes": volumes})
    assert found["containers"][0] == {
        **FILLED,
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "livenessProbe": {"httpGet": HTTP, **PROBED},
        "readinessProbe": {"tcpSocket": {"port": 80}, **PROBED},
        "startupProbe": {"grpc": {"port": 80, "service": ""}, **PROBED, "periodSeconds": 5},
        "lifecycle": {"preStop": {"httpGet": HTTP}},
        "env": [
            {"name": "A"},
            {
                "name": "B",
                "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
            },
            {
                "name": "C",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}},
            },
        ],
    }
    token = {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}
    assert found["volumes"] == [
        {"name": "empty", "emptyDir": {}},
        {"name": "secret", "secret": {"secretName": "s", "defaultMode": 420}},
        {"name": "map", "configMap": {"name": "m", "defaultMode": 420}},
        {"name": "host", "hostPath": {"path": "/x", "type": ""}},
        {"name": "projected", "projected": {"sources": [token], "defaultMode": 420}},
    ]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("host:5000/nginx", "Always"),
        ("nginx:1.2", "IfNotPresent"),
        ("host:5000/nginx:1.2", "IfNotPresent"),
        (f"nginx@sha256:{'0' * 64}", "IfNotPresent"),
    ],
)
def test_images_are_pulled_by_their_tag(
    server: wire.Server, shared_ns: str, image: str, policy: str
) -> None:
    """An image without a tag or with the latest one is always pulled."""
    found = spec_of_pod(server, shared_ns, {"containers": [{"name": "c", "image": image}]})
    assert found["containers"][0]["imagePullPolicy"] == policy


def test_pods_request_what_they_are_limited_to(server: wire.Server, shared_ns: str) -> None:
    """Limits become requests, ports of the host follow, and the quality of service is computed."""
    limits = {"cpu": 1, "memory": "1Gi"}
    container = {**CONTAINER, "resources": {"limits": limits}, "ports": [{"containerPort": 80}]}
    spec = {"hostNetwork": True, "containers": [container]}
    found = made(server, pod_path(server, shared_ns), {"spec": spec})
    one = found["spec"]["containers"][0]
    amounts = {"cpu": "1", "memory": "1Gi"}
    assert one["resources"] == {"limits": amounts, "requests": amounts}
    assert one["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
    assert found["status"]["qosClass"] == "Guaranteed"


def test_admission_knows_priorities_and_accounts(server: wire.Server, shared_ns: str) -> None:
    """A pod gets the number of its priority class; unknown classes and accounts are refused."""
    path = pod_path(server, shared_ns)
    spec: Obj = {"containers": [CONTAINER]}
    critical = {**spec, "priorityClassName": "system-node-critical"}
    assert made(server, path, {"spec": critical})["spec"]["priority"] == 2000001000
    for more, told in (
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        (
            {"priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; priority "
            "admission controller computed 0 from the given PriorityClass name",
        ),
        (
            {"serviceAccountName": "none"},
            f'error looking up service account {shared_ns}/none: serviceaccount "none" not found',
        ),
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
    ):
        answer = server.post(path, {"metadata": {"name": "x"}, "spec": {**spec, **more}})
        assert answer.code == 403
        assert answer.body["message"] == f'pods "x" is forbidden: {told}'


@pytest.mark.parametrize(
    ("plural", "given", "filled"),
    [
        (
            "deployments",
            {},
            {
                "replicas": 1,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
                },
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
            },
        ),
        ("replicasets", {}, {"replicas": 1}),
        (
            "daemonsets",
            {},
            {
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
                },
                "revisionHistoryLimit": 10,
            },
        ),
        (
            "statefulsets",
            {},
            {
                "replicas": 1,
                "serviceName": "",
                "podManagementPolicy": "OrderedReady",
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"partition": 0, "maxUnavailable": 1},
                },
                "revisionHistoryLimit": 10,
                "persistentVolumeClaimRetentionPolicy": {
                    "whenDeleted": "Retain",
                    "whenScaled": "Retain",
                },
            },
        ),
    ],
)
def test_what_makes_pods_is_completed(
    server: wire.Server, shared_ns: str, plural: str, given: Obj, filled: Obj
) -> None:
    """Deployments and their kin get defaults, their templates too, and begin at generation 1."""
    found = made(server, in_group(shared_ns, "apps/v1", plural), {"spec": {**SELECTED, **given}})
    assert found["spec"] == {**SELECTED, "template": FULL, **filled}
    assert found["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("plural", "status"),
    [
        ("deployments", {}),
        ("replicasets", {"replicas": 0}),
        ("statefulsets", {"replicas": 0, "availableReplicas": 0}),
        (
            "daemonsets",
            {
                "currentNumberScheduled": 0,
                "desiredNumberScheduled": 0,
                "numberMisscheduled": 0,
                "numberReady": 0,
            },
        ),
    ],
)
def test_a_status_cannot_be_created(
    server: wire.Server, shared_ns: str, plural: str, status: Obj
) -> None:
    """The status that comes with a new object is dropped."""
    obj = {"spec": SELECTED, "status": {"observedGeneration": 7}}
    assert made(server, in_group(shared_ns, "apps/v1", plural), obj)["status"] == status


def test_claims_of_stateful_sets_are_whole_objects(server: wire.Server, shared_ns: str) -> None:
    """Claims in a stateful set get a kind, defaults and a status."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1024Mi"}},
        },
    }
    spec = {**SELECTED, "volumeClaimTemplates": [claim]}
    found = made(server, in_group(shared_ns, "apps/v1", "statefulsets"), {"spec": spec})
    assert found["spec"]["volumeClaimTemplates"] == [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "volumeMode": "Filesystem",
            },
            "status": {"phase": "Pending"},
        }
    ]


def test_a_job_selects_its_own_pods(server: wire.Server, shared_ns: str) -> None:
    """A job gets a selector by its uid, labels and defaults."""
    found = made(server, in_group(shared_ns, "batch/v1", "jobs"), {"spec": {"template": ENDING}})
    uid = found["metadata"]["uid"]
    own = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": uid,
        "job-name": "x",
    }
    assert found["metadata"]["labels"] == own
    assert found["spec"] == {
        "template": {"metadata": {"labels": own}, "spec": {**POD, "restartPolicy": "Never"}},
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
        "manualSelector": False,
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }


def test_labels_of_jobs(server: wire.Server, shared_ns: str) -> None:
    """A job without labels has those of its template; width alone means any success will do."""
    path = in_group(shared_ns, "batch/v1", "jobs")
    template = {**ENDING, "metadata": {"labels": LABELS}}
    bare = made(server, path, {"spec": {"template": template, "parallelism": 2}})
    assert bare["metadata"]["labels"]["app"] == "a"
    assert "completions" not in bare["spec"]
    obj = {"metadata": {"labels": {"own": "label"}}, "spec": {"template": template}}
    assert made(server, path, obj)["metadata"]["labels"] == {"own": "label"}


def test_a_cron_job_is_completed(server: wire.Server, shared_ns: str) -> None:
    """A cron job gets defaults, and its template those of pods."""
    spec = {"schedule": "@hourly", "jobTemplate": {"spec": {"template": ENDING}}}
    found = made(server, in_group(shared_ns, "batch/v1", "cronjobs"), {"spec": spec})
    pod = {"metadata": {}, "spec": {**POD, "restartPolicy": "Never"}}
    assert found["spec"] == {
        "schedule": "@hourly",
        "jobTemplate": {"metadata": {}, "spec": {"template": pod}},
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }


SERVICE: Obj = {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}
PORT: Obj = {"protocol": "TCP", "port": 80, "targetPort": 80}
ONE = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
BOTH = {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack"}
NONE = {"clusterIP": "None", "clusterIPs": ["None"]}


@pytest.mark.parametrize(
    ("given", "filled"),
    [
        (
            {"clusterIP": "None", "selector": LABELS, "ports": [{"port": 80, "targetPort": "a"}]},
            {**NONE, **ONE, "selector": LABELS, "ports": [{**PORT, "targetPort": "a"}]},
        ),
        ({"clusterIP": "None"}, {**NONE, **BOTH}),
        (
            {"clusterIP": "None", "selector": LABELS, "sessionAffinity": "ClientIP"},
            {
                **NONE,
                **ONE,
                "selector": LABELS,
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
            },
        ),
    ],
)
def test_headless_services(server: wire.Server, shared_ns: str, given: Obj, filled: Obj) -> None:
    """A service without an address says so in all fields."""
    found = made(server, f"/api/v1/namespaces/{shared_ns}/services", {"spec": given})
    assert found["spec"] == {**SERVICE, **filled}
    assert found["status"] == {"loadBalancer": {}}


def test_services_get_addresses_and_ports(server: wire.Server, ns: str) -> None:
    """Addresses and ports are allocated, unique, and checked where they are asked for."""
    path = f"/api/v1/namespaces/{ns}/services"

    def create(name: str, **spec: Any) -> wire.Answer:
        body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
        return server.post(path, body)

    plain = create("plain").body["spec"]
    assert plain["clusterIP"].startswith("10.96.")
    ips = {"clusterIP": plain["clusterIP"], "clusterIPs": [plain["clusterIP"]]}
    assert plain == {**SERVICE, **ONE, **ips, "ports": [PORT]}
    exposed = create("exposed", type="NodePort").body["spec"]
    port = exposed["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    assert exposed["externalTrafficPolicy"] == "Cluster"
    assert exposed["clusterIP"] != plain["clusterIP"]
    balanced = create("balanced", type="LoadBalancer", externalTrafficPolicy="Local").body["spec"]
    assert balanced["allocateLoadBalancerNodePorts"] is True
    assert balanced["healthCheckNodePort"] not in (port, balanced["ports"][0]["nodePort"])
    external = create("external", type="ExternalName", externalName="a.example").body["spec"]
    assert "clusterIP" not in external
    assert "ipFamilies" not in external

    taken = [{"port": 80, "nodePort": port}]
    ours = plain["clusterIP"]
    told = {
        "spec.ports[0].nodePort": "provided port is already allocated",
        "spec.clusterIPs": f"failed to allocate IP {ours}: provided IP is already allocated",
    }
    for answer in (create("p", type="NodePort", ports=taken), create("i", clusterIP=ours)):
        cause = answer.body["details"]["causes"][0]
        assert answer.code == 422
        assert cause["message"].endswith(told[cause["field"]])
    answer = create("far", clusterIP="1.2.3.4")
    assert answer.body["details"]["causes"][0]["message"] == (
        'Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: '
        "the provided network does not match the current range"
    )
    answer = create("low", type="NodePort", ports=[{"port": 80, "nodePort": 80}])
    assert answer.body["details"]["causes"][0]["message"] == (
        "Invalid value: 80: provided port is not in the valid range. "
        "The range of valid ports is 30000-32767"
    )


def test_services_keep_what_they_have(server: wire.Server, ns: str) -> None:
    """An update keeps addresses and ports, and drops those that the new type does not have."""
    path = f"/api/v1/namespaces/{ns}/services"
    body: Obj = {"metadata": {"name": "x"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    first = server.post(path, body).body
    address, port = first["spec"]["clusterIP"], first["spec"]["ports"][0]["nodePort"]

    def put(**spec: Any) -> Obj:
        answer = server.put(f"{path}/x", {**body, "spec": {**body["spec"], **spec}}, dryRun="All")
        assert answer.code == 200, answer.text
        found: Obj = answer.body["spec"]
        return found

    same = put(ports=[{"port": 81}])
    assert same["clusterIP"] == address
    assert same["ports"] == [{"protocol": "TCP", "port": 81, "targetPort": 81, "nodePort": port}]
    changed = {**first, "spec": {**first["spec"], "type": "ClusterIP"}}
    inner = server.put(f"{path}/x", changed, dryRun="All").body["spec"]
    assert inner["ports"] == [PORT]
    assert "externalTrafficPolicy" not in inner
    changed = {**first, "spec": {**first["spec"], "type": "ExternalName", "externalName": "a.b"}}
    outer = server.put(f"{path}/x", changed, dryRun="All").body["spec"]
    assert outer == {
        "type": "ExternalName",
        "externalName": "a.b",
        "ports": [PORT],
        "sessionAffinity": "None",
    }
    moved = {**body["spec"], "clusterIP": "10.96.7.7"}
    answer = server.put(f"{path}/x", {**body, "spec": moved}, dryRun="All")
    cause = answer.body["details"]["causes"][0]
    assert cause["field"] == "spec.clusterIPs[0]"
    assert cause["message"] == 'Invalid value: ["10.96.7.7"]: may not change once set'


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0.5Gi"}}}
METRIC = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 15}


@pytest.mark.parametrize(
    ("group", "plural", "obj", "spec"),
    [
        (
            "autoscaling/v2",
            "horizontalpodautoscalers",
            {"maxReplicas": 3, "scaleTargetRef": TARGET},
            {"minReplicas": 1, "metrics": [METRIC]},
        ),
        (
            "autoscaling/v2",
            "horizontalpodautoscalers",
            {"maxReplicas": 3, "scaleTargetRef": TARGET, "behavior": {"scaleUp": {}}},
            {
                "minReplicas": 1,
                "metrics": [METRIC],
                "behavior": {
                    "scaleUp": {
                        "stabilizationWindowSeconds": 0,
                        "selectPolicy": "Max",
                        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, PERCENT],
                    },
                    "scaleDown": {"selectPolicy": "Max", "policies": [PERCENT]},
                },
            },
        ),
        (
            "networking.k8s.io/v1",
            "networkpolicies",
            {"ingress": [{"from": [], "ports": [{"port": 80}]}], "egress": [{}]},
            {
                "podSelector": {},
                "ingress": [{"ports": [{"port": 80, "protocol": "TCP"}]}],
                "policyTypes": ["Ingress", "Egress"],
            },
        ),
        (
            "networking.k8s.io/v1",
            "networkpolicies",
            {},
            {"podSelector": {}, "policyTypes": ["Ingress"]},
        ),
        ("policy/v1", "poddisruptionbudgets", {}, {}),
        ("coordination.k8s.io/v1", "leases", {}, {}),
    ],
)
def test_other_kinds_are_completed(
    server: wire.Server, shared_ns: str, group: str, plural: str, obj: Obj, spec: Obj
) -> None:
    """Autoscalers, network policies, budgets and leases get their defaults."""
    found = made(server, in_group(shared_ns, group, plural), {"spec": copy.deepcopy(obj)})
    assert found["spec"] == {**obj, **spec}


def test_claims_and_volumes(server: wire.Server, shared_ns: str, unique: str) -> None:
    """Claims are of the default class, both are protected, and sizes are written in one way."""
    core = f"/api/v1/namespaces/{shared_ns}"
    claim = made(server, f"{core}/persistentvolumeclaims", {"spec": CLAIM})
    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "512Mi"}},
        "storageClassName": "standard",
        "volumeMode": "Filesystem",
    }
    assert claim["status"] == {"phase": "Pending"}
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    volume = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": 1024}}
    obj = {"spec": {**volume, "hostPath": {"path": "/x"}}}
    found = made(server, "/api/v1/persistentvolumes", obj, unique)
    assert found["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1024"},
        "hostPath": {"path": "/x", "type": ""},
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
    }
    assert found["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert set(found["status"]) == {"phase", "lastPhaseTransitionTime"}


def test_secrets_and_namespaces(server: wire.Server, shared_ns: str, unique: str) -> None:
    """Texts of secrets become data; namespaces get a label, a finalizer and a phase."""
    data = {"stringData": {"a": "b", "c": ""}, "data": {"a": "eA==", "d": ""}}
    secret = made(server, f"/api/v1/namespaces/{shared_ns}/secrets", data)
    assert secret["data"] == {"a": "Yg==", "c": "", "d": ""}
    assert secret["type"] == "Opaque"
    assert "stringData" not in secret
    namespace = made(server, "/api/v1/namespaces", {}, unique)
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": unique}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    assert namespace["status"] == {"phase": "Active"}


def test_roles_and_bindings(server: wire.Server, shared_ns: str) -> None:
    """The group of what is bound is filled in; a role without rules has none."""
    path = in_group(shared_ns, f"{RBAC}/v1", "rolebindings")
    users = [{"kind": kind, "name": "x"} for kind in ("User", "Group")]
    account = {"kind": "ServiceAccount", "name": "x", "namespace": "y"}
    obj = {"roleRef": {"kind": "Role", "name": "x"}, "subjects": [*users, account]}
    found = made(server, path, obj)
    assert found["roleRef"] == {"apiGroup": RBAC, "kind": "Role", "name": "x"}
    assert found["subjects"] == [*({**user, "apiGroup": RBAC} for user in users), account]
    assert made(server, in_group(shared_ns, f"{RBAC}/v1", "roles"), {})["rules"] is None


def test_cluster_kinds(server: wire.Server, unique: str) -> None:
    """Storage classes, ingress classes, priorities and webhooks get their defaults."""
    found = made(server, "/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "a/b"}, unique)
    assert found["reclaimPolicy"] == "Delete"
    assert found["volumeBindingMode"] == "Immediate"
    spec = {"controller": "a.b/c", "parameters": {"kind": "X", "name": "y"}}
    path = "/apis/networking.k8s.io/v1/ingressclasses"
    found = made(server, path, {"spec": spec}, unique)
    assert found["spec"]["parameters"] == {"kind": "X", "name": "y", "scope": "Cluster"}
    found = made(server, "/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 5}, unique)
    assert found["preemptionPolicy"] == "PreemptLowerPriority"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
    hook = {
        "name": "a.example.com",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "x", "namespace": "y"}},
        "rules": [rule],
    }
    group = "/apis/admissionregistration.k8s.io/v1"
    found = made(server, f"{group}/mutatingwebhookconfigurations", {"webhooks": [hook]}, unique)
    assert found["webhooks"] == [
        {
            **hook,
            **EVERYWHERE,
            "clientConfig": {"service": {"name": "x", "namespace": "y", "port": 443}},
            "rules": [{**rule, "scope": "*"}],
            "failurePolicy": "Fail",
            "timeoutSeconds": 10,
            "reinvocationPolicy": "Never",
        }
    ]
    change = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    constraints: Obj = {"resourceRules": [rule]}
    policy: Obj = {"reinvocationPolicy": "Never", "mutations": [change]}
    obj = {"spec": {**policy, "matchConstraints": constraints}}
    found = made(server, f"{group}/mutatingadmissionpolicies", obj, unique)
    assert found["metadata"]["generation"] == 1
    assert found["spec"] == {
        **policy,
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{**rule, "scope": "*"}], **EVERYWHERE},
    }
    path = f"{group}/mutatingadmissionpolicybindings"
    found = made(server, path, {"spec": {"policyName": "x"}}, unique)
    assert (found["spec"], found["metadata"]["generation"]) == ({"policyName": "x"}, 1)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        (0.5, "500m"),
        (1024, "1024"),
        ("2000", "2k"),
        ("1.5Gi", "1536Mi"),
        ("0.1Mi", "104857600m"),
        ("1e3", "1e3"),
        ("12e2", "1200"),
        ("0Mi", "0"),
        ("1n", "1m"),
        ("8Ei", "9223372036854775807"),
    ],
)
def test_quantities_are_written_in_one_way(
    server: wire.Server, shared_ns: str, given: str | float, written: str
) -> None:
    """An amount has one form, whatever form it came in."""
    path = f"/api/v1/namespaces/{shared_ns}/resourcequotas"
    found = made(server, path, {"spec": {"hard": {"requests.cpu": given}}})
    assert found["spec"]["hard"] == {"requests.cpu": written}


def test_empty_values_are_not_stored(server: wire.Server, shared_ns: str) -> None:
    """What is empty falls away, unless it means something."""
    obj = {"metadata": {"labels": {}, "annotations": {}, "finalizers": []}, "data": {"a": ""}}
    found = made(server, wire.configmaps(shared_ns), {**obj, "binaryData": {}, "immutable": False})
    assert not {"labels", "annotations", "finalizers"} & set(found["metadata"])
    assert found["data"] == {"a": ""}
    assert found["immutable"] is False
    assert "binaryData" not in found


def test_generations_count_what_is_wanted(server: wire.Server, ns: str) -> None:
    """The generation goes up with the spec, of deployments with annotations, never with labels."""
    path = in_group(ns, "networking.k8s.io/v1", "networkpolicies")
    server.post(path, {"metadata": {"name": "x"}, "spec": {}})

    def generation(body: Obj) -> Any:
        return server.patch(f"{path}/x", body).body["metadata"]["generation"]

    assert generation({"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}}}) == 1
    assert generation({"spec": {"policyTypes": ["Egress"]}}) == 2
    assert generation({"spec": {"policyTypes": ["Egress"]}}) == 2
    path = in_group(ns, "apps/v1", "deployments")
    server.post(path, {"metadata": {"name": "x"}, "spec": {**SELECTED, "paused": True}})
    for kind, more in (("labels", 0), ("annotations", 1)):
        before = server.get(f"{path}/x").body["metadata"]["generation"]
        body = {"metadata": {kind: {"changed": "yes"}}}
        found = server.patch(f"{path}/x", body, dryRun="All").body["metadata"]["generation"]
        assert found == before + more
    path = in_group(ns, "discovery.k8s.io/v1", "endpointslices")
    server.post(path, {"metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": []})
    assert generation({"metadata": {"annotations": {"a": "b"}}}) == 1
    assert generation({"metadata": {"labels": {"a": "b"}}}) == 2
    answer = server.post(wire.configmaps(ns), wire.configmap("x"))
    assert "generation" not in answer.body["metadata"]


def test_updates_keep_the_status(server: wire.Server, ns: str) -> None:
    """A write of the object keeps its status, a write of the status all else but annotations."""
    path = in_group(ns, "policy/v1", "poddisruptionbudgets")
    server.post(path, {"metadata": {"name": "x"}, "spec": {"minAvailable": 1}})
    body = {"spec": {"minAvailable": 2}, "status": {"expectedPods": 9}}
    found = server.patch(f"{path}/x", body).body
    assert found["spec"] == {"minAvailable": 2}
    assert found["status"]["expectedPods"] == 0
    found = server.patch(f"{path}/x/status", {**body, "spec": {"minAvailable": 3}}).body
    assert found["spec"] == {"minAvailable": 2}
    assert found["status"]["expectedPods"] == 9
    namespace = {
        "spec": {"finalizers": []},
        "metadata": {"labels": {"kubernetes.io/metadata.name": None}},
    }
    found = server.patch(f"/api/v1/namespaces/{ns}", namespace).body
    assert found["spec"] == {"finalizers": ["kubernetes"]}
    assert found["metadata"]["labels"]["kubernetes.io/metadata.name"] == ns
