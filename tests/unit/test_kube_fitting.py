"""Statuses that fit schemas which were not written for them."""

from __future__ import annotations

from typing import Any

from ansible_operator.kube import fitting

FULL: dict[str, Any] = {
    "type": "Failure",
    "status": "False",
    "reason": "",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 3,
    "ansibleResult": {"ok": 1},
}
PLAIN = {key: FULL[key] for key in ("type", "status", "message", "lastTransitionTime")} | {
    "reason": "NotFailure"
}


def test_reduced_conditions_are_plain_and_have_a_reason() -> None:
    """What metav1.Condition requires is there, what only we know is gone."""
    assert fitting.reduced({"conditions": [FULL], "observedGeneration": 3, "x": 1}, {}) == {
        "conditions": [PLAIN],
        "x": 1,
    }


def test_a_reason_that_is_there_is_kept() -> None:
    """Only empty reasons are filled: with the type if the condition is true."""
    kept = fitting.reduced({"conditions": [{**FULL, "reason": "Failed"}]}, {})
    filled = fitting.reduced({"conditions": [{**FULL, "status": "True"}]}, {})
    assert kept["conditions"][0]["reason"] == "Failed"
    assert filled["conditions"][0]["reason"] == "Failure"


def test_what_is_stored_already_is_not_reduced() -> None:
    """Conditions of others that the schema accepted before stay as they are."""
    foreign = {"type": "Synced", "status": "True", "extra": 1}
    old = {"conditions": [foreign], "observedGeneration": 2}
    new = {"conditions": [foreign, FULL], "observedGeneration": 3}
    assert fitting.reduced(new, old) == {"conditions": [foreign, PLAIN], "observedGeneration": 3}


def test_odd_statuses_pass_through() -> None:
    """Conditions that are no list or no maps are not ours to correct."""
    assert fitting.reduced({"conditions": "odd"}, {"conditions": 3}) == {"conditions": "odd"}
    assert fitting.reduced({"conditions": ["odd"]}, {}) == {"conditions": ["odd"]}


def test_lost_fields_are_found_at_every_depth() -> None:
    """Each is named once by its topmost missing key; additions of the server do not count."""
    sent = {"a": 1, "conditions": [{"t": 1, "r": {"ok": 1}}, {"t": 2, "r": {}}], "null": None}
    stored = {"conditions": [{"t": 1, "added": 1}, {"t": 2}], "more": 1}
    assert set(fitting.lost(sent, stored)) == {("a",), ("conditions", "[]", "r")}
    assert fitting.text(("conditions", "[]", "r")) == "status.conditions[].r"


def test_without_removes_exactly_the_paths() -> None:
    """The copy lacks what is at the paths and nothing else; the original is untouched."""
    value = {"a": {"b": 1, "c": 2}, "l": [{"b": 1, "c": 2}, 3]}
    assert fitting.without(value, {("a", "b"), ("l", "[]", "c")}) == {
        "a": {"c": 2},
        "l": [{"b": 1}, 3],
    }
    assert value["a"] == {"b": 1, "c": 2}
    assert fitting.without(value, set()) is value


def test_holds_looks_into_maps_and_lists() -> None:
    """One item of a list that has it is enough; a null is something that is there."""
    status = {"conditions": [{}, {"type": "A"}], "n": None}
    assert fitting.holds(status, ("conditions", "[]", "type"))
    assert fitting.holds(status, ("n",))
    for path in (("conditions", "[]", "x"), ("conditions", "type"), ("n", "x"), ("x",)):
        assert not fitting.holds(status, path)
