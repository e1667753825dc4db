"""Tests of ansible_operator.sandbox.bodies, syntax and yamltext."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.reading import bodies, values, yamltext

MAPS = kinds.Resource("", "v1", "ConfigMap", "configmaps", "configmap")
THINGS = kinds.Resource("example.com", "v1", "Thing", "things", "thing", custom=True)
END = "unexpected end of JSON input"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", END),
        ("{", END),
        ('{"a":', END),
        ('{"a"', END),
        ('{"a":1,', END),
        ("[1,", END),
        ('"abc', END),
        ("x", "invalid character 'x' looking for beginning of value"),
        ('{"a":1}x', "invalid character 'x' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("[1 2]", "invalid character '2' after array element"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":"[" 1}', "invalid character '1' after object key:value pair"),
        ('{"a":[1,{"b":2 3}]}', "invalid character '3' after object key:value pair"),
        ('{"a":NaN}', "invalid character 'N' looking for beginning of value"),
        ("-Infinity", "invalid character 'I' in numeric literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e", "invalid character ' ' in exponent of numeric literal"),
        ("tru", "invalid character ' ' in literal true (expecting 'e')"),
        ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
        ('{"a":"\\x"}', "invalid character 'x' in string escape code"),
        ('"x\\', "invalid character ' ' in string escape code"),
        ('"\\u12g"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"\x01"', "invalid character '\\x01' in string literal"),
        ('"\n"', "invalid character '\\n' in string literal"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        ("\x7f", "invalid character '\\x7f' looking for beginning of value"),
        ("\\", "invalid character '\\\\' looking for beginning of value"),
    ],
)
def test_no_json(text: str, told: str) -> None:
    """The words are those of Go's scanner."""
    with pytest.raises(ValueError, match="json parse error: ") as caught:
        bodies.parse_json(text.encode())
    assert str(caught.value) == f"couldn't get version/kind; json parse error: {told}"


def test_deep_json_is_refused() -> None:
    """And does not end the process."""
    with pytest.raises(ValueError, match="exceeded max depth"):
        bodies.parse_json(b"[" * 200_000)


def test_broken_characters_are_replaced() -> None:
    """Bytes that are no UTF-8, and halves of surrogate pairs; whole pairs are characters."""
    raw = b'{"\\ud800":["\xff","\\ud83d\\ude00","\\udc00x"]}'
    assert bodies.parse_json(raw) == {"\ufffd": ["\ufffd", "\U0001f600", "\ufffdx"]}


def test_repeated_keys_are_found() -> None:
    """The last one counts, and the whole body says that there are some."""
    assert not isinstance(bodies.parse_json(b'{"a":{"b":1}}'), values.Repeated)
    found = bodies.parse_json(b'{"a":[{"b":1,"b":2}],"c":{"d":1}}')
    assert isinstance(found, values.Repeated)
    assert found == {"a": [{"b": 2}], "c": {"d": 1}}
    assert bodies.duplicates(found) == ['duplicate field "a[0].b"']
    assert type(values.plain(found)["a"][0]) is dict


YAML_11 = """
a: 0x10
b: 010
c: 1e3
d: .5
e: 1_000
f: 0b11
g: 0o7
h: 12:30:45
i: !!str 5
j: !!binary aGk=
k: 2020-01-01
l: on
m: y
o: ''
p: |
  hi
q: 1.0
r: 08
s: !!int '5'
t: 1e400
u: 18446744073709551616
v: Null
1: x
true: z
<<: {a: 2, w: 3}
"""


def test_yaml_is_read_as_go_does() -> None:
    """YAML 1.1 in most; times are texts, numbers are Go's, keys are texts."""
    found, repeated = yamltext.read(YAML_11)
    assert repeated == []
    numbers = {
        "a": 16,
        "b": 8,
        "c": 1000,
        "d": 0.5,
        "e": 1000,
        "f": 3,
        "g": 7,
        "q": 1,
        "r": 8,
        "s": 5,
    }
    texts = {"h": "12:30:45", "i": "5", "j": "hi", "k": "2020-01-01", "o": "", "p": "hi\n"}
    others = {"l": True, "m": True, "t": "1e400", "u": 2.0**64, "v": None, "1": "x", "true": "z"}
    assert found == {**numbers, **texts, **others, "w": 3}
    assert yamltext.read("") == (None, [])
    assert yamltext.read("a: 1\n---\nb: 2") == ({"a": 1}, [])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "yaml: line 1: did not find expected node content"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a:\n\t- b", "yaml: line 2: found character that cannot start any token"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("a: &x [*x]", "yaml: the value of an anchor contains itself"),
        ("x: 1\ny: 2\nz: 'x\n", "yaml: line 4: found unexpected end of stream"),
        ("a: [1\nb: 2\n", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: b\n\x01", "yaml: control characters are not allowed"),
        ("a: -.inf", "json: unsupported value: -Inf"),
        ("a: .nan", "json: unsupported value: NaN"),
        ("~: x", "yaml: invalid map key: None"),
    ],
)
def test_no_yaml(text: str, told: str) -> None:
    """The words are those of Go's parser."""
    with pytest.raises(yamltext.Unreadable) as caught:
        yamltext.read(text)
    assert str(caught.value) == told


