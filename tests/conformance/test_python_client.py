"""The official Python client: typed, dynamic and asynchronous, and its leader election."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import wire
from kubernetes import aio, client, config, dynamic, watch

from ansible_operator.testing import controlplane

# These are not annotated.
DYNAMIC: Any = dynamic.DynamicClient
AIO: Any = aio
WATCH: Any = watch.Watch
LOAD: Any = config.new_client_from_config


@pytest.fixture(scope="module")
def api(control_plane: controlplane.ControlPlane) -> Iterator[client.ApiClient]:
    """A client of the control plane."""
    with LOAD(str(control_plane.kubeconfig)) as made:
        yield made


def configmap(name: str, **data: str) -> client.V1ConfigMap:
    """A typed config map."""
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data)


def test_typed_client(api: client.ApiClient, ns: str) -> None:
    """Objects are created, read, patched, replaced, listed and deleted as typed models."""
    core: Any = client.CoreV1Api(api)
    made = core.create_namespaced_config_map(ns, configmap("a", x="1"))
    assert made.metadata.uid
    patched = core.patch_namespaced_config_map("a", ns, {"data": {"y": "2"}})
    assert patched.data == {"x": "1", "y": "2"}
    patched.data["x"] = "3"
    assert core.replace_namespaced_config_map("a", ns, patched).data["x"] == "3"
    with pytest.raises(client.ApiException) as refused:
        core.replace_namespaced_config_map("a", ns, made)
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")
    names = [item.metadata.name for item in core.list_namespaced_config_map(ns).items]
    assert "a" in names
    core.delete_namespaced_config_map("a", ns)
    with pytest.raises(client.ApiException) as gone:
        core.read_namespaced_config_map("a", ns)
    assert gone.value.status == 404


def test_typed_workloads(api: client.ApiClient, ns: str) -> None:
    """A Deployment survives the round trip through the models, defaults and all."""
    apps: Any = client.AppsV1Api(api)
    body = {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
            },
        },
    }
    made = apps.create_namespaced_deployment(ns, body)
    assert made.spec.strategy.rolling_update.max_surge == "25%"
    apps.patch_namespaced_deployment_scale("web", ns, {"spec": {"replicas": 1}})
    assert apps.read_namespaced_deployment_scale("web", ns).spec.replicas == 1
    assert apps.read_namespaced_deployment_status("web", ns).metadata.generation == 2


def test_typed_watch(api: client.ApiClient, ns: str) -> None:
    """The watch helper delivers typed events and goes on from a version."""
    core: Any = client.CoreV1Api(api)
    core.create_namespaced_config_map(ns, configmap("a"))
    version = core.list_namespaced_config_map(ns).metadata.resource_version
    timer = threading.Timer(0.3, lambda: core.create_namespaced_config_map(ns, configmap("b")))
    timer.start()
    events = WATCH()
    found = []
    for event in events.stream(
        core.list_namespaced_config_map, ns, resource_version=version, timeout_seconds=20
    ):
        found.append((event["type"], event["object"].metadata.name))
        events.stop()
    timer.join()
    assert found == [("ADDED", "b")]


def test_discovery_and_version(api: client.ApiClient) -> None:
    """The typed clients of versions and groups can read what discovery says."""
    assert client.VersionApi(api).get_code().major == "1"
    groups = {group.name for group in client.ApisApi(api).get_api_versions().groups}
    assert {"apps", "batch", "rbac.authorization.k8s.io", "apiextensions.k8s.io"} <= groups
    resources = client.AppsV1Api(api).get_api_resources().resources
    assert "deployments/scale" in {resource.name for resource in resources}


def test_access_reviews(api: client.ApiClient, ns: str) -> None:
    """A SelfSubjectAccessReview of the administrator is allowed."""
    asked = client.V1ResourceAttributes(namespace=ns, verb="create", resource="pods")
    spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=asked)
    review = client.V1SelfSubjectAccessReview(spec=spec)
    reviews: Any = client.AuthorizationV1Api(api)
    answer = reviews.create_self_subject_access_review(review)
    assert answer.status.allowed is True


def test_dynamic_client(api: client.ApiClient, ns: str) -> None:
    """The dynamic client finds kinds by discovery and speaks every verb, apply among them."""
    found = DYNAMIC(api)
    kind = found.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
    assert kind.create(body=body, namespace=ns).data.x == "1"
    applied = kind.server_side_apply(
        body=body | {"data": {"y": "2"}}, namespace=ns, name="a", field_manager="test"
    )
    assert applied.data.to_dict() == {"x": "1", "y": "2"}
    merge = "application/merge-patch+json"
    assert kind.patch(body={"data": {"x": None}}, name="a", namespace=ns, content_type=merge)
    listed = kind.get(namespace=ns, label_selector="!none", limit=500).items
    assert "a" in [item.metadata.name for item in listed]
    kind.delete(name="a", namespace=ns)
    with pytest.raises(dynamic.exceptions.NotFoundError):
        kind.get(name="a", namespace=ns)
    scale = found.resources.get(api_version="apps/v1", kind="Deployment")
    assert "scale" in scale.subresources


def test_asynchronous_client(control_plane: controlplane.ControlPlane, ns: str) -> None:
    """The asynchronous client creates and watches within one event loop."""

    async def work() -> tuple[str, str]:
        loaded = await AIO.config.new_client_from_config(str(control_plane.kubeconfig))
        async with loaded as connection:
            core = AIO.client.CoreV1Api(connection)
            since = (await core.list_namespaced_config_map(ns)).metadata.resource_version
            await core.create_namespaced_config_map(
                ns, AIO.client.V1ConfigMap(metadata=AIO.client.V1ObjectMeta(name="a"))
            )
            events = AIO.watch.Watch()
            async with events.stream(
                core.list_namespaced_config_map, ns, resource_version=since, timeout_seconds=20
            ) as stream:
                async for event in stream:
                    return event["type"], event["object"].metadata.name
        raise AssertionError("the watch ended without an event")

    assert asyncio.run(work()) == ("ADDED", "a")


def test_leases_elect_one_leader(api: client.ApiClient, ns: str) -> None:
    """Of two that renew a Lease from the same version, one wins and the other sees a conflict."""
    leases: Any = client.CoordinationV1Api(api)
    body = client.V1Lease(
        metadata=client.V1ObjectMeta(name="leader"),
        spec=client.V1LeaseSpec(holder_identity="one", lease_duration_seconds=15),
    )
    leases.create_namespaced_lease(ns, body)
    with pytest.raises(client.ApiException) as taken:
        leases.create_namespaced_lease(ns, body)
    assert taken.value.status == 409
    mine, theirs = (leases.read_namespaced_lease("leader", ns) for _ in range(2))
    mine.spec.holder_identity, theirs.spec.holder_identity = "one", "two"
    mine.spec.lease_duration_seconds = 20
    leases.replace_namespaced_lease("leader", ns, mine)
    with pytest.raises(client.ApiException) as lost:
        leases.replace_namespaced_lease("leader", ns, theirs)
    assert (lost.value.status, lost.value.reason) == (409, "Conflict")
    assert leases.read_namespaced_lease("leader", ns).spec.holder_identity == "one"


def test_events_in_both_groups(api: client.ApiClient, server: wire.Server, ns: str) -> None:
    """An Event of the core group can be read in events.k8s.io, and the other way round."""
    core: Any = client.CoreV1Api(api)
    old = {
        "metadata": {"name": "old"},
        "involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": ns},
        "reason": "Because",
        "message": "of that",
        "type": "Normal",
    }
    core.create_namespaced_event(ns, old)
    # The typed model cannot be made of an Event without an eventTime.
    seen = server.get(f"/apis/events.k8s.io/v1/namespaces/{ns}/events/old").body
    assert (seen["note"], seen["reason"], seen["regarding"]["name"]) == ("of that", "Because", "a")
    assert seen["kind"] == "Event"
    assert "message" not in seen
    new = {
        "metadata": {"name": "new"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/test",
        "reportingInstance": "test-1",
        "action": "Testing",
        "reason": "Because",
        "note": "of this",
        "type": "Normal",
        "regarding": {"kind": "ConfigMap", "name": "a", "namespace": ns},
    }
    # The typed client drops the fraction of a second that the server insists on.
    assert server.post(f"/apis/events.k8s.io/v1/namespaces/{ns}/events", new).code == 201
    assert core.read_namespaced_event("new", ns).message == "of this"
