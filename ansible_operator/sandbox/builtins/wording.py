"""The words of builtin.yaml that fit fields of many kinds. Each notes what is wrong with a field.

Whether a word is also asked of fields that are not given is said in builtin.yaml, by capitals.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.builtins.fields import Field

AT_LEAST_0 = "must be greater than or equal to 0"
GREATER_THAN_0 = "must be greater than 0"
PORT = "must be between 1 and 65535, inclusive"
FIXED = "field is immutable"
_LOOPBACK = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
_LINK_LOCAL = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
_ID = "must be between 0 and 2147483647, inclusive"


def _obeys(rule: names.Rule) -> Callable[[Field], None]:
    def word(field: Field) -> None:
        if field.value:
            field.obeys(rule)

    return word


subdomain = _obeys(names.subdomain)
label = _obeys(names.label)
path_segment = _obeys(names.path_segment)
config_key = _obeys(names.config_key)
environment = _obeys(names.environment)
port_name = _obeys(names.port_name)
host = _obeys(names.host)
domain_path = _obeys(names.domain_path)
address = _obeys(names.address)
network = _obeys(names.network)


def required(field: Field) -> bool:
    """Something is there; other words are only asked if it is."""
    if field.value or field.value is False:
        return True
    field.required()
    return False


def reference(field: Field) -> None:
    """The name of another object, which nobody may leave out."""
    field.obeys(names.subdomain, field.value or "")


def required_still(field: Field) -> None:
    """Something is there; the words after this are asked in any case."""
    required(field)


def can_not_be_empty(field: Field) -> None:
    """Something is there, in other words."""
    if not field.value:
        field.required("can not be empty")


def count(field: Field) -> None:
    """A number that is not negative."""
    if field.value < 0:
        field.invalid(AT_LEAST_0)


def positive(field: Field) -> None:
    """A number above zero."""
    if field.value <= 0:
        field.invalid(GREATER_THAN_0)


def greater_than_zero(field: Field) -> None:
    """A number above zero, in other words."""
    if (field.value or 0) <= 0:
        field.invalid("must be greater than zero", field.value or 0)


def port_number(field: Field) -> None:
    """A port by number."""
    if not 1 <= (field.value or 0) <= 65535:
        field.invalid(PORT, field.value or 0)


def port(field: Field) -> None:
    """A port by number or by name."""
    if isinstance(field.value, str):
        field.obeys(names.port_name)
    else:
        port_number(field)


def user_id(field: Field) -> None:
    """A user or group by number."""
    if not 0 <= field.value <= 2**31 - 1:
        field.invalid(_ID)


def file_mode(field: Field) -> None:
    """The permissions of a file."""
    if not 0 <= field.value <= 0o777:
        field.invalid("must be a number between 0 and 0777 (octal), both inclusive")


def reachable(field: Field) -> None:
    """An IP address that other machines can reach."""
    found = ipaddress.ip_address(field.value)
    if found.is_unspecified:
        field.invalid(f"may not be unspecified ({found})")
    if found.is_loopback:
        field.invalid(_LOOPBACK)
    if found.is_link_local:
        field.invalid(_LINK_LOCAL)


def count_or_percent(field: Field) -> None:
    """A number that is not negative, or at most all of them."""
    if not isinstance(field.value, str):
        count(field)
    elif wrong := names.percent(field.value):
        field.invalid(wrong[0])
    elif int(field.value[:-1]) > 100:
        field.invalid("must not be greater than 100%")


def number_or_percent(field: Field) -> None:
    """A number that is not negative, or any part of them."""
    if isinstance(field.value, str):
        field.obeys(names.percent)
    else:
        count(field)


def trimmed(field: Field) -> None:
    """A text without space around it."""
    if field.value != field.value.strip():
        field.invalid("must not have leading or trailing whitespace")


def no_backsteps(field: Field) -> None:
    """A path that does not lead upwards."""
    if ".." in field.value.split("/"):
        field.invalid("must not contain '..'")


def relative(field: Field) -> None:
    """A path within a directory."""
    if field.value.startswith("/"):
        field.invalid("must be a relative path")
    no_backsteps(field)


def absolute(field: Field) -> None:
    """A path from the root."""
    if not (field.value or "").startswith("/"):
        field.invalid("must be an absolute path", field.value or "")


def qualified(field: Field) -> None:
    """A name with an optional prefix."""
    field.obeys(names.qualified, field.value or "")


def optional_subdomain(field: Field) -> None:
    """A subdomain or an empty text."""
    if field.value:
        field.obeys(names.subdomain)


def labels(field: Field) -> None:
    """A map of labels."""
    for key, value in (field.value or {}).items():
        field.obeys(names.qualified, key)
        field.obeys(names.label_value, value)


def annotation_map(field: Field) -> None:
    """A map of annotations; the case of keys does not matter."""
    size = 0
    for key, value in (field.value or {}).items():
        for told in names.qualified(key.lower()):
            field.invalid(told, key)
        size += len(key.encode()) + len(value.encode())
    if size > 2**18:
        field.too_long(2**18)


def template_metadata(field: Field) -> None:
    """The metadata of pods to be made; they are named without ``metadata``."""
    for name, check in (("labels", labels), ("annotations", annotation_map)):
        check(Field(field.get(name), None, field.above, name, field.causes))


def selector(field: Field) -> bool:
    """A label selector; whether it is fine."""
    before = len(field.causes)
    labels(field.at("matchLabels"))
    for expression in field.at("matchExpressions").entries():
        _expression(expression)
        key = expression.at("key")
        key.obeys(names.qualified, key.value or "")
    return len(field.causes) == before


def _expression(field: Field) -> None:
    values = field.at("values")
    match field.get("operator"):
        case "In" | "NotIn":
            if not values.value:
                values.required("must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values.value:
                told = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                values.forbidden(told)
        case other:
            field.at("operator").invalid("not a valid selector operator", other or "")


def unique_names(field: Field) -> None:
    """The entries of a list have names of their own."""
    seen: set[str] = set()
    for entry in field.entries():
        name = entry.get("name")
        if name and name in seen:
            entry.at("name").duplicate()
        seen.add(name)


def fixed(field: Field) -> None:
    """An update must not change it."""
    if field.differs():
        field.invalid(FIXED)


def fixed_silent(field: Field) -> None:
    """An update must not change it, and is not shown what it said."""
    if field.differs():
        field.invalid(FIXED, None)
