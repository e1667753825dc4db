"""What names, labels, keys and addresses may look like, and how the API server says what is wrong.

Each rule takes a text and returns what is wrong with it, in the words of a real server; nothing if
it is fine.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from ansible_operator.sandbox import failure, kinds

Rule = Callable[[str], list[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_KEY = "[-._a-zA-Z0-9]+"
_HEADER = "[-A-Za-z0-9]+"
_PERCENT = "[0-9]+%"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


_IS_LABEL, _IS_SUBDOMAIN = _compiled(_LABEL), _compiled(_SUBDOMAIN)
_IS_QUALIFIED, _IS_VALUE = _compiled(_QUALIFIED), _compiled(_VALUE)
_IS_KEY, _IS_HEADER, _IS_PERCENT = _compiled(_KEY), _compiled(_HEADER), _compiled(_PERCENT)


def _told(what: str, pattern: str, *examples: str) -> str:
    shown = ",  or ".join(f"'{example}'" for example in examples)
    return f"{what} (e.g. {shown}, regex used for validation is '{pattern}')"


_ENDS = "and must start and end with an alphanumeric character"
_LABEL_TOLD = _told(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
    f"'-', {_ENDS}",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_TOLD = _told(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    f"'-' or '.', {_ENDS}",
    _SUBDOMAIN,
    "example.com",
)
_QUALIFIED_TOLD = _told(
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
_VALUE_TOLD = _told(
    "a valid label must be an empty string or consist of alphanumeric characters, "
    f"'-', '_' or '.', {_ENDS}",
    _VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_KEY_TOLD = _told(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_HEADER_TOLD = _told(
    "a valid HTTP header must consist of alphanumeric characters or '-'", _HEADER, "X-Header-Name"
)
_PERCENT_TOLD = _told(
    "a valid percent string must be a numeric string followed by an ending '%'",
    _PERCENT,
    "1%",
    "93%",
)
_WILDCARD_TOLD = _told(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
    "character",
    rf"\*\.{_SUBDOMAIN}",
    "*.example.com",
)


def _no_more(limit: int, unit: str = "characters") -> str:
    return f"must be no more than {limit} {unit}"


def subdomain(text: str) -> list[str]:
    """``example.com``: the names of most objects."""
    wrong = [_no_more(253)] if len(text) > 253 else []
    return wrong if _IS_SUBDOMAIN.fullmatch(text) else [*wrong, _SUBDOMAIN_TOLD]


def label(text: str) -> list[str]:
    """``my-name``: the names of namespaces, services, containers, volumes."""
    wrong = [_no_more(63)] if len(text) > 63 else []
    if _IS_LABEL.fullmatch(text):
        return wrong
    dotted = _IS_SUBDOMAIN.fullmatch(text)
    return [*wrong, "must not contain dots" if dotted else _LABEL_TOLD]


def short_name(limit: int) -> Rule:
    """A subdomain of no more than ``limit`` characters, where names are made longer later."""

    def checked(text: str) -> list[str]:
        return subdomain(text) + ([_no_more(limit)] if len(text) > limit else [])

    return checked


def path_segment(text: str) -> list[str]:
    """Whatever can stand in a URL between slashes: the names of roles and bindings."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{mark}'" for mark in "/%" if mark in text]


