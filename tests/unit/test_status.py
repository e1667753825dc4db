"""The status after start, success, failure and waiting."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_operator import conditions, objects, status

T1, T2, T3 = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03Z"
COUNTS = {
    "ok": 3,
    "changed": 1,
    "skipped": 0,
    "failures": 0,
    "completion": "2026-01-01T00:00:02.123456+00:00",
}
BAD_COUNTS = {**COUNTS, "ok": 2, "failures": 1}


def condition(
    type_: str, value: str, reason: str, message: str, time: str, generation: int = 1, **extra: Any
) -> objects.Obj:
    """One condition in full."""
    return {
        "type": type_,
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": time,
        "observedGeneration": generation,
        **extra,
    }


def start(current: objects.Obj, now: str = T1, generation: int = 1) -> objects.Obj:
    """status.started with defaults."""
    return status.started(current, generation=generation, now=now)


def remarked(more: dict[str, Any]) -> dict[str, Any]:
    """Arguments with what is a remark put into one."""
    names = ("notes", "problem", "loop", "forced")
    said = {name: more.pop(name) for name in names if name in more}
    return {**more, "remarks": status.Remarks(**said)}


def succeed(current: objects.Obj, now: str = T2, **more: Any) -> objects.Obj:
    """status.succeeded with defaults."""
    arguments = {"generation": 1, "now": now, "counts": COUNTS, **remarked(more)}
    return status.succeeded(current, **arguments)


def fail(current: objects.Obj, now: str = T2, **more: Any) -> objects.Obj:
    """status.failed with defaults."""
    defaults = {"generation": 1, "now": now, "message": "boom", "counts": BAD_COUNTS}
    arguments: dict[str, Any] = {**defaults, **remarked(more)}
    return status.failed(current, **arguments)


def wait(current: objects.Obj, now: str = T2, **more: Any) -> objects.Obj:
    """status.waiting with defaults."""
    arguments = {"generation": 1, "now": now, "delay": 5.0, **remarked(more)}
    return status.waiting(current, **arguments)


def pause(current: objects.Obj, now: str = T2, generation: int = 1) -> objects.Obj:
    """status.paused with defaults."""
    return status.paused(current, generation=generation, now=now, message="paused")


def find(current: objects.Obj, type_: str) -> objects.Obj:
    """The condition of the type, which must be there."""
    found = conditions.find(current["conditions"], type_)
    assert found is not None
    return found


def types(current: objects.Obj) -> list[str]:
    """The types in their order."""
    return [entry["type"] for entry in current["conditions"]]


def test_first_start() -> None:
    """A new object is Running, and Ready is Unknown; nothing else is said yet."""
    assert start({}) == {
        "observedGeneration": 1,
        "conditions": [
            condition("Running", "True", "Running", "Running reconciliation", T1),
            condition("Ready", "Unknown", "Progressing", "Running reconciliation", T1),
        ],
    }


def test_success() -> None:
    """The incumbent's three, in its order, reasons and messages, then Ready (S7)."""
    assert succeed(start({})) == {
        "observedGeneration": 1,
        "conditions": [
            condition(
                "Running",
                "True",
                "Successful",
                "Awaiting next reconciliation",
                T1,
                ansibleResult=COUNTS,
            ),
            condition("Successful", "True", "Successful", "Last reconciliation succeeded", T2),
            condition("Failure", "False", "Successful", "", T2),
            condition("Ready", "True", "Succeeded", "Last reconciliation succeeded", T2),
        ],
    }


def test_failure() -> None:
    """Running is False with its words kept, Failure carries message and counts; then Ready."""
    assert fail(start({})) == {
        "observedGeneration": 1,
        "conditions": [
            condition("Running", "False", "Running", "Running reconciliation", T2),
            condition("Failure", "True", "Failed", "boom", T2, ansibleResult=BAD_COUNTS),
            condition("Successful", "False", "Failed", "", T2),
            condition("Ready", "False", "Failed", "boom", T2),
        ],
    }


def test_start_after_success() -> None:
    """Running loses its ansibleResult, Successful is forced False with its words and a new time."""
    again = start(succeed(start({})), T3, generation=2)
    running = condition("Running", "True", "Running", "Running reconciliation", T1, 2)
    assert find(again, "Running") == running
    assert find(again, "Successful") == condition(
        "Successful", "False", "Successful", "Last reconciliation succeeded", T3, 2
    )
    assert find(again, "Failure") == condition("Failure", "False", "Successful", "", T2)
    assert find(again, "Ready")["status"] == "Unknown"


