"""What is known of every resource: its schema, and what a CRD says about its objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_operator.sandbox import kinds, scale
from ansible_operator.sandbox.schemas import schema

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Definition:
    """One version of a custom resource."""

    schema: schema.Schema
    columns: Sequence[Obj] = ()
    scale: scale.Paths = field(default_factory=scale.Paths)


class Catalogue:
    """The definitions of all custom resources; those of built-in ones are in the library."""

    def __init__(self) -> None:
        self._defined: dict[kinds.Key, Mapping[str, Definition]] = {}
        self._stored: dict[kinds.Key, str] = {}

    def define(self, key: kinds.Key, stored: str, versions: Mapping[str, Definition]) -> None:
        """Set the versions of a custom resource, by API version, and the one it is stored in."""
        self._defined[key] = versions
        self._stored[key] = stored

    def undefine(self, key: kinds.Key) -> None:
        """Forget a custom resource."""
        self._defined.pop(key, None)
        self._stored.pop(key, None)

    def schema(self, resource: kinds.Resource) -> schema.Schema:
        """The schema of a resource in its version."""
        if resource.custom:
            return self._defined[resource.key][resource.api_version].schema
        return schema.builtin(resource.group, resource.version, resource.kind)

    def columns(self, resource: kinds.Resource) -> Sequence[Obj]:
        """The printer columns of a custom resource; none for a built-in one."""
        return self._defined[resource.key][resource.api_version].columns if resource.custom else ()

    def scale(self, resource: kinds.Resource) -> scale.Paths:
        """Where the replicas of a resource stand."""
        if not resource.custom:
            return scale.Paths()
        return self._defined[resource.key][resource.api_version].scale

    def stored_version(self, resource: kinds.Resource) -> str:
        """The API version in which the objects of a resource are stored."""
        return self._stored.get(resource.key, resource.api_version)
