"""Bugs in what looks at requests are logged, and requests go on."""

from __future__ import annotations

import asyncio

import pytest

from ansible_operator.kube.proxy import guarding, interceptor

ANSWER = interceptor.Answer(200, {}, b"answer")


async def broken(what: object) -> bytes:
    """A bug."""
    raise KeyError(what)


async def broken_look(answer: interceptor.Answer) -> interceptor.Answer:
    """Another."""
    raise KeyError(answer.body)


async def changed(body: bytes) -> bytes:
    """No bug."""
    return body + b"!"


def test_bugs(capsys: pytest.CaptureFixture[str]) -> None:
    """What was to be changed goes on as it is."""
    plan = guarding.guarded(interceptor.Plan(broken, broken_look))

    async def both(plan: interceptor.Plan) -> tuple[bytes, interceptor.Answer]:
        assert plan.rewrite is not None
        assert plan.inspect is not None
        return await plan.rewrite(b"body"), await plan.inspect(ANSWER)

    assert asyncio.run(both(plan)) == (b"body", ANSWER)
    assert capsys.readouterr().out.count("[error") == 2


def test_without_bugs() -> None:
    """Everything else is as it was."""
    assert guarding.guarded(interceptor.PASS) == interceptor.PASS
    plan = guarding.guarded(interceptor.Plan(rewrite=changed))
    assert plan.rewrite is not None
    assert plan.inspect is None

    async def run() -> bytes:
        assert plan.rewrite is not None
        return await plan.rewrite(b"body")

    assert asyncio.run(run()) == b"body!"
