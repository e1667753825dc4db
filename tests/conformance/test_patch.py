"""Changing objects by patches: JSON patch, merge patch, strategic merge patch, and their errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import wire

GROUP = "patches.conformance.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REFUSED = "the server rejected our request due to an error in our request"
CONTAINERS = "$setElementOrder/containers"


@pytest.fixture
def path(server: wire.Server, shared_ns: str, unique: str) -> str:
    """A config map with data, an annotation and two finalizers that never hold it up."""
    body = wire.configmap(unique, {"k": "v"}, annotations={"x/y": "1"})
    assert server.post(wire.configmaps(shared_ns), body).code == 201
    return wire.configmaps(shared_ns, unique)


@pytest.fixture
def deployment(server: wire.Server, shared_ns: str, unique: str) -> str:
    """A deployment without replicas, with three containers, two volumes and more."""
    path = f"/apis/apps/v1/namespaces/{shared_ns}/deployments"
    container = {
        "name": "a",
        "image": "one",
        "args": ["1", "2"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "ports": [{"containerPort": 80, "name": "http"}],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    }
    spec = {
        "containers": [container, {"name": "b", "image": "two"}, {"name": "c", "image": "three"}],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "q"}}],
        "tolerations": [{"key": "a"}],
        "nodeSelector": {"n": "1"},
    }
    template = {"metadata": {"labels": {"a": "b"}}, "spec": spec}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": unique, "finalizers": ["c.io/1", "c.io/2", "c.io/3"]},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    assert server.post(path, body).code == 201
    return f"{path}/{unique}"


@pytest.fixture(scope="module")
def custom(server: wire.Server, shared_ns: str) -> Iterator[str]:
    """A custom resource that keeps whatever it is given: the path of its objects."""
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    assert server.post(CRDS, crd).code == 201
    path = f"/apis/{GROUP}/v1/namespaces/{shared_ns}/things"
    server.until(path, lambda found: True)
    yield path
    server.delete(f"{CRDS}/things.{GROUP}")


@pytest.fixture
def thing(server: wire.Server, custom: str, unique: str) -> str:
    """An object of the custom resource."""
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": unique}}
    server.until(custom, lambda found: True)
    assert server.post(custom, body).code == 201
    return f"{custom}/{unique}"


def op(name: str, path: str, **more: Any) -> wire.Obj:
    """One operation of a JSON patch."""
    return {"op": name, "path": path, **more}


def json_patch(server: wire.Server, path: str, *operations: Any, **query: Any) -> wire.Answer:
    """Send a JSON patch."""
    return server.patch(path, list(operations), content_type=wire.JSON_PATCH, **query)


def strategic(server: wire.Server, path: str, body: Any, **query: Any) -> wire.Answer:
    """Send a strategic merge patch."""
    return server.patch(path, body, content_type=wire.STRATEGIC, **query)


def pod(spec: wire.Obj) -> wire.Obj:
    """The patch of a pod template's spec."""
    return {"spec": {"template": {"spec": spec}}}


def test_a_json_patch_does_its_operations_in_turn(server: wire.Server, path: str) -> None:
    """add, replace, copy, move, remove and test; ``~1`` in a path is a slash."""
    answer = json_patch(
        server,
        path,
        op("add", "/data/n", value="1"),
        op("test", "/data/n", value="1"),
        op("replace", "/metadata/annotations/x~1y", value="2"),
        op("copy", "/data/copied", **{"from": "/data/k"}),
        op("move", "/data/moved", **{"from": "/data/n"}),
        op("remove", "/data/k"),
    )
    assert answer.code == 200
    assert answer.body["data"] == {"copied": "v", "moved": "1"}
    assert answer.body["metadata"]["annotations"] == {"x/y": "2"}


