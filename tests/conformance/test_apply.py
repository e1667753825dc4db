"""Server-side apply: creating, merging, removing, conflicts, and the ways it is refused."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import wire

from ansible_operator.testing import controlplane

GROUP = "applies.conformance.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
VERSION = f"{GROUP}/v1"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
TYPED = "failed to create typed patch object"


def owns(obj: wire.Obj, manager: str, subresource: str = "") -> Any:
    """What a manager's Apply entry owns; None if it has none."""
    for entry in obj["metadata"].get("managedFields", []):
        at = (entry["manager"], entry["operation"], entry.get("subresource", ""))
        if at == (manager, "Apply", subresource):
            return entry["fieldsV1"]
    return None


def applied(
    server: wire.Server, path: str, body: Any, manager: str = "one", **query: Any
) -> wire.Obj:
    """An apply that must succeed."""
    answer = server.apply(path, body, manager=manager, **query)
    assert answer.code in (200, 201), answer.text
    found: wire.Obj = answer.body
    return found


def refused(server: wire.Server, path: str, body: Any, manager: str = "one", **query: Any) -> str:
    """The message of an apply that conflicts."""
    answer = server.apply(path, body, manager=manager, **query)
    assert (answer.code, answer.body["reason"]) == (409, "Conflict"), answer.text
    message: str = answer.body["message"]
    return message


@pytest.fixture(scope="module")
def custom(server: wire.Server, shared_ns: str) -> Iterator[str]:
    """A custom resource with lists and maps of all kinds: the path of its objects."""
    sub = {"type": "object", "properties": {"x": {"type": "integer"}}}
    entry = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "port": {"type": "integer", "default": 80},
            "value": {"type": "string"},
            "sub": sub,
        },
    }
    spec = {
        "size": {"type": "integer"},
        "flag": {"type": "boolean"},
        "text": {"type": "string"},
        "maybe": {"type": "string", "nullable": True},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "port"],
            "items": entry,
        },
        "list": {"type": "array", "items": sub},
        "atomic": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        },
        "dict": {"type": "object", "additionalProperties": sub},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    properties = {"spec": {"type": "object", "properties": spec}, "status": status}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}},
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    assert server.post(CRDS, crd).code == 201
    path = f"/apis/{VERSION}/namespaces/{shared_ns}/things"
    server.until(path, lambda found: True)
    yield path
    server.delete(f"{CRDS}/things.{GROUP}")


def thing(name: str, **spec: Any) -> wire.Obj:
    """An object of the custom resource."""
    return {"apiVersion": VERSION, "kind": "Thing", "metadata": {"name": name}, "spec": spec}


def deployment(name: str, image: str = "i", **spec: Any) -> wire.Obj:
    """What is applied of a deployment."""
    container = {"name": "c", "image": image, "ports": [{"containerPort": 80}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def test_apply_creates_what_is_not_there(server: wire.Server, shared_ns: str, unique: str) -> None:
    """The manager owns what it applied: leaves and list entries, no defaults."""
    path = f"/apis/apps/v1/namespaces/{shared_ns}/deployments/{unique}"
    answer = server.apply(path, deployment(unique, replicas=0), manager="one")
    assert answer.code == 201
    assert answer.body["spec"]["revisionHistoryLimit"] == 10
    (entry,) = answer.body["metadata"]["managedFields"]
    assert TIME.fullmatch(entry.pop("time"))
    port: wire.Obj = {".": {}, "f:containerPort": {}}
    container = {
        ".": {},
        "f:image": {},
        "f:name": {},
        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': port},
    }
    assert entry == {
        "manager": "one",
        "operation": "Apply",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:spec": {
                "f:replicas": {},
                "f:selector": {},
                "f:template": {
                    "f:metadata": {"f:labels": {"f:a": {}}},
                    "f:spec": {"f:containers": {'k:{"name":"c"}': container}},
                },
            }
        },
    }


