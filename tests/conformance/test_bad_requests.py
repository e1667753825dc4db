"""Requests that make no sense: wrong types, places, versions and methods, and what they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import wire

REVIEWS = "/apis/authorization.k8s.io/v1/localsubjectaccessreviews"
UNKNOWN_FORM = "the body of the request was in an unknown format - accepted media types include: "
READ = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
NOT_ALLOWED = "the server does not allow this method on the requested resource"
NO_PATH = "the server could not find the requested resource"
NO_NAME = "the name of the object (d based on URL) was undeterminable: name must be provided"
NO_PAGE = (404, "404 page not found\n")


def told(answer: wire.Answer) -> tuple[int, str, str]:
    """The code, the reason and the message of a failure, which must be a Status object."""
    body = answer.body
    assert (body["kind"], body["status"], body["code"]) == ("Status", "Failure", answer.code)
    return answer.code, body.get("reason", ""), body["message"]


@pytest.fixture(params=["builtin", "custom"])
def path(request: pytest.FixtureRequest, server: wire.Server, shared_ns: str, crd: Any) -> str:
    """The collection of a built-in and of a custom kind, with an object ``a``."""
    found = wire.configmaps(shared_ns) if request.param == "builtin" else crd()
    server.post(found, body(found, "a"))
    return str(found)


def body(path: str, name: str, **meta: Any) -> wire.Obj:
    """An object of the kind at a path."""
    if "/configmaps" in path:
        return wire.configmap(name, **meta)
    api_version = path.removeprefix("/apis/").partition("/namespaces")[0]
    return {"apiVersion": api_version, "kind": "Thing", "metadata": {"name": name, **meta}}


def test_forms_of_bodies(server: wire.Server, path: str) -> None:
    """Of a DELETE too the body must be in a form that is read; the case of its name is no matter.

    Patches of built-in kinds in another form are refused in fewer words.
    """
    refused = (415, "UnsupportedMediaType", UNKNOWN_FORM + READ)
    for kind in ("text/plain", "application/merge-patch+json"):
        assert told(server.call("POST", path, "{}", content_type=kind)) == refused
        assert told(server.call("DELETE", f"{path}/a", "{}", content_type=kind)) == refused
        assert told(server.call("DELETE", path, "{}", content_type=kind)) == refused
    answer = server.call("POST", path, body(path, "b"), content_type="Application/JSON")
    assert answer.code == 201
    assert server.call("DELETE", f"{path}/b", "", content_type="text/plain").code == 200
    patched = server.patch(f"{path}/a", "{}", content_type="application/json")
    languages = "application/json-patch+json, application/merge-patch+json, "
    languages += "application/apply-patch+yaml"
    builtin = "/configmaps" in path
    short = "415: Unsupported Media Type"
    assert told(patched)[1:] == (
        "UnsupportedMediaType",
        short if builtin else UNKNOWN_FORM + languages,
    )


def test_options_of_deletions(server: wire.Server, path: str) -> None:
    """Options have types, in the body and in the query."""
    head = "couldn't get version/kind; json parse error: "
    field = "json: cannot unmarshal string into Go struct field DeleteOptions"
    for options, why in (
        ("[]", f"{head}json: cannot unmarshal array into Go value of type struct {{ APIVersion "),
        ("x", f"{head}invalid character 'x' looking for beginning of value"),
        ('{"gracePeriodSeconds":"a"}', f"{field}.gracePeriodSeconds of type int64"),
        ('{"preconditions":"a"}', f"{field}.preconditions of type v1.Preconditions"),
        ('{"kind":"Foo","apiVersion":"v1"}', 'no kind "Foo" is registered for version "v1"'),
    ):
        for place in (path, f"{path}/a"):
            code, reason, message = told(server.call("DELETE", place, options))
            assert (code, reason) == (400, "BadRequest")
            assert message.startswith(why)
    bad = server.delete(f"{path}/a", gracePeriodSeconds="soon")
    assert told(bad) == (400, "BadRequest", 'strconv.ParseInt: parsing "soon": invalid syntax')
    for empty in (server.delete(f"{path}/a", dryRun=""), server.post(path, {}, dryRun="")):
        assert told(empty)[:2] == (422, "Invalid")
        assert 'dryRun: Unsupported value: [""]: supported values: "All"' in empty.text.replace(
            "\\", ""
        )
    assert server.get(f"{path}/a").code == 200


def test_what_needs_a_namespace(server: wire.Server, path: str) -> None:
    """Across all namespaces objects are listed and watched, nothing else."""
    everywhere = path.partition("/namespaces/")[0] + "/" + path.rpartition("/")[2]
    assert server.get(everywhere, labelSelector="no=one").code == 200
    calls: list[tuple[str, str, wire.Obj | None]] = [
        ("POST", everywhere, body(path, "b")),
        ("DELETE", everywhere, None),
        ("GET", f"{everywhere}/a", None),
        ("PUT", f"{everywhere}/a", body(path, "a")),
        ("DELETE", f"{everywhere}/a", None),
    ]
    for method, place, sent in calls:
        answer = server.call(method, place, sent)
        if "/configmaps" not in path:
            assert (answer.code, answer.text) == NO_PAGE
        elif place == everywhere:
            assert told(answer) == (405, "MethodNotAllowed", NOT_ALLOWED)
        else:
            assert told(answer) == (404, "NotFound", NO_PATH)
    assert told(server.post(REVIEWS, {})) == (404, "NotFound", NO_PATH)


def test_what_is_in_no_namespace(server: wire.Server, unique: str) -> None:
    """A namespace in the metadata of what is in none is dropped."""
    for path in (
        "/api/v1/namespaces",
        "/api/v1/nodes",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    ):
        body = {"metadata": {"name": unique, "namespace": "other"}}
        answer = server.post(path, body, dryRun="All")
        assert answer.code == 201
        assert "namespace" not in answer.body["metadata"]


def test_versions_of_new_objects(server: wire.Server, path: str) -> None:
    """A new object has no version, unless nothing is stored; 0 and what is no number are none."""
    told_so = "resourceVersion should not be set on objects to be created"
    for name in ("a", "new"):
        assert told(server.post(path, body(path, name, resourceVersion="5"))) == (500, "", told_so)
    assert server.post(path, body(path, "n", resourceVersion="5"), dryRun="All").code == 201
    for number, version in enumerate(("0", "abc")):
        answer = server.post(path, body(path, f"n{number}", resourceVersion=version))
        assert answer.code == 201
        assert answer.body["metadata"]["resourceVersion"] != version
    invalid = server.post(path, body(path, "No_", resourceVersion="5"))
    assert told(invalid)[:2] == (422, "Invalid")


@pytest.mark.parametrize("version", [None, "", "0"])
def test_versions_of_patched_objects(
    server: wire.Server, crd: Callable[..., str], shared_ns: str, unique: str, version: str | None
) -> None:
    """Where an update must say which version it replaces, a patch must not take that away."""
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{shared_ns}/leases"
    things = crd()
    server.post(leases, {"metadata": {"name": unique}})
    server.post(things, body(things, unique))
    why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    for path in (leases, things):
        answer = server.patch(f"{path}/{unique}", {"metadata": {"resourceVersion": version}})
        assert told(answer)[:2] == (422, "Invalid")
        assert told(answer)[2].endswith(f'"{unique}" is invalid: {why}')
    free = wire.configmaps(shared_ns)
    server.post(free, wire.configmap(unique))
    patch = {"metadata": {"resourceVersion": version}}
    assert server.patch(f"{free}/{unique}", patch).code == 200


def test_lists_that_make_no_sense(server: wire.Server, path: str) -> None:
    """Versions of lists are numbers, and initial events are those of a watch."""
    odd = server.get(path, resourceVersion="abc")
    why = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    assert told(odd) == (400, "BadRequest", f"invalid resource version: {why}")
    initial = server.get(path, sendInitialEvents="true")
    assert told(initial)[:2] == (422, "Invalid")
    assert told(initial)[2].endswith("sendInitialEvents: Forbidden: sendInitialEvents is "
                                     "forbidden for list")  # fmt: skip
    late = server.get(path, resourceVersion="999999999")
    assert (late.code, late.headers["Retry-After"]) == (504, "1")
    field = server.get(path, fieldSelector="spec.x=1")
    builtin = '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    custom = "field label not supported: spec.x"
    wanted = builtin if "/configmaps" in path else custom
    assert told(field) == (400, "BadRequest", wanted)


def test_metadata_of_lists(server: wire.Server, path: str) -> None:
    """The metadata of a list's objects are a list, which says null where there are none."""
    form = "application/json;as={};v=v1;g=meta.k8s.io"
    one = server.get(path, accept=form.format("PartialObjectMetadata"))
    assert told(one)[:2] == (406, "NotAcceptable")
    assert "but the requested object is a list" in told(one)[2]
    listed = form.format("PartialObjectMetadataList")
    assert server.get(path, accept=listed, labelSelector="no=one").body["items"] is None
    whole = server.get(path, labelSelector="no=one").body
    assert whole["items"] == []
    assert whole["metadata"].get("continue") == (None if "/configmaps" in path else "")


