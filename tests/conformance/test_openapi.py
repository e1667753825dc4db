"""OpenAPI: the schemas that kubectl explains and patches by."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import wire

GROUP = f"openapi-{uuid.uuid4().hex[:6]}.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMAS = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
DEPLOYMENTS = "/apis/apps/v1/namespaces/{namespace}/deployments"


def document(server: wire.Server, group_version: str) -> wire.Obj:
    """The document of a group version, as the index says where it is."""
    url = server.get("/openapi/v3").body["paths"][group_version]["serverRelativeURL"]
    found = server.get(url)
    assert found.code == 200, found.text
    return dict(found.body)


def schemas(server: wire.Server, group_version: str) -> dict[str, wire.Obj]:
    """The schemas of a group version, by name."""
    return dict(document(server, group_version)["components"]["schemas"])


def references(part: Any) -> Iterator[str]:
    """All that a schema refers to."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for item in part:
            yield from references(item)


def crd(schema: wire.Obj) -> wire.Obj:
    """A CRD with this schema."""
    version = {"name": "v1", "served": True, "storage": True}
    spec = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "gizmos", "kind": "Gizmo"},
        "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
    }
    return {"metadata": {"name": f"gizmos.{GROUP}"}, "spec": spec}


SPEC: wire.Obj = {
    "type": "object",
    "description": "What is wanted.",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 0, "description": "How big."},
        "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "port": {"x-kubernetes-int-or-string": True},
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}},
            },
        },
    },
}


@pytest.fixture(scope="module")
def gizmos(server: wire.Server) -> Iterator[str]:
    """A CRD whose schema is published; the answer is its path."""
    body = crd({"type": "object", "description": "A gizmo.", "properties": {"spec": SPEC}})
    assert server.post(CRDS, body).code == 201
    server.until("/openapi/v3", lambda found: f"apis/{GROUP}/v1" in found["paths"])
    yield f"{CRDS}/gizmos.{GROUP}"
    server.delete(f"{CRDS}/gizmos.{GROUP}")


def test_the_index_says_where_each_group_version_is(server: wire.Server) -> None:
    """URLs carry the hash of what they lead to."""
    paths = server.get("/openapi/v3").body["paths"]
    wanted = {"api/v1", "apis/apps/v1", "apis/batch/v1", "apis/apiextensions.k8s.io/v1"}
    assert wanted < set(paths)
    for name in wanted:
        url = paths[name]["serverRelativeURL"]
        assert re.fullmatch(rf"/openapi/v3/{re.escape(name)}\?hash=[0-9A-F]{{128}}", url)


def test_documents_may_be_kept_until_their_hash_changes(server: wire.Server) -> None:
    """With the hash the answer holds for ever, with another one the client is sent to the right."""
    url = server.get("/openapi/v3").body["paths"]["apis/apps/v1"]["serverRelativeURL"]
    path, _, tag = url.partition("?hash=")
    kept = server.get(url)
    assert kept.headers["Content-Type"] == "application/json"
    assert kept.headers["Cache-Control"] == "public, immutable"
    assert kept.headers["ETag"] == f'"{tag}"'
    assert kept.headers["Expires"].endswith("UTC")
    fresh = server.get(path)
    assert fresh.body == kept.body
    assert fresh.headers["Cache-Control"] == "no-cache, private"
    same = server.call("GET", path, headers={"If-None-Match": f'"{tag}"'})
    assert (same.code, same.text) == (304, "")
    moved = server.get(f"{path}?hash=ABC")
    assert (moved.code, moved.headers["Location"]) == (301, url)


def test_unknown_documents_and_forms(server: wire.Server) -> None:
    """404 and 406 have no body."""
    missing = server.get("/openapi/v3/apis/nosuch.example.com/v1")
    assert (missing.code, missing.text) == (404, "")
    for path in ("/openapi/v3/apis/apps/v1", "/openapi/v2"):
        refused = server.get(path, accept="text/html")
        assert (refused.code, refused.text) == (406, "")
    for path in ("/openapi", "/openapi/v2/nosuch"):
        found = server.get(path)
        assert (found.code, found.text) == (404, "404 page not found\n")