def qualified(text: str) -> list[str]:
    """``example.com/my-name``, the prefix is optional: keys of labels and annotations."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        told = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_QUALIFIED_TOLD} {told}"]
    wrong = []
    if slash and not prefix:
        wrong = ["prefix part must be non-empty"]
    elif slash:
        limit = [_no_more(253, "bytes")] if len(prefix) > 253 else []
        fits = _IS_SUBDOMAIN.fullmatch(prefix)
        wrong = [f"prefix part {told}" for told in (limit if fits else [*limit, _SUBDOMAIN_TOLD])]
    if not name:
        wrong.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        wrong.append(f"name part {_no_more(63, 'bytes')}")
    if not _IS_QUALIFIED.fullmatch(name):
        wrong.append(f"name part {_QUALIFIED_TOLD}")
    return wrong


def label_value(text: str) -> list[str]:
    """The value of a label."""
    wrong = [_no_more(63, "bytes")] if len(text.encode()) > 63 else []
    return wrong if _IS_VALUE.fullmatch(text) else [*wrong, _VALUE_TOLD]


def config_key(text: str) -> list[str]:
    """The keys of config maps and secrets."""
    wrong = [_no_more(253)] if len(text) > 253 else []
    if not _IS_KEY.fullmatch(text):
        return [*wrong, _KEY_TOLD]
    if text in (".", ".."):
        return [*wrong, f"must not be '{text}'"]
    return [*wrong, "must not start with '..'"] if text.startswith("..") else wrong


def environment(text: str) -> list[str]:
    """The names of environment variables."""
    if text and all(" " <= mark <= "~" and mark != "=" for mark in text):
        return []
    told = "must consist only of printable ASCII characters other than '='"
    return [f"a valid environment variable name {told}"]


def port_name(text: str) -> list[str]:
    """``http``: the names of ports."""
    wrong = [_no_more(15)] if len(text) > 15 else []
    if not re.fullmatch("[-a-z0-9]+", text, re.ASCII):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in text:
        wrong.append("must not contain consecutive hyphens")
    if text[:1] == "-" or text[-1:] == "-":
        wrong.append("must not begin or end with a hyphen")
    return wrong


def header(text: str) -> list[str]:
    """The names of HTTP headers."""
    return [] if _IS_HEADER.fullmatch(text) else [_HEADER_TOLD]


def percent(text: str) -> list[str]:
    """``25%``."""
    return [] if _IS_PERCENT.fullmatch(text) else [_PERCENT_TOLD]


def host(text: str) -> list[str]:
    """The host of an ingress: a subdomain, or ``*.`` and one."""
    if "*" in text:
        fits = text.startswith("*.") and _IS_SUBDOMAIN.fullmatch(text[2:])
        return [] if fits else [_WILDCARD_TOLD]
    return ["must be a DNS name, not an IP address"] if not address(text) else subdomain(text)


def domain_path(text: str) -> list[str]:
    """``acme.io/foo``: the names of controllers."""
    domain, slash, path = text.partition("/")
    if not slash or not path:
        return ['must be a domain-prefixed path (such as "acme.io/foo")']
    return subdomain(domain)


def address(text: str) -> list[str]:
    """An IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return []


def network(text: str) -> list[str]:
    """A network in CIDR notation."""
    try:
        found = ipaddress.ip_interface(text)
    except ValueError:
        found = None
    if found is None or "/" not in text or "." in text.partition("/")[2]:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    beyond = found.ip != found.network.network_address
    return ["must not have bits set beyond the prefix length"] if beyond else []


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("namespaces", "services", "statefulsets"), label),
    **dict.fromkeys(
        (
            "clusterrolebindings",
            "clusterroles",
            "events",
            "poddisruptionbudgets",
            "rolebindings",
            "roles",
        ),
        path_segment,
    ),
    "cronjobs": short_name(52),
}


def rule(resource: kinds.Resource) -> Rule:
    """What the names of objects of a kind may be."""
    return subdomain if resource.custom else _RULES.get(resource.plural, subdomain)


def validate(resource: kinds.Resource, name: str, generate_name: str = "") -> list[failure.Cause]:
    """What is wrong with the name of an object, and with the prefix it was generated from."""
    of_kind = rule(resource)
    causes = []
    if generate_name:
        dash = generate_name.endswith("-") and len(generate_name) > 1
        trimmed = f"{generate_name[:-2]}a" if dash else generate_name
        wrong = of_kind(trimmed)
        at = "metadata.generateName"
        causes += [failure.invalid_value(at, generate_name, told) for told in wrong]
    if not name:
        causes.append(failure.required("metadata.name", "name or generateName is required"))
        return causes
    return causes + [failure.invalid_value("metadata.name", name, told) for told in of_kind(name)]
