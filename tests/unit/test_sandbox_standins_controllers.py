"""The loop of the stand-ins, events and hashes."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import sandbox_fakes as fakes

from ansible_operator.sandbox.standins import cluster, events, hashes, labels, scheduling

Obj = dict[str, Any]


def test_what_fails_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An error in a stand-in ends nothing: it is logged once, and tried again after a pause."""
    lab = fakes.Lab()
    real, calls = scheduling.schedule, []

    def broken(seen: cluster.Cluster, pod: Obj) -> None:
        calls.append(lab.loop.now)
        if len(calls) < 4:
            raise KeyError("broken")
        real(seen, pod)

    monkeypatch.setattr(scheduling, "schedule", broken)
    lab.create("pods", "p", spec=fakes.template()["spec"])
    lab.run(60)
    assert lab.status("pods", "p")["phase"] == "Running"
    pauses = [(after - before).total_seconds() for before, after in itertools.pairwise(calls)]
    assert pauses == [0.1, 0.2, 0.4]
    assert [record.message for record in caplog.records] == ["a stand-in failed at ('ns', 'p')"]


def test_repeated_event_is_counted() -> None:
    """The same event about the same object is one with a count; another message is another."""
    lab = fakes.Lab()
    account = lab.get("serviceaccounts", "default")
    recorder = events.Recorder(lab.api, lambda: lab.loop.now)
    for message in ("same", "other", "same", "same"):
        recorder.record(account, events.NORMAL, "Reason", message, "tests")
    found = [e for e in lab.api.list("events") if e["reason"] == "Reason"]
    assert sorted((e["message"], e["count"]) for e in found) == [("other", 1), ("same", 3)]
    (name,) = {e["metadata"]["name"].rpartition(".")[0] for e in found}
    assert name == "default"


def test_hash_is_that_of_the_template() -> None:
    """The same template has the same hash, whatever the order of its fields, in safe letters."""
    one, other = hashes.of({"a": 1, "b": [2]}), hashes.of({"a": 1, "b": [3]})
    assert one == hashes.of({"b": [2], "a": 1})
    assert one != other
    assert re.fullmatch(f"[{hashes.LETTERS}]{{6,10}}", one)


@pytest.mark.parametrize(
    ("value", "up", "down"), [(2, 2, 2), ("25%", 2, 1), ("0%", 0, 0), ("100%", 5, 5), (None, 0, 0)]
)
def test_share_is_rounded(value: int | str | None, up: int, down: int) -> None:
    """A percentage is rounded up or down; a number is taken as it is."""
    assert cluster.scaled(value, 5, up=True) == up
    assert cluster.scaled(value, 5, up=False) == down


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ({"key": "a", "operator": "In", "values": ["1", "2"]}, True),
        ({"key": "a", "operator": "NotIn", "values": ["1"]}, False),
        ({"key": "b", "operator": "NotIn", "values": ["1"]}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "b", "operator": "DoesNotExist"}, True),
        ({"key": "a", "operator": "Gt", "values": ["0"]}, True),
        ({"key": "a", "operator": "Lt", "values": ["1"]}, False),
        ({"key": "b", "operator": "Gt", "values": ["0"]}, False),
    ],
)
def test_selector_of_an_object(expression: Obj, matches: bool) -> None:
    """Expressions are looked at as the API server does."""
    obj = {"metadata": {"labels": {"a": "1"}}}
    assert labels.selector({"matchExpressions": [expression]})(obj) is matches
    assert labels.selector(None)(obj) is False
    assert labels.selector({})(obj) is True