def test_conflicts(server: wire.Server, shared_ns: str, unique: str) -> None:
    """Changes of what others own are refused, by whom and where it is owned is told."""
    path = f"/apis/apps/v1/namespaces/{shared_ns}/deployments/{unique}"
    applied(server, path, deployment(unique, replicas=0))
    told = refused(server, path, deployment(unique, replicas=1), "two")
    assert told == 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    answer = server.apply(path, deployment(unique, "j", replicas=1), manager="two")
    assert answer.body["message"] == (
        'Apply failed with 2 conflicts: conflicts with "one":\n'
        '- .spec.replicas\n- .spec.template.spec.containers[name="c"].image'
    )
    assert answer.body["details"] == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "one"',
                "field": field,
            }
            for field in (".spec.replicas", '.spec.template.spec.containers[name="c"].image')
        ]
    }
    change = {"spec": {"paused": True}}
    assert server.patch(path, change, fieldManager="three").code == 200
    told = refused(server, path, deployment(unique, replicas=1, paused=False), "two")
    assert told == (
        'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.replicas\n'
        'conflicts with "three" using apps/v1:\n- .spec.paused'
    )
    assert server.patch(f"{path}/scale", {"spec": {"replicas": 2}}, fieldManager="s").code == 200
    told = refused(server, path, deployment(unique, replicas=1))
    assert told == (
        'Apply failed with 1 conflict: conflict with "s" with subresource "scale" using apps/v1: '
        ".spec.replicas"
    )
    body = deployment(unique, replicas=0)
    answer = server.apply(path, body, manager="one", force="true", dryRun="All")
    assert answer.body["spec"]["replicas"] == 0
    assert server.get(path).body["spec"]["replicas"] == 2


def test_force_takes_over(server: wire.Server, custom: str, unique: str) -> None:
    """The others lose what was changed, and only that."""
    path = f"{custom}/{unique}"
    applied(server, path, thing(unique, size=1, text="a"))
    found = applied(server, path, thing(unique, size=2, text="a"), "two", force="true")
    assert found["spec"] == {"size": 2, "text": "a"}
    assert owns(found, "one") == {"f:spec": {"f:text": {}}}
    assert owns(found, "two") == {"f:spec": {"f:size": {}, "f:text": {}}}


def test_fields_that_several_own(server: wire.Server, custom: str, unique: str) -> None:
    """Whoever applies the same value owns it too; it goes when the last one leaves it out."""
    path = f"{custom}/{unique}"
    applied(server, path, thing(unique, size=1, text="a"))
    before = server.get(path).body["metadata"]["resourceVersion"]
    found = applied(server, path, thing(unique, size=1), "two")
    assert found["metadata"]["resourceVersion"] != before
    mine = [e for e in found["metadata"]["managedFields"] if e["manager"] == "two"]
    assert "time" not in mine[0]
    found = applied(server, path, thing(unique, text="a"))
    assert found["spec"] == {"size": 1, "text": "a"}
    found = applied(server, path, thing(unique), "two")
    assert found["spec"] == {"text": "a"}
    assert owns(found, "two") == {"f:spec": {}}
    body = thing(unique)
    del body["spec"]
    assert owns(applied(server, path, body, "two"), "two") is None


def test_what_is_not_applied_any_more_is_removed(
    server: wire.Server, custom: str, unique: str
) -> None:
    """From maps, sets and lists of entries, unless another applies it too."""
    path = f"{custom}/{unique}"
    body = thing(
        unique,
        size=1,
        set=["a", "b"],
        map=[{"name": "a", "value": "x"}, {"name": "b"}],
        dict={"k": {"x": 1}, "l": {"x": 2}},
        free={"a": {"b": 1, "c": {"d": 1}}},
        list=[{"x": 1}],
    )
    body["metadata"]["labels"] = {"l": "1", "m": "2"}
    applied(server, path, body)
    applied(server, path, thing(unique, map=[{"name": "b", "value": "y"}]), "two")
    body = thing(unique, set=["b"], map=[{"name": "a"}], dict={"k": {"x": 1}}, free={"a": {"b": 1}})
    body["metadata"]["labels"] = {"m": "2"}
    found = applied(server, path, body)
    assert found["metadata"]["labels"] == {"m": "2"}
    assert found["spec"] == {
        "set": ["b"],
        "map": [{"name": "a", "port": 80}, {"name": "b", "port": 80, "value": "y"}],
        "dict": {"k": {"x": 1}},
        "free": {"a": {"b": 1}},
    }
    assert owns(found, "one") == {
        "f:metadata": {"f:labels": {"f:m": {}}},
        "f:spec": {
            "f:set": {'v:"b"': {}},
            "f:map": {'k:{"name":"a","port":80}': {".": {}, "f:name": {}}},
            "f:dict": {"f:k": {".": {}, "f:x": {}}},
            "f:free": {"f:a": {".": {}, "f:b": {}}},
        },
    }


