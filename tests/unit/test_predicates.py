"""Which events call for a reconcile."""

from __future__ import annotations

import copy
from typing import Any

import engine_fakes as fakes
import pytest

from ansible_operator import fieldpath, objects, selector, watches
from ansible_operator.control import predicates
from ansible_operator.control.priority import Priority

PRODUCTION = selector.Selector((selector.Requirement("env", "In", ("prod", "stage")),))


def see(obj: objects.Obj, watch: watches.Watch | None = None) -> predicates.Seen:
    """What is remembered of the object."""
    seen, _ = predicates.decide(None, "ADDED", obj, watch or fakes.watch())
    assert seen is not None
    return seen


def changed(obj: objects.Obj, **metadata: Any) -> objects.Obj:
    """A copy with other metadata, and the new resourceVersion that every write brings."""
    new = copy.deepcopy(obj)
    new["metadata"].update(resourceVersion="2", **metadata)
    return new


def decide(
    before: objects.Obj, after: objects.Obj, watch: watches.Watch | None = None
) -> Priority | None:
    """The priority with which the change from one to the other is reconciled."""
    chosen = watch or fakes.watch()
    return predicates.decide(see(before, chosen), "MODIFIED", after, chosen)[1]


def secret(**changes: Any) -> objects.Obj:
    """An object of a kind without generations."""
    obj = fakes.make(generation=0, **changes)
    return {**obj, "data": {"password": "eA=="}}


@pytest.mark.parametrize("event_type", ["ADDED", "MODIFIED", None])
def test_first_sight_is_an_edit(event_type: str | None) -> None:
    """A new object, or one found when the operator starts, is reconciled."""
    seen, priority = predicates.decide(None, event_type, fakes.make(), fakes.watch())
    assert priority is Priority.EDIT
    assert seen == predicates.Seen("uid-one", 1, deleted=False)


@pytest.mark.parametrize("type_", ["Ready", "Successful"])
def test_current_objects_wait_at_start(type_: str) -> None:
    """At start all objects are run again, but those that are done come last."""
    obj = fakes.make(generation=4)
    obj["status"] = {"conditions": [{"type": type_, "status": "True", "observedGeneration": 4}]}
    assert predicates.decide(None, None, obj, fakes.watch())[1] is Priority.PERIODIC
    assert predicates.decide(None, "ADDED", obj, fakes.watch())[1] is Priority.EDIT


@pytest.mark.parametrize(
    "condition",
    [
        {"type": "Ready", "status": "True", "observedGeneration": 3},
        {"type": "Ready", "status": "False", "observedGeneration": 4},
        {"type": "Successful", "status": "True"},
        {"type": "Foreign", "status": "True", "observedGeneration": 4},
    ],
)
def test_stale_objects_come_first_at_start(condition: dict[str, Any]) -> None:
    """An object that is not done at exactly this generation is as urgent as an edit."""
    obj = fakes.make(generation=4)
    obj["status"] = {"conditions": [condition]}
    assert predicates.decide(None, None, obj, fakes.watch())[1] is Priority.EDIT


def test_relist_of_an_unchanged_object() -> None:
    """A list after a lost watch repeats what was seen: nothing to do."""
    obj = fakes.make()
    assert predicates.decide(see(obj), None, obj, fakes.watch())[1] is None


def test_relist_of_an_object_that_changed_meanwhile() -> None:
    """A change that the lost watch did not report is found by the list."""
    after = changed(fakes.make(), generation=2)
    assert predicates.decide(see(fakes.make()), None, after, fakes.watch())[1] is Priority.EDIT


def test_new_generation() -> None:
    """An edit of the spec is reconciled."""
    assert decide(fakes.make(), changed(fakes.make(), generation=2)) is Priority.EDIT


def test_own_status_write_is_no_trigger() -> None:
    """Status writes, of the operator and of the role, run nothing (E1)."""
    after = changed(fakes.make())
    after["status"] = {"conditions": [{"type": "Running", "status": "True"}], "members": 3}
    assert decide(fakes.make(), after) is None


