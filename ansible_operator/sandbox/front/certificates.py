"""The sandbox's own certificate authority: made at its start, for loopback, kept nowhere."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")
NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
LIFE = timedelta(days=30)
_SIGNING = dict.fromkeys(
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
class Served:
    """An authority's certificate, and the server's certificate with its key; all in PEM."""

    authority: str
    certificate: str
    key: str


def issue(address: str = "127.0.0.1") -> Served:
    """A fresh authority and a server certificate for ``address`` and all names of loopback.

    The authority's key is thrown away: nothing else is ever signed with it.
    """
    own, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _authority(own)
    certificate = _server(key, own, authority, address)
    pem = serialization.Encoding.PEM
    written = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Served(
        authority.public_bytes(pem).decode(),
        certificate.public_bytes(pem).decode(),
        written.decode(),
    )


def _authority(own: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name("ansible-operator-sandbox-ca")
    public = own.public_key()
    usage = x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **_SIGNING)
    return (
        _dated(x509.CertificateBuilder(name, name, public))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(own, hashes.SHA256())
    )


def _server(
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    address: str,
) -> x509.Certificate:
    listed = dict.fromkeys((*ADDRESSES, address) if address != "localhost" else ADDRESSES)
    addresses = [x509.IPAddress(ipaddress.ip_address(found)) for found in listed]
    names = x509.SubjectAlternativeName([*map(x509.DNSName, NAMES), *addresses])
    usage = x509.KeyUsage(digital_signature=True, key_cert_sign=False, crl_sign=False, **_SIGNING)
    known_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    subject = _name("ansible-operator-sandbox")
    return (
        _dated(x509.CertificateBuilder(authority.subject, subject, key.public_key()))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(known_by, critical=False)
        .sign(signer, hashes.SHA256())
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _dated(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks differ
        .not_valid_after(now + LIFE)
    )
