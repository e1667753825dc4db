"""Kinds of URLs by discovery: asked once, again when that can help, and never for others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import canned_api
import pytest
from canned_api import CannedApi

from ansible_operator import children, errors, objects
from ansible_operator.kube.proxy import mapping

THINGS = {"name": "things", "kind": "Thing", "namespaced": True}
ROOT = "/apis/example.com/v1"
THING = children.ChildKind(objects.GVK("example.com", "v1", "Thing"), "things", True)


class Clock:
    """A clock that is set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def api() -> Iterator[CannedApi]:
    """A server of one kind."""
    with CannedApi() as found:
        found.serve(ROOT, THINGS, {"name": "things/status", "kind": "Thing", "namespaced": True})
        yield found


@pytest.fixture
def clock() -> Clock:
    """A clock of the test's own."""
    return Clock()


@pytest.fixture
def mapper(api: CannedApi, clock: Clock, tmp_path: Path) -> mapping.Mapper:
    """A mapper of that server."""
    return mapping.Mapper(api.client(tmp_path), clock=clock, sleep=clock.sleep)


def paths(api: CannedApi) -> list[str]:
    """What was asked."""
    return [asked.path for asked in api.requests("GET")]


def test_found(api: CannedApi, mapper: mapping.Mapper) -> None:
    """One question for all kinds of a version; a subresource is no kind."""
    assert mapper.known("example.com", "v1", "things") is None
    found = mapper.find("example.com", "v1", "things")
    assert found is not None
    assert found.kind == THING
    assert not found.is_virtual
    assert mapper.find("example.com", "v1", "things") == found
    assert mapper.known("example.com", "v1", "things") == found
    assert paths(api) == [ROOT]
    assert mapper.find("example.com", "v1", "things/status") is None


def test_core_and_virtual_kinds(api: CannedApi, mapper: mapping.Mapper) -> None:
    """Kinds that cannot be got and listed have no objects; entries may name their own group."""
    review = {"name": "reviews", "kind": "Review", "namespaced": False, "verbs": ["create"]}
    other = {"name": "others", "kind": "O", "namespaced": False, "group": "g", "version": "v2"}
    api.serve("/api/v1", review, other)
    found = mapper.find("", "v1", "reviews")
    assert found is not None
    assert found.is_virtual
    found = mapper.find("", "v1", "others")
    assert found is not None
    assert (found.kind.gvk, found.kind.namespaced) == (objects.GVK("g", "v2", "O"), False)


def test_new_kinds(api: CannedApi, mapper: mapping.Mapper, clock: Clock) -> None:
    """What is not there is looked for again each time, but not more often than each second."""
    assert mapper.find("example.com", "v1", "late") is None
    clock.now += 0.25
    began = clock.now
    assert mapper.find("example.com", "v1", "late") is None
    assert clock.now == began + 0.75
    api.serve(ROOT, THINGS, {"name": "late", "kind": "Late", "namespaced": False})
    clock.now += 5
    began = clock.now
    assert mapper.find("example.com", "v1", "late") is not None
    assert mapper.find("example.com", "v1", "things") is not None
    assert clock.now == began
    assert paths(api) == [ROOT] * 3


def test_new_versions(api: CannedApi, mapper: mapping.Mapper) -> None:
    """The same for a whole group."""
    assert mapper.find("new.example.com", "v1", "things") is None
    api.serve("/apis/new.example.com/v1", THINGS)
    assert mapper.find("new.example.com", "v1", "things") is not None


def test_kinds_that_come_back(api: CannedApi, mapper: mapping.Mapper, clock: Clock) -> None:
    """A CRD may be made anew with another scope."""
    mapper.find("example.com", "v1", "things")
    api.serve(ROOT, {**THINGS, "namespaced": False})
    clock.now += mapping.LIFETIME
    assert mapper.known("example.com", "v1", "things") is None
    found = mapper.find("example.com", "v1", "things")
    assert found is not None
    assert not found.kind.namespaced


def test_no_answer(api: CannedApi, mapper: mapping.Mapper, clock: Clock) -> None:
    """A version that does not answer is not asked at each request, and harms no other."""
    api.say("GET", "/apis/down.example.com/v1", canned_api.status(503, "X", "no endpoints"))
    for _ in range(3):
        with pytest.raises(errors.ServerError, match="no endpoints"):
            mapper.find("down.example.com", "v1", "things")
    assert mapper.find("example.com", "v1", "things") is not None
    assert paths(api) == ["/apis/down.example.com/v1", ROOT]
    api.serve("/apis/down.example.com/v1", THINGS)
    clock.now += mapping.PATIENCE
    assert mapper.find("down.example.com", "v1", "things") is not None


def test_no_answer_any_more(api: CannedApi, mapper: mapping.Mapper, clock: Clock) -> None:
    """What was known counts on; what was not known is not said to be absent."""
    mapper.find("example.com", "v1", "things")
    api.say("GET", ROOT, canned_api.status(503, "X", "no endpoints"))
    clock.now += mapping.LIFETIME
    assert mapper.find("example.com", "v1", "things") is not None
    with pytest.raises(errors.ServerError):
        mapper.find("example.com", "v1", "others")
