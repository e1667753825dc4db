"""The store of an informer: what it reports, and that the reports are all there is to know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from ansible_operator import children, objects
from ansible_operator.kube import store

KIND = children.ChildKind(objects.GVK("", "v1", "ConfigMap"), "configmaps", True)
A, M, D = children.Event.ADDED, children.Event.MODIFIED, children.Event.DELETED
Key: TypeAlias = tuple[str, str]
World: TypeAlias = dict[Key, children.Digest]


def digest(name: str, version: int, uid: str = "u", namespace: str = "ns") -> children.Digest:
    """What is remembered of an object."""
    meta = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": str(version)}
    return children.digest({"metadata": meta})


def told(changes: list[children.Change]) -> list[tuple[children.Event, str, str, str]]:
    """Event, name, and old and new resourceVersion of each."""
    return [
        (c.event, c.new.name, c.old.resource_version if c.old else "", c.new.resource_version)
        for c in changes
    ]


def test_events_are_reported_with_what_was_known() -> None:
    """Added without old, modified with it, deleted with the last state that the server told."""
    known = store.Store(KIND)
    assert told(known.happened(A, digest("a", 1))) == [(A, "a", "", "1")]
    assert told(known.happened(M, digest("a", 2))) == [(M, "a", "1", "2")]
    assert told(known.happened(D, digest("a", 3))) == [(D, "a", "2", "3")]
    assert len(known) == 0


def test_what_is_known_already_is_not_reported() -> None:
    """The same resourceVersion again, and the end of what was never there."""
    known = store.Store(KIND)
    known.happened(A, digest("a", 1))
    assert known.happened(M, digest("a", 1)) == []
    assert known.happened(D, digest("b", 2)) == []
    assert known.listed("", [digest("a", 1)]) == []


def test_a_list_tells_what_vanished_came_and_changed() -> None:
    """What vanished first, with the last known state as old and new."""
    known = store.Store(KIND)
    known.listed("", [digest("a", 1), digest("b", 2)])
    changes = known.listed("", [digest("b", 3), digest("c", 4)])
    assert told(changes) == [(D, "a", "1", "1"), (M, "b", "2", "3"), (A, "c", "", "4")]
    assert not any(change.initial for change in changes)


def test_a_namesake_is_another_object() -> None:
    """Deleted and made again while nobody looked: both are told, in a list and as an event."""
    known = store.Store(KIND)
    known.listed("", [digest("a", 1, "one")])
    changes = known.listed("", [digest("a", 5, "two")])
    assert [(c.event, c.new.uid) for c in changes] == [(D, "one"), (A, "two")]
    changes = known.happened(M, digest("a", 7, "three"))
    assert [(c.event, c.new.uid) for c in changes] == [(D, "two"), (A, "three")]
    assert known.happened(D, digest("a", 6, "two")) == []


def test_the_first_list_and_late_listeners_are_told_as_initial() -> None:
    """So that nobody takes what was there for something that happened."""
    known = store.Store(KIND)
    first = known.listed("", [digest("a", 1)], initial=True)
    assert [(c.event, c.initial) for c in first] == [(A, True)]
    assert known.present() == first
    assert known.present()[0].kind == KIND


def test_a_list_of_one_namespace_says_nothing_of_others() -> None:
    """What is in other namespaces stays."""
    known = store.Store(KIND)
    known.listed("x", [digest("a", 1, namespace="x")])
    known.listed("y", [digest("a", 2, namespace="y")])
    assert told(known.listed("x", [])) == [(D, "a", "1", "1")]
    assert [(d.namespace, d.name) for d in known] == [("y", "a")]


# Each step changes the server (0 to 2: put, replace, delete) or tells the informer (3: the events
# since it was told last, 4: a list, as after a gap).
STEPS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("ab"), st.sampled_from("xy")), max_size=40
)


class Server:
    """Objects, their history, and what of it was told to a store."""

    def __init__(self) -> None:
        self.objects: World = {}
        self.events: list[tuple[children.Event, children.Digest]] = []
        self.version = 0

    def change(self, what: int, name: str, namespace: str) -> None:
        """Make, change or delete an object; or make it again under the same name."""
        self.version += 1
        key = (namespace, name)
        old = self.objects.get(key)
        if old is not None and what >= 1:
            del self.objects[key]
            self.events.append((D, digest(name, self.version, old.uid, namespace)))
            self.version += 1
        if what <= 1:
            uid = old.uid if old is not None and what == 0 else f"uid-{self.version}"
            event = M if old is not None and what == 0 else A
            self.objects[key] = digest(name, self.version, uid, namespace)
            self.events.append((event, self.objects[key]))


def replayed(world: World, changes: Sequence[children.Change]) -> None:
    """Do to a world what was reported; every report must fit what it has."""
    for change in changes:
        key = (change.new.namespace, change.new.name)
        assert world.get(key) == change.old
        if change.event is D:
            assert world.pop(key).uid == change.new.uid
        else:
            assert (change.event is A) == (change.old is None)
            assert change.old != change.new
            world[key] = change.new


@given(STEPS)
def test_reports_replay_to_the_state_of_the_server(
    steps: list[tuple[int, str, str]],
) -> None:
    """Whatever happens and however it is told: the store and the replayed reports have it all."""
    server, known, world = Server(), store.Store(KIND), World()
    for what, name, namespace in [*steps, (3, "", "")]:
        if what < 3:
            server.change(what, name, namespace)
            continue
        if what == 3:
            for event, obj in server.events:
                replayed(world, known.happened(event, obj))
        else:
            replayed(world, known.listed("", list(server.objects.values())))
        server.events.clear()
        assert {(d.namespace, d.name): d for d in known} == server.objects == world


@given(STEPS, st.integers(0, 40))
def test_events_that_are_told_again_change_nothing(
    steps: list[tuple[int, str, str]], cut: int
) -> None:
    """A list may already have what the events after it tell."""
    server, known, world = Server(), store.Store(KIND), World()
    for number, (what, name, namespace) in enumerate(steps):
        server.change(what % 3, name, namespace)
        if number == cut:
            replayed(world, known.listed("", list(server.objects.values())))
            server.events.clear()
    for event, obj in server.events:
        replayed(world, known.happened(event, obj))
        assert known.happened(event, obj) == []
    assert {(d.namespace, d.name): d for d in known} == server.objects == world