def test_list_indices_of_json_patches(server: wire.Server, path: str) -> None:
    """A dash appends, negative indices count from the end, leading zeros do not matter."""

    def finalizers(*operations: wire.Obj) -> Any:
        answer = json_patch(server, path, *operations, dryRun="All")
        assert answer.code == 200, answer.text
        return answer.body["metadata"]["finalizers"]

    where = "/metadata/finalizers"
    start = op("add", where, value=["c.io/1", "c.io/2"])
    assert finalizers(start, op("add", f"{where}/1", value="c.io/3"))[1] == "c.io/3"
    assert finalizers(start, op("add", f"{where}/-", value="c.io/3"))[2] == "c.io/3"
    assert finalizers(start, op("add", f"{where}/-1", value="c.io/3"))[2] == "c.io/3"
    assert finalizers(start, op("add", f"{where}/01", value="c.io/3"))[1] == "c.io/3"
    assert finalizers(start, op("replace", f"{where}/-1", value="c.io/3"))[1] == "c.io/3"
    assert finalizers(start, op("remove", f"{where}/-1")) == ["c.io/1"]
    for refused in (
        op("add", f"{where}/9", value="c.io/3"),
        op("add", f"{where}/x", value="c.io/3"),
        op("remove", f"{where}/-"),
        op("remove", f"{where}/9"),
        op("test", f"{where}/9", value="c.io/3"),
        op("replace", f"{where}/9", value="c.io/3"),
    ):
        assert json_patch(server, path, start, refused).code == 422, refused


def test_liberties_of_json_patches(server: wire.Server, path: str) -> None:
    """Fields that are not there can be replaced, copied and tested: they are null."""
    answer = json_patch(
        server,
        path,
        op("replace", "/data/new", value="1"),
        op("test", "/data/absent", value=None),
        op("test", "/data/absent"),
        op("copy", "/data/empty", **{"from": "/data/absent"}),
        op("add", "/data/null"),
    )
    assert answer.code == 200
    assert answer.body["data"] == {"k": "v", "new": "1", "empty": "", "null": ""}


@pytest.mark.parametrize(
    "operation",
    [
        op("test", "/data/k", value="other"),
        op("test", "/data/k"),
        op("test", "/data/absent", value="v"),
        op("remove", "/data/absent"),
        op("move", "/data/k2", **{"from": "/data/absent"}),
        op("move", "/data/k2", **{"from": "/data"}),
        op("move", "/data/k2"),
        op("copy", "/data/k2"),
        op("add", "/absent/x", value="1"),
        op("add", "/data/k/x", value="1"),
        op("add", "", value={}),
        op("remove", ""),
        op("frobnicate", "/data/k", value="1"),
        {"path": "/data/k", "value": "1"},
        {"op": "add", "value": "1"},
        None,
    ],
)
def test_operations_that_cannot_be_done(server: wire.Server, path: str, operation: Any) -> None:
    """422, with one message for all of them, and nothing is changed."""
    answer = json_patch(server, path, op("add", "/data/before", value="1"), operation)
    assert (answer.code, answer.body["reason"], answer.body["message"]) == (422, "Invalid", REFUSED)
    assert answer.body["details"] == {}
    assert server.get(path).body["data"] == {"k": "v"}


def test_bodies_that_are_no_json_patch(server: wire.Server, path: str) -> None:
    """400 with the decoder's words; too many operations are 413."""
    into = "error decoding patch: json: cannot unmarshal"
    for body, told in {
        "[{": "invalid JSON patch",
        "": "invalid JSON patch",
        "{}": f"{into} object into Go value of type []handlers.jsonPatchOp",
        '"abc"': f"{into} string into Go value of type []handlers.jsonPatchOp",
        '["a"]': f"{into} string into Go value of type handlers.jsonPatchOp",
        '[{"op": 1}]': f"{into} number into Go struct field jsonPatchOp.op of type string",
    }.items():
        answer = server.patch(path, body, content_type=wire.JSON_PATCH)
        assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
        assert answer.body["message"] == told
    answer = json_patch(server, path, *[op("test", "/data/k", value="v")] * 10_001)
    assert (answer.code, answer.body["reason"]) == (413, "RequestEntityTooLarge")
    assert answer.body["message"] == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
        "got 10001"
    )
    assert server.patch(path, "null", content_type=wire.JSON_PATCH).code == 200


