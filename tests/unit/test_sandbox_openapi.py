"""OpenAPI documents, from the definitions of built-in kinds and the schemas of CRDs."""

from __future__ import annotations

import json
from typing import Any

from ansible_operator.sandbox import kinds
from ansible_operator.sandbox.views import openapi

THING = kinds.Resource(
    "example.com",
    "v1",
    "Thing",
    "things",
    "thing",
    subresources=("status", "scale"),
    custom=True,
    list_kind="ThingList",
    key=("example.com", "things"),
)
NAME = "com.example.v1.Thing"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A thing.",
    "properties": {"spec": {"x-kubernetes-int-or-string": True}},
}


def documents(schema: dict[str, Any] | None = None) -> openapi.Documents:
    """Documents of the built-in kinds and a custom one."""
    served = kinds.Kinds()
    served.replace_custom(THING.key, [THING])
    return openapi.Documents(served, lambda _: schema or SCHEMA)


def content(found: openapi.Document | None) -> dict[str, Any]:
    """What is in a document."""
    assert found is not None
    return dict(json.loads(found.body))


def test_the_index_has_the_hash_of_every_document() -> None:
    """URL and document agree."""
    made = documents()
    paths = made.root()["paths"]
    for group, version in (("apps", "v1"), ("example.com", "v1")):
        found = made.document(group, version)
        assert found is not None
        assert paths[f"apis/{group}/{version}"]["serverRelativeURL"].endswith(f"?hash={found.hash}")
    assert "api/v1" in paths
    assert made.document("apps", "v9") is None


def test_documents_of_custom_kinds_are_made_anew_when_a_crd_changes() -> None:
    """And only then."""
    schema = dict(SCHEMA)
    made = documents(schema)
    before = made.hash("example.com", "v1")
    schema["description"] = "Another."
    assert made.hash("example.com", "v1") == before
    made.served.replace_custom(THING.key, [THING])
    assert made.hash("example.com", "v1") != before


def test_references_become_part_of_the_field() -> None:
    """With their description, in an allOf, as OpenAPI 3.0 wants it."""
    schemas = content(documents().document("apps", "v1"))["components"]["schemas"]
    meta = schemas["io.k8s.api.apps.v1.Deployment"]["properties"]["metadata"]
    name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert meta["allOf"] == [{"$ref": f"#/components/schemas/{name}"}]
    assert name in schemas


def test_schemas_may_have_fields_with_names_of_keywords() -> None:
    """JSONSchemaProps has fields $ref, enum and items."""
    schemas = content(documents().document("apiextensions.k8s.io", "v1"))["components"]["schemas"]
    props = next(found for name, found in schemas.items() if name.endswith("JSONSchemaProps"))
    assert props["properties"]["$ref"] == {"type": "string"}
    assert props["properties"]["enum"]["type"] == "array"


def test_custom_kinds_get_what_every_object_has() -> None:
    """apiVersion, kind, metadata; a number that may be a text has both types."""
    schemas = content(documents().document("example.com", "v1"))["components"]["schemas"]
    assert set(schemas[NAME]["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    either = [{"type": "integer"}, {"type": "string"}]
    assert schemas[NAME]["properties"]["spec"]["anyOf"] == either
    items = schemas[f"{NAME}List"]["properties"]["items"]["items"]
    assert items == {"$ref": f"#/components/schemas/{NAME}"}


def test_paths_have_operations_with_names() -> None:
    """As generated clients call them."""
    paths = content(documents().document("example.com", "v1"))["paths"]
    item = paths["/apis/example.com/v1/namespaces/{namespace}/things/{name}"]
    assert item["put"]["operationId"] == "replaceExampleComV1NamespacedThing"
    everywhere = paths["/apis/example.com/v1/things"]
    assert everywhere["get"]["operationId"] == "listExampleComV1ThingForAllNamespaces"
    scale = paths["/apis/example.com/v1/namespaces/{namespace}/things/{name}/scale"]["patch"]
    assert scale["x-kubernetes-group-version-kind"]["kind"] == "Scale"
    assert {p["name"] for p in scale["parameters"]} >= {"dryRun", "fieldValidation", "force"}


def test_connections_are_in_no_path() -> None:
    """exec, attach and the like are not served."""
    paths = content(documents().document("", "v1"))["paths"]
    assert not [path for path in paths if path.endswith(("/exec", "/proxy"))]


def test_version_2_has_its_own_references() -> None:
    """Definitions next to their description, bodies among the parameters."""
    found = documents().v2()
    spec = found["definitions"]["io.k8s.api.apps.v1.Deployment"]["properties"]["spec"]
    assert spec["$ref"] == "#/definitions/io.k8s.api.apps.v1.DeploymentSpec"
    assert found["definitions"][NAME]["description"] == "A thing."
    patch = found["paths"]["/apis/example.com/v1/namespaces/{namespace}/things/{name}"]["patch"]
    assert patch["parameters"][0]["in"] == "body"