@pytest.mark.case("E6")
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_metadata_is_no_trigger(field: str) -> None:
    """Labels, and annotations where the watch does not ask for them, run nothing (E6)."""
    assert decide(fakes.make(), changed(fakes.make(), **{field: {"a": "b"}})) is None


def test_finalizers_are_no_trigger() -> None:
    """A finalizer that comes or goes runs nothing."""
    assert decide(fakes.make(), changed(fakes.make(), finalizers=["x"])) is None


@pytest.mark.case("E6")
def test_annotations_with_the_option() -> None:
    """With watchAnnotationsChanges an annotation that changes is one run (E6)."""
    watch = fakes.watch(watch_annotations_changes=True)
    before = fakes.make(annotations={"a": "1"})
    assert decide(before, changed(before, annotations={"a": "2"}), watch) is Priority.EDIT
    assert decide(before, changed(before), watch) is None
    assert decide(before, changed(before, labels={"a": "2"}), watch) is None


def test_deletion() -> None:
    """An object whose deletion was asked for is first in line."""
    after = changed(fakes.make(), deletionTimestamp=fakes.NOW, generation=2)
    assert decide(fakes.make(), after) is Priority.DELETION


@pytest.mark.case("D5")
def test_deletion_at_start() -> None:
    """An object deleted while the operator was down is first in line when it starts (D5)."""
    obj = fakes.make(deletionTimestamp=fakes.NOW)
    obj["status"] = {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}
    assert predicates.decide(None, None, obj, fakes.watch())[1] is Priority.DELETION


@pytest.mark.case("D8")
def test_terminating_object_that_goes_on_terminating() -> None:
    """Another finalizer that goes while the object is terminating runs nothing (D8)."""
    before = fakes.make(deletionTimestamp=fakes.NOW, finalizers=["a", "b"])
    assert decide(before, changed(before, finalizers=["a"])) is None


def test_edit_of_a_terminating_object() -> None:
    """What changes on a terminating object concerns its clean-up."""
    before = fakes.make(deletionTimestamp=fakes.NOW, generation=2)
    assert decide(before, changed(before, generation=3)) is Priority.DELETION


@pytest.mark.parametrize("seen", [None, see(fakes.make())])
def test_gone(seen: predicates.Seen | None) -> None:
    """An object that is gone is looked at once more, so that all that is kept of it is dropped."""
    decided = predicates.decide(seen, "DELETED", fakes.make(), fakes.watch())
    assert decided == (None, Priority.DELETION)


def test_made_anew_under_the_same_name() -> None:
    """Another uid is another object, also when its deletion went unnoticed."""
    assert decide(fakes.make(), changed(fakes.make(), uid="uid-new")) is Priority.EDIT


def newer(**metadata: Any) -> objects.Obj:
    """The successor of the object, of the same name."""
    return fakes.make(uid="uid-new", creationTimestamp="2026-01-01T00:00:01Z", **metadata)


@pytest.mark.case("D9")
@pytest.mark.parametrize("event_type", ["MODIFIED", "DELETED"])
@pytest.mark.parametrize("labels", [{"env": "prod"}, {}])
def test_late_news_of_the_predecessor(event_type: str, labels: dict[str, str]) -> None:
    """What is heard of the old object after its successor was seen changes nothing (D9)."""
    watch = fakes.watch(selector=PRODUCTION)
    seen = see(newer(labels={"env": "prod"}), watch)
    old = fakes.make(labels=labels, creationTimestamp=fakes.NOW, generation=9)
    assert predicates.decide(seen, event_type, old, watch) == (seen, None)


@pytest.mark.parametrize("event_type", ["ADDED", None])
def test_successor_with_an_older_time(event_type: str | None) -> None:
    """Servers whose clocks differ hide no new object: what appears is news, whatever its time."""
    seen = see(newer())
    new = fakes.make(uid="third", creationTimestamp=fakes.NOW)
    after, priority = predicates.decide(seen, event_type, new, fakes.watch())
    assert priority is Priority.EDIT
    assert after == see(new)


