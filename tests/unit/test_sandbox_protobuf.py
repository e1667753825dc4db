"""The protobuf form of objects: every kind of field, and what is no message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_operator.sandbox import kinds
from ansible_operator.sandbox.reading import protobuf
from ansible_operator.sandbox.schemas import schema

Obj = dict[str, Any]


def varint(number: int) -> bytes:
    """A number as messages have it."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, content: bytes | str | int) -> bytes:
    """A field of a message."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def read(version: str, kind: str, *fields: bytes) -> Obj:
    """What is read of a message."""
    head = field(1, version) + field(2, kind)
    return protobuf.read(protobuf.MAGIC + field(1, head) + field(2, b"".join(fields)))


def test_metadata_and_maps() -> None:
    """Texts, maps, lists, times and truth values of the metadata."""
    owner = field(1, "ConfigMap") + field(3, "c") + field(4, "u") + field(5, "v1") + field(6, 1)
    meta = [field(1, "n"), field(8, field(1, 1_700_000_000)), field(13, owner), field(14, "a/f")]
    meta += [field(11, field(1, key) + field(2, key.upper())) for key in "ab"]
    assert read("v1", "Secret", field(1, b"".join(meta)), field(3, "Opaque")) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "n",
            "creationTimestamp": "2023-11-14T22:13:20Z",
            "ownerReferences": [
                {
                    "kind": "ConfigMap",
                    "name": "c",
                    "uid": "u",
                    "apiVersion": "v1",
                    "controller": True,
                }
            ],
            "finalizers": ["a/f"],
            "labels": {"a": "A", "b": "B"},
        },
        "type": "Opaque",
    }


def test_fields_that_messages_nest_deeper() -> None:
    """A probe's handler and a volume's source are fields of their own in JSON."""
    probe = field(1, field(2, field(1, "/h") + field(2, field(1, 1) + field(3, "http"))))
    probe += field(2, -1)
    container = field(1, "c") + field(10, probe)
    limits = field(1, "cpu") + field(2, field(1, "500m"))
    container += field(8, field(1, limits))
    volume = field(1, "v") + field(2, field(6, field(1, "s")))
    found = read("v1", "Pod", field(2, field(1, volume) + field(2, container)))
    assert found["spec"]["volumes"] == [{"name": "v", "secret": {"secretName": "s"}}]
    assert found["spec"]["containers"] == [
        {
            "name": "c",
            "livenessProbe": {"httpGet": {"path": "/h", "port": "http"}, "initialDelaySeconds": -1},
            "resources": {"limits": {"cpu": "500m"}},
        }
    ]


def test_special_types() -> None:
    """Bytes, embedded JSON, numbers or texts, short times, lists in maps, packed numbers."""
    assert read("v1", "Secret", field(2, field(1, "k") + field(2, b"\x00\xff")))["data"] == {
        "k": "AP8="
    }
    embedded = field(1, json.dumps({"a": 1}))
    assert read("apps/v1", "ControllerRevision", field(2, embedded))["data"] == {"a": 1}
    port = field(3, 80) + field(4, field(2, 8080))
    assert read("v1", "Service", field(2, field(1, port)))["spec"]["ports"] == [
        {"port": 80, "targetPort": 8080}
    ]
    renewed = field(4, field(1, 1) + field(2, 500_000_000))
    lease = read("coordination.k8s.io/v1", "Lease", field(2, renewed))
    assert lease["spec"] == {"renewTime": "1970-01-01T00:00:01.500000Z"}
    extra = field(1, "scopes") + field(2, field(1, "a") + field(1, "b"))
    review = read("authorization.k8s.io/v1", "SubjectAccessReview", field(2, field(5, extra)))
    assert review["spec"] == {"extra": {"scopes": ["a", "b"]}}
    packed = field(4, varint(1) + varint(-2))
    found = read("v1", "Pod", field(2, field(14, packed)))
    assert found["spec"]["securityContext"] == {"supplementalGroups": [1, -2]}


def test_what_is_not_known_is_left_out() -> None:
    """Fields with other numbers, and the fields of kinds that are not built in."""
    assert read("v1", "ConfigMap", field(99, "x"), field(98, 1)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
    }
    assert read("example.com/v1", "Thing", field(1, "x")) == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
    }
    head = protobuf.MAGIC + field(2, field(2, field(1, "a") + field(2, "b")))
    assert protobuf.read(head, "v1", "ConfigMap")["data"] == {"a": "b"}


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "empty data"),
        (b"{}", "expected prefix"),
        (protobuf.MAGIC + b"\x0a", "unexpected EOF"),
        (protobuf.MAGIC + b"\x0a\x05a", "unexpected EOF"),
        (protobuf.MAGIC + b"garbage", "proto: illegal"),
        (protobuf.MAGIC + field(1, 5), "proto: illegal"),
        (protobuf.MAGIC + field(1, field(1, b"\xff")), "utf-8"),
    ],
)
def test_what_is_no_message(raw: bytes, told: str) -> None:
    """It is refused, whatever it is."""
    with pytest.raises(ValueError, match=told):
        protobuf.read(raw)


def test_all_fields_have_numbers() -> None:
    """Every field of the built-in kinds that are served has one, but for CRDs."""
    numbers = protobuf._numbers()
    todo = {
        protobuf._definition(found.api_version, found.kind)
        for found in kinds.builtins()
        if found.group != "apiextensions.k8s.io"
    }
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        seen.add(name)
        found = schema.definitions()[name]
        if name in protobuf._SPECIAL or name.rpartition(".")[2].startswith("JSON"):
            continue
        given = set(numbers[name].values())
        while words := [word for word in given if word.startswith("+")]:
            for word in words:
                given.discard(word)
                given |= set(numbers[f"{name.rpartition('.')[0]}.{word[1:]}"].values())
        missing = set(found.get("properties", {})) - given - {"apiVersion", "kind"}
        assert not missing, f"{name}: {missing}"
        text = json.dumps(found.get("properties", {}))
        refs = {part.split('"')[0] for part in text.split(schema.PREFIX)[1:]}
        todo |= refs - seen
