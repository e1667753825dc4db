"""Cluster roles that are collected from others by their labels, as admin, edit and view are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ansible_operator.sandbox import storage
from ansible_operator.sandbox.rights import access
from ansible_operator.sandbox.standins import labels

if TYPE_CHECKING:
    from ansible_operator.sandbox import local

Obj = dict[str, Any]
ROLES = f"clusterroles.{access.GROUP}"


def rules(role: Obj, roles: Sequence[Obj]) -> list[Obj] | None:
    """The rules of a role with an aggregationRule; None for a role that has none.

    ``roles`` are all cluster roles in the order of their names.
    """
    if not (aggregation := role.get("aggregationRule")):
        return None
    found: list[Obj] = []
    others = [other for other in roles if other["metadata"]["name"] != role["metadata"]["name"]]
    for selector in aggregation.get("clusterRoleSelectors") or ():
        for other in filter(labels.selector(selector), others):
            found += [rule for rule in other.get("rules") or () if rule not in found]
    return found


class Aggregation:
    """Brings aggregated roles up to date, in a step of its own after a cluster role changed."""

    def __init__(
        self,
        controller: local.Local,
        objects: storage.Storage,
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._local = controller
        self._later = later
        self._waiting = False
        objects.subscribe(self._note)

    def _note(self, change: storage.Change) -> None:
        if change.key == access.CLUSTER_ROLES and not self._waiting:
            self._waiting = True
            self._later(0, self._sync)

    def _sync(self) -> None:
        self._waiting = False
        roles = self._local.list(ROLES)
        for role in roles:
            wanted = rules(role, roles)
            if wanted is not None and wanted != (role.get("rules") or []):
                self._local.update(ROLES, {**role, "rules": wanted})
