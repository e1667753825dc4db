"""CustomResourceDefinitions: from their creation to the end of their objects."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import customs
import pytest
import wire
from customs import CRDS, INTEGER, STRING, fields, path, thing, things

SCHEMA = fields(
    spec=fields(replicas=INTEGER, selector=STRING),
    status=fields(replicas=INTEGER, selector=STRING, phase=STRING),
)
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
DNS = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"


def conditions(crd: wire.Obj) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message of each condition."""
    listed = crd.get("status", {}).get("conditions") or []
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in listed}


@pytest.fixture
def group(unique: str) -> str:
    """An API group of the test's own."""
    return f"{unique}.crds.example.com"


@pytest.fixture
def crd(group: str) -> wire.Obj:
    """A CRD that is in order, not created."""
    return wire.crd(group, SCHEMA)


@pytest.fixture(scope="module")
def scaled(server: wire.Server) -> Iterator[wire.Obj]:
    """A CRD with the subresources status and scale, served."""
    group = f"s{uuid.uuid4().hex[:10]}.crds.example.com"
    made = wire.crd(group, SCHEMA, subresources={"status": {}, "scale": SCALE})
    with customs.serving(server, made) as found:
        yield found


# -- creation ----------------------------------------------------------------------------------


def test_names_are_completed_and_accepted(server: wire.Server, crd: wire.Obj) -> None:
    """What is not said is filled in; then the names are accepted and the kind is served."""
    del crd["spec"]["names"]["singular"]
    crd["spec"]["names"]["shortNames"] = ["th"]
    created = server.post(CRDS, crd)
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    try:
        assert created.code == 201
        body = created.body
        assert body["spec"]["names"] == names | {"shortNames": ["th"]}
        assert body["spec"]["conversion"] == {"strategy": "None"}
        assert body["metadata"]["generation"] == 1
        assert body["status"] == {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": ["v1"],
        }
        found = server.until(path(crd), wire.established)
    finally:
        server.delete(path(crd))
    assert conditions(found) == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    }
    assert found["status"]["acceptedNames"] == names | {"shortNames": ["th"]}
    assert found["status"]["storedVersions"] == ["v1"]
    assert found["metadata"]["generation"] == 1
    assert "finalizers" not in found["metadata"]


def test_discovery_lists_what_is_served(server: wire.Server, crd: wire.Obj) -> None:
    """Group and resources appear in discovery, with names and subresources."""
    crd["spec"]["names"] |= {"shortNames": ["th"], "categories": ["all"]}
    crd["spec"]["versions"][0]["subresources"] = {"status": {}, "scale": SCALE}
    group = crd["spec"]["group"]
    with customs.serving(server, crd):
        found = server.until(f"/apis/{group}", lambda _: True)
        version = {"groupVersion": f"{group}/v1", "version": "v1"}
        assert found == {
            "kind": "APIGroup",
            "apiVersion": "v1",
            "name": group,
            "versions": [version],
            "preferredVersion": version,
        }
        listed = server.until(f"/apis/{group}/v1", lambda _: True)["resources"]
        assert group in [g["name"] for g in server.get("/apis").body["groups"]]
    main, status, scale = listed
    del main["storageVersionHash"]
    verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    assert main == {
        "name": "things",
        "singularName": "thing",
        "namespaced": True,
        "kind": "Thing",
        "verbs": verbs,
        "shortNames": ["th"],
        "categories": ["all"],
    }
    rest = {"singularName": "", "namespaced": True, "verbs": ["get", "patch", "update"]}
    assert status == {"name": "things/status", "kind": "Thing", **rest}
    scaling = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert scale == {"name": "things/scale", **scaling, **rest}


def test_cluster_scoped(server: wire.Server, crd: wire.Obj, unique: str) -> None:
    """Objects of cluster scope have no namespace, in their path as in their metadata."""
    crd["spec"]["scope"] = "Cluster"
    group = crd["spec"]["group"]
    with customs.serving(server, crd):
        made = server.post(f"/apis/{group}/v1/things", thing(crd, unique, spec={"replicas": 1}))
        assert made.code == 201
        assert "namespace" not in made.body["metadata"]
        assert server.get(f"/apis/{group}/v1/things/{unique}").code == 200
        assert server.get(f"/apis/{group}/v1/namespaces/default/things").code == 404


