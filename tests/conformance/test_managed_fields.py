"""metadata.managedFields: what writes other than server-side apply note there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import wire

GROUP = "managers.conformance.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
DATA: wire.Obj = {"f:data": {".": {}, "f:k": {}}}


def fields(obj: wire.Obj, manager: str, subresource: str = "") -> Any:
    """What a manager's Update entry owns; None if it has none."""
    for entry in obj["metadata"].get("managedFields", []):
        at = (entry.get("manager"), entry["operation"], entry.get("subresource", ""))
        if at == (manager, "Update", subresource):
            return entry["fieldsV1"]
    return None


def managers(obj: wire.Obj) -> list[str]:
    """The managers in the order in which they stand."""
    return [entry["manager"] for entry in obj["metadata"].get("managedFields", [])]


def create(server: wire.Server, path: str, body: wire.Obj, **query: Any) -> wire.Obj:
    """POST what must succeed."""
    answer = server.post(path, body, **query)
    assert answer.code == 201, answer.text
    found: wire.Obj = answer.body
    return found


def change(server: wire.Server, path: str, body: wire.Obj, manager: str, **query: Any) -> wire.Obj:
    """A merge patch that must succeed."""
    answer = server.patch(path, body, fieldManager=manager, **query)
    assert answer.code == 200, answer.text
    found: wire.Obj = answer.body
    return found


@pytest.fixture(scope="module")
def custom(server: wire.Server, shared_ns: str) -> Iterator[str]:
    """A custom resource with lists and maps of all kinds: the path of its objects."""
    entry = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "port": {"type": "integer", "default": 80},
            "value": {"type": "string"},
        },
    }
    spec = {
        "size": {"type": "integer"},
        "preset": {"type": "integer", "default": 5},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "port"],
            "items": entry,
        },
        "list": {
            "type": "array",
            "items": {"type": "object", "properties": {"a": {"type": "integer"}}},
        },
        "atomic": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"a": {"type": "string"}},
        },
        "dict": {"type": "object", "additionalProperties": entry},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "object": {"type": "object", "properties": {"inner": {"type": "object"}}},
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    properties = {"spec": {"type": "object", "properties": spec}, "status": status}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}, "scale": scale},
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    create(server, CRDS, crd)
    path = f"/apis/{GROUP}/v1/namespaces/{shared_ns}/things"
    server.until(path, lambda found: True)
    yield path
    server.delete(f"{CRDS}/things.{GROUP}")


def thing(name: str, spec: wire.Obj, **more: Any) -> wire.Obj:
    """An object of the custom resource."""
    meta = {"name": name}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": meta, "spec": spec, **more}


def deployment(name: str) -> wire.Obj:
    """A deployment without replicas."""
    container: wire.Obj = {
        "name": "c",
        "image": "i",
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "value": "b"}],
    }
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def test_an_entry(server: wire.Server, shared_ns: str, unique: str) -> None:
    """It says who, how, in which version, when and what; labels and finalizers one by one."""
    path = wire.configmaps(shared_ns)
    meta = {"labels": {"x": "y"}, "annotations": {"n/x": "y"}, "finalizers": ["c.io/1"]}
    obj = create(server, path, wire.configmap(unique, {"k": "v"}, **meta), fieldManager="me")
    server.patch(f"{path}/{unique}", {"metadata": {"finalizers": None}})
    (entry,) = obj["metadata"]["managedFields"]
    assert TIME.fullmatch(entry.pop("time"))
    assert entry == {
        "manager": "me",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:data": {".": {}, "f:k": {}},
            "f:metadata": {
                "f:annotations": {".": {}, "f:n/x": {}},
                "f:finalizers": {".": {}, 'v:"c.io/1"': {}},
                "f:labels": {".": {}, "f:x": {}},
            },
        },
    }


