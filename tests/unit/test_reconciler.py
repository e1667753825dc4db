"""One pass, from the key to a Result."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import engine_fakes as fakes
import pytest
import structlog

from ansible_operator import conditions, errors, objects, selector, watches
from ansible_operator.ansible import run
from ansible_operator.control import period, reconciler
from ansible_operator.control.priority import Priority

KEY = fakes.key()


@pytest.fixture(autouse=True)
def _log_context() -> Iterator[None]:
    """The pass binds its job to the log context of the thread, here that of the test."""
    yield
    structlog.contextvars.clear_contextvars()


def go(
    cluster: fakes.FakeCluster,
    runner: fakes.FakeRunner,
    watch: watches.Watch | None = None,
    cancel: reconciler.Cancel | None = None,
    *,
    loop_note: str = "",
    **engine: Any,
) -> reconciler.Result:
    """One pass."""
    subject = reconciler.Reconciler(
        cluster,
        runner,
        fakes.options(**engine),
        now=lambda: fakes.NOW,
        new_job=lambda: "4711",
        loop_note=lambda key: loop_note,
    )
    return subject.reconcile(watch or fakes.watch(), KEY, cancel or reconciler.Cancel())


def condition(cluster: fakes.FakeCluster, type_: str) -> objects.Obj:
    """The condition of the object as it is stored."""
    found = conditions.find(conditions.read(objects.status(cluster.objs[KEY])), type_)
    assert found is not None
    return found


def dying(*finalizers: str) -> objects.Obj:
    """An object that is being deleted and held by these finalizers."""
    return fakes.make(deletionTimestamp=fakes.NOW, generation=2, finalizers=list(finalizers))


def test_success() -> None:
    """Running is written before the run, the verdict after it; the next pass is periodic."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    seen: list[str] = []
    runner.during = lambda request, cancel: seen.append(condition(cluster, "Ready")["status"])
    result = go(cluster, runner, reconcile_period=60.0)
    assert seen == ["Unknown"]
    assert result == reconciler.Result(requeue_after=60.0)
    assert condition(cluster, "Successful")["status"] == "True"
    assert condition(cluster, "Running")["ansibleResult"]["ok"] == 3
    assert cluster.writes == [("status", "one")] * 2


def test_run_gets_the_fresh_object() -> None:
    """The run sees the object as it is after Running was written, with a unique job."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    go(cluster, runner)
    [request] = runner.requests
    assert request.job == "4711"
    assert not request.finalizing
    assert request.obj["status"]["conditions"][0]["type"] == "Running"
    assert request.watch == fakes.watch()


def test_job_is_in_the_log_context() -> None:
    """Every log line of the pass carries its job."""
    go(fakes.FakeCluster(), fakes.FakeRunner())
    assert structlog.contextvars.get_contextvars() == {"job": "4711", "reconcileID": "4711"}


@pytest.mark.case("E4")
def test_observed_generation_is_that_of_the_run() -> None:
    """An edit during the run is not claimed to be done (E4, S8)."""
    cluster, runner = fakes.FakeCluster(fakes.make(generation=3)), fakes.FakeRunner()
    runner.during = lambda request, cancel: cluster.edit(KEY, size=5)
    go(cluster, runner)
    assert cluster.objs[KEY]["metadata"]["generation"] == 4
    assert cluster.objs[KEY]["status"]["observedGeneration"] == 3
    assert condition(cluster, "Ready")["observedGeneration"] == 3


@pytest.mark.case("D9")
def test_gone_is_forgotten() -> None:
    """An object that is gone is forgotten with its artifacts (D9)."""
    cluster, runner = fakes.FakeCluster(), fakes.FakeRunner()
    assert go(cluster, runner) == reconciler.Result(forget=True)
    assert runner.forgotten == [KEY]
    assert runner.requests == []


def test_not_selected_is_forgotten() -> None:
    """Timers and dependents do not reconcile an object that left the selector (W17)."""
    chosen = selector.Selector((selector.Requirement("env", "In", ("prod",)),))
    cluster, runner = fakes.FakeCluster(fakes.make(labels={"env": "test"})), fakes.FakeRunner()
    assert go(cluster, runner, fakes.watch(selector=chosen)) == reconciler.Result(forget=True)
    assert (runner.requests, cluster.writes) == ([], [])


@pytest.mark.case("D4", "D8", "D9")
@pytest.mark.parametrize("watch", [fakes.watch(), fakes.held_watch()])
def test_deleted_without_our_finalizer(watch: watches.Watch) -> None:
    """Deleted before our finalizer was added or after it was removed: no run (D4, D8, D9)."""
    cluster, runner = fakes.FakeCluster(dying("foreign")), fakes.FakeRunner()
    assert go(cluster, runner, watch) == reconciler.Result()
    assert (runner.requests, cluster.writes) == ([], [])


@pytest.mark.case("D5")
def test_deleted_with_our_finalizer() -> None:
    """Only the clean-up runs, never the main role; then the finalizer goes and the object (D5)."""
    cluster, runner = fakes.FakeCluster(dying(fakes.FINALIZER)), fakes.FakeRunner()
    assert go(cluster, runner, fakes.held_watch()) == reconciler.Result(forget=True)
    assert [request.finalizing for request in runner.requests] == [True]
    assert cluster.writes == [("status", "one"), ("finalizer removed", "one")]
    assert cluster.objs == {}


@pytest.mark.case("D10")
def test_clean_up_of_a_namespace() -> None:
    """A cluster-scoped kind without generations is cleaned up as any other (D10)."""
    namespace = objects.ObjectKey(objects.GVK("", "v1", "Namespace"), "", "team")
    cluster, runner = fakes.FakeCluster(), fakes.FakeRunner()
    metadata = {"name": "team", "uid": "u", "deletionTimestamp": fakes.NOW}
    cluster.objs[namespace] = {"metadata": {**metadata, "finalizers": [fakes.FINALIZER]}}
    subject = reconciler.Reconciler(cluster, runner, fakes.options())
    watch = fakes.held_watch(gvk=namespace.gvk, manage_status=False)
    subject.reconcile(watch, namespace, reconciler.Cancel())
    assert [request.finalizing for request in runner.requests] == [True]
    assert cluster.objs == {}


def test_finalizer_is_added_before_the_run() -> None:
    """A missing finalizer is added, and the same pass goes on with the object as it is then."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    go(cluster, runner, fakes.held_watch())
    assert cluster.writes == [("finalizer added", "one"), ("status", "one"), ("status", "one")]
    assert runner.requests[0].obj["metadata"]["finalizers"] == [fakes.FINALIZER]


