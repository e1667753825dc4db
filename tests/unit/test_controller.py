"""Events in, reconciles out: the controller with its queue, backoff and workers."""

from __future__ import annotations

import copy
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import engine_fakes as fakes
import pytest
import structlog

from ansible_operator import children, errors, fieldpath, objects, watches
from ansible_operator.control import controller, reconciler
from ansible_operator.control.priority import Priority

KEY = fakes.key()
WATCHED = [fakes.watch(), fakes.watch(gvk=fakes.OTHER)]
PATIENCE = 60.0  # seconds until a test gives up; none of them waits for time to pass


class Script:
    """Reconciles as told: an outcome per pass, then successes; remembers the keys it served.

    Checks find what is not in ``gone``, or raise ``trouble``.
    """

    def __init__(self, *outcomes: reconciler.Result | Exception) -> None:
        self.outcomes = list(outcomes)
        self.served: list[str] = []
        self.checked: list[str] = []
        self.gone: set[str] = set()
        self.trouble: Exception | None = None
        self.origins: dict[str, str] = {}
        self.during: Callable[[objects.ObjectKey, reconciler.Cancel], object] = fakes.nothing

    def reconcile(
        self, watch: watches.Watch, key: objects.ObjectKey, cancel: reconciler.Cancel
    ) -> reconciler.Result:
        self.served.append(key.name)
        self.during(key, cancel)
        outcome = self.outcomes.pop(0) if self.outcomes else reconciler.Result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def check(self, watch: watches.Watch, key: objects.ObjectKey) -> reconciler.Result:
        self.checked.append(key.name)
        if self.trouble:
            raise self.trouble
        return reconciler.Result(forget=key.name in self.gone)

    def origin(self, key: objects.ObjectKey, version: str) -> str:
        return self.origins.get(version, version)


class Bench:
    """A controller without threads: a test lets time pass and serves what is due."""

    def __init__(
        self,
        reconciles: controller.Reconciles,
        watched: list[watches.Watch] = WATCHED,
        *,
        own_write: Callable[[objects.ObjectKey, children.Digest], bool] = lambda key, digest: False,
        **engine: Any,
    ) -> None:
        self.clock = fakes.Clock()
        options = fakes.options(backoff_floor=1.0, backoff_ceiling=300.0, **engine)
        self.retired: set[objects.GVK] = set()
        self.told: list[tuple[str, Any]] = []
        self.controller = controller.Controller(
            reconciles,
            watched,
            options,
            self.clock,
            self.retired.__contains__,
            on_edit=lambda key: self.told.append(("edit", key.name)),
            on_forget=lambda key: self.told.append(("forget", key.name)),
            on_retire=lambda gvk: self.told.append(("retire", gvk)),
            listeners=[lambda watch, event, obj: self.told.append(("event", event))],
            own_write=own_write,
        )

    def observe(self, obj: objects.Obj, event_type: str | None = "ADDED", **watch: Any) -> None:
        """An event of an object."""
        chosen = fakes.watch(gvk=objects.gvk_of(obj), **watch)
        self.controller.observe(chosen, event_type, obj)

    def serve(self) -> int:
        """Serve everything that is due; how many passes that were, without mere checks."""
        count = 0
        while (key := self.controller.queue.poll(self.clock.now)) is not None:
            count += self.controller.queue.priority(key) is not Priority.CHECK
            self.controller.serve(key)
        return count

    def serve_in(self, seconds: float) -> int:
        """Serve everything that is due after so many seconds."""
        self.clock.advance(seconds)
        return self.serve()


def edited(generation: int, **metadata: Any) -> objects.Obj:
    """The object after an edit."""
    return fakes.make(generation=generation, **metadata)


@pytest.mark.case("E4", "E5")
def test_twenty_edits_are_at_most_two_passes() -> None:
    """Edits before and during a pass merge; the last one is served (E4, E5)."""
    script = Script()
    bench = Bench(script)
    edits = iter(range(2, 22))

    def edit(key: objects.ObjectKey, cancel: reconciler.Cancel) -> None:
        for generation in edits:
            bench.observe(edited(generation), "MODIFIED")

    for _ in range(10):
        bench.observe(edited(next(edits)), "MODIFIED")
    script.during = edit
    assert bench.serve() == 2
    assert bench.serve_in(1e6) == 0