def test_the_manager_is_the_first_word_of_the_user_agent(
    server: wire.Server, shared_ns: str, unique: str
) -> None:
    """Unless the request names one; it may have 128 bytes and printable characters."""
    path = wire.configmaps(shared_ns)
    create(server, path, wire.configmap(unique, {"k": "v"}), fieldManager="me")
    for agent, manager in (("kubectl/v1.37 (linux)", "kubectl"), ("x" * 200 + "/1", "x" * 128)):
        body, headers = {"data": {"agent": agent}}, {"User-Agent": agent}
        answer = server.call(
            "PATCH", f"{path}/{unique}", body, content_type=wire.MERGE, headers=headers
        )
        assert sorted(managers(answer.body)) == sorted(["me", manager])
    for name, told in (
        ("x" * 129, "Too long: may not be more than 128 bytes"),
        ("x\n", 'Invalid value: "x\\n": invalid character U+000A (at position 1)'),
    ):
        for answer, kind in (
            (server.post(path, wire.configmap(unique), fieldManager=name), "CreateOptions"),
            (
                server.put(f"{path}/{unique}", wire.configmap(unique), fieldManager=name),
                "UpdateOptions",
            ),
            (server.patch(f"{path}/{unique}", {}, fieldManager=name), "PatchOptions"),
        ):
            found = (answer.code, answer.body["message"])
            assert found == (422, f'{kind}.meta.k8s.io "" is invalid: fieldManager: {told}')


