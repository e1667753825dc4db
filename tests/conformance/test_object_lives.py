"""The life of an object: created, read, replaced, deleted, and how each of that is refused."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import wire

NAMESPACES = "/api/v1/namespaces"


@pytest.fixture
def made(server: wire.Server, shared_ns: str, unique: str) -> wire.Obj:
    """A config map."""
    answer = server.post(wire.configmaps(shared_ns), wire.configmap(unique, {"x": "1"}))
    assert answer.code == 201
    return dict(answer.body)


def path_of(obj: wire.Obj) -> str:
    """Where a config map is."""
    return wire.configmaps(obj["metadata"]["namespace"], obj["metadata"]["name"])


def status(answer: wire.Answer) -> tuple[int, str, str]:
    """The code, the reason and the message of a failure, which must be a Status object."""
    body = answer.body
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
    assert body["code"] == answer.code
    assert body["metadata"] == {}
    return answer.code, body.get("reason", ""), body["message"]


def test_created_object_has_what_the_server_says(made: wire.Obj) -> None:
    """A new object has uid, resourceVersion, creation time and managed fields, no generation."""
    meta = made["metadata"]
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-.{12}", meta["uid"]
    )
    assert int(meta["resourceVersion"]) > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["creationTimestamp"])
    assert "generation" not in meta
    assert meta["managedFields"][0]["manager"] == "python-urllib3"
    assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"x": "1"})


def test_kind_may_be_left_out(server: wire.Server, ns: str) -> None:
    """The path says the kind; a body need not."""
    answer = server.post(wire.configmaps(ns), {"metadata": {"name": "plain"}})
    assert (answer.code, answer.body["kind"]) == (201, "ConfigMap")


def test_server_owned_fields_of_a_new_object_are_ignored(server: wire.Server, ns: str) -> None:
    """A body cannot choose uid, creation time or deletion time."""
    stamp = "2001-01-01T00:00:00Z"
    body = wire.configmap("a", uid="mine", creationTimestamp=stamp, deletionTimestamp=stamp)
    meta = server.post(wire.configmaps(ns), body).body["metadata"]
    assert meta["uid"] != "mine"
    assert meta["creationTimestamp"] != stamp
    assert "deletionTimestamp" not in meta


def test_generated_names(server: wire.Server, ns: str) -> None:
    """generateName makes a name of the prefix and five letters, each time another."""
    body = {"metadata": {"generateName": "prefix-"}}
    names = {server.post(wire.configmaps(ns), body).body["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"prefix-[a-z0-9]{5}", name) for name in names)


def test_refused_creations(server: wire.Server, made: wire.Obj) -> None:
    """What cannot be created is refused with the code, reason and message of the API."""
    ns, name = made["metadata"]["namespace"], made["metadata"]["name"]
    path = wire.configmaps(ns)
    answer = server.post(path, wire.configmap(name))
    assert status(answer) == (409, "AlreadyExists", f'configmaps "{name}" already exists')
    assert answer.body["details"] == {"name": name, "kind": "configmaps"}
    assert status(server.post(path, {"metadata": {}})) == (
        422,
        "Invalid",
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    )
    assert status(server.post(path, wire.configmap("b", namespace="other"))) == (
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    )
    assert status(server.post(path, wire.configmap("b", resourceVersion="5"))) == (
        500,
        "",
        "resourceVersion should not be set on objects to be created",
    )
    assert status(server.post(wire.configmaps("no-such-namespace"), wire.configmap("a"))) == (
        404,
        "NotFound",
        'namespaces "no-such-namespace" not found',
    )


@pytest.mark.parametrize(
    ("body", "begin"),
    [
        (
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "q"}},
            'Secret in version "v1" cannot be handled as a ConfigMap',
        ),
        (
            {"apiVersion": "foo/v1", "kind": "Foo", "metadata": {"name": "q"}},
            'Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered',
        ),
        ([1], "the object provided is unrecognized (must be of type ConfigMap)"),
        ("", "the object provided is unrecognized (must be of type ConfigMap)"),
    ],
)
def test_bodies_of_other_kinds(server: wire.Server, shared_ns: str, body: Any, begin: str) -> None:
    """A body that is another kind, or no object, is a bad request that says what it is."""
    code, reason, message = status(server.post(wire.configmaps(shared_ns), body))
    assert (code, reason) == (400, "BadRequest")
    assert message.startswith(begin)


def test_replace_needs_the_latest_version(server: wire.Server, made: wire.Obj) -> None:
    """PUT with a stale resourceVersion or another uid is a conflict; without a version it wins."""
    path, name = path_of(made), made["metadata"]["name"]
    first = copy.deepcopy(made)
    first["data"] = {"x": "2"}
    second = server.put(path, first).body
    assert int(second["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    assert second["metadata"]["uid"] == made["metadata"]["uid"]
    assert status(server.put(path, made)) == (
        409,
        "Conflict",
        f'Operation cannot be fulfilled on configmaps "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again",
    )
    stranger = copy.deepcopy(second)
    stranger["metadata"]["uid"] = "somebody-else"
    code, reason, message = status(server.put(path, stranger))
    assert (code, reason) == (409, "Conflict")
    assert "Precondition failed: UID in precondition: somebody-else, UID in object meta" in message
    blind = copy.deepcopy(made)
    del blind["metadata"]["resourceVersion"]
    assert server.put(path, blind).body["data"] == {"x": "1"}


def test_replace_of_something_else(server: wire.Server, made: wire.Obj) -> None:
    """The name and the namespace of the body must be those of the path."""
    path, name = path_of(made), made["metadata"]["name"]
    other, nameless, elsewhere = (copy.deepcopy(made) for _ in range(3))
    other["metadata"]["name"] = "other"
    told = f"the name of the object (other) does not match the name on the URL ({name})"
    assert status(server.put(path, other)) == (400, "BadRequest", told)
    del nameless["metadata"]["name"]
    told = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
    assert status(server.put(path, nameless)) == (400, "BadRequest", told)
    elsewhere["metadata"]["namespace"] = "other"
    assert server.put(path, elsewhere).code == 400


def test_put_creates_only_some_kinds(server: wire.Server, ns: str) -> None:
    """PUT of what is not there creates a Lease or an Endpoints, and is 404 for a ConfigMap."""
    answer = server.put(wire.configmaps(ns, "new"), wire.configmap("new"))
    assert status(answer) == (404, "NotFound", 'configmaps "new" not found')
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/new"
    body = {"metadata": {"name": "new"}, "spec": {"holderIdentity": "me"}}
    assert server.put(leases, body).code == 201
    again = server.put(leases, body)
    assert status(again)[2] == (
        'leases.coordination.k8s.io "new" is invalid: metadata.resourceVersion: Invalid value: 0: '
        "must be specified for an update"
    )
    assert server.put(f"/api/v1/namespaces/{ns}/endpoints/new", body).code == 201


def test_unchanged_objects_keep_their_version(server: wire.Server, made: wire.Obj) -> None:
    """A write that changes nothing is not stored."""
    again = server.put(path_of(made), made)
    assert again.code == 200
    assert again.body["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_dry_run_stores_nothing(server: wire.Server, made: wire.Obj) -> None:
    """A dry run answers as the request would, and leaves everything as it is."""
    ns = made["metadata"]["namespace"]
    answer = server.post(wire.configmaps(ns), wire.configmap("dry", {"a": "b"}), dryRun="All")
    assert answer.code == 201
    assert answer.body["data"] == {"a": "b"}
    assert "resourceVersion" not in answer.body["metadata"]
    assert server.get(wire.configmaps(ns, "dry")).code == 404
    changed = server.patch(path_of(made), {"data": {"x": "9"}}, dryRun="All")
    assert changed.body["data"] == {"x": "9"}
    assert server.delete(path_of(made), dryRun="All").code == 200
    assert server.get(path_of(made)).body == made
    bad = server.post(wire.configmaps(ns), wire.configmap("dry"), dryRun="Some")
    assert status(bad)[2] == (
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: '
        'supported values: "All"'
    )


def test_deletion(server: wire.Server, made: wire.Obj) -> None:
    """A deleted object is gone at once, and the answer is a Status with its uid."""
    meta = made["metadata"]
    answer = server.delete(path_of(made))
    assert answer.code == 200
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": meta["name"], "kind": "configmaps", "uid": meta["uid"]},
    }
    for gone in (server.delete(path_of(made)), server.get(path_of(made))):
        assert status(gone) == (404, "NotFound", f'configmaps "{meta["name"]}" not found')


def test_finalizers_hold_an_object(server: wire.Server, ns: str) -> None:
    """With finalizers it is only marked; without the last one it is gone."""
    path = wire.configmaps(ns, "held")
    server.post(wire.configmaps(ns), wire.configmap("held", finalizers=["example.com/a"]))
    marked = server.delete(path)
    assert (marked.code, marked.body["kind"]) == (200, "ConfigMap")
    assert marked.body["metadata"]["deletionGracePeriodSeconds"] == 0
    stamp = marked.body["metadata"]["deletionTimestamp"]
    again = server.delete(path).body["metadata"]
    assert again["deletionTimestamp"] == stamp
    assert again["resourceVersion"] == marked.body["metadata"]["resourceVersion"]
    more = server.patch(path, {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}})
    assert status(more)[2] == (
        'ConfigMap "held" is invalid: metadata.finalizers: Forbidden: no new finalizers can be '
        "added if the object is being deleted, found new finalizers "
        '[]string{"example.com/b"}'
    )
    assert server.patch(path, {"data": {"still": "editable"}}).code == 200
    assert server.post(wire.configmaps(ns), wire.configmap("held")).code == 409
    last = server.patch(path, {"metadata": {"finalizers": None}})
    assert last.code == 200
    assert server.get(path).code == 404


def test_preconditions_of_deletions(server: wire.Server, made: wire.Obj) -> None:
    """A deletion that names another uid or version is a conflict."""
    name, uid = made["metadata"]["name"], made["metadata"]["uid"]
    version = made["metadata"]["resourceVersion"]
    for field, said, found, since in (
        ("uid", "UID", uid, "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", version, "modified"),
    ):
        answer = server.delete(path_of(made), {"preconditions": {field: "other"}})
        assert status(answer) == (
            409,
            "Conflict",
            f'Operation cannot be fulfilled on ConfigMap "{name}": the {said} in the precondition '
            f"(other) does not match the {said} in record ({found}). The object might have been "
            f"{since}",
        )
    assert server.delete(path_of(made), {"preconditions": {"uid": uid}}).code == 200


def test_delete_options(server: wire.Server, made: wire.Obj) -> None:
    """Options that make no sense are refused before anything happens."""
    path = path_of(made)
    bad = server.delete(path, {"propagationPolicy": "Sideways"})
    assert status(bad)[2] == (
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: '
        '"Sideways": supported values: "Foreground", "Background", "Orphan", "nil"'
    )
    assert server.delete(path, propagationPolicy="Sideways").code == 422
    both = {"propagationPolicy": "Orphan", "orphanDependents": True}
    assert "cannot be both set" in status(server.delete(path, both))[2]
    assert server.delete(path, {"apiVersion": "v1", "kind": "Foo"}).code == 400
    assert server.get(path).code == 200


def test_delete_collection(server: wire.Server, ns: str) -> None:
    """DELETE of a collection takes what the selectors leave, and lists it."""
    for number in range(4):
        meta = {"labels": {"odd": str(number % 2)}}
        server.post(wire.configmaps(ns), wire.configmap(f"m{number}", **meta))
    answer = server.delete(wire.configmaps(ns), labelSelector="odd=1")
    assert answer.code == 200
    assert answer.body["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in answer.body["items"]] == ["m1", "m3"]
    left = server.get(wire.configmaps(ns), labelSelector="odd").body["items"]
    assert [item["metadata"]["name"] for item in left] == ["m0", "m2"]


def test_paths_that_are_not_there(server: wire.Server, shared_ns: str) -> None:
    """Unknown groups are plain 404s, unknown resources and subresources are Status objects."""
    told = (404, "NotFound", "the server could not find the requested resource")
    for path in (
        f"/api/v1/namespaces/{shared_ns}/foos",
        "/api/v1/foos/bar",
        "/apis/apps/v1/foos",
        wire.configmaps(shared_ns, "a") + "/status",
        "/apis/apps/v9/deployments",
    ):
        assert status(server.get(path)) == told
    for path in ("/apis/nope.example.com/v1/things", "/apis/nope.example.com/v1", "/nope"):
        answer = server.get(path)
        assert (answer.code, answer.text) == (404, "404 page not found\n")


def test_methods_that_are_not_there(server: wire.Server, made: wire.Obj) -> None:
    """A verb that a path does not have is 405."""
    told = (
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )
    ns = made["metadata"]["namespace"]
    assert status(server.put(wire.configmaps(ns), made)) == told
    assert status(server.post(path_of(made), made)) == told
    assert status(server.delete(NAMESPACES)) == told


def test_content_types(server: wire.Server, made: wire.Obj) -> None:
    """A body in an unknown form is 415, and the answer's form is the one that is asked for."""
    ns, path = made["metadata"]["namespace"], path_of(made)
    for method, target, kind in (
        ("POST", wire.configmaps(ns), "text/plain"),
        ("PATCH", path, "application/json"),
    ):
        answer = server.call(method, target, "{}", content_type=kind)
        assert status(answer)[:2] == (415, "UnsupportedMediaType")
    yaml = server.call("GET", path, accept="application/yaml")
    assert yaml.headers["Content-Type"] == "application/yaml"
    assert f"\n  name: {made['metadata']['name']}\n" in yaml.text
    refused = server.call("GET", path, accept="text/plain")
    assert (refused.code, refused.body["reason"]) == (406, "NotAcceptable")
    assert server.call("GET", path, accept="text/plain, */*").body["kind"] == "ConfigMap"
    posted = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\ndata: {a: b}\n"
    answer = server.call("POST", wire.configmaps(ns), posted, content_type="application/yaml")
    assert (answer.code, answer.body["data"]) == (201, {"a": "b"})


