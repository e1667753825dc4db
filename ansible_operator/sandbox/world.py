"""Everything that a sandbox consists of, wired once: what is stored, who may, who is at work."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ansible_operator.sandbox import (
    kinds,
    listing,
    local,
    namespaces,
    registry,
    seed,
    standins,
    storage,
)
from ansible_operator.sandbox.customs import establishing
from ansible_operator.sandbox.rights import access, aggregation, escalation, reviews, tokens
from ansible_operator.sandbox.views import openapi

Obj = dict[str, Any]
Later = Callable[[float, Callable[[], None]], object]
"""Call a function on the loop in so many seconds."""


@dataclass(frozen=True, slots=True)
class World:
    """A sandbox without its network side."""

    kinds: kinds.Kinds
    storage: storage.Storage
    registry: registry.Registry
    lister: listing.Lister
    access: access.Access
    tokens: tokens.Tokens
    reviews: reviews.Reviews
    documents: openapi.Documents


def build(
    *, later: Later, token: str, users: dict[str, tuple[str, ...]], enforced: bool, ca: str
) -> World:
    """A sandbox with its initial objects, whose controllers have begun to work.

    ``token`` is the administrator's, ``users`` are test users: token to name and groups; rights are
    looked at when ``enforced``. ``ca`` is the PEM text of the server's authority.
    """
    served = kinds.Kinds()
    store = storage.Storage()
    held = registry.Registry(served, store, clock=now, chance=random.SystemRandom())
    namespaces.guard(held)
    establishing.Establisher(held, later)
    controllers = local.Local(held, "kube-controller-manager")
    standins.Controllers(controllers, store, later, now, ca)
    roles = local.Local(held, "clusterrole-aggregation-controller")
    aggregation.Aggregation(roles, store, later)
    seed.plant(local.Local(held, "kube-apiserver"))
    rights = access.Access(store, enforced=enforced)
    held.judges.append(lambda *about: escalation.check(rights, about[3], *about[:3]))
    known = tokens.Tokens(store, clock=now, new_id=held.new_uid)
    known.add(token, "admin", (access.MASTERS,))
    for secret, (name, *groups) in users.items():
        known.add(secret, name, groups)
    answers = reviews.Reviews(rights, known, now)
    documents = openapi.Documents(served, held.catalogue.schema)
    return World(served, store, held, listing.Lister(held), rights, known, answers, documents)


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)
