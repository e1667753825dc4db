"""What a CRD says, and what is wrong with one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.customs import definitions

Obj = dict[str, Any]
NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z"
SCHEMA: Obj = {"type": "object", "properties": {"spec": {"type": "object"}}}


def version(name: str, **more: Any) -> Obj:
    """A version that is served and not stored."""
    schema = {"openAPIV3Schema": copy.deepcopy(SCHEMA)}
    return {"name": name, "served": True, "storage": False, "schema": schema, **more}


def crd(*versions: Obj, **names: Any) -> Obj:
    """A CRD as it is after its creation."""
    given = versions or (version("v1", storage=True),)
    plural = names.get("plural", "things")
    made = {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "Thing", **names},
            "versions": list(given),
        },
    }
    return definitions.prepare(definitions.default(made), None)


def served(made: Obj, *others: Obj) -> Obj:
    """A CRD with the status that the names give it."""
    return {**made, "status": definitions.accepted(made, others, NOW)}


def conditions(status: Obj) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}


def test_names_have_defaults() -> None:
    """Singular and list kind follow from the kind; there is no conversion unless one is wanted."""
    spec = crd()["spec"]
    assert spec["names"]["singular"] == "thing"
    assert spec["names"]["listKind"] == "ThingList"
    assert spec["conversion"] == {"strategy": "None"}
    assert crd(singular="one")["spec"]["names"]["singular"] == "one"
    assert definitions.default({"spec": {}})["spec"]["names"] == {}


def test_first_status() -> None:
    """A new CRD has nothing accepted, and one version that was stored."""
    assert crd()["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }


def test_stored_versions_are_remembered() -> None:
    """Another storage version is added to those that were, and the status is else kept."""
    old = served(crd())
    new = crd(version("v1"), version("v2", storage=True))
    assert definitions.prepare(new, old)["status"] == {
        **old["status"],
        "storedVersions": ["v1", "v2"],
    }
    assert old["status"]["storedVersions"] == ["v1"]


def test_names_are_accepted() -> None:
    """Names that nobody has are accepted, and with them the kind is served."""
    status = definitions.accepted(crd(shortNames=["th"], categories=["all"]), [], NOW)
    assert conditions(status) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert status["acceptedNames"] == {
        "plural": "things",
        "singular": "thing",
        "shortNames": ["th"],
        "kind": "Thing",
        "listKind": "ThingList",
        "categories": ["all"],
    }
    assert status["storedVersions"] == ["v1"]


def test_conflicts() -> None:
    """Of names in use the last one is told, and all others are accepted."""
    first = served(crd())
    other = crd(plural="gadgets", singular="things", kind="Thing", listKind="Gadgets")
    status = definitions.accepted(other, [first], NOW)
    assert conditions(status) == {
        "NamesAccepted": ("False", "KindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert status["conditions"][0]["message"] == '"Thing" is already in use'
    assert status["acceptedNames"] == {"plural": "gadgets", "kind": "", "listKind": "Gadgets"}
    elsewhere = copy.deepcopy(other)
    elsewhere["spec"]["group"] = "other.example.com"
    assert conditions(definitions.accepted(elsewhere, [first], NOW))["Established"][0] == "True"


def test_served_names_stay() -> None:
    """What is served stays so when a change asks for a name that is taken."""
    first = served(crd(shortNames=["th"]))
    other = served(crd(plural="gadgets", kind="Gadget"), first)
    other["spec"]["names"]["shortNames"] = ["th"]
    status = definitions.accepted(other, [first], LATER)
    assert conditions(status) == {
        "NamesAccepted": ("False", "ShortNamesConflict"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert [c["lastTransitionTime"] for c in status["conditions"]] == [LATER, NOW]


def test_accepting_again_changes_nothing() -> None:
    """A second look comes to the same status, with the same times."""
    first = served(crd())
    assert definitions.accepted(first, [], LATER) == first["status"]


def test_terminating() -> None:
    """A CRD that is being deleted says so, once."""
    made = served(crd())
    made["status"] = definitions.terminating(made, definitions.PENDING, NOW)
    assert conditions(made["status"])["Terminating"] == ("True", "InstanceDeletionPending")
    again = definitions.terminating(made, definitions.IN_PROGRESS, LATER)
    assert conditions(again)["Terminating"] == ("True", "InstanceDeletionInProgress")
    assert again["conditions"][-1]["lastTransitionTime"] == NOW


def test_resources() -> None:
    """Every version that is served is a resource, the most mature one first."""
    names = ("v1alpha1", "v2", "foo", "v1beta1", "v10", "v1beta2", "bar")
    versions = [version(name) for name in names] + [version("v1", served=False, storage=True)]
    found = definitions.resources(crd(*versions, shortNames=["th"]))
    assert [resource.version for resource in found] == [
        "v10",
        "v2",
        "v1beta2",
        "v1beta1",
        "v1alpha1",
        "bar",
        "foo",
    ]
    first = found[0]
    assert first.custom
    assert (first.kind, first.list_kind, first.singular) == ("Thing", "ThingList", "thing")
    assert first.key == ("example.com", "things")
    assert first.verbs[0] == "delete"


def test_resources_say_what_versions_say() -> None:
    """Subresources, selectable fields and deprecation are those of the version."""
    subresources: Obj = {"scale": {}, "status": {}}
    fields = [{"jsonPath": ".spec.size"}]
    found = definitions.resources(
        crd(
            version("v2", storage=True, subresources=subresources, selectableFields=fields),
            version("v1", deprecated=True),
            version("v0", deprecated=True, deprecationWarning="too old"),
            version("v3", deprecated=True),
        )
    )
    by_name = {resource.version: resource for resource in found}
    assert by_name["v2"].subresources == ("status", "scale")
    assert by_name["v2"].selectable == ("spec.size",)
    assert by_name["v2"].deprecation == ""
    told = "example.com/v1 Thing is deprecated; use example.com/v2 Thing"
    assert by_name["v1"].deprecation == told
    assert by_name["v0"].deprecation == "too old"
    assert by_name["v3"].deprecation == "example.com/v3 Thing is deprecated"


def test_schema_and_columns() -> None:
    """The schema knows what every object has; columns are those of the version."""
    column = {"name": "A", "type": "string", "jsonPath": ".a"}
    made = crd(version("v1", storage=True, additionalPrinterColumns=[column]), version("v2"))
    assert set(definitions.schema_of(made, "v1")["properties"]) == {
        "apiVersion",
        "kind",
        "metadata",
        "spec",
    }
    assert definitions.columns(made, "v1") == [column]
    assert definitions.columns(made, "v2") == []


def told(change: Callable[[Obj], Any], old: Obj | None = None) -> list[str]:
    """What is said against a CRD with a change."""
    made = copy.deepcopy(old or crd())
    change(made)
    return [str(cause) for cause in definitions.validate(made, old)]


def test_a_good_one() -> None:
    """Nothing is said against what is in order."""
    assert told(lambda made: None) == []
    assert told(lambda made: None, served(crd())) == []


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (
            lambda made: made["metadata"].update(name="foo"),
            'metadata.name: Invalid value: "foo": must be spec.names.plural+"."+spec.group',
        ),
        (
            lambda made: made["spec"].update(scope="Galaxy"),
            'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"',
        ),
        (
            lambda made: made["spec"]["versions"][0].pop("schema"),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            lambda made: made["spec"]["versions"][0].update(deprecationWarning="x"),
            'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for '
            "deprecated versions",
        ),
        (
            lambda made: made["spec"]["names"].update(listKind="Thing"),
            'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same',
        ),
        (
            lambda made: made["spec"].update(conversion={"strategy": "Magic"}),
            'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", '
            '"Webhook"',
        ),
        (
            lambda made: made["status"].update(storedVersions=["v0", "v1"]),
            'status.storedVersions[0]: Invalid value: "v0": missing from spec.versions; v0 was '
            "previously a storage version, and must remain in spec.versions until a storage "
            "migration ensures no data remains persisted in v0 and removes v0 from "
            "status.storedVersions",
        ),
    ],
)
def test_bad_ones(change: Callable[[Obj], Any], wrong: str) -> None:
    """Each thing that is wrong is told in the server's words."""
    assert told(change) == [wrong]


