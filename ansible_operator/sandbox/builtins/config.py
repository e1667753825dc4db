"""The words of builtin.yaml that are about config maps, secrets and namespaces."""

from __future__ import annotations

import base64
import json

from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.builtins.fields import Field

_LIMIT = 2**20
_WHEN_SET = "field is immutable when `immutable` is set"
_ACCOUNT = "kubernetes.io/service-account.name"
_NEEDED = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}


def config_map(field: Field) -> None:
    """The keys and the size of a config map."""
    data, binary = field.get("data") or {}, field.get("binaryData") or {}
    for entry in field.at("data").entries():
        entry.obeys(names.config_key, entry.key)
        if entry.key in binary:
            entry.invalid("duplicate of key present in binaryData", entry.key)
    for entry in field.at("binaryData").entries():
        entry.obeys(names.config_key, entry.key)
    size = sum(len(text.encode()) for text in data.values())
    if size + sum(map(_decoded_size, binary.values())) > _LIMIT:
        Field(None, key="[]", causes=field.causes).too_long(_LIMIT)


def _decoded_size(text: str | None) -> int:
    return len(text or "") * 3 // 4 - (text or "")[-2:].count("=")


def secret(field: Field) -> None:
    """The keys and the size of a secret, and what those of its type need."""
    data = field.get("data") or {}
    for entry in field.at("data").entries():
        entry.obeys(names.config_key, entry.key)
    if sum(map(_decoded_size, data.values())) > _LIMIT:
        field.at("data").too_long(_LIMIT)
    kind = field.get("type")
    for key in _NEEDED.get(kind, ()):
        # An empty certificate will do, an empty key of a host will not.
        if key not in data or (kind == "kubernetes.io/ssh-auth" and not data[key]):
            _missing(field, key)
        elif kind.startswith("kubernetes.io/dockerc"):
            _docker(field.at("data").entry(key))
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        _missing(field, "username")
        _missing(field, "password")
    annotations = field.at("metadata", "annotations")
    if kind == "kubernetes.io/service-account-token" and not (annotations.value or {}).get(
        _ACCOUNT
    ):
        Field(None, None, annotations, f"[{_ACCOUNT}]", field.causes).required()


def _missing(field: Field, key: str) -> None:
    Field(None, None, field.at("data"), f"[{key}]", field.causes).required()


def _docker(field: Field) -> None:
    text = base64.b64decode(field.value or "")
    try:
        json.loads(text)
    except ValueError as wrong:
        field.invalid(str(wrong), "<secret contents redacted>")


def fixed_data(field: Field) -> None:
    """What was called immutable stays, and stays immutable."""
    if not field.old.get("immutable"):
        return
    if not field.get("immutable"):
        field.at("immutable").forbidden(_WHEN_SET)
    for name in ("data", "binaryData"):
        if (field.get(name) or {}) != (field.old.get(name) or {}):
            field.at(name).forbidden(_WHEN_SET)


def finalizer(field: Field) -> None:
    """What holds a namespace."""
    if field.value != "kubernetes" and "/" not in field.value:
        told = "name is neither a standard finalizer name nor is it fully qualified"
        field.above.invalid(told, field.value)
    else:
        field.above.obeys(names.qualified, field.value)