def refused(raw: bytes, resource: kinds.Resource, media_type: str = bodies.JSON) -> str:
    """The message for a body."""
    with pytest.raises(failure.ApiFailure) as caught:
        bodies.read(raw, media_type, resource)
    assert caught.value.code == 400
    return caught.value.message


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"", "<empty>"),
        (b"{", "{"),
        (b'{"apiVersion":"v1","kind":"ConfigMap"', '{"apiVersion":"v1","kind":"Con ...'),
        (b"x", "78"),
        (b"x" * 31, f"{'78' * 30} ..."),
    ],
)
def test_the_beginning_of_a_body_is_shown(raw: bytes, shown: str) -> None:
    """In hexadecimal, unless it begins like an object."""
    told = refused(raw, MAPS)
    assert told.startswith("the object provided is unrecognized (must be of type ConfigMap): ")
    assert told.endswith(f" ({shown})")


def test_bodies_have_a_kind() -> None:
    """Built-in ones may leave it out, custom ones may not; neither may be of another type."""
    assert bodies.read(b"null", bodies.JSON, MAPS) == {}
    assert bodies.read(b"", bodies.YAML, MAPS) == {}
    assert "Object 'Kind' is missing in '{}' ({})" in refused(b"{}", THINGS)
    assert "cannot unmarshal array into Go value of type struct {" in refused(b"[]", MAPS)
    assert "Go struct field .kind of type string" in refused(b'{"kind":1}', THINGS)
    assert "unexpected GroupVersion string: a/b/c" in refused(b'{"apiVersion":"a/b/c"}', MAPS)


def test_patches() -> None:
    """Whatever JSON they are; what is said of their text is kept for later."""
    patch = bodies.read_patch(b'{"a":{"b":1,"b":2}}', "application/merge-patch+json")
    assert (patch.value, patch.complaints) == ({"a": {"b": 2}}, ('duplicate field "a.b"',))
    text = '[{"op":"add","op":"add","value":{"a":1,"a":2}},{"x":1},5]'
    patch = bodies.read_patch(text.encode(), bodies.JSON_PATCH)
    assert patch.complaints == (
        'json patch duplicate field "[0].op"',
        'json patch duplicate field "[0].value.a"',
        'json patch unknown field "[1].x"',
    )
    with pytest.raises(failure.ApiFailure, match="invalid JSON patch"):
        bodies.read_patch(b"{", bodies.JSON_PATCH)


def test_applies() -> None:
    """JSON or YAML of the right kind."""
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    assert bodies.read_apply(json.dumps(obj).encode(), MAPS, "Warn") == (obj, [])
    text = b"apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n"
    assert bodies.read_apply(text, MAPS, "Strict") == (obj, [])
    with pytest.raises(failure.ApiFailure, match="invalid object type: /v1, Kind=Foo"):
        bodies.read_apply(b"apiVersion: v1\nkind: Foo", MAPS, "Warn")
    again = json.dumps(obj)[:-1].encode() + b',"kind":"ConfigMap"}'
    told = 'line 1: key "kind" already set in map'
    assert bodies.read_apply(again, MAPS, "Warn") == (obj, [told])
    assert bodies.read_apply(again, MAPS, "Ignore") == (obj, [])
    with pytest.raises(failure.ApiFailure, match=f"yaml: unmarshal errors:\n  {told}"):
        bodies.read_apply(again, MAPS, "Strict")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"x", "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot"),
        (b"a: b: c", "error encoding patch: yaml: mapping values are not allowed"),
        (b"{", "error decoding patch: error converting YAML to JSON: yaml: line 1: did not find"),
        (b"", "invalid object type: /, Kind="),
    ],
)
def test_applies_that_are_none(text: bytes, told: str) -> None:
    """They are read as YAML, then as a map, then as an object."""
    with pytest.raises(failure.ApiFailure, match=told):
        bodies.read_apply(text, MAPS, "Warn")


def test_options() -> None:
    """The body of a DELETE is an object."""
    assert bodies.read_options(b"a: 1", bodies.YAML) == {"a": 1}
    for text in (b"{", b"[]"):
        with pytest.raises(failure.ApiFailure, match="couldn't get version/kind"):
            bodies.read_options(text, bodies.JSON)
