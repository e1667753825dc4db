"""The proxy's certificate."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from ansible_operator import certificates
from ansible_operator.kube.proxy import certificate

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def handshake(name: str, issued: certificates.Issued) -> str | None:
    """Shake hands in memory as a strict client that wants ``name``; the protocol agreed on."""
    client = ssl.create_default_context(cadata=issued.authority)
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    client.set_alpn_protocols(["h2", "http/1.1"])
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=name)
    theirs = certificate.context(issued).wrap_bio(to_server, to_client, server_side=True)
    for side in (ours, theirs, ours, theirs):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return ours.selected_alpn_protocol()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_clients_trust_it_for_all_names_of_loopback(name: str) -> None:
    """By name and by address, with the strict rules of newer Pythons; HTTP/2 is not offered."""
    assert handshake(name, certificate.issue(datetime.now(UTC))) == "http/1.1"


def test_it_is_for_nothing_else() -> None:
    """Another name is refused, and so is the certificate of another start."""
    issued = certificate.issue(datetime.now(UTC))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake("example.com", issued)
    other = certificate.issue(datetime.now(UTC))
    mixed = certificates.Issued(other.authority, issued.certificate, issued.key)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake("localhost", mixed)


def test_it_outlives_the_process() -> None:
    """Ten years, and valid from the day before in case the clock is set back."""
    found = x509.load_pem_x509_certificate(certificate.issue(NOW).certificate.encode())
    assert found.not_valid_after_utc - NOW == timedelta(days=3650)
    assert NOW - found.not_valid_before_utc == timedelta(days=1)
