"""Custom resources against their schema: validation with its messages, pruning, defaulting.

structural.yaml has the schema, values that are valid and values that are not, with what is said.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wire
import yaml

Obj = dict[str, Any]
GROUP = "structural.conformance.example.com"
KIND, PLURAL = "Sample", "samples"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE: Obj = yaml.safe_load(Path(__file__).with_name("structural.yaml").read_text())
FILLED: Obj = {"filled": "dd", "inner": {"a": 5}, "nullable": "x"}
"""The defaults that every object gets."""


def definition(spec: Obj, plural: str = PLURAL, kind: str = KIND) -> Obj:
    """A CRD with a spec of these properties."""
    short = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}}
    status = {"type": "object", "properties": TABLE["schema"]["status"]}
    properties = {"metadata": short, "spec": {"type": "object", "properties": spec}}
    schema = {"type": "object", "properties": {**properties, "status": status}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def sample(spec: Obj, **fields: Any) -> Obj:
    """An object."""
    head = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {"name": "one"}}
    return {**head, "spec": spec, **fields}


@pytest.fixture(scope="module")
def samples(server: wire.Server, shared_ns: str) -> Iterator[str]:
    """The path of the samples in a namespace."""
    answer = server.post(CRDS, definition(TABLE["schema"]["spec"]))
    assert answer.code == 201, answer.text
    server.until(f"{CRDS}/{PLURAL}.{GROUP}", wire.established)
    path = f"/apis/{GROUP}/v1/namespaces/{shared_ns}/{PLURAL}"
    server.until(path, lambda _: True)
    yield path
    server.delete(f"{CRDS}/{PLURAL}.{GROUP}")
    server.until_gone(f"{CRDS}/{PLURAL}.{GROUP}")


def tried(server: wire.Server, path: str, spec: Obj, **fields: Any) -> wire.Answer:
    """The answer to a creation that is not kept."""
    return server.post(path, sample(spec, **fields), dryRun="All")


def causes(answer: wire.Answer) -> list[list[str]]:
    """Reason, field and message of the causes, in no order: the server has none either."""
    assert (answer.code, answer.body["reason"]) == (422, "Invalid"), answer.text
    found = answer.body["details"].get("causes", [])
    told = ([c["reason"].removeprefix("FieldValue"), c["field"], c["message"]] for c in found)
    return sorted(told)


@pytest.mark.parametrize("family", sorted(TABLE["invalid"]))
def test_invalid_values_are_refused(server: wire.Server, samples: str, family: str) -> None:
    """Every cause has reason, field and message."""
    for case in TABLE["invalid"][family]:
        answer = tried(server, samples, case["spec"])
        assert causes(answer) == sorted(case["causes"]), case["spec"]


def test_valid_values_are_taken(server: wire.Server, samples: str) -> None:
    """They come back as they were sent, with defaults."""
    for spec in TABLE["valid"]:
        answer = tried(server, samples, spec)
        assert answer.code == 201, answer.text
    filled = tried(server, samples, {"text": "ab"}).body["spec"]
    assert filled == {"text": "ab", **FILLED}


def test_failure_names_the_object_and_all_causes(server: wire.Server, samples: str) -> None:
    """One cause stands in the message as it is, several stand in brackets."""
    answer = tried(server, samples, {"flag": 1})
    told = 'spec.flag: Invalid value: "integer": spec.flag in body must be of type boolean: '
    assert answer.body["message"] == f'{KIND}.{GROUP} "one" is invalid: {told}"integer"'
    details = answer.body["details"]
    assert (details["name"], details["group"], details["kind"]) == ("one", GROUP, KIND)

    answer = tried(server, samples, {"flag": 1, "choice": "c", "deep": {"list": [{}]}})
    fields = ["spec.choice", "spec.deep.list[0].x", "spec.flag"]
    assert sorted(cause[1] for cause in causes(answer)) == fields
    begin, _, listed = answer.body["message"].partition("[")
    assert begin == f'{KIND}.{GROUP} "one" is invalid: '
    assert listed.endswith("]")
    assert 'spec.choice: Unsupported value: "c": supported values: "a", "b"' in listed


def test_required_and_typed_parts_of_the_object(server: wire.Server, samples: str) -> None:
    """The spec itself has a type, and a CRD can restrict names."""
    answer = server.post(samples, sample({}) | {"spec": "x"}, dryRun="All")
    told = 'Invalid value: "string": spec in body must be of type object: "string"'
    assert causes(answer) == [["TypeInvalid", "spec", told]]
    answer = tried(server, samples, {}, metadata={"name": "n" * 21})
    assert causes(answer) == [
        ["TooLong", "metadata.name", "Too long: may not be more than 20 bytes"]
    ]
    answer = server.post(samples, {**sample({}), "spec": None}, dryRun="All")
    assert answer.code == 201
    assert "spec" not in answer.body


def test_unknown_fields_are_pruned(server: wire.Server, samples: str) -> None:
    """Except where the schema keeps them; within what it describes there they are pruned again."""
    whole: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "zed": 1}, "x": 1}
    spec: Obj = {
        "unknown": {"a": 1},
        "inner": {"zed": 1},
        "items": [{}, {"zed": 1}],
        "free": {"known": {"a": "x", "zed": 1}, "other": {"deep": [1]}},
        "any": [{"a": None}, 1],
        "known": {**whole, "spec": {"a": "1", "zed": 1}},
        "whole": whole,
    }
    answer = tried(server, samples, spec, unknown=1, status={"zed": 1})
    assert answer.code == 201, answer.text
    assert "unknown" not in answer.body
    assert "status" not in answer.body
    known: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    assert answer.body["spec"] == {
        **FILLED,
        "items": [{"a": "q"}, {"a": "q"}],
        "free": {"known": {"a": "x"}, "other": {"deep": [1]}},
        "any": [{"a": None}, 1],
        "known": {**known, "spec": {"a": "1"}},
        "whole": {**known, "x": 1},
    }


def test_nulls_are_pruned_defaulted_or_kept(server: wire.Server, samples: str) -> None:
    """A null is dropped, or defaulted where there is a default, and kept where it is allowed."""
    spec: Obj = {"text": None, "filled": None, "nullable": None, "entries": {"a": None, "b": {}}}
    answer = tried(server, samples, spec)
    expected = {**FILLED, "nullable": None, "entries": {"b": {"a": "q"}}}
    assert (answer.code, answer.body["spec"]) == (201, expected)


def test_numbers_come_back_as_go_writes_them(server: wire.Server, samples: str) -> None:
    """A fraction of zero is not written, also in free values."""
    answer = tried(server, samples, {"int": 5.0, "any": {"x": 1.0, "y": [1.5, 2.0]}})
    spec = answer.body["spec"]
    assert (spec["int"], spec["any"]) == (5, {"x": 1, "y": [1.5, 2]})
    assert '"x":1,' in answer.text


def test_defaults_are_filled_in_when_written_and_when_changed(
    server: wire.Server, samples: str, unique: str
) -> None:
    """Also in what another default brought, in list entries and map entries, and after a patch."""
    made = server.post(samples, sample({"items": [{}]}) | {"metadata": {"name": unique}})
    assert made.body["spec"] == {**FILLED, "items": [{"a": "q"}]}
    path = f"{samples}/{unique}"
    changed = server.patch(path, {"spec": {"inner": {"a": None}, "entries": {"x": {}}}})
    assert changed.body["spec"]["inner"] == {"a": 5}
    assert changed.body["spec"]["entries"] == {"x": {"a": "q"}}
    emptied = server.patch(path, {"spec": {"filled": "mine"}})
    assert emptied.body["spec"]["filled"] == "mine"


def test_status_subresource_is_validated(server: wire.Server, samples: str, unique: str) -> None:
    """Messages name the fields of a status without ``status``, the paths of causes with it."""
    server.post(samples, sample({}) | {"metadata": {"name": unique}})
    path = f"{samples}/{unique}/status"
    answer = server.patch(path, {"status": {"phase": "C", "count": "x"}})
    assert causes(answer) == [
        [
            "NotSupported",
            "status.phase",
            'Unsupported value: "C": supported values: "A", "B"',
        ],
        [
            "TypeInvalid",
            "status.count",
            'Invalid value: "string": count in body must be of type integer: "string"',
        ],
    ]
    answer = server.patch(path, {"status": "x"})
    told = 'Invalid value: "string":  in body must be of type object: "string"'
    assert causes(answer) == [["TypeInvalid", "status", told]]

    answer = server.patch(path, {"spec": {"flag": 1}, "status": {"phase": "A"}})
    assert (answer.code, answer.body["status"]) == (200, {"phase": "A", "note": "n"})
    assert "flag" not in answer.body["spec"]

    # The main resource neither sets nor validates it.
    answer = server.patch(f"{samples}/{unique}", {"status": {"phase": "C"}})
    assert (answer.code, answer.body["status"]["phase"]) == (200, "A")


def test_changes_are_validated(server: wire.Server, samples: str, unique: str) -> None:
    """By PUT, by every type of patch, and by server-side apply, which reads types itself."""
    made = server.post(samples, sample({"int": 1}) | {"metadata": {"name": unique}}).body
    path = f"{samples}/{unique}"
    wanted = [["Invalid", "spec.int", "spec.int in body should be less than or equal to 10"]]
    wanted[0][2] = f"Invalid value: 11: {wanted[0][2]}"
    bad = made | {"spec": {**made["spec"], "int": 11}}
    assert causes(server.put(path, bad)) == wanted
    assert causes(server.patch(path, {"spec": {"int": 11}})) == wanted
    operations = [{"op": "replace", "path": "/spec/int", "value": 11}]
    answer = server.patch(path, operations, content_type=wire.JSON_PATCH)
    assert causes(answer) == wanted
    mine = sample({"int": 11}) | {"metadata": {"name": unique}}
    assert causes(server.apply(path, mine, manager="a", force="true")) == wanted
    assert server.get(path).body["spec"]["int"] == 1


@pytest.fixture
def loose(server: wire.Server, shared_ns: str, unique: str) -> Iterator[str]:
    """The path of an object that was stored before its schema became strict."""
    text = {"type": "string"}
    loose_spec: Obj = {
        "text": text,
        "map": {"type": "object", "properties": {"a": text, "b": text}},
        "list": {"type": "array", "items": text},
        "keyed": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": text, "v": text}},
        },
    }
    plural = f"x{unique}"
    crd = f"{CRDS}/{plural}.{GROUP}"
    assert server.post(CRDS, definition(loose_spec, plural, plural.capitalize())).code == 201
    server.until(crd, wire.established)
    objects = f"/apis/{GROUP}/v1/namespaces/{shared_ns}/{plural}"
    server.until(objects, lambda _: True)
    spec = {
        "text": "long",
        "map": {"a": "long", "b": "x"},
        "list": ["long", "x"],
        "keyed": [{"k": "1", "v": "long"}, {"k": "2", "v": "long"}],
    }
    made = server.post(objects, sample(spec) | {"kind": plural.capitalize()})
    assert made.code == 201, made.text
    text["maxLength"] = 3  # type: ignore[assignment] # of all of them
    loose_spec["map"]["required"] = ["c"]
    loose_spec["map"]["properties"]["c"] = text
    strict = definition(loose_spec, plural, plural.capitalize())["spec"]["versions"]
    assert server.patch(crd, {"spec": {"versions": strict}}).code == 200
    refused = sample({"text": "long"}) | {"kind": plural.capitalize(), "metadata": {"name": "b"}}
    deadline = time.monotonic() + wire.LIMIT
    while server.post(objects, refused, dryRun="All").code != 422:
        assert time.monotonic() < deadline, "the stricter schema does not come into force"
        time.sleep(0.05)
    yield f"{objects}/one"
    server.delete(crd)
    server.until_gone(crd)


def test_what_was_invalid_before_may_stay(server: wire.Server, loose: str) -> None:
    """Errors of what is as it was are let through, in fields and in lists of type map."""

    def fields(patch: Obj) -> list[str]:
        answer = server.patch(loose, patch, dryRun="All")
        return [] if answer.code == 200 else [cause[1] for cause in causes(answer)]

    assert fields({"metadata": {"labels": {"a": "b"}}}) == []
    assert fields({"spec": {"text": "longer"}}) == ["spec.text"]
    assert fields({"spec": {"map": {"b": "y"}}}) == ["spec.map.c"]
    assert fields({"spec": {"map": {"a": "longer", "c": "z"}}}) == ["spec.map.a"]
    assert fields({"spec": {"list": ["long", "y"]}}) == ["spec.list[0]"]
    moved = [{"k": "2", "v": "long"}, {"k": "3", "v": "long"}]
    assert fields({"spec": {"keyed": moved}}) == ["spec.keyed[1].v"]
