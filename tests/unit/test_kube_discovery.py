"""Resources of kinds, their paths, and the choice among versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator import objects, watches
from ansible_operator.kube import discovery

CACHE = objects.GVK("cache.example.com", "v1", "Memcached")
LIST = {
    "resources": [
        {"name": "memcacheds/status", "kind": "Memcached", "namespaced": True},
        {"name": "memcacheds", "kind": "Memcached", "namespaced": True},
        {"name": "plans", "kind": "Plan", "namespaced": False},
    ]
}


def watch(version: str, kind: str = "Memcached") -> watches.Watch:
    """A watch of a version of a kind."""
    gvk = objects.GVK("cache.example.com", version, kind)
    return watches.Watch(gvk, watches.Playbook(Path("/p.yml")))


def test_a_kind_is_found_by_its_name_and_not_by_a_subresource() -> None:
    """The status entry says that there is a status, whatever its place in the list."""
    found = discovery.find(LIST, CACHE)
    assert found == discovery.Resource(CACHE, "memcacheds", namespaced=True, has_status=True)
    assert str(found) == "memcacheds.cache.example.com"


def test_a_cluster_scoped_kind_without_status_is_recognised() -> None:
    """Scope and the missing subresource come from the same answer."""
    plan = objects.GVK("cache.example.com", "v1", "Plan")
    assert discovery.find(LIST, plan) == discovery.Resource(plan, "plans", False, False)
    assert discovery.find(LIST, objects.GVK("cache.example.com", "v1", "Other")) is None
    assert discovery.find({"resources": None}, plan) is None


@pytest.mark.parametrize(
    ("gvk", "namespaced", "args", "expected"),
    [
        (CACHE, True, ("ns", "x"), "/apis/cache.example.com/v1/namespaces/ns/things/x"),
        (CACHE, True, ("", ""), "/apis/cache.example.com/v1/things"),
        (CACHE, False, ("ns", "x"), "/apis/cache.example.com/v1/things/x"),
        (objects.GVK("", "v1", "Secret"), True, ("ns", "x"), "/api/v1/namespaces/ns/things/x"),
        (CACHE, False, ("", "a/../b"), "/apis/cache.example.com/v1/things/a%2F..%2Fb"),
    ],
)
def test_paths(gvk: objects.GVK, namespaced: bool, args: tuple[str, str], expected: str) -> None:
    """Core kinds are under /api, others under /apis, and names are quoted."""
    resource = discovery.Resource(gvk, "things", namespaced, True)
    assert discovery.path(resource, *args) == expected
    if args[1]:
        assert discovery.path(resource, *args, "status") == f"{expected}/status"


def test_of_several_versions_the_newest_served_runs() -> None:
    """The order is the API server's: stable before beta before alpha, and not that of the file."""
    listed = [watch("v1beta1"), watch("v1"), watch("v2alpha1"), watch("v1", "Other")]
    choice = discovery.choose(listed, {entry.gvk for entry in listed})
    assert [str(entry.gvk) for entry in choice.running] == [
        "cache.example.com/v1, Kind=Memcached",
        "cache.example.com/v1, Kind=Other",
    ]
    assert [(a.gvk.version, b.gvk.version) for a, b in choice.superseded] == [
        ("v1beta1", "v1"),
        ("v2alpha1", "v1"),
    ]


def test_a_newer_version_that_is_not_served_supersedes_nothing() -> None:
    """What is not served is neither run nor reported as superseded."""
    listed = [watch("v1beta1"), watch("v1")]
    choice = discovery.choose(listed, {listed[0].gvk})
    assert choice == discovery.Choice((listed[0],), ())
