"""Tables: cells, columns and the ages in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.views import ages, jsonpath, tables

Obj = dict[str, Any]
NOW = datetime(2026, 1, 2, tzinfo=UTC)
YESTERDAY = "2026-01-01T00:00:00Z"
CUSTOM = kinds.Resource("example.com", "v1", "Thing", "things", "thing", custom=True)


def resource(qualified: str) -> kinds.Resource:
    """A built-in resource by its name."""
    found = kinds.Kinds().named(qualified)
    assert found is not None
    return found


def cells(qualified: str, obj: Obj) -> dict[str, Any]:
    """The cells of an object, by column."""
    obj = {
        **obj,
        "metadata": {"name": "n", "creationTimestamp": YESTERDAY, **obj.get("metadata", {})},
    }
    found = tables.table(resource(qualified), [obj], now=NOW)
    names = [column["name"] for column in found["columnDefinitions"]]
    return dict(zip(names, found["rows"][0]["cells"], strict=True))


def custom(columns: list[Obj], obj: Obj) -> list[Any]:
    """The cells of a custom resource, without its name."""
    obj = {"metadata": {"name": "n", "creationTimestamp": YESTERDAY}, **obj}
    found = tables.table(CUSTOM, [obj], columns, now=NOW)
    return list(found["rows"][0]["cells"][1:])


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (10860, "3h1m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (180000, "2d2h"),
        (691200, "8d"),
        (63071999, "729d"),
        (63072000, "2y"),
        (63158400, "2y1d"),
        (252288000, "8y"),
    ],
)
def test_ages_are_told_in_few_units(seconds: int, wanted: str) -> None:
    """Two units while the finer one matters, then one."""
    assert ages.human(timedelta(seconds=seconds)) == wanted


def test_ages_of_no_time() -> None:
    """Nothing is unknown, and what is no time is invalid."""
    assert ages.since(None, NOW) == "<unknown>"
    assert ages.since("red", NOW) == "<invalid>"
    assert ages.since(YESTERDAY, NOW) == "24h"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (".a.b", [1]),
        ("{.a.b}", [1]),
        ("a.b", [1]),
        (".nosuch.b", []),
        (r".a.dotted\.name", [2]),
        (".a['b']", [1]),
        ('.a["dotted.name"]', [2]),
        (".list[0].n", ["x"]),
        (".list[-1].n", ["z"]),
        (".list[5].n", []),
        (".list[*].n", ["x", "y", "z"]),
        (".list[1:].n", ["y", "z"]),
        (".list[0,2].n", ["x", "z"]),
        ('.list[?(@.n=="y")].v', [2]),
        (".list[?(@.v>1)].n", ["y", "z"]),
        (".list[?(@.v!=2)].n", ["x", "z"]),
        (".list[?(@.w)].n", ["z"]),
        (".list[?(@.n>1)].n", []),
        (".list[?(@.n==red)].n", []),
        (".list[?(n)].n", []),
        ("..w", [True]),
        (".a.*", [1, 2]),
    ],
)
def test_paths_find_values(path: str, wanted: list[Any]) -> None:
    """Fields, indices, slices, unions, filters and descent."""
    items = [{"n": "x", "v": 1}, {"n": "y", "v": 2}, {"n": "z", "v": 3, "w": True}]
    obj = {"a": {"b": 1, "dotted.name": 2}, "list": items}
    assert jsonpath.parse(path)(obj) == wanted


@pytest.mark.parametrize("path", [".a[", ".a[x]", ".a]", ".a{", ".a['b"])
def test_paths_that_cannot_be_read(path: str) -> None:
    """What is no path is a ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011 - the words are for nobody
        jsonpath.parse(path)


def test_custom_columns_fit_their_type() -> None:
    """A value of another type is null; texts are written as JSON."""
    columns = [
        {"name": "I", "type": "integer", "jsonPath": ".i"},
        {"name": "W", "type": "integer", "jsonPath": ".t"},
        {"name": "B", "type": "boolean", "jsonPath": ".b"},
        {"name": "N", "type": "number", "jsonPath": ".f"},
        {"name": "S", "type": "string", "jsonPath": ".m"},
        {"name": "D", "type": "date", "jsonPath": ".d"},
        {"name": "X", "type": "string", "jsonPath": ".x"},
        {"name": "Z", "type": "string", "jsonPath": ".z"},
    ]
    obj = {"i": 1.7, "t": "x", "b": True, "f": 2, "m": {"b": [1], "a": None}, "z": None}
    found = custom(columns, obj | {"d": YESTERDAY})
    assert found == [1, None, True, 2, '{"a":null,"b":[1]}', "24h", None, "<no value>"]


