"""Tests of ansible_operator.sandbox.storage: versions, order, changes and what is forgotten."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.sandbox import storage

KEY = ("", "configmaps")
NAMES = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"))


def configmap(name: str, namespace: str = "a", **data: str) -> dict[str, Any]:
    """A config map as it is stored."""
    return {"kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": data}


def test_every_write_has_a_version_of_its_own() -> None:
    """The counter is one for all resources, and goes up with removals too."""
    store = storage.Storage()
    first = store.put(KEY, configmap("x"))
    other = store.put(("", "secrets"), configmap("x"))
    gone = store.remove(KEY, "a", "x")
    versions = [int(obj["metadata"]["resourceVersion"]) for obj in (first, other, gone)]
    assert versions == [store.revision - 2, store.revision - 1, store.revision]


def test_objects_are_not_changed_in_place() -> None:
    """What was read stays as it was when something else is put in its place."""
    store = storage.Storage()
    given_away = configmap("x", n="1")
    first = store.put(KEY, given_away)
    store.put(KEY, configmap("x", n="2"))
    assert first["data"] == {"n": "1"}
    assert "resourceVersion" not in given_away["metadata"]


@given(st.lists(NAMES))
def test_lists_are_in_order_and_of_one_namespace(names: list[tuple[str, str]]) -> None:
    """Whatever the order of the writes."""
    store = storage.Storage()
    for namespace, name in names:
        store.put(KEY, configmap(name, namespace))
    found = [(o["metadata"]["namespace"], o["metadata"]["name"]) for o in store.list(KEY)]
    assert found == sorted(set(names))
    assert [o["metadata"]["name"] for o in store.list(KEY, "b")] == [
        n for s, n in found if s == "b"
    ]
    assert store.count(KEY) == len(found)


def test_changes_tell_what_was_there_before() -> None:
    """A watcher sees every change once, with the object and the one that it replaces."""
    store = storage.Storage()
    seen: list[storage.Change] = []
    cancel = store.subscribe(seen.append)
    store.put(KEY, configmap("x", n="1"))
    store.put(KEY, configmap("x", n="2"))
    store.remove(KEY, "a", "x")
    cancel()
    store.put(KEY, configmap("y"))
    assert [change.type for change in seen] == ["ADDED", "MODIFIED", "DELETED"]
    assert [change.old and change.old["data"] for change in seen] == [None, {"n": "1"}, {"n": "2"}]


def test_changes_after_a_version_until_they_are_forgotten() -> None:
    """Old versions are answered with the changes since, too old ones with None."""
    store = storage.Storage(history=3)
    start = store.revision
    for number in range(3):
        store.put(KEY, configmap("x", n=str(number)))
    since = store.since(KEY, start)
    assert since is not None
    assert [change.object["data"]["n"] for change in since] == ["0", "1", "2"]
    store.put(KEY, configmap("x", n="3"))
    assert store.since(KEY, start) is None
    assert store.since(KEY, store.revision) == []


def test_large_changes_are_forgotten_sooner() -> None:
    """What is kept is bounded in bytes, too; the latest change is there in any case."""
    store = storage.Storage(room=100_000)
    versions = [store.revision]
    for number in range(10):
        store.put(KEY, configmap("x", n=f"{number}" + "x" * 30_000))
        versions.append(store.revision)
    assert [store.since(KEY, version) is not None for version in versions[-5:]] == [
        False,
        True,
        True,
        True,
        True,
    ]
    store.put(KEY, configmap("x", n="x" * 1_000_000))
    assert store.since(KEY, versions[-1]) is not None
    assert store.since(KEY, versions[-2]) is None


def test_a_resource_that_is_opened_begins_then() -> None:
    """Versions from before are too old, so that nobody misses what was there before."""
    store = storage.Storage()
    store.put(KEY, configmap("x"))
    store.open(("example.com", "things"))
    assert store.since(("example.com", "things"), 1) is None
    assert store.since(("example.com", "things"), store.revision) == []


def test_a_closed_resource_is_forgotten_and_its_watchers_are_told() -> None:
    """Who watched it learns that there is nothing to come."""
    store = storage.Storage()
    closed: list[tuple[str, str]] = []
    store.subscribe(lambda change: None, closed.append)
    store.put(KEY, configmap("x"))
    store.close(KEY)
    store.close(KEY)
    assert closed == [KEY]
    assert store.count(KEY) == 0