def test_forms_of_answers(server: wire.Server, path: str) -> None:
    """Built-in kinds are not told in just any form of an application, custom ones are."""
    builtin = "/configmaps" in path
    for accept, code in (("*/*", 200), ("application/*", 406 if builtin else 200), ("a/b", 406)):
        assert server.get(f"{path}/a", accept=accept).code == code


def test_methods(server: wire.Server, path: str) -> None:
    """Built-in resources have no HEAD."""
    code = server.call("HEAD", f"{path}/a").code
    assert code == (405 if "/configmaps" in path else 200)


def test_scales(server: wire.Server, shared_ns: str) -> None:
    """What is written to a scale is a Scale of this object."""
    path = f"/apis/apps/v1/namespaces/{shared_ns}/deployments"
    template = {
        "metadata": {"labels": {"app": "d"}},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "d"}}, "template": template}
    assert server.post(path, {"metadata": {"name": "d"}, "spec": spec}).code == 201
    scale = f"{path}/d/scale"
    for wrong in ({}, {"spec": {"replicas": 1}}):
        assert told(server.put(scale, wrong)) == (400, "BadRequest", NO_NAME)
    other = server.put(scale, {"kind": "Foo", "metadata": {"name": "d"}})
    assert told(other)[2].startswith('Foo in version "v1" cannot be handled as a Scale: no kind')
    text = server.put(scale, {"metadata": {"name": "d"}, "spec": {"replicas": "1"}})
    field = "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type"
    assert told(text) == (
        400,
        "BadRequest",
        f'Scale in version "v1" cannot be handled as a Scale: {field} int32',
    )
    patched = server.patch(scale, {"spec": {"replicas": "1"}})
    assert told(patched)[:2] == (422, "Invalid")
    assert told(patched)[2].endswith(f"{field} int32")
    unknown = server.patch(scale, {"spec": {"foo": 1}})
    assert (unknown.code, unknown.warnings) == (200, ['"unknown field \\"spec.foo\\""'])


