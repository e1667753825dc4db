"""Pure: which watched objects a dependent belongs to, by what its metadata says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ansible_operator import children, objects, ownership


@dataclass(frozen=True, slots=True)
class OwnerKind:
    """A watched kind whose objects own something of a kind, and how they are tied to it."""

    gvk: objects.GVK
    namespaced: bool
    ties: frozenset[children.Tie]

    @property
    def type(self) -> str:
        """The text of the type annotation: ``Kind.group``, only ``Kind`` for the core group."""
        return ownership.primary_type(self.gvk)


def keys(
    digests: Iterable[children.Digest], kinds: Iterable[OwnerKind]
) -> frozenset[objects.ObjectKey]:
    """All owners of the given kinds that any of these states of one object names.

    References may name any version of the kind and are within the object's own namespace, unless
    the kind of the owner has none. Annotations have to be exact.
    """
    known = tuple(digests)
    return frozenset(key for kind in kinds for digest in known for key in _keys(digest, kind))


def _keys(digest: children.Digest, kind: OwnerKind) -> Iterator[objects.ObjectKey]:
    if children.Tie.REFERENCE in kind.ties:
        yield from _referenced(digest, kind)
    if children.Tie.ANNOTATION in kind.ties and digest.primary_type == kind.type:
        namespace, _, name = digest.primary.rpartition("/")
        if name and bool(namespace) is kind.namespaced:
            yield objects.ObjectKey(kind.gvk, namespace, name)


def _referenced(digest: children.Digest, kind: OwnerKind) -> Iterator[objects.ObjectKey]:
    if kind.namespaced and not digest.namespace:
        return  # such a reference is not valid: nothing is known of the owner's namespace
    namespace = digest.namespace if kind.namespaced else ""
    for entry in digest.owners:
        if (entry.group, entry.kind) == (kind.gvk.group, kind.gvk.kind):
            yield objects.ObjectKey(kind.gvk, namespace, entry.name)
