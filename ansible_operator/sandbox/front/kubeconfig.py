"""The kubeconfig of a sandbox: one context for each user, written only where it was asked for."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARK = "ansible-operator-sandbox"
"""The name of the cluster, and of the administrator's context; what marks a file as ours."""


def render(server: str, ca: str, tokens: Mapping[str, str]) -> str:
    """A kubeconfig with the users' tokens by name; the first is the administrator's.

    It is JSON, which is YAML too. ``ca`` is empty for plain HTTP.
    """
    cluster: dict[str, Any] = {"server": server}
    if ca:
        cluster["certificate-authority-data"] = base64.b64encode(ca.encode()).decode()
    names = {user: user if number else MARK for number, user in enumerate(tokens)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": MARK,
        "clusters": [{"name": MARK, "cluster": cluster}],
        "users": [{"name": names[u], "user": {"token": token}} for u, token in tokens.items()],
        "contexts": [
            {"name": name, "context": {"cluster": MARK, "user": name}} for name in names.values()
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def refusal(path: Path) -> str:
    """Why a kubeconfig is not written to this file; empty if it may be.

    The user's own are never touched: the default one, and every file that no sandbox wrote.
    """
    if path.resolve() == (Path.home() / ".kube" / "config").resolve():
        return "this is kubectl's default, which is yours; name another file"
    if not path.parent.is_dir():
        return f"there is no directory {path.parent}; make it first"
    if not path.exists() or _ours(path):
        return ""
    return "this exists and no sandbox wrote it; it is not overwritten. Name another file"


def _ours(path: Path) -> bool:
    """Whether a sandbox wrote a file, and nobody added a cluster of their own."""
    try:
        clusters = json.loads(path.read_text("utf-8"))["clusters"]
        return {cluster["name"] for cluster in clusters} == {MARK}
    except (OSError, ValueError, LookupError, TypeError):
        return False


def write(path: Path, content: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(content)
    os.replace(scratch, path)


def remove(path: Path, content: str) -> None:
    """Remove what was written, unless something else is there by now."""
    try:
        if path.read_text("utf-8") == content:
            path.unlink()
    except (OSError, ValueError):
        return