def test_queued_passes_of_a_superseded_version_are_dropped() -> None:
    """What was due for an older version of a kind does not run once a newer one does (W6)."""
    script = Script(reconciler.Result(requeue_after=10.0))
    bench = Bench(script)
    bench.observe(fakes.make())
    bench.serve()
    bench.retired.add(KEY.gvk)
    assert bench.serve_in(10.0) == 1
    assert script.served == [KEY.name]
    assert bench.serve_in(1e6) == 0


def test_retired_kind_is_cancelled() -> None:
    """What runs when a newer version takes over ends, and what came of it is dropped (W6)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    bench = Bench(reconciler.Reconciler(cluster, runner, fakes.options()))
    bench.observe(cluster.objs[KEY])
    cancelled: list[bool] = []

    def take_over(request: Any, cancel: threading.Event) -> None:
        bench.controller.retire(fakes.OTHER)
        cancelled.append(cancel.is_set())
        bench.retired.add(KEY.gvk)
        bench.controller.retire(KEY.gvk)
        cancelled.append(cancel.is_set())

    runner.during = take_over
    bench.serve()
    assert cancelled == [False, True]
    assert bench.serve_in(1e6) == 0
    assert len(runner.requests) == 1


def test_no_run_escapes_retire() -> None:
    """A pass that begins while its kind is retired sees either the cancel or the retirement."""
    script = Script()
    bench = Bench(script)

    def too_late(gvk: objects.GVK) -> bool:
        answer = gvk in bench.retired
        bench.retired.add(gvk)
        bench.controller.retire(gvk)
        return answer

    bench.controller = controller.Controller(
        script, WATCHED, fakes.options(), bench.clock, too_late
    )
    whys: list[reconciler.Why | None] = []
    script.during = lambda key, cancel: whys.append(cancel.why)
    bench.observe(fakes.make())
    bench.serve()
    assert whys == [reconciler.Why.SUPERSEDED]


def test_kind_that_comes_back_is_new() -> None:
    """When the newer version is served no more, the objects are run again under the old one."""
    script = Script()
    bench = Bench(script)
    bench.observe(fakes.make())
    bench.serve()
    bench.controller.retire(KEY.gvk)
    bench.observe(fakes.make(), None)
    assert bench.serve() == 1


CHECK = controller.CHECK_AFTER


@pytest.mark.case("D9")
def test_vanished_unnoticed_is_forgotten() -> None:
    """Without periodic passes it is checked now and then whether an object is still there (D9)."""
    script = Script()
    bench = Bench(script)
    bench.observe(fakes.make())
    bench.observe(fakes.make("two"))
    bench.serve()
    assert [bench.serve_in(CHECK - 1), len(script.checked)] == [0, 0]
    assert [bench.serve_in(1), script.checked] == [0, ["one", "two"]]
    script.gone = {"one"}
    bench.serve_in(CHECK)
    bench.serve_in(CHECK)
    assert script.checked == ["one", "two", "one", "two", "two"]
    bench.observe(fakes.make(), None)
    bench.observe(fakes.make("two"), None)
    assert [bench.serve(), script.served] == [1, ["one", "two", "one"]]


def test_check_that_fails_runs_nothing() -> None:
    """When it cannot be seen whether the object is there, it is looked again later."""
    script = Script()
    bench = Bench(script)
    bench.observe(fakes.make())
    bench.serve()
    script.trouble = errors.UnreachableError("no answer")
    with structlog.testing.capture_logs() as lines:
        assert [bench.serve_in(CHECK), bench.serve_in(CHECK - 1), bench.serve_in(1)] == [0] * 3
    assert script.checked == ["one"] * 2
    assert {line["log_level"] for line in lines} == {"debug"}
    bench.observe(edited(2), "MODIFIED")
    assert bench.serve() == 1


def test_after_a_terminal_error_it_is_checked() -> None:
    """What is not retried may vanish unnoticed as well."""
    script = Script(errors.TerminalError("no such field"))
    bench = Bench(script)
    bench.observe(fakes.make())
    bench.serve()
    assert [bench.serve_in(CHECK), script.checked] == [0, ["one"]]


@pytest.mark.case("E8")
def test_failures_back_off_and_an_edit_resets() -> None:
    """After failures the delays double; an edit is served at once and starts anew (E8)."""
    script = Script(*[errors.RunFailedError("boom")] * 4)
    bench = Bench(script)
    bench.observe(fakes.make())
    passes = [bench.serve(), bench.serve_in(0.9), bench.serve_in(0.1), bench.serve_in(1.9)]
    assert passes == [1, 0, 1, 0]
    assert bench.serve_in(0.1) == 1
    bench.observe(edited(2), "MODIFIED")
    assert bench.serve() == 1
    assert [bench.serve_in(0.9), bench.serve_in(0.1), bench.serve_in(1e6)] == [0, 1, 0]


def test_periodic_pass_does_not_reset_the_backoff() -> None:
    """Only edits, deletions and successes reset it."""
    bench = Bench(Script(*[errors.RunFailedError("boom")] * 2))
    bench.observe(fakes.make())
    bench.serve()
    bench.controller.enqueue(KEY, Priority.DEPENDENT)
    assert [bench.serve(), bench.serve_in(1.9), bench.serve_in(0.1)] == [1, 0, 1]


@pytest.mark.case("D2")
def test_failing_for_ever_is_tried_at_the_ceiling() -> None:
    """The delay never exceeds the ceiling (D2)."""
    bench = Bench(Script(*[errors.RunFailedError("boom")] * 50))
    bench.observe(fakes.make())
    bench.serve()
    assert [bench.serve_in(300.0) for _ in range(30)] == [1] * 30


@pytest.mark.case("D1")
def test_clean_up_that_fails_three_times() -> None:
    """The object stays with Failure until the clean-up succeeds, which runs once (D1)."""
    cluster = fakes.FakeCluster(fakes.make(finalizers=[fakes.FINALIZER]))
    runner = fakes.FakeRunner(*[fakes.failed("stuck")] * 3)
    watch = fakes.held_watch()
    bench = Bench(reconciler.Reconciler(cluster, runner, fakes.options()), [watch])
    cluster.delete(KEY)
    bench.controller.observe(watch, None, cluster.objs[KEY])
    assert [bench.serve(), bench.serve_in(1.0), bench.serve_in(2.0)] == [1, 1, 1]
    assert KEY in cluster.objs
    assert bench.serve_in(4.0) == 1
    assert cluster.objs == {}
    bench.controller.observe(watch, "DELETED", fakes.make())
    bench.serve_in(1e6)
    assert [request.finalizing for request in runner.requests] == [True] * 4
    assert runner.forgotten[-1] == KEY


def test_own_writes_start_nothing() -> None:
    """Finalizer and status writes of a pass come back as events and run nothing (E1)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    watch = fakes.held_watch()
    quiet = fakes.options(reconcile_period=0.0)
    bench = Bench(reconciler.Reconciler(cluster, runner, quiet), [watch])
    bench.controller.observe(watch, "ADDED", copy.deepcopy(cluster.objs[KEY]))
    bench.serve()
    bench.controller.observe(watch, "MODIFIED", copy.deepcopy(cluster.objs[KEY]))
    assert bench.serve_in(1e6) == 0
    assert len(runner.requests) == 1
    assert [verb for verb, _ in cluster.writes] == ["finalizer added", "status", "status"]


