"""Tests of ansible_operator.sandbox.watching: what one client is told."""

from __future__ import annotations

import asyncio

import sandbox_fakes

from ansible_operator.sandbox import options, watching

LEASES = "leases.coordination.k8s.io"
KEY = ("coordination.k8s.io", "leases")


def watch(lab: sandbox_fakes.Lab, how: options.List) -> watching.Watch:
    """A watch of the leases of the namespace."""
    found = lab.registry.kinds.named(LEASES)
    assert found is not None
    return watching.Watch(lab.registry, found, "ns", "", how)


async def take(one: watching.Watch, count: int) -> list[tuple[str, str]]:
    """Type and name of the next events."""
    found = []
    async for event in one.events():
        found.append((event.type, event.object["metadata"].get("name", "")))
        if len(found) == count:
            break
    return found


def test_nothing_is_lost_between_the_list_and_the_watch() -> None:
    """Changes after the version of a list come, though the watch began later."""
    lab = sandbox_fakes.Lab()
    version = str(lab.storage.revision)
    lab.create(LEASES, "a")

    async def work() -> list[tuple[str, str]]:
        one = watch(lab, options.List(watch=True, revision=version))
        lab.create(LEASES, "b")
        try:
            return await take(one, 2)
        finally:
            one.close()

    assert asyncio.run(work()) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_watch_ends_when_its_kind_does() -> None:
    """And says nothing more."""
    lab = sandbox_fakes.Lab()

    async def work() -> list[tuple[str, str]]:
        one = watch(lab, options.List(watch=True, revision=str(lab.storage.revision)))
        lab.storage.close(KEY)
        return await take(one, 1)

    assert asyncio.run(work()) == []


def test_who_does_not_read_is_cut_off() -> None:
    """The changes that wait for a client are bounded; it has to list again."""
    lab = sandbox_fakes.Lab()
    lab.create(LEASES, "a")
    obj = lab.api.get(LEASES, "ns", "a")
    assert obj is not None

    async def work() -> int:
        one = watch(lab, options.List(watch=True, revision=str(lab.storage.revision)))
        for _ in range(watching.BACKLOG + 10):
            lab.storage.put(KEY, obj)
        return len(await take(one, watching.BACKLOG + 100))

    assert asyncio.run(work()) <= watching.BACKLOG + 1


def test_streaming_lists_end_with_a_bookmark() -> None:
    """The client knows then that it has seen everything."""
    lab = sandbox_fakes.Lab()
    lab.create(LEASES, "a")

    async def work() -> list[tuple[str, str]]:
        one = watch(lab, options.List(watch=True, initial=True, match="NotOlderThan"))
        try:
            return await take(one, 2)
        finally:
            one.close()

    assert asyncio.run(work()) == [("ADDED", "a"), ("BOOKMARK", "")]
