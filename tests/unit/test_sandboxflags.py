"""What the command line of the sandbox accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click import testing

from ansible_operator import cli
from ansible_operator.sandbox.front import command
from ansible_operator.testing import errors


def parsed(*args: str) -> command.Order:
    """The order that the arguments make."""
    context = cli.sandbox.make_context("sandbox", list(args))
    return command.Order(**context.params)


def failure(*args: str) -> str:
    """What is said about arguments that are refused before anything starts."""
    result = testing.CliRunner().invoke(cli.command, ["sandbox", *args], prog_name="a")
    assert result.exit_code in (1, 2), result.output
    return result.output


def test_nothing_given() -> None:
    """HTTPS on a free port of loopback, and nobody's rights are looked at."""
    assert parsed() == command.Order()


def test_options() -> None:
    """Those that may be repeated are kept in order."""
    found = parsed(
        "--port=8443", "--crds", "a", "--crds=b", "--apply", "c", "--user", "u:g", "--rbac"
    )
    assert (found.port, found.rbac, found.users) == (8443, True, ("u:g",))
    assert (found.crds, found.apply) == ((Path("a"), Path("b")), (Path("c"),))


def test_exec_takes_all_that_follows() -> None:
    """Also what looks like an option of ours."""
    found = parsed("--http", "--exec", "kubectl", "get", "ns", "--rbac", "--exec", "x")
    assert found.command == ("kubectl", "get", "ns", "--rbac", "--exec", "x")
    assert (found.http, found.rbac) == (True, False)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--exec"], "needs a command"),
        (["--exec=ls"], "with a blank"),
        (["--real", "--rbac", "--user=a"], "--rbac, --user and --real do not go together"),
        (["--real", "--bind=::1"], "--bind and --real do not go together"),
        (["--port=70000"], "0<=x<=65535"),
        (["--bind=0.0.0.0"], "loopback only"),
        (["--bind=example.com"], "loopback only"),
        (["--bind=::"], "loopback only"),
        (["--bind=192.168.1.1"], "loopback only"),
        (["--token=a b"], "--token"),
        (["--user=:g"], "--user :g"),
        (["--user=admin"], "admin is taken"),
        (["--crds=/no/such/directory"], "--crds /no/such/directory: No such file"),
        (["--apply=/no/such/file"], "/no/such/file: No such file"),
        (["--kubeconfig=/no/such/directory/k"], "no directory /no/such/directory"),
        (["word"], "unexpected extra argument"),
    ],
)
def test_what_is_refused(args: list[str], said: str) -> None:
    """With a message that says what to do."""
    assert said in failure(*args)


@pytest.mark.parametrize(
    ("bind", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1.2.3", "127.1.2.3"),
        ("localhost", "127.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
    ],
)
def test_addresses(bind: str, host: str) -> None:
    """All of loopback, by address or as localhost."""
    assert command.loopback(bind) == host


@pytest.mark.parametrize(
    ("text", "user"),
    [
        ("bob", ("bob", ())),
        ("bob:devs,ops", ("bob", ("devs", "ops"))),
        ("bob@example.com:system:masters", ("bob@example.com", ("system:masters",))),
    ],
)
def test_users(text: str, user: Any) -> None:
    """A name, and groups after the first colon."""
    assert command.parse_user(text) == user


def test_errors_are_click_errors() -> None:
    """They end with 1 and are one message."""
    with pytest.raises(errors.ControlPlaneError):
        command.run(command.Order(bind="8.8.8.8"), {})
    assert isinstance(cli.sandbox, click.Command)
    assert failure("--bind=8.8.8.8").startswith("Error: --bind 8.8.8.8:")
