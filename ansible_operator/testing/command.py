"""The command line of ``scripts/control-plane``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ansible_operator.testing import binaries, cluster, components, errors, registry, supervisor


def main(arguments: Sequence[str]) -> int:
    """Run one command; the exit code: 0 good, 1 failed, 2 wrong usage, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except errors.ControlPlaneError as error:
        _report(f"control-plane {options.command}: {error}")
        return 1
    except KeyboardInterrupt:
        _report(f"control-plane {options.command}: interrupted")
        return 130
    return code


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="control-plane",
        description="A real Kubernetes control plane on loopback, without a container engine.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="build the programs into the cache, once")
    build.set_defaults(run=_build)
    up = commands.add_parser("up", help="start a cluster; Ctrl-C ends it")
    _named(up)
    up.add_argument("--kubeconfig", type=Path, metavar="FILE", help="write a copy to FILE")
    up.add_argument("--detach", action="store_true", help="return when it is ready; end with down")
    up.add_argument(
        "--owner-pid", type=int, metavar="PID", help="end the cluster when this process ends"
    )
    up.add_argument("--audit-log", type=Path, metavar="FILE", help="log every request to FILE")
    up.set_defaults(run=_up)
    down = commands.add_parser("down", help="stop a cluster; fine if there is none")
    _named(down)
    down.add_argument("--all", action="store_true", help="stop all clusters")
    down.set_defaults(run=_down)
    status = commands.add_parser("status", help="list clusters")
    status.add_argument("--json", action="store_true", help="for programs")
    status.set_defaults(run=_status)
    return parser


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--name", default=registry.DEFAULT_NAME, help="which cluster (default: %(default)s)"
    )


def _build(options: argparse.Namespace) -> int:
    paths = binaries.ensure(os.environ, _report)
    for name, path in sorted(paths.items()):
        print(f"{name:24} {path}")
    return 0


def _up(options: argparse.Namespace) -> int:
    order = supervisor.Order(
        name=options.name,
        owners=(options.owner_pid,) if options.owner_pid else (),
        export=options.kubeconfig.absolute() if options.kubeconfig else None,
        audit_log=options.audit_log.absolute() if options.audit_log else None,
    )
    if not options.detach:
        return cluster.serve(order, os.environ, _report, _ready)
    state = cluster.start(order, os.environ, _report)
    _ready(state)
    return 0


def _ready(state: registry.State) -> None:
    place = registry.layout(state.name)
    name = "" if state.name == registry.DEFAULT_NAME else f" --name {state.name}"
    _report(
        f"control plane {state.name} is ready after {state.boot_seconds} s: Kubernetes "
        f"{state.versions.get('kube-apiserver')} at {state.server}\n"
        f"use it:  export KUBECONFIG={state.exported or place.kubeconfig} "
        f"PATH={place.binaries}:$PATH\n"
        f"stop it: scripts/control-plane down{name}"
    )
    print(state.exported or place.kubeconfig, flush=True)


def _down(options: argparse.Namespace) -> int:
    wanted = registry.names() if options.all else [options.name]
    for name in wanted:
        was_there = cluster.stop(name)
        _report(f"control plane {name} " + ("is stopped" if was_there else "was not there"))
    return 0


def _status(options: argparse.Namespace) -> int:
    found = cluster.list_all()
    if options.json:
        print(json.dumps([cluster.as_json(item) for item in found], indent=2))
        return 0
    for item in found:
        print(_described(item))
    if not found:
        _report("no control plane; start one: scripts/control-plane up --detach")
    return 0


def _described(state: registry.State) -> str:
    place: components.Layout = registry.layout(state.name)
    age = f", {time.time() - state.started:.0f} s old" if state.started else ""
    lines = [f"{state.name}: {state.phase}{age}"]
    if state.message:
        lines.append(f"  {state.message}")
    versions = state.versions
    if versions:
        lines.append("  versions    " + ", ".join(f"{k} {v}" for k, v in sorted(versions.items())))
    if state.phase not in (registry.DEAD, registry.FAILED):
        lines.append(f"  server      {state.server}")
        lines.append(f"  kubeconfig  {place.kubeconfig}")
        lines.append("  ports       " + ", ".join(f"{k} {v}" for k, v in state.ports.items()))
        pids = {"supervisor": state.pid, **state.pids}
        lines.append("  pids        " + ", ".join(f"{k} {v}" for k, v in pids.items()))
    lines.append(f"  logs        {place.home / 'logs'}")
    return "\n".join(lines)