def test_lists_and_maps_are_merged_by_their_type(
    server: wire.Server, custom: str, unique: str
) -> None:
    """Entries are merged in the order that is applied; atomic lists and maps are replaced."""
    path = f"{custom}/{unique}"
    applied(server, path, thing(unique, set=["a", "b", "c"], map=[{"name": "a"}, {"name": "b"}]))
    body = thing(
        unique,
        set=["z", "c", "b"],
        map=[{"name": "n"}, {"name": "b", "value": "q"}, {"name": "a", "port": 1}],
        list=[{"x": 1}],
        atomic={"a": "1"},
    )
    found = applied(server, path, body, "two")
    assert found["spec"]["set"] == ["a", "z", "c", "b"]
    assert [(e["name"], e["port"], e.get("value")) for e in found["spec"]["map"]] == [
        ("a", 80, None),
        ("n", 80, None),
        ("b", 80, "q"),
        ("a", 1, None),
    ]
    told = refused(server, path, thing(unique, list=[{"x": 2}], atomic={"b": "1"}), "three")
    assert told == (
        'Apply failed with 2 conflicts: conflicts with "two":\n- .spec.atomic\n- .spec.list'
    )
    body = thing(unique, list=[{"x": 2}], atomic={"b": "1"})
    found = applied(server, path, body, "three", force="true")
    assert (found["spec"]["list"], found["spec"]["atomic"]) == ([{"x": 2}], {"b": "1"})
    assert owns(found, "three") == {"f:spec": {"f:atomic": {}, "f:list": {}}}


