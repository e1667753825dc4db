"""The formats that texts of custom resources can be asked to have, as the API server checks them.

Of credit cards and ISBNs the digits are counted, the check digits are not looked at.
"""

from __future__ import annotations

import base64
import binascii
import functools
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

import re2

_HOST_LABEL = r"[a-zA-Z0-9\p{S}\p{L}]"
_HOST = (
    rf"^({_HOST_LABEL}((-?{_HOST_LABEL}{{0,62}})?)|"
    rf"({_HOST_LABEL}(([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}{_HOST_LABEL})?)(\.)){{1,}}"
    r"([a-zA-Z\p{L}]){2,63})$"
)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
_GO_DURATION = re.compile(r"[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_UNITS = ("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk")
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_DURATION = re.compile(r"\d+\s*([A-Za-zµ]+)", re.ASCII)
_MAC = re.compile(
    r"[0-9a-fA-F]{2}(?P<s>[:-])(?:[0-9a-fA-F]{2}(?P=s)){4}(?:[0-9a-fA-F]{2}(?:(?P=s)[0-9a-fA-F]{2}"
    r"(?P=s)[0-9a-fA-F]{2}(?:(?P=s)[0-9a-fA-F]{2}){0,12})?)"
    r"|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2,3}"
)


@functools.cache
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(pattern, options=options)


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text. Raises re2.error for what is no pattern."""
    return _compiled(pattern).search(text) is not None


def fits(form: str, text: str) -> bool:
    """Whether a text has a format; every text has those that the server does not know."""
    rule = _RULES.get(form.replace("-", ""))
    return rule is None or bool(rule(text))


def known(kind: str, form: str) -> str:
    """The format, or nothing if the server knows none of that name for that type."""
    if kind in ("", "string"):
        return form if form.replace("-", "") in _RULES else ""
    return form if form in _OF_NUMBERS.get(kind, ()) else ""


_OF_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "integer": ("int32", "int64"),
    "number": ("float", "double"),
}


def _matches(pattern: str, flags: int = 0) -> Callable[[str], Any]:
    return re.compile(pattern, flags | re.ASCII).fullmatch


def _host(text: str) -> bool:
    fitting = matches(_HOST, text) and len(text.encode()) <= 255
    return bool(fitting) and all(len(part.encode()) <= 63 for part in text.split("."))


def _address(text: str) -> Any:
    """An IP address; leading zeros are let through as the server does."""
    try:
        return ipaddress.ip_address(_without_zeros(text))
    except ValueError:
        return None


def _without_zeros(text: str) -> str:
    return re.sub(r"(?<![0-9a-fA-F:])0+(?=\d)", "", text) if "." in text else text


def _network(text: str) -> bool:
    try:
        ipaddress.ip_network(_without_zeros(text), strict=False)
    except ValueError:
        return False
    return "/" in text and text.rpartition("/")[2].isdecimal()


def _uri(text: str) -> bool:
    """An absolute URI or an absolute path."""
    if text == "*" or re.search(r"[\x00-\x20\x7f]", text):
        return text == "*"
    try:
        parts = urlsplit(text)
        return text.startswith("/") or (bool(parts.scheme) and parts.port != -1)
    except ValueError:
        return False


def _email(text: str) -> bool:
    address = parseaddr(text, strict=True)[1] if _STRICT else parseaddr(text)[1]
    local, at, domain = address.rpartition("@")
    return bool(local and at and domain) and " " not in domain


_STRICT = "strict" in (parseaddr.__kwdefaults__ or {})


def _date(text: str) -> bool:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return text.startswith("0000-")
    return True


def _date_time(text: str) -> bool:
    day, separator, clock = text.lower().partition("t")
    found = _TIME.fullmatch(clock)
    if not separator or not _date(day) or found is None:
        return False
    return found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _duration(text: str) -> bool:
    """As Go writes them (1h30m), or numbers with words (3 days)."""
    if _GO_DURATION.fullmatch(text):
        return True
    units = (found[1].lower() for found in _DURATION.finditer(text))
    return any(unit in _UNITS or unit.startswith(_LONG_UNITS) for unit in units)


def _digits(pattern: str, left_out: str) -> Callable[[str], Any]:
    """A rule for the digits of a number in which other characters are left out."""
    return lambda text: re.fullmatch(pattern, re.sub(left_out, "", text), re.ASCII)


def _base64(text: str) -> bool:
    try:
        return bool(text) and len(base64.b64decode(text, validate=True)) > 0
    except binascii.Error:
        return False


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], Any]:
    group = f"{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}"
    return _matches(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{group}-?[0-9a-f]{{12}}", re.IGNORECASE)


_BYTE = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_SHORT = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_RULES: Mapping[str, Callable[[str], Any]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "byte": _base64,
    "cidr": _network,
    "creditcard": _digits(r"\d{13,19}", "[^0-9]"),
    "date": _date,
    "datetime": _date_time,
    "duration": _duration,
    "email": _email,
    "hexcolor": _matches("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _host,
    "ipv4": lambda text: "." in text and _address(text),
    "ipv6": lambda text: ":" in text and _address(text),
    "isbn": _digits(r"\d{9}[\dX]|\d{13}", r"[\s-]"),
    "isbn10": _digits(r"\d{9}[\dX]", r"[\s-]"),
    "isbn13": _digits(r"\d{13}", r"[\s-]"),
    "k8slongname": lambda text: len(text) <= 253 and _matches(rf"{_SHORT}(?:\.{_SHORT})*")(text),
    "k8sshortname": lambda text: len(text) <= 63 and _matches(_SHORT)(text),
    "mac": _MAC.fullmatch,
    "password": lambda _: True,
    "rgbcolor": _matches(rf"rgb\({_BYTE},{_BYTE},{_BYTE}\)"),
    "ssn": lambda text: len(text) == 11 and _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}")(text),
    "uri": _uri,
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
}