@pytest.mark.case("E4")
def test_edit_during_the_run_is_served_with_the_newest_spec() -> None:
    """One more run, with the newest spec; it ends at the newest generation (E4)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    bench = Bench(reconciler.Reconciler(cluster, runner, fakes.options()))
    bench.observe(cluster.objs[KEY])
    sizes = iter([2, 3])

    def edit_twice(request: Any, cancel: Any) -> None:
        for size in sizes:
            bench.observe(cluster.edit(KEY, size=size), "MODIFIED")

    runner.during = edit_twice
    bench.serve()
    assert [request.obj["spec"]["size"] for request in runner.requests] == [1, 3]
    assert cluster.objs[KEY]["status"]["observedGeneration"] == 3


def test_period() -> None:
    """A good pass is repeated after the period, again and again."""
    bench = Bench(Script(*[reconciler.Result(60.0)] * 9))
    bench.observe(fakes.make())
    assert bench.serve() == 1
    assert [bench.serve_in(s) for s in (59.0, 1.0, 60.0)] == [0, 1, 1]


def test_edit_moves_the_period() -> None:
    """An edit between two periodic passes is served at once; the period counts from there."""
    bench = Bench(Script(*[reconciler.Result(60.0)] * 9))
    bench.observe(fakes.make())
    bench.serve()
    bench.clock.advance(50.0)
    bench.observe(edited(2), "MODIFIED")
    assert [bench.serve(), bench.serve_in(10.0), bench.serve_in(50.0)] == [1, 0, 1]


def test_requeue_keeps_its_priority() -> None:
    """What a role asked for comes before routine."""
    script = Script(reconciler.Result(4.0), reconciler.Result(5.0, priority=Priority.RETRY))
    bench = Bench(script)
    for name in ("routine", "asked"):
        bench.observe(fakes.make(name))
    bench.serve()
    bench.serve_in(5.0)
    assert script.served == ["routine", "asked", "asked", "routine"]


@pytest.mark.case("E13")
def test_restart_serves_what_is_not_done_first() -> None:
    """At start objects that are done wait for those that are not, and for new ones (E13)."""
    script = Script()
    bench = Bench(script)
    for number in range(300):
        done = fakes.make(f"done-{number}")
        condition = {"type": "Ready", "status": "True", "observedGeneration": 1}
        done["status"] = {"conditions": [condition]}
        bench.observe(done, None)
    bench.observe(fakes.make("pending"), None)
    bench.observe(fakes.make("new"), "ADDED")
    assert bench.serve() == 302
    assert script.served[:2] == ["pending", "new"]


def test_terminal_error_is_not_retried() -> None:
    """Nothing happens until the object changes."""
    bench = Bench(Script(errors.TerminalError("no such field")))
    bench.observe(fakes.make())
    with structlog.testing.capture_logs() as lines:
        bench.serve()
    assert bench.serve_in(1e6) == 0
    assert [line["error"] for line in lines] == ["no such field"]
    bench.observe(edited(2), "MODIFIED")
    assert bench.serve() == 1


@pytest.mark.parametrize(
    "error", [errors.RunFailedError("boom"), errors.ForbiddenError("rbac", status=403)]
)
def test_expected_failures_are_one_line(error: Exception) -> None:
    """A failed run or a refusal of the API server is logged once, without a traceback."""
    bench = Bench(Script(error))
    bench.observe(fakes.make())
    with structlog.testing.capture_logs() as lines:
        bench.serve()
    [line] = lines
    assert line == {
        "event": "reconcile failed",
        "log_level": "error",
        "error": str(error),
        "retry_in": "1s",
    }


def test_unexpected_failures_have_a_traceback() -> None:
    """A bug is logged with its traceback, backed off, and nothing else stops."""
    bug = KeyError("bug")
    bench = Bench(Script(bug))
    bench.observe(fakes.make())
    bench.observe(fakes.make("two"))
    with structlog.testing.capture_logs() as lines:
        assert bench.serve() == 2
    assert [line["exc_info"] for line in lines] == [bug]
    assert bench.serve_in(1.0) == 1


def test_worker_survives_a_broken_outcome() -> None:
    """Even an outcome that cannot be handled gives the key back."""
    bench = Bench(Script(reconciler.Result("soon")))  # type: ignore[arg-type]
    bench.observe(fakes.make())
    with structlog.testing.capture_logs() as lines:
        bench.serve()
    assert [line["log_level"] for line in lines] == ["error"]
    assert bench.controller.active() == {}


def test_log_context_of_a_pass() -> None:
    """Every line of a pass names the object under controller-runtime's keys, none outlives it."""
    script = Script()
    bench = Bench(script)
    context: dict[str, Any] = {}
    script.during = lambda key, cancel: context.update(structlog.contextvars.get_contextvars())
    bench.observe(fakes.make())
    bench.serve()
    assert context == {
        "controller": "etcd-controller",
        "controllerGroup": "db.example.com",
        "controllerKind": "Etcd",
        "gvk": str(KEY.gvk),
        "namespace": "prod",
        "name": "one",
    }
    assert structlog.contextvars.get_contextvars() == {}


