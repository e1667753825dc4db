"""The kubeconfig that a run gets: it leads to the API proxy and names no namespace."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import yaml


def for_proxy(url: str, authority: str, token: str) -> str:
    """The kubeconfig that leads to the API proxy, as text; ``authority`` is PEM.

    The URL has nothing of the run in it, so that what clients keep by URL serves all runs.
    """
    data = base64.b64encode(authority.encode()).decode()
    cluster = {"server": url, "certificate-authority-data": data}
    text: str = yaml.safe_dump(document(cluster, {"token": token}), sort_keys=False)
    return text


def document(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> dict[str, Any]:
    """A kubeconfig with one cluster, one user and one context, all named ``operator``."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "operator", "cluster": dict(cluster)}],
        "users": [{"name": "operator", "user": dict(user)}],
        "contexts": [{"name": "operator", "context": {"cluster": "operator", "user": "operator"}}],
        "current-context": "operator",
    }
