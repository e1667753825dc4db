"""The main job on a real API server: a CR changes, its role runs, its conditions tell the truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import api
import pytest
from conftest import PROJECT, World, install_crds

from ansible_operator.testing import controlplane


@pytest.fixture(autouse=True)
def no_leftovers(world: World) -> Iterator[None]:
    """Objects that fail would go on being retried, and take the time of the tests after them."""
    yield
    world.api.client.request("DELETE", api.SCENARIO.path(world.api.namespace))


def run_scenario(world: World, name: str, mode: str, text: str = "") -> api.Obj:
    """Create a Scenario and wait until it is dealt with."""
    world.api.create(api.SCENARIO, name, spec={"mode": mode, "text": text})
    return world.api.until(api.SCENARIO, name, api.settled)


def test_success_is_told_by_four_conditions_in_order(world: World) -> None:
    """A good run ends in Running, Successful, Failure, Ready with the generation on each."""
    obj = run_scenario(world, "good", "ok")
    listed = obj["status"]["conditions"]
    assert [(c["type"], c["status"], c["reason"]) for c in listed] == [
        ("Running", "True", "Successful"),
        ("Successful", "True", "Successful"),
        ("Failure", "False", "Successful"),
        ("Ready", "True", "Succeeded"),
    ]
    assert listed[0]["message"] == "Awaiting next reconciliation"
    assert listed[1]["message"] == "Last reconciliation succeeded"
    assert listed[0]["ansibleResult"]["ok"] >= 2
    assert {c["observedGeneration"] for c in listed} == {obj["metadata"]["generation"]}
    assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]


def test_failure_names_task_file_and_words(world: World) -> None:
    """A failed task stands in Failure with its name, its place and Ansible's own message."""
    obj = run_scenario(world, "bad", "fail", "the disk is {{ full }}")
    listed = obj["status"]["conditions"]
    assert [c["type"] for c in listed] == ["Running", "Failure", "Successful", "Ready"]
    failure = api.condition(obj, "Failure")
    assert failure["status"] == "True"
    assert failure["reason"] == "Failed"
    for part in ("Fail as told", "fail.yml", "the disk is {{ full }}"):
        assert part in failure["message"]
    assert api.condition(obj, "Running")["status"] == "False"


@pytest.mark.case("E8")
def test_an_edit_heals_a_failure_at_once(world: World) -> None:
    """A failed object runs with its new spec right after an edit, whatever its backoff says."""
    run_scenario(world, "healed", "fail", "not yet")
    world.api.patch(api.SCENARIO, "healed", {"spec": {"mode": "ok"}})
    obj = world.api.until(api.SCENARIO, "healed", api.successful)
    assert api.condition(obj, "Failure")["status"] == "False"
    assert world.lines("Scenario", "healed")[-1] == "ok"


@pytest.mark.parametrize("mode", ["rescue", "ignore"])
def test_handled_failures_are_successes(world: World, mode: str) -> None:
    """A failure that the role rescues or ignores is none."""
    obj = run_scenario(world, f"handled-{mode}", mode)
    assert api.successful(obj), obj["status"]
    assert len(world.lines("Scenario", f"handled-{mode}")) == 1


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("unreachable", "is unreachable at task 'Ask it'"),
        ("syntax", "syntax.yml"),
        ("typed", "typed.yml"),
    ],
)
def test_every_way_to_fail_is_told(world: World, mode: str, words: str) -> None:
    """Unreachable hosts, broken files and wrong types end in Failure with what is to be mended."""
    obj = run_scenario(world, f"fails-{mode}", mode)
    assert api.failed(obj), obj["status"]
    assert words in api.condition(obj, "Failure")["message"]


def test_hidden_output_stays_hidden(world: World) -> None:
    """A failed no_log task is named, its output is not shown, neither in status nor in the log."""
    obj = run_scenario(world, "hidden", "secret", "swordfish")
    message = api.condition(obj, "Failure")["message"]
    assert "Fail without showing why" in message
    assert "hidden" in message
    assert "hunter2" not in str(obj["status"])
    assert "swordfish" not in str(obj["status"])
    told = [line for line in world.operator.lines if "swordfish" in line]
    assert not told


@pytest.mark.kubectl
def test_kubectl_wait_is_right_after_an_edit(world: World, kubectl: Callable[..., str]) -> None:
    """`kubectl wait` does not return on the condition of the generation before the edit."""
    run_scenario(world, "waited", "ok")
    world.api.patch(api.SCENARIO, "waited", {"spec": {"mode": "hang", "seconds": 3}})
    there = f"--namespace={world.api.namespace}"
    kubectl(there, "wait", "--for=condition=Successful", "scenario/waited", "--timeout=60s")
    obj = world.api.get(api.SCENARIO, "waited")
    assert obj is not None
    assert api.condition(obj, "Successful")["observedGeneration"] == 2
    assert world.lines("Scenario", "waited")[-1] == "hang"


