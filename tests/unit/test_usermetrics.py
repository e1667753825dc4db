"""Documents of osdk_metric: what each does to its metric, and which are refused."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from prometheus_client import registry

from ansible_operator import exposition, metricchange, usermetrics

NOW = 1700000000.0


class World:
    """Metrics of roles on a registry of their own, at a fixed time."""

    def __init__(self, limit: int = 10) -> None:
        self.registry = registry.CollectorRegistry()
        self.taken = usermetrics.UserMetrics(self.registry, limit=limit, clock=lambda: NOW)

    def send(self, name: str = "m", **parts: Any) -> None:
        """One document."""
        self.taken.apply({"name": name, "description": "what it tells", **parts})

    def value(self, name: str = "m") -> float | None:
        """What a series says."""
        return self.registry.get_sample_value(name)


@pytest.fixture
def world() -> World:
    """No metrics yet."""
    return World()


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({}, 10.0),
        ({"increment": True}, 11.0),
        ({"increment": False, "add": 2.5}, 12.5),
        ({"increment": True, "add": 5}, 11.0),
        ({"increment": None, "add": None}, 10.0),
        ({"add": 0}, 10.0),
        ({"increment": True, "add": -1}, 11.0),
        ({"add": 1, "unknown": [1]}, 11.0),
    ],
)
def test_counter(world: World, change: dict[str, Any], value: float) -> None:
    """The first of increment and add that is not zero counts."""
    world.send(counter={"add": 10})
    world.send(counter=change)
    assert world.value() == value


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({}, 10.0),
        ({"increment": True, "decrement": True}, 11.0),
        ({"decrement": True, "add": 5}, 9.0),
        ({"add": 5, "subtract": 1}, 15.0),
        ({"add": -5}, 5.0),
        ({"subtract": 3, "set": 1}, 7.0),
        ({"set": 4, "set_to_current_time": True}, 4.0),
        ({"set_to_current_time": True}, NOW),
        ({"set": 0, "set_to_current_time": True}, NOW),
        ({"set": 0}, 0.0),
        ({"set": 0, "add": 0, "increment": False}, 0.0),
        ({"set": 0, "add": 2}, 12.0),
        ({"set": None, "set_to_current_time": False}, 10.0),
    ],
)
def test_gauge(world: World, change: dict[str, Any], value: float) -> None:
    """The first that is not zero in the incumbent's order; a zero to set is not lost."""
    world.send(gauge={"set": 10})
    world.send(gauge=change)
    assert world.value() == value


@pytest.mark.parametrize("kind", ["histogram", "summary"])
def test_observations(world: World, kind: str) -> None:
    """An empty map only creates; an observed 0 counts; histogram and summary are the same."""
    empty: dict[str, Any] = {kind: {}}
    world.send(**empty)
    assert (world.value("m_count"), world.value("m_sum")) == (0.0, 0.0)
    two: dict[str, Any] = {kind: {"observe": 2}}
    world.send(**two)
    world.send(histogram={"observe": 0})
    world.send(summary={"observe": 0.5})
    assert (world.value("m_count"), world.value("m_sum")) == (3.0, 2.5)


def test_buckets_are_those_of_the_incumbent(world: World) -> None:
    """Dashboards know Go's bounds."""
    world.send(histogram={"observe": 3})
    text = exposition.render(world.registry).decode()
    bounds = [line.split('"')[1] for line in text.splitlines() if line.startswith("m_bucket")]
    assert " ".join(bounds) == "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf"
    assert 'm_bucket{le="2.5"} 0\nm_bucket{le="5"} 1\n' in text