@pytest.mark.case("D9")
def test_forgotten_object_leaves_nothing() -> None:
    """An object that is gone without a DELETED event is new when it is made again (D9)."""
    failure = errors.RunFailedError("x")
    bench = Bench(Script(failure, reconciler.Result(forget=True), failure))
    bench.observe(fakes.make())
    bench.serve()
    bench.serve_in(1.0)
    assert bench.serve_in(1e6) == 0
    bench.observe(fakes.make(), None)
    assert [bench.serve(), bench.serve_in(1.0)] == [1, 1]


def test_made_anew_while_being_forgotten() -> None:
    """What is heard of a new object of the same name during the pass is kept."""
    script = Script(reconciler.Result(forget=True))
    bench = Bench(script)
    bench.observe(fakes.make())
    script.during = lambda key, cancel: bench.observe(fakes.make(uid="new"), "ADDED")
    assert bench.serve() == 2
    bench.observe(fakes.make(uid="new"), "MODIFIED")
    assert bench.serve() == 0


def test_deleted_event_drops_the_timer() -> None:
    """A deleted object is looked at once more and then never again."""
    bench = Bench(Script(reconciler.Result(60.0), reconciler.Result(forget=True)))
    bench.observe(fakes.make())
    bench.serve()
    bench.observe(fakes.make(), "DELETED")
    assert [bench.serve(), bench.serve_in(1e6)] == [1, 0]


