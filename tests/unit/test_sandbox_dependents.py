"""The index of owner references."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import dependents, storage

Obj = dict[str, Any]
PODS, MAPS = ("", "pods"), ("", "configmaps")


def obj(name: str, *owners: str, controller: bool = False) -> Obj:
    """An object with owners of these uids."""
    references = [{"uid": uid, "controller": controller} for uid in owners]
    return {
        "metadata": {"namespace": "ns", "name": name, "uid": name, "ownerReferences": references}
    }


def build() -> tuple[storage.Storage, dependents.Dependents]:
    """An index that follows a storage."""
    store = storage.Storage()
    index = dependents.Dependents(store)
    store.subscribe(index.note)
    return store, index


def names(found: list[Obj]) -> list[str]:
    """The names of objects."""
    return [one["metadata"]["name"] for one in found]


def test_index_follows_the_storage() -> None:
    """References that come, change and go are followed, by owner and by resource."""
    store, index = build()
    store.put(MAPS, obj("a", "one", "two"))
    store.put(PODS, obj("p", "one"))
    assert names(index.of("one")) == ["a", "p"]
    assert names(index.of("one", PODS)) == ["p"]
    store.put(MAPS, obj("a", "two"))
    assert names(index.of("one")) == ["p"]
    store.remove(PODS, "ns", "p")
    assert index.of("one") == []
    assert index.places("two") == [(MAPS, "ns", "a")]
    assert index.places("nobody") == []


def test_index_knows_what_can_be_adopted() -> None:
    """Only pods and the like that nobody controls can be adopted."""
    store, index = build()
    store.put(MAPS, obj("a"))
    store.put(PODS, obj("p"))
    store.put(PODS, obj("q", "one", controller=True))
    store.put(PODS, obj("r", "one"))
    assert names(index.free(PODS, "ns")) == ["p", "r"]
    assert index.free(MAPS, "ns") == []
    store.put(PODS, obj("p", "one", controller=True))
    store.remove(PODS, "ns", "r")
    assert index.free(PODS, "ns") == []
