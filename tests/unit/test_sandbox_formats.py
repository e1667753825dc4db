"""Tests of ansible_operator.sandbox.formats."""

from __future__ import annotations

import pytest

from ansible_operator.sandbox.schemas import formats

MAC = "00:00:5e:00:53:01"
UUID = "12345678-1234-4234-8234-123456789012"


@pytest.mark.parametrize(
    ("form", "fitting", "other"),
    [
        ("bsonobjectid", ("5" * 24,), ("5",)),
        ("byte", ("YQ==",), ("YQ", "", "!")),
        ("cidr", ("10.0.0.1/8", "::/0", "010.0.0.0/8"), ("10.0.0.0", "10.0.0.0/33", "x/8")),
        ("creditcard", ("4111 1111 1111 1111",), ("4111",)),
        ("date", ("2020-02-29",), ("2021-02-29", "2020-1-1")),
        (
            "date-time",
            ("2020-01-01T00:00:00Z", "2020-01-01t23:59:59.5+01:00"),
            ("2020-01-01T24:00:00Z", "2020-01-01T00:00:00", "2020-01-01"),
        ),
        ("duration", ("1h30m", "-1.5s", "22 ns", "3 days", "0"), ("x", "1", "")),
        ("email", ("a@b", "A <a@b.c>"), ("x", "a@", "@b")),
        ("hexcolor", ("#fff", "A0B1C2"), ("x", "#ffff")),
        ("hostname", ("a", "a.example", "ä.example"), ("-a", "a_b", "a." + "b" * 64)),
        ("ipv4", ("1.2.3.4", "01.2.3.4"), ("1.2.3", "::1", "1.2.3.256")),
        ("ipv6", ("::1", "::ffff:1.2.3.4"), ("1.2.3.4", ":::")),
        ("isbn", ("978-0321751041", "0321751043"), ("1",)),
        ("isbn10", ("032175104X",), ("9780321751041",)),
        ("isbn13", ("9780321751041",), ("0321751043",)),
        ("k8s-long-name", ("a.b-c",), ("A", "a..b", "a" * 254)),
        ("k8s-short-name", ("a-b",), ("a.b", "-a", "a" * 64)),
        ("mac", (MAC, MAC.replace(":", "-"), f"{MAC}:02:03", "0123.4567.89ab"), ("x", MAC[:-3])),
        ("password", ("anything", ""), ()),
        ("rgbcolor", ("rgb(1, 20,255)",), ("rgb(1,2)", "rgb(1,2,256)")),
        ("ssn", ("123-45-6789",), ("123456789",)),
        ("uri", ("http://a", "/x", "mailto:a"), ("x", "a b", "http://[")),
        ("uuid", (UUID, UUID.replace("-", "").upper()), ("x",)),
        ("uuid3", (UUID.replace("-4", "-3"),), (UUID,)),
        ("uuid4", (UUID,), (UUID.replace("-4", "-3"), UUID.replace("-8", "-0"))),
        ("uuid5", (UUID.replace("-4", "-5"),), (UUID,)),
        ("unheard-of", ("anything",), ()),
    ],
)
def test_formats(form: str, fitting: tuple[str, ...], other: tuple[str, ...]) -> None:
    """What the server lets through, and what it does not."""
    assert [text for text in fitting if not formats.fits(form, text)] == []
    assert [text for text in other if formats.fits(form, text)] == []


def test_formats_belong_to_types() -> None:
    """A format that the server does not know for a type is none."""
    assert formats.known("string", "date-time") == "date-time"
    assert formats.known("string", "int32") == ""
    assert formats.known("integer", "int32") == "int32"
    assert formats.known("integer", "double") == ""
    assert formats.known("boolean", "uuid") == ""
    assert formats.known("", "uuid") == "uuid"