def test_finalizer_is_not_added_twice() -> None:
    """An object that has the finalizer is not written for it."""
    cluster = fakes.FakeCluster(fakes.make(finalizers=[fakes.FINALIZER]))
    go(cluster, fakes.FakeRunner(), fakes.held_watch())
    assert cluster.writes == [("status", "one")] * 2


@pytest.mark.case("D4")
def test_deleted_while_the_finalizer_is_added() -> None:
    """Deleted between reading and adding the finalizer: nothing runs (D4)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    real = cluster.get

    def get(key: objects.ObjectKey) -> objects.Obj | None:
        found = real(key)
        cluster.delete(key)
        return found

    cluster.get = get  # type: ignore[method-assign]
    assert go(cluster, runner, fakes.held_watch()) == reconciler.Result(forget=True)
    assert (runner.requests, cluster.writes) == ([], [])


def test_gone_before_running_is_written() -> None:
    """Deleted just before Running is written: no run, no error."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    cluster.update_status = lambda key, compute: None  # type: ignore[method-assign]
    assert go(cluster, runner) == reconciler.Result(forget=True)
    assert runner.requests == []


@pytest.mark.parametrize(("finalizers", "runs"), [([fakes.FINALIZER], [True]), (["foreign"], [])])
def test_deleted_while_running_is_written(finalizers: list[str], runs: list[bool]) -> None:
    """What runs is decided on the object as it is when Running was written, not as it was read."""
    cluster, runner = fakes.FakeCluster(fakes.make(finalizers=finalizers)), fakes.FakeRunner()
    watch = fakes.held_watch() if runs else fakes.watch()
    real = cluster.update_status

    def update_status(key: objects.ObjectKey, compute: Any) -> objects.Obj | None:
        if not cluster.writes:
            cluster.delete(key)
        return real(key, compute)

    cluster.update_status = update_status  # type: ignore[method-assign]
    go(cluster, runner, watch)
    assert [request.finalizing for request in runner.requests] == runs


@pytest.mark.case("D1")
def test_failed_clean_up_keeps_the_object() -> None:
    """The object stays with Failure and its finalizer; the next good clean-up lets it go (D1)."""
    cluster = fakes.FakeCluster(dying(fakes.FINALIZER))
    runner = fakes.FakeRunner(fakes.failed("cannot drain"))
    with pytest.raises(errors.RunFailedError, match="cannot drain"):
        go(cluster, runner, fakes.held_watch())
    assert condition(cluster, "Failure")["message"] == (
        "cannot drain\nTo let the object go without a clean-up: kubectl annotate "
        "etcd.db.example.com one -n prod ansible.sdk.operatorframework.io/skip-cleanup=true"
    )
    assert condition(cluster, "Ready")["message"] == "cannot drain"
    assert objects.finalizers(cluster.objs[KEY]) == [fakes.FINALIZER]
    assert go(cluster, runner, fakes.held_watch()).forget