def test_failure_stays_during_the_retry() -> None:
    """A Failure of the run before is untouched while the next run is under way."""
    before = fail(start({}))
    again = start(before, T3)
    assert find(again, "Failure") == find(before, "Failure")
    assert find(again, "Running")["lastTransitionTime"] == T3


def test_success_after_failure_gives_a_reason() -> None:
    """Failure becomes False with a reason that is not empty (S17)."""
    done = succeed(start(fail(start({}))), T3)
    assert find(done, "Failure") == condition("Failure", "False", "Successful", "", T3)
    assert types(done) == ["Running", "Successful", "Failure", "Ready"]


def test_steady_order_after_failure() -> None:
    """After a failure the order is Running, Failure, Successful, Ready."""
    assert types(fail(start(succeed(start({}))))) == ["Running", "Failure", "Successful", "Ready"]


def test_empty_reason_of_the_incumbent_is_replaced() -> None:
    """A Successful condition that the incumbent wrote without a reason gets one."""
    old = {"conditions": [{"type": "Successful", "status": "False", "reason": "", "message": ""}]}
    assert find(start(old), "Successful")["reason"] == "Failed"


def test_failure_that_never_started() -> None:
    """Without counts, as when Ansible could not be started, there is no ansibleResult."""
    done = fail({}, counts=None)
    assert "ansibleResult" not in find(done, "Failure")
    assert find(done, "Running")["status"] == "False"


def test_empty_completion_is_left_out() -> None:
    """An empty time would not pass a schema that wants a date-time."""
    done = succeed({}, counts={"ok": 1, "changed": None, "completion": ""})
    assert find(done, "Running")["ansibleResult"] == {
        "ok": 1,
        "changed": 0,
        "skipped": 0,
        "failures": 0,
    }


def test_waiting() -> None:
    """A run that asked to run again leaves Running as after start and says what is waited for."""
    waits = wait(start(succeed(start({}))))
    assert find(waits, "Running")["reason"] == "Running"
    assert find(waits, "Successful")["status"] == "False"
    assert find(waits, "Ready")["status"] == "Unknown"
    assert find(waits, "Ready")["reason"] == "Progressing"
    assert find(waits, "Ready")["message"] == "The role asked to run again in 5s"


def test_waiting_ends_a_failure() -> None:
    """A run that went well ends the Failure of the run before, even if it asks to run again."""
    waits = wait(start(fail(start({}))), T3)
    assert find(waits, "Failure") == condition("Failure", "False", "Successful", "", T3)


def test_waiting_adds_no_failure() -> None:
    """Where there was no Failure condition, waiting does not write one."""
    assert types(wait(start({}))) == ["Running", "Ready"]


@pytest.mark.parametrize("finish", [succeed, wait])
def test_problem_of_an_annotation(finish: Any) -> None:
    """A bad annotation is a Failure that names it, though the run went well (W3)."""
    done = finish(start({}), problem="reconcile-period: nonsense")
    failure = find(done, "Failure")
    assert (failure["status"], failure["reason"]) == ("True", "InvalidAnnotation")
    assert failure["message"] == "reconcile-period: nonsense"


def test_problem_makes_not_ready_but_successful() -> None:
    """With a bad annotation Ready is False; Running and Successful are as on success."""
    done = succeed(start({}), problem="nonsense")
    assert (find(done, "Ready")["status"], find(done, "Ready")["reason"]) == (
        "False",
        "InvalidAnnotation",
    )
    assert find(done, "Successful")["status"] == "True"
    assert find(done, "Running")["reason"] == "Successful"


def test_notes_come_and_go() -> None:
    """InputWarning says what of the input was ignored (V4, V11), only while there is something."""
    noted = succeed(start({}), notes=["spec.ansible_host ignored", "fooBar and foo_bar collide"])
    assert types(noted) == ["Running", "Successful", "Failure", "Ready", "InputWarning"]
    warning = find(noted, "InputWarning")
    assert (warning["status"], warning["reason"]) == ("True", "InputIgnored")
    assert warning["message"] == "spec.ansible_host ignored\nfooBar and foo_bar collide"
    assert find(start(noted), "InputWarning") == warning
    assert "InputWarning" not in types(succeed(noted))


