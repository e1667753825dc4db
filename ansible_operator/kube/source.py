"""What hears changes: what it is told, and what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ansible_operator import objects, watches
from ansible_operator.kube import discovery


@dataclass(frozen=True, slots=True)
class Target:
    """What a source listens to; without namespaces it is the whole cluster.

    ``wide`` says that the cluster is asked for the objects of the namespaces: they are many, and
    it is permitted. Those of others are not told then.
    """

    watch: watches.Watch
    resource: discovery.Resource
    namespaces: tuple[str, ...] = ()
    wide: bool = False

    @property
    def gvk(self) -> objects.GVK:
        """The kind."""
        return self.watch.gvk

    @property
    def asked(self) -> tuple[str, ...]:
        """The namespaces to ask for; none for the whole cluster."""
        return () if self.wide else self.namespaces

    def tells(self, obj: objects.Obj) -> bool:
        """Whether an object that was heard of is to be told."""
        return not self.wide or objects.namespace(obj) in self.namespaces

    def covers(self, resource: discovery.Resource, namespaces: tuple[str, ...]) -> bool:
        """Whether a source that listens to this hears all of these, too."""
        told = self.resource
        same = (told.plural, told.namespaced) == (resource.plural, resource.namespaced)
        return same and set(namespaces) <= set(self.namespaces)


@dataclass(frozen=True, slots=True)
class State:
    """How it goes with a target: ``ended`` says why it stopped by itself, None if it did not."""

    listening: bool = False
    ended: str | None = None


class Source(Protocol):
    """What hears changes. Every method returns without waiting for the API server."""

    def start(self, target: Target) -> None:
        """Begin to listen, in place of what is listened to of the same kind."""

    def stop(self, gvk: objects.GVK) -> None:
        """Stop listening to a kind; nothing happens if it is not listened to."""

    def state(self, gvk: objects.GVK) -> State:
        """How it goes with a kind that was started."""

    def close(self) -> None:
        """Stop listening to everything, within a few seconds."""