@pytest.mark.case("E10")
def test_clean_up_that_asks_to_run_again_keeps_the_finalizer() -> None:
    """requeue_after in a clean-up: run again; a plain success removes the finalizer (E10)."""
    cluster = fakes.FakeCluster(dying(fakes.FINALIZER))
    runner = fakes.FakeRunner(fakes.succeeded(requeue_after=30.0))
    result = go(cluster, runner, fakes.held_watch())
    assert result == reconciler.Result(30.0, priority=Priority.RETRY)
    assert objects.finalizers(cluster.objs[KEY]) == [fakes.FINALIZER]
    assert condition(cluster, "Ready")["reason"] == "Progressing"
    assert go(cluster, runner, fakes.held_watch()).forget


@pytest.mark.case("D8")
def test_foreign_finalizer_after_our_clean_up() -> None:
    """Held by others after our clean-up: the status says how it went, nothing more runs (D8)."""
    cluster = fakes.FakeCluster(dying(fakes.FINALIZER, "foreign"))
    runner = fakes.FakeRunner()
    assert go(cluster, runner, fakes.held_watch()) == reconciler.Result()
    assert condition(cluster, "Successful")["status"] == "True"
    assert go(cluster, runner, fakes.held_watch()) == reconciler.Result()
    assert len(runner.requests) == 1


@pytest.mark.case("D1")
def test_finalizer_goes_before_the_last_status() -> None:
    """A status that cannot be written does not make a good clean-up run twice (D1)."""
    cluster, runner = fakes.FakeCluster(dying(fakes.FINALIZER, "foreign")), fakes.FakeRunner()
    runner.during = lambda request, cancel: cluster.trouble.update(
        update_status=errors.ServerError("overloaded", status=503)
    )
    with pytest.raises(errors.ServerError):
        go(cluster, runner, fakes.held_watch())
    assert objects.finalizers(cluster.objs[KEY]) == ["foreign"]


@pytest.mark.parametrize(
    ("result", "seconds"),
    [
        (fakes.succeeded(), 5.0),
        (fakes.succeeded(requeue_after=2.0), 2.0),
        (fakes.succeeded(requeue_after=60.0), 5.0),
    ],
)
def test_deleted_during_the_run(result: run.RunResult, seconds: float) -> None:
    """Deleted while the main role ran: the clean-up comes after 5 s at the latest."""
    cluster = fakes.FakeCluster(fakes.make(finalizers=[fakes.FINALIZER]))
    runner = fakes.FakeRunner(result)
    runner.during = lambda request, cancel: cluster.delete(KEY)
    expected = reconciler.Result(seconds, priority=Priority.DELETION)
    assert go(cluster, runner, fakes.held_watch()) == expected


@pytest.mark.case("D9")
def test_deleted_during_the_run_and_held_by_others() -> None:
    """Without a finalizer of ours a deletion during the run leaves nothing to do (D9)."""
    cluster, runner = fakes.FakeCluster(fakes.make(finalizers=["foreign"])), fakes.FakeRunner()
    runner.during = lambda request, cancel: cluster.delete(KEY)
    assert go(cluster, runner) == reconciler.Result()


@pytest.mark.parametrize("manage_status", [True, False])
@pytest.mark.parametrize("result", [fakes.succeeded(), fakes.failed()])
def test_gone_when_the_run_ends(result: run.RunResult, manage_status: bool) -> None:
    """Gone while the run was finishing: no error, no re-creation, forgotten (S14)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner(result)
    runner.during = lambda request, cancel: cluster.delete(KEY)
    watch = fakes.watch(manage_status=manage_status)
    assert go(cluster, runner, watch) == reconciler.Result(forget=True)
    assert cluster.objs == {}
    assert runner.forgotten == [KEY]


def test_made_anew_during_the_run() -> None:
    """The verdict of a run is not written to another object of the same name."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner(fakes.failed())

    def replace(request: run.RunRequest, cancel: threading.Event) -> None:
        cluster.objs[KEY] = fakes.make(uid="another")

    runner.during = replace
    assert go(cluster, runner) == reconciler.Result()
    assert "status" not in cluster.objs[KEY]


