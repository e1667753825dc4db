"""Metrics that roles keep with ``osdk_metric``: one document changes one metric.

The protocol is the incumbent's (``POST http://localhost:5050/metrics``). What differs: setting a
gauge to 0 works, an empty ``histogram`` or ``summary`` only creates (there it observes a 0), a
document that is wrong creates nothing, and the number of metrics has a bound.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import prometheus_client
from prometheus_client import metrics_core, registry

from ansible_operator import metricchange

LIMIT = 1000
"""How many metrics roles may create; each lives as long as the process."""

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of histograms: those of Go's client, not of Python's."""

_OBSERVED = frozenset({"histogram", "summary"})


class _Metric(Protocol):
    """A metric of the registry; each type has the methods that its steps name."""

    def collect(self) -> Iterable[metrics_core.Metric]: ...


class _Counter:
    """A counter under exactly its name, which the library's own one would end in ``_total``."""

    def __init__(self, name: str, description: str) -> None:
        self._name = name
        self._description = description
        self._value = 0.0

    def inc(self, amount: float) -> None:
        """Grow."""
        self._value += amount

    def describe(self) -> Iterable[metrics_core.Metric]:
        """What the registry holds the names of others against."""
        yield metrics_core.Metric(self._name, self._description, "gauge")

    def collect(self) -> Iterable[metrics_core.Metric]:
        """The family with its one sample."""
        family = metrics_core.Metric(self._name, self._description, "counter")
        family.add_sample(self._name, {}, self._value)
        yield family


class UserMetrics:
    """What the documents that came so far have made of the metrics. Thread-safe.

    New metrics are registered with ``metrics``. ``clock`` tells the seconds since 1970.
    """

    def __init__(
        self,
        metrics: registry.CollectorRegistry,
        *,
        limit: int = LIMIT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._registry = metrics
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._metrics: dict[str, tuple[str, Any]] = {}

    def apply(self, document: object) -> None:
        """Do what the document (parsed JSON) says; creates its metric if it is new.

        Raises RefusedError with status 400 for a wrong document or another type than before,
        429 for a new name beyond the limit.
        """
        change = metricchange.read(document, self._clock())
        with self._lock:
            metric = self._metric(change)
            if change.step is not None:
                method, amount = change.step
                getattr(metric, method)(amount)

    def _metric(self, change: metricchange.Change) -> Any:
        name, kind = change.name, change.kind
        if name in self._metrics:
            known, metric = self._metrics[name]
            if kind != known and not {kind, known} <= _OBSERVED:
                raise metricchange.RefusedError(
                    f"cannot change metric type of {name}, which is a {known}"
                )
            return metric
        if len(self._metrics) >= self._limit:
            raise metricchange.RefusedError(
                f"there are {self._limit} metrics already, {name} is not created. "
                "Names must not be made of what changes, such as names of objects",
                status=429,
            )
        metric = _create(change)
        self._register(name, metric)
        self._metrics[name] = (kind, metric)
        return metric

    def _register(self, name: str, metric: _Metric) -> None:
        try:
            self._registry.register(metric)
        except ValueError:
            raise metricchange.RefusedError(
                f"{name} is, or would show series of, another metric. Choose another name"
            ) from None


def _create(change: metricchange.Change) -> _Metric:
    name, description, kind = change.name, change.description, change.kind
    if kind == "counter":
        return _Counter(name, description)
    if kind == "gauge":
        return prometheus_client.Gauge(name, description, registry=None)
    if kind == "histogram":
        return prometheus_client.Histogram(name, description, registry=None, buckets=BUCKETS)
    return prometheus_client.Summary(name, description, registry=None)