def test_metadata_only(server: wire.Server, made: wire.Obj) -> None:
    """PartialObjectMetadata leaves out everything but the metadata, in objects and in lists."""
    form = "application/json;as={};v=v1;g=meta.k8s.io"
    one = server.call("GET", path_of(made), accept=form.format("PartialObjectMetadata")).body
    assert one == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }
    path = wire.configmaps(made["metadata"]["namespace"])
    listed = server.call("GET", path, accept=form.format("PartialObjectMetadataList")).body
    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert one in listed["items"]


def test_bodies_over_three_mebibytes(server: wire.Server, shared_ns: str) -> None:
    """A body over 3 MiB is refused with the limit."""
    body = wire.configmap("big", {"a": "x" * (3 * 1024 * 1024)})
    assert status(server.post(wire.configmaps(shared_ns), body)) == (
        413,
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    )


def test_write_options(server: wire.Server, shared_ns: str) -> None:
    """Field managers are at most 128 bytes long, fieldValidation is one of three words."""
    path = wire.configmaps(shared_ns)
    long = server.post(path, wire.configmap("a"), fieldManager="x" * 129, dryRun="All")
    assert status(long)[2] == (
        'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than '
        "128 bytes"
    )
    assert long.body["details"]["group"] == "meta.k8s.io"
    odd = server.post(path, wire.configmap("a"), fieldValidation="Odd", dryRun="All")
    assert status(odd)[2] == (
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Odd": '
        'supported values: "", "Ignore", "Strict", "Warn"'
    )