@pytest.mark.case("E8")
def test_failure_is_written_and_raised() -> None:
    """A failed run gives Failure with message and counts, and an error for the backoff (E8)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner(fakes.failed("no disk"))
    with pytest.raises(errors.RunFailedError, match="no disk"):
        go(cluster, runner, fakes.watch(reconcile_period=5.0))
    assert condition(cluster, "Failure")["message"] == "no disk"
    assert condition(cluster, "Failure")["ansibleResult"]["ok"] == 3
    assert condition(cluster, "Running")["status"] == "False"


def test_failure_without_stats() -> None:
    """After a syntax error there are no counts to show, but Running is False (S4)."""
    cluster = fakes.FakeCluster(fakes.make())
    runner = fakes.FakeRunner(run.RunResult(run.Outcome.FAILED, "ERROR! bad YAML", rc=4))
    with pytest.raises(errors.RunFailedError):
        go(cluster, runner)
    assert "ansibleResult" not in condition(cluster, "Failure")
    assert condition(cluster, "Running")["status"] == "False"


def test_failure_without_words() -> None:
    """A time-out without a message still says what happened."""
    cluster = fakes.FakeCluster(fakes.make())
    with pytest.raises(errors.RunFailedError, match="timed out"):
        go(cluster, fakes.FakeRunner(run.RunResult(run.Outcome.TIMED_OUT)))
    assert "timed out" in condition(cluster, "Failure")["message"]


def test_requeue_after() -> None:
    """A role that asks to run again gets it; the status waits, the period is not used."""
    cluster = fakes.FakeCluster(fakes.make())
    runner = fakes.FakeRunner(fakes.succeeded(requeue_after=90.0))
    result = go(cluster, runner, fakes.watch(reconcile_period=5.0))
    assert result == reconciler.Result(90.0, priority=Priority.RETRY)
    assert condition(cluster, "Ready")["message"] == "The role asked to run again in 1m30s"


@pytest.mark.parametrize("seconds", [0.0, -5.0])
def test_requeue_after_nothing(seconds: float) -> None:
    """Asking to run again in 0 s or less asks for nothing: a plain success."""
    cluster = fakes.FakeCluster(fakes.make())
    runner = fakes.FakeRunner(fakes.succeeded(requeue_after=seconds))
    assert go(cluster, runner, fakes.watch(reconcile_period=5.0)) == reconciler.Result(5.0)
    assert condition(cluster, "Ready")["status"] == "True"


def test_requeue_after_of_a_failed_run() -> None:
    """A failure is a failure, whatever an earlier task asked for."""
    runner = fakes.FakeRunner(fakes.failed(requeue_after=90.0))
    with pytest.raises(errors.RunFailedError):
        go(fakes.FakeCluster(fakes.make()), runner)


@pytest.mark.parametrize("seconds", [0.0, -60.0])
def test_no_periodic_run(seconds: float) -> None:
    """A period of 0 or less means that only events start runs."""
    watch = fakes.watch(reconcile_period=seconds)
    result = go(fakes.FakeCluster(fakes.make()), fakes.FakeRunner(), watch)
    assert result == reconciler.Result()


def test_period_of_the_annotation() -> None:
    """The object's annotation wins over the file (W2)."""
    obj = fakes.make(annotations={period.ANNOTATION: "7s"})
    watch = fakes.watch(reconcile_period=60.0)
    assert go(fakes.FakeCluster(obj), fakes.FakeRunner(), watch) == reconciler.Result(7.0)


def test_invalid_period_annotation() -> None:
    """It is run with the file's period, Failure names the annotation, nothing is retried (W3)."""
    cluster = fakes.FakeCluster(fakes.make(annotations={period.ANNOTATION: "abc"}))
    watch = fakes.watch(reconcile_period=60.0)
    assert go(cluster, fakes.FakeRunner(), watch) == reconciler.Result(60.0)
    assert condition(cluster, "Failure")["reason"] == "InvalidAnnotation"
    assert period.ANNOTATION in condition(cluster, "Failure")["message"]
    assert condition(cluster, "Successful")["status"] == "True"


def test_invalid_period_annotation_and_a_failure() -> None:
    """When the run fails as well, Failure tells both."""
    cluster = fakes.FakeCluster(fakes.make(annotations={period.ANNOTATION: "abc"}))
    with pytest.raises(errors.RunFailedError):
        go(cluster, fakes.FakeRunner(fakes.failed("no disk")))
    first, second = condition(cluster, "Failure")["message"].splitlines()
    assert first == "no disk"
    assert period.ANNOTATION in second


def test_notes_become_a_condition() -> None:
    """What of the input was not handed to Ansible is said on the object (V4, V11)."""
    cluster = fakes.FakeCluster(fakes.make())
    go(cluster, fakes.FakeRunner(fakes.succeeded(notes=("spec.ansible_host ignored",))))
    assert condition(cluster, "InputWarning")["message"] == "spec.ansible_host ignored"


@pytest.mark.parametrize("result", [fakes.succeeded(), fakes.failed()])
def test_manage_status_false_writes_nothing(result: Any) -> None:
    """manageStatus false: no status write whatever happens; failures are still retried (S15)."""
    obj = fakes.make(annotations={period.ANNOTATION: "abc"})
    cluster, runner = fakes.FakeCluster(obj), fakes.FakeRunner(result)
    try:
        go(cluster, runner, fakes.watch(manage_status=False))
        failed = False
    except errors.RunFailedError:
        failed = True
    assert failed == (result != fakes.succeeded())
    assert (cluster.writes, len(runner.requests)) == ([], 1)


REFUSED = errors.InvalidError(
    'Invalid value: "no/such/name": must be a qualified name',
    status=422,
    fields=("metadata.finalizers",),
)