def test_evictions_and_ends(server: wire.Server, shared_ns: str) -> None:
    """An eviction names its pod, and who finalizes a namespace names it."""
    pods = f"/api/v1/namespaces/{shared_ns}/pods"
    wrong = (400, "BadRequest", "name in URL does not match name in Eviction object")
    head = {"apiVersion": "policy/v1", "kind": "Eviction"}
    for eviction in ({}, {**head, "metadata": {"name": "other"}}):
        assert told(server.post(f"{pods}/p/eviction", eviction)) == wrong
    right = server.post(f"{pods}/p/eviction", {**head, "metadata": {"name": "p"}})
    assert told(right) == (404, "NotFound", 'pods "p" not found')
    other = {"metadata": {"name": "other"}, "spec": {}}
    answer = server.put(f"/api/v1/namespaces/{shared_ns}/finalize", other)
    assert told(answer)[:2] == (400, "BadRequest")
    assert told(answer)[2].startswith("the name of the object (other) does not match")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,=", "found '=', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' "
            "operators, the value must be an integer",
        ),
    ],
)
def test_label_selectors(server: wire.Server, shared_ns: str, selector: str, message: str) -> None:
    """The message says what was found and what was expected."""
    answer = server.get(wire.configmaps(shared_ns), labelSelector=selector)
    assert told(answer) == (400, "BadRequest", message)