def test_warnings_about_operations(server: wire.Server, path: str) -> None:
    """Fields that operations do not have, and repeated ones, are warned about."""
    answer = json_patch(server, path, op("test", "/data/k", value="v", extra=1))
    assert answer.code == 200
    assert 'json patch unknown field \\"[0].extra\\"' in answer.headers["Warning"]
    body = '[{"op": "test", "op": "add", "path": "/data/d", "value": "1"}]'
    answer = server.patch(path, body, content_type=wire.JSON_PATCH)
    assert answer.body["data"]["d"] == "1"
    assert 'json patch duplicate field \\"[0].op\\"' in answer.headers["Warning"]


def test_a_merge_patch_merges_maps_and_replaces_the_rest(server: wire.Server, thing: str) -> None:
    """Null removes a field, lists are replaced, nulls where nothing was do nothing."""
    first = {"spec": {"a": 1, "map": {"x": 1, "y": {"z": 1}}, "list": [1, 2], "other": {"q": 1}}}
    assert server.patch(thing, first).body["spec"] == first["spec"]
    second = {
        "spec": {
            "a": None,
            "absent": None,
            "map": {"x": None, "y": {"w": 2}},
            "list": [{"b": None, "c": {"d": None}}, None],
            "other": [{"kept": None}],
            "new": {"n": None, "m": {"o": None}},
        }
    }
    answer = server.patch(thing, second)
    assert answer.code == 200
    assert answer.body["spec"] == {
        "map": {"y": {"z": 1, "w": 2}},
        "list": [{"c": {}}, None],
        "other": [{"kept": None}],
        "new": {"m": {}},
    }


def test_bodies_that_are_no_merge_patch(server: wire.Server, path: str) -> None:
    """400 with the decoder's words."""
    into = "json: cannot unmarshal {} into Go value of type map[string]interface {{}}"
    for body, word in (("[]", "array"), ('"a"', "string"), ("1", "number")):
        answer = server.patch(path, body)
        told = f"error decoding patch: {into.format(word)}"
        assert (answer.code, answer.body["message"]) == (400, told)
        answer = server.patch(path, body, content_type=wire.STRATEGIC)
        assert (answer.code, answer.body["message"]) == (400, into.format(word))
    for body in ("{", "", "{} x"):
        for kind in (wire.MERGE, wire.STRATEGIC):
            answer = server.patch(path, body, content_type=kind)
            assert (answer.code, answer.body["message"]) == (400, "invalid JSON patch")
    assert server.patch(path, "null").body["message"] == "Invalid JSON Patch"
    assert server.patch(path, "null", content_type=wire.STRATEGIC).code == 200


def test_what_a_patch_may_not_make_of_an_object(server: wire.Server, path: str) -> None:
    """Another name, namespace, uid or an old version; each has its own answer."""
    name = path.rpartition("/")[2]
    url = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
    space = "the namespace of the provided object does not match the namespace sent on the request"
    stale = f'Operation cannot be fulfilled on configmaps "{name}": the object has been modified; '
    stale += "please apply your changes to the latest version and try again"
    uid = f'ConfigMap "{name}" is invalid: metadata.uid: Invalid value: "1": field is immutable'
    other = f"the name of the object (b) does not match the name on the URL ({name})"
    meta: wire.Obj | None
    for meta, code, told in (
        ({"name": "b"}, 400, other),
        (None, 400, url),
        ({"namespace": "default"}, 400, space),
        ({"uid": "1"}, 422, uid),
        ({"resourceVersion": "1"}, 409, stale),
    ):
        answer = server.patch(path, {"metadata": meta})
        assert (answer.code, answer.body["message"]) == (code, told)
    assert server.patch(path, {"metadata": {"resourceVersion": None}}).code == 200
    assert server.patch(path, {"kind": None}).body["kind"] == "ConfigMap"


def test_a_patch_that_makes_something_unreadable(server: wire.Server, path: str) -> None:
    """422 about the field ``patch``, with what the patch made and why it cannot be read."""
    wrong = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    for answer in (
        server.patch(path, {"data": {"a": 1}}),
        json_patch(server, path, op("add", "/data/a", value=1)),
    ):
        assert (answer.code, answer.body["reason"]) == (422, "Invalid")
        assert answer.body["message"].startswith(' "" is invalid: patch: Invalid value: "{')
        assert answer.body["message"].endswith(f": {wrong}")
        (cause,) = answer.body["details"]["causes"]
        assert (cause["reason"], cause["field"]) == ("FieldValueInvalid", "patch")
    answer = strategic(server, path, {"data": {"a": 1}})
    told = '"map[data:map[a:1]]": cannot convert int64 to string'
    assert answer.body["message"] == f' "" is invalid: patch: Invalid value: {told}'
    answer = server.patch(path, {"kind": "Foo"})
    assert 'no kind "Foo" is registered for version "v1"' in answer.body["message"]


