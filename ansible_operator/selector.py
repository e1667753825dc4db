"""Label selectors: what matches them, and how they are asked of the API server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Operator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist"]


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
