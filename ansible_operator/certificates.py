"""Certificates for servers on loopback: an authority made for one server, kept nowhere."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

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


@dataclass(frozen=True, slots=True)
class Order:
    """For whom: what the server is called, in certificates and by its clients, and how long."""

    common: str
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    life: timedelta


def issue(order: Order, now: datetime) -> Issued:
    """A fresh authority, and a certificate of it for the server.

    The authority's key is thrown away: nothing else is ever signed with it.
    """
    signer, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _authority(order, signer, now)
    certificate = _server(order, key, signer, authority, now)
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
    """What the listening side needs."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Python reads keys from files only; this one is ours alone and gone at once.
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(issued.key + issued.certificate + issued.authority)
        file.flush()
        made.load_cert_chain(file.name)
    return made


def _authority(order: Order, signer: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name, public = _name(f"{order.common}-ca"), signer.public_key()
    usage = x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **_UNUSED)
    return (
        _dated(x509.CertificateBuilder(name, name, public), order.life, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _server(
    order: Order,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    now: datetime,
) -> x509.Certificate:
    usage = x509.KeyUsage(digital_signature=True, key_cert_sign=False, crl_sign=False, **_UNUSED)
    # Python 3.13 refuses a certificate that does not say by which key it is signed.
    known_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = x509.CertificateBuilder(authority.subject, _name(order.common), key.public_key())
    return (
        _dated(builder, order.life, now)
        .add_extension(_names(order.names, order.addresses), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(known_by, critical=False)
        .sign(signer, hashes.SHA256())
    )


def _names(names: Iterable[str], addresses: Iterable[str]) -> x509.SubjectAlternativeName:
    found = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    return x509.SubjectAlternativeName([*map(x509.DNSName, names), *found])


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _dated(
    builder: x509.CertificateBuilder, life: timedelta, now: datetime
) -> x509.CertificateBuilder:
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # a clock that is set back must not matter
        .not_valid_after(now + life)
    )