def test_an_apply_of_the_same_makes_no_version(
    server: wire.Server, custom: str, unique: str
) -> None:
    """Neither does one that only leaves out what another owns make a later time."""
    path = f"{custom}/{unique}"
    body = thing(unique, size=1, map=[{"name": "a"}])
    before = applied(server, path, body)
    answer = server.apply(path, body, manager="one")
    assert (answer.code, answer.body) == (200, before)
    body["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
    answer = server.apply(path, body, manager="one")
    assert (answer.code, answer.body) == (200, before)


def test_values_that_are_null(server: wire.Server, shared_ns: str, unique: str) -> None:
    """They are owned; in built-in objects nothing is left of them but empty texts in maps."""
    path = wire.configmaps(shared_ns, unique)
    body = wire.configmap(unique, {"a": None, "b": ""}, labels=None)  # type: ignore[dict-item]
    found = applied(server, path, body)
    assert found["data"] == {"a": "", "b": ""}
    assert "labels" not in found["metadata"]
    assert owns(found, "one") == {"f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {}}}
    found = applied(server, path, {**wire.configmap(unique), "data": None})
    assert "data" not in found
    assert owns(found, "one") == {"f:data": {}}


def test_nulls_and_emptied_maps_of_custom_objects(
    server: wire.Server, custom: str, unique: str
) -> None:
    """A null is refused where the schema does; an emptied map, as the server has it, is one."""
    path = f"{custom}/{unique}"
    assert applied(server, path, thing(unique, maybe=None))["spec"] == {"maybe": None}
    answer = server.apply(path, thing(unique, text=None), manager="one")
    assert answer.code == 422
    assert answer.body["details"]["causes"][0]["field"] == "spec.text"
    applied(server, path, thing(unique, dict={"a": {}}))
    answer = server.apply(path, thing(unique, dict={}), manager="one")
    assert answer.code == 422
    assert answer.body["details"]["causes"][0]["field"] == "spec.dict"
    assert "dict" not in applied(server, path, thing(unique, size=1))["spec"]


def test_the_manager_must_be_named(server: wire.Server, shared_ns: str, unique: str) -> None:
    """422; and force is for apply alone."""
    path = wire.configmaps(shared_ns, unique)
    wrong = 'PatchOptions.meta.k8s.io "" is invalid: '
    for query in ({}, {"fieldManager": ""}):
        answer = server.patch(path, wire.configmap(unique), content_type=wire.APPLY, **query)
        told = f"{wrong}fieldManager: Required value: is required for apply patch"
        assert (answer.code, answer.body["message"]) == (422, told)
    answer = server.apply(path, wire.configmap(unique), manager="x" * 129)
    told = f"{wrong}fieldManager: Too long: may not be more than 128 bytes"
    assert (answer.code, answer.body["message"]) == (422, told)
    assert server.apply(path, wire.configmap(unique), manager="one").code == 201
    answer = server.patch(path, {}, force="true")
    told = f"{wrong}force: Forbidden: may not be specified for non-apply patch"
    assert (answer.code, answer.body["message"]) == (422, told)


def test_what_may_not_be_applied(server: wire.Server, shared_ns: str, unique: str) -> None:
    """Managed fields, another kind or version, another name or namespace."""
    path = wire.configmaps(shared_ns, unique)
    applied(server, path, wire.configmap(unique, {"k": "v"}))

    def told(body: Any) -> Any:
        answer = server.apply(path, body, manager="one")
        assert (answer.code, answer.body["reason"]) == (400, "BadRequest"), answer.text
        return answer.body["message"]

    for entries in ([], [{"manager": "x"}]):
        body = wire.configmap(unique, managedFields=entries)
        assert told(body) == "metadata.managedFields must be nil"
    assert server.apply(path, wire.configmap(unique, managedFields=None), manager="one").code == 200
    body = wire.configmap(unique)
    wrong = "invalid object type: "
    assert told({**body, "apiVersion": "apps/v1"}) == f"{wrong}apps/v1, Kind=ConfigMap"
    assert told({**body, "kind": "Secret"}) == f"{wrong}/v1, Kind=Secret"
    assert told({key: body[key] for key in body if key != "kind"}) == f"{wrong}/v1, Kind="
    assert (
        told({key: body[key] for key in body if key != "apiVersion"}) == f"{wrong}/, Kind=ConfigMap"
    )
    assert told("") == f"{wrong}/, Kind="
    assert told("null") == f"{wrong}/, Kind="
    assert told(wire.configmap("other")) == (
        f"the name of the object (other) does not match the name on the URL ({unique})"
    )
    assert told(wire.configmap(unique, namespace="default")) == (
        "the namespace of the provided object does not match the namespace sent on the request"
    )
    into = (
        "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal"
    )
    assert told("abc") == f"{into} string into Go value of type map[string]interface {{}}"
    assert told("[1]") == f"{into} array into Go value of type map[string]interface {{}}"
    assert told("a: b: c").startswith("error encoding patch: yaml: ")


def test_names_and_versions_of_what_is_applied(
    server: wire.Server, shared_ns: str, unique: str
) -> None:
    """The name may be left out if the object is there; a version that is stale is a conflict."""
    path = wire.configmaps(shared_ns, unique)
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}}
    answer = server.apply(path, nameless, manager="one")
    told = (
        f"the name of the object ({unique} based on URL) was undeterminable: name must be provided"
    )
    assert (answer.code, answer.body["message"]) == (400, told)
    answer = server.apply(path, wire.configmap(unique, {"k": "v"}, uid="123"), manager="one")
    told = f'Operation cannot be fulfilled on configmaps "{unique}": uid mismatch: the provided '
    told += "object specified uid 123, and no existing object was found"
    assert (answer.code, answer.body["message"]) == (409, told)
    body = wire.configmap(unique, {"k": "v"}, resourceVersion="1")
    assert server.apply(path, body, manager="one").code == 201
    assert server.apply(path, nameless, manager="one").code == 200
    told = refused(server, path, body)
    assert told == (
        f'Operation cannot be fulfilled on configmaps "{unique}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    answer = server.apply(path, wire.configmap(unique, {"k": "v"}, uid="123"), manager="one")
    told = (
        f'ConfigMap "{unique}" is invalid: metadata.uid: Invalid value: "123": field is immutable'
    )
    assert (answer.code, answer.body["message"]) == (422, told)
    answer = server.apply(
        f"{path}x", {**nameless, "metadata": {"name": f"{unique}x"}}, manager="one"
    )
    assert answer.code == 201
    gone = f"/api/v1/namespaces/{unique}/configmaps/x"
    answer = server.apply(gone, {**nameless, "metadata": {"name": "x"}}, manager="one")
    assert (answer.code, answer.body["message"]) == (404, f'namespaces "{unique}" not found')


def test_bodies_in_yaml(server: wire.Server, shared_ns: str, unique: str) -> None:
    """Repeated keys are warned about, or refused; the last one counts."""
    path = wire.configmaps(shared_ns, unique)
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {unique}}}\n"
    text += 'data: {a: "1", a: "2"}\n'
    answer = server.apply(path, text, manager="one", fieldValidation="Strict")
    assert (answer.code, answer.body["message"]) == (
        400,
        "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 4: key "a" already set in map',
    )
    answer = server.apply(path, text, manager="one")
    assert (answer.code, answer.body["data"]) == (201, {"a": "2"})
    assert answer.warnings == ['"line 4: key \\"a\\" already set in map"']


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"foo": 1}, ".spec.foo: field not declared in schema"),
        ({"dict": {"a": {"y": 1}}}, ".spec.dict.a.y: field not declared in schema"),
        (
            {"map": [{"name": "a", "y": 1}]},
            '.spec.map[name="a",port=80].y: field not declared in schema',
        ),
        ({"size": "x"}, ".spec.size: expected numeric (int or float), got string"),
        ({"size": True}, ".spec.size: expected numeric (int or float), got bool"),
        ({"size": [1]}, ".spec.size: expected numeric (int or float), got []interface {}"),
        ({"flag": 1}, ".spec.flag: expected boolean, got &{1}"),
        ({"text": 1}, ".spec.text: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"text": {"a": 1}},
            ".spec.text: expected string, got &value.valueUnstructured"
            '{Value:map[string]interface {}{"a":1}}',
        ),
        ({"dict": "x"}, ".spec.dict: expected map, got &{x}"),
        ({"set": {}}, ".spec.set: expected list, got &{map[]}"),
        ({"list": [1]}, ".spec.list[0]: expected map, got &{1}"),
        ({"set": ["a", "a"]}, '.spec.set: duplicate entries for key [="a"]'),
        (
            {"map": [{"name": "a"}, {"name": "a", "port": 80}]},
            '.spec.map: duplicate entries for key [name="a",port=80]',
        ),
        (
            {"map": [1]},
            ".spec.map: element 0: associative list with keys may not have non-map elements",
        ),
        (
            {"map": [None]},
            ".spec.map: element 0: associative list with keys may not have a null element",
        ),
        (
            {"set": [None]},
            ".spec.set: element 0: associative list without keys has an element that's an "
            "explicit null",
        ),
    ],
)
def test_what_does_not_fit_the_schema(
    server: wire.Server, custom: str, unique: str, spec: wire.Obj, told: str
) -> None:
    """500 without a reason: the server does not take it for the client's fault."""
    answer = server.apply(f"{custom}/{unique}", thing(unique, **spec), manager="one")
    assert answer.code == 500
    assert answer.body["message"] == f"{TYPED} (/{unique}; {VERSION}, Kind=Thing): {told}"
    assert "reason" not in answer.body