def test_documents_are_complete(server: wire.Server) -> None:
    """OpenAPI 3.0; whatever a document refers to is in it."""
    for name in ("api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1"):
        found = document(server, name)
        assert found["openapi"] == "3.0.0"
        assert found["info"]["title"] == "Kubernetes"
        there = set(found["components"]["schemas"])
        assert {ref.removeprefix(SCHEMAS) for ref in references(found)} <= there


def test_kinds_are_marked_with_group_version_and_kind(server: wire.Server) -> None:
    """How a client finds the schema of an object, and that of its list."""
    found = schemas(server, "apis/apps/v1")
    for kind in ("Deployment", "DeploymentList", "StatefulSet"):
        spoken = found[f"io.k8s.api.apps.v1.{kind}"]["x-kubernetes-group-version-kind"]
        assert spoken == [{"group": "apps", "kind": kind, "version": "v1"}]
    scale = found["io.k8s.api.autoscaling.v1.Scale"]["x-kubernetes-group-version-kind"]
    assert scale == [{"group": "autoscaling", "kind": "Scale", "version": "v1"}]


def test_fields_have_types_descriptions_and_references(server: wire.Server) -> None:
    """One type each; a field that refers to another type keeps its own description."""
    found = schemas(server, "apis/apps/v1")
    deployment = found["io.k8s.api.apps.v1.Deployment"]
    assert (deployment["type"], deployment["required"]) == ("object", ["spec"])
    spec = deployment["properties"]["spec"]
    assert spec["description"] == "Specification of the desired behavior of the Deployment."
    assert spec["allOf"] == [{"$ref": f"{SCHEMAS}io.k8s.api.apps.v1.DeploymentSpec"}]
    fields = found["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]
    assert fields["replicas"]["description"].startswith("Number of desired pods.")
    assert (fields["replicas"]["type"], fields["replicas"]["format"]) == ("integer", "int32")
    items = found["io.k8s.api.apps.v1.DeploymentList"]["properties"]["items"]["items"]
    assert items == {"$ref": f"{SCHEMAS}io.k8s.api.apps.v1.Deployment"}


def test_lists_say_how_they_are_merged(server: wire.Server) -> None:
    """Merge keys and strategies, by which kubectl patches."""
    pod = schemas(server, "api/v1")["io.k8s.api.core.v1.PodSpec"]["properties"]
    containers = pod["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-type"] == "map"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert pod["volumes"]["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    selector = schemas(server, "api/v1")[f"{META}LabelSelector"]
    assert selector["x-kubernetes-map-type"] == "atomic"


def test_numbers_that_may_be_texts(server: wire.Server) -> None:
    """IntOrString and Quantity accept both."""
    found = schemas(server, "api/v1")
    either = found["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
    assert either["format"] == "int-or-string"
    assert {option["type"] for option in either["oneOf"]} == {"integer", "string"}
    quantity = found["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert {option["type"] for option in quantity["oneOf"]} == {"number", "string"}


def test_paths_say_what_can_be_done_with_which_parameters(server: wire.Server) -> None:
    """kubectl reads there whether a kind can be dry-run and validated by the server."""
    paths = document(server, "apis/apps/v1")["paths"]
    one = paths[f"{DEPLOYMENTS}/{{name}}"]
    assert {"get", "put", "patch", "delete", "parameters"} == set(one)
    patch = one["patch"]
    kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert patch["x-kubernetes-group-version-kind"] == kind
    assert (patch["x-kubernetes-action"], patch["operationId"]) == (
        "patch",
        "patchAppsV1NamespacedDeployment",
    )
    names = [parameter["name"] for parameter in patch["parameters"]]
    assert names == ["dryRun", "fieldManager", "fieldValidation", "force"]
    assert {parameter["in"] for parameter in patch["parameters"]} == {"query"}
    strategic = "application/strategic-merge-patch+json"
    assert strategic in patch["requestBody"]["content"]
    assert {"get", "post", "delete", "parameters"} == set(paths[DEPLOYMENTS])
    assert paths[DEPLOYMENTS]["get"]["x-kubernetes-action"] == "list"
    assert paths[DEPLOYMENTS]["delete"]["x-kubernetes-action"] == "deletecollection"
    assert set(paths["/apis/apps/v1/deployments"]) == {"get", "parameters"}
    scale = paths[f"{DEPLOYMENTS}/{{name}}/scale"]["put"]["x-kubernetes-group-version-kind"]
    assert scale == {"group": "autoscaling", "version": "v1", "kind": "Scale"}


def test_custom_resources_are_described_by_their_crd(server: wire.Server, gizmos: str) -> None:
    """The CRD's schema with what every object has; the name is the group backwards."""
    found = schemas(server, f"apis/{GROUP}/v1")
    name = ".".join([*reversed(GROUP.split(".")), "v1", "Gizmo"])
    gizmo = found[name]
    assert gizmo["description"] == "A gizmo."
    spoken = {"group": GROUP, "kind": "Gizmo", "version": "v1"}
    assert gizmo["x-kubernetes-group-version-kind"] == [spoken]
    fields = gizmo["properties"]
    assert set(fields) == {"apiVersion", "kind", "metadata", "spec"}
    assert fields["kind"]["description"].startswith("Kind is a string value")
    assert fields["metadata"]["allOf"] == [{"$ref": f"{SCHEMAS}{META}ObjectMeta"}]
    spec = fields["spec"]
    assert (spec["description"], spec["required"]) == ("What is wanted.", ["size"])
    assert spec["properties"]["size"] == SPEC["properties"]["size"]
    assert spec["properties"]["colour"] == SPEC["properties"]["colour"]
    assert spec["properties"]["items"] == SPEC["properties"]["items"]
    port = spec["properties"]["port"]
    assert port["x-kubernetes-int-or-string"] is True
    listed = found[f"{name}List"]
    assert listed["properties"]["items"]["items"] == {"$ref": SCHEMAS + name}
    paths = document(server, f"apis/{GROUP}/v1")["paths"]
    patch = paths[f"/apis/{GROUP}/v1/namespaces/{{namespace}}/gizmos/{{name}}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == spoken
    strategic = "application/strategic-merge-patch+json"
    assert strategic not in patch["requestBody"]["content"]


def test_a_changed_crd_is_published_anew(server: wire.Server, gizmos: str) -> None:
    """The hash in the index changes, and with it the document."""
    before = server.get("/openapi/v3").body["paths"]
    name = f"apis/{GROUP}/v1"
    fields = {"spec": SPEC, "status": {"type": "object", "description": "What is."}}
    changed = crd({"type": "object", "description": "Another.", "properties": fields})
    assert server.patch(gizmos, {"spec": changed["spec"]}).code == 200
    after = server.until("/openapi/v3", lambda found: found["paths"].get(name) != before[name])
    assert after["paths"]["apis/apps/v1"] == before["apis/apps/v1"]
    kind = ".".join([*reversed(GROUP.split(".")), "v1", "Gizmo"])
    assert schemas(server, name)[kind]["properties"]["status"]["description"] == "What is."


def test_version_2_has_everything_in_one_document(server: wire.Server, gizmos: str) -> None:
    """Swagger 2.0, for clients that are older than version 3."""
    name = ".".join([*reversed(GROUP.split(".")), "v1", "Gizmo"])
    found = server.until("/openapi/v2", lambda body: name in body["definitions"])
    assert (found["swagger"], found["info"]["title"]) == ("2.0", "Kubernetes")
    definitions = found["definitions"]
    deployment = definitions["io.k8s.api.apps.v1.Deployment"]
    assert (
        deployment["properties"]["spec"]["$ref"]
        == "#/definitions/io.k8s.api.apps.v1.DeploymentSpec"
    )
    assert definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["type"] == "string"
    assert {ref.removeprefix("#/definitions/") for ref in references(definitions)} <= set(
        definitions
    )
    patch = found["paths"][f"{DEPLOYMENTS}/{{name}}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Deployment"
