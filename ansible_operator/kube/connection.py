"""Where the API server is and who we are there, read the way the official client reads it.

Precedence, as the incumbent: the files that ``KUBECONFIG`` names, else the service account of the
pod, else ``$HOME/.kube/config``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from kubernetes import client, config
from kubernetes.client import rest
from kubernetes.config import incluster_config, kube_config

from ansible_operator import errors

SERVICE_ACCOUNT = Path(incluster_config.SERVICE_TOKEN_FILENAME).parent
_TOKEN = "BearerToken"  # noqa: S105 - the name of a slot in the official client, not a secret


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Kubeconfig files joined by the path separator, as the variable KUBECONFIG holds them."""

    paths: str

    def __str__(self) -> str:
        return f"kubeconfig {self.paths}"


@dataclass(frozen=True, slots=True)
class InCluster:
    """The service account of the pod that we run in."""

    host: str
    port: str
    directory: Path

    @property
    def token(self) -> Path:
        """The token file, which the kubelet rotates."""
        return self.directory / "token"

    @property
    def ca(self) -> Path:
        """The certificate authority of the API server."""
        return self.directory / "ca.crt"

    @property
    def server(self) -> str:
        """The URL of the API server; IPv6 addresses are bracketed."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"

    def __str__(self) -> str:
        return f"service account in {self.directory}"


Source: TypeAlias = Kubeconfig | InCluster


@dataclass(frozen=True, slots=True)
class Connection:
    """The facts that any HTTP client needs to reach the API server as we do.

    ``authorization`` is the value of that header, empty where a client certificate (or nothing)
    says who we are. ``proxy`` is None where the server is reached directly. Paths may name
    temporary files that live as long as this process.
    """

    server: str
    authorization: str = ""
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify: bool = True
    proxy: str | None = None
    tls_server_name: str | None = None


def locate(environ: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT) -> Source:
    """Decide which credentials count; raises ConfigError if there are none."""
    if paths := environ.get("KUBECONFIG", ""):
        return _existing(paths)
    inside = InCluster(
        environ.get("KUBERNETES_SERVICE_HOST", ""),
        environ.get("KUBERNETES_SERVICE_PORT", ""),
        service_account,
    )
    if inside.host and inside.port and inside.token.is_file() and inside.ca.is_file():
        return inside
    home = Path(environ.get("HOME", "/"), ".kube", "config")
    if home.is_file():
        return Kubeconfig(str(home))
    raise errors.ConfigError(
        f"no way to reach an API server: KUBECONFIG is not set, there is no service account in"
        f" {service_account}, and {home} does not exist. Set KUBECONFIG to a kubeconfig file"
    )


def load(source: Source, environ: Mapping[str, str]) -> client.Configuration:
    """Read the credentials anew; exec plugins run and token files are read here.

    Raises ConfigError if they cannot be used.
    """
    configuration = client.Configuration()
    try:
        match source:
            case InCluster():
                loader = incluster_config.InClusterConfigLoader(  # type: ignore[no-untyped-call]
                    token_filename=str(source.token),
                    cert_filename=str(source.ca),
                    environ=environ,
                )
                loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
            case Kubeconfig():
                config.load_kube_config(  # type: ignore[no-untyped-call]
                    config_file=source.paths, client_configuration=configuration
                )
    except Exception as exc:  # the official loader and its login plugins raise whatever they like
        raise errors.ConfigError(f"cannot use {source}: {exc}") from exc
    return configuration


def authorization(configuration: client.Configuration) -> str:
    """The Authorization header; the token of a service account is re-read once a minute.

    Stripped, because token files often end with a newline, which no header may hold. Raises
    ConfigError if what is to be read again cannot be used.
    """
    try:
        value = configuration.get_api_key_with_prefix(_TOKEN)
    except Exception as exc:  # the hook that reads again is the loader's or a login plugin's
        raise errors.ConfigError(f"cannot read the credentials again: {exc}") from exc
    header = value.strip() if isinstance(value, str) else ""
    if not (header.isascii() and header.isprintable()):
        raise errors.ConfigError(
            "the token holds a line break or a character outside ASCII, which no request may carry"
        )
    return header


def facts(configuration: client.Configuration) -> Connection:
    """The facts of a configuration for a client other than the official one.

    Raises ConfigError if its credentials cannot be used.
    """
    proxy = configuration.proxy
    if proxy and rest.should_bypass_proxies(configuration.host, configuration.no_proxy or ""):
        proxy = None
    return Connection(
        server=configuration.host,
        authorization=authorization(configuration),
        ca_file=configuration.ssl_ca_cert,
        cert_file=configuration.cert_file,
        key_file=configuration.key_file,
        verify=bool(configuration.verify_ssl),
        proxy=proxy or None,
        tls_server_name=configuration.tls_server_name or None,
    )


def _existing(paths: str) -> Kubeconfig:
    separator = kube_config.ENV_KUBECONFIG_PATH_SEPARATOR
    if not any(os.path.isfile(path) for path in paths.split(separator) if path):
        raise errors.ConfigError(
            f"KUBECONFIG names {paths}, which does not exist. Correct or unset the variable"
        )
    return Kubeconfig(paths)