def test_names_in_use_are_refused(server: wire.Server, group: str) -> None:
    """Of two CRDs that want the same names, the later one is not served until the other is gone."""
    first = wire.crd(group, SCHEMA)
    later = copy.deepcopy(first)
    later["metadata"]["name"] = f"gadgets.{group}"
    later["spec"]["names"] = {"plural": "gadgets", "kind": "Thing", "shortNames": ["gd"]}
    short = copy.deepcopy(first)
    short["metadata"]["name"] = f"gizmos.{group}"
    short["spec"]["names"] = {"plural": "gizmos", "kind": "Gizmo", "shortNames": ["things"]}
    with customs.serving(server, first):
        try:
            assert server.post(CRDS, later).code == 201
            found = server.until(path(later), lambda o: "Established" in conditions(o))
            assert conditions(found) == {
                "NamesAccepted": ("False", "ListKindConflict", '"ThingList" is already in use'),
                "Established": ("False", "NotAccepted", "not all names are accepted"),
            }
            accepted = {"plural": "gadgets", "shortNames": ["gd"], "kind": ""}
            assert found["status"]["acceptedNames"] == accepted
            assert server.get(f"/apis/{group}/v1/namespaces/default/gadgets").code == 404

            assert server.post(CRDS, short).code == 201
            found = server.until(path(short), lambda o: "Established" in conditions(o))
            told = ("False", "ShortNamesConflict", '"things" is already in use')
            assert conditions(found)["NamesAccepted"] == told
            server.delete(path(first))
            server.until(path(short), wire.established)
            server.until(path(later), wire.established)
        finally:
            server.delete(path(later))
            server.delete(path(short))
    server.until_gone(path(later))


# -- CRDs that are refused -----------------------------------------------------------------------


def told(server: wire.Server, crd: wire.Obj, change: Callable[[wire.Obj], Any]) -> list[str]:
    """What the server has against a CRD with a change in its spec: field and message."""
    found = customs.refused(server, customs.changed(crd, change))
    return [f"{field}: {message}" for _, field, message in found]


def test_name_must_be_plural_and_group(server: wire.Server, crd: wire.Obj) -> None:
    """The name of a CRD follows from what it defines."""
    crd["metadata"]["name"] = "foo.bar"
    assert customs.refused(server, crd) == [
        (
            "FieldValueInvalid",
            "metadata.name",
            'Invalid value: "foo.bar": must be spec.names.plural+"."+spec.group',
        )
    ]
    del crd["metadata"]["name"]
    told = "Required value: name or generateName is required"
    assert customs.refused(server, crd) == [("FieldValueRequired", "metadata.name", told)]
    crd["metadata"]["name"] = "foo.bar"
    answer = server.post(CRDS, crd)
    assert answer.body["message"] == (
        'CustomResourceDefinition.apiextensions.k8s.io "foo.bar" is invalid: metadata.name: '
        'Invalid value: "foo.bar": must be spec.names.plural+"."+spec.group'
    )
    assert answer.body["details"]["kind"] == "CustomResourceDefinition"
    assert answer.body["details"]["group"] == "apiextensions.k8s.io"


def test_groups(server: wire.Server, crd: wire.Obj) -> None:
    """A group is a domain with a dot, and not one that is Kubernetes' own."""

    def with_group(name: str) -> list[str]:
        other = customs.changed(crd, lambda spec: spec.update(group=name))
        other["metadata"]["name"] = f"things.{name}"
        return [f"{field}: {message}" for _, field, message in customs.refused(server, other)]

    dot = "should be a domain with at least one dot"
    assert with_group("foo") == [f'spec.group: Invalid value: "foo": {dot}']
    (wrong,) = (line for line in with_group("Foo") if line.startswith("spec.group"))
    assert wrong.startswith('spec.group: Invalid value: "Foo": a lowercase RFC 1123 subdomain must')
    assert with_group("things.k8s.io") == [
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must "
        'have approval annotation "api-approved.kubernetes.io", see '
        "https://github.com/kubernetes/enhancements/pull/1111"
    ]
    assert "spec.group: Required value" in told(server, crd, lambda spec: spec.pop("group"))


def test_scope(server: wire.Server, crd: wire.Obj) -> None:
    """The scope is one of two words."""
    assert told(server, crd, lambda spec: spec.update(scope="Galaxy")) == [
        'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'
    ]
    assert told(server, crd, lambda spec: spec.pop("scope")) == ["spec.scope: Required value"]


def test_names(server: wire.Server, crd: wire.Obj) -> None:
    """Names are DNS labels, kinds too but for their case."""

    def with_names(**names: Any) -> list[str]:
        return told(server, crd, lambda spec: spec["names"].update(names))

    (line,) = with_names(singular="Thing_")
    assert line.startswith(f'spec.names.singular: Invalid value: "Thing_": {DNS}')
    kind, lists = with_names(kind="Th_ing")
    case = f"may have mixed case, but should otherwise match: {DNS}"
    assert kind.startswith(f'spec.names.kind: Invalid value: "Th_ing": {case}')
    assert lists.startswith(f'spec.names.listKind: Invalid value: "Th_ingList": {case}')
    (line,) = with_names(shortNames=["ok", "A_"])
    assert line.startswith(f'spec.names.shortNames[1]: Invalid value: "A_": {DNS}')
    (line,) = with_names(categories=["A_"])
    assert line.startswith(f'spec.names.categories[0]: Invalid value: "A_": {DNS}')
    assert with_names(listKind="Thing") == [
        'spec.names.listKind: Invalid value: "Thing": kind and listKind may not be the same'
    ]
    assert told(server, crd, lambda spec: spec["names"].pop("kind")) == [
        "spec.names.kind: Required value",
        "spec.names.listKind: Required value",
    ]


