"""Dependents as informers see them, and an informer that a test speaks for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import engine_fakes as fakes

from ansible_operator import children, objects, watches

CONFIG_MAP = children.ChildKind(objects.GVK("", "v1", "ConfigMap"), "configmaps", True)
DEPLOYMENT = children.ChildKind(objects.GVK("apps", "v1", "Deployment"), "deployments", True)
CLUSTER_ROLE = children.ChildKind(
    objects.GVK("rbac.authorization.k8s.io", "v1", "ClusterRole"), "clusterroles", False
)


def entry(
    manager: str = "role", at: int = 0, subresource: str = "", **fields: Any
) -> dict[str, Any]:
    """An entry of managedFields, ``at`` seconds past noon."""
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "subresource": subresource,
        "time": f"2026-01-01T12:00:{at:02}Z",
        "fieldsV1": {f"f:{name}": {"f:x": {}} for name in fields or ("data",)},
    }


def reference(name: str = "one", gvk: objects.GVK = fakes.GVK) -> dict[str, str]:
    """An owner reference."""
    kind = {"apiVersion": gvk.api_version, "kind": gvk.kind}
    return {**kind, "name": name, "uid": f"uid-{name}"}


def meta(**changes: Any) -> objects.Obj:
    """The metadata of a ConfigMap that object ``one`` owns."""
    metadata = {
        "name": "settings",
        "namespace": "prod",
        "uid": "uid-settings",
        "resourceVersion": "1",
        "ownerReferences": [reference()],
        "managedFields": [entry()],
    }
    return {"metadata": {**metadata, **changes}}


def digest(**changes: Any) -> children.Digest:
    """What is remembered of it."""
    return children.digest(meta(**changes))


def modified(
    old: children.Digest, new: children.Digest, kind: children.ChildKind = CONFIG_MAP
) -> children.Change:
    """A change of a dependent."""
    return children.Change(kind, children.Event.MODIFIED, old, new)


def deleted(old: children.Digest, kind: children.ChildKind = CONFIG_MAP) -> children.Change:
    """The end of a dependent."""
    return children.Change(kind, children.Event.DELETED, old, old)


def owner(name: str = "one", watch: watches.Watch | None = None) -> children.Owner:
    """The object of this name, while a run acts for it."""
    chosen = watch or fakes.watch()
    return children.Owner(chosen, fakes.key(name, chosen.gvk), f"uid-{name}", "1")


@dataclass
class FakeSubscription:
    """Remembers that it was stopped."""

    kind: children.ChildKind
    listener: Callable[[children.Change], None]
    stopped: bool = False

    def synced(self) -> bool:
        return True

    def stop(self) -> None:
        self.stopped = True


class FakeInformers:
    """Tells what a test lets happen; ``during`` happens while somebody subscribes."""

    def __init__(self) -> None:
        self.subscriptions: list[FakeSubscription] = []
        self.during: Callable[[], object] = fakes.nothing

    def subscribe(
        self, kind: children.ChildKind, listener: Callable[[children.Change], None]
    ) -> FakeSubscription:
        self.during()
        subscription = FakeSubscription(kind, listener)
        self.subscriptions.append(subscription)
        return subscription

    def live(self) -> list[str]:
        """The kinds that are watched now."""
        return [str(found.kind) for found in self.subscriptions if not found.stopped]

    def tell(self, change: children.Change) -> None:
        """Let all listeners hear of a change, from another thread as informers do."""
        for found in self.subscriptions:
            if not found.stopped and found.kind == change.kind:
                teller = threading.Thread(target=found.listener, args=(change,))
                teller.start()
                teller.join(60)
                assert not teller.is_alive(), "the listener hangs"