@pytest.mark.parametrize("place", ["watches.yaml:12: entry 2", ""])
def test_finalizer_that_the_server_refuses(place: str) -> None:
    """Nothing runs and nothing is retried; Failure and error say what to correct and where (S5)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    cluster.trouble["add_finalizer"] = REFUSED
    with pytest.raises(errors.TerminalError) as caught:
        go(cluster, runner, fakes.held_watch(place=place))
    for words in (fakes.FINALIZER, str(REFUSED), f"in {place or 'watches.yaml'}"):
        assert words in str(caught.value)
    assert condition(cluster, "Failure")["message"] == str(caught.value)
    assert condition(cluster, "Running")["status"] == "False"
    assert runner.requests == []


def test_refused_finalizer_without_status() -> None:
    """manageStatus false: a refused finalizer is only in the log."""
    cluster = fakes.FakeCluster(fakes.make())
    cluster.trouble["add_finalizer"] = REFUSED
    with pytest.raises(errors.TerminalError):
        go(cluster, fakes.FakeRunner(), fakes.held_watch(manage_status=False))
    assert cluster.writes == []


@pytest.mark.parametrize("fields", [("spec.size",), ()])
def test_object_that_the_server_refuses(fields: tuple[str, ...]) -> None:
    """Where another field is in the way the schema may be mended: it is tried again."""
    cluster = fakes.FakeCluster(fakes.make())
    cluster.trouble["add_finalizer"] = errors.InvalidError("spec", status=422, fields=fields)
    with pytest.raises(errors.InvalidError):
        go(cluster, fakes.FakeRunner(), fakes.held_watch())


def test_check() -> None:
    """A check reads; it forgets what is gone or left the selector and does nothing to others."""
    runner = fakes.FakeRunner()
    chosen = selector.Selector((selector.Requirement("env", "In", ("prod",)),))
    watch = fakes.held_watch(selector=chosen)
    for env, left in (("prod", []), ("test", [KEY])):
        cluster = fakes.FakeCluster(fakes.make(labels={"env": env}))
        subject = reconciler.Reconciler(cluster, runner, fakes.options())
        assert subject.check(watch, KEY) == reconciler.Result(forget=bool(left))
        assert (runner.forgotten, runner.requests, cluster.writes) == (left, [], [])
    subject = reconciler.Reconciler(fakes.FakeCluster(), runner, fakes.options())
    assert subject.check(watch, KEY) == reconciler.Result(forget=True)
    assert runner.forgotten == [KEY, KEY]


@pytest.mark.parametrize("method", ["get", "add_finalizer", "update_status"])
def test_trouble_with_the_api_server(method: str) -> None:
    """Errors of the API server before the run go through, and Ansible is not run."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    cluster.trouble[method] = errors.ForbiddenError("not allowed", status=403)
    with pytest.raises(errors.ForbiddenError):
        go(cluster, runner, fakes.held_watch())
    assert runner.requests == []


@pytest.mark.case("E4")
def test_superseded_run() -> None:
    """A run cancelled because of an edit is no failure; the next pass comes at once (E4)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    cancel = reconciler.Cancel()
    runner.during = lambda request, event: cancel.request(reconciler.Why.SUPERSEDED)
    expected = reconciler.Result(requeue_after=0.0, priority=Priority.EDIT)
    assert go(cluster, runner, cancel=cancel) == expected
    assert len(cluster.writes) == 1


def test_interrupted_run() -> None:
    """A run cancelled because the operator stops says so, and is not retried by this process."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    cancel = reconciler.Cancel()

    def stop(request: run.RunRequest, event: threading.Event) -> None:
        cancel.request(reconciler.Why.SUPERSEDED)
        cancel.request(reconciler.Why.STOPPED)
        cancel.request(reconciler.Why.SUPERSEDED)

    runner.during = stop
    assert go(cluster, runner, cancel=cancel) == reconciler.Result()
    message = condition(cluster, "Failure")["message"]
    assert message.startswith("interrupted: the operator was stopped")


def test_interrupted_clean_up_keeps_the_finalizer() -> None:
    """A clean-up that was interrupted is not over."""
    cluster, runner = fakes.FakeCluster(dying(fakes.FINALIZER)), fakes.FakeRunner()
    cancel = reconciler.Cancel()
    runner.during = lambda request, event: cancel.request(reconciler.Why.STOPPED)
    go(cluster, runner, fakes.held_watch(), cancel)
    assert objects.finalizers(cluster.objs[KEY]) == [fakes.FINALIZER]


def test_cancelled_by_somebody_else() -> None:
    """A run that ends as cancelled though nobody asked for it is a failure."""
    runner = fakes.FakeRunner(run.RunResult(run.Outcome.CANCELLED))
    with pytest.raises(errors.RunFailedError, match="cancelled"):
        go(fakes.FakeCluster(fakes.make()), runner)