@pytest.mark.case("E4")
@pytest.mark.parametrize(("option", "cancelled"), [(True, True), (False, False)])
def test_cancel_on_change(option: bool, cancelled: bool) -> None:
    """With cancelOnChange an edit ends the run under way, which is not a failure (E4)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    bench = Bench(reconciler.Reconciler(cluster, runner, fakes.options()))
    bench.observe(cluster.objs[KEY], cancel_on_change=option)
    seen: list[bool] = []

    def edit_once(request: Any, cancel: threading.Event) -> None:
        if not seen:
            bench.observe(cluster.edit(KEY, size=9), "MODIFIED", cancel_on_change=option)
        seen.append(cancel.is_set())

    runner.during = edit_once
    assert bench.serve() == 2
    assert seen == [cancelled, False]
    assert runner.requests[-1].obj["spec"]["size"] == 9


def test_cancel_on_change_spares_the_clean_up() -> None:
    """What changes on a terminating object does not interrupt its clean-up."""
    script = Script()
    bench = Bench(script)
    dying = fakes.make(deletionTimestamp=fakes.NOW, generation=2)
    bench.observe(dying, cancel_on_change=True)
    cancels: list[reconciler.Cancel] = []

    def edit(key: objects.ObjectKey, cancel: reconciler.Cancel) -> None:
        again = edited(3, deletionTimestamp=fakes.NOW)
        bench.observe(again, "MODIFIED", cancel_on_change=True)
        cancels.append(cancel)

    script.during = edit
    bench.serve()
    assert [cancel.is_set() for cancel in cancels] == [False, False]


def test_cancel_on_change_without_a_run() -> None:
    """An edit while nothing runs cancels nothing."""
    bench = Bench(Script())
    bench.observe(fakes.make(), cancel_on_change=True)
    bench.observe(edited(2), "MODIFIED", cancel_on_change=True)
    assert bench.serve() == 1


FORCE, SKIP = (objects.ANNOTATION_PREFIX + name for name in ("force-run", "skip-cleanup"))


def test_who_wants_to_know_is_told() -> None:
    """Edits of known objects, objects that are gone, kinds that are retired, and all events."""
    bench = Bench(Script(reconciler.Result(), reconciler.Result(forget=True)))
    bench.observe(fakes.make())
    bench.observe(fakes.make(), None)
    assert bench.told == [("event", "ADDED"), ("event", None)]
    bench.serve()
    bench.told.clear()
    bench.observe(edited(2), "MODIFIED")
    assert bench.told == [("event", "MODIFIED"), ("edit", "one")]
    bench.observe(edited(2), "DELETED")
    bench.serve()
    assert bench.told[2:] == [("event", "DELETED"), ("forget", "one")]
    bench.controller.retire(KEY.gvk)
    assert bench.told[4:] == [("retire", KEY.gvk)]


def test_successors_are_not_confused_with_predecessors() -> None:
    """Late news of an object are passed on to nobody, and its end does not forget the new one."""
    script = Script(reconciler.Result(forget=True))
    bench = Bench(script)
    bench.observe(fakes.make())
    new = fakes.make(uid="new", creationTimestamp=fakes.NOW)
    script.during = lambda key, cancel: bench.observe(new, "ADDED")
    bench.serve()
    bench.observe(fakes.make(), "DELETED")
    bench.observe(edited(9), "MODIFIED")
    assert bench.told == [("event", "ADDED")] * 3


def test_hooks_are_called_without_a_lock() -> None:
    """Whoever is told may ask the controller for something at once."""
    bench = Bench(Script())
    subject = controller.Controller(
        Script(),
        WATCHED,
        fakes.options(),
        bench.clock,
        on_edit=lambda key: in_another_thread(lambda: subject.observe(fakes.watch(), None, obj)),
        listeners=[lambda *_: in_another_thread(lambda: subject.hurry())],
    )
    obj = fakes.make()
    subject.observe(fakes.watch(), "ADDED", obj)
    subject.observe(fakes.watch(), "MODIFIED", edited(2))


def in_another_thread(action: Callable[[], object]) -> None:
    """Do it there, and wait until it is done."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.mark.case("E7")
