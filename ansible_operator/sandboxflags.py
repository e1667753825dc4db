"""Every option of ``sandbox``, and ``--exec``, which takes all that follows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(path_type=Path)
_EXEC = "--exec"
_BIND = "127.0.0.1"


class Command(click.Command):
    """Gives everything after ``--exec`` to the parameter ``command``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what comes before ``--exec``."""
        own, command = args, []
        if _EXEC in args:
            at = args.index(_EXEC)
            own, command = args[:at], args[at + 1 :]
            if not command:
                raise click.UsageError(f"{_EXEC} needs a command to run: {_EXEC} CMD...", ctx)
        rest = super().parse_args(ctx, own)
        if ctx.params.pop("exec_", None) is not None:
            raise click.UsageError(f"write {_EXEC} CMD..., with a blank", ctx)
        ctx.params["command"] = tuple(command)
        _check(ctx, ctx.params)
        return rest


def _check(ctx: click.Context, given: dict[str, Any]) -> None:
    meaningless = [name for name in ("http", "token", "rbac", "users", "port") if given.get(name)]
    meaningless += ["bind"] if given.get("bind") != _BIND else []
    if given.get("real") and meaningless:
        names = ", ".join(f"--{'user' if name == 'users' else name}" for name in meaningless)
        raise click.UsageError(
            f"{names} and --real do not go together: a real control plane has RBAC, HTTPS, and "
            "ports and tokens of its own.",
            ctx,
        )


def _option(*names: str, text: str, **attrs: Any) -> click.Option:
    return click.Option(names, help=text, **attrs)


OPTIONS: Sequence[click.Parameter] = [
    _option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        text="Port to listen on. [default: a free one]",
    ),
    _option(
        "--bind",
        metavar="ADDRESS",
        default=_BIND,
        show_default=True,
        text="Loopback address to listen on; no other is accepted.",
    ),
    _option(
        "--http",
        is_flag=True,
        text="Serve plain HTTP instead of HTTPS; kubectl sends no token then.",
    ),
    _option(
        "--token", default="", text="The administrator's bearer token. [default: a random one]"
    ),
    _option(
        "--kubeconfig",
        type=_FILE,
        metavar="FILE",
        text="Write the kubeconfig to FILE, which is removed at the end. [default: a private file]",
    ),
    _option(
        "--crds",
        type=_DIRECTORY,
        metavar="DIR",
        multiple=True,
        text="Install the CRDs in the YAML files of DIR. May be repeated.",
    ),
    _option(
        "--apply",
        type=_DIRECTORY,
        metavar="FILE",
        multiple=True,
        text="Create the objects in a YAML file, after the CRDs. May be repeated.",
    ),
    _option(
        "--rbac",
        is_flag=True,
        text="Enforce roles and bindings for users and service accounts. Without it everybody may "
        "do everything.",
    ),
    _option(
        "--user",
        "users",
        metavar="NAME[:GROUP,...]",
        multiple=True,
        text="A test user; the kubeconfig has a context NAME for it. May be repeated.",
    ),
    _option("--audit-log", type=_FILE, metavar="FILE", text="Add a line for each request to FILE."),
    _option("--real", is_flag=True, text="Start a real control plane instead, with RBAC."),
    _option("--owner-pid", "owner", type=int, hidden=True, text="End when this process has ended."),
    _option(
        _EXEC,
        "exec_",
        metavar="CMD...",
        text="Run a command with KUBECONFIG set and end with it. It takes all that follows.",
    ),
]
