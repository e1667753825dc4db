"""Tests of ansible_operator.sandbox.schema."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ansible_operator.sandbox.schemas import schema

TEXT = {"type": "string"}


def deployment(*path: str) -> schema.Schema:
    """The schema of a field of a deployment; ``[]`` stands for the entries of a list."""
    found = schema.builtin("apps", "v1", "Deployment")
    for name in path:
        field = schema.of_items(found) if name == "[]" else schema.of_field(found, name)
        assert field is not None
        found = field
    return found


def test_fields_are_followed_through_references() -> None:
    """A field's schema is a resolved one, whatever it refers to."""
    ports = deployment("spec", "template", "spec", "containers", "[]", "ports")
    assert (ports["type"], schema.of_items(ports)["type"]) == ("array", "object")
    assert deployment("spec", "replicas") == {"type": "integer", "format": "int32"}


def test_unknown_fields_and_kinds() -> None:
    """A field that is not there is None, a kind that is not there a KeyError."""
    assert schema.of_field(deployment("spec"), "foo") is None
    with pytest.raises(KeyError):
        schema.builtin("apps", "v1", "Foo")


def test_lists_tell_their_type_and_keys() -> None:
    """For server-side apply and for strategic merges."""
    containers = deployment("spec", "template", "spec", "containers")
    assert (schema.list_type(containers), schema.map_keys(containers)) == ("map", ("name",))
    assert (schema.merge_key(containers), schema.patch_strategy(containers)) == ("name", ("merge",))
    command = deployment("spec", "template", "spec", "containers", "[]", "command")
    assert (schema.list_type(command), schema.map_keys(command)) == ("atomic", ())
    assert (schema.merge_key(command), schema.patch_strategy(command)) == ("", ())


def test_what_stands_beside_a_reference_is_kept() -> None:
    """The strategy of a deployment is a reference with a patch strategy of its own."""
    strategy = deployment("spec", "strategy")
    assert schema.patch_strategy(strategy) == ("retainKeys",)
    assert schema.of_field(strategy, "rollingUpdate") is not None


def test_map_entries_and_atomic_maps() -> None:
    """Any key of a map has the schema of its entries."""
    labels = deployment("metadata", "labels")
    assert schema.of_field(labels, "anything") == TEXT
    assert schema.atomic_map(deployment("spec", "selector"))
    assert not schema.atomic_map(labels)


def test_types_that_read_themselves() -> None:
    """Quantities are texts, ports are numbers or texts, extensions are anything."""
    container = deployment("spec", "template", "spec", "containers", "[]")
    resources = schema.of_field(container, "resources")
    assert resources is not None
    limits = schema.of_field(resources, "limits")
    assert limits is not None
    cpu = schema.of_field(limits, "cpu")
    assert cpu is not None
    assert (cpu["type"], cpu["format"]) == ("string", "quantity")
    surge = deployment("spec", "strategy", "rollingUpdate", "maxSurge")
    assert schema.int_or_string(surge)
    revision = schema.builtin("apps", "v1", "ControllerRevision")
    data = schema.of_field(revision, "data")
    assert data is not None
    assert schema.preserves_unknown(data)


def test_custom_objects_have_metadata() -> None:
    """Whatever the CRD says of it, and so have embedded ones."""
    whole = {"type": "object", "x-kubernetes-embedded-resource": True}
    given = {"type": "object", "properties": {"spec": {"properties": {"inner": whole}}}}
    custom = schema.custom(given)
    spec = schema.of_field(custom, "spec")
    assert spec is not None
    inner = schema.of_field(spec, "inner")
    assert inner is not None
    for found in (custom, inner):
        assert schema.of_field(found, "apiVersion") == TEXT
        meta = schema.of_field(found, "metadata")
        assert meta is not None
        assert schema.of_field(meta, "labels") is not None
    assert schema.has_embedded(custom)
    assert not schema.has_embedded(schema.custom({"type": "object"}))
    assert "metadata" not in given["properties"]


def test_free_values_have_a_free_schema() -> None:
    """``additionalProperties: true`` describes what comes as anything."""
    assert schema.of_field({"additionalProperties": True}, "x") == schema.ANY
    assert schema.of_field({"additionalProperties": False}, "x") is None
    assert schema.of_items({"type": "array"}) == schema.ANY


def test_the_definitions_are_read_when_they_are_needed() -> None:
    """Importing the module reads nothing, and the package's validator is never imported."""
    code = (
        "import sys\n"
        "from ansible_operator.sandbox.schemas import schema\n"
        "assert schema.definitions.cache_info().currsize == 0\n"
        "schema.builtin('', 'v1', 'Pod')\n"
        "assert 'kubernetes_validate' not in sys.modules and 'jsonschema' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