def test_unknown_and_repeated_fields_in_patches(server: wire.Server, path: str) -> None:
    """A warning, or 422 if the request wants it strictly."""
    repeated = '{"data": {"a": "1", "a": "2"}}'
    for kind in (wire.MERGE, wire.STRATEGIC):
        answer = server.patch(path, {"foo": 1}, content_type=kind)
        assert (answer.code, answer.warnings) == (200, ['"unknown field \\"foo\\""'])
        answer = server.patch(path, {"foo": 1}, content_type=kind, fieldValidation="Strict")
        assert answer.code == 422
        assert answer.body["message"].endswith('strict decoding error: unknown field "foo"')
        answer = server.patch(path, repeated, content_type=kind)
        assert answer.warnings == ['"duplicate field \\"data.a\\""']
        assert answer.body["data"]["a"] == "2"
        answer = server.patch(path, repeated, content_type=kind, fieldValidation="Strict")
        assert answer.body["message"].endswith('strict decoding error: duplicate field "data.a"')


def test_patches_of_what_is_not_there(server: wire.Server, shared_ns: str, unique: str) -> None:
    """404; only server-side apply creates objects."""
    path = wire.configmaps(shared_ns, unique)
    for answer in (
        server.patch(path, {"data": {}}),
        strategic(server, path, {"data": {}}),
        json_patch(server, path, op("add", "/data", value={})),
    ):
        assert (answer.code, answer.body["reason"]) == (404, "NotFound")


def test_media_types_of_patches(server: wire.Server, path: str, thing: str) -> None:
    """A parameter does not matter, any other type is 415; custom resources take no strategic."""
    answer = server.patch(path, {}, content_type=f"{wire.MERGE}; charset=utf-8")
    assert answer.code == 200
    for kind in ("application/json", "application/foo"):
        answer = server.patch(path, "{}", content_type=kind)
        assert (answer.code, answer.body["reason"]) == (415, "UnsupportedMediaType")
    answer = strategic(server, thing, {})
    assert (answer.code, answer.body["reason"]) == (415, "UnsupportedMediaType")
    assert answer.body["message"] == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def test_a_patch_that_changes_nothing_makes_no_version(server: wire.Server, path: str) -> None:
    """The answer is the object as it was."""
    before = server.get(path).body
    for answer in (
        server.patch(path, {"data": {"k": "v", "absent": None}}, fieldManager="other"),
        strategic(server, path, {"data": {"k": "v"}}),
        json_patch(server, path, op("replace", "/data/k", value="v")),
        json_patch(server, path),
        server.put(path, before),
    ):
        assert (answer.code, answer.body) == (200, before)


def test_strategic_patches_merge_lists_by_key(server: wire.Server, deployment: str) -> None:
    """Entries are found by their merge key; new ones come first, plain lists are replaced."""

    def spec(change: wire.Obj) -> Any:
        answer = strategic(server, deployment, pod(change), dryRun="All")
        assert answer.code == 200, answer.text
        return answer.body["spec"]["template"]["spec"]

    found = spec({"containers": [{"name": "b", "image": "new"}]})
    assert [one["image"] for one in found["containers"]] == ["one", "new", "three"]
    found = spec({"containers": [{"name": "n", "image": "new"}]})
    assert [one["name"] for one in found["containers"]] == ["n", "a", "b", "c"]
    a: wire.Obj = {
        "name": "a",
        "args": ["3"],
        "env": [{"name": "C", "value": "3"}, {"name": "A", "value": "9"}],
    }
    (container, *_) = spec({"containers": [a]})["containers"]
    assert container["args"] == ["3"]
    assert [(one["name"], one["value"]) for one in container["env"]] == [
        ("C", "3"),
        ("A", "9"),
        ("B", "2"),
    ]
    a = {"name": "a", "ports": [{"containerPort": 81}], "resources": {"limits": {"cpu": None}}}
    (container, *_) = spec({"containers": [a]})["containers"]
    assert [one["containerPort"] for one in container["ports"]] == [81, 80]
    assert container["resources"] == {"limits": {"memory": "1Gi"}}
    assert spec({"tolerations": [{"key": "b"}]})["tolerations"] == [{"key": "b"}]
    assert "volumes" not in spec({"volumes": None})
    assert len(spec({"volumes": []})["volumes"]) == 2


