"""Names of kinds and objects, and readers that bear any object."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator import objects

GVK = objects.GVK("cache.example.com", "v1alpha1", "Memcached")
CORE = objects.GVK("", "v1", "Secret")


def test_gvk_texts() -> None:
    """apiVersion as objects have it, text as Go prints it."""
    assert GVK.api_version == "cache.example.com/v1alpha1"
    assert str(GVK) == "cache.example.com/v1alpha1, Kind=Memcached"
    assert CORE.api_version == "v1"
    assert str(CORE) == "/v1, Kind=Secret"


def test_gvk_of() -> None:
    """The kind that an object says; empty texts where it says nothing."""
    assert objects.gvk_of({"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached"}) == GVK
    assert objects.gvk_of({"apiVersion": "v1", "kind": "Secret"}) == CORE
    assert objects.gvk_of({}) == objects.GVK("", "", "")


def test_key() -> None:
    """Keys name kind, namespace and name, and sort."""
    key = objects.key_of({"metadata": {"namespace": "ns", "name": "a"}}, GVK)
    assert key == objects.ObjectKey(GVK, "ns", "a")
    assert str(key) == "Memcached.cache.example.com ns/a"
    cluster_scoped = objects.key_of({"metadata": {"name": "a"}}, CORE)
    assert str(cluster_scoped) == "Secret.core a"
    assert sorted([key, cluster_scoped]) == [cluster_scoped, key]


def test_version_priority() -> None:
    """Versions sort as the API server prefers them."""
    expected = ["v10", "v2", "v1", "v1beta2", "v1beta1", "v1alpha1", "v1x", "foo"]
    assert sorted(expected, key=objects.version_priority, reverse=True) == expected


FULL: dict[str, Any] = {
    "metadata": {
        "name": "a",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "labels": {"l": "1"},
        "annotations": {"n": "2"},
        "finalizers": ["f"],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    },
    "spec": {"size": 1},
    "status": {"ready": 1},
}


def test_readers() -> None:
    """Each reader gives its field."""
    assert objects.name(FULL) == "a"
    assert objects.namespace(FULL) == "ns"
    assert objects.uid(FULL) == "u"
    assert objects.resource_version(FULL) == "7"
    assert objects.generation(FULL) == 3
    assert objects.labels(FULL) == {"l": "1"}
    assert objects.annotations(FULL) == {"n": "2"}
    assert objects.finalizers(FULL) == ["f"]
    assert objects.is_deleted(FULL)
    assert objects.spec(FULL) == {"size": 1}
    assert objects.status(FULL) == {"ready": 1}


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"metadata": None, "spec": None, "status": None},
        {"metadata": [], "spec": "text", "status": [1]},
        {"metadata": {"labels": None, "annotations": "x", "finalizers": None, "generation": None}},
    ],
)
def test_readers_bear_anything(obj: dict[str, Any]) -> None:
    """What is absent, null or of another type reads as empty."""
    texts = (objects.name(obj), objects.namespace(obj), objects.uid(obj))
    assert texts == ("", "", "")
    assert objects.resource_version(obj) == ""
    assert objects.generation(obj) == 0
    assert objects.labels(obj) == objects.annotations(obj) == {}
    assert objects.finalizers(obj) == []
    assert not objects.is_deleted(obj)
    assert objects.spec(obj) == objects.status(obj) == {}


def test_finalizers_is_a_copy() -> None:
    """Changing the result does not change the object."""
    objects.finalizers(FULL).append("other")
    assert objects.finalizers(FULL) == ["f"]
