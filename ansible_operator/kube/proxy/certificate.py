"""The proxy's certificate: made at its start, for loopback only, kept nowhere.

Clients built on client-go send no bearer token over plain HTTP, so the proxy speaks TLS.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

from ansible_operator import certificates

ORDER = certificates.Order(
    "ansible-operator-proxy",
    names=("localhost",),
    addresses=("127.0.0.1", "::1"),
    life=timedelta(days=3650),  # longer than any operator runs without a restart
)


def issue(now: datetime) -> certificates.Issued:
    """A fresh authority, and a certificate of it for all names of loopback."""
    return certificates.issue(ORDER, now)


def context(issued: certificates.Issued) -> ssl.SSLContext:
    """What the listening side needs; HTTP/1.1 only, as upgrades need it."""
    made = certificates.context(issued)
    made.set_alpn_protocols(["http/1.1"])
    return made


def now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)