@pytest.mark.parametrize("spec", [["a", "list"], "text", None, {"blob": "x" * (1 << 20)}])
def test_odd_specs(spec: Any) -> None:
    """A spec that is no map, none at all, or one of 1 MiB is run like any other."""
    cluster, runner = fakes.FakeCluster({**fakes.make(), "spec": spec}), fakes.FakeRunner()
    go(cluster, runner)
    assert runner.requests[0].obj["spec"] == spec
    assert condition(cluster, "Ready")["status"] == "True"


def test_defaults() -> None:
    """Times are whole seconds in UTC, jobs are 63-bit numbers in decimal."""
    assert reconciler.utc_now().endswith("Z")
    assert len(reconciler.utc_now()) == len(fakes.NOW)
    assert 0 <= int(reconciler.random_job()) < 1 << 63
    assert reconciler.random_job() != reconciler.random_job()


def absent(cluster: fakes.FakeCluster, type_: str) -> bool:
    """Whether the object has no such condition."""
    found = conditions.read(objects.status(cluster.objs[KEY]))
    return conditions.find(found, type_) is None


def annotate(cluster: fakes.FakeCluster, **annotations: str | None) -> None:
    """Set the annotations, of which None is removed; underscores stand for dashes."""
    present = dict(objects.annotations(cluster.objs[KEY]))
    for name, value in annotations.items():
        key = objects.ANNOTATION_PREFIX + name.replace("_", "-")
        present.pop(key, None)
        if value is not None:
            present[key] = value
    cluster.objs[KEY]["metadata"]["annotations"] = present


def test_loop_is_told_after_the_run() -> None:
    """LoopDetected stands in the status of what comes out of the run, good or bad, and goes."""
    cluster = fakes.FakeCluster(fakes.make())
    runner = fakes.FakeRunner(fakes.failed())
    with pytest.raises(errors.RunFailedError):
        go(cluster, runner, loop_note="Secret app was changed by 5 runs")
    assert condition(cluster, "LoopDetected")["message"] == "Secret app was changed by 5 runs"
    go(cluster, runner)
    assert absent(cluster, "LoopDetected")


@pytest.mark.parametrize("obj", [fakes.make(), dying(fakes.FINALIZER)])
def test_pause(obj: objects.Obj) -> None:
    """A paused object is not run, clean-up included; Paused says how to go on, once."""
    cluster, runner = fakes.FakeCluster(obj), fakes.FakeRunner()
    annotate(cluster, pause="true")
    for _ in range(2):
        assert go(cluster, runner, fakes.held_watch()) == reconciler.Result()
    assert (runner.requests, cluster.writes) == ([], [("status", "one")])
    said = condition(cluster, "Paused")
    assert (said["status"], said["reason"]) == ("True", "PausedByAnnotation")
    assert "Remove it to run the object again" in said["message"]
    annotate(cluster, pause=None)
    go(cluster, runner, fakes.held_watch())
    assert [request.finalizing for request in runner.requests] == [objects.is_deleted(obj)]
    if not objects.is_deleted(obj):
        assert absent(cluster, "Paused")


def test_pause_without_status() -> None:
    """With manageStatus: false nothing is written, and nothing runs."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    annotate(cluster, pause="true")
    go(cluster, runner, fakes.held_watch(manage_status=False))
    assert (runner.requests, cluster.writes) == ([], [])


def test_gone_when_paused_is_written() -> None:
    """An object that vanishes just then is forgotten."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    annotate(cluster, pause="true")
    cluster.update_status = lambda key, compute: None  # type: ignore[method-assign]
    assert go(cluster, runner) == reconciler.Result(forget=True)


def test_pause_with_a_value_that_means_nothing() -> None:
    """The object is run, and InputWarning names the annotation beside the notes of the run."""
    cluster = fakes.FakeCluster(fakes.make())
    annotate(cluster, pause="yes")
    go(cluster, fakes.FakeRunner(fakes.succeeded(notes=("spec.x ignored",))))
    message = condition(cluster, "InputWarning")["message"]
    assert message.startswith("spec.x ignored\nthe annotation ansible.sdk")


@pytest.mark.case("E7")
def test_force_run_is_recorded_as_handled() -> None:
    """ForcedRun has the order that the run was begun with, whatever came of it."""
    cluster = fakes.FakeCluster(fakes.make())
    runner = fakes.FakeRunner(fakes.failed(), fakes.succeeded(requeue_after=5.0))
    annotate(cluster, force_run="a")
    runner.during = lambda request, cancel: annotate(cluster, force_run="later")
    with pytest.raises(errors.RunFailedError):
        go(cluster, runner)
    said = condition(cluster, "ForcedRun")
    assert (said["status"], said["reason"], said["message"]) == ("True", "Handled", "a")
    go(cluster, runner)
    assert condition(cluster, "ForcedRun")["message"] == "later"
    annotate(cluster, force_run=None)
    runner.during = fakes.nothing
    go(cluster, runner)
    assert condition(cluster, "ForcedRun")["message"] == "later"


