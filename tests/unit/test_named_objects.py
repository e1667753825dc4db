"""Objects that are named in the fields of others: who names what, and who runs then."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import engine_fakes as fakes
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator import children, errors, fieldpath, objects, reference, selector, watches
from ansible_operator.control import referenceindex, references
from ansible_operator.control.priority import Priority

SECRET = objects.GVK("", "v1", "Secret")
TEAM = objects.GVK("t.example.com", "v1", "Team")
SECRETS = children.ChildKind(SECRET, "secrets", True)
TEAMS = children.ChildKind(TEAM, "teams", False)
WATCH = fakes.watch(
    references=(
        reference.Reference(fieldpath.parse("spec.secret"), SECRET),
        reference.Reference(fieldpath.parse("spec.teams[*]"), TEAM),
    )
)


class FakeInformers:
    """Subscriptions by kind; a test tells the listeners what happens."""

    def __init__(self) -> None:
        self.listeners: dict[objects.GVK, Callable[[children.Change], None]] = {}
        self.log: list[str] = []

    def subscribe(
        self, kind: children.ChildKind, listener: Callable[[children.Change], None]
    ) -> children.Subscription:
        self.listeners[kind.gvk] = listener
        self.log.append(f"+{kind}")
        return FakeSubscription(self, kind)


class FakeSubscription:
    """One of them."""

    def __init__(self, informers: FakeInformers, kind: children.ChildKind) -> None:
        self.informers = informers
        self.kind = kind

    def synced(self) -> bool:
        return True

    def stop(self) -> None:
        del self.informers.listeners[self.kind.gvk]
        self.informers.log.append(f"-{self.kind}")


def secret(version: str = "5", **metadata: Any) -> children.Digest:
    """A Secret as an informer remembers it."""
    meta = {"name": "cert", "namespace": "prod", "uid": "s", "resourceVersion": version}
    return children.digest({"metadata": {**meta, **metadata}})


def change(
    old: children.Digest | None,
    new: children.Digest,
    event: children.Event = children.Event.MODIFIED,
    kind: children.ChildKind = SECRETS,
    *,
    initial: bool = False,
) -> children.Change:
    """What an informer tells."""
    return children.Change(kind, event, old, new, initial)


class Bench:
    """References on a clock that a test turns, and what they asked for."""

    def __init__(self, **more: Any) -> None:
        self.clock = fakes.Clock()
        self.informers = FakeInformers()
        self.asked: list[str] = []
        self.trouble: errors.KubeError | None = None
        self.active: set[objects.ObjectKey] = set()
        self.subject = references.References(
            self.informers,
            self.resolve,
            self.enqueue,
            active=lambda: self.active,
            clock=self.clock,
            **more,
        )

    def resolve(self, gvk: objects.GVK) -> children.ChildKind:
        if self.trouble:
            raise self.trouble
        return {SECRET: SECRETS, TEAM: TEAMS}[gvk]

    def enqueue(self, key: objects.ObjectKey, priority: Priority) -> None:
        assert priority is Priority.DEPENDENT
        self.asked.append(key.name)

    def observe(
        self,
        name: str = "one",
        event: str | None = None,
        watch: watches.Watch = WATCH,
        meta: dict[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        """Hear of an object with this spec."""
        obj = {**fakes.make(name, **(meta or {})), "spec": spec}
        self.subject.observe(watch, event, obj)
        self.subject.step()

    def happens(self, told: children.Change) -> list[str]:
        """Let an informer tell it; who was asked to run."""
        self.asked.clear()
        self.informers.listeners[told.kind.gvk](told)
        return sorted(self.asked)


ADDED, DELETED = children.Event.ADDED, children.Event.DELETED


@pytest.mark.case("E18")
def test_exactly_those_that_name_it_run() -> None:
    """A Secret that changes, is made or goes runs the objects that name it, and no other (E18)."""
    bench = Bench()
    bench.observe("one", secret="cert")
    bench.observe("two", secret="cert")
    bench.observe("three", secret="other")
    bench.observe("four")
    bench.observe("far", meta={"namespace": "test"}, secret="cert")
    assert bench.happens(change(secret("5"), secret("6"))) == ["one", "two"]
    assert bench.happens(change(None, secret(), ADDED)) == ["one", "two"]
    assert bench.happens(change(secret(), secret(), DELETED)) == ["one", "two"]
    assert bench.happens(change(None, secret(namespace="test"), ADDED)) == ["far"]
    assert bench.happens(change(None, secret(name="unnamed"), ADDED)) == []


@pytest.mark.case("E18")
def test_names_that_change() -> None:
    """What an object names now counts, not what it named before."""
    bench = Bench()
    bench.observe(secret="cert")
    bench.observe(secret="new", event="MODIFIED")
    assert bench.happens(change(secret("5"), secret("6"))) == []
    assert bench.happens(change(None, secret(name="new"), ADDED)) == ["one"]


def test_what_does_not_count() -> None:
    """The first list, the same version again, and the status of kinds with generations."""
    bench = Bench()
    bench.observe(secret="cert", teams=["red"])
    assert bench.happens(change(None, secret(), ADDED, initial=True)) == []
    assert bench.happens(change(secret("5"), secret("5"))) == []
    red = secret("5", name="red", namespace="", generation=1)
    assert bench.happens(change(red, replace(red, resource_version="6"), kind=TEAMS)) == []
    for new in (replace(red, generation=2), replace(red, metadata="labels"), replace(red, uid="x")):
        assert bench.happens(change(red, new, kind=TEAMS)) == ["one"]


def test_written_before_listening_began() -> None:
    """What is newer than an object made meanwhile may have been missed by its run."""
    bench = Bench()
    bench.observe("listed", secret="cert")
    bench.observe("made", "ADDED", meta={"resourceVersion": "10"}, secret="cert")
    bench.observe("odd", "ADDED", meta={"resourceVersion": "x1"}, secret="cert")
    assert bench.happens(change(None, secret("10"), ADDED, initial=True)) == []
    assert bench.happens(change(None, secret("11"), ADDED, initial=True)) == ["made"]
    bench.observe("made", "MODIFIED", meta={"resourceVersion": "50"}, secret="cert")
    assert bench.happens(change(None, secret("11"), ADDED, initial=True)) == ["made"]


def test_listens_only_while_a_kind_is_named() -> None:
    """A kind is listened to from the first object that names one of it to the last."""
    bench = Bench()
    bench.observe()
    bench.observe("one", secret="a")
    bench.observe("two", secret="b")
    bench.observe("one", "MODIFIED", teams=["red"])
    bench.observe("two", "DELETED", secret="b")
    bench.observe("one", "MODIFIED")
    said = ["+secrets", "+teams.t.example.com", "-secrets", "-teams.t.example.com"]
    assert bench.informers.log == said


def test_objects_that_go() -> None:
    """Gone, unselected and retired objects name nothing any more."""
    bench = Bench()
    chosen = selector.Selector((selector.Requirement("env", "In", ("prod",)),))
    watch = replace(WATCH, selector=chosen)
    for name in ("deleted", "forgotten", "unselected", "retired"):
        bench.observe(name, "ADDED", watch, {"labels": {"env": "prod"}}, secret="cert")
    bench.observe("deleted", "DELETED", watch, {"labels": {"env": "prod"}}, secret="cert")
    bench.subject.forget(fakes.key("forgotten"))
    bench.observe("unselected", "MODIFIED", watch, secret="cert")
    assert bench.happens(change(secret("5"), secret("6"))) == ["retired"]
    bench.subject.retire(fakes.GVK)
    bench.subject.step()
    assert bench.informers.listeners == {}


def test_kind_that_is_not_served_yet() -> None:
    """It is looked up again every 10 s, and complained of once."""
    bench = Bench()
    bench.trouble = errors.NotFoundError("no Secret here", status=404)
    with structlog.testing.capture_logs() as lines:
        bench.observe(secret="cert")
        assert bench.subject.step() == references.RETRY
        bench.clock.advance(references.RETRY)
        assert bench.subject.step() == references.RETRY
        bench.trouble = None
        bench.clock.advance(1.0)
        assert bench.subject.step() == references.RETRY - 1.0
    assert [line["error"] for line in lines] == ["no Secret here"]
    bench.clock.advance(references.RETRY - 1.0)
    assert bench.subject.step() == math.inf
    assert bench.happens(change(None, secret(), ADDED)) == ["one"]


def test_cluster_scoped_objects() -> None:
    """They name cluster-scoped ones; of namespaced ones without a namespace is complained once."""
    bench = Bench()
    wide = {"namespace": ""}
    with structlog.testing.capture_logs() as lines:
        bench.observe(teams=["red"], meta=wide)
        assert not lines
        bench.observe(teams=["red"], secret="cert", meta=wide)
        bench.observe("two", secret="cert", meta=wide)
    assert len(lines) == 1
    assert "without a namespace" in lines[0]["event"]
    red = secret(name="red", namespace="")
    assert bench.happens(change(None, red, ADDED, TEAMS)) == ["one"]
    assert bench.happens(change(None, secret(), ADDED)) == []


def test_what_a_run_writes_itself() -> None:
    """A change by the run of the object that names it runs it no more, but the others."""
    bench = Bench(own_write=lambda key, digest: (key.name, digest.resource_version) == ("one", "6"))
    bench.observe("one", secret="cert")
    bench.observe("two", secret="cert")
    assert bench.happens(change(secret("5"), secret("6"))) == ["two"]
    assert bench.happens(change(secret("6"), secret("7"))) == ["one", "two"]


def test_change_during_a_run() -> None:
    """It is held for a moment, since the proxy may tell only then that the run has made it."""
    own: set[str] = set()
    bench = Bench(own_write=lambda key, digest: digest.resource_version in own)
    bench.observe(secret="cert")
    bench.active = {fakes.key()}
    assert bench.happens(change(secret("5"), secret("6"))) == []
    assert bench.happens(change(secret("6"), secret("7"))) == []
    own.add("6")
    assert bench.subject.step() == references.HOLD
    bench.clock.advance(references.HOLD)
    assert bench.subject.step() == math.inf
    assert bench.asked == ["one"]


def test_watch_without_references() -> None:
    """Nothing is kept of its objects."""
    bench = Bench()
    bench.observe(watch=fakes.watch(), secret="cert")
    assert bench.informers.log == []


def test_own_thread() -> None:
    """Listening begins by itself when an object comes, and ends with close()."""
    informers, came = FakeInformers(), threading.Event()

    def resolve(gvk: objects.GVK) -> children.ChildKind:
        came.set()
        return SECRETS

    subject = references.References(informers, resolve, lambda key, priority: None)
    subject.start()
    subject.observe(WATCH, "ADDED", {**fakes.make(), "spec": {"secret": "cert"}})
    assert came.wait(30.0)
    subject.close()
    assert informers.log == ["+secrets", "-secrets"]
    references.References(informers, resolve, lambda key, priority: None).close()


def test_thread_survives_a_bug() -> None:
    """Whatever goes wrong is logged and tried again."""
    failed = threading.Event()

    def resolve(gvk: objects.GVK) -> children.ChildKind:
        failed.set()
        raise KeyError("bug")

    subject = references.References(FakeInformers(), resolve, lambda key, priority: None)
    subject.start()
    subject.observe(WATCH, "ADDED", {**fakes.make(), "spec": {"secret": "cert"}})
    assert failed.wait(30.0)
    subject.close()


_names = st.builds(
    referenceindex.Name,
    st.sampled_from([SECRET, TEAM]),
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["x", "y"]),
)
_keys = st.sampled_from(
    [fakes.key(name, gvk) for name in ("1", "2") for gvk in (fakes.GVK, fakes.OTHER)]
)
_steps = st.lists(st.tuples(_keys, st.sets(_names, max_size=3)), max_size=12)


@given(_steps)
def test_index_is_what_was_put_last(steps: list[tuple[Any, set[Any]]]) -> None:
    """After any sequence the index answers as a plain map of the last names would."""
    index = referenceindex.ReferenceIndex()
    model: dict[objects.ObjectKey, set[referenceindex.Name]] = {}
    for key, names in steps:
        index.put(key, names, None)
        model[key] = names
    everything = {name for names in model.values() for name in names}
    assert index.kinds() == {name.gvk for name in everything}
    assert index.placeless() == {name.gvk for name in everything if not name.namespace}
    for name in everything:
        found = {key for key, _ in index.naming(name, namespaced=True)}
        assert found == {key for key, names in model.items() if name in names}
    index.retire(fakes.GVK)
    index.retire(fakes.OTHER)
    assert index.kinds() == frozenset()
    assert all(not list(index.naming(name, namespaced=False)) for name in everything)