def test_selector() -> None:
    """Only objects with a matching label are run; label added: run; removed: forget (W17)."""
    watch = fakes.watch(selector=PRODUCTION)
    inside = fakes.make(labels={"env": "prod"})
    seen, priority = predicates.decide(None, "ADDED", inside, watch)
    assert priority is Priority.EDIT
    for labels in ({"env": "test"}, {}):
        outside = changed(inside, labels=labels)
        assert predicates.decide(None, "ADDED", outside, watch) == (None, None)
        assert predicates.decide(seen, "MODIFIED", outside, watch) == (None, Priority.DELETION)
        assert predicates.decide(None, "ADDED", inside, watch)[1] is Priority.EDIT


def test_kind_without_generations() -> None:
    """For a Secret every update counts: data as well as labels."""
    after = {**changed(secret()), "data": {"password": "eQ=="}}
    assert decide(secret(), after) is Priority.EDIT
    assert decide(secret(), changed(secret(), labels={"a": "b"})) is Priority.EDIT


def test_kind_without_generations_ignores_our_own_writes() -> None:
    """The operator's finalizer, its status and the server's bookkeeping are no updates."""
    watch = fakes.held_watch()
    after = changed(secret(), finalizers=[fakes.FINALIZER], managedFields=[{"manager": "x"}])
    after["status"] = {"conditions": []}
    assert decide(secret(), after, watch) is None
    assert decide(secret(), changed(secret(), finalizers=["other"]), watch) is Priority.EDIT


def test_kind_without_generations_whose_status_is_not_ours() -> None:
    """Where the operator does not write the status, a change of it is an update like any other."""
    after = {**changed(secret()), "status": {"phase": "Active"}}
    assert decide(secret(), after, fakes.watch(manage_status=False)) is Priority.EDIT


PAUSE, FORCE, SKIP = (
    objects.ANNOTATION_PREFIX + name for name in ("pause", "force-run", "skip-cleanup")
)


def annotated(name: str, value: str, **metadata: Any) -> objects.Obj:
    """An object with one annotation, as after one more write."""
    return changed(fakes.make(annotations={name: value}, **metadata))


def test_pause_and_resume_are_edits() -> None:
    """Both are noticed although changes of annotations do not count."""
    paused = annotated(PAUSE, "true")
    assert decide(fakes.make(), paused) is Priority.EDIT
    assert decide(paused, fakes.make()) is Priority.EDIT
    assert decide(fakes.make(), annotated(PAUSE, "false")) is None
    assert decide(fakes.make(), annotated(PAUSE, "maybe")) is None


@pytest.mark.case("E7")
def test_force_run_is_one_edit_per_new_value() -> None:
    """A new value is an edit; the same again, none, or the old one put back are not."""
    watch = fakes.watch()
    seen: predicates.Seen | None = see(fakes.make())
    found = []
    for value in ("a", "a", None, "a", "", "b", None, "b", "a"):
        obj = fakes.make(annotations={} if value is None else {FORCE: value})
        seen, priority = predicates.decide(seen, "MODIFIED", obj, watch)
        found.append(priority)
    edit = Priority.EDIT
    assert found == [edit, None, None, None, None, edit, None, None, edit]


@pytest.mark.case("E7")
def test_force_run_that_was_handled_before_the_operator_started() -> None:
    """What the status says to be handled is not run again, whenever it is seen."""
    handled = annotated(FORCE, "a")
    handled["status"] = {
        "conditions": [
            {"type": "Ready", "status": "True", "observedGeneration": 1},
            {"type": "ForcedRun", "status": "True", "reason": "Handled", "message": "a"},
        ]
    }
    without = copy.deepcopy(handled)
    without["metadata"]["annotations"] = {}
    assert predicates.decide(None, None, handled, fakes.watch())[1] is Priority.PERIODIC
    assert decide(without, handled) is None
    handled["metadata"]["annotations"] = {FORCE: "b"}
    assert predicates.decide(None, None, handled, fakes.watch())[1] is Priority.EDIT
    assert decide(without, handled) is Priority.EDIT


def test_skip_cleanup_counts_on_deleted_objects_only() -> None:
    """The order to skip the clean-up changes nothing before the deletion, and then at once."""
    dying: dict[str, Any] = {"deletionTimestamp": fakes.NOW, "finalizers": [fakes.FINALIZER]}
    assert decide(fakes.make(), annotated(SKIP, "true")) is None
    assert decide(fakes.make(**dying), annotated(SKIP, "true", **dying)) is Priority.DELETION
    assert decide(fakes.make(**dying), annotated(SKIP, "no", **dying)) is None