REFUSED: list[tuple[object, int, str]] = [
    (None, 400, "must be a JSON object"),
    ([], 400, "must be a JSON object"),
    ({}, 400, "name: None is no name"),
    ({"name": "", "counter": {}}, 400, "is no name of a metric"),
    ({"name": "1st", "counter": {}}, 400, "is no name of a metric"),
    ({"name": "two words", "counter": {}}, 400, "is no name of a metric"),
    ({"name": "ü", "counter": {}}, 400, "is no name of a metric"),
    ({"name": "m\n", "counter": {}}, 400, "is no name of a metric"),
    ({"name": "m" * 201, "counter": {}}, 400, "at most 200 characters"),
    ({"name": 5, "counter": {}}, 400, "is no name of a metric"),
    ({"name": "m", "description": 5, "counter": {}}, 400, "description must be a text"),
    ({"name": "m"}, 400, "at least one metric"),
    ({"name": "m", "counter": None}, 400, "at least one metric"),
    ({"name": "m", "counter": {}, "gauge": {}}, 400, "only one metric"),
    ({"name": "m", "counter": []}, 400, "counter must be a JSON object"),
    ({"name": "m", "counter": {"add": -1}}, 400, "cannot decrease"),
    ({"name": "m", "counter": {"add": "1"}}, 400, "counter.add must be a number"),
    ({"name": "m", "counter": {"add": True}}, 400, "counter.add must be a number"),
    ({"name": "m", "counter": {"increment": 1}}, 400, "counter.increment must be true or false"),
    ({"name": "m", "gauge": {"set": float("nan")}}, 400, "gauge.set must be a number"),
    ({"name": "m", "gauge": {"set": 10**400}}, 400, "gauge.set must be a number"),
    ({"name": "m", "gauge": {"set": [0]}}, 400, "gauge.set must be a number"),
    ({"name": "m", "summary": {"observe": float("inf")}}, 400, "summary.observe must be a number"),
    ({"name": "taken", "counter": {}}, 400, "cannot change metric type of taken"),
    ({"name": "seen", "gauge": {}}, 400, "cannot change metric type of seen, which is a histogram"),
    ({"name": "seen_count", "counter": {}}, 400, "would show series of, another metric"),
    ({"name": "third", "counter": {}}, 429, "there are 2 metrics already"),
]


@pytest.mark.parametrize(("document", "status", "words"), REFUSED)
def test_refused(document: object, status: int, words: str) -> None:
    """A wrong document is refused with its status and why, and creates nothing."""
    world = World(limit=3 if status == 400 else 2)
    world.send("taken", gauge={"set": 1})
    world.send("seen", histogram={})
    before = exposition.render(world.registry)
    with pytest.raises(metricchange.RefusedError, match=words) as caught:
        world.taken.apply(document)
    assert caught.value.status == status
    assert exposition.render(world.registry) == before


def test_known_metrics_change_beyond_the_limit() -> None:
    """Only new names are refused."""
    world = World(limit=1)
    world.send(counter={"increment": True})
    world.send(counter={"increment": True})
    assert world.value() == 2.0


def test_parallel_documents_lose_nothing(world: World) -> None:
    """Every increment counts, and the metric is created once, whatever the threads do."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=_count, args=(world,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert world.value() == 8 * 200


def _count(world: World) -> None:
    for _ in range(200):
        world.send(counter={"increment": True})


def test_text_is_what_dashboards_of_the_incumbent_read(world: World) -> None:
    """Counters have exactly their name, whole numbers no point, and no series is added."""
    world.send("plain", counter={"add": 2})
    world.send("jobs_total", counter={"add": 1.5})
    world.send("level", gauge={"set": -7}, description="a\\b\nc")
    world.send("spent", summary={"observe": 2})
    assert exposition.render(world.registry).decode() == (
        "# HELP jobs_total what it tells\n# TYPE jobs_total counter\njobs_total 1.5\n"
        "# HELP level a\\\\b\\nc\n# TYPE level gauge\nlevel -7\n"
        "# HELP plain what it tells\n# TYPE plain counter\nplain 2\n"
        "# HELP spent what it tells\n# TYPE spent summary\nspent_count 1\nspent_sum 2\n"
    )
