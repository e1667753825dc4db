"""What pyproject.toml cannot say: a .pth file, by which Ansible finds the bundled collection.

Ansible looks for ``ansible_collections`` in its configured paths first and then in Python's own, so
with it the collection needs no configuration, and a copy that a user has installed still wins.
"""

from __future__ import annotations

import os

from setuptools import setup
from setuptools.command.build_py import build_py

PTH = "ansible_operator_collections.pth"


class BuildPy(build_py):
    """Puts the file beside the package. An editable install cannot have it: see scripts/venv."""

    def run(self) -> None:
        """Build, then copy the file."""
        super().run()
        if not self.editable_mode:
            self.copy_file(PTH, self._target, preserve_mode=False)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """The package's files and this one."""
        found: list[str] = super().get_outputs(include_bytecode)
        return found if self.editable_mode else [*found, self._target]

    @property
    def _target(self) -> str:
        return os.path.join(self.build_lib, PTH)


setup(cmdclass={"build_py": BuildPy})