def test_what_does_not_fit_built_in_schemas(
    server: wire.Server, shared_ns: str, unique: str
) -> None:
    """As that of custom ones; a namespace that is given is told."""
    path = f"/apis/apps/v1/namespaces/{shared_ns}/deployments/{unique}"
    body = deployment(unique)
    body["metadata"]["namespace"] = shared_ns
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]
    body["spec"]["template"]["spec"]["containers"][0]["ports"] = ports
    answer = server.apply(path, body, manager="one")
    where = '.spec.template.spec.containers[name="c"].ports'
    told = f'{where}: duplicate entries for key [containerPort=80,protocol="TCP"]'
    what = f"({shared_ns}/{unique}; apps/v1, Kind=Deployment)"
    assert (answer.code, answer.body["message"]) == (500, f"{TYPED} {what}: {told}")
    body = deployment(unique, paused="x", strategy=[])
    answer = server.apply(path, body, manager="one")
    assert sorted(answer.body["message"].splitlines()) == [
        "  .spec.paused: expected boolean, got &{x}",
        "  .spec.strategy: expected map, got &{[]}",
        f"{TYPED} (/{unique}; apps/v1, Kind=Deployment): errors:",
    ]


def test_objects_without_managers(server: wire.Server, shared_ns: str, unique: str) -> None:
    """The first apply notes what was there for ``before-first-apply``."""
    path = wire.configmaps(shared_ns, unique)
    body = wire.configmap(unique, {"k": "v", "z": "1"}, managedFields=[{}])
    assert server.post(wire.configmaps(shared_ns), wire.configmap(unique, {"k": "v"})).code == 201
    assert "managedFields" not in server.put(path, body).body["metadata"]
    found = applied(server, path, wire.configmap(unique, {"k": "v", "n": "1"}))
    before = next(e for e in found["metadata"]["managedFields"] if e["operation"] == "Update")
    assert before["manager"] == "before-first-apply"
    assert before["fieldsV1"] == {"f:data": {".": {}, "f:k": {}, "f:z": {}}}
    told = refused(server, path, wire.configmap(unique, {"z": "2"}))
    assert (
        told == 'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.z'
    )