def test_directives_of_strategic_patches(server: wire.Server, deployment: str) -> None:
    """``$patch`` deletes and replaces, ``$retainKeys`` clears what is not named."""

    def spec(change: wire.Obj) -> Any:
        answer = strategic(server, deployment, pod(change), dryRun="All")
        assert answer.code == 200, answer.text
        return answer.body["spec"]["template"]["spec"]

    def names(change: list[wire.Obj]) -> list[str]:
        return [one["name"] for one in spec({"containers": change})["containers"]]

    assert names([{"$patch": "delete", "name": "b"}]) == ["a", "c"]
    assert names([{"$patch": "delete", "name": "absent"}]) == ["a", "b", "c"]
    assert names([{"$patch": "replace"}, {"name": "n", "image": "i"}]) == ["n"]
    assert spec({"nodeSelector": {"$patch": "replace", "m": "2"}})["nodeSelector"] == {"m": "2"}
    assert "nodeSelector" not in spec({"nodeSelector": {"$patch": "delete"}})
    assert "affinity" not in spec({"affinity": {"$patch": "replace", "nodeAffinity": {}}})
    volume = {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}
    assert spec({"volumes": [volume]})["volumes"][0] == {
        "name": "v",
        "hostPath": {"path": "/x", "type": ""},
    }
    strategy = {"$retainKeys": ["type"], "type": "Recreate"}
    answer = strategic(server, deployment, {"spec": {"strategy": strategy}}, dryRun="All")
    assert answer.body["spec"]["strategy"] == {"type": "Recreate"}


def test_the_order_that_strategic_patches_ask_for(server: wire.Server, deployment: str) -> None:
    """``$setElementOrder``: what is named stands in that order, the others where they were."""

    def names(change: wire.Obj) -> list[str]:
        answer = strategic(server, deployment, pod(change), dryRun="All")
        assert answer.code == 200, answer.text
        spec = answer.body["spec"]["template"]["spec"]
        return [one["name"] for one in spec["containers"]]

    assert names({CONTAINERS: [{"name": "c"}, {"name": "a"}]}) == ["b", "c", "a"]
    assert names({CONTAINERS: [{"name": "c"}, {"name": "a"}, {"name": "b"}]}) == ["c", "a", "b"]
    new = {"name": "n", "image": "i"}
    order = [{"name": "c"}, {"name": "n"}, {"name": "a"}]
    assert names({CONTAINERS: order, "containers": [new]}) == ["b", "c", "n", "a"]
    gone = {"$patch": "delete", "name": "c"}
    order = [{"name": "n"}, {"name": "a"}]
    assert names({CONTAINERS: order, "containers": [new, gone]}) == ["b", "n", "a"]
    assert names({CONTAINERS: [{"name": "absent"}, {"name": "c"}]}) == ["a", "b", "c"]


def test_primitive_lists_of_strategic_patches(server: wire.Server, deployment: str) -> None:
    """Finalizers are merged; ``$deleteFromPrimitiveList`` takes some out."""

    def finalizers(**change: Any) -> Any:
        answer = strategic(server, deployment, {"metadata": change}, dryRun="All")
        assert answer.code == 200, answer.text
        return answer.body["metadata"].get("finalizers")

    delete, order = "$deleteFromPrimitiveList/finalizers", "$setElementOrder/finalizers"
    assert finalizers(finalizers=["c.io/4", "c.io/2"]) == ["c.io/4", "c.io/1", "c.io/2", "c.io/3"]
    assert finalizers(finalizers=[]) == ["c.io/1", "c.io/2", "c.io/3"]
    assert finalizers(finalizers=None) is None
    assert finalizers(**{delete: ["c.io/1", "absent"]}) == ["c.io/2", "c.io/3"]
    change = {delete: ["c.io/1"], order: ["c.io/3", "c.io/9", "c.io/2"], "finalizers": ["c.io/9"]}
    assert finalizers(**change) == ["c.io/3", "c.io/9", "c.io/2"]


