"""The operator's own metrics: which series there are, and when they go."""

from __future__ import annotations

import engine_fakes
import pytest

from ansible_operator import exposition, metrics, selector

TIME = "2024-01-01T00:00:00Z"
SECONDS = 1704067200
SERIES = (
    'resource_created_at_seconds{group="db.example.com",kind="Etcd",'
    f'name="one",namespace="prod",version="v1"}} {SECONDS}'
)


@pytest.fixture
def counted() -> metrics.Metrics:
    """Metrics for one watched kind."""
    return metrics.Metrics([engine_fakes.GVK], version="1.2.3")


def lines(counted: metrics.Metrics, name: str) -> list[str]:
    """The series of a metric."""
    text = exposition.render(counted.registry).decode()
    return [line for line in text.splitlines() if line.startswith(f"{name}{{")]


def test_build_info(counted: metrics.Metrics) -> None:
    """The version is a label, the value 1."""
    assert lines(counted, "ansible_operator_build_info") == [
        'ansible_operator_build_info{commit="unknown",version="1.2.3"} 1'
    ]


def test_results_are_counted_per_kind(counted: metrics.Metrics) -> None:
    """Watched kinds have both series from the start; the label is Go's text for the kind."""
    counted.finished(engine_fakes.GVK, succeeded=True)
    counted.finished(engine_fakes.GVK, succeeded=True)
    counted.finished(engine_fakes.OTHER, succeeded=False)
    name, kind = "ansible_operator_reconcile_result", "db.example.com/v1, Kind="
    assert lines(counted, name) == [
        f'{name}{{GVK="{kind}Etcd",result="succeeded"}} 2',
        f'{name}{{GVK="{kind}Etcd",result="failed"}} 0',
        f'{name}{{GVK="{kind}Backup",result="failed"}} 1',
    ]


@pytest.mark.parametrize("event", ["ADDED", "MODIFIED", None])
def test_an_object_has_a_series_until_it_is_deleted(
    counted: metrics.Metrics, event: str | None
) -> None:
    """Its value is the time of creation; a second deletion is no error."""
    one = engine_fakes.make(creationTimestamp=TIME)
    counted.observe(engine_fakes.watch(), event, one)
    counted.observe(engine_fakes.watch(), event, one)
    assert lines(counted, "resource_created_at_seconds") == [SERIES]
    counted.observe(engine_fakes.watch(), "DELETED", one)
    counted.observe(engine_fakes.watch(), "DELETED", one)
    assert lines(counted, "resource_created_at_seconds") == []


def test_objects_that_vanished_or_are_no_longer_ours_have_no_series(
    counted: metrics.Metrics,
) -> None:
    """Forgotten, out of the selector, of a kind that is run under another version: gone."""
    one, two, three = (
        engine_fakes.make(name, creationTimestamp=TIME, labels={"on": "yes"})
        for name in ("one", "two", "three")
    )
    on = selector.Selector((selector.Requirement("on", "In", ("yes",)),))
    watch = engine_fakes.watch(selector=on)
    for found in (one, two, three):
        counted.observe(watch, "ADDED", found)
    two["metadata"]["labels"] = {}
    counted.observe(watch, "MODIFIED", two)
    counted.forget(engine_fakes.key("three"))
    assert lines(counted, "resource_created_at_seconds") == [SERIES]
    counted.retire(engine_fakes.OTHER)
    assert lines(counted, "resource_created_at_seconds") == [SERIES]
    counted.retire(engine_fakes.GVK)
    assert lines(counted, "resource_created_at_seconds") == []


@pytest.mark.parametrize("time", [None, "", "yesterday"])
def test_an_object_without_a_time_has_no_series(counted: metrics.Metrics, time: str | None) -> None:
    """Nothing is made up."""
    counted.observe(engine_fakes.watch(), "ADDED", engine_fakes.make(creationTimestamp=time))
    assert lines(counted, "resource_created_at_seconds") == []


def test_the_process_is_measured(counted: metrics.Metrics) -> None:
    """Memory and CPU time have the names that every dashboard knows."""
    text = exposition.render(counted.registry).decode()
    assert "\n# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total " in text
    assert "\nprocess_resident_memory_bytes " in text
