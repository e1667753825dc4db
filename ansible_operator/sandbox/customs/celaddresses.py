"""What the functions of cel.yaml do about URLs and addresses, which are texts here.

A function that cannot answer raises ValueError with the words of the API server.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any
from urllib import parse

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def readable(read: Callable[..., Any]) -> Callable[..., bool]:
    """The question whether ``read`` can read its arguments."""

    def can(*given: Any) -> bool:
        try:
            read(*given)
        except ValueError:
            return False
        return True

    return can


def _url(text: str) -> str:
    try:
        found = parse.urlsplit(text)
        valid = bool(found.scheme or text.startswith("/")) and not re.search(r"[\s\x7f]", text)
        _ = found.port
    except ValueError:
        valid = False
    if not valid:
        told = "URL parse error during conversion from string: parse"
        raise ValueError(f'{told} "{text}": invalid URI for request')
    return text


def _host(url: str) -> str:
    return parse.urlsplit(url).netloc.rpartition("@")[2]


def _query(url: str) -> dict[str, list[str]]:
    return parse.parse_qs(parse.urlsplit(url).query, keep_blank_values=True)


def _address(text: str) -> Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        told = "IP Address parse error during conversion from string: ParseAddr"
        raise ValueError(f'IP Address "{text}" {told[11:]}("{text}"): unable to parse IP') from None
    if getattr(found, "ipv4_mapped", None) or getattr(found, "scope_id", None):
        raise ValueError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return found


def _network(text: str) -> Network:
    try:
        if "/" not in text or not text.rpartition("/")[2].isdigit():
            raise ValueError(text)
        return ipaddress.ip_interface(text)
    except ValueError:
        told = "network address parse error during conversion from string: netip.ParsePrefix"
        raise ValueError(f'{told}("{text}")') from None


def _contains(cidr: str, other: str) -> bool:
    outer = _network(cidr).network
    inner = _network(other).network if "/" in other else ipaddress.ip_network(_address(other))
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def _asks(prop: str) -> Callable[[str], bool]:
    return lambda value: bool(getattr(_address(value), prop))


def _global_unicast(value: str) -> bool:
    found = _address(value)
    other = found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local
    return not other and str(found) != "255.255.255.255"


def _link_local_multicast(value: str) -> bool:
    found = _address(value)
    if isinstance(found, ipaddress.IPv4Address):
        return found in ipaddress.ip_network("224.0.0.0/24")
    return found.is_multicast and found.packed[1] & 0x0F == 0x02


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "url": _url,
    "isURL": readable(_url),
    "getScheme": lambda url: parse.urlsplit(url).scheme,
    "getHost": _host,
    "getHostname": lambda url: re.sub(r":\d*$", "", _host(url)).strip("[]"),
    "getPort": lambda url: str(parse.urlsplit(url).port or ""),
    "getEscapedPath": lambda url: parse.urlsplit(url).path,
    "getQuery": _query,
    "ip": lambda text: str(_network(text).ip if "/" in text else _address(text)),
    "isIP": readable(_address),
    "ip.isCanonical": lambda text: str(_address(text)) == text,
    "family": lambda value: _address(value).version,
    "isUnspecified": _asks("is_unspecified"),
    "isLoopback": _asks("is_loopback"),
    "isLinkLocalMulticast": _link_local_multicast,
    "isLinkLocalUnicast": _asks("is_link_local"),
    "isGlobalUnicast": _global_unicast,
    "cidr": lambda text: str(_network(text)),
    "isCIDR": readable(_network),
    "containsIP": _contains,
    "containsCIDR": _contains,
    "masked": lambda value: str(_network(value).network),
    "prefixLength": lambda value: _network(value).network.prefixlen,
}