def test_a_deployment(server: wire.Server, shared_ns: str, unique: str) -> None:
    """Defaults are owned by who created it; structs that are always there are not themselves."""
    path = f"/apis/apps/v1/namespaces/{shared_ns}/deployments"
    obj = create(server, path, deployment(unique), fieldManager="me")
    container: wire.Obj = {
        ".": {},
        "f:env": {".": {}, 'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
        "f:image": {},
        "f:imagePullPolicy": {},
        "f:name": {},
        "f:ports": {
            ".": {},
            'k:{"containerPort":80,"protocol":"TCP"}': {
                ".": {},
                "f:containerPort": {},
                "f:protocol": {},
            },
        },
        "f:resources": {},
        "f:terminationMessagePath": {},
        "f:terminationMessagePolicy": {},
    }
    spec = {
        "f:containers": {'k:{"name":"c"}': container},
        "f:dnsPolicy": {},
        "f:restartPolicy": {},
        "f:schedulerName": {},
        "f:securityContext": {},
        "f:terminationGracePeriodSeconds": {},
    }
    assert fields(obj, "me") == {
        "f:spec": {
            "f:progressDeadlineSeconds": {},
            "f:replicas": {},
            "f:revisionHistoryLimit": {},
            "f:selector": {},
            "f:strategy": {
                "f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}},
                "f:type": {},
            },
            "f:template": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": spec},
        }
    }


def test_other_built_in_kinds(server: wire.Server, shared_ns: str, unique: str) -> None:
    """What the server allocates later, such as a cluster IP, belongs to nobody."""
    root = f"/api/v1/namespaces/{shared_ns}"
    head = {"apiVersion": "v1", "metadata": {"name": unique}}
    spec: wire.Obj = {"ports": [{"port": 80}], "selector": {"a": "b"}}
    obj = create(
        server, f"{root}/services", {**head, "kind": "Service", "spec": spec}, fieldManager="me"
    )
    assert fields(obj, "me") == {
        "f:spec": {
            "f:internalTrafficPolicy": {},
            "f:ports": {
                ".": {},
                'k:{"port":80,"protocol":"TCP"}': {
                    ".": {},
                    "f:port": {},
                    "f:protocol": {},
                    "f:targetPort": {},
                },
            },
            "f:selector": {},
            "f:sessionAffinity": {},
            "f:type": {},
        }
    }
    body: wire.Obj = {**head, "kind": "Secret", "stringData": {"a": "b"}, "data": {"c": "ZA=="}}
    obj = create(server, f"{root}/secrets", body, fieldManager="me")
    assert fields(obj, "me") == {"f:data": {".": {}, "f:a": {}, "f:c": {}}, "f:type": {}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {**head, "kind": "PersistentVolumeClaim", "spec": spec}
    obj = create(server, f"{root}/persistentvolumeclaims", body, fieldManager="me")
    requests: wire.Obj = {".": {}, "f:storage": {}}
    assert fields(obj, "me") == {
        "f:spec": {"f:accessModes": {}, "f:resources": {"f:requests": requests}, "f:volumeMode": {}}
    }
    rbac = "rbac.authorization.k8s.io"
    body = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": unique},
        "roleRef": {"kind": "Role", "name": "a", "apiGroup": rbac},
        "subjects": [{"kind": "User", "name": "q"}],
    }
    path = f"/apis/{rbac}/v1/namespaces/{shared_ns}/rolebindings"
    obj = create(server, path, body, fieldManager="me")
    assert fields(obj, "me") == {"f:roleRef": {}, "f:subjects": {}}


def test_a_custom_object(server: wire.Server, custom: str, unique: str) -> None:
    """Set and map lists entry by entry, atomic ones whole, free maps by what is in them."""
    spec = {
        "set": ["a", "<&>"],
        "map": [{"name": "a", "value": "x"}, {"name": "b", "port": 1}],
        "list": [{"a": 1}],
        "atomic": {"a": "x"},
        "dict": {"k": {"name": "x"}, "l": {"name": "y", "port": 1}},
        "free": {"a": {"b": [1, {"c": 1}], "e": {}}},
        "object": {"inner": {}},
    }
    obj = create(server, custom, thing(unique, spec, status={"x": 1}), fieldManager="me")
    entry: wire.Obj = {".": {}, "f:name": {}, "f:port": {}}
    assert fields(obj, "me") == {
        "f:spec": {
            ".": {},
            "f:preset": {},
            "f:set": {".": {}, 'v:"a"': {}, 'v:"\\u003c\\u0026\\u003e"': {}},
            "f:map": {
                ".": {},
                'k:{"name":"a","port":80}': {**entry, "f:value": {}},
                'k:{"name":"b","port":1}': entry,
            },
            "f:list": {},
            "f:atomic": {},
            "f:dict": {".": {}, "f:k": entry, "f:l": entry},
            "f:free": {".": {}, "f:a": {".": {}, "f:b": {}, "f:e": {}}},
            "f:object": {".": {}, "f:inner": {}},
        }
    }


def test_who_changes_a_field_owns_it(server: wire.Server, custom: str, unique: str) -> None:
    """It goes from one manager to the other; what is removed is nobody's; who has none is gone."""
    path = f"{custom}/{unique}"
    spec = {"size": 1, "set": ["a", "b"], "map": [{"name": "a"}, {"name": "b"}], "free": {"a": 1}}
    create(server, custom, thing(unique, spec), fieldManager="one")
    body = server.get(path).body
    body["spec"] = {"size": 2, "set": ["b", "c"], "map": [{"name": "b"}], "free": {}, "preset": 5}
    answer = server.put(path, body, fieldManager="two")
    assert answer.code == 200
    assert fields(answer.body, "two") == {"f:spec": {"f:size": {}, "f:set": {'v:"c"': {}}}}
    assert fields(answer.body, "one") == {
        "f:spec": {
            ".": {},
            "f:preset": {},
            "f:set": {".": {}, 'v:"b"': {}},
            "f:map": {".": {}, 'k:{"name":"b","port":80}': {".": {}, "f:name": {}, "f:port": {}}},
            "f:free": {},
        }
    }
    found = change(server, path, {"spec": {"size": None, "set": ["b"]}}, "three")
    assert managers(found) == ["one"]
    found = change(server, path, {"spec": {"object": {"inner": {}}}}, "three")
    assert fields(found, "three") == {"f:spec": {"f:object": {".": {}, "f:inner": {}}}}


def test_a_manager_has_one_entry(server: wire.Server, shared_ns: str, unique: str) -> None:
    """Later changes are added to it; entries stand in the order of their times and names."""
    path = wire.configmaps(shared_ns, unique)
    create(server, wire.configmaps(shared_ns), wire.configmap(unique, {"k": "v"}), fieldManager="b")
    change(server, path, {"data": {"l": "v"}}, "a")
    found = change(server, path, {"data": {"m": "v", "k": "w"}}, "a")
    assert fields(found, "b") == {"f:data": {}}
    assert fields(found, "a") == {"f:data": {"f:k": {}, "f:l": {}, "f:m": {}}}
    assert sorted(managers(found)) == ["a", "b"]


def test_the_oldest_of_many_managers_are_put_together(
    server: wire.Server, shared_ns: str, unique: str
) -> None:
    """There are at most ten that update; the others become ``ancient-changes``."""
    path = wire.configmaps(shared_ns, unique)
    create(
        server, wire.configmaps(shared_ns), wire.configmap(unique, {"k": "v"}), fieldManager="m00"
    )
    for number in range(10):
        change(server, path, {"data": {f"k{number}": "v"}}, f"m{number:02}")
    assert "ancient-changes" not in managers(server.get(path).body)
    for number in range(10, 13):
        found = change(server, path, {"data": {f"k{number}": "v"}}, f"m{number:02}")
    assert len(managers(found)) == 10
    assert sorted(fields(found, "ancient-changes")["f:data"]) == [
        ".",
        "f:k",
        *(f"f:k{number}" for number in range(4)),
    ]


def test_managed_fields_of_requests(server: wire.Server, shared_ns: str, unique: str) -> None:
    """They replace those of the object, if they can be read; an update without any keeps them."""
    path = wire.configmaps(shared_ns, unique)
    create(
        server, wire.configmaps(shared_ns), wire.configmap(unique, {"k": "v"}), fieldManager="me"
    )
    entry = {
        "manager": "x",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:k": {}}},
    }

    def made(**given: Any) -> Any:
        meta = {"managedFields": [{**entry, **given}]}
        answer = server.patch(path, {"metadata": meta}, dryRun="All")
        return answer.body["metadata"]["managedFields"] if answer.code == 200 else answer

    assert made() == [entry]
    assert made(subresource="y") == [{**entry, "subresource": "y"}]
    assert made(manager="") == [{key: entry[key] for key in entry if key != "manager"}]
    unreadable: wire.Obj
    for unreadable in (
        {"operation": "Nope"},
        {"operation": ""},
        {"fieldsType": "X"},
        {"fieldsType": ""},
        {"apiVersion": "a/b/c"},
        {"apiVersion": ""},
        {"fieldsV1": {"zz": {}}},
    ):
        (kept,) = made(**unreadable)
        assert (kept["manager"], kept["fieldsV1"]) == ("me", DATA)
    body = wire.configmap(unique, {"k": "v"}, labels={"a": "b"})
    found = server.put(path, body, fieldManager="me").body
    assert fields(found, "me") == {**DATA, "f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    for given, field, told in (
        ({"manager": "x" * 129}, "manager", "Too long: may not be more than 128 bytes"),
        ({"subresource": "x" * 257}, "subresource", "Too long: may not be more than 256 bytes"),
    ):
        answer = made(**given)
        assert answer.code == 422
        message = f'ConfigMap "{unique}" is invalid: metadata.managedFields[0].{field}: {told}'
        assert answer.body["message"] == message


def test_a_new_object_brings_no_managers(server: wire.Server, shared_ns: str, unique: str) -> None:
    """Whatever it says: all its fields are new."""
    entry = {
        "manager": "x",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:k": {}}},
    }
    body = wire.configmap(unique, {"k": "v"}, managedFields=[entry])
    found = create(server, wire.configmaps(shared_ns), body, fieldManager="me")
    assert fields(found, "me") == DATA
    assert managers(found) == ["me"]


def test_managed_fields_can_be_reset(server: wire.Server, shared_ns: str, unique: str) -> None:
    """By an empty list or an empty entry; from then on updates are not noted."""
    path = wire.configmaps(shared_ns, unique)
    create(server, wire.configmaps(shared_ns), wire.configmap(unique, {"k": "v"}))
    body = {**server.get(path).body}
    body["metadata"] = {**body["metadata"], "managedFields": []}
    for answer in (
        server.put(path, body, dryRun="All"),
        server.patch(path, {"metadata": {"managedFields": []}}, dryRun="All"),
        server.patch(path, {"metadata": {"managedFields": [{}]}}),
    ):
        assert answer.code == 200
        assert "managedFields" not in answer.body["metadata"]
    found = change(server, path, {"data": {"z": "1"}}, "me")
    assert "managedFields" not in found["metadata"]


def test_an_empty_list_does_not_reset_those_of_custom_objects(
    server: wire.Server, custom: str, unique: str
) -> None:
    """An empty entry does."""
    path = f"{custom}/{unique}"
    create(server, custom, thing(unique, {"size": 1}), fieldManager="me")
    body = server.get(path).body
    body["metadata"]["managedFields"] = []
    assert managers(server.put(path, body).body) == ["me"]
    body["metadata"]["managedFields"] = [{}]
    assert managers(server.put(path, body).body) == []


def test_the_status_of_a_custom_object(server: wire.Server, custom: str, unique: str) -> None:
    """A write to it owns the status alone, a write to the object everything else."""
    path = f"{custom}/{unique}"
    create(server, custom, thing(unique, {"size": 1}), fieldManager="me")
    body = {"spec": {"size": 9}, "metadata": {"labels": {"a": "b"}}, "status": {"x": {"y": 1}}}
    found = change(server, f"{path}/status", body, "me")
    assert found["spec"]["size"] == 1
    status: wire.Obj = {"f:status": {".": {}, "f:x": {".": {}, "f:y": {}}}}
    assert fields(found, "me", "status") == status
    assert fields(found, "me") == {"f:spec": {".": {}, "f:preset": {}, "f:size": {}}}
    found = change(server, path, {"spec": {"size": 2}, "status": {"x": None}}, "other")
    assert fields(found, "me", "status") == status
    found = change(server, f"{path}/status", {"status": None}, "other")
    assert fields(found, "me", "status") is None


def test_the_status_of_a_built_in_object(server: wire.Server, shared_ns: str, unique: str) -> None:
    """With it, annotations can be set; nothing of the spec is, nor are labels."""
    path = f"/apis/apps/v1/namespaces/{shared_ns}/deployments"
    body = {**deployment(unique), "status": {"replicas": 7}}
    body["spec"]["paused"] = True
    found = create(server, path, body, fieldManager="me")
    assert list(fields(found, "me")) == ["f:spec"]
    meta = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    body = {"metadata": meta, "spec": {"replicas": 9}, "status": {"collisionCount": 7}}
    found = change(server, f"{path}/{unique}/status", body, "status")
    mine = fields(found, "status", "status")
    assert mine["f:status"] == {"f:collisionCount": {}}
    assert list(mine["f:metadata"]) == ["f:annotations"]
    assert "f:c" in mine["f:metadata"]["f:annotations"]
    assert found["spec"]["replicas"] == 0
    assert "labels" not in found["metadata"]


def test_who_scales_owns_the_replicas(server: wire.Server, custom: str, unique: str) -> None:
    """Without a time, and only if somebody owned them before."""
    path = f"{custom}/{unique}"
    create(server, custom, thing(unique, {"size": 1}), fieldManager="me")
    assert server.patch(f"{path}/scale", {"spec": {"replicas": 2}}, fieldManager="s").code == 200
    found = server.get(path).body
    assert fields(found, "s", "scale") == {"f:spec": {"f:size": {}}}
    assert fields(found, "me") == {"f:spec": {".": {}, "f:preset": {}}}
    assert "time" not in found["metadata"]["managedFields"][0]
    change(server, path, {"spec": {"size": None}}, "me")
    assert server.patch(f"{path}/scale", {"spec": {"replicas": 3}}, fieldManager="s").code == 200
    assert managers(server.get(path).body) == ["me"]


def test_nothing_changed_nothing_noted(server: wire.Server, custom: str, unique: str) -> None:
    """A write that changes nothing makes no version and no entry, whoever it is from."""
    path = f"{custom}/{unique}"
    create(server, custom, thing(unique, {"size": 1, "set": ["a"]}), fieldManager="me")
    before = server.get(path).body
    for answer in (
        server.put(path, before, fieldManager="other"),
        server.patch(path, {"spec": {"size": 1, "list": None}}, fieldManager="other"),
        server.patch(f"{path}/status", {"spec": {"size": 7}}, fieldManager="other"),
    ):
        assert (answer.code, answer.body) == (200, before)
