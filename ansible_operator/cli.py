"""The command line: ``run``, ``sandbox``, ``version``, ``completion`` and ``help``.

Names and defaults of flags are the incumbent's. Everything heavy is imported inside the commands,
so that ``version`` and ``--help`` answer at once.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

import ansible_operator
from ansible_operator import goflags, runflags, sandboxflags

PROGRAM = "ansible-operator"
KUBERNETES_VERSION = "1.37"

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def main(args: Sequence[str] | None = None) -> None:
    """The console script; ends the process with the command's exit code."""
    command.main(args=None if args is None else list(args), prog_name=PROGRAM)


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(version_line())
        ctx.exit()


@click.group(invoke_without_command=True, context_settings={"max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Run Ansible roles and playbooks for custom resources of Kubernetes."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@command.command()
def version() -> None:
    """Print versions of program, Kubernetes, Python and system."""
    click.echo(version_line())


@command.command("help")
@click.argument("name", required=False)
@click.pass_context
def show_help(ctx: click.Context, name: str | None) -> None:
    """Show the help text of a command."""
    parent = ctx.find_root()
    found = command.get_command(parent, name) if name else command
    if found is None:
        raise click.UsageError(f"No such command '{name}'.", parent)
    context = parent if found is command else click.Context(found, parent, name)
    with context.scope(cleanup=False):
        click.echo(found.get_help(context))


@command.command()
@click.argument("shell", type=click.Choice(["bash", "fish", "zsh"]))
def completion(shell: str) -> None:
    """Print a completion script; for bash: source <(ansible-operator completion bash)."""
    from click import shell_completion

    maker = shell_completion.get_completion_class(shell)
    if maker is None:
        raise click.ClickException(f"click has no completion for {shell}")
    variable = f"_{PROGRAM}_complete".replace("-", "_").upper()
    click.echo(maker(command, {}, PROGRAM, variable).source())


@command.command(cls=goflags.Command, params=runflags.FLAGS)
@click.pass_context
def run(ctx: click.Context, /, **options: Any) -> None:
    """Watch the kinds in watches.yaml and run Ansible for their objects."""
    given = {name: value for name, value in options.items() if value is not None}
    sys.exit(_start(given, ctx.args))


@command.command(cls=sandboxflags.Command, params=sandboxflags.OPTIONS)
def sandbox(**options: Any) -> None:
    """Serve a Kubernetes API from memory, to try and test operators without a cluster.

    It listens on this machine's loopback only. Without --exec it runs until Ctrl-C.
    """
    from ansible_operator.sandbox.front import command as sandboxes

    try:
        sys.exit(sandboxes.run(sandboxes.Order(**options), os.environ))
    except sandboxes.Error as error:
        raise click.ClickException(str(error)) from error


def _start(given: dict[str, Any], ignored: Sequence[str]) -> int:
    if sys.stderr is None:  # closed by who started us; the operator works without a reader
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - open as long as the process lives
    import structlog

    from ansible_operator import errors, flags, logs, settings

    if sys.stderr.isatty() and not given.get("zap_encoder"):
        given["zap_encoder"] = "console"
    log = structlog.get_logger("cmd")
    logs.configure(settings.LogSettings())
    try:
        logs.configure(flags.log_settings(given))
        config, watched = _prepare(given, log)
    except errors.ConfigError as error:
        log.error("cannot start", error=str(error))
        return 1
    if ignored:
        log.warning("arguments without a flag are ignored", arguments=list(ignored))
    kinds = [str(watch.gvk) for watch in watched]
    log.info("starting", version=ansible_operator.__version__, watching=kinds)
    from ansible_operator import manager

    return manager.run(config, watched)


def _prepare(given: Mapping[str, Any], log: Any) -> tuple[Any, Any]:
    """Settings and watches; raises ConfigError, logs everything that is merely odd."""
    from pathlib import Path

    from ansible_operator import cpus, flags, watches

    environ, count = dict(os.environ), cpus.effective()
    config = flags.resolve(given, environ, count).settings
    loaded = watches.load(config.watches_file, config.environ, Path.cwd())
    kinds = [watch.gvk for watch in loaded.watches]
    resolved = flags.resolve(given, environ, count, kinds)
    for notice in resolved.notices:
        log.warning("about the settings", notice=notice)
    for warning in loaded.warnings:
        log.warning("about the watches file", notice=warning)
    return resolved.settings, loaded.watches


def version_line() -> str:
    """One line with every version, each quoted, as the incumbent prints it."""
    from ansible_operator import provenance

    machine = platform.machine()
    parts = {
        "version": ansible_operator.__version__,
        "commit": provenance.commit(),
        "kubernetes version": KUBERNETES_VERSION,
        "python version": platform.python_version(),
        "OS": platform.system().lower(),
        "arch": _ARCHITECTURES.get(machine, machine),
    }
    return f"{PROGRAM} " + ", ".join(f'{name}: "{value}"' for name, value in parts.items())


if __name__ == "__main__":
    main()
