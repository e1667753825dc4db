"""Owners run again when their dependents change, but not for what they did themselves."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import children_fakes as fakes
import engine_fakes
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator import children, objects
from ansible_operator.control import (
    dependents,
    loopguard,
    ownwrites,
)
from ansible_operator.control.priority import Priority

ONE, TWO = fakes.owner(), fakes.owner("two")
OTHER_VERSION = objects.GVK("db.example.com", "v1beta1", "Etcd")
REFERENCE, ANNOTATION = children.Tie.REFERENCE, children.Tie.ANNOTATION


class Bench:
    """Dependents whose requests for runs are kept, as (name, priority, delay)."""

    def __init__(self, runs: int = 3) -> None:
        self.clock = engine_fakes.Clock()
        self.informers = fakes.FakeInformers()
        self.asked: list[tuple[str, Priority, float]] = []
        self.dependents = dependents.Dependents(
            self.informers,
            self._enqueue,
            guard=loopguard.LoopGuard(runs, 600.0),
            now=self.clock,
        )

    def _enqueue(self, key: objects.ObjectKey, priority: Priority, delay: float) -> None:
        self.free()
        self.asked.append((key.name, priority, delay))

    def free(self) -> None:
        """Fails if the lock is held, by whomever."""
        asker = threading.Thread(target=self.dependents.note, args=(ONE.key,))
        asker.start()
        asker.join(60)
        assert not asker.is_alive(), "called out with the lock held"

    def owns(
        self,
        owner: children.Owner = ONE,
        kind: children.ChildKind = fakes.CONFIG_MAP,
        tie: children.Tie = REFERENCE,
    ) -> None:
        """The proxy tells of an owner."""
        self.dependents.owns(owner, kind, tie)

    def wrote(self, version: str, owner: children.Owner = ONE, **changes: Any) -> None:
        """The proxy tells of a write of ``settings``."""
        write = children.Write(
            "patch", fakes.CONFIG_MAP, "prod", "settings", "uid-settings", version
        )
        self.dependents.wrote(owner, replace(write, **changes))

    def changes(self, version: str, manager: str = "kubectl-edit", **metadata: Any) -> None:
        """``settings`` changes to this version; the state before is of the version 0."""
        entries = [fakes.entry("role", 1), fakes.entry(manager, 2 + int(version))]
        old = fakes.digest(resourceVersion="0", **metadata)
        new = fakes.digest(resourceVersion=version, **{"managedFields": entries, **metadata})
        self.informers.tell(fakes.modified(old, new))

    def vanishes(self, **metadata: Any) -> None:
        """``settings`` is gone."""
        self.informers.tell(fakes.deleted(fakes.digest(**metadata)))

    @contextlib.contextmanager
    def running(self, owner: children.Owner = ONE) -> Iterator[None]:
        """A run in which the owner owns ``settings``."""
        with self.dependents.running(owner):
            self.owns(owner)
            yield

    def names(self) -> list[str]:
        """Whose runs were asked for since this was last asked."""
        found = [name for name, _, _ in self.asked]
        self.asked.clear()
        return found


def ready() -> Bench:
    """A bench on which object ``one`` owns ConfigMaps."""
    bench = Bench()
    bench.owns()
    return bench


def test_change_asks_for_a_run() -> None:
    """A change by somebody else asks for one run of the owner, before retries and routine."""
    bench = ready()
    bench.changes("5")
    assert bench.asked == [("one", Priority.DEPENDENT, 0.0)]


def test_deletion_asks_for_a_run() -> None:
    """So does its end."""
    bench = ready()
    bench.vanishes()
    assert bench.asked == [("one", Priority.DEPENDENT, 0.0)]


def test_being_deleted_waits_a_little() -> None:
    """While it is being deleted the run can wait for its end, with which it merges."""
    bench = ready()
    old = fakes.digest()
    going = fakes.digest(resourceVersion="2", deletionTimestamp="2026-01-01T12:00:00Z")
    bench.informers.tell(fakes.modified(old, going))
    bench.informers.tell(fakes.deleted(going))
    waits = [delay for _, _, delay in bench.asked]
    assert waits == [dependents.GOING_WAIT, 0.0]


def test_what_does_not_count_asks_for_nothing() -> None:
    """Creation, and a change of the status alone."""
    bench = ready()
    new = fakes.digest()
    bench.informers.tell(children.Change(fakes.CONFIG_MAP, children.Event.ADDED, None, new))
    status = [fakes.entry("role"), fakes.entry("c", 5, "status", status=1)]
    later = [fakes.entry("role"), fakes.entry("c", 6, "status", status=1)]
    bench.informers.tell(
        fakes.modified(
            fakes.digest(managedFields=status),
            fakes.digest(managedFields=later, resourceVersion="6"),
        )
    )
    assert bench.names() == []


def test_old_and_new_owner_run() -> None:
    """A dependent that changes hands concerns both."""
    bench = ready()
    old = fakes.digest()
    new = fakes.digest(ownerReferences=[fakes.reference("two")], resourceVersion="2")
    bench.informers.tell(fakes.modified(old, new))
    assert sorted(bench.names()) == ["one", "two"]


def test_every_owner_of_several_is_judged_on_its_own() -> None:
    """What one owner writes is a foreign change for the other."""
    bench = ready()
    bench.owns(TWO)
    both = [fakes.reference("one"), fakes.reference("two")]
    with bench.running():
        bench.wrote("5")
        bench.changes("5", "role", ownerReferences=both)
    assert bench.names() == ["two"]


def test_annotated_dependents() -> None:
    """Those that cannot have an owner reference are found by their annotations."""
    bench = Bench()
    bench.owns(kind=fakes.CLUSTER_ROLE, tie=REFERENCE)
    bench.owns(tie=ANNOTATION)
    notes = {children.PRIMARY: "prod/one", children.PRIMARY_TYPE: "Etcd.db.example.com"}
    bench.changes("5", annotations=notes, ownerReferences=[], namespace="other")
    assert bench.names() == ["one"]


@pytest.mark.parametrize("order", ["told first", "seen first", "seen after the run"])
def test_own_writes(order: str) -> None:
    """A write of a run asks for nothing, whenever its echo comes."""
    bench = ready()
    with bench.running():
        if order == "seen first":
            bench.changes("5", "role")
        bench.wrote("5")
        if order == "told first":
            bench.changes("5", "role")
    if order == "seen after the run":
        bench.changes("5", "role")
    assert bench.names() == []


def test_own_deletions() -> None:
    """What a run deletes does not come back to it, even if it takes its time."""
    bench = ready()
    with bench.running():
        bench.wrote("", verb="delete")
    old = fakes.digest()
    going = fakes.digest(resourceVersion="2", deletionTimestamp="2026-01-01T12:00:00Z")
    bench.informers.tell(fakes.modified(old, going))
    bench.informers.tell(fakes.deleted(going))
    assert bench.names() == []


def test_deletion_after_being_replaced_is_that_of_the_old_one() -> None:
    """What a run deletes and makes again unseen is still its own doing."""
    bench = ready()
    with bench.running():
        bench.wrote("", verb="delete")
        bench.wrote("5", verb="create", uid="new")
        bench.informers.tell(
            fakes.modified(fakes.digest(), fakes.digest(uid="new", resourceVersion="5"))
        )
    assert bench.names() == []


def test_foreign_change_during_a_run() -> None:
    """It is held until the run has ended, and then asks for exactly one more."""
    bench = ready()
    with bench.running():
        bench.wrote("5")
        bench.changes("5", "role")
        bench.changes("6")
        bench.changes("7")
        assert bench.names() == []
    assert bench.asked == [("one", Priority.DEPENDENT, 0.0)]


def test_own_write_is_forgotten_after_some_minutes() -> None:
    """Nothing is remembered of an object that has not run for long; a late echo is one run."""
    bench = ready()
    with bench.running():
        bench.wrote("5")
    bench.clock.advance(ownwrites.KEEP + 1)
    with bench.running(TWO):
        pass
    bench.changes("5", "role")
    assert bench.names() == ["one"]


def test_run_that_fails_still_tells() -> None:
    """An error in the run does not lose what was held."""
    bench = ready()

    def fail() -> None:
        with bench.running():
            bench.changes("6")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert bench.names() == ["one"]


def test_what_others_ask() -> None:
    """Who hears of objects elsewhere can ask whether a run has made them what they are."""
    bench = Bench()
    written = fakes.digest(resourceVersion="5")
    assert not bench.dependents.has_written(ONE.key, written)
    with bench.running():
        bench.wrote("5")
    assert bench.dependents.has_written(ONE.key, written)
    assert not bench.dependents.has_written(TWO.key, written)
    assert not bench.dependents.has_written(ONE.key, fakes.digest(resourceVersion="6"))
    assert not bench.dependents.has_written(ONE.key, fakes.digest(resourceVersion="5", uid="b"))
    bench.wrote("", verb="delete")
    assert bench.dependents.has_written(ONE.key, fakes.digest(resourceVersion="6"))


@pytest.mark.case("W16")
def test_blacklist() -> None:
    """Kinds on the blacklist are not even watched, those of other versions are."""
    bench = Bench()
    listed = frozenset([fakes.CONFIG_MAP.gvk, objects.GVK("apps", "v1beta1", "Deployment")])
    owner = fakes.owner(watch=engine_fakes.watch(blacklist=listed))
    bench.owns(owner)
    bench.owns(owner, fakes.DEPLOYMENT)
    assert bench.informers.live() == ["deployments.apps"]


@pytest.mark.case("W16")
def test_blacklist_of_one_of_two_watches() -> None:
    """What another watch wants to know does not trigger the one that does not."""
    bench = ready()
    watch = engine_fakes.watch(gvk=engine_fakes.OTHER, blacklist=frozenset([fakes.CONFIG_MAP.gvk]))
    bench.owns(fakes.owner(watch=watch))
    bench.changes("5", ownerReferences=[fakes.reference(gvk=engine_fakes.OTHER)])
    assert bench.names() == []


@pytest.mark.parametrize(
    ("watch", "kind", "tie", "watched"),
    [
        ({"watch_dependent_resources": False}, fakes.CONFIG_MAP, REFERENCE, False),
        ({}, fakes.CLUSTER_ROLE, ANNOTATION, False),
        ({"watch_cluster_scoped_resources": True}, fakes.CLUSTER_ROLE, ANNOTATION, True),
        ({}, fakes.CLUSTER_ROLE, REFERENCE, True),
        ({}, fakes.CONFIG_MAP, ANNOTATION, True),
    ],
)
def test_keys_of_the_watch(
    watch: dict[str, Any], kind: children.ChildKind, tie: children.Tie, watched: bool
) -> None:
    """What watches.yaml does not want watched is not; said once."""
    bench = Bench()
    owner = fakes.owner(watch=engine_fakes.watch(**watch))
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            bench.owns(owner, kind, tie)
    assert bool(bench.informers.live()) is watched
    said = "watching dependents" if watched else "not watching dependents"
    assert [entry["event"] for entry in logs] == [said]


def test_one_informer_for_all() -> None:
    """However many objects, watched kinds, ties and versions need a kind, it is watched once."""
    bench = Bench()
    for kind in (
        fakes.CONFIG_MAP,
        replace(fakes.CONFIG_MAP, gvk=objects.GVK("", "v2", "ConfigMap")),
    ):
        for watch in (engine_fakes.watch(), engine_fakes.watch(gvk=engine_fakes.OTHER)):
            for name in ("one", "two"):
                for tie in (REFERENCE, ANNOTATION):
                    bench.owns(fakes.owner(name, watch), kind, tie)
    assert bench.informers.live() == ["configmaps"]


def test_forgotten_with_its_last_owner() -> None:
    """A kind is watched for as long as there is an object that owns something of it."""
    bench = ready()
    bench.owns(TWO)
    bench.owns(TWO, fakes.DEPLOYMENT)
    bench.dependents.forget(ONE.key)
    assert bench.informers.live() == ["configmaps", "deployments.apps"]
    bench.dependents.forget(TWO.key)
    assert bench.informers.live() == []
    bench.owns()
    assert bench.informers.live() == ["configmaps"]


def test_gone_while_it_is_being_watched() -> None:
    """A subscription that nobody needs any more by the time it is there is stopped."""
    bench = Bench()
    bench.informers.during = lambda: bench.dependents.forget(ONE.key)
    bench.owns()
    assert bench.informers.live() == []


def test_failing_subscription_is_tried_again() -> None:
    """A kind that could not be subscribed to is not taken to be watched."""
    bench = Bench()

    def fail() -> None:
        raise RuntimeError

    bench.informers.during = fail
    with pytest.raises(RuntimeError):
        bench.owns()
    bench.informers.during = engine_fakes.nothing
    bench.owns()
    assert bench.informers.live() == ["configmaps"]


def test_subscribes_without_the_lock() -> None:
    """Informers may tell of what there is before they return."""
    bench = Bench()
    bench.informers.during = bench.free
    bench.owns()
    assert bench.informers.live() == ["configmaps"]


def test_retired_version() -> None:
    """Dependents whose references are in the old version run the version that took over."""
    bench = ready()
    newer = engine_fakes.watch(gvk=OTHER_VERSION)
    bench.owns(fakes.owner(watch=newer))
    bench.dependents.retire(engine_fakes.GVK)
    bench.changes("5")
    assert bench.asked == [("one", Priority.DEPENDENT, 0.0)]
    bench.dependents.retire(OTHER_VERSION)
    assert bench.informers.live() == []


def test_cluster_scoped_owners() -> None:
    """Their dependents are found in every namespace."""
    bench = Bench()
    key = objects.ObjectKey(engine_fakes.GVK, "", "one")
    bench.owns(replace(ONE, key=key))
    bench.changes("5", namespace="anywhere")
    assert bench.names() == ["one"]


def turn(bench: Bench, number: int, late: bool = False) -> None:
    """A run in which the role sets what somebody else then sets again."""
    own, foreign = str(2 * number), str(2 * number + 1)
    with bench.running():
        bench.wrote(own)
        bench.changes(own, "role")
        bench.clock.advance(5.0)
    if not late:
        bench.changes(foreign, "kubectl-edit")


@pytest.mark.case("E2")
def test_fight_is_slowed_down() -> None:
    """A role and somebody else that set the same in turn: said once, waits, goes away by itself."""
    bench = Bench(runs=3)
    with structlog.testing.capture_logs() as logs:
        for number in range(4):
            turn(bench, number)
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert len(warnings) == 1
    expected = {
        "object": "Etcd.db.example.com prod/one",
        "child": "ConfigMap prod/settings",
        "child_kind": "ConfigMap",
        "managers_of_the_role": ["role"],
        "managers_of_others": ["kubectl-edit"],
        "runs": 3,
    }
    assert {key: warnings[0][key] for key in expected} == expected
    waits = [delay for _, priority, delay in bench.asked if priority is Priority.DEPENDENT]
    assert waits == [0.0, 0.0, 0.0, 10.0]
    assert "ConfigMap prod/settings" in bench.dependents.note(ONE.key)
    turn(bench, 4, late=True)
    later = [delay for _, priority, delay in bench.asked if priority is Priority.PERIODIC]
    bench.clock.advance(later[-1])
    assert bench.dependents.note(ONE.key) == ""
    with structlog.testing.capture_logs() as logs, bench.running():
        pass
    assert ["no longer cause runs" in entry["event"] for entry in logs] == [True]


@pytest.mark.case("E2")
def test_writes_past_the_proxy_are_slowed_down() -> None:
    """A role whose writes are not known to be its own runs itself; it is slowed down."""
    bench = Bench(runs=3)
    for number in range(1, 6):
        with bench.running():
            bench.changes(str(number), "curl")
    waits = [delay for _, priority, delay in bench.asked if priority is Priority.DEPENDENT]
    assert waits == [0.0, 0.0, 0.0, 10.0, 20.0]
    assert "past the operator's API proxy" in bench.dependents.note(ONE.key)


@pytest.mark.case("E2")
def test_role_that_always_changes_its_own_dependent_does_not_loop() -> None:
    """With writes through the proxy there is no loop to begin with."""
    bench = Bench(runs=3)
    for number in range(20):
        turn(bench, number, late=True)
    assert bench.names() == []
    assert bench.dependents.note(ONE.key) == ""


def test_busy_dependent_that_the_role_leaves_alone() -> None:
    """Changes that the role does not undo are no fight; its runs never wait."""
    bench = Bench(runs=3)
    for number in range(20):
        with bench.running():
            bench.wrote("0")  # a patch that changes nothing
            bench.clock.advance(5.0)
        bench.changes(str(number + 1))
    assert {delay for _, _, delay in bench.asked} == {0.0}


def test_deleted_again_and_again() -> None:
    """Somebody who deletes what the role makes is a fight as well."""
    bench = Bench(runs=3)
    for number in range(4):
        with bench.running():
            bench.wrote(str(number), verb="create", uid=f"uid-{number}")
        bench.vanishes(uid=f"uid-{number}")
    assert [delay for _, priority, delay in bench.asked if priority is Priority.DEPENDENT] == [
        *(0.0, 0.0, 0.0, 10.0)
    ]


def test_other_dependents_do_not_wait() -> None:
    """A loop over one dependent delays nothing that another one asks for."""
    bench = Bench(runs=3)
    for number in range(4):
        turn(bench, number)
    bench.asked.clear()
    bench.changes("99", name="another", uid="another")
    assert bench.asked == [("one", Priority.DEPENDENT, 0.0)]


def test_edit_ends_the_wait() -> None:
    """After an edit of the object its runs are as fast as ever."""
    bench = Bench(runs=3)
    for number in range(4):
        turn(bench, number)
    with structlog.testing.capture_logs() as logs:
        bench.dependents.edited(ONE.key)
        bench.dependents.edited(ONE.key)
    assert [entry["log_level"] for entry in logs] == ["info"]
    assert bench.dependents.note(ONE.key) == ""
    bench.asked.clear()
    bench.changes("99")
    assert bench.asked == [("one", Priority.DEPENDENT, 0.0)]


def test_nothing_is_kept_of_objects_that_are_idle_or_gone() -> None:
    """Memory is for objects that run, not for all that ever ran."""
    bench = Bench()
    for number in range(50):
        with bench.running(fakes.owner(f"o{number}")):
            bench.wrote(str(number), fakes.owner(f"o{number}"))
    bench.dependents.forget(engine_fakes.key("o1"))
    bench.clock.advance(ownwrites.KEEP + 1)
    with bench.running():
        pass
    assert bench.dependents.remembered() == {ONE.key}


def test_from_many_threads() -> None:
    """Informers, the proxy and workers call at the same time; nothing is lost and nothing hangs."""
    bench = ready()

    def work(number: int) -> None:
        owner = fakes.owner(f"o{number}")
        for version in range(20):
            with bench.running(owner):
                bench.wrote(f"{number}{version:02}", owner)
                owners = [fakes.reference(f"o{number}")]
                bench.changes(f"{number}{version:02}", "role", ownerReferences=owners)
            bench.changes(f"9{number}{version:02}", ownerReferences=owners)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    names = sorted(name for name, priority, _ in bench.asked if priority is Priority.DEPENDENT)
    assert names == sorted(f"o{number}" for number in range(1, 5) for _ in range(20))


@dataclass
class World:
    """An API server, its news under way, and a worker that runs an object when it is asked to.

    ``due`` are the foreign changes after which no run has begun yet.
    """

    bench: Bench = field(default_factory=ready)
    version: int = 1
    state: children.Digest = field(default_factory=fakes.digest)
    news: list[children.Change] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    run: contextlib.ExitStack | None = None
    due: int = 0

    def step(self, action: str) -> None:
        getattr(self, action)()

    def own(self) -> None:
        if self.run:
            self._write("role")
            self.untold.append(str(self.version))

    def foreign(self) -> None:
        self._write("kubectl-edit")
        self.due += 1

    def deliver(self) -> None:
        if self.news:
            self.bench.informers.tell(self.news.pop(0))

    def tell(self) -> None:
        if self.untold:
            self.bench.wrote(self.untold.pop(0))

    def begin(self) -> None:
        if self.run is None:
            self.bench.asked.clear()
            self.due = 0
            self.run = contextlib.ExitStack()
            self.run.enter_context(self.bench.running())

    def end(self) -> None:
        while self.untold:  # the proxy has told of everything before the run is told of it
            self.tell()
        if self.run:
            self.run.close()
        self.run = None

    def _write(self, manager: str) -> None:
        self.version += 1
        entries = [fakes.entry(manager, self.version % 60)]
        new = fakes.digest(resourceVersion=str(self.version), managedFields=entries)
        self.news.append(fakes.modified(self.state, new))
        self.state = new


OWN = ["own", "deliver", "tell", "begin", "end"]


def actions(*names: str) -> st.SearchStrategy[list[str]]:
    """Some of these, in any order."""
    return st.lists(st.sampled_from(names), max_size=40)


@given(actions(*OWN, "foreign"), actions(*OWN))
def test_own_writes_never_and_foreign_ones_always(mixed: list[str], own: list[str]) -> None:
    """In whatever order writes, their echoes and runs come."""
    world = World()
    for action in [*mixed, "end"]:
        world.step(action)
    while world.news:
        world.deliver()
    assert bool(world.bench.asked) or not world.due, "a foreign change has not asked for a run"
    for action in ["begin", *own, "end"]:
        world.step(action)
    while world.news:
        world.deliver()
    assert not world.bench.asked, "an own write has asked for a run"
