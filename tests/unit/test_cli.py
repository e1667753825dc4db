"""The command line: Go-style flags, version, completion, clear errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click import testing

import ansible_operator
from ansible_operator import cli, durations, goflags, runflags


def _invoke(*args: str) -> testing.Result:
    return testing.CliRunner().invoke(cli.command, args, prog_name=cli.PROGRAM)


def _parsed(*args: str) -> tuple[dict[str, Any], list[str]]:
    """The flags of ``run`` that were given, and the words that belong to none."""
    context = cli.run.make_context("run", list(args))
    given = {name: value for name, value in context.params.items() if value is not None}
    return given, context.args


def test_nothing_given() -> None:
    """Without flags nothing is given; defaults are applied with the settings."""
    assert _parsed() == ({}, [])


@pytest.mark.parametrize(
    ("args", "given"),
    [
        (["--watches-file", "w"], {"watches_file": "w"}),
        (["--watches-file=w"], {"watches_file": "w"}),
        (["--watches-file=w", "--watches-file", "x"], {"watches_file": "x"}),
        (["--ansible-args=--tags 'a b'"], {"ansible_args": "--tags 'a b'"}),
        (["--ansible-args", "--leader-elect"], {"ansible_args": "--leader-elect"}),
        (["--ansible-args="], {"ansible_args": ""}),
        (["--reconcile-period", "1m"], {"reconcile_period": 60.0}),
        (["--reconcile-period=0"], {"reconcile_period": 0.0}),
        (["--max-concurrent-reconciles=4"], {"max_concurrent_reconciles": 4}),
        (["--ansible-verbosity=-1"], {"ansible_verbosity": -1}),
        (["--runner-artifacts-max-bytes=512Mi"], {"runner_artifacts_max_bytes": 512 << 20}),
        (["--zap-encoder=JSON"], {"zap_encoder": "json"}),
        (["--leader-elect"], {"leader_elect": True}),
        (["--leader-elect", "--zap-devel"], {"leader_elect": True, "zap_devel": True}),
        (["--proxy-port", "5", "--leader-elect"], {"proxy_port": 5, "leader_elect": True}),
        (["--leader-elect", "--proxy-port", "5"], {"proxy_port": 5, "leader_elect": True}),
        (["--leader-elect=false"], {"leader_elect": False}),
        (["--leader-elect=1"], {"leader_elect": True}),
        (["--inject-owner-ref=f"], {"inject_owner_ref": False}),
        (["--metrics-bind-address=:8443"], {"metrics_bind_address": ":8443"}),
        (["--metrics-bind-address", "0"], {"metrics_bind_address": "0"}),
    ],
)
def test_flags(args: list[str], given: dict[str, Any]) -> None:
    """Both spellings of a value, and booleans as Go's flag packages read them."""
    assert _parsed(*args) == (given, [])


def test_words_without_a_flag() -> None:
    """They are kept apart; as in Go, a boolean takes no word."""
    assert _parsed("a", "--leader-elect", "false", "--", "--zap-devel") == (
        {"leader_elect": True},
        ["a", "false", "--zap-devel"],
    )


@pytest.mark.parametrize(
    ("args", "texts"),
    [
        (["--watches-fil=x"], ["No such option", "--watches-file"]),
        (["--config=x"], ["No such option"]),
        (["-watches-file=x"], ["No such option"]),
        (["--reconcile-period=10"], ["--reconcile-period", "the unit is missing", "10s"]),
        (["--leader-elect=maybe"], ["--leader-elect", '"maybe" is not a boolean']),
        (["--max-concurrent-reconciles=x"], ["--max-concurrent-reconciles", "integer"]),
        (["--proxy-port=70000"], ["--proxy-port", "65535"]),
        (["--zap-encoder=xml"], ["--zap-encoder", "json", "console"]),
        (["--zap-stacktrace-level=x"], ["--zap-stacktrace-level", "panic"]),
        (["--zap-time-encoding=x"], ["--zap-time-encoding", "rfc3339nano"]),
        (["--runner-artifacts-max-bytes=1GB"], ["--runner-artifacts-max-bytes", "512Mi"]),
        (["--kubeconfig=/no/such/file"], ["--kubeconfig", "does not exist"]),
        (["--watches-file"], ["--watches-file", "requires an argument"]),
    ],
)
def test_wrong_flags(args: list[str], texts: list[str]) -> None:
    """A wrong flag ends with an error that names it and what is accepted."""
    result = _invoke("run", *args)
    assert result.exit_code == 2
    for text in texts:
        assert text in result.output