def test_running_is_written_before_the_play(world: World) -> None:
    """While the play runs, the object says Running with the generation that is running."""
    world.api.create(api.SCENARIO, "busy", spec={"mode": "hang", "seconds": 3})
    obj = world.api.until(
        api.SCENARIO, "busy", lambda o: api.condition(o, "Running").get("reason") == "Running"
    )
    assert api.condition(obj, "Running")["message"] == "Running reconciliation"
    assert api.condition(obj, "Running")["observedGeneration"] == 1
    assert api.condition(obj, "Ready")["status"] == "Unknown"
    assert api.condition(obj, "Successful").get("status") != "True"
    world.api.until(api.SCENARIO, "busy", api.successful)


def test_foreign_status_survives(world: World) -> None:
    """Fields and conditions of others in the status outlive our writes, with all their fields."""
    run_scenario(world, "shared", "ok")
    obj = world.api.get(api.SCENARIO, "shared")
    assert obj is not None
    foreign = {"type": "Audited", "status": "True", "reason": "Seen", "message": "", "by": "me"}
    conditions = [*obj["status"]["conditions"], foreign]
    body = {"status": {"phase": "green", "conditions": conditions}}
    world.api.patch(api.SCENARIO, "shared", body, "status")
    world.api.patch(api.SCENARIO, "shared", {"spec": {"text": "again"}})
    after = world.api.until(api.SCENARIO, "shared", api.successful)
    assert after["status"]["phase"] == "green"
    assert api.condition(after, "Audited") == foreign


