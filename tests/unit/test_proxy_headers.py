"""Which headers the proxy passes on."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from ansible_operator.kube.proxy import headers


def came(*pairs: tuple[str, str]) -> CIMultiDictProxy[str]:
    """Headers as they were received."""
    return CIMultiDictProxy(CIMultiDict(pairs))


def test_what_belongs_to_the_connection_ends_here() -> None:
    """Hop-by-hop headers, and those that Connection names, in both directions."""
    got = came(
        ("Connection", "close, X-Private"),
        ("X-Private", "1"),
        ("Keep-Alive", "5"),
        ("Transfer-Encoding", "chunked"),
        ("TE", "trailers"),
        ("Proxy-Authorization", "x"),
        ("Accept", "a"),
        ("Accept", "b"),
    )
    for kept in (headers.forwarded(got), headers.returned(got)):
        assert list(kept.items()) == [("Accept", "a"), ("Accept", "b")]


def test_identity_is_the_operators() -> None:
    """The run's own token and what front proxies say goes; impersonation needs rights and stays."""
    got = came(
        ("Authorization", "Bearer run"),
        ("X-Remote-User", "admin"),
        ("X-Remote-Extra-Foo", "x"),
        ("Host", "localhost"),
        ("Impersonate-User", "jane"),
        ("User-Agent", "kubectl"),
    )
    assert dict(headers.forwarded(got)) == {"Impersonate-User": "jane", "User-Agent": "kubectl"}


def test_a_changed_answer_keeps_what_was_not_changed() -> None:
    """Headers that come several times stay several unless somebody changed them."""
    kept = CIMultiDict([("Warning", "a"), ("Warning", "b"), ("X-Old", "1"), ("Etag", "e")])
    before = headers.lowered(CIMultiDictProxy(kept))
    assert before["warning"] == "a, b"
    after = {key: value for key, value in before.items() if key != "x-old"} | {"etag": "f"}
    made = headers.changed(kept, before, after)
    assert sorted(made.items()) == [("Warning", "a"), ("Warning", "b"), ("etag", "f")]


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8888", "127.0.0.1:1", "127.1.2.3", "[::1]:8888", "LOCALHOST"],
)
def test_hosts_of_this_machine(host: str) -> None:
    """Loopback by name or address, with or without a port."""
    assert headers.is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "example.com", "localhost.example.com", "10.0.0.1", "[::1", "127.0.0.1.nip.io"]
)
def test_hosts_of_elsewhere(host: str) -> None:
    """Names that a page was made to have (DNS rebinding), and nonsense."""
    assert not headers.is_loopback(host)


def test_tokens() -> None:
    """Bearer in any case; other schemes have none."""
    assert headers.bearer("Bearer a.b") == "a.b"
    assert headers.bearer("bearer  a ") == "a"
    assert headers.bearer("Basic dTpw") is None
    assert headers.bearer("") is None


def test_upgrades() -> None:
    """Both headers together ask for one; h2c, which some clients always offer, is none."""
    assert headers.upgrade(came(("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"))) == "SPDY/3.1"
    both = came(("Connection", "keep-alive, upgrade"), ("Upgrade", "websocket"))
    assert headers.upgrade(both) == "websocket"
    assert headers.upgrade(came(("Upgrade", "websocket"))) == ""
    assert headers.upgrade(came(("Connection", "Upgrade"), ("Upgrade", "h2c"))) == ""
