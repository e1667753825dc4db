"""Which changes of a dependent are a reason to run its owner."""

from __future__ import annotations

from typing import Any

import children_fakes as fakes
import pytest

from ansible_operator import children
from ansible_operator.control import childpredicates
from ansible_operator.control.childpredicates import Reason

entry = fakes.entry


def reason(before: dict[str, Any], after: dict[str, Any]) -> Reason | None:
    """Why the change between the two metadata counts."""
    old, new = fakes.digest(**before), fakes.digest(**{"resourceVersion": "2", **after})
    return childpredicates.reason(fakes.modified(old, new))


@pytest.mark.parametrize("initial", [True, False])
def test_what_appears_is_no_reason(initial: bool) -> None:
    """A role does not run for what it, or anybody else, has made."""
    change = children.Change(
        fakes.CONFIG_MAP, children.Event.ADDED, None, fakes.digest(), initial=initial
    )
    assert childpredicates.reason(change) is None


def test_what_vanishes_is_one() -> None:
    """A deleted dependent is to be made again."""
    assert childpredicates.reason(fakes.deleted(fakes.digest())) is Reason.GONE


def test_another_one_of_the_same_name() -> None:
    """Deleted and made again while nobody looked is as good as deleted."""
    assert reason({}, {"uid": "another"}) is Reason.GONE


def test_nothing_is_known_of_before() -> None:
    """A change from an unknown state counts."""
    change = children.Change(fakes.CONFIG_MAP, children.Event.MODIFIED, None, fakes.digest())
    assert childpredicates.reason(change) is Reason.CHANGED
    assert childpredicates.managers(change) == ()


def test_the_same_version_again() -> None:
    """A list that repeats what was known is no change."""
    assert reason({}, {"resourceVersion": "1"}) is None


def test_the_way_to_the_end_counts_twice() -> None:
    """The request to delete counts, then only the end, whatever happens in between."""
    going = {"deletionTimestamp": "2026-01-01T12:00:00Z", "finalizers": ["a/b", "c/d"]}
    assert reason({"finalizers": ["a/b", "c/d"]}, going) is Reason.GOING
    assert reason(going, {**going, "finalizers": ["a/b"]}) is None
    assert reason({**going, "generation": 1}, {**going, "generation": 2}) is None
    assert childpredicates.reason(fakes.deleted(fakes.digest(**going))) is Reason.GONE


COUNTS = Reason.CHANGED
ROLE, USER = entry("role", 1), entry("kubectl-edit", 9)
STATUS = entry("controller", 1, "status", status=1)
STATUS_LATER = entry("controller", 9, "status", status=1)
SCALE = {**entry("kubectl", subresource="scale", spec=1), "time": None}
NOTES = entry("controller", 9, metadata=1)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([ROLE], [ROLE, USER], COUNTS, id="somebody writes for the first time"),
        pytest.param([ROLE, entry("kubectl-edit", 2)], [ROLE, USER], COUNTS, id="writes again"),
        pytest.param([ROLE, USER], [USER], COUNTS, id="takes fields from the role"),
        pytest.param([ROLE], [ROLE, STATUS], None, id="first status"),
        pytest.param([ROLE, STATUS], [ROLE, STATUS_LATER], None, id="next status"),
        pytest.param([ROLE, STATUS_LATER], [ROLE, STATUS_LATER], None, id="in the same second"),
        pytest.param([USER, STATUS], [USER, STATUS], COUNTS, id="an edit in the same second"),
        pytest.param(
            [entry("role", 9), STATUS_LATER],
            [entry("role", 9), STATUS_LATER],
            COUNTS,
            id="either in the same second",
        ),
        pytest.param([ROLE], [ROLE, NOTES], None, id="notes of a controller only"),
        pytest.param([], [], COUNTS, id="nothing is told at all"),
    ],
)
def test_kinds_without_generation(
    before: list[Any], after: list[Any], expected: Reason | None
) -> None:
    """For ConfigMaps, Secrets, Services and the like it counts who has written what and when."""
    assert reason({"managedFields": before}, {"managedFields": after}) is expected


@pytest.mark.parametrize(
    ("generation", "before", "after", "expected"),
    [
        pytest.param(2, [ROLE], [ROLE, USER], COUNTS, id="an edit"),
        pytest.param(2, [ROLE], [ROLE], COUNTS, id="an edit in the same second, or a scale"),
        pytest.param(2, [ROLE], [ROLE, entry("c", 9, status=1)], None, id="no status subresource"),
        pytest.param(2, [ROLE, STATUS_LATER], [ROLE, STATUS_LATER], None, id="twice in a second"),
        pytest.param(2, [SCALE, STATUS_LATER], [SCALE, STATUS_LATER], COUNTS, id="scaled twice"),
        pytest.param(1, [ROLE, STATUS], [ROLE, STATUS_LATER], None, id="status"),
        pytest.param(1, [ROLE, STATUS], [ROLE, STATUS], None, id="status in the same second"),
        pytest.param(1, [ROLE], [ROLE, USER], COUNTS, id="kinds that never raise it"),
        pytest.param(1, [ROLE], [ROLE, NOTES], None, id="revision of a Deployment"),
    ],
)
def test_kinds_with_generation(
    generation: int, before: list[Any], after: list[Any], expected: Reason | None
) -> None:
    """A higher generation counts, unless all of it is status; so does an edit that raises none."""
    old = {"managedFields": before, "generation": 1}
    assert reason(old, {"managedFields": after, "generation": generation}) is expected


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("labels", {"a": "b"}, COUNTS),
        ("annotations", {"a": "b"}, COUNTS),
        ("annotations", {"nginx.ingress.kubernetes.io/rewrite-target": "/"}, COUNTS),
        ("annotations", {"kubectl.kubernetes.io/restartedAt": "now"}, COUNTS),
        ("annotations", {"deployment.kubernetes.io/revision": "1"}, None),
        ("annotations", {"pv.kubernetes.io/bind-completed": "yes"}, None),
        ("ownerReferences", [], COUNTS),
        ("finalizers", ["a/b"], COUNTS),
    ],
)
@pytest.mark.parametrize("generation", [0, 1])
def test_metadata(field: str, value: Any, expected: Reason | None, generation: int) -> None:
    """Metadata counts, but not what the cluster's own controllers note in annotations."""
    old = {"generation": generation, "managedFields": [ROLE]}
    new = {**old, "managedFields": [ROLE, NOTES], field: value}
    assert reason(old, new) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([ROLE], [ROLE, USER], ("kubectl-edit",)),
        ([ROLE, entry("kubectl-edit", 2)], [entry("role", 1, spec=1), USER], ("kubectl-edit",)),
        ([ROLE, USER], [USER], ("kubectl-edit",)),
        ([ROLE, USER], [ROLE, USER], ("kubectl-edit",)),
        ([entry("role", 9), USER], [entry("role", 9), USER], ("kubectl-edit", "role")),
        ([ROLE], [ROLE, {**entry("kubectl"), "time": None}], ("kubectl",)),
    ],
)
def test_who_made_the_change(
    before: list[Any], after: list[Any], expected: tuple[str, ...]
) -> None:
    """The manager of the newest entry that changed; all that it can have been if none did."""
    old, new = fakes.digest(managedFields=before), fakes.digest(managedFields=after)
    assert childpredicates.managers(fakes.modified(old, new)) == expected


def test_nobody_is_known_to_have_deleted() -> None:
    """Managed fields do not tell who deletes."""
    assert childpredicates.managers(fakes.deleted(fakes.digest())) == ()
