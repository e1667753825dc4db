"""The operator's own metrics, under the names and labels of the incumbent's.

Only what dashboards for Ansible operators are made of; every object is in a registry of its own.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import prometheus_client
from prometheus_client import registry

from ansible_operator import objects, watch

_OBJECT = ("name", "namespace", "group", "version", "kind")


class Metrics:
    """Everything that is counted. Thread-safe.

    ``kinds`` are the watched ones: their results are there from the start, as zeros. ``version``
    and ``commit`` are those of this program.
    """

    def __init__(
        self, kinds: Iterable[objects.GVK], *, version: str, commit: str = "unknown"
    ) -> None:
        self.registry = registry.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self.registry)
        self._lock = threading.Lock()
        self._build = prometheus_client.Gauge(
            "ansible_operator_build_info",
            "Build information for the ansible-operator program",
            ["commit", "version"],
            registry=self.registry,
        )
        self._build.labels(commit, version).set(1)
        self._results = prometheus_client.Gauge(
            "ansible_operator_reconcile_result",
            "Gauge of reconciles and their results.",
            ["GVK", "result"],
            registry=self.registry,
        )
        for gvk in kinds:
            for result in ("succeeded", "failed"):
                self._results.labels(str(gvk), result)
        self._created = prometheus_client.Gauge(
            "resource_created_at_seconds",
            "Timestamp at which a resource was created",
            _OBJECT,
            registry=self.registry,
        )
        self._known: set[objects.ObjectKey] = set()

    def finished(self, gvk: objects.GVK, *, succeeded: bool) -> None:
        """A run of the kind has ended and was judged.

        The incumbent does not count runs of a kind with ``manageStatus: false``, nor runs that
        asked for another one with ``requeue_after``; whoever calls this may count them.
        """
        self._results.labels(str(gvk), "succeeded" if succeeded else "failed").inc()

    def observe(self, watch: watch.Watch, event_type: str | None, obj: Mapping[str, Any]) -> None:
        """What the controller saw of an object: a series for each that is ours and not deleted."""
        key = objects.key_of(obj, watch.gvk)
        created = _seconds(objects.metadata(obj).get("creationTimestamp"))
        ours = watch.selector is None or watch.selector.matches(objects.labels(obj))
        if event_type == "DELETED" or not ours:
            self.forget(key)
        elif created is not None:
            with self._lock:
                self._known.add(key)
                self._created.labels(*_labels(key)).set(created)

    def forget(self, key: objects.ObjectKey) -> None:
        """The object is gone, whether its deletion was seen or not."""
        with self._lock:
            if key in self._known:
                self._known.remove(key)
                self._created.remove(*_labels(key))

    def retire(self, gvk: objects.GVK) -> None:
        """The kind is run under another version from now on: the series of its objects go."""
        with self._lock:
            retired = [key for key in self._known if key.gvk == gvk]
        for key in retired:
            self.forget(key)


def _labels(key: objects.ObjectKey) -> tuple[str, ...]:
    gvk = key.gvk
    return (key.name, key.namespace, gvk.group, gvk.version, gvk.kind)


def _seconds(text: object) -> float | None:
    """An API time as seconds since 1970, None where there is none."""
    try:
        return datetime.datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None