def test_one_version_is_stored(server: wire.Server, crd: wire.Obj) -> None:
    """Of the versions exactly one is the one to store, and their names differ."""

    def more(spec: wire.Obj, **version: Any) -> None:
        spec["versions"].append(copy.deepcopy(spec["versions"][0]) | version)

    shown = (
        '"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,'
        '"AdditionalPrinterColumns":null,"SelectableFields":null}'
    )
    stored = "must have exactly one version marked as storage version"
    assert told(server, crd, lambda spec: spec["versions"][0].update(storage=False)) == [
        f'spec.versions: Invalid value: [{{"Name":"v1","Served":true,"Storage":false,{shown}]: '
        + stored,
        "status.storedVersions: Invalid value: null: must have at least one stored version",
    ]
    both = ",".join(f'{{"Name":"{v}","Served":true,"Storage":true,{shown}' for v in ("v1", "v2"))
    assert told(server, crd, lambda spec: more(spec, name="v2")) == [
        f"spec.versions: Invalid value: [{both}]: {stored}",
        'status.storedVersions: Invalid value: ["v1"]: must have the storage version v2',
    ]
    (line,) = told(server, crd, lambda spec: more(spec, storage=False))
    assert line.endswith(": must contain unique version names")
    lines = told(server, crd, lambda spec: spec.update(versions=[]))
    assert lines[0] == f"spec.versions: Invalid value: []: {stored}"
    lines = told(server, crd, lambda spec: spec["versions"][0].update(name="V_1"))
    assert lines[0].startswith(f'spec.versions[0].name: Invalid value: "V_1": {DNS}')