@pytest.mark.parametrize("finish", [fail, wait])
def test_notes_after_other_outcomes(finish: Any) -> None:
    """Notes are said after a failure and while waiting as well."""
    assert find(finish({}, notes=["n"]), "InputWarning")["message"] == "n"


def test_loop_comes_and_goes() -> None:
    """LoopDetected says that the role runs because of what it does itself, as long as it does."""
    looping = fail(start({}), loop="Deployment app was changed by 5 runs")
    found = find(looping, "LoopDetected")
    assert (found["status"], found["reason"]) == ("True", "SelfCausedRuns")
    assert found["message"] == "Deployment app was changed by 5 runs"
    assert find(start(looping), "LoopDetected") == found
    assert "LoopDetected" not in types(succeed(looping))


@pytest.mark.parametrize("finish", [succeed, fail, wait])
def test_forced_run_stays_on_record(finish: Any) -> None:
    """ForcedRun keeps the last order, and never is what conditions[0] shows."""
    done = finish(start({}), forced="v1")
    assert find(done, "ForcedRun")["reason"] == "Handled"
    for current in (start(done), succeed(start(done)), fail(start(done))):
        assert find(current, "ForcedRun")["message"] == "v1"
        assert types(current)[-1] == "ForcedRun"
    assert find(finish(done, forced="v2"), "ForcedRun")["message"] == "v2"


def test_pause_says_nothing_of_the_generation() -> None:
    """Paused is added to the verdict of the run before, which is not claimed for the new edit."""
    done = succeed(start({}))
    paused = pause(done, T3, generation=2)
    assert types(paused) == [*types(done), "Paused"]
    assert paused["observedGeneration"] == 1
    assert find(paused, "Paused")["observedGeneration"] == 2
    assert find(paused, "Ready") == find(done, "Ready")
    assert "Paused" not in types(start(paused))
    assert status.resumed(paused) == done


def test_pause_of_an_object_that_never_ran() -> None:
    """It has only the one condition, and no observedGeneration."""
    assert types(pause({})) == ["Paused"]
    assert "observedGeneration" not in pause({})
    assert status.resumed({}) == {}


def test_foreign_part() -> None:
    """What others write is told from what the operator writes, before its first write and after."""
    theirs = {"type": "Up", "status": "True"}
    ready = {"type": "Ready", "status": "True", "reason": "AllMembersUp"}
    for first in ({}, {"phase": "x"}, {"phase": "x", "conditions": [theirs, ready]}):
        for current in (start(first), succeed(first, notes=["n"], loop="l", forced="f")):
            assert status.foreign(current) == status.foreign(first) == first
        assert status.foreign(pause(first)) == first


@pytest.mark.parametrize("type_", ["Ready", "InputWarning", "LoopDetected", "ForcedRun", "Paused"])
def test_conditions_of_the_role_are_left_alone(type_: str) -> None:
    """A Ready (or another of these) with a reason that is none of ours belongs to the role."""
    theirs = {"type": type_, "status": "False", "reason": "MembersMissing", "x": 1}
    for done in (
        start({"conditions": [theirs]}),
        succeed({"conditions": [theirs]}, notes=["n"], loop="l", forced="f"),
        fail({"conditions": [theirs]}),
        wait({"conditions": [theirs]}),
        pause({"conditions": [theirs]}),
        status.resumed({"conditions": [theirs]}),
    ):
        assert find(done, type_) == theirs


def test_no_generation_no_observed_generation() -> None:
    """A kind without generations gets no observedGeneration, and one of the role is kept."""
    done = succeed({"observedGeneration": 7}, generation=0)
    assert done["observedGeneration"] == 7
    assert all("observedGeneration" not in entry for entry in done["conditions"])


def test_observed_generation_tells_stale_from_current() -> None:
    """What was not written for the new generation still carries the old one (S8)."""
    again = start(fail(start({})), T3, generation=2)
    assert again["observedGeneration"] == 2
    assert find(again, "Running")["observedGeneration"] == 2
    assert find(again, "Failure")["observedGeneration"] == 1


