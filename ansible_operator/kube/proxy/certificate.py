"""The proxy's certificate: made at its start, for loopback only, kept nowhere.

Clients built on client-go send no bearer token over plain HTTP, so the proxy speaks TLS.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ADDRESSES = ("127.0.0.1", "::1")
NAME = "localhost"
LIFE = timedelta(days=3650)
"""Longer than any operator runs without a restart, which makes a new one."""

_UNUSED = dict.fromkeys(
    (
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "encipher_only",
        "decipher_only",
    ),
    False,
)


@dataclass(frozen=True, slots=True)
class Issued:
    """An authority's certificate, and the server's certificate with its key; all in PEM."""

    authority: str
    certificate: str
    key: str


def issue(now: datetime) -> Issued:
    """A fresh authority, and a certificate of it for all names of loopback.

    The authority's key is thrown away: nothing else is ever signed with it.
    """
    signer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _authority(signer, now)
    certificate = _server(key, signer, authority, now)
    pem = serialization.Encoding.PEM
    written = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Issued(
        authority.public_bytes(pem).decode(),
        certificate.public_bytes(pem).decode(),
        written.decode(),
    )


def context(issued: Issued) -> ssl.SSLContext:
    """What the listening side needs; HTTP/1.1 only, as upgrades need it."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Python reads keys from files only; this one is ours alone and gone at once.
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(issued.key + issued.certificate + issued.authority)
        file.flush()
        made.load_cert_chain(file.name)
    made.set_alpn_protocols(["http/1.1"])
    return made


def _authority(signer: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name, public = _name("ansible-operator-proxy-ca"), signer.public_key()
    usage = x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **_UNUSED)
    return (
        _dated(x509.CertificateBuilder(name, name, public), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    now: datetime,
) -> x509.Certificate:
    addresses = [x509.IPAddress(ipaddress.ip_address(found)) for found in ADDRESSES]
    names = x509.SubjectAlternativeName([x509.DNSName(NAME), *addresses])
    usage = x509.KeyUsage(digital_signature=True, key_cert_sign=False, crl_sign=False, **_UNUSED)
    # Python 3.13 refuses a certificate that does not say by which key it is signed.
    known_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    subject = _name("ansible-operator-proxy")
    return (
        _dated(x509.CertificateBuilder(authority.subject, subject, key.public_key()), now)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(known_by, critical=False)
        .sign(signer, hashes.SHA256())
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _dated(builder: x509.CertificateBuilder, now: datetime) -> x509.CertificateBuilder:
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # a clock that is set back must not matter
        .not_valid_after(now + LIFE)
    )


def now() -> datetime:
    """The time that certificates are dated by."""
    return datetime.now(UTC)
