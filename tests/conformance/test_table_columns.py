"""Printer columns: a CRD says what `kubectl get` prints of its objects."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import wire

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GROUP = f"tables-{uuid.uuid4().hex[:6]}.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
COLUMNS = [
    ("Size", "integer", ".spec.size"),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    ("Since", "date", ".spec.since"),
    ("Ratio", "number", ".spec.ratio"),
    ("On", "boolean", ".spec.on"),
    ("Tags", "string", ".spec.tags"),
    ("Every", "string", ".spec.tags[*]"),
    ("First", "string", ".spec.tags[0]"),
    ("Last", "string", ".spec.tags[-1]"),
    ("Map", "string", ".spec.map"),
    ("Quoted", "string", ".spec.map['x']"),
    ("Note", "string", r".metadata.annotations.example\.com/note"),
    ("Number", "string", ".spec.size"),
    ("Truth", "string", ".spec.on"),
    ("Half", "string", ".spec.ratio"),
    ("Whole", "integer", ".spec.ratio"),
    ("Not", "integer", ".spec.colour"),
    ("Never", "date", ".spec.colour"),
    ("Named", "string", ".spec.items[?(@.n>1)].name"),
    ("Age", "date", ".metadata.creationTimestamp"),
]


@pytest.fixture(scope="module")
def widgets(server: wire.Server, shared_ns: str) -> Iterator[str]:
    """The path of custom resources with many columns."""
    columns = [{"name": n, "type": t, "jsonPath": path} for n, t, path in COLUMNS]
    wide = {"name": "Wide", "type": "string", "priority": 1, "jsonPath": ".spec.colour"}
    told = {"description": "which one", "format": "password"}
    version = {"served": True, "schema": {"openAPIV3Schema": ANY}}
    broken = [
        {"name": "Good", "type": "string", "jsonPath": ".spec.size"},
        {"name": "Bad", "type": "string", "jsonPath": ".spec["},
        {"name": "After", "type": "string", "jsonPath": ".spec.size"},
    ]
    printed = {"additionalPrinterColumns": [*columns, wide | told]}
    crd = {
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {**version, "name": "v1", "storage": True, **printed},
                {**version, "name": "v1beta1", "storage": False},
                {**version, "name": "v2", "storage": False, "additionalPrinterColumns": broken},
            ],
        },
    }
    assert server.post(CRDS, crd).code == 201
    path = f"/apis/{GROUP}/v1/namespaces/{shared_ns}/widgets"
    server.until(path, lambda _: True)
    yield path
    server.delete(f"{CRDS}/widgets.{GROUP}")


def made(server: wire.Server, path: str, name: str, **content: Any) -> dict[str, Any]:
    """Create a widget; the answer is its row, by column."""
    meta = {"name": name, "annotations": content.pop("annotations", {})}
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": meta}
    answer = server.post(path, {**head, **content})
    assert answer.code == 201, answer.text
    table = server.get(f"{path}/{name}", accept=TABLE).body
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"], strict=True))


def test_columns_are_described(server: wire.Server, widgets: str) -> None:
    """Name first, then the CRD's columns with its descriptions, or the path instead."""
    found = server.get(widgets, accept=TABLE).body["columnDefinitions"]
    assert [column["name"] for column in found] == ["Name", *(n for n, _, _ in COLUMNS), "Wide"]
    size = {"name": "Size", "type": "integer", "format": "", "priority": 0}
    words = "Custom resource definition column (in JSONPath format): .spec.size"
    assert found[1] == {**size, "description": words}
    wide = {"name": "Wide", "type": "string", "format": "password", "priority": 1}
    assert found[-1] == {**wide, "description": "which one"}


def test_cells_are_found_by_path_and_fit_their_type(server: wire.Server, widgets: str) -> None:
    """Fields, quoted and escaped names, indices, filters; dates are ages, misfits are null."""
    spec = {
        "size": 3,
        "since": "2020-01-01T00:00:00Z",
        "ratio": 1.5,
        "on": True,
        "tags": ["a", "b"],
        "map": {"x": "1", "a": 2},
        "colour": "red",
        "items": [{"n": 1, "name": "one"}, {"n": 2, "name": "two"}],
    }
    conditions = [{"type": "A", "status": "x"}, {"type": "Ready", "status": "True"}]
    row = made(
        server,
        widgets,
        "full",
        spec=spec,
        status={"conditions": conditions},
        annotations={"example.com/note": "noted"},
    )
    assert re.fullmatch(r"\d+s", row.pop("Age"))
    assert re.fullmatch(r"\d+y(\d+d)?", row.pop("Since"))
    assert row == {
        "Name": "full",
        "Size": 3,
        "Ready": "True",
        "Ratio": 1.5,
        "On": True,
        "Tags": '["a","b"]',
        "Every": "a",
        "First": "a",
        "Last": "b",
        "Map": '{"a":2,"x":"1"}',
        "Quoted": "1",
        "Note": "noted",
        "Number": "3",
        "Truth": "true",
        "Half": "1.5",
        "Whole": 1,
        "Not": None,
        "Never": "<invalid>",
        "Named": "two",
        "Wide": "red",
    }


def test_cells_without_a_value_are_null(server: wire.Server, widgets: str) -> None:
    """Missing fields, dates and numbers that are null; a text column has words for null."""
    spec: wire.Obj = {"size": None, "tags": [], "map": {}, "since": None}
    row = made(server, widgets, "empty", spec=spec)
    assert row.pop("Age")
    assert (row.pop("Name"), row.pop("Tags"), row.pop("Map")) == ("empty", "[]", "{}")
    assert row.pop("Number") == "<no value>"
    assert set(row.values()) == {None}


def test_a_version_without_columns_shows_the_age(server: wire.Server, widgets: str) -> None:
    """Name and Age are what every custom resource has."""
    found = server.get(widgets.replace("/v1/", "/v1beta1/"), accept=TABLE).body
    described = [(c["name"], c["type"]) for c in found["columnDefinitions"]]
    assert described == [("Name", "string"), ("Age", "date")]
    assert found["columnDefinitions"][1]["description"].startswith("CreationTimestamp is")


def test_columns_end_before_a_path_that_cannot_be_read(server: wire.Server, widgets: str) -> None:
    """A CRD is not refused for it."""
    found = server.get(widgets.replace("/v1/", "/v2/"), accept=TABLE).body["columnDefinitions"]
    assert [column["name"] for column in found] == ["Name", "Good"]
