"""Keys, tokens and kubeconfig files of a control plane."""

from __future__ import annotations

import base64
import csv
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ansible_operator.testing import credentials


def test_signing_key_is_a_p256_key() -> None:
    """What is framed by hand is read as a P-256 private key, and each is different."""
    keys = [
        serialization.load_pem_private_key(credentials.signing_key().encode(), password=None)
        for _ in range(3)
    ]
    numbers = set()
    for key in keys:
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        assert key.curve.name == "secp256r1"
        numbers.add(key.private_numbers().private_value)
    assert len(numbers) == 3


def test_token_file_has_one_line_per_user_with_its_groups() -> None:
    """Token, user, id, groups: the columns of kube-apiserver's static token file."""
    issued = credentials.tokens()
    rows = list(csv.reader(credentials.token_file(issued).splitlines()))
    assert [row[1] for row in rows] == list(credentials.USERS)
    assert rows[0] == [issued["admin"], "admin", "admin", "system:masters"]
    assert len({row[0] for row in rows}) == len(rows)


def test_kubeconfig_holds_authority_token_and_namespace() -> None:
    """A kubeconfig is valid YAML, verifies the server and carries the token."""
    text = credentials.render("https://127.0.0.1:1", "PEM", "secret", "somewhere")
    loaded = yaml.safe_load(text)
    [cluster] = loaded["clusters"]
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"PEM"
    assert "insecure-skip-tls-verify" not in cluster["cluster"]
    assert loaded["users"][0]["user"] == {"token": "secret"}
    [context] = loaded["contexts"]
    assert context["name"] == loaded["current-context"]
    assert context["context"]["namespace"] == "somewhere"


def test_kubeconfig_names_no_namespace_unless_told() -> None:
    """Without a namespace the context has none."""
    loaded = yaml.safe_load(credentials.render("https://127.0.0.1:1", "PEM", "secret"))
    assert "namespace" not in loaded["contexts"][0]["context"]


def test_token_of_reads_back_what_was_rendered(tmp_path: Path) -> None:
    """The token of a rendered file is found; of anything else it is empty."""
    path = tmp_path / "kubeconfig"
    assert credentials.token_of(path) == ""
    path.write_text("users: []")
    assert credentials.token_of(path) == ""
    path.write_text(credentials.render("https://127.0.0.1:1", "PEM", "secret"))
    assert credentials.token_of(path) == "secret"


def test_private_file_is_for_its_owner_even_if_it_was_open_before(tmp_path: Path) -> None:
    """Written files are 0600, also when a readable file was there, and nothing else is left."""
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)
    credentials.write_private(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_authority_is_the_last_certificate_of_the_chain() -> None:
    """The serving certificate comes first, the one that signed it last."""
    one, two = (
        f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n" for body in "ab"
    )
    assert credentials.authority(one + two) == two
    assert credentials.authority(two) == two
