"""Start operators in a test by naming a watches file; all of them end with the test."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ansible_operator.testing import operator

# Gathering facts about the machine that runs the operator costs seconds and tells a role nothing.
ENVIRONMENT = {"ANSIBLE_GATHERING": "explicit"}


class Launcher:
    """The fixture ``run_operator``: each call starts an operator and returns it.

    ``started`` are all operators that it started, in order; they end with ``stack``.
    """

    def __init__(
        self, kubeconfig: Path, root: Path, scratch: Path, stack: contextlib.ExitStack
    ) -> None:
        self.started: list[operator.Operator] = []
        self._kubeconfig = kubeconfig
        self._root = root
        self._scratch = scratch
        self._stack = stack

    def __call__(
        self,
        *arguments: str,
        watches: Path | str | Sequence[Mapping[str, Any]] = "watches.yaml",
        project: Path | str = "",
        namespace: str = "",
        env: Mapping[str, str] | None = None,
        kubeconfig: Path | None = None,
    ) -> operator.Operator:
        """Run ``ansible-operator run ARGUMENTS``; it ends with the test.

        ``watches`` is a file, or its content as Python lists and maps; ``project`` the directory
        in which the operator runs, by default that of the file, else pytest's root directory, to
        which both are relative. ``namespace`` limits the operator to a namespace, ``env`` adds to
        its environment, another ``kubeconfig`` gives it other rights than the administrator's.
        """
        number = len(self.started)
        runner_dir = self._scratch / f"runner-{number}"
        runner_dir.mkdir(mode=0o700)
        if not isinstance(watches, str | Path):
            file, directory = self._written(watches, number), self._root / project
        else:
            file = self._root / project / watches
            directory = self._root / project if project else file.parent
        told = [f"--watches-file={file}", f"--runner-dir={runner_dir}"]
        own = {**ENVIRONMENT, "WATCH_NAMESPACE": namespace, **(env or {})}
        running = operator.run_operator(
            directory, kubeconfig or self._kubeconfig, *told, *arguments, env=own
        )
        self.started.append(self._stack.enter_context(running))
        return self.started[-1]

    def _written(self, watches: Sequence[Mapping[str, Any]], number: int) -> Path:
        path = self._scratch / f"watches-{number}.yaml"
        path.write_text(yaml.safe_dump([dict(watch) for watch in watches]), "utf-8")
        return path