def test_apply_to_the_status(server: wire.Server, custom: str, unique: str) -> None:
    """It owns and changes nothing else; an apply to the object leaves the status alone."""
    path = f"{custom}/{unique}"
    body = {**thing(unique, size=5), "status": {"x": 1}}
    answer = server.apply(f"{path}/status", body, manager="s")
    assert (answer.code, answer.body["reason"]) == (404, "NotFound")
    found = applied(server, path, {**thing(unique, size=1), "status": {"x": 9}})
    assert "status" not in found
    assert owns(found, "one") == {"f:spec": {"f:size": {}}}
    body["metadata"]["labels"] = {"a": "b"}
    found = applied(server, f"{path}/status", body, "s")
    assert (found["status"], found["spec"]) == ({"x": 1}, {"size": 1})
    assert "labels" not in found["metadata"]
    assert owns(found, "s", "status") == {"f:status": {"f:x": {}}}
    found = applied(server, path, {**thing(unique, size=2), "status": {"x": 9}})
    assert found["status"] == {"x": 1}
    body = {**thing(unique), "status": {"x": 2}}
    told = refused(server, f"{path}/status", body, "t")
    wanted = 'Apply failed with 1 conflict: conflict with "s" with subresource "status": .status.x'
    assert told == wanted
    del body["status"]
    found = applied(server, f"{path}/status", body, "s")
    assert "status" not in found
    assert owns(found, "s", "status") is None