@pytest.mark.case("E6")
def test_own_status_writes_start_no_run(world: World) -> None:
    """Neither our status writes nor label and annotation edits run the role again."""
    run_scenario(world, "quiet", "ok")
    meta = {"metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}}
    world.api.patch(api.SCENARIO, "quiet", meta)
    run_scenario(world, "quiet-later", "ok")
    assert len(world.lines("Scenario", "quiet")) == 1


def test_requeue_after_ends_the_run_first(world: World) -> None:
    """A role that asks to come back is run again after the delay until it no longer asks."""
    world.api.create(api.SCENARIO, "again", spec={"mode": "requeue"})
    world.api.until(api.SCENARIO, "again", api.successful)
    assert world.lines("Scenario", "again") == ["requeue"] * 3


@pytest.mark.case("E15")
def test_time_limit_of_an_annotation_ends_the_run(world: World) -> None:
    """A run that exceeds its limit is ended and the condition says so."""
    limit = {"annotations": {"ansible.sdk.operatorframework.io/run-timeout": "3s"}}
    spec = {"mode": "hang", "seconds": 4242}
    world.api.create(api.SCENARIO, "endless", meta=limit, spec=spec)
    obj = world.api.until(api.SCENARIO, "endless", api.failed)
    assert "timed out after 3s" in api.condition(obj, "Failure")["message"]
    world.api.delete(api.SCENARIO, "endless")


def test_invalid_period_annotation_is_told_and_does_not_stop_the_run(world: World) -> None:
    """A period that cannot be read stands in Failure; the run happens once, without hot retries."""
    meta = {"annotations": {"ansible.sdk.operatorframework.io/reconcile-period": "abc"}}
    world.api.create(api.SCENARIO, "odd-period", meta=meta, spec={"mode": "ok"})
    obj = world.api.until(api.SCENARIO, "odd-period", api.settled)
    failure = api.condition(obj, "Failure")
    assert failure["status"] == "True"
    assert "reconcile-period" in failure["message"]
    run_scenario(world, "after-odd-period", "ok")
    assert world.lines("Scenario", "odd-period") == ["ok"]


def test_periodic_reconcile_follows_the_watch(world: World) -> None:
    """A watch with a period of two seconds runs again without any event."""
    world.api.create(api.PERIODIC, "ticking", spec={})
    deadline = time.monotonic() + 60
    while len(world.lines("Periodic", "ticking")) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    world.api.delete(api.PERIODIC, "ticking")
    world.api.until_gone(api.PERIODIC, "ticking")


@pytest.mark.case("D1")
def test_finalizer_runs_until_it_succeeds_then_never_again(world: World) -> None:
    """A failing clean-up keeps the object with a Failure; after a good one it goes, once."""
    world.api.create(api.CLEANED, "kept", spec={})
    obj = world.api.until(api.CLEANED, "kept", api.successful)
    assert obj["metadata"]["finalizers"] == ["test.example.com/cleanup"]
    refuse = world.record / "refuse.kept"
    refuse.touch()
    world.api.delete(api.CLEANED, "kept")
    obj = world.api.until(api.CLEANED, "kept", api.failed)
    assert "the clean-up is refused" in api.condition(obj, "Failure")["message"]
    refuse.unlink()
    world.api.until_gone(api.CLEANED, "kept")
    lines = world.lines("Cleaned", "kept")
    assert lines[0] == "1 -"
    assert set(lines[1:]) == {"cleanup"}
    assert len(lines) >= 3


@pytest.mark.case("D8")
def test_foreign_finalizer_keeps_the_object_without_more_runs(world: World) -> None:
    """After our clean-up an object that others still hold is left alone."""
    meta = {"finalizers": ["example.com/other"]}
    world.api.create(api.CLEANED, "held", meta=meta, spec={})
    world.api.until(api.CLEANED, "held", api.successful)
    world.api.delete(api.CLEANED, "held")
    only_other = lambda o: o["metadata"]["finalizers"] == ["example.com/other"]  # noqa: E731
    world.api.until(api.CLEANED, "held", only_other)
    run_scenario(world, "after-held", "ok")
    assert world.lines("Cleaned", "held") == ["1 -", "cleanup"]
    world.api.patch(api.CLEANED, "held", {"metadata": {"finalizers": None}})
    world.api.until_gone(api.CLEANED, "held")


def test_selector_follows_the_labels(world: World) -> None:
    """Only matching objects run; losing the label ends it, gaining it starts it."""
    world.api.create(api.SELECTED, "gold", meta={"labels": {"tier": "gold"}}, spec={})
    world.api.create(api.SELECTED, "lead", meta={"labels": {"tier": "lead"}}, spec={})
    world.api.create(api.SELECTED, "none", spec={})
    world.api.until(api.SELECTED, "gold", api.successful)
    world.api.patch(api.SELECTED, "gold", {"metadata": {"labels": {"tier": None}}})
    world.api.patch(api.SELECTED, "gold", {"spec": {"a": 1}})
    world.api.patch(api.SELECTED, "lead", {"metadata": {"labels": {"tier": "silver"}}})
    world.api.until(api.SELECTED, "lead", api.successful)
    assert world.lines("Selected", "gold") == ["1 -"]
    assert world.lines("Selected", "none") == []


@pytest.mark.case("E6")
def test_annotation_changes_run_where_the_watch_says_so(world: World) -> None:
    """With watchAnnotationsChanges an annotation edit is one run."""
    world.api.create(api.ANNOTATED, "noted", spec={})
    world.api.until(api.ANNOTATED, "noted", api.successful)
    world.api.patch(api.ANNOTATED, "noted", {"metadata": {"annotations": {"a": "b"}}})
    deadline = time.monotonic() + 60
    while len(world.lines("Annotated", "noted")) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    run_scenario(world, "after-noted", "ok")
    assert len(world.lines("Annotated", "noted")) == 2


def test_manage_status_false_writes_nothing(world: World) -> None:
    """Without manageStatus the role runs and the object keeps no trace of us."""
    created = world.api.create(api.UNMANAGED, "plain", spec={})
    deadline = time.monotonic() + 60
    while not world.lines("Unmanaged", "plain"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    run_scenario(world, "after-plain", "ok")
    obj = world.api.get(api.UNMANAGED, "plain")
    assert obj is not None
    assert obj["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


@pytest.mark.case("W15")
def test_core_kind_without_spec_and_generation_runs_on_every_update(world: World) -> None:
    """A labelled Secret runs when it appears and when its data changes; others do not."""
    labels = {"labels": {"e2e": "watched"}}
    world.api.create(api.SECRET, "seen", meta=labels, stringData={"key": "{{ braces }}"})
    world.api.create(api.SECRET, "unseen", stringData={"key": "x"})
    deadline = time.monotonic() + 60
    while len(world.lines("Secret", "seen")) < 1:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    world.api.patch(api.SECRET, "seen", {"stringData": {"key": "other"}})
    while len(world.lines("Secret", "seen")) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert world.lines("Secret", "unseen") == []


@pytest.mark.case("W15")
def test_kind_without_status_subresource_runs_and_is_said_once(world: World) -> None:
    """A CRD without a status subresource gets runs but no status, and one warning."""
    world.api.create(api.STATUSLESS, "first", spec={})
    world.api.create(api.STATUSLESS, "second", spec={})
    deadline = time.monotonic() + 60
    while not (world.lines("Statusless", "first") and world.lines("Statusless", "second")):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    run_scenario(world, "after-statusless", "ok")
    obj = world.api.get(api.STATUSLESS, "first")
    assert obj is not None
    assert "status" not in obj
    said = [e for e in world.operator.logs if "subresource" in str(e) and "Statusless" in str(e)]
    assert len([e for e in said if e["level"] in ("warn", "warning")]) == 1


def test_strict_schema_gets_what_fits(world: World) -> None:
    """A CRD that knows only the plain condition fields gets those, with non-empty reasons."""
    world.api.create(api.STRICT, "narrow", spec={})
    obj = world.api.until(
        api.STRICT, "narrow", lambda o: api.condition(o, "Ready").get("status") == "True"
    )
    assert [c["type"] for c in obj["status"]["conditions"]] == [
        "Running", "Successful", "Failure", "Ready",
    ]  # fmt: skip
    assert all(c["reason"] for c in obj["status"]["conditions"])
    assert len(world.lines("Strict", "narrow")) == 1


def test_cluster_scoped_kind_runs(world: World) -> None:
    """A cluster-scoped kind is served although the operator is limited to a namespace."""
    name = f"wide-{world.api.namespace}"
    world.api.create(api.WIDE, name, spec={})
    world.api.until(api.WIDE, name, api.successful)
    world.api.delete(api.WIDE, name)


@pytest.mark.parametrize("spec", ["a string", ["a", "list"], None])
def test_spec_that_is_no_map_runs_as_empty(world: World, spec: object) -> None:
    """A spec that is a string, a list or absent is an empty spec; nothing crashes."""
    name = f"shapeless-{type(spec).__name__.lower()}"
    fields: dict[str, Any] = {} if spec is None else {"spec": spec}
    world.api.create(api.ANNOTATED, name, **fields)
    world.api.until(api.ANNOTATED, name, api.successful)


def test_spec_of_one_mebibyte_runs(world: World) -> None:
    """A spec of a mebibyte reaches the role whole."""
    text = "x" * ((1 << 20) - 2048)
    world.api.create(api.SCENARIO, "huge", spec={"mode": "blob", "blob": text})
    obj = world.api.until(api.SCENARIO, "huge", api.settled)
    assert api.successful(obj), obj["status"]
    assert world.lines("Scenario", "huge") == ["blob", str(len(text))]


def test_connection_variables_of_a_spec_are_kept_out(world: World) -> None:
    """A spec cannot choose interpreter or connection; the condition names what was left out."""
    spec = {"mode": "ok", "ansible_connection": "nonsense", "ansiblePythonInterpreter": "/bin/no"}
    world.api.create(api.SCENARIO, "sly", spec=spec)
    obj = world.api.until(api.SCENARIO, "sly", api.successful)
    message = api.condition(obj, "InputWarning")["message"]
    assert "ansible_connection" in message
    assert "ansiblePythonInterpreter" in message


def test_object_deleted_during_its_run_is_no_error(world: World) -> None:
    """A CR that goes while its play runs leaves neither an error nor a new object behind."""
    world.api.create(api.SCENARIO, "vanishing", spec={"mode": "hang", "seconds": 4})
    world.api.until(api.SCENARIO, "vanishing", lambda o: api.condition(o, "Running"))
    world.api.delete(api.SCENARIO, "vanishing")
    assert not [e for e in world.operator.logs if is_recap(e, "vanishing")]
    world.operator.wait_for_log(lambda e: is_recap(e, "vanishing"))
    run_scenario(world, "after-vanishing", "ok")
    assert world.api.get(api.SCENARIO, "vanishing") is None
    told = [e for e in world.operator.logs if e.get("name") == "vanishing"]
    assert not [e for e in told if e["level"] == "error"]


def is_recap(entry: dict[str, Any], name: str) -> bool:
    """Whether a log line is the recap of a play that ended for this object."""
    return entry.get("msg") == "[playbook recap]" and entry.get("name") == name


def test_missing_crd_is_said_and_picked_up_when_it_appears(
    world: World, control_plane: controlplane.ControlPlane
) -> None:
    """A kind whose CRD is not there is named once; when it appears its objects run."""
    world.operator.wait_for_log(
        lambda e: "lates.test.example.com" in str(e) or "Kind=Late" in str(e.get("kind")), 30
    )
    install_crds(control_plane, PROJECT / "crds")
    world.api.create(api.LATE, "tardy", spec={})
    world.api.until(api.LATE, "tardy", api.successful)


def test_every_log_line_is_json_with_the_common_keys(world: World) -> None:
    """Whatever was logged up to here parses and has level, ts, logger and msg."""
    assert world.operator.logs
    for entry in world.operator.logs:
        assert {"level", "ts", "logger", "msg"} <= entry.keys(), entry