def test_schema_is_required(server: wire.Server, crd: wire.Obj) -> None:
    """Every version has a schema."""
    wanted = "schema.openAPIV3Schema: Required value"
    assert told(server, crd, lambda spec: spec["versions"][0].pop("schema")) == [
        f"spec.versions[0].{wanted}"
    ]

    def second(spec: wire.Obj) -> None:
        other = copy.deepcopy(spec["versions"][0]) | {"name": "v2", "storage": False}
        spec["versions"].append(other)
        del other["schema"]

    assert told(server, crd, second) == [f"spec.versions[1].{wanted}"]


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({"properties": {}}, ["type: Required value: must not be empty at the root"]),
        (STRING, ['type: Invalid value: "string": must be object at the root']),
        (
            fields(spec={}, status={}),
            [
                "properties[spec].type: Required value: must not be empty for specified object "
                "fields",
                "properties[status].type: Required value: must not be empty for specified object "
                "fields",
            ],
        ),
        (
            fields(a={"type": "array", "items": {}}),
            [
                "properties[a].items.type: Required value: must not be empty for specified array "
                "items"
            ],
        ),
        (
            fields(a={"type": "array"}),
            ["properties[a].items: Required value: must be specified"],
        ),
        (
            fields(a={"type": "text"}),
            [
                'properties[a].type: Unsupported value: "text": supported values: "array", '
                '"boolean", "integer", "number", "object", "string"'
            ],
        ),
        (
            fields(a=fields(b=STRING) | {"additionalProperties": STRING}),
            [
                "properties[a].additionalProperties: Forbidden: additionalProperties and "
                "properties are mutual exclusive"
            ],
        ),
        (
            {"type": "object", "additionalProperties": STRING},
            ["additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            fields(a=STRING | {"anyOf": [{"type": "string", "default": "x"}, {"nullable": True}]}),
            [
                "properties[a].anyOf[0].default: Forbidden: must be undefined to be structural",
                "properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
                "properties[a].anyOf[1].nullable: Forbidden: must be false to be structural",
            ],
        ),
        (
            fields(a={"$ref": "#/definitions/a"}),
            ["properties[a].$ref: Forbidden: $ref is not supported"],
        ),
        (
            fields(a={"type": "array", "items": STRING, "uniqueItems": True}),
            [
                "properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since "
                "the runtime complexity becomes quadratic"
            ],
        ),
        (
            fields(metadata=fields(labels={"type": "object"})),
            [
                "properties[metadata]: Forbidden: must not specify anything other than name and "
                "generateName, but metadata is implicitly specified"
            ],
        ),
        (
            fields(a={"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
            [
                "properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must "
                "be true or undefined"
            ],
        ),
        (
            fields(a={"type": "object", "x-kubernetes-embedded-resource": True}),
            [
                "properties[a].properties: Required value: must not be empty if "
                "x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            ],
        ),
        (
            fields(a={"type": "array", "items": fields(k=STRING), "x-kubernetes-list-type": "map"}),
            [
                "properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if "
                "x-kubernetes-list-type is map"
            ],
        ),
        (
            fields(
                a={
                    "type": "array",
                    "items": fields(k=STRING),
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["z", "k"],
                }
            ),
            [
                'properties[a].x-kubernetes-list-map-keys: Invalid value: ["z","k"]: entries must '
                "all be names of item properties",
                "properties[a].items.properties[k].default: Required value: this property is in "
                "x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
        (
            fields(a={"type": "array", "items": STRING, "x-kubernetes-list-type": "bag"}),
            [
                'properties[a].x-kubernetes-list-type: Unsupported value: "bag": supported values: '
                '"atomic", "set", "map"'
            ],
        ),
        (
            fields(a={"type": "array", "items": fields(k=STRING), "x-kubernetes-list-type": "set"}),
            [
                "properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as "
                "item of a list with x-kubernetes-list-type=set"
            ],
        ),
        (
            fields(a=STRING | {"$ref": ""}, b={"type": "array", "items": STRING | {"$ref": ""}}),
            [
                "properties[a].$ref: Forbidden: $ref is not supported",
                "properties[b].items.$ref: Forbidden: $ref is not supported",
            ],
        ),
        (
            fields(a=STRING | {"not": {"$ref": ""}, "additionalItems": False}),
            [
                "properties[a].additionalItems: Forbidden: additionalItems is not supported",
                "properties[a].not.$ref: Forbidden: $ref is not supported",
            ],
        ),
        (
            fields(a=STRING | {"x-kubernetes-map-type": "atomic"}),
            [
                'properties[a].type: Invalid value: "string": must be object if '
                "x-kubernetes-map-type is specified"
            ],
        ),
        (
            fields(a=STRING | {"default": 1}),
            [
                'properties[a].default: Invalid value: "integer":  in body must be of type string: '
                '"integer"'
            ],
        ),
        (
            fields(a=fields(b=STRING) | {"default": {"c": 1}}),
            ['properties[a].default: Invalid value: {"c":1}: must not have unknown fields'],
        ),
        (
            fields(a=STRING | {"pattern": "["}),
            [
                'properties[a].pattern: Invalid value: "[": must be a valid regular expression, '
                "but isn't: error parsing regexp: missing closing ]: `[`"
            ],
        ),
        (
            fields(a=STRING | {"pattern": "(?=a)"}),
            [
                'properties[a].pattern: Invalid value: "(?=a)": must be a valid regular '
                "expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: "
                "`(?=`"
            ],
        ),
    ],
)
def test_schemas_are_structural(
    server: wire.Server, group: str, schema: wire.Obj, wrong: list[str]
) -> None:
    """Schemas say of each field of what type it is, and nothing that is not served."""
    found = customs.refused(server, wire.crd(group, schema))
    at = "spec.validation.openAPIV3Schema."
    assert [f"{field}: {message}" for _, field, message in found] == [at + line for line in wrong]


@pytest.mark.parametrize(
    "schema",
    [
        fields(a={"x-kubernetes-int-or-string": True}),
        fields(
            a={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, STRING]},
        ),
        fields(a={"type": "object", "additionalProperties": True}),
        fields(a={"x-kubernetes-preserve-unknown-fields": True}),
        fields(a=fields(b=STRING) | {"oneOf": [{"required": ["b"]}], "not": {"required": ["c"]}}),
        fields(metadata=fields(name=STRING | {"maxLength": 10})),
        fields(a=STRING | {"nullable": True, "default": "x", "enum": ["x", "y"]}),
        fields(apiVersion=STRING, kind=STRING, metadata={"type": "object"}),
    ],
)
def test_schemas_that_are_fine(server: wire.Server, group: str, schema: wire.Obj) -> None:
    """Free values, numbers or texts, maps, and narrowed ones may be described."""
    assert customs.refused(server, wire.crd(group, schema)) == []


def test_versions_share_what_is_the_same(server: wire.Server, crd: wire.Obj) -> None:
    """What differs between versions is told of at the version, what does not at the spec."""

    def differ(spec: wire.Obj) -> None:
        spec["versions"].append(copy.deepcopy(spec["versions"][0]))
        spec["versions"][1] |= {"name": "v2", "storage": False}
        spec["versions"][1]["schema"] = {"openAPIV3Schema": fields(spec={})}
        column = {"name": "a", "type": "text", "jsonPath": "spec"}
        for version in spec["versions"]:
            version["additionalPrinterColumns"] = [column]

    assert told(server, crd, differ) == [
        "spec.versions[1].schema.openAPIV3Schema.properties[spec].type: Required value: must not "
        "be empty for specified object fields",
        'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of '
        "boolean,date,integer,number,string",
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json '
        "path starting with .",
    ]


def test_subresources_and_fields(server: wire.Server, crd: wire.Obj) -> None:
    """Paths of scale lead into spec and status, those of selectable fields to fields."""

    def with_version(**version: Any) -> list[str]:
        return told(server, crd, lambda spec: spec["versions"][0].update(version))

    at = "spec.subresources.scale"
    assert with_version(subresources={"scale": {}}) == [
        f"{at}.specReplicasPath: Required value",
        f"{at}.statusReplicasPath: Required value",
    ]
    bad = {
        "specReplicasPath": ".foo",
        "statusReplicasPath": "status.n",
        "labelSelectorPath": ".metadata.x",
    }
    assert with_version(subresources={"scale": bad}) == [
        f'{at}.specReplicasPath: Invalid value: ".foo": should be a json path under .spec',
        f'{at}.statusReplicasPath: Invalid value: "status.n": must be a simple json path starting '
        "with .",
        f'{at}.labelSelectorPath: Invalid value: ".metadata.x": should be a json path under '
        "either .spec or .status",
    ]
    paths = [{"jsonPath": p} for p in (".spec.none", "spec", ".spec.replicas", ".spec.replicas")]
    at = "spec.selectableFields"
    assert with_version(selectableFields=paths) == [
        f'{at}[0].jsonPath: Invalid value: ".spec.none": is an invalid path: does not refer to a '
        "valid field",
        f'{at}[1].jsonPath: Invalid value: "spec": is an invalid path: expected [ or . but got: '
        "spec",
        f'{at}[3].jsonPath: Duplicate value: ".spec.replicas"',
    ]


def test_deprecation_and_conversion(server: wire.Server, crd: wire.Obj) -> None:
    """A warning is for deprecated versions, a webhook for the strategy of that name."""
    at = "spec.versions[0].deprecationWarning"
    assert told(server, crd, lambda spec: spec["versions"][0].update(deprecationWarning="x")) == [
        f'{at}: Invalid value: "x": can only be set for deprecated versions'
    ]
    at = "spec.conversion"
    assert told(server, crd, lambda spec: spec.update(conversion={"strategy": "Magic"})) == [
        f'{at}.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'
    ]
    assert told(server, crd, lambda spec: spec.update(conversion={"strategy": "Webhook"})) == [
        f"{at}.webhookClientConfig: Required value: required when strategy is set to Webhook",
        f"{at}.conversionReviewVersions: Required value",
    ]
    assert told(server, crd, lambda spec: spec.update(preserveUnknownFields=True)) == [
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
        "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    ]


def test_warnings(server: wire.Server, crd: wire.Obj) -> None:
    """Formats that nobody checks and unknown fields are warned of."""
    schema = fields(spec=fields(a=STRING | {"format": "zzz"}))
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    crd["spec"]["foo"] = 1
    answer = server.post(CRDS, crd, dryRun="All")
    assert answer.code == 201
    assert sorted(answer.warnings) == [
        r'"unknown field \"spec.foo\"",',
        r'"unrecognized format \"zzz\""',
    ] or sorted(answer.warnings) == [
        r'"unknown field \"spec.foo\""',
        r'"unrecognized format \"zzz\"",',
    ]


# -- changes -----------------------------------------------------------------------------------


def test_what_never_changes(server: wire.Server, crd: wire.Obj) -> None:
    """Group, plural, kind and scope stay; the spec and the status do not change each other."""
    with customs.serving(server, crd):
        for field, change in (
            ("spec.scope", lambda o: o["spec"].update(scope="Cluster")),
            ("spec.names.kind", lambda o: o["spec"]["names"].update(kind="Other")),
            ("spec.names.plural", lambda o: o["spec"]["names"].update(plural="others")),
        ):
            found = customs.causes(customs.update(server, crd, change))
            assert [cause[1] for cause in found if "field is immutable" in cause[2]] == [field]
        answer = customs.update(server, crd, lambda o: o["status"].update(storedVersions=["x"]))
        assert answer.body["status"]["storedVersions"] == ["v1"]
        names = {"shortNames": ["zz"]}
        answer = customs.update(
            server, crd, lambda o: o["spec"]["names"].update(names), sub="/status"
        )
        assert answer.code == 200
        assert "shortNames" not in answer.body["spec"]["names"]
        assert answer.body["metadata"]["generation"] == 1


def test_stored_versions(server: wire.Server, crd: wire.Obj) -> None:
    """A version that was stored once cannot go before the status says that nothing is left."""

    def add(live: wire.Obj) -> None:
        old = live["spec"]["versions"][0]
        live["spec"]["versions"].append(copy.deepcopy(old) | {"name": "v2"})
        old["storage"] = False

    def drop(live: wire.Obj) -> None:
        del live["spec"]["versions"][0]

    with customs.serving(server, crd):
        answer = customs.update(server, crd, add)
        assert answer.body["status"]["storedVersions"] == ["v1", "v2"]
        assert answer.body["metadata"]["generation"] == 2
        assert customs.causes(customs.update(server, crd, drop)) == [
            (
                "FieldValueInvalid",
                "status.storedVersions[0]",
                'Invalid value: "v1": missing from spec.versions; v1 was previously a storage '
                "version, and must remain in spec.versions until a storage migration ensures no "
                "data remains persisted in v1 and removes v1 from status.storedVersions",
            )
        ]
        answer = customs.update(
            server, crd, lambda o: o["status"].update(storedVersions=["v2"]), "/status"
        )
        assert answer.code == 200, answer.text
        assert customs.update(server, crd, drop).code == 200
        group = crd["spec"]["group"]
        server.until(f"/apis/{group}", lambda o: [v["version"] for v in o["versions"]] == ["v2"])
        server.until_gone(f"/apis/{group}/v1/things")


def test_changes_take_effect(server: wire.Server, crd: wire.Obj, ns: str) -> None:
    """A changed schema and new columns hold for what is there, and for what comes."""
    replaced = fields(spec=fields(replicas=STRING, size=STRING | {"default": "small"}))
    columns = [{"name": "Size", "type": "string", "jsonPath": ".spec.size"}]

    def change(live: wire.Obj) -> None:
        version = live["spec"]["versions"][0]
        version["schema"]["openAPIV3Schema"] = replaced
        version["additionalPrinterColumns"] = columns

    at = things(crd, ns)
    with customs.serving(server, crd):
        wrong = server.post(at, thing(crd, "a", spec={"replicas": "x"}))
        assert customs.causes(wrong)[0][:2] == ("FieldValueTypeInvalid", "spec.replicas")
        assert server.post(at, thing(crd, "a", spec={"replicas": 1})).code == 201
        assert customs.update(server, crd, change).code == 200
        found = server.until(f"{at}/a", lambda o: "size" in o["spec"])
        assert found["spec"] == {"replicas": 1, "size": "small"}
        assert server.post(at, thing(crd, "b", spec={"replicas": "x"})).code == 201
        table = server.get(at, accept="application/json;as=Table;g=meta.k8s.io;v=v1").body
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
        assert [row["cells"] for row in table["rows"]] == [["a", "small"], ["b", "small"]]
        # What was valid under the old schema may stay as it is.
        label = server.patch(f"{at}/a", {"metadata": {"labels": {"x": "y"}}})
        assert label.code == 200, label.text


# -- versions ----------------------------------------------------------------------------------


def test_versions(server: wire.Server, crd: wire.Obj, ns: str) -> None:
    """An object is served in every version that is, whichever it was written in."""
    base = crd["spec"]["versions"][0]
    group = crd["spec"]["group"]
    crd["spec"]["versions"] += [
        copy.deepcopy(base) | {"name": "v1alpha1", "storage": False, "deprecated": True},
        copy.deepcopy(base) | {"name": "v1beta1", "storage": False, "deprecated": True},
        copy.deepcopy(base) | {"name": "v0", "storage": False, "served": False},
    ]
    crd["spec"]["versions"][1]["deprecationWarning"] = "use anything else"
    with customs.serving(server, crd):
        listed = server.until(f"/apis/{group}", lambda _: True)
        assert [v["version"] for v in listed["versions"]] == ["v1", "v1beta1", "v1alpha1"]
        assert listed["preferredVersion"]["version"] == "v1"
        beta = things(crd, ns, version="v1beta1")
        made = server.post(beta, thing(crd, "a", "v1beta1", spec={"replicas": 2}))
        assert made.code == 201
        assert made.body["apiVersion"] == f"{group}/v1beta1"
        deprecated = f"{group}/v1beta1 Thing is deprecated; use {group}/v1 Thing"
        assert made.warnings == [f'"{deprecated}"']
        assert server.get(f"{beta}/a").warnings == [f'"{deprecated}"']
        assert server.get(things(crd, ns, version="v1alpha1")).warnings == ['"use anything else"']

        found = server.get(things(crd, ns, "a"))
        assert found.warnings == []
        assert found.body["apiVersion"] == f"{group}/v1"
        assert found.body["spec"] == {"replicas": 2}
        assert found.body["metadata"]["uid"] == made.body["metadata"]["uid"]
        both = server.get(things(crd, ns)).body
        assert (both["kind"], both["apiVersion"]) == ("ThingList", f"{group}/v1")
        assert [item["apiVersion"] for item in both["items"]] == [f"{group}/v1"]

        assert server.get(things(crd, ns, version="v0")).code == 404
        assert server.get(things(crd, ns, version="v9")).code == 404
        other = server.post(things(crd, ns), thing(crd, "b", "v1beta1"))
        assert (other.code, other.body["reason"]) == (400, "BadRequest")
        assert other.body["message"] == (
            f"the API version in the data ({group}/v1beta1) does not match the expected API "
            f"version ({group}/v1)"
        )


def test_watch_is_in_the_version_asked_for(server: wire.Server, crd: wire.Obj, ns: str) -> None:
    """Events bring objects in the version of the path."""
    base = crd["spec"]["versions"][0]
    crd["spec"]["versions"].append(copy.deepcopy(base) | {"name": "v2", "storage": False})
    with customs.serving(server, crd):
        server.post(things(crd, ns), thing(crd, "a", spec={"replicas": 1}))
        events = server.watch(things(crd, ns, version="v2"), seconds=3)
        first = next(event for event in events if event["type"] == "ADDED")
        events.close()
    assert first["object"]["apiVersion"] == f"{crd['spec']['group']}/v2"


# -- status and scale --------------------------------------------------------------------------


def test_status_and_spec_are_apart(server: wire.Server, scaled: wire.Obj, ns: str) -> None:
    """Writes of the object leave the status alone, writes of the status everything else."""
    at = things(scaled, ns)
    made = server.post(at, thing(scaled, "a", spec={"replicas": 1}, status={"phase": "x"})).body
    assert "status" not in made
    assert made["metadata"]["generation"] == 1
    changed = made | {"spec": {"replicas": 2}, "status": {"phase": "x"}}
    made = server.put(f"{at}/a", changed).body
    assert "status" not in made
    assert made["metadata"]["generation"] == 2

    meta = made["metadata"] | {"labels": {"a": "b"}, "finalizers": ["example.com/x"]}
    both = made | {"metadata": meta, "spec": {"replicas": 7}, "status": {"phase": "Ready"}}
    found = server.put(f"{at}/a/status", both).body
    assert found["spec"] == {"replicas": 2}
    assert found["status"] == {"phase": "Ready"}
    assert found["metadata"]["generation"] == 2
    assert "labels" not in found["metadata"]
    assert "finalizers" not in found["metadata"]
    notes = [(m["operation"], m.get("subresource")) for m in found["metadata"]["managedFields"]]
    assert sorted(notes, key=str) == [("Update", "status"), ("Update", None)]

    labelled = server.patch(f"{at}/a", {"metadata": {"labels": {"a": "b"}}}).body
    assert labelled["metadata"]["generation"] == 2
    assert labelled["status"] == {"phase": "Ready"}
    assert server.get(f"{at}/a/status").body == labelled
    wrong = server.patch(f"{at}/a/status", {"status": {"phase": 1}})
    assert ("FieldValueTypeInvalid", "status.phase") in [c[:2] for c in customs.causes(wrong)]


def test_status_without_subresource(server: wire.Server, crd: wire.Obj, ns: str) -> None:
    """Without the subresource the status is a field like others, and counts for the generation."""
    with customs.serving(server, crd):
        at = things(crd, ns)
        made = server.post(at, thing(crd, "a", status={"phase": "x"})).body
        assert made["status"] == {"phase": "x"}
        changed = server.patch(f"{at}/a", {"status": {"phase": "y"}}).body
        assert changed["metadata"]["generation"] == 2
        assert server.get(f"{at}/a/status").code == 404
        assert server.patch(f"{at}/a/status", {"status": {"phase": "z"}}).code == 404
        assert server.get(f"{at}/a/scale").code == 404


def test_scale(server: wire.Server, scaled: wire.Obj, ns: str) -> None:
    """The scale subresource is the replicas of an object, to be read and written."""
    at = things(scaled, ns)
    made = server.post(at, thing(scaled, "a", spec={"replicas": 3})).body
    server.patch(f"{at}/a/status", {"status": {"replicas": 2, "selector": "app=a"}})
    scale = server.get(f"{at}/a/scale").body
    revision = scale["metadata"].pop("resourceVersion")
    assert scale == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": "a",
            "namespace": ns,
            "uid": made["metadata"]["uid"],
            "creationTimestamp": made["metadata"]["creationTimestamp"],
        },
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "app=a"},
    }
    scale["metadata"]["resourceVersion"] = revision
    answer = server.put(f"{at}/a/scale", scale | {"spec": {"replicas": 5}, "status": {}})
    assert (answer.code, answer.body["spec"], answer.body["status"]["replicas"]) == (
        200,
        {"replicas": 5},
        2,
    )
    answer = server.patch(f"{at}/a/scale", {"spec": {"replicas": 6}})
    assert (answer.code, answer.body["spec"]) == (200, {"replicas": 6})
    found = server.get(f"{at}/a").body
    assert found["spec"] == {"replicas": 6}
    assert found["metadata"]["generation"] == 3

    stale = server.put(f"{at}/a/scale", scale | {"spec": {"replicas": 8}})
    assert (stale.code, stale.body["reason"]) == (409, "Conflict")
    assert stale.body["message"].startswith(
        f'Operation cannot be fulfilled on things.{scaled["spec"]["group"]} "a": the object has '
    )
    missing = server.get(f"{at}/nope/scale")
    assert (missing.code, missing.body["details"]["kind"]) == (404, "things")
    negative = server.patch(f"{at}/a/scale", {"spec": {"replicas": -1}})
    assert customs.causes(negative) == [
        (
            "FieldValueInvalid",
            ".spec.replicas",
            "Invalid value: -1: should be a non-negative integer",
        )
    ]


def test_scale_without_replicas(server: wire.Server, scaled: wire.Obj, ns: str) -> None:
    """An object whose replicas are not set has no scale until one is written."""
    at = things(scaled, ns)
    server.post(at, thing(scaled, "a", spec={}))
    none = server.get(f"{at}/a/scale")
    told = 'the spec replicas field ".spec.replicas" does not exist'
    assert (none.code, none.body["reason"]) == (500, "InternalError")
    assert none.body["message"] == f"Internal error occurred: {told}"
    answer = server.patch(f"{at}/a/scale", {"spec": {"replicas": 2}})
    assert (answer.code, answer.body["spec"], answer.body["status"]) == (
        200,
        {"replicas": 2},
        {"replicas": 0},
    )


def test_verbs_of_subresources(server: wire.Server, scaled: wire.Obj, ns: str) -> None:
    """Subresources can be read and changed, nothing else."""
    at = things(scaled, ns)
    server.post(at, thing(scaled, "a", spec={"replicas": 1}))
    told = f'is not supported on resources of kind "things.{scaled["spec"]["group"]}"'
    for sub in ("status", "scale"):
        answer = server.delete(f"{at}/a/{sub}")
        assert (answer.code, answer.body["reason"]) == (405, "MethodNotAllowed")
        assert answer.body["message"] == f"delete {told}"
        answer = server.post(f"{at}/a/{sub}", {})
        assert answer.code == 405
        assert answer.body["message"] == f"create {told}"


# -- the end -----------------------------------------------------------------------------------


def test_deletion_takes_the_objects(server: wire.Server, crd: wire.Obj, ns: str) -> None:
    """With a CRD its objects go, and everything that was served for it."""
    group = crd["spec"]["group"]
    with customs.serving(server, crd):
        server.post(things(crd, ns), thing(crd, "a", spec={}))
        answer = server.delete(path(crd))
        assert answer.code == 200
        assert answer.body["kind"] == "CustomResourceDefinition"
        assert answer.body["metadata"]["finalizers"] == [CLEANUP]
        assert "deletionTimestamp" in answer.body["metadata"]
        assert conditions(answer.body)["Terminating"] == (
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        )
        server.until_gone(path(crd))
    server.until_gone(things(crd, ns))
    server.until_gone(f"/apis/{group}/v1")
    server.until_gone(f"/apis/{group}")
    again = server.post(things(crd, ns), thing(crd, "a", spec={}))
    assert again.code == 404
    with customs.serving(server, crd):
        assert server.get(things(crd, ns)).body["items"] == []


def test_deletion_waits_for_finalizers(server: wire.Server, crd: wire.Obj, ns: str) -> None:
    """While an object is held by a finalizer the CRD stays, and nothing new comes in."""
    at = things(crd, ns)
    held = thing(crd, "a", spec={})
    held["metadata"]["finalizers"] = ["example.com/hold"]
    with customs.serving(server, crd):
        assert server.post(at, held).code == 201
        server.delete(path(crd))
        server.until(f"{at}/a", lambda o: "deletionTimestamp" in o["metadata"])
        found = server.until(
            path(crd),
            lambda o: conditions(o)["Terminating"][1] == "InstanceDeletionInProgress",
        )
        assert conditions(found)["Terminating"] == (
            "True",
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
        )
        refused = server.post(at, thing(crd, "b", spec={}))
        assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
        assert refused.body["message"] == (
            f'things.{crd["spec"]["group"]} "b" is forbidden: create not allowed while custom '
            "resource definition is terminating"
        )
        twice = server.post(CRDS, crd)
        assert (twice.code, twice.body["reason"]) == (409, "AlreadyExists")
        assert twice.body["message"] == (
            "object is being deleted: customresourcedefinitions.apiextensions.k8s.io "
            f'"{crd["metadata"]["name"]}" already exists'
        )
        assert server.patch(f"{at}/a", {"metadata": {"finalizers": None}}).code == 200
        server.until_gone(path(crd))


def test_deletion_waits_for_others(server: wire.Server, crd: wire.Obj, ns: str) -> None:
    """When its objects are gone, a CRD that others hold stays and is served until they let go."""
    crd["metadata"]["finalizers"] = ["example.com/hold"]
    with customs.serving(server, crd):
        assert server.post(things(crd, ns), thing(crd, "a", spec={})).code == 201
        server.delete(path(crd))
        found = server.until(path(crd), lambda o: conditions(o)["Terminating"][0] == "False")
        assert found["metadata"]["finalizers"] == ["example.com/hold"]
        assert conditions(found)["Terminating"][1:] == (
            "InstanceDeletionCompleted",
            "removed all instances",
        )
        assert server.get(things(crd, ns)).body["items"] == []
        version = found["metadata"]["resourceVersion"]
        server.until(things(crd, ns), lambda _: True)
        assert server.get(path(crd)).body["metadata"]["resourceVersion"] == version
        assert server.patch(path(crd), {"metadata": {"finalizers": None}}).code == 200
        server.until_gone(path(crd))
    server.until_gone(things(crd, ns))


def test_limits_of_zero(server: wire.Server, group: str, ns: str) -> None:
    """A limit of zero holds for the entries of lists and maps as for fields."""
    entry = INTEGER | {"minimum": 0}
    listed, mapped = {"items": entry}, {"additionalProperties": entry}
    schema = fields(a=entry, b={"type": "array"} | listed, c={"type": "object"} | mapped)
    crd = wire.crd(group, fields(spec=schema))
    with customs.serving(server, crd) as made:
        kept = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        assert kept == schema
        spec = {"a": -1, "b": [-1], "c": {"k": -1}}
        refused = server.post(things(crd, ns), thing(crd, "a", spec=spec))
        found = sorted(field for _, field, _ in customs.causes(refused))
        assert found == ["spec.a", "spec.b[0]", "spec.c.k"]
