"""Start, stop and list control planes, as programs do it; the command line and pytest call this."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_operator.testing import (
    api,
    binaries,
    components,
    credentials,
    errors,
    lock,
    progress,
    registry,
    supervisor,
)

_PACKAGE_PARENT = Path(__file__).resolve().parents[2]
STOP_LIMIT = 20.0
_started: dict[str, subprocess.Popen[bytes]] = {}  # to be waited for when they end


def serve(
    order: supervisor.Order,
    environ: Mapping[str, str],
    report: progress.Report,
    on_ready: Callable[[registry.State], None],
) -> int:
    """Run a cluster in this process until it is told to stop or the parent process ends.

    Returns the exit code. Raises ControlPlaneError when it cannot be started.
    """
    order = dataclasses.replace(order, owners=(*order.owners, os.getppid()))
    place, descriptor, programs = _prepare(order, environ, report)
    try:
        return supervisor.Supervisor(order, place, programs, report, on_ready).run()
    finally:
        os.close(descriptor)


def start(
    order: supervisor.Order, environ: Mapping[str, str], report: progress.Report
) -> registry.State:
    """Start a cluster in a process of its own and return when it is ready.

    It lives until ``stop`` or until one of the order's owners ends. Raises ControlPlaneError.
    """
    order = dataclasses.replace(order, starter=os.getpid())
    place, descriptor, programs = _prepare(order, environ, report)
    log_path = place.home / "supervisor.log"
    try:
        with log_path.open("w") as log:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, *_to_arguments(order, programs)],
                cwd=place.home,
                env={**environ, "PYTHONPATH": str(_PACKAGE_PARENT)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(descriptor,),  # the lock goes over to the supervisor
            )
    finally:
        os.close(descriptor)
    state = _await_ready(child, place, log_path)
    _started[order.name] = child
    return state


def stop(name: str) -> bool:
    """Stop a cluster and remove its directory; False if there was none.

    Raises ControlPlaneError if it does not end.
    """
    place = registry.layout(name)
    was_there = place.home.exists()
    deadline = time.monotonic() + STOP_LIMIT
    while place.home.exists() and lock.held(place.lock):
        state = registry.read(place)
        if state is not None:
            _signal(state.pid)
        if time.monotonic() > deadline:
            raise errors.ControlPlaneError(
                f"{name} did not end within {STOP_LIMIT:.0f} s; its supervisor is process "
                f"{state.pid if state else '?'} and can be killed, its children end with it."
            )
        time.sleep(0.1)
    if name in _started:
        _started.pop(name).wait(STOP_LIMIT)
    registry.sweep(name)
    return was_there


def list_all() -> list[registry.State]:
    """The state of every cluster of this user, those that died included."""
    found = []
    for name in registry.names():
        place = registry.layout(name)
        state = registry.read(place) or registry.State(name, registry.BOOTING, 0)
        found.append(_judge(place, state))
    return found


def as_json(state: registry.State) -> dict[str, Any]:
    """A state for programs, with the paths that they need."""
    place = registry.layout(state.name)
    paths = {"kubeconfig": str(place.kubeconfig), "binaries": str(place.binaries)}
    return {**dataclasses.asdict(state), **paths}


def _prepare(
    order: supervisor.Order, environ: Mapping[str, str], report: progress.Report
) -> tuple[components.Layout, int, Mapping[str, Path]]:
    registry.layout(order.name)  # a bad name must not cost a build first
    if order.export is not None:
        registry.check_export(order.export)
    programs = binaries.ensure(environ, report)
    place, descriptor = registry.claim(order.name)
    return place, descriptor, programs


def _await_ready(
    child: subprocess.Popen[bytes], place: components.Layout, log_path: Path
) -> registry.State:
    try:
        while child.poll() is None:
            state = registry.read(place)
            if state is not None and state.phase == registry.READY:
                return state
            time.sleep(0.05)
    except BaseException:
        child.terminate()
        child.wait()
        raise
    state = registry.read(place)
    if state is not None and state.phase == registry.FAILED:
        raise errors.ControlPlaneError(state.message)
    try:
        said = log_path.read_text(errors="replace")
    except OSError:
        said = ""
    raise errors.ControlPlaneError(
        f"the supervisor ended with code {child.returncode} before the cluster was ready:\n{said}"
    )


def _judge(place: components.Layout, state: registry.State) -> registry.State:
    """Correct what the supervisor said by what is true now."""
    if not lock.held(place.lock):
        if state.phase == registry.FAILED:
            return state
        message = "its supervisor was killed; `down` or the next `up` removes what is left"
        return dataclasses.replace(state, phase=registry.DEAD, message=message)
    if state.phase != registry.READY:
        return state
    token = credentials.token_of(place.kubeconfig)
    status, body = api.get(f"{state.server}/readyz", place.ca, token)
    if status == 200:
        return state
    said = body.decode(errors="replace")[:500] if status else "no answer"
    return dataclasses.replace(state, phase="not ready", message=f"/readyz: {status} {said}")


def _signal(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return


def _to_arguments(order: supervisor.Order, programs: Mapping[str, Path]) -> Sequence[str]:
    paths = {name: str(path) for name, path in programs.items()}
    return [json.dumps({**dataclasses.asdict(order), "programs": paths}, default=str)]


def _from_arguments(text: str) -> tuple[supervisor.Order, dict[str, Path]]:
    fields = json.loads(text)
    programs = {name: Path(path) for name, path in fields.pop("programs").items()}
    for name in ("export", "audit_log"):
        fields[name] = Path(fields[name]) if fields[name] else None
    return supervisor.Order(**{**fields, "owners": tuple(fields["owners"])}), programs


def _main(arguments: Sequence[str]) -> int:
    """The process behind ``start``; the lock is held through an inherited descriptor."""
    parser = argparse.ArgumentParser(prog="control-plane supervisor")
    parser.add_argument("order")
    order, programs = _from_arguments(parser.parse_args(arguments).order)
    place = registry.layout(order.name)

    def report(line: str) -> None:
        print(line, flush=True)

    return supervisor.Supervisor(order, place, programs, report).run()


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
