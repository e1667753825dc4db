"""Conditions that tests wait for, and what is said when they do not come."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, cast

import pytest

from ansible_operator.testing import controlplane, waiting

REFERENCE = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x", "namespace": "here"}}


def thing(generation: int = 1, observed: int | None = None, **conditions: str) -> dict[str, Any]:
    """An object with conditions that say nothing of a generation."""
    listed = [{"type": type_, "status": value} for type_, value in conditions.items()]
    status = {"conditions": listed} | ({} if observed is None else {"observedGeneration": observed})
    return REFERENCE | {"metadata": {"name": "x", "generation": generation}, "status": status}


@pytest.mark.parametrize(
    ("obj", "wanted", "expected"),
    [
        (thing(Ready="True"), "Ready", True),
        (thing(Ready="False"), "Ready", False),
        (thing(Ready="False"), "Ready=False", True),
        (thing(Other="True"), "Ready", False),
        (thing(2, 1, Ready="True"), "Ready", False),
        (thing(2, 2, Ready="True"), "Ready", True),
        (REFERENCE, "Ready", False),
    ],
)
def test_a_condition_counts_for_the_newest_generation(
    obj: dict[str, Any], wanted: str, expected: bool
) -> None:
    """Type and status have to fit, and what observed an older generation does not count."""
    assert waiting.fulfilled(obj, wanted) is expected


def test_the_generation_of_the_condition_itself_counts() -> None:
    """A condition that was written for the generation before is not fulfilled."""
    obj = thing(2, Ready="True")
    obj["status"]["conditions"][0]["observedGeneration"] = 1
    assert not waiting.fulfilled(obj, "Ready")


class Plane:
    """Answers with one object after the other, the last one for ever."""

    def __init__(self, *answers: dict[str, Any] | None) -> None:
        last = itertools.repeat(answers[-1])
        self._answers: Iterator[dict[str, Any] | None] = itertools.chain(answers, last)

    def find(self, obj: dict[str, Any]) -> dict[str, Any] | None:
        """The next answer."""
        return next(self._answers)


def wait_for(*answers: dict[str, Any] | None) -> waiting.WaitFor:
    """The fixture on a control plane that answers so."""
    return waiting.WaitFor(cast(controlplane.ControlPlane, Plane(*answers)))


def test_the_object_is_returned_when_the_condition_holds() -> None:
    """Absent objects and false conditions are waited for."""
    good = thing(Ready="True")
    assert wait_for(None, thing(Ready="False"), good)("Ready", REFERENCE) == good


def test_deleted_and_functions_are_conditions() -> None:
    """The word deleted, a function of the object, and a function of nothing."""
    assert wait_for(thing(), None)("deleted", REFERENCE) is None
    assert wait_for(thing(1), thing(2))(lambda o: o["metadata"]["generation"] == 2, REFERENCE)
    turns = iter([0, "", "found"])
    assert wait_for(None)(lambda: next(turns)) == "found"


def test_the_error_says_what_was_there() -> None:
    """Condition, kind and name, and the end state; for an absent object that there is none."""
    with pytest.raises(waiting.WaitTimeoutError, match=r"Ready of Thing here/x.*\"False\""):
        wait_for(thing(Ready="False"))("Ready", REFERENCE, timeout=0)
    with pytest.raises(waiting.WaitTimeoutError, match="no such object"):
        wait_for(None)("Ready", REFERENCE, timeout=0)
    with pytest.raises(waiting.WaitTimeoutError, match=r"not within 0 s.*\[\]"):
        wait_for(None)(list, timeout=0)


def test_a_word_without_an_object_is_a_mistake() -> None:
    """It is said at once."""
    with pytest.raises(TypeError, match="needs the object"):
        wait_for(None)("Ready")
