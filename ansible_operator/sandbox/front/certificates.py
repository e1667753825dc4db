"""The sandbox's own certificate authority: made at its start, for loopback, kept nowhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ansible_operator import certificates

ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")
NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
LIFE = timedelta(days=30)


def issue(address: str = "127.0.0.1") -> certificates.Issued:
    """A fresh authority and a server certificate for ``address`` and all names of loopback."""
    listed = dict.fromkeys((*ADDRESSES, address) if address != "localhost" else ADDRESSES)
    order = certificates.Order("ansible-operator-sandbox", NAMES, tuple(listed), LIFE)
    return certificates.issue(order, datetime.now(UTC))