def test_custom_resources_without_columns_show_their_age() -> None:
    """Name and Age."""
    assert custom([], {}) == ["24h"]


def test_rows_without_objects() -> None:
    """include None leaves the object out, Object sends it whole; others are refused."""
    obj = {"metadata": {"name": "n"}, "data": {}}
    maps = resource("configmaps")
    assert tables.table(maps, [obj], include="None", now=NOW)["rows"][0]["object"] is None
    assert tables.table(maps, [obj], include="Object", now=NOW)["rows"][0]["object"] is obj
    with pytest.raises(failure.ApiFailure, match="must be 'Metadata', 'Object', 'None', or empty"):
        tables.table(maps, [obj], include="x", now=NOW)


def test_every_cell_copes_with_an_empty_object() -> None:
    """No built-in kind's table fails for an object that says nothing."""
    for found in kinds.Kinds().all():
        bare = {"metadata": {"name": "n"}}
        row = tables.table(found, [bare], now=NOW)["rows"][0]["cells"]
        assert "n" in row


def test_nodes() -> None:
    """Readiness, roles, addresses."""
    labels = {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}
    ready = {"type": "Ready", "status": "True"}
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}]
    info = {"kernelVersion": "6.1", "architecture": "arm64", "osImage": "os"}
    found = cells(
        "nodes",
        {
            "metadata": {"labels": labels},
            "spec": {"unschedulable": True},
            "status": {"conditions": [ready], "addresses": addresses, "nodeInfo": info},
        },
    )
    assert found["Status"] == "Ready,SchedulingDisabled"
    assert found["Roles"] == "control-plane,worker"
    assert (found["Internal-IP"], found["External-IP"]) == ("10.0.0.1", "<none>")
    assert found["Kernel-Version"] == "6.1 (arm64)"


def test_volumes_and_claims() -> None:
    """Modes are short, in their order; a claim shows what it got only when it is bound."""
    spec = {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}
    spec["claimRef"] = {"namespace": "ns", "name": "c"}
    found = cells("persistentvolumes", {"spec": spec, "status": {"phase": "Bound"}})
    assert (found["Capacity"], found["Access Modes"], found["Claim"]) == ("5Gi", "RWO,RWX", "ns/c")
    got = {"phase": "Bound", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}
    bound = cells("persistentvolumeclaims", {"spec": {"volumeName": "v"}, "status": got})
    assert (bound["Capacity"], bound["Access Modes"]) == ("5Gi", "RWO")
    going = {"deletionTimestamp": YESTERDAY}
    found = cells("persistentvolumeclaims", {"metadata": going, "spec": {}, "status": got})
    assert (found["Status"], found["Capacity"]) == ("Terminating", "")


def test_quotas_tell_used_of_allowed() -> None:
    """Limits in a column of their own."""
    status = {"hard": {"pods": "3", "limits.memory": "1Gi", "a": "1"}, "used": {"pods": "2"}}
    found = cells("resourcequotas", {"status": status})
    assert (found["Request"], found["Limit"]) == ("a: 0/1, pods: 2/3", "limits.memory: 0/1Gi")


@pytest.mark.parametrize(
    ("conditions", "going", "wanted"),
    [
        ([], False, "Running"),
        (["Suspended"], False, "Suspended"),
        (["FailureTarget", "Failed"], False, "Failed"),
        (["SuccessCriteriaMet", "Complete"], True, "Complete"),
        (["Suspended"], True, "Terminating"),
        (["FailureTarget"], False, "FailureTarget"),
    ],
)
def test_jobs_tell_what_they_are_at(conditions: list[str], going: bool, wanted: str) -> None:
    """The end first, then being deleted, then why it waits."""
    status = {"conditions": [{"type": kind, "status": "True"} for kind in conditions]}
    meta = {"deletionTimestamp": YESTERDAY} if going else {}
    assert cells("jobs.batch", {"metadata": meta, "status": status})["Status"] == wanted


def test_a_jobs_duration() -> None:
    """Until its end, or until now."""
    status = {"startTime": YESTERDAY}
    assert cells("jobs.batch", {"status": status})["Duration"] == "24h"
    done = status | {"completionTime": "2026-01-01T00:00:05Z"}
    assert cells("jobs.batch", {"status": done})["Duration"] == "5s"
    assert cells("jobs.batch", {"status": {}})["Duration"] == ""


