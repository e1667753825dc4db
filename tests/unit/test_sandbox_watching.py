"""Tests of ansible_operator.sandbox.watching: what one client is told."""

from __future__ import annotations

import asyncio

import sandbox_fakes

from ansible_operator.sandbox import options, storage, watching

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
    async for piece in one.pieces():
        found += [(event.type, event.object["metadata"].get("name", "")) for event in piece]
        if len(found) >= count:
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


def test_a_watch_tells_what_was_there_before_its_kind_went() -> None:
    """The objects that went with it, in particular."""
    lab = sandbox_fakes.Lab()
    lab.create(LEASES, "a")

    async def work() -> list[tuple[str, str]]:
        one = watch(lab, options.List(watch=True, revision=str(lab.storage.revision)))
        lab.api.delete(LEASES, "ns", "a")
        lab.storage.close(KEY)
        return await take(one, 9)

    assert asyncio.run(work()) == [("DELETED", "a")]


def test_who_does_not_read_is_cut_off() -> None:
    """What waits for a client is what the storage keeps anyway; it has to list again."""
    lab = sandbox_fakes.Lab()
    lab.create(LEASES, "a")
    obj = lab.get(LEASES, "a")

    async def work() -> list[tuple[str, str]]:
        one = watch(lab, options.List(watch=True, revision=str(lab.storage.revision)))
        for _ in range(storage.HISTORY + 1):
            lab.storage.put(KEY, obj)
        return await take(one, 1)

    assert asyncio.run(work()) == []


def test_a_burst_comes_in_pieces() -> None:
    """In order, all of it, and not in one."""
    lab = sandbox_fakes.Lab()
    count = 3 * watching.PIECE + 1

    async def work() -> list[int]:
        one = watch(lab, options.List(watch=True, revision=str(lab.storage.revision)))
        for number in range(count):
            lab.create(LEASES, f"m{number:04}")
        found = []
        async for piece in one.pieces():
            assert len(piece) <= watching.PIECE
            found += [int(event.object["metadata"]["name"][1:]) for event in piece]
            if len(found) == count:
                break
        one.close()
        return found

    assert asyncio.run(work()) == list(range(count))


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
