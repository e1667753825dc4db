"""What an informer does after a failure, how watches read, and who may list when."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ansible_operator import children, errors, objects
from ansible_operator.kube import admission, discovery, recovery, scopes, watchevents

THINGS = discovery.Resource(objects.GVK("g", "v1", "Thing"), "things", True, False)
UNREACHABLE = errors.UnreachableError("no answer")


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def most(least: float, highest: float) -> float:
    """The upper bound of a spread."""
    return highest


def status(code: int, **more: float) -> errors.KubeError:
    """An error of the server."""
    return errors.KubeError("as the test wishes", status=code, **more)  # type: ignore[arg-type]


def test_failures_in_a_row_are_waited_for_longer_each_time() -> None:
    """From one second to thirty; a success sets that back."""
    found = recovery.Recovery(Clock(), most)
    assert [found.failed(UNREACHABLE) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    states = [found.state]
    found.succeeded()
    assert [*states, found.state] == [recovery.State.TROUBLE, recovery.State.WELL]
    assert found.failed(UNREACHABLE) == 1


def test_waits_are_spread_but_never_short() -> None:
    """At least half of the most, and a second."""
    found = recovery.Recovery(Clock(), lambda least, highest: least)
    assert [found.failed(UNREACHABLE) for _ in range(7)] == [1, 1, 2, 4, 8, 15, 15]


def test_a_server_that_asks_for_time_gets_it() -> None:
    """Retry-After counts where it is longer, up to five minutes."""
    found = recovery.Recovery(Clock(), most)
    assert found.failed(status(429, retry_after=7)) == 7
    assert found.failed(status(429, retry_after=1)) == 2
    assert found.failed(status(503, retry_after=9999)) == recovery.LONGEST


def test_what_is_too_old_is_listed_again_at_once_but_once() -> None:
    """A server that says so every time is not asked without end."""
    found = recovery.Recovery(Clock(), most)
    assert found.failed(status(410)) == 0
    assert found.starts_over(status(410))
    assert found.failed(status(410)) == 2
    found.succeeded()
    assert found.failed(status(410)) == 0


def test_missing_permission_is_asked_for_slowly() -> None:
    """Every minute at first, then every five."""
    found = recovery.Recovery(Clock(), lambda least, highest: (least + highest) / 2)
    refused = errors.ForbiddenError("no", status=403)
    waits = [round(found.failed(refused)) for _ in range(7)]
    assert waits == [60] * 5 + [300] * 2
    found.failed(UNREACHABLE)
    assert found.state is recovery.State.FORBIDDEN


def test_a_kind_is_gone_only_after_a_while() -> None:
    """A server that was just started does not serve CRDs for some moments."""
    clock = Clock()
    found = recovery.Recovery(clock, most)
    missing = errors.NotFoundError("no", status=404)
    assert found.failed(missing) == 1
    gone = [found.gone]
    clock.now += recovery.PATIENCE
    gone.append(found.gone)
    assert found.failed(missing) == pytest.approx(recovery.MISSING * 1.2)
    found.succeeded()
    assert [*gone, found.gone] == [False, True, False]


@pytest.mark.parametrize(
    ("error", "over"),
    [
        (UNREACHABLE, False),
        (errors.KubeError("garbage"), False),
        (status(429), False),
        (status(500), False),
        (status(503), False),
        (status(410), True),
        (status(504), True),
        (status(400), True),
        (errors.NotFoundError("no", status=404), True),
    ],
)
def test_a_watch_goes_on_where_it_was_if_it_can(error: errors.KubeError, *, over: bool) -> None:
    """What is no fault of the place is tried there again; but not for ever."""
    found = recovery.Recovery(Clock(), most)
    found.failed(error)
    assert found.starts_over(error) is over
    found.failed(error)
    found.failed(error)
    assert found.starts_over(error)


def line(type_: str, **obj: object) -> bytes:
    """A line of a watch."""
    return json.dumps({"type": type_, "object": obj}).encode()


def test_lines_of_a_watch_are_read() -> None:
    """Events with their objects, bookmarks with their versions."""
    meta = {"name": "a", "resourceVersion": "7"}
    read = watchevents.parse(line("MODIFIED", metadata=meta))
    assert read == watchevents.Changed(children.Event.MODIFIED, {"metadata": meta})
    assert watchevents.parse(line("BOOKMARK", metadata=meta)) == watchevents.Bookmark("7")


def test_an_error_in_a_watch_has_its_status_and_delay() -> None:
    """As it would be of an answer."""
    with pytest.raises(errors.KubeError, match="too old") as caught:
        watchevents.parse(line("ERROR", code=410, reason="Expired", message="too old"))
    assert (caught.value.status, caught.value.reason) == (410, "Expired")
    with pytest.raises(errors.KubeError) as caught:
        watchevents.parse(line("ERROR", code=429, details={"retryAfterSeconds": 3}))
    assert caught.value.retry_after == 3


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nonsense",
        b"[]",
        b"null",
        b"{}",
        b'{"type": "ADDED"}',
        b'{"type": "ADDED", "object": []}',
        b'{"type": "ADDED", "object": {"metadata": null}}',
        b'{"type": "ODD", "object": {"metadata": {"resourceVersion": "1"}}}',
        b'{"type": "ADDED", "object": {"metadata": {"resourceVersion": "1"}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_garbage_is_an_error_with_status_zero(text: bytes) -> None:
    """So that it is treated as a broken connection."""
    with pytest.raises(errors.KubeError) as caught:
        watchevents.parse(text)
    assert caught.value.status == 0


@pytest.mark.parametrize("error", [b"null", b"[]", b"{}", b'{"code": "x", "details": []}'])
def test_an_error_without_a_status_is_an_error_of_the_server(error: bytes) -> None:
    """Whatever its object is."""
    with pytest.raises(errors.KubeError) as caught:
        watchevents.parse(b'{"type": "ERROR", "object": ' + error + b"}")
    assert caught.value.status == 500


@pytest.mark.case("K12")
def test_a_bucket_bounds_the_rate() -> None:
    """So many at once, then so many in a second; who overdraws holds up the others."""
    clock = Clock()
    bucket = admission.Bucket(8.0, 5.0, clock)
    assert [bucket.take() for _ in range(6)] == [0, 0, 0, 0, 0, 0.125]
    clock.now += 0.125
    assert bucket.take(3) == 0
    assert bucket.take() == 0.375
    clock.now += 60
    assert [bucket.take() for _ in range(6)][-1] > 0


@pytest.mark.case("K12")
def test_lists_take_turns() -> None:
    """Who waits too long gives up; a turn that was given up is free for others."""
    clock = Clock()
    gate = admission.Admission(1, 8.0, 1.0, clock)

    def late(seconds: float) -> bool:
        clock.now += seconds
        return True

    def patient(seconds: float) -> bool:
        clock.now += seconds
        return False

    with gate.turn(late) as admitted, gate.turn(late) as second:
        assert (admitted, second) == (True, False)
    with gate.turn(late) as third:
        assert not third
    begun = clock.now = 200.0
    for _ in range(5):
        with gate.turn(patient) as admitted:
            assert admitted
    assert clock.now - begun == pytest.approx(4 / 8)


class Reviews:
    """A server that grants what it is told to grant."""

    def __init__(self, *granted: str) -> None:
        self.granted = granted
        self.asked: list[str] = []

    @property
    def server(self) -> str:
        return "https://server"

    def request(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Any = None
    ) -> objects.Obj:
        attributes = body["spec"]["resourceAttributes"]
        assert attributes["namespace"] == ""
        self.asked.append(attributes["verb"])
        return {"status": {"allowed": attributes["verb"] in self.granted}}


MANY = tuple(f"n{number}" for number in range(scopes.MANY + 1))


@pytest.mark.case("K12")
def test_many_namespaces_are_asked_for_by_way_of_the_cluster_if_that_is_permitted() -> None:
    """List and watch must be; few namespaces are not even asked about."""
    assert scopes.plan(Reviews("list", "watch"), THINGS, MANY) == scopes.Scopes(("",), MANY)
    for granted in (["list"], ["watch"], []):
        assert scopes.plan(Reviews(*granted), THINGS, MANY) == scopes.Scopes(MANY)
    few = Reviews("list", "watch")
    assert scopes.plan(few, THINGS, MANY[1:]) == scopes.Scopes(MANY[1:])
    assert few.asked == []


def test_no_namespace_is_the_whole_cluster() -> None:
    """So it is for kinds that are in none; a namespace that is given twice counts once."""
    plain = discovery.Resource(objects.GVK("g", "v1", "Plan"), "plans", False, False)
    assert scopes.each(THINGS, ()) == scopes.each(plain, ("a",)) == scopes.Scopes(("",))
    assert scopes.each(THINGS, ("a", "b", "a")) == scopes.Scopes(("a", "b"))
