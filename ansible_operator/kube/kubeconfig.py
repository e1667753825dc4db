"""The kubeconfig that a run gets: the operator's own credentials, for the current context only."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes import config
from kubernetes.config import kube_config

from ansible_operator import errors, objects
from ansible_operator.kube import connection

_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def for_run(
    obj: objects.Obj,
    environ: Mapping[str, str],
    service_account: Path = connection.SERVICE_ACCOUNT,
) -> str:
    """The kubeconfig for a run on ``obj``, as text; whoever writes it, for nobody else to read.

    The context names no namespace, as the incumbent's: modules have no default namespace.
    Credentials are copied as they are configured, so token files and exec plugins keep working
    when they are renewed. ``obj`` does not matter yet; a kubeconfig per owner will need it.
    Raises ConfigError if there are no usable credentials.
    """
    match connection.locate(environ, service_account):
        case connection.InCluster() as inside:
            cluster, user = _in_cluster(inside)
        case connection.Kubeconfig(paths):
            cluster, user = _current(paths)
    text: str = yaml.safe_dump(document(cluster, user), sort_keys=False)
    return text


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


def absolute(section: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """A cluster or user section whose relative file names no longer depend on its place.

    An exec plugin's command is relative to the file if it contains a slash, as client-go reads it.
    """
    moved = dict(section)
    for key in _FILES:
        if moved.get(key):
            moved[key] = str(base / str(moved[key]))
    plugin = moved.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command") or ""):
        moved["exec"] = {**plugin, "command": str(base / str(plugin["command"]))}
    return moved


def _in_cluster(inside: connection.InCluster) -> tuple[dict[str, Any], dict[str, Any]]:
    return (
        {"server": inside.server, "certificate-authority": str(inside.ca)},
        {"tokenFile": str(inside.token)},
    )


def _current(paths: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        merged = kube_config.KubeConfigMerger(paths).config  # type: ignore[no-untyped-call]
        context = merged["contexts"].get_with_name(merged["current-context"])["context"]
        cluster = merged["clusters"].get_with_name(context["cluster"])
        name = context.safe_get("user")
        user = merged["users"].get_with_name(name, safe=True) if name else None
        return _section(cluster, "cluster"), _section(user, "user") if user else {}
    except (config.ConfigException, yaml.YAMLError, OSError, TypeError, AttributeError) as exc:
        raise errors.ConfigError(f"cannot use kubeconfig {paths}: {exc}") from exc


def _section(node: Any, key: str) -> dict[str, Any]:
    inner = node.safe_get(key)
    base = Path(os.path.abspath(node.path)).parent
    return absolute(inner.value if hasattr(inner, "value") else inner or {}, base)