def test_a_dry_run_applies_nothing(server: wire.Server, custom: str, unique: str) -> None:
    """Its answer is what would be."""
    path = f"{custom}/{unique}"
    answer = server.apply(path, thing(unique, size=1), manager="one", dryRun="All")
    assert (answer.code, answer.body["spec"]) == (201, {"size": 1})
    assert server.get(path).code == 404
    before = applied(server, path, thing(unique, size=1))
    found = applied(server, path, thing(unique, size=2), dryRun="All")
    assert found["spec"] == {"size": 2}
    assert found["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert server.get(path).body == before


def test_labels_and_finalizers_of_several(server: wire.Server, custom: str, unique: str) -> None:
    """Each manager has its own; the metadata that the server sets is nobody's."""
    path = f"{custom}/{unique}"
    for manager in ("one", "two"):
        body = thing(unique)
        body["metadata"] |= {"labels": {manager: "x"}, "finalizers": [f"c.io/{manager}"]}
        found = applied(server, path, body, manager)
    assert found["metadata"]["labels"] == {"one": "x", "two": "x"}
    assert sorted(found["metadata"]["finalizers"]) == ["c.io/one", "c.io/two"]
    found = applied(server, path, thing(unique), "one")
    assert found["metadata"]["labels"] == {"two": "x"}
    assert found["metadata"]["finalizers"] == ["c.io/two"]
    found = applied(server, path, thing(unique), "two")
    assert "labels" not in found["metadata"]
    assert found["metadata"]["uid"]


def kubectl(plane: controlplane.ControlPlane, program: str, *arguments: str, stdin: str) -> Any:
    """Run a kubectl; its exit code and what it printed."""
    argv = [program, f"--kubeconfig={plane.kubeconfig}", *arguments]
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.kubectl
def test_from_client_side_to_server_side_apply(
    control_plane: controlplane.ControlPlane, server: wire.Server, shared_ns: str, unique: str
) -> None:
    """kubectl takes over what it once applied itself, and keeps its annotation up to date."""
    path = wire.configmaps(shared_ns, unique)
    where = ("-n", shared_ns, "-f", "-")

    def run(*arguments: str, **data: str) -> Any:
        body = json.dumps(wire.configmap(unique, data, labels={"l": "1"}))
        program = str(control_plane.kubectl)
        return kubectl(control_plane, program, "apply", *where, *arguments, stdin=body)

    assert run(x="1", z="2")[0] == 0
    assert run("--server-side", x="1", z="3")[0] == 0
    found = server.get(path).body
    assert found["data"] == {"x": "1", "z": "3"}
    assert owns(found, "kubectl") == {
        "f:data": {"f:x": {}, "f:z": {}},
        "f:metadata": {"f:labels": {"f:l": {}}},
    }
    managers = [entry["manager"] for entry in found["metadata"]["managedFields"]]
    assert managers == ["kubectl-last-applied", "kubectl"]
    last = json.loads(found["metadata"]["annotations"][LAST_APPLIED])
    assert last["data"] == {"x": "1", "z": "3"}
    assert "annotations" not in last["metadata"]
    assert run("--server-side", x="1")[0] == 0
    found = server.get(path).body
    assert found["data"] == {"x": "1"}
    assert json.loads(found["metadata"]["annotations"][LAST_APPLIED])["data"] == {"x": "1"}
    assert run(x="1", z="4")[0] == 0
    code, told = run("--server-side", "--field-manager=other", x="1", z="5")
    assert code == 1
    assert 'conflict with "kubectl-client-side-apply" using v1: .data.z' in told
    assert run("--server-side", "--field-manager=other", "--force-conflicts", x="1", z="5")[0] == 0
    code, told = run("--server-side", "--dry-run=server", x="1", z="6")
    assert 'conflict with "other": .data.z' in told


def test_kubectl_takes_only_what_it_last_applied(
    server: wire.Server, shared_ns: str, unique: str
) -> None:
    """What its annotation still says can be taken without force, what was changed since not."""
    path = wire.configmaps(shared_ns, unique)
    last = json.dumps(wire.configmap(unique, {"same": "1", "changed": "1"}))
    body = wire.configmap(unique, {"same": "1", "changed": "2"}, annotations={LAST_APPLIED: last})
    assert server.post(wire.configmaps(shared_ns), body, fieldManager="me").code == 201
    body = wire.configmap(unique, {"same": "3"})
    assert refused(server, path, body, "other").endswith("using v1: .data.same")
    told = refused(server, path, wire.configmap(unique, {"same": "3", "changed": "3"}), "kubectl")
    assert told == 'Apply failed with 1 conflict: conflict with "me" using v1: .data.changed'
    found = applied(server, path, body, "kubectl")
    assert found["data"] == {"same": "3", "changed": "2"}
    text = found["metadata"]["annotations"][LAST_APPLIED]
    wanted = '{"apiVersion":"v1","data":{"same":"3"},"kind":"ConfigMap","metadata":{"name":"%s"}}\n'
    assert text == wanted % unique