def test_interrupted_run_does_not_handle_the_order() -> None:
    """What was ordered is still to be done when the operator is back."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    annotate(cluster, force_run="a")
    cancel = reconciler.Cancel()
    runner.during = lambda request, event: cancel.request(reconciler.Why.STOPPED)
    go(cluster, runner, cancel=cancel)
    assert absent(cluster, "ForcedRun")


ONCE = fakes.watch(run_once_per_generation=True, reconcile_period=60.0)


def restarted(
    cluster: fakes.FakeCluster, runner: fakes.FakeRunner, watch: watches.Watch = ONCE
) -> reconciler.Result:
    """One pass of an operator that has just started."""
    return go(cluster, runner, watch)


@pytest.mark.case("E19")
def test_once_per_generation() -> None:
    """After a success only a new generation, an order or a deletion runs it again (E19)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    assert restarted(cluster, runner) == reconciler.Result()
    written = list(cluster.writes)
    for _ in range(2):
        assert restarted(cluster, runner) == reconciler.Result()
    assert (len(runner.requests), cluster.writes) == (1, written)
    cluster.edit(KEY, size=2)
    restarted(cluster, runner)
    restarted(cluster, runner)
    assert len(runner.requests) == 2
    annotate(cluster, force_run="now")
    restarted(cluster, runner)
    restarted(cluster, runner)
    assert len(runner.requests) == 3


@pytest.mark.case("E19")
@pytest.mark.parametrize(
    "result",
    [fakes.failed(), fakes.succeeded(requeue_after=5.0), run.RunResult(run.Outcome.FAILED)],
)
def test_once_per_generation_means_one_success(result: run.RunResult) -> None:
    """A failure is retried, and a role that asks to run again does (E19)."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner(fakes.succeeded(), result)
    restarted(cluster, runner)
    annotate(cluster, force_run="now")
    if result.succeeded:
        assert restarted(cluster, runner).requeue_after == 5.0
    else:
        with pytest.raises(errors.RunFailedError):
            restarted(cluster, runner)
    restarted(cluster, runner)
    restarted(cluster, runner)
    assert len(runner.requests) == 3


@pytest.mark.case("E19")
def test_once_per_generation_and_a_deletion() -> None:
    """The clean-up of a settled object runs, and its finalizer is added though it does not."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    restarted(cluster, runner)
    held = fakes.held_watch(run_once_per_generation=True)
    restarted(cluster, runner, held)
    assert objects.finalizers(cluster.objs[KEY]) == [fakes.FINALIZER]
    assert len(runner.requests) == 1
    cluster.delete(KEY)
    restarted(cluster, runner, held)
    assert [request.finalizing for request in runner.requests] == [False, True]
    assert cluster.objs == {}


def test_once_per_generation_and_a_pause() -> None:
    """Resuming a settled object removes Paused and runs nothing."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    restarted(cluster, runner)
    for value in ("true", None):
        annotate(cluster, pause=value)
        restarted(cluster, runner)
        assert absent(cluster, "Paused") is (value is None)
    assert len(runner.requests) == 1


@pytest.mark.parametrize("manage_status", [True, False])
def test_once_per_generation_where_the_status_cannot_tell(manage_status: bool) -> None:
    """Where no generation is kept in the status it is remembered while the operator runs."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    real = cluster.update_status

    def pruned(key: objects.ObjectKey, compute: Any) -> objects.Obj | None:
        after = real(key, compute)
        cluster.objs[key].pop("status", None)
        return after

    cluster.update_status = pruned  # type: ignore[method-assign]
    subject = reconciler.Reconciler(cluster, runner, fakes.options())
    watch = fakes.watch(run_once_per_generation=True, manage_status=manage_status)
    runs = []
    for step in ("first", "again", "edit", "again", "force", "again", "new"):
        if step == "edit":
            cluster.edit(KEY, size=7)
        elif step == "force":
            annotate(cluster, force_run="a")
        elif step == "new":
            cluster.objs[KEY]["metadata"]["uid"] = "another"
        subject.reconcile(watch, KEY, reconciler.Cancel())
        runs.append(len(runner.requests))
    assert runs == [1, 1, 2, 2, 3, 3, 4]


def test_once_per_generation_and_a_verdict_that_could_not_be_written() -> None:
    """A success that the status does not tell of is not the last run."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    subject = reconciler.Reconciler(cluster, runner, fakes.options())
    runner.during = lambda request, cancel: cluster.trouble.update(
        update_status=errors.ServerError("overloaded", status=503)
    )
    with pytest.raises(errors.ServerError):
        subject.reconcile(ONCE, KEY, reconciler.Cancel())
    cluster.trouble.clear()
    runner.during = fakes.nothing
    subject.reconcile(ONCE, KEY, reconciler.Cancel())
    assert condition(cluster, "Ready")["status"] == "True"
    assert len(runner.requests) == 2


def test_once_per_generation_of_a_kind_without_generations() -> None:
    """There is nothing to count, so every pass runs."""
    cluster, runner = fakes.FakeCluster(fakes.make(generation=0)), fakes.FakeRunner()
    subject = reconciler.Reconciler(cluster, runner, fakes.options())
    for _ in range(2):
        subject.reconcile(ONCE, KEY, reconciler.Cancel())
    assert len(runner.requests) == 2


class Told:
    """A recorder that keeps what it was told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []

    def record(self, obj: objects.Obj, type_: str, reason: str, message: str) -> None:
        self.events.append((type_, reason, message))


