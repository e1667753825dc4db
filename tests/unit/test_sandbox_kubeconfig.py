"""The kubeconfig of a sandbox, and which files it may be written to."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from ansible_operator.sandbox.front import kubeconfig
from ansible_operator.testing import credentials

CONTENT = kubeconfig.render("https://127.0.0.1:1", "PEM", {"admin": "t", "bob": "u"})


def test_a_context_for_each_user() -> None:
    """The administrator's is the current one, the others have their users' names."""
    found = json.loads(CONTENT)
    assert found["current-context"] == "ansible-operator-sandbox"
    assert [context["name"] for context in found["contexts"]] == ["ansible-operator-sandbox", "bob"]
    assert [user["user"]["token"] for user in found["users"]] == ["t", "u"]
    (cluster,) = found["clusters"]
    encoded = base64.b64encode(b"PEM").decode()
    assert cluster["cluster"] == {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": encoded,
    }


def test_plain_http_has_no_authority() -> None:
    """There is nothing to trust."""
    found = json.loads(kubeconfig.render("http://127.0.0.1:1", "", {"admin": "t"}))
    assert found["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:1"}


def test_tests_find_the_administrators_token(tmp_path: Path) -> None:
    """The control plane of tests reads it."""
    kubeconfig.write(tmp_path / "k", CONTENT)
    assert credentials.token_of(tmp_path / "k") == "t"


def test_it_is_private_and_goes_away(tmp_path: Path) -> None:
    """Only its owner reads it, and what somebody else wrote since stays."""
    path = tmp_path / "k"
    kubeconfig.write(path, CONTENT)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("other")
    kubeconfig.remove(path, CONTENT)
    assert path.read_text() == "other"
    kubeconfig.write(path, CONTENT)
    kubeconfig.remove(path, CONTENT)
    kubeconfig.remove(path, CONTENT)
    assert list(tmp_path.iterdir()) == []


def test_which_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New ones and those of a sandbox; never the default, nor one with other clusters."""
    monkeypatch.setenv("HOME", str(tmp_path))
    default = tmp_path / ".kube" / "config"
    default.parent.mkdir()
    assert "yours" in kubeconfig.refusal(default)
    (tmp_path / "link").symlink_to(default)
    assert "yours" in kubeconfig.refusal(tmp_path / "link")
    assert "no directory" in kubeconfig.refusal(tmp_path / "a" / "b")
    path = tmp_path / "k"
    assert kubeconfig.refusal(path) == ""
    path.write_text(CONTENT)
    assert kubeconfig.refusal(path) == ""
    merged = json.loads(CONTENT)
    merged["clusters"].append({"name": "production"})
    for text in ("", "apiVersion: v1\n", "[]", json.dumps(merged)):
        path.write_text(text)
        assert "not overwritten" in kubeconfig.refusal(path)
    assert "not overwritten" in kubeconfig.refusal(tmp_path)
