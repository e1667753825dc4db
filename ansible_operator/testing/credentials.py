"""Identities of a control plane: the signing key of service accounts, tokens, kubeconfig files."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MARK = "ansible-operator-control-plane"
"""The name of cluster, user and context in every kubeconfig written here."""

# SEC 1 (RFC 5915) encoding of a P-256 private key: everything around its 32 bytes is constant.
_EC_HEAD = bytes.fromhex("303102010104 20".replace(" ", ""))
_EC_CURVE = bytes.fromhex("a00a06082a8648ce3d030107")
_EC_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

ADMIN = "admin"
USERS: Mapping[str, Sequence[str]] = {
    ADMIN: ("system:masters",),
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
    "kwok": ("system:masters",),
}
"""The users of a control plane and their groups."""


def signing_key() -> str:
    """A fresh ECDSA P-256 key as PEM, for service account tokens (ES256).

    An elliptic key rather than RSA because it is one random number in a constant frame: neither
    openssl nor a package is needed to make it. The servers derive the public key themselves.
    """
    number = secrets.randbelow(_EC_ORDER - 1) + 1
    der = _EC_HEAD + number.to_bytes(32, "big") + _EC_CURVE
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n"


def tokens() -> dict[str, str]:
    """A fresh bearer token for each user."""
    return {user: secrets.token_urlsafe(32) for user in USERS}


def token_file(issued: Mapping[str, str]) -> str:
    """The content of kube-apiserver's ``--token-auth-file``."""
    lines = []
    for user, token in issued.items():
        groups = ",".join(USERS[user])
        lines.append(f'{token},{user},{user},"{groups}"\n')
    return "".join(lines)


def authority(chain: str) -> str:
    """The last certificate of a PEM chain: the authority that signed the ones before it."""
    begin = "-----BEGIN CERTIFICATE-----"
    return begin + chain.rpartition(begin)[2]


def render(server: str, ca: str, token: str, namespace: str = "") -> str:
    """A kubeconfig with the server's certificate authority and a bearer token.

    It is JSON, which is YAML too: it can be written and read without a YAML library.
    """
    context: dict[str, Any] = {"cluster": MARK, "user": MARK}
    if namespace:
        context["namespace"] = namespace
    encoded = base64.b64encode(ca.encode()).decode()
    cluster = {"server": server, "certificate-authority-data": encoded}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": MARK,
        "clusters": [{"name": MARK, "cluster": cluster}],
        "users": [{"name": MARK, "user": {"token": token}}],
        "contexts": [{"name": MARK, "context": context}],
    }
    return json.dumps(document, indent=2) + "\n"


def token_of(kubeconfig: Path) -> str:
    """The bearer token in a file that ``render`` made; empty when there is no such file."""
    try:
        return str(json.loads(kubeconfig.read_text())["users"][0]["user"]["token"])
    except (OSError, ValueError, LookupError):
        return ""


def write_private(path: Path, content: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(content)
    os.replace(scratch, path)