@pytest.mark.case("D2")
def test_clean_up_that_fails_for_ever_is_an_event_per_hour() -> None:
    """The first failure is an Event with the way out, and one of each hour after it (D2)."""
    cluster = fakes.FakeCluster(dying(fakes.FINALIZER))
    runner = fakes.FakeRunner(*[fakes.failed("x" * 4000)] * 9)
    told, clock = Told(), fakes.Clock()
    subject = reconciler.Reconciler(cluster, runner, fakes.options(), recorder=told, clock=clock)
    counts = []
    for seconds in (0.0, 300.0, 3000.0, 400.0, 10.0):
        clock.advance(seconds)
        with pytest.raises(errors.RunFailedError):
            subject.reconcile(fakes.held_watch(), KEY, reconciler.Cancel())
        counts.append(len(told.events))
    assert counts == [1, 1, 1, 2, 2]
    type_, reason, message = told.events[0]
    assert (type_, reason) == ("Warning", "CleanupFailed")
    assert message.endswith("skip-cleanup=true")
    assert len(message) <= 1024


@pytest.mark.case("D2")
@pytest.mark.parametrize("paused", [None, "true"])
def test_skip_cleanup(paused: str | None) -> None:
    """The finalizer goes without a run, also of a paused object; it is logged and an Event."""
    cluster = fakes.FakeCluster(dying(fakes.FINALIZER, "foreign"))
    annotate(cluster, skip_cleanup="true", pause=paused)
    runner, told = fakes.FakeRunner(), Told()
    subject = reconciler.Reconciler(cluster, runner, fakes.options(), recorder=told)
    with structlog.testing.capture_logs() as lines:
        result = subject.reconcile(fakes.held_watch(), KEY, reconciler.Cancel())
    assert (result, runner.requests) == (reconciler.Result(), [])
    assert objects.finalizers(cluster.objs[KEY]) == ["foreign"]
    assert [(line["log_level"], line["event"]) for line in lines if "skipped" in line["event"]] == [
        ("warning", "clean-up skipped")
    ]
    assert [event[:2] for event in told.events] == [("Normal", "CleanupSkipped")]


def test_skip_cleanup_of_a_living_object() -> None:
    """It is run like any other."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    annotate(cluster, skip_cleanup="true")
    go(cluster, runner, fakes.held_watch())
    assert len(runner.requests) == 1
    assert objects.finalizers(cluster.objs[KEY]) == [fakes.FINALIZER]


def test_interrupted_clean_up_shows_no_way_out() -> None:
    """An operator that stops is no reason to skip a clean-up."""
    cluster, runner = fakes.FakeCluster(dying(fakes.FINALIZER)), fakes.FakeRunner()
    cancel, told = reconciler.Cancel(), Told()
    runner.during = lambda request, event: cancel.request(reconciler.Why.STOPPED)
    subject = reconciler.Reconciler(cluster, runner, fakes.options(), recorder=told)
    subject.reconcile(fakes.held_watch(), KEY, cancel)
    assert "skip-cleanup" not in condition(cluster, "Failure")["message"]
    assert told.events == []


def test_origin_of_a_version() -> None:
    """Own status writes are traced to the version that somebody else has made."""
    cluster, runner = fakes.FakeCluster(fakes.make()), fakes.FakeRunner()
    real = cluster.update_status

    def versioned(key: objects.ObjectKey, compute: Any) -> objects.Obj | None:
        before = objects.status(cluster.objs[key])
        after = real(key, compute)
        if after is not None and objects.status(after) != before:
            version = str(int(objects.resource_version(after)) + 10)
            cluster.objs[key]["metadata"]["resourceVersion"] = version
        return cluster.get(key)

    cluster.update_status = versioned  # type: ignore[method-assign]
    subject = reconciler.Reconciler(cluster, runner, fakes.options())
    runner.during = lambda request, cancel: cluster.objs[KEY]["metadata"].update(
        resourceVersion="100"
    )
    subject.reconcile(fakes.watch(), KEY, reconciler.Cancel())
    assert [subject.origin(KEY, v) for v in ("11", "100", "110", "5")] == ["1", "100", "100", "5"]
    runner.during = fakes.nothing
    for _ in range(20):
        subject.reconcile(fakes.watch(), KEY, reconciler.Cancel())
    cluster.delete(KEY)
    subject.reconcile(fakes.watch(), KEY, reconciler.Cancel())
    assert subject.origin(KEY, "110") == "110"
