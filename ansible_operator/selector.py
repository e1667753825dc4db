"""Label selectors: what matches them, and how they are asked of the API server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Operator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]

_OPERATORS: Final[dict[str, Operator]] = {
    "In": "In",
    "NotIn": "NotIn",
    "Exists": "Exists",
    "DoesNotExist": "DoesNotExist",
}
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One ``matchExpressions`` entry; ``values`` is empty for Exists and DoesNotExist."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy it; like the API server, NotIn matches an absent label."""
        match self.operator:
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
            case "In":
                return labels.get(self.key) in self.values
            case _:
                return labels.get(self.key) not in self.values

    def __str__(self) -> str:
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "In":
                return f"{self.key} in ({','.join(self.values)})"
            case _:
                return f"{self.key} notin ({','.join(self.values)})"


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold; ``matchLabels`` are kept as In with one value."""

    requirements: tuple[Requirement, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        """The text of a ``labelSelector`` query parameter."""
        return ",".join(str(requirement) for requirement in self.requirements)


class SelectorError(ValueError):
    """A requirement that the API server would refuse; ``field`` is key, operator or values."""

    def __init__(self, field: str, problem: str, hint: str) -> None:
        self.field = field
        self.problem = problem
        self.hint = hint
        super().__init__(f"{field}: {problem}. {hint}")


def requirement(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    """A requirement that the API server accepts; raises :class:`SelectorError` otherwise."""
    if operator not in _OPERATORS:
        known = ", ".join(_OPERATORS)
        raise SelectorError("operator", f'"{operator}" is not an operator', f"Use one of {known}")
    if operator in ("In", "NotIn") and not values:
        raise SelectorError("values", f"{operator} needs at least one value", "List it in values")
    if operator in ("Exists", "DoesNotExist") and values:
        raise SelectorError("values", f"{operator} takes no values", "Remove them")
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _PREFIX.fullmatch(prefix)):
        raise SelectorError(
            "key",
            f'"{key}" cannot be the key of a label',
            "A key is a name of at most 63 letters, digits, '-', '_' and '.', "
            "perhaps after a DNS domain and '/'",
        )
    for value in filter(None, values):
        if not _NAME.fullmatch(value):
            raise SelectorError(
                "values",
                f'"{value}" cannot be the value of a label',
                "A value has at most 63 letters, digits, '-', '_' and '.', "
                "and a letter or digit at both ends",
            )
    return Requirement(key, _OPERATORS[operator], values)
