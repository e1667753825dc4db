"""The words of builtin.yaml that are about quotas, limits and priorities."""

from __future__ import annotations

from ansible_operator.sandbox.builtins import names, quantity
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field

_STANDARD = ("cpu", "ephemeral-storage", "memory", "storage")
_QUOTAS = (
    *_STANDARD,
    *(f"{side}.{name}" for side in ("limits", "requests") for name in _STANDARD[:3]),
    "requests.storage",
)
_COUNTED = (
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_REQUEST = "defaultRequest"
_GREATER = "default request value {} is greater than"
_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)


def quota(field: Field) -> None:
    """What a quota limits."""
    for entry in field.entries():
        name, amount = entry.key, quantity.number(entry.value)
        entry.obeys(names.qualified, name)
        counted = name in _COUNTED or name.startswith("count/")
        if "/" not in name and not counted and name not in _QUOTAS and "hugepages-" not in name:
            entry.invalid("must be a standard resource type or fully qualified", name)
            entry.invalid("must be a standard resource for quota", name)
        if amount < 0:
            entry.invalid(words.AT_LEAST_0)
        elif counted and amount.denominator != 1:
            entry.invalid("must be an integer")


def scopes(field: Field) -> None:
    """What a quota is about."""
    if set(field.value) - set(_SCOPES):
        field.invalid("unsupported scope")


def limits(field: Field) -> None:
    """The limits of a limit range."""
    seen: set[str] = set()
    for one in field.at("limits").entries():
        kind = one.at("type")
        name = kind.value or ""
        kind.obeys(names.qualified, name)
        standard = ("Pod", "Container", "PersistentVolumeClaim")
        if name and name not in standard and "/" not in name:
            kind.invalid("must be a standard limit type or fully qualified")
        if name in seen:
            kind.duplicate()
        seen.add(name)
        if name == "Pod":
            for more in ("default", "defaultRequest"):
                if one.get(more):
                    one.at(more).forbidden("may not be specified when `type` is 'Pod'")
        _ordered(one)


# Which of two amounts must not be greater, where that is noted, which of the two is shown, and how.
_ORDER = (
    ("min", "max", "min", 0, "min value {} is greater than max value {}"),
    ("min", _REQUEST, _REQUEST, 1, "min value {} is greater than default request value {}"),
    (_REQUEST, "max", _REQUEST, 0, "default request value {} is greater than max value {}"),
    (_REQUEST, "default", _REQUEST, 0, f"{_GREATER} default limit value {{}}"),
    ("min", "default", "default", 0, "min value {} is greater than default value {}"),
    ("default", "max", "default", 1, "default value {} is greater than max value {}"),
)


def _ordered(field: Field) -> None:
    for low, high, place, shown, told in _ORDER:
        lower, upper = field.get(low) or {}, field.get(high) or {}
        for name in sorted(lower):
            both = (lower[name], upper.get(name, lower[name]))
            if quantity.number(both[0]) > quantity.number(both[1]):
                field.at(place).entry(name).invalid(told.format(*both), both[shown])


def priority(field: Field) -> None:
    """The name and the value of a priority class."""
    name, value = field.at("metadata", "name"), field.at("value")
    if (name.value or "").startswith("system-"):
        if name.value not in ("system-node-critical", "system-cluster-critical"):
            told = "priority class names with 'system-' prefix are reserved for system use only. "
            name.forbidden(f"{told}error: {name.value} is not a known system priority class")
    elif (value.value or 0) > 10**9:
        value.forbidden("maximum allowed value of a user defined priority is 1000000000")


def fixed_priority(field: Field) -> None:
    """The value of a priority class stays."""
    if field.differs():
        field.forbidden("may not be changed in an update.")
