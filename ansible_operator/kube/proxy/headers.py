"""Which headers go on, in either direction, and which end here."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from urllib import parse

from multidict import CIMultiDict, CIMultiDictProxy

LIMIT = 1 << 20
"""Bytes of a request's line and headers together, as Go's servers take."""

COUNT = 1000
"""Header lines of a message."""

_HOP = (
    "Connection",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
)
_OURS = ("Authorization", "Host", "Content-Length", "Expect")
_FRONT = ("x-remote-",)  # by which front proxies tell the API server who asks


def forwarded(came: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The headers of a request as the API server gets them, without those that we make.

    Those of impersonation go on: the operator needs rights for it, as everybody does.
    """
    kept = _without_hops(came)
    for name in _OURS:
        kept.popall(name, None)
    for name in [name for name in kept if name.lower().startswith(_FRONT)]:
        kept.popall(name, None)
    return kept


def returned(came: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The headers of an answer as the client gets them."""
    return _without_hops(came)


def lowered(came: CIMultiDictProxy[str]) -> dict[str, str]:
    """Headers by name in lower case; those that come several times joined, as RFC 9110 allows."""
    found: dict[str, str] = {}
    for name, value in came.items():
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def changed(
    kept: CIMultiDict[str], before: Mapping[str, str], after: Mapping[str, str]
) -> CIMultiDict[str]:
    """``kept`` with what was changed between two forms that :func:`lowered` gave."""
    made = kept.copy()
    for name in {*before, *after}:
        if before.get(name) != after.get(name):
            made.popall(name, None)
            if name in after:
                made[name] = after[name]
    return made


def upgrade(came: CIMultiDictProxy[str]) -> str:
    """The protocol that a client wants to change to, empty for none.

    ``h2c`` is none: some clients offer it with each plain request and go on without it as well.
    """
    wanted = came.get("Upgrade", "").strip()
    asked = "upgrade" in _tokens(came.getall("Connection", ()))
    return wanted if asked and wanted.lower() != "h2c" else ""


def size(raw: Iterable[tuple[bytes, bytes]]) -> int:
    """Bytes of headers on the wire."""
    return sum(len(name) + len(value) + 4 for name, value in raw)


def is_loopback(host: str) -> bool:
    """Whether a Host header names this machine.

    One that does not comes from a web page whose name was made to point here (DNS rebinding).
    """
    try:
        name = parse.urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def bearer(value: str) -> str | None:
    """The token of an Authorization header, None if it is of another scheme."""
    scheme, _, token = value.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _without_hops(came: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    kept = came.copy()
    for name in (*_tokens(came.getall("Connection", ())), *_HOP):
        kept.popall(name, None)
    return kept


def _tokens(values: Iterable[str]) -> list[str]:
    return [token.strip().lower() for value in values for token in value.split(",")]
