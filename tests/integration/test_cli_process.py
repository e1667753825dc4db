"""The command line as a process: no heavy imports, clear errors, exit codes."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAVY = (
    "kopf", "kubernetes", "ansible_runner", "ansible", "aiohttp", "structlog", "yaml", "pydantic",
)  # fmt: skip


def _process(
    *args: str, cwd: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **environ},
        timeout=120,
    )


@pytest.mark.parametrize("args", [["--help"], ["run", "--help"], ["version"], ["--version"]])
def test_no_heavy_import(args: list[str]) -> None:
    """Help and version load nothing heavy."""
    code = (
        "import sys\n"
        "from ansible_operator import cli\n"
        "try:\n"
        f"    cli.main({args!r})\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code\n"
        f"print('LOADED', sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    result = _process("-c", code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "LOADED []"


@pytest.mark.parametrize("module", ["ansible_operator", "ansible_operator.cli"])
def test_python_m(module: str) -> None:
    """Both ways of python -m are the console script."""
    result = _process("-m", module, "version")
    assert result.returncode == 0
    assert result.stdout.startswith("ansible-operator version: ")


def _failed_run(cwd: Path, *args: str, **environ: str) -> list[dict[str, Any]]:
    """The log of a run that cannot start, every line parsed."""
    result = _process("-m", "ansible_operator", "run", *args, cwd=cwd, **environ)
    assert result.returncode == 1, result.stderr
    assert result.stdout == ""
    return [json.loads(line) for line in result.stderr.splitlines()]


def test_run_without_a_watches_file(tmp_path: Path) -> None:
    """One line of log names the file and the flag; exit code 1."""
    (line,) = _failed_run(tmp_path)
    assert (line["level"], line["logger"], line["msg"]) == ("error", "cmd", "cannot start")
    assert line["error"].startswith("watches.yaml: cannot be read: No such file")
    assert "--watches-file" in line["error"]


def test_run_with_a_wrong_watches_file(tmp_path: Path) -> None:
    """File, line, entry, key and the way out are in the error."""
    (tmp_path / "w.yaml").write_text("- version: v1\n  kind: App\n  role: none\n")
    (line,) = _failed_run(tmp_path, "--watches-file=w.yaml")
    assert line["error"].startswith('w.yaml:3: entry 1: role: there is no role "none"; tried ')


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["--metrics-addr=:1", "--metrics-bind-address=:2"], "--metrics-addr and --metrics-bind"),
        (["--zap-log-level=loud"], '--zap-log-level: "loud" is not a level'),
    ],
)
def test_run_with_flags_that_do_not_fit(tmp_path: Path, args: list[str], text: str) -> None:
    """Combinations that the incumbent refuses are refused, exit code 1."""
    (line,) = _failed_run(tmp_path, *args)
    assert line["error"].startswith(text)


def test_run_with_the_console_encoder(tmp_path: Path) -> None:
    """The error comes in the format that was asked for."""
    result = _process("-m", "ansible_operator", "run", "--zap-encoder=console", cwd=tmp_path)
    assert result.returncode == 1
    assert "cannot start" in result.stderr
    assert not result.stderr.startswith("{")


def test_run_on_a_terminal(tmp_path: Path) -> None:
    """On a terminal the log has the console format, unless a flag says otherwise."""
    for args, start in (([], b"\x1b["), (["--zap-encoder=json"], b"{")):
        ours, theirs = pty.openpty()
        try:
            subprocess.run(
                [sys.executable, "-m", "ansible_operator", "run", *args],
                stderr=theirs,
                check=False,
                cwd=tmp_path,
                timeout=120,
            )
            assert os.read(ours, 4096).startswith(start)
        finally:
            os.close(ours)
            os.close(theirs)


def test_flags_reach_the_expansion_and_the_search(tmp_path: Path) -> None:
    """--ansible-roles-path replaces the variable, for the search and inside the file."""
    (tmp_path / "watches.yaml").write_text(
        "- {version: v1, kind: A, role: x}\n- {version: v1, kind: B, role: $ANSIBLE_ROLES_PATH}\n"
    )
    (line,) = _failed_run(tmp_path, "--ansible-roles-path=/flag", ANSIBLE_ROLES_PATH="/env")
    assert "tried /flag/x, /flag/roles/x" in line["error"]
    assert 'there is no role "/flag"' in line["error"]
    assert "/env" not in line["error"]


def test_completion_completes() -> None:
    """The console script answers the shell's question for flags."""
    result = _process(
        "-m",
        "ansible_operator",
        _ANSIBLE_OPERATOR_COMPLETE="bash_complete",
        COMP_WORDS="ansible-operator run --watches",
        COMP_CWORD="2",
    )
    assert result.stdout.split() == ["plain,--watches-file"]