def test_run_help_has_every_flag_in_a_section() -> None:
    """Every flag is in the help text, under a heading."""
    result = _invoke("run", "--help")
    assert result.exit_code == 0
    for param in runflags.FLAGS:
        assert isinstance(param, goflags.Flag)
        assert param.opts[0] in result.output
        assert f"{param.section}:" in result.output


def test_flags_of_the_incumbent() -> None:
    """Every flag of the incumbent is there."""
    names = {param.opts[0] for param in runflags.FLAGS}
    assert names >= {
        "--watches-file", "--inject-owner-ref", "--ansible-verbosity", "--ansible-roles-path",
        "--ansible-collections-path", "--ansible-args", "--ansible-log-events", "--proxy-port",
        "--reconcile-period", "--max-concurrent-reconciles", "--metrics-bind-address",
        "--metrics-addr", "--metrics-secure", "--metrics-require-rbac",
        "--health-probe-bind-address", "--leader-elect", "--enable-leader-election",
        "--leader-election-id", "--leader-election-namespace", "--leader-elect-resource-lock",
        "--leader-elect-lease-duration", "--leader-elect-renew-deadline",
        "--graceful-shutdown-timeout", "--enable-http2", "--zap-devel", "--zap-encoder",
        "--zap-log-level", "--zap-stacktrace-level", "--zap-time-encoding",
    }  # fmt: skip


def test_shown_durations_parse() -> None:
    """The defaults that the help names for durations are durations."""
    shown = [
        (param.help or "").rpartition("[default: ")[2].rstrip("]")
        for param in runflags.FLAGS
        if isinstance(param, goflags.Flag) and isinstance(param.type, goflags.Duration)
    ]
    assert len(shown) == 8
    assert all(durations.parse(text) > 0 for text in shown)


@pytest.mark.parametrize("args", [["--help"], [], ["help"]])
def test_help(args: list[str]) -> None:
    """Every way to ask for help lists the commands."""
    result = _invoke(*args)
    assert result.exit_code == 0
    for name in ("run", "version", "completion", "help"):
        assert f"  {name} " in result.output


def test_help_of_a_command() -> None:
    """help run is run --help."""
    assert _invoke("help", "run").output == _invoke("run", "--help").output


def test_help_of_no_command() -> None:
    """An unknown command is an error that names it."""
    result = _invoke("help", "runn")
    assert result.exit_code == 2
    assert "No such command 'runn'" in result.output


@pytest.mark.parametrize("args", [["version"], ["--version"]])
def test_version(args: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, every value quoted, prefixed as the incumbent's."""
    monkeypatch.setenv("ANSIBLE_OPERATOR_COMMIT", "abc123")
    result = _invoke(*args)
    assert result.exit_code == 0
    assert result.output.startswith(
        f'ansible-operator version: "{ansible_operator.__version__}", commit: "abc123", '
        'kubernetes version: "1.37", python version: "3.'
    )
    assert result.output.count("\n") == 1


def test_version_without_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that does not know its commit says so."""
    monkeypatch.delenv("ANSIBLE_OPERATOR_COMMIT", raising=False)
    assert 'commit: "' in cli.version_line()


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_completion(shell: str) -> None:
    """A script for each shell that names the program and its variable."""
    result = _invoke("completion", shell)
    assert result.exit_code == 0
    assert "_ANSIBLE_OPERATOR_COMPLETE" in result.output


def test_completion_of_another_shell() -> None:
    """Another shell is an error that lists those there are."""
    result = _invoke("completion", "csh")
    assert result.exit_code == 2
    assert "zsh" in result.output


def test_prepare_hands_on_settings_and_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings know the kinds of the file; what is odd is logged, each as one line."""
    (tmp_path / "roles" / "app").mkdir(parents=True)
    (tmp_path / "watches.yaml").write_text("- {version: v1, group: g, kind: App, role: app, x: 1}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORKER_APP_G", "64")
    lines: list[tuple[str, str]] = []

    class Log:
        def warning(self, message: str, *, notice: str) -> None:
            lines.append((message, notice))

    config, (watch,) = cli._prepare({"leader_election_id": "x"}, Log())
    assert config.workers(watch.gvk) == 64
    assert config.engine.max_concurrent_runs >= 64
    assert [message for message, _ in lines] == [
        "about the settings",
        "about the settings",
        "about the watches file",
        "about the watches file",
    ]
    assert lines[0][1] == "--leader-election-id is accepted but not active yet"
    assert "WORKER_APP_G is deprecated" in lines[1][1]
    assert "x: unknown key" in lines[2][1]


def test_a_flag_needs_its_type() -> None:
    """The types convert text only; what they fail with is click's error."""
    with pytest.raises(click.BadParameter, match="is not a size"):
        goflags.Size().convert("1GB", None, None)