def test_what_is_an_edit() -> None:
    """An edit is a change of what is asked for, of an object that was known."""
    phase = fakes.watch(watch_status_paths=(fieldpath.parse("status.phase"),))
    one = see(fakes.make(), phase)
    assert predicates.is_edit(one, see(annotated(FORCE, "a"), phase))
    assert predicates.is_edit(one, see(fakes.make(generation=2), phase))
    assert not predicates.is_edit(one, see({**fakes.make(), "status": {"phase": "Up"}}, phase))
    assert not predicates.is_edit(one, see(changed(fakes.make()), phase))
    assert not predicates.is_edit(None, one)
    assert not predicates.is_edit(one, None)
    assert not predicates.is_edit(one, see(fakes.make(uid="another"), phase))


@pytest.mark.case("E20")
@pytest.mark.parametrize(
    ("path", "before", "after", "runs"),
    [
        ("status.phase", {}, {"phase": "Up"}, True),
        ("status.phase", {"phase": "Up"}, {"phase": "Up", "other": 1}, False),
        ("status", {"phase": "Up"}, {"phase": "Up", "observedGeneration": 2}, False),
        ("status", {"phase": "Up"}, {"phase": "Up", "other": 1}, True),
        ("status.conditions", {}, {"conditions": [{"type": "Up", "status": "True"}]}, True),
        ("status.conditions", {}, {"conditions": [{"type": "Running", "status": "True"}]}, False),
        ("status.conditions[*].status", {"conditions": [{"type": "Up", "status": "True"}]},
         {"conditions": [{"type": "Up", "status": "False"}]}, True),
        ("status", {}, {"conditions": [{"type": "Ready", "reason": "Succeeded"}]}, False),
        ("status", {}, {"conditions": [{"type": "Ready", "reason": "Theirs"}]}, True),
    ],
)  # fmt: skip
def test_watched_status(path: str, before: Any, after: Any, runs: bool) -> None:
    """A change at a chosen path of the status is an edit, unless the operator writes it (E20)."""
    watch = fakes.watch(watch_status_paths=(fieldpath.parse(path),))
    first, second = fakes.make(), changed(fakes.make())
    first["status"], second["status"] = before, after
    expected = Priority.EDIT if runs else None
    assert decide(first, second, watch) is expected
    assert decide(first, second) is None


def test_watched_status_that_the_operator_does_not_write() -> None:
    """With manageStatus: false every condition is somebody else's."""
    path = (fieldpath.parse("status.conditions"),)
    watch = fakes.watch(watch_status_paths=path, manage_status=False)
    after = {**changed(fakes.make()), "status": {"conditions": [{"type": "Running"}]}}
    assert decide(fakes.make(), after, watch) is Priority.EDIT


def test_status_change() -> None:
    """It is one only if nothing else has changed."""
    watch = fakes.watch(watch_status_paths=(fieldpath.parse("status.phase"),))
    one, up = see(fakes.make(), watch), {**fakes.make(), "status": {"phase": "Up"}}
    assert predicates.is_status_change(one, see(up, watch))
    assert not predicates.is_status_change(one, one)
    assert not predicates.is_status_change(None, one)
    assert not predicates.is_status_change(one, None)
    assert not predicates.is_status_change(one, see(changed(up, generation=2), watch))


def test_is_held_and_has_work() -> None:
    """A terminating object has work only while our finalizer is on it."""
    alive, ours = fakes.make(), [fakes.FINALIZER]
    dying = fakes.make(deletionTimestamp=fakes.NOW, finalizers=["other"])
    dying_held = fakes.make(deletionTimestamp=fakes.NOW, finalizers=ours)
    watch = fakes.held_watch()
    assert [predicates.is_held(obj, watch) for obj in (alive, dying, dying_held)] == [
        False,
        False,
        True,
    ]
    assert [predicates.has_work(obj, watch) for obj in (alive, dying, dying_held)] == [
        True,
        False,
        True,
    ]
    assert not predicates.is_held(dying_held, fakes.watch())
