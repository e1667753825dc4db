"""The project dropin/memcached: one operator through its whole life, with what roles rely on.

The behaviour is that of operator-sdk's memcached-molecule-operator and of the checks that its
end-to-end tests make of a deployed memcached operator. The tests go on where the one before ended.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator
from typing import Any

import pytest
from dropin import suite

from ansible_operator.testing import controlplane, waiting

pytestmark = pytest.mark.timeout(600)

KINDS = ["Memcached", "Foo", "Memfin"]
NAME = "memcached-sample"
CHILD = f"{NAME}-memcached"
BLACKLISTED = "test-blacklist-watches"
SERVICE = {"name": "test-service", "namespace": "default"}
PRIMARY = "operator-sdk/primary-resource"


@pytest.fixture(scope="module")
def memcached(
    control_plane: controlplane.ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[suite.Suite]:
    """The operator at work on one object of each kind."""
    scratch = tmp_path_factory.mktemp("memcached")
    with suite.running("memcached", control_plane, scratch) as found:
        found.config_map("deleteme", {"data": "nobody's"})
        found.config_map("to-be-read", {"text": "first"})
        for kind in KINDS:
            found.sample(kind)
        yield found
    found.delete({"apiVersion": "v1", "kind": "Service", "metadata": SERVICE})


def deployment(found: suite.Suite) -> dict[str, Any]:
    """The Deployment of the memcached."""
    obj = found.get("Deployment", CHILD, "apps/v1")
    assert obj is not None
    return obj


def service(found: suite.Suite) -> dict[str, Any]:
    """The Service of the memcached."""
    obj = found.get("Service", CHILD)
    assert obj is not None
    return obj


def test_the_deployment_becomes_available(memcached: suite.Suite) -> None:
    """The role's objects are there and belong to the custom resource, but for the blacklist's."""
    resource = memcached.done("Memcached")
    available = memcached.wait("Available", deployment(memcached))
    assert available["status"]["availableReplicas"] == 1
    owner = {key: resource["metadata"][key] for key in ("name", "uid")}
    reference = {"apiVersion": resource["apiVersion"], "kind": "Memcached", **owner}
    secret = memcached.get("Secret", "test-secret")
    blacklisted = memcached.get("ConfigMap", BLACKLISTED)
    for child in (available, service(memcached), secret):
        assert child is not None
        assert child["metadata"]["ownerReferences"] == [reference]
    assert blacklisted is not None
    assert "ownerReferences" not in blacklisted["metadata"]


def test_what_the_role_writes_into_the_status_stays(memcached: suite.Suite) -> None:
    """A key of k8s_status is still there when the operator has written its conditions."""
    resource = memcached.done("Memcached")
    assert resource["status"]["test"] == "hello world"


@pytest.mark.parametrize("kind", ["Foo", "Memfin"])
def test_small_roles_succeed(memcached: suite.Suite, kind: str) -> None:
    """A role that does nothing, and one that only removes something."""
    memcached.done(kind)
    assert kind != "Memfin" or memcached.get("ConfigMap", "deleteme") is None


@pytest.mark.case("W15")
def test_a_core_kind_without_selector_and_status_runs_its_role(memcached: suite.Suite) -> None:
    """Every Secret of the namespace runs the role, whose Service is in another namespace."""

    def of_this_namespace(found: dict[str, Any]) -> bool:
        annotations = found["metadata"].get("annotations") or {}
        namespace, _, _ = annotations.get(PRIMARY, "").partition("/")
        kind = annotations.get(f"{PRIMARY}-type")
        return (namespace, kind) == (memcached.namespace, "Secret")

    obj = {"apiVersion": "v1", "kind": "Service", "metadata": SERVICE}
    memcached.wait(of_this_namespace, obj)
    secret = memcached.get("Secret", "test-secret")
    assert secret is not None
    assert "status" not in secret


def test_metrics_of_the_role_are_shown(memcached: suite.Suite) -> None:
    """Eighteen calls of osdk_metric leave these values at /metrics."""
    memcached.done("Memcached")
    shown = memcached.metrics()
    expected = {
        "test_counter_increment": 1,
        "test_counter_add": 2,
        "test_gauge_set": 5,
        "test_gauge_add": 7,
        "test_gauge_subtract": -7,
        "test_gauge_step": 0,
        "test_summary_sum": 2,
        "test_histogram_sum": 2,
    }
    assert {name: shown.get(name) for name in expected} == expected
    assert time.time() - suite.LIMIT < shown["test_gauge_time"] <= time.time()


def test_the_age_of_each_custom_resource_is_shown(memcached: suite.Suite) -> None:
    """There is a series with the time of creation for each of the three, with these labels."""
    shown = memcached.metrics()
    for kind in KINDS:
        name = f"{kind.lower()}-sample"
        resource = memcached.get(kind, name, "cache.example.com/v1alpha1")
        assert resource is not None
        created = datetime.datetime.fromisoformat(resource["metadata"]["creationTimestamp"])
        labels = {
            *(f'name="{name}"', f'namespace="{memcached.namespace}"', f'kind="{kind}"'),
            *('group="cache.example.com"', 'version="v1alpha1"'),
        }
        [value] = [
            value
            for series, value in shown.items()
            if series.startswith("resource_created_at_seconds{")
            and set(series.partition("{")[2].rstrip("}").split(",")) == labels
        ]
        assert value == created.timestamp()


def test_scaling_by_hand_is_reverted(memcached: suite.Suite) -> None:
    """A change of what the role made runs the role again."""
    memcached.plane.patch(deployment(memcached), {"spec": {"replicas": 2}})
    memcached.wait(lambda found: found["spec"]["replicas"] == 1, deployment(memcached))


def test_a_change_of_the_size_reaches_the_deployment(memcached: suite.Suite) -> None:
    """An edit runs the role with the new value, and it reads what was written just before."""
    resource = memcached.done("Memcached")
    assert memcached.data(BLACKLISTED)["read"] == "first"
    memcached.config_map("to-be-read", {"text": "second"})
    edited = memcached.plane.patch(resource, {"spec": {"size": 2}})
    memcached.wait(
        lambda found: found["spec"]["replicas"] == found["status"].get("availableReplicas") == 2,
        deployment(memcached),
    )
    memcached.wait("Successful", edited)
    assert memcached.data(BLACKLISTED)["read"] == "second"


@pytest.mark.case("W16")
def test_a_deleted_service_comes_back_and_a_blacklisted_kind_is_no_reason(
    memcached: suite.Suite,
) -> None:
    """A change of a ConfigMap starts nothing, the deletion of the Service one run."""
    memcached.wait(lambda: idle(memcached))
    before = memcached.runs(NAME)
    blacklisted = memcached.get("ConfigMap", BLACKLISTED)
    assert blacklisted is not None
    memcached.plane.patch(blacklisted, {"data": {"arbitrary": "changed"}})
    time.sleep(1)  # enough for a run to begin, so that the next one could not hide it
    old = service(memcached)
    memcached.delete(old)
    new = {"apiVersion": "v1", "kind": "Service", "metadata": {**old["metadata"]}}
    memcached.wait(lambda found: found["metadata"]["uid"] != old["metadata"]["uid"], new)
    memcached.wait(lambda: memcached.runs(NAME) > before and idle(memcached))
    assert memcached.runs(NAME) == before + 1
    assert memcached.data(BLACKLISTED)["arbitrary"] == "hello"


def idle(found: suite.Suite) -> bool:
    """Whether the last run of the memcached is over and its status is written."""
    resource = found.get("Memcached", NAME, "cache.example.com/v1alpha1")
    return resource is not None and waiting.fulfilled(resource, "Successful")


def test_deletion_runs_the_finalizer_and_takes_everything_along(memcached: suite.Suite) -> None:
    """The role memfin removes what nobody owns, garbage collection the rest."""
    resource = memcached.done("Memcached")
    assert resource["metadata"]["finalizers"] == ["cache.example.com/finalizer"]
    children = [deployment(memcached), service(memcached)]
    memcached.config_map("deleteme", {"data": "nobody's"})
    memcached.delete(resource)
    memcached.wait("deleted", resource)
    assert memcached.get("ConfigMap", "deleteme") is None
    for child in children:
        memcached.wait("deleted", child)
    memcached.wait(lambda: memcached.get("Secret", "test-secret") is None)
    series = [name for name in memcached.metrics() if f'"{NAME}"' in name]
    assert not [name for name in series if name.startswith("resource_created_at_seconds")]


def test_the_log_tells_of_good_runs_without_gathering_facts(memcached: suite.Suite) -> None:
    """Runs end with the incumbent's words, no task has failed, and no facts were gathered."""
    assert {f"{kind.lower()}-sample" for kind in KINDS} <= {
        entry.get("name") for entry in memcached.operator.logs if entry.get("msg") == suite.DONE
    }
    text = "\n".join(memcached.operator.lines)
    assert "failed=0" in text
    assert "failed=1" not in text
    assert "Gathering Facts" not in text