def test_storage_version() -> None:
    """There is exactly one, and the names of versions differ."""
    lines = told(lambda made: made["spec"]["versions"].append(version("v1", storage=True)))
    assert [line.rsplit(": ", 1)[1] for line in lines] == [
        "must contain unique version names",
        "must have exactly one version marked as storage version",
    ]
    assert '"Schema":null' in lines[0]
    lines = told(lambda made: made["spec"].update(versions=None))
    assert lines[0].startswith("spec.versions: Invalid value: null: must have exactly one")


def test_what_never_changes() -> None:
    """Group and plural never change, scope and kind not once they are served."""

    def change(made: Obj) -> None:
        made["spec"].update(scope="Cluster")
        made["spec"]["names"].update(kind="Other", listKind="Others", plural="others")

    def immutable(old: Obj) -> list[str]:
        lines = told(change, old)
        return [line.split(":")[0] for line in lines if "field is immutable" in line]

    assert immutable(crd()) == ["spec.names.plural"]
    assert immutable(served(crd())) == ["spec.scope", "spec.names.kind", "spec.names.plural"]


def test_webhooks_are_not_called() -> None:
    """Versions that a webhook would convert are refused as something that is not served."""
    webhook = {"clientConfig": {"url": "https://a.b"}, "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    assert told(lambda made: made["spec"].update(conversion=conversion)) == []
    both = crd(version("v1", storage=True), version("v2"))
    both["spec"]["conversion"] = conversion
    with pytest.raises(failure.ApiFailure) as refused:
        definitions.validate(both)
    assert refused.value.code == 501


def schema_told(properties: Obj) -> list[str]:
    """What is said against a schema with these properties, with short paths."""
    schema = {"type": "object", "properties": properties}
    made = crd(version("v1", storage=True, schema={"openAPIV3Schema": schema}))
    at = "spec.validation.openAPIV3Schema.properties"
    return [str(cause).removeprefix(at) for cause in definitions.validate(made)]


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({}, "[a].type: Required value: must not be empty for specified object fields"),
        ({"type": "array"}, "[a].items: Required value: must be specified"),
        (
            {"type": "string", "not": {"title": "x"}},
            "[a].not.title: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "string", "anyOf": [{"oneOf": [{"default": None}]}]},
            "[a].anyOf[0].oneOf[0].default: Forbidden: must be undefined to be structural",
        ),
        ({"type": "string", "id": "x"}, "[a].id: Forbidden: id is not supported"),
        (
            {"type": "array", "items": [{"type": "string"}]},
            "[a].items: Forbidden: items must be a schema object and not an array",
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "bag"},
            '[a].x-kubernetes-map-type: Unsupported value: "bag": supported values: "atomic", '
            '"granular"',
        ),
        (
            {"type": "string", "default": 1},
            '[a].default: Invalid value: "integer":  in body must be of type string: "integer"',
        ),
        (
            {"type": "integer", "maximum": 3, "default": 4},
            "[a].default: Invalid value: 4:  in body should be less than or equal to 3",
        ),
    ],
)
def test_structural_schemas(schema: Obj, wrong: str) -> None:
    """Schemas that are not structural are refused."""
    assert schema_told({"a": schema}) == [wrong]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "default": "x", "pattern": "^x"},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    ],
)
def test_schemas_that_are_fine(schema: Obj) -> None:
    """Nothing is said against structural schemas."""
    assert schema_told({"a": schema}) == []


def test_warnings() -> None:
    """Formats that are not known, and sets of what is no scalar, are warned of."""
    items = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"}
    properties = {
        "a": {"type": "string", "format": "zzz"},
        "b": {"type": "array", "items": items, "x-kubernetes-list-type": "set"},
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    assert definitions.warnings(crd(version("v1", storage=True, schema=schema))) == [
        'unrecognized format "zzz"',
        'x-kubernetes-list-type: set for items of type "array" is not supported by server-side '
        "apply or CEL validation rules",
    ]
