"""What a reconcile asks of the world: the API server, Ansible, and somebody who tells people."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from ansible_operator import objects
from ansible_operator.ansible import run


class Cluster(Protocol):
    """What a reconcile asks of the API server. Everything may raise :class:`errors.KubeError`."""

    def get(self, key: objects.ObjectKey) -> objects.Obj | None:
        """The object as it is now; None when it is gone."""
        ...

    def add_finalizer(self, key: objects.ObjectKey, name: str) -> objects.Obj | None:
        """The object after the finalizer was added; None when it is gone or being deleted."""
        ...

    def remove_finalizer(self, key: objects.ObjectKey, name: str, uid: str) -> None:
        """Remove the finalizer of the object ``uid``; gone, replaced or without it is fine."""
        ...

    def update_status(
        self, key: objects.ObjectKey, compute: Callable[[objects.Obj], objects.Obj]
    ) -> objects.Obj | None:
        """Write ``compute(object)`` as its status, again on conflicts.

        The object after the write, or as read if there was nothing to write; None when it is gone.
        """
        ...


class Runner(Protocol):
    """What a reconcile asks of Ansible."""

    def run(self, request: run.RunRequest, *, cancel: threading.Event) -> run.RunResult:
        """Run the role or playbook; whatever goes wrong is in the result, never raised.

        The status says Running meanwhile and is written again only from the result. Should it
        raise all the same, which is a bug, the next try of the backoff writes it.
        """
        ...

    def forget(self, key: objects.ObjectKey) -> None:
        """Drop what is kept of the runs for an object that is gone."""
        ...


class Recorder(Protocol):
    """Who tells the people that look after an object what has happened to it."""

    def record(self, obj: objects.Obj, type_: str, reason: str, message: str) -> None:
        """Say it, as a Kubernetes Event or not at all; ``type_`` is Normal or Warning.

        Never raises: what a pass does must not depend on it.
        """
        ...


class Silent:
    """A recorder that tells nobody."""

    def record(self, obj: objects.Obj, type_: str, reason: str, message: str) -> None:
        """Say nothing."""