def test_strategic_patches_that_make_no_sense(server: wire.Server, deployment: str) -> None:
    """The server did not foresee most of them: 500 without a reason."""
    order = "The order in patch list:\n[map[image:i name:n]]\n doesn't match $setElementOrder list:"
    order += "\n[map[name:a]]\n"
    for change, code, told in (
        (
            {"containers": [{"image": "x"}]},
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            {"containers": [{"$patch": "delete"}]},
            500,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            {"containers": [{"$patch": "merge", "name": "a"}]},
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            {"containers": [{"$patch": "frob", "name": "a"}]},
            500,
            "unknown patch type: frob in map: map[$patch:frob name:a]",
        ),
        (
            {"nodeSelector": {"$patch": "merge", "a": "b"}},
            500,
            "unknown patch type: merge in map: map[$patch:merge a:b]",
        ),
        ({CONTAINERS: "x"}, 500, "expected a []interface {}, but received a string"),
        ({CONTAINERS: [{}]}, 500, "map: map[] does not contain declared merge key: name"),
        ({CONTAINERS: ["a"]}, 500, "value for key 0 is not a map"),
        ({CONTAINERS: [{"name": "a"}], "containers": [{"name": "n", "image": "i"}]}, 500, order),
    ):
        answer = strategic(server, deployment, pod(change))
        assert (answer.code, answer.body["message"]) == (code, told)
        assert "reason" not in answer.body
    answer = strategic(server, deployment, {"metadata": {"finalizers": [1]}})
    told = "list element types are not identical: [[c.io/1 c.io/2 c.io/3] [1]]"
    assert (answer.code, answer.body["message"]) == (500, told)
    for given in ({"$retainKeys": ["x"], "type": "Recreate"}, {"$retainKeys": "type"}):
        answer = strategic(server, deployment, {"spec": {"strategy": given}})
        told = "invalid patch format of retainKeys"
        assert (answer.code, answer.body["reason"], answer.body["message"]) == (
            400,
            "BadRequest",
            told,
        )
    answer = strategic(server, deployment, {"spec": {"$setElementOrder/foo": []}})
    told = 'unable to find api field in struct DeploymentSpec for the json field "foo"'
    assert (answer.code, answer.body["message"]) == (500, told)


def test_patches_of_a_subresource(server: wire.Server, deployment: str) -> None:
    """A patch of the status changes nothing else, one of the scale the replicas."""
    change = {"spec": {"paused": True}, "status": {"observedGeneration": 7}}
    for kind in (wire.MERGE, wire.STRATEGIC):
        answer = server.patch(f"{deployment}/status", change, content_type=kind, dryRun="All")
        assert answer.code == 200
        assert answer.body["status"]["observedGeneration"] == 7
        assert "paused" not in answer.body["spec"]
    answer = server.patch(f"{deployment}/scale", {"spec": {"replicas": 3}}, dryRun="All")
    assert (answer.code, answer.body["kind"], answer.body["spec"]) == (
        200,
        "Scale",
        {"replicas": 3},
    )
    answer = json_patch(server, f"{deployment}/scale", op("test", "/spec/replicas", value=5))
    assert (answer.code, answer.body["message"]) == (422, REFUSED)


def test_patches_keep_numbers_and_texts_apart(server: wire.Server, thing: str) -> None:
    """A JSON patch that tests for true does not take one for it."""
    assert server.patch(thing, {"spec": {"one": 1, "yes": True}}).code == 200
    assert json_patch(server, thing, op("test", "/spec/one", value=1)).code == 200
    assert json_patch(server, thing, op("test", "/spec/one", value=True)).code == 422
    assert json_patch(server, thing, op("test", "/spec/yes", value=1)).code == 422
    body = json.dumps([op("test", "/spec", value={"yes": True, "one": 1})])
    assert server.patch(thing, body, content_type=wire.JSON_PATCH).code == 200
