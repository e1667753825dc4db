"""Where to listen to a kind: in each namespace, or in the whole cluster once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ansible_operator import watches
from ansible_operator.kube import access, asking, discovery

MANY = 10
"""Namespaces that are listened to one by one; for more, the whole cluster is tried first."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """``asked`` are the namespaces to ask for, "" is the cluster; ``within`` as in informers."""

    asked: tuple[str, ...]
    within: tuple[str, ...] = ()


def each(resource: discovery.Resource, namespaces: Sequence[str]) -> Scopes:
    """Every namespace by itself; the whole cluster if there is none, or the kind is in none."""
    return Scopes((resource.namespaced and tuple(dict.fromkeys(namespaces))) or ("",))


def plan(client: asking.Asks, resource: discovery.Resource, namespaces: Sequence[str]) -> Scopes:
    """The cheapest that is permitted, as far as the server can say."""
    found = each(resource, namespaces)
    if len(found.asked) <= MANY:
        return found
    if all(access.allowed(client, resource, "", verb) for verb in ("list", "watch")):
        return Scopes(("",), found.asked)
    return found


def lacking(
    client: asking.Asks,
    resource: discovery.Resource,
    namespaces: Sequence[str],
    watch: watches.Watch,
) -> list[str]:
    """As :func:`access.lacking` of each; what is permitted in the cluster is so in all of many."""
    if len(namespaces) > MANY and not access.lacking(client, resource, "", watch):
        return []
    return [access.lacking(client, resource, namespace, watch) for namespace in namespaces]