def test_load_balancers_and_outside_addresses() -> None:
    """What the balancer got, then what is set by hand."""
    ingress = {"loadBalancer": {"ingress": [{"ip": "10.0.0.9"}, {"hostname": "lb.example"}]}}
    spec = {"type": "LoadBalancer", "externalIPs": ["10.1.1.1"]}
    found = cells("services", {"spec": spec, "status": ingress})
    assert found["External-IP"] == "10.0.0.9,lb.example,10.1.1.1"
    found = cells("ingresses.networking.k8s.io", {"spec": {}, "status": ingress})
    assert found["Address"] == "10.0.0.9,lb.example"


def test_policies_and_parameters() -> None:
    """Of which kind parameters are, and where."""
    spec = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{}]}
    found = cells("validatingadmissionpolicies.admissionregistration.k8s.io", {"spec": spec})
    assert (found["Validations"], found["ParamKind"]) == (1, "v1/ConfigMap")
    spec = {"policyName": "p", "paramRef": {"name": "x", "namespace": "ns"}}
    found = cells("validatingadmissionpolicybindings.admissionregistration.k8s.io", {"spec": spec})
    assert (found["PolicyName"], found["ParamRef"]) == ("p", "ns/x")
    spec = {"controller": "c", "parameters": {"apiGroup": "g", "kind": "K", "name": "n"}}
    assert cells("ingressclasses.networking.k8s.io", {"spec": spec})["Parameters"] == "K.g/n"


def test_crds_list_versions() -> None:
    """The stored one is marked."""
    versions = [{"name": "v1", "storage": True}, {"name": "v1beta1"}]
    conditions = [{"type": "Established", "status": "True"}]
    spec = {"versions": versions, "names": {"kind": "K", "shortNames": ["a", "b"]}}
    name = "customresourcedefinitions.apiextensions.k8s.io"
    found = cells(name, {"spec": spec, "status": {"conditions": conditions}})
    assert found["Versions"] == "v1(storage),v1beta1"
    assert (found["ShortNames"], found["Established"]) == ("a,b", True)
    assert found["Created At"] == YESTERDAY


def test_the_default_storage_class_is_marked() -> None:
    """By its annotation."""
    notes = {"storageclass.kubernetes.io/is-default-class": "true"}
    found = cells("storageclasses.storage.k8s.io", {"metadata": {"annotations": notes}})
    assert found["Name"] == "n (default)"


def test_revisions_name_their_owner() -> None:
    """Kind and group of the controller."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True}
    found = cells("controllerrevisions.apps", {"metadata": {"ownerReferences": [owner]}})
    assert found["Controller"] == "statefulset.apps/s"


def pod(**parts: Any) -> dict[str, Any]:
    """The cells of a pod with two containers."""
    spec = {"containers": [{"name": "c"}, {"name": "d"}], **parts.pop("spec", {})}
    return cells("pods", {"metadata": parts.pop("meta", {}), "spec": spec, "status": parts})


def test_pods_that_end_or_wait() -> None:
    """Being deleted, lost, gated, completed with a container still running."""
    going = {"deletionTimestamp": YESTERDAY}
    assert pod(meta=going, phase="Running")["Status"] == "Terminating"
    assert pod(meta=going, phase="Succeeded")["Status"] == "Succeeded"
    assert pod(meta=going, phase="Running", reason="NodeLost")["Status"] == "Unknown"
    gated = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
    assert pod(phase="Pending", conditions=gated)["Status"] == "SchedulingGated"
    done = {"name": "c", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    runs = {"name": "d", "ready": True, "state": {"running": {}}}
    ready = [{"type": "Ready", "status": "True"}]
    both = [done, runs]
    assert pod(phase="Running", containerStatuses=both)["Status"] == "NotReady"
    assert pod(phase="Running", containerStatuses=both, conditions=ready)["Status"] == "Running"


def test_pods_with_sidecars() -> None:
    """An init container that goes on running counts with the others."""
    spec = {"initContainers": [{"name": "s", "restartPolicy": "Always"}]}
    side = {
        "name": "s",
        "started": True,
        "ready": True,
        "state": {"running": {}},
        "restartCount": 2,
    }
    killed = {"name": "c", "state": {"terminated": {"exitCode": 137, "signal": 9}}}
    status = {"initContainerStatuses": [side], "containerStatuses": [killed]}
    found = pod(spec=spec, phase="Running", **status)
    assert (found["Ready"], found["Status"], found["Restarts"]) == ("1/3", "Signal:9", "2")
