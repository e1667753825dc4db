"""Tests of ansible_operator.sandbox.decoding."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator.sandbox import failure, kinds, options
from ansible_operator.sandbox.reading import bodies, decoding
from ansible_operator.sandbox.rights import access
from ansible_operator.sandbox.schemas import schema

Obj = dict[str, Any]
MAPS = kinds.Resource("", "v1", "ConfigMap", "configmaps", "configmap")
THINGS = kinds.Resource("example.com", "v1", "Thing", "things", "thing", custom=True)
MERGE = "application/merge-patch+json"
PAIR: Obj = {"type": "object", "properties": {"a": {"type": "string"}}}
WHOLE: Obj = {**PAIR, "x-kubernetes-embedded-resource": True}
THING = schema.custom({"type": "object", "properties": {"spec": PAIR, "whole": WHOLE}})


def how(mode: str) -> options.Write:
    """Options with this fieldValidation."""
    user = access.User("admin", ("system:masters",))
    return options.Write(manager="tests", warnings=[], user=user, validation=mode)


def schema_of(resource: kinds.Resource) -> schema.Schema:
    """The schema of one of the two resources."""
    return THING if resource.custom else schema.builtin("", "v1", "ConfigMap")


def decoded(resource: kinds.Resource, text: str, mode: str = "Warn") -> tuple[Obj, list[str]]:
    """The object in a JSON text, and the warnings."""
    body = bodies.read(text.encode(), bodies.JSON, resource)
    write = how(mode)
    return decoding.decode(resource, body, schema_of(resource), write), write.warnings


def refused(resource: kinds.Resource, text: str, mode: str = "Warn") -> tuple[int, str]:
    """Code and message for a JSON text."""
    with pytest.raises(failure.ApiFailure) as caught:
        decoded(resource, text, mode)
    return caught.value.code, caught.value.message


def test_what_is_wrong_with_fields_is_told_as_the_mode_says() -> None:
    """An error, warnings, or nothing."""
    text = '{"kind":"ConfigMap","foo":1,"data":{"a":"1","a":"2"}}'
    told = ['unknown field "foo"', 'duplicate field "data.a"']
    plain = {"kind": "ConfigMap", "metadata": {}, "data": {"a": "2"}}
    for mode, warnings in (("Warn", told), ("Ignore", [])):
        found, said = decoded(MAPS, text, mode)
        assert (plain | found, said) == (plain, warnings)
    begin = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
    wanted = (400, f"{begin}strict decoding error: {', '.join(told)}")
    assert refused(MAPS, text, "Strict") == wanted


def test_custom_objects_are_pruned_after_their_text_was_searched() -> None:
    """What stands again is told first, then unknown metadata, then the rest by name."""
    text = (
        '{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","zed":1},'
        '"spec":{"b":1,"a":"x","a":"y"},"c":{"d":1,"d":2},"whole":{"metadata":{"zed":1}}}'
    )
    found, warnings = decoded(THINGS, text)
    assert found["spec"] == {"a": "y"}
    assert found["whole"] == {"metadata": {}}
    assert warnings == [
        'duplicate field "spec.a"',
        'duplicate field "c.d"',
        'unknown field "metadata.zed"',
        'unknown field "c"',
        'unknown field "spec.b"',
        'unknown field "whole.metadata.zed"',
    ]


def test_kinds_and_versions_must_be_those_of_the_resource() -> None:
    """Each failure in its own words; the version of custom ones is compared last."""
    scheme = 'in scheme "pkg/runtime/scheme.go:111"'
    begin = 'Foo in version "v1" cannot be handled as a ConfigMap: '
    told = f'{begin}no kind "Foo" is registered for version "v1" {scheme}'
    assert refused(MAPS, '{"kind":"Foo"}') == (400, told)
    told = "converting (v1.Pod) to (core.ConfigMap): unknown conversion"
    code, message = refused(MAPS, '{"kind":"Pod"}')
    assert (code, message.endswith(told)) == (400, True)
    told = "the API version in the data (v1) does not match the expected API version "
    assert refused(THINGS, '{"apiVersion":"v1","kind":"Thing"}') == (400, f"{told}(example.com/v1)")
    told = 'Foo.example.com "" is invalid: kind: Invalid value: "Foo": must be Thing'
    assert refused(THINGS, '{"apiVersion":"example.com/v1","kind":"Foo"}') == (422, told)


def test_metadata_of_embedded_objects_are_read_by_their_types() -> None:
    """What is wrong with them is wrong with the body."""
    begin = '{"apiVersion":"example.com/v1","kind":"Thing","whole":'
    code, told = refused(THINGS, begin + '{"metadata":{"labels":{"a":1}}}}')
    assert code == 400
    assert told.endswith(
        'whole.metadata: Invalid value: {"labels":{"a":1}}: '
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    )
    code, told = refused(THINGS, begin + '{"kind":5}}')
    assert told.endswith("whole.kind: Invalid value: 5: must be a string")


def unpatched(resource: kinds.Resource, made: Obj, patch: bodies.Patch, mode: str = "Warn") -> str:
    """What is said of an object that a patch made."""
    with pytest.raises(failure.ApiFailure) as caught:
        decoding.decode_patched(resource, made, schema_of(resource), how(mode), patch)
    assert caught.value.code == 422
    return caught.value.message


def test_patched_objects() -> None:
    """The failure is one of the patch; its text is told before what it made."""
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "foo": 1}
    patch = bodies.read_patch(b'{"foo":1,"foo":1}', MERGE)
    told = 'strict decoding error: duplicate field "foo", unknown field "foo"'
    message = unpatched(MAPS, made, patch, "Strict")
    assert message.startswith(' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"v1\\"')
    assert message.endswith(told)
    message = unpatched(MAPS, {**made, "kind": 5}, patch)
    assert message.endswith(
        "couldn't get version/kind; json parse error: "
        "json: cannot unmarshal number into Go struct field .kind of type string"
    )
    other = {"apiVersion": "example.com/v2", "kind": "Thing"}
    told = 'apiVersion: Invalid value: "example.com/v2": must be example.com/v1'
    assert unpatched(THINGS, other, patch) == f'Thing.example.com "" is invalid: {told}'
    assert "Object 'Kind' is missing in" in unpatched(THINGS, {"apiVersion": "v1"}, patch)


def test_unknown_fields_of_patched_objects_are_sorted() -> None:
    """A map of the server has no order of its own."""
    patch = bodies.read_patch(b"{}", MERGE)
    write = how("Warn")
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"zed": 1}, "foo": 1}
    decoding.decode_patched(MAPS, made, schema_of(MAPS), write, patch)
    assert write.warnings == ['unknown field "foo"', 'unknown field "metadata.zed"']


def test_strategically_merged_objects() -> None:
    """Go's conversion has words of its own; another kind is passed over."""
    patch = bodies.read_patch(b'{"data":{"a":1}}', bodies.STRATEGIC_PATCH)
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"a": 1}}
    told = 'patch: Invalid value: "map[data:map[a:1]]": cannot convert int64 to string'
    assert unpatched(MAPS, made, patch) == f' "" is invalid: {told}'
    told = "cannot convert int64 to string"
    assert unpatched(MAPS, {**made, "kind": 5}, patch).endswith(told)
    fine = {**made, "kind": "Foo", "data": {}}
    schema_ = schema.builtin("", "v1", "ConfigMap")
    found = decoding.decode_patched(MAPS, fine, schema_, how("Warn"), patch)
    assert found["kind"] == "ConfigMap"


def test_yaml_lines_are_one_error_and_many_warnings() -> None:
    """They come before the fields."""
    text = b"kind: ConfigMap\ndata: {a: x, a: z}\nfoo: 1\nfoo: 2\n"
    lines = ['line 2: key "a" already set in map', 'line 4: key "foo" already set in map']
    write = how("Warn")
    body = bodies.read(text, bodies.YAML, MAPS)
    decoding.decode(MAPS, body, schema_of(MAPS), write)
    assert write.warnings == [*lines, 'unknown field "foo"']
    with pytest.raises(failure.ApiFailure) as caught:
        decoding.decode(MAPS, body, schema_of(MAPS), how("Strict"))
    told = "yaml: unmarshal errors:\n  " + "\n  ".join(lines) + ', unknown field "foo"'
    assert caught.value.message.endswith(f"strict decoding error: {told}")