def test_force_run_ends_what_holds_an_object_up() -> None:
    """A new order is served at once, after a failure as after an error that is not retried."""
    for error in (errors.RunFailedError("boom"), errors.TerminalError("never")):
        bench = Bench(Script(error, error))
        bench.observe(fakes.make())
        bench.serve()
        for value, passes in (("a", 1), ("a", 0), ("b", 1), ("b", 0)):
            bench.observe(fakes.make(annotations={FORCE: value}), "MODIFIED")
            assert bench.serve() == passes
        assert bench.told.count(("edit", "one")) == 2


@pytest.mark.case("E7")
def test_force_run_once_per_value_with_a_real_pass() -> None:
    """One run per new value, none for the same again, none for the record of it (E7)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    quiet = fakes.options(reconcile_period=0.0)
    bench = Bench(reconciler.Reconciler(cluster, runner, quiet))
    bench.observe(cluster.objs[KEY])
    runs = []
    for value in ("a", "a", "b", "b"):
        cluster.objs[KEY]["metadata"]["annotations"] = {FORCE: value}
        for _ in range(2):
            bench.observe(copy.deepcopy(cluster.objs[KEY]), "MODIFIED")
            bench.serve_in(1.0)
        runs.append(len(runner.requests))
    assert runs == [1, 1, 2, 2]


@pytest.mark.case("D2")
def test_skip_cleanup_ends_a_hanging_clean_up() -> None:
    """An order to skip the clean-up does not wait for the one under way."""
    cluster = fakes.FakeCluster(
        fakes.make(deletionTimestamp=fakes.NOW, finalizers=[fakes.FINALIZER])
    )
    runner, watch = fakes.FakeRunner(), fakes.held_watch()
    bench = Bench(reconciler.Reconciler(cluster, runner, fakes.options()), [watch])
    bench.controller.observe(watch, None, copy.deepcopy(cluster.objs[KEY]))
    cancelled: list[bool] = []

    def order(request: Any, cancel: threading.Event) -> None:
        obj = cluster.objs[KEY]
        obj["metadata"]["annotations"] = {SKIP: "true"}
        bench.controller.observe(watch, "MODIFIED", copy.deepcopy(obj))
        cancelled.append(cancel.is_set())

    runner.during = order
    bench.serve()
    assert cancelled == [True]
    assert cluster.objs == {}


@pytest.mark.case("E20")
def test_status_that_the_run_writes_itself() -> None:
    """A change at a watched path of the status by others is a pass, one by the run is none."""
    script = Script()
    script.origins = {"4": "3", "6": "5"}  # what the operator has written itself
    ours = {"2", "3"}
    bench = Bench(script, own_write=lambda key, digest: digest.resource_version in ours)
    paths = (fieldpath.parse("status.phase"),)
    passes = []
    for version, phase in zip("1246789", "abcddef", strict=True):
        obj = {**fakes.make(resourceVersion=version), "status": {"phase": phase}}
        bench.observe(obj, "MODIFIED", watch_status_paths=paths)
        passes.append(bench.serve())
    assert passes == [1, 0, 0, 1, 0, 1, 1]
    assert ("edit", "one") not in bench.told


@pytest.mark.case("E20")
@pytest.mark.parametrize(("own", "passes"), [({"2"}, 1), (set(), 2), ({"3"}, 2)])
def test_status_that_changes_during_the_run(own: set[str], passes: int) -> None:
    """Who has written it is asked when the run has ended; it never ends the run (E20)."""
    known: set[str] = set()
    script = Script()
    bench = Bench(script, own_write=lambda key, digest: digest.resource_version in known)
    options: dict[str, Any] = {
        "watch_status_paths": (fieldpath.parse("status.phase"),),
        "cancel_on_change": True,
    }
    bench.observe(fakes.make(), **options)
    cancelled: list[bool] = []

    def write(key: objects.ObjectKey, cancel: reconciler.Cancel) -> None:
        obj = {**fakes.make(resourceVersion="2"), "status": {"phase": "Up"}}
        bench.observe(obj, "MODIFIED", **options)
        cancelled.append(cancel.is_set())
        known.update(own)  # the proxy tells later than the watch

    script.during = write
    assert bench.serve() == passes
    assert not any(cancelled)


def test_unknown_kind_is_a_logged_bug() -> None:
    """A key whose kind is not watched does not stop the worker."""
    bench = Bench(Script())
    stranger = fakes.key(gvk=objects.GVK("g", "v1", "Stranger"))
    bench.controller.enqueue(stranger, Priority.DEPENDENT)
    with structlog.testing.capture_logs() as lines:
        bench.serve()
    assert [line["event"] for line in lines] == ["reconcile failed unexpectedly"]


class Gate(Script):
    """Passes that last until the gate opens or they are cancelled, with what overlapped."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.running: Counter[objects.ObjectKey] = Counter()
        self.peak: Counter[str] = Counter()
        self.started = threading.Semaphore(0)
        self.open = threading.Event()
        self.hanging: set[str] = set()
        self.whys: list[reconciler.Why | None] = []

    def reconcile(
        self, watch: watches.Watch, key: objects.ObjectKey, cancel: reconciler.Cancel
    ) -> reconciler.Result:
        with self.lock:
            self.running[key] += 1
            kinds = Counter(k.gvk.kind for k in self.running.elements())
            now = {**kinds, "all": self.running.total(), "same": self.running[key]}
            self.peak.update({k: n - self.peak[k] for k, n in now.items() if n > self.peak[k]})
            self.served.append(key.name)
        self.started.release()
        if key.name in self.hanging:
            cancel.wait(PATIENCE)
        else:
            self.open.wait(PATIENCE)
        with self.lock:
            self.running[key] -= 1
            self.whys.append(cancel.why)
        return reconciler.Result()

    def await_started(self, count: int) -> None:
        """Wait until so many more passes have begun."""
        for _ in range(count):
            assert self.started.acquire(timeout=PATIENCE)


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate that is opened at the end, so that no thread is left behind."""
    made = Gate()
    yield made
    made.open.set()


def running(gate: Gate, **engine: Any) -> controller.Controller:
    """A started controller with real workers and real time."""
    made = controller.Controller(gate, WATCHED, fakes.options(**engine))
    made.start()
    return made


@pytest.mark.case("E14")
def test_caps_hold_with_real_workers(gate: Gate) -> None:
    """Never two passes of one object, per-kind and global caps hold, nothing is lost (E14)."""
    subject = running(gate, max_concurrent_reconciles=2, max_concurrent_runs=3)
    for number in range(20):
        for gvk in (fakes.GVK, fakes.OTHER):
            obj = fakes.make(f"{gvk.kind}-{number}", gvk)
            subject.observe(fakes.watch(gvk=gvk), "ADDED", obj)
    gate.await_started(3)
    gate.open.set()
    gate.await_started(37)
    subject.stop(PATIENCE)
    assert len(set(gate.served)) == 40
    assert gate.peak["same"] == 1
    assert gate.peak["all"] == 3
    assert max(gate.peak["Etcd"], gate.peak["Backup"]) == 2


@pytest.mark.case("E15")
def test_hanging_kind_does_not_block_others(gate: Gate) -> None:
    """While one kind hangs, other kinds go on (E15)."""
    gate.hanging = {"stuck", "behind"}
    gate.open.set()
    subject = running(gate, max_concurrent_reconciles=1, max_concurrent_runs=2)
    for name in ("stuck", "behind"):
        subject.observe(fakes.watch(), "ADDED", fakes.make(name))
    for number in range(5):
        obj = fakes.make(f"other-{number}", fakes.OTHER)
        subject.observe(fakes.watch(gvk=fakes.OTHER), "ADDED", obj)
    gate.await_started(6)
    assert gate.served.count("stuck") == 1
    assert "behind" not in gate.served
    assert list(subject.active()) == [fakes.key("stuck")]
    subject.stop(0.0)


def test_stop_waits_for_what_runs(gate: Gate) -> None:
    """Within the grace period a run may end by itself; queued work is not begun."""
    subject = running(gate, max_concurrent_runs=1)
    for name in ("active", "queued"):
        subject.observe(fakes.watch(), "ADDED", fakes.make(name))
    gate.await_started(1)
    stopper = threading.Thread(target=subject.stop, args=(PATIENCE,))
    stopper.start()
    gate.open.set()
    stopper.join(PATIENCE)
    assert not stopper.is_alive()
    assert gate.served == ["active"]
    assert gate.whys == [None]


def test_stop_cancels_when_the_grace_is_over(gate: Gate) -> None:
    """After the grace period runs are cancelled, and stop returns when they have ended."""
    gate.hanging = {"one"}
    subject = running(gate, max_concurrent_runs=1)
    subject.observe(fakes.watch(), "ADDED", fakes.make())
    gate.await_started(1)
    with structlog.testing.capture_logs() as lines:
        subject.stop(0.0)
    assert gate.whys == [reconciler.Why.STOPPED]
    assert [line["objects"] for line in lines] == [[str(KEY)]]
    assert subject.active() == {}


def test_hurry_ends_the_grace_period(gate: Gate) -> None:
    """A second signal during the grace period cancels at once; more of them change nothing."""
    gate.hanging = {"one"}
    subject = running(gate, max_concurrent_runs=1)
    subject.observe(fakes.watch(), "ADDED", fakes.make())
    gate.await_started(1)
    subject.hurry()
    subject.hurry()
    subject.stop(PATIENCE)
    assert gate.whys == [reconciler.Why.STOPPED]


def test_runs_that_do_not_end(gate: Gate) -> None:
    """Stop is bounded: a run that ignores its cancellation is named in the log."""
    subject = running(gate, max_concurrent_runs=1)
    subject.observe(fakes.watch(), "ADDED", fakes.make())
    gate.await_started(1)
    with structlog.testing.capture_logs() as lines:
        subject.stop(0.0, cancel_wait=0.0)
    assert [line["event"] for line in lines][-1] == "runs did not end"


def test_pass_that_begins_while_stopping() -> None:
    """A pass that was handed out just before the stop is cancelled from its beginning."""
    script = Script()
    bench = Bench(script)
    whys: list[reconciler.Why | None] = []
    script.during = lambda key, cancel: whys.append(cancel.why)
    bench.observe(fakes.make())
    key = bench.controller.queue.poll(bench.clock.now)
    assert key is not None
    bench.controller.hurry()
    bench.controller.serve(key)
    assert whys == [reconciler.Why.STOPPED]


def test_stop_before_start() -> None:
    """A controller that was never started stops at once."""
    Bench(Script()).controller.stop(PATIENCE)