def test_status_of_another_shape() -> None:
    """Conditions that are no list are replaced, foreign keys stay."""
    done = start({"conditions": "broken", "phase": "Up"})
    assert done["phase"] == "Up"
    assert types(done) == ["Running", "Ready"]


def test_huge_message_is_bounded() -> None:
    """A message is at most 16 KiB of UTF-8, cut between characters, and says so (S10)."""
    message = find(fail({}, message="é" * 40_000), "Failure")["message"]
    size = len(message.encode())
    assert status.MAX_MESSAGE_BYTES - 2 <= size <= status.MAX_MESSAGE_BYTES
    assert message.endswith("(cut; the operator's log has all of it)")


def test_unencodable_message_is_replaced() -> None:
    """What is no text, such as half a surrogate pair, does not break the write."""
    assert find(fail({}, message="a\ud800b"), "Failure")["message"] == "a?b"


def test_ready_shows_the_first_line() -> None:
    """Ready is a summary: only the first line, at most 1 KiB."""
    assert find(fail({}, message="\nfirst\nsecond"), "Ready")["message"] == "first"
    assert len(find(fail({}, message="x" * 5000), "Ready")["message"]) == status.MAX_SUMMARY_BYTES
    assert find(fail({}, message=""), "Ready")["message"] == ""


_foreign = st.fixed_dictionaries(
    {"type": st.sampled_from(["Available", "MembersReady"]), "status": st.text(max_size=5)},
    optional={"reason": st.text(max_size=5), "lastHeartbeatTime": st.text(max_size=5)},
)
_status = st.fixed_dictionaries(
    {},
    optional={
        "conditions": st.lists(_foreign | st.text(max_size=3), max_size=4),
        "members": st.integers(),
    },
)
_STEPS: list[Any] = [start, succeed, fail, wait]
_steps = st.lists(st.sampled_from(_STEPS), min_size=1, max_size=6)


@settings(max_examples=50)
@given(_status, _steps, st.lists(st.text(max_size=5), max_size=2))
def test_foreign_things_survive_every_sequence(
    first: objects.Obj, steps: list[Any], notes: list[str]
) -> None:
    """Through any sequence foreign keys and conditions stay, and the argument is not changed."""
    current = first
    for step in steps:
        previous, before = current, copy.deepcopy(current)
        current = step(current) if step is start else step(current, notes=notes)
        assert previous == before
    ours = {"Running", "Successful", "Failure", "Ready", "InputWarning"}
    foreign = [entry for entry in current["conditions"] if entry["type"] not in ours]
    assert foreign == conditions.read(first)
    assert current.get("members") == first.get("members")
    assert all(entry["reason"] for entry in current["conditions"] if entry["type"] in ours)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
_OURS = ["Running", "Successful", "Failure", "Ready", "InputWarning", "ForcedRun", "Paused"]
_odd_condition = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(_OURS) | _json,
        **dict.fromkeys(["status", "reason", "message", "lastTransitionTime"], _json),
    },
)
_odd_status = _json | st.fixed_dictionaries(
    {"conditions": _json | st.lists(_odd_condition | _json, max_size=6)},
    optional={"observedGeneration": _json},
)


@pytest.mark.parametrize("type_", ["Ready", "InputWarning"])
def test_reason_that_is_no_text(type_: str) -> None:
    """A condition of the role whose reason is a list is the role's, and stops nothing."""
    odd = {"type": type_, "status": "True", "reason": ["a", "b"], "message": "m"}
    current = start({"conditions": [odd]})
    assert find(succeed(current, notes=["n"]), type_) == odd


@settings(max_examples=200)
@given(_odd_status, _steps)
def test_any_status_can_be_written_over(first: Any, steps: list[Any]) -> None:
    """Whatever JSON a role or a person put there, the verdict is written, in well-formed words."""
    current = objects.status({"status": first})
    for step in steps:
        current = step(pause(current), notes=["n"]) if step is not start else step(current)
    running = find(current, "Running")
    assert isinstance(running["reason"], str)
    assert isinstance(running["lastTransitionTime"], str)


@settings(max_examples=50)
@given(_status, _steps)
def test_repeating_a_step_changes_nothing(first: objects.Obj, steps: list[Any]) -> None:
    """The same news again, even at a later time, gives an equal status: nothing is written."""
    current = first
    for step in steps:
        current = step(current)
    assert steps[-1](current, now="2030-01-01T00:00:00Z") == current
