"""Which kinds of dependents are watched for which watched kinds, for as long as owners need it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from ansible_operator import children, objects
from ansible_operator.control import childowners

Heard: TypeAlias = Callable[[children.Change, tuple[childowners.OwnerKind, ...]], None]

_GroupKind: TypeAlias = tuple[str, str]

log = structlog.get_logger("dependents")


@dataclass(slots=True)
class _ChildWatch:
    """One kind of dependents, in whichever version it was told of first."""

    kind: children.ChildKind
    owners: dict[tuple[objects.GVK, children.Tie], set[objects.ObjectKey]] = field(
        default_factory=dict
    )
    kinds: tuple[childowners.OwnerKind, ...] = ()
    subscription: children.Subscription | None = None


class ChildWatches:
    """Subscribes once per kind of dependents, however many watched kinds and owners need it.

    ``heard`` gets every change and the watched kinds that it may concern. Thread-safe; neither
    ``heard`` nor anything of the informers is called with the lock held.
    """

    def __init__(self, informers: children.Informers, heard: Heard) -> None:
        self._informers = informers
        self._heard = heard
        self._lock = threading.Lock()
        self._watches: dict[_GroupKind, _ChildWatch] = {}
        self._refused: set[tuple[objects.GVK, children.ChildKind]] = set()

    def add(self, owner: children.Owner, kind: children.ChildKind, tie: children.Tie) -> None:
        """The owner owns something of this kind. Returns at once; raises what subscribing does."""
        why_not = refusal(owner, kind, tie)
        if why_not:
            self._say_no(owner, kind, why_not)
            return
        with self._lock:
            fresh = self._added(owner, kind, tie)
        if fresh is not None:
            self._subscribe(fresh)

    def forget(self, key: objects.ObjectKey) -> None:
        """The owner is gone."""
        self._drop(lambda owners, gvk: owners.discard(key))

    def retire(self, gvk: objects.GVK) -> None:
        """Nothing of this watched kind is run any more."""
        self._drop(lambda owners, watched: owners.clear() if watched == gvk else None)

    def _added(
        self, owner: children.Owner, kind: children.ChildKind, tie: children.Tie
    ) -> _ChildWatch | None:
        """The watch if it is a new one."""
        name = (kind.gvk.group, kind.gvk.kind)
        known = self._watches.get(name)
        watch = known or self._watches.setdefault(name, _ChildWatch(kind))
        owners = watch.owners.get((owner.key.gvk, tie))
        if owners is None:
            watch.owners[owner.key.gvk, tie] = {owner.key}
            watch.kinds = _kinds(watch)
            log.info("watching dependents", kind=str(kind), owners=str(owner.key.gvk), by=tie.value)
        else:
            owners.add(owner.key)
        return None if known else watch

    def _subscribe(self, watch: _ChildWatch) -> None:
        try:
            subscription = self._informers.subscribe(
                watch.kind, lambda change: self._heard(change, watch.kinds)
            )
        except BaseException:
            with self._lock:  # so that the next one that owns something tries again
                self._watches.pop((watch.kind.gvk.group, watch.kind.gvk.kind), None)
            raise
        with self._lock:
            watch.subscription = subscription
            needed = watch.kinds
        if not needed:  # it was dropped meanwhile
            subscription.stop()

    def _drop(self, from_owners: Callable[[set[objects.ObjectKey], objects.GVK], object]) -> None:
        with self._lock:
            unused = [watch for watch in self._watches.values() if _shrink(watch, from_owners)]
            for watch in unused:
                del self._watches[watch.kind.gvk.group, watch.kind.gvk.kind]
        for watch in unused:
            if watch.subscription is not None:
                watch.subscription.stop()
            log.info("dependents are no longer watched", kind=str(watch.kind))

    def _say_no(self, owner: children.Owner, kind: children.ChildKind, why: str) -> None:
        gvk = owner.key.gvk
        with self._lock:
            known = (gvk, kind) in self._refused
            self._refused.add((gvk, kind))
        if not known:
            log.info("not watching dependents", kind=str(kind), owners=str(gvk), reason=why)


def refusal(owner: children.Owner, kind: children.ChildKind, tie: children.Tie) -> str:
    """Why the watch of the owner does not want this kind watched; empty if it does."""
    watch = owner.watch
    if not watch.watch_dependent_resources:
        return "watchDependentResources is false"
    if kind.gvk in watch.blacklist:
        return "the kind is on the blacklist"
    by_annotation = tie is children.Tie.ANNOTATION
    if by_annotation and not kind.namespaced and not watch.watch_cluster_scoped_resources:
        return "watchClusterScopedResources is false"
    return ""


def _shrink(
    watch: _ChildWatch, from_owners: Callable[[set[objects.ObjectKey], objects.GVK], object]
) -> bool:
    """Take owners away; whether nobody needs the watch any more."""
    for gvk, tie in list(watch.owners):
        owners = watch.owners[gvk, tie]
        from_owners(owners, gvk)
        if not owners:
            del watch.owners[gvk, tie]
    watch.kinds = _kinds(watch)
    return not watch.owners


def _kinds(watch: _ChildWatch) -> tuple[childowners.OwnerKind, ...]:
    """What the mapping of changes needs to know; a watched kind's scope is that of its objects."""
    ties: dict[objects.GVK, set[children.Tie]] = {}
    for gvk, tie in watch.owners:
        ties.setdefault(gvk, set()).add(tie)
    return tuple(
        childowners.OwnerKind(gvk, _namespaced(watch, gvk), frozenset(found))
        for gvk, found in ties.items()
    )


def _namespaced(watch: _ChildWatch, gvk: objects.GVK) -> bool:
    keys = next(owners for (owner, _), owners in watch.owners.items() if owner == gvk)
    return all(key.namespace for key in keys)
