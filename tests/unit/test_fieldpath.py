"""Paths to fields: how they are written and what they find."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator import fieldpath, objects, reference

OBJ = {
    "metadata": {"name": "one", "namespace": "prod"},
    "spec": {
        "tls": {"secretName": "cert"},
        "users": [{"from": {"name": "a", "namespace": "x"}}, {"from": {"name": "b"}}, "odd"],
        "stores": {"s3": {"secret": "key"}, "gcs": {"secret": "token"}},
        "a.b": {"c d": 1},
        "null": None,
    },
}
SECRET = objects.GVK("", "v1", "Secret")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("spec.tls.secretName", ["cert"]),
        (".spec.tls.secretName", ["cert"]),
        ("spec.users[*].from.name", ["a", "b"]),
        ("spec.users[1].from.name", ["b"]),
        ("spec.users[9].from.name", []),
        ("spec.stores[*].secret", ["key", "token"]),
        ("spec['a.b'][\"c d\"]", [1]),
        ("spec.null", [None]),
        ("spec.null.more", []),
        ("spec.tls.secretName.more", []),
        ("spec.users.from", []),
        ("none", []),
    ],
)
def test_find(text: str, values: list[Any]) -> None:
    """Keys, items and all of a list or map are found; what is not there is nothing."""
    assert [found.value for found in fieldpath.parse(text).find(OBJ)] == values


def test_where_something_was_found() -> None:
    """Each [*] tells which item or key it stood for."""
    found = list(fieldpath.parse("spec.users[*].from.name").find(OBJ))
    assert [item.at for item in found] == [(0,), (1,)]
    assert [item.at for item in fieldpath.parse("spec.stores[*].secret").find(OBJ)] == [
        ("s3",),
        ("gcs",),
    ]


@pytest.mark.parametrize(
    "text",
    ["", ".", "[0]", "[*].a", "a..b", "a.", "a[", "a[]", "a[x]", "a['b]", "a b", "a[*]b", "a.[b"],
)
def test_no_paths(text: str) -> None:
    """What cannot be read is refused with the text in the message."""
    with pytest.raises(fieldpath.FieldPathError) as caught:
        fieldpath.parse(text)
    assert f'"{text}"' in str(caught.value)


def named(path: str, namespace: str = "", obj: objects.Obj = OBJ) -> list[tuple[str, str]]:
    """What a reference finds in an object."""
    where = fieldpath.parse(namespace) if namespace else None
    return list(reference.Reference(fieldpath.parse(path), SECRET, where).named(obj))


def test_reference_in_the_own_namespace() -> None:
    """Without a field for it the namespace is that of the object; other values are no names."""
    assert named("spec.tls.secretName") == [("prod", "cert")]
    assert named("spec.users[*]") == [("prod", "odd")]
    assert named("spec.null") == []


def test_reference_with_a_namespace() -> None:
    """Name and namespace belong to the same item; an empty namespace is the object's own."""
    path = "spec.users[*].from"
    assert named(f"{path}.name", f"{path}.namespace") == [("x", "a"), ("prod", "b")]
    assert named("spec.tls.secretName", "spec.users[0].from.namespace") == [("x", "cert")]
    assert named("spec.tls.secretName", "spec.tls.namespace") == [("prod", "cert")]


def test_reference_of_a_cluster_scoped_object() -> None:
    """Without a namespace anywhere none is told."""
    wide = {**OBJ, "metadata": {"name": "one"}}
    assert named("spec.tls.secretName", obj=wide) == [("", "cert")]


@pytest.mark.parametrize(
    ("namespace", "path", "good"),
    [
        ("spec.ns", "spec.a[*].name", True),
        ("spec.a[*].ns", "spec.a[*].name", True),
        ("spec.a[*].ns", "spec.a[*].b[*].name", True),
        ("spec.a[*].b[*].ns", "spec.a[*].name", False),
        ("spec.b[*].ns", "spec.a[*].name", False),
    ],
)
def test_namespace_that_belongs(namespace: str, path: str, good: bool) -> None:
    """A namespace in a list must be in the list of the name."""
    assert reference.belongs(fieldpath.parse(namespace), fieldpath.parse(path)) is good
