"""The metadata of objects in protobuf, and answers in all forms that are understood."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from ansible_operator.kube.proxy import interceptor, protobuf, representation


def varint(number: int) -> bytes:
    """A number as protobuf has it."""
    parts = [number & 0x7F]
    while number := number >> 7:
        parts[-1] |= 0x80
        parts.append(number & 0x7F)
    return bytes(parts)


def field(number: int, content: str | bytes | int) -> bytes:
    """A field of a message."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    raw = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def envelope(kind: str, message: bytes, version: str = "v1") -> bytes:
    """What is on the wire."""
    return b"k8s\x00" + field(1, field(1, version) + field(2, kind)) + field(2, message)


OWNER = field(1, "Owner") + field(3, "one") + field(4, "u1") + field(5, "test.example.com/v1")
META = (
    field(1, "x")
    + field(2, "")
    + field(3, "ns")
    + field(4, "")
    + field(5, "u9")
    + field(6, "12345")
    + field(7, 300)
    + field(8, field(1, 1_700_000_000))
    + field(11, field(1, "label") + field(2, "value"))
    + field(12, field(1, "operator-sdk/primary-resource") + field(2, "ns/one"))
    + field(12, field(1, "empty") + field(2, ""))
    + field(13, OWNER + field(6, 1) + field(7, 0))
    + field(13, field(4, "u2"))
    + field(17, field(1, "kubectl"))
)
READ = {
    "name": "x",
    "namespace": "ns",
    "uid": "u9",
    "resourceVersion": "12345",
    "annotations": {"operator-sdk/primary-resource": "ns/one", "empty": ""},
    "ownerReferences": [
        {
            "kind": "Owner",
            "name": "one",
            "uid": "u1",
            "apiVersion": "test.example.com/v1",
            "controller": True,
            "blockOwnerDeletion": False,
        },
        {"uid": "u2"},
    ],
}


def test_object() -> None:
    """Name, namespace, uid, version, owners and annotations, past all other fields."""
    spec = field(2, field(9, b"\x00" * 300)) + b"\x19" + b"\x01" * 8 + b"\x25" + b"\x01" * 4
    found = protobuf.read(envelope("Deployment", field(1, META) + spec, "apps/v1"))
    assert found == {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": READ}


def test_object_without_metadata() -> None:
    """Nothing is empty, not an error."""
    assert protobuf.read(envelope("Node", b"")) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {},
    }


def test_status_of_a_deletion() -> None:
    """Its details name what was deleted."""
    details = field(1, "x") + field(3, "configmaps") + field(6, "u9") + field(5, 1)
    body = envelope("Status", field(1, b"") + field(2, "Success") + field(5, details))
    assert protobuf.read(body)["details"] == {"name": "x", "kind": "configmaps", "uid": "u9"}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "does not begin with the mark"),
        (b"{}", "does not begin with the mark"),
        (b"k8s\x00\x0a", "ends within a number"),
        (b"k8s\x00\x0a\x05v1", "ends within a field"),
        (b"k8s\x00\x08\x01", "a number where"),
        (b"k8s\x00\x0b", "unknown wire type 3"),
        (b"k8s\x00\x0a\x80", "ends within a number"),
        (b"k8s\x00" + b"\xff" * 11, "a number that is too long"),
        (envelope("X", field(1, field(1, 7))), "a number where"),
        (envelope("X", field(1, field(1, b"\xff"))), "can't decode byte"),
    ],
)
def test_no_message(body: bytes, problem: str) -> None:
    """What is no message, or ends too early, is a ValueError that says so."""
    with pytest.raises(ValueError, match=problem):
        protobuf.read(body)


@hypothesis.given(st.binary(max_size=40), st.integers(0, 300))
def test_noise(noise: bytes, cut: int) -> None:
    """Whatever comes from outside is read or a ValueError, nothing else."""
    whole = envelope("ConfigMap", field(1, META) + noise)
    for body in (b"k8s\x00" + noise, whole, whole[:cut]):
        with contextlib.suppress(ValueError):
            assert isinstance(protobuf.read(body), dict)


def answer(content_type: str, body: bytes, **headers: str) -> interceptor.Answer:
    """An answer of the API server."""
    return interceptor.Answer(200, {"content-type": content_type, **headers}, body)


@pytest.mark.parametrize(
    ("content_type", "body", "found"),
    [
        ("application/json", b'{"kind": "Pod"}', {"kind": "Pod"}),
        ("application/json;charset=utf-8", b'{"kind": "Pod"}', {"kind": "Pod"}),
        ("application/json", b'{"kind": "Table"}', None),
        ("application/json", b"[]", None),
        ("application/json", b"{", None),
        ("application/json", b"[" * 100_000, None),
        ("application/cbor", b"{}", None),
        ("application/vnd.kubernetes.protobuf", b"{}", None),
    ],
)
def test_answers(content_type: str, body: bytes, found: Any) -> None:
    """JSON and protobuf are understood; all else is nothing."""
    assert representation.read(answer(content_type, body)) == found


def test_answers_in_protobuf() -> None:
    """The same object as in JSON."""
    body = envelope("ConfigMap", field(1, META))
    shown = representation.read(answer("application/vnd.kubernetes.protobuf", body))
    assert shown == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": READ}
    assert json.dumps(shown)


def test_warnings() -> None:
    """One line in quotes, after those of the server."""
    plain = representation.with_warning(answer("x", b"body"), 'a "b"\nc\\d')
    assert plain.headers["warning"] == "299 - \"a 'b' c/d\""
    assert (plain.status, plain.body) == (200, b"body")
    second = representation.with_warning(answer("x", b"", warning='299 - "old"'), "new")
    assert second.headers["warning"] == '299 - "old", 299 - "new"'
