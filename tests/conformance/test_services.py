"""Services and the addresses behind them: Endpoints and EndpointSlices."""

from __future__ import annotations

from typing import Any

import pytest
import wire

Obj = dict[str, Any]
PORTS = [
    {"name": "http", "containerPort": 8080},
    {"name": "dns", "containerPort": 53, "protocol": "UDP"},
]


def core(ns: str, plural: str, name: str = "") -> str:
    """The path of a namespaced object of the core group."""
    return f"/api/v1/namespaces/{ns}/{plural}" + (f"/{name}" if name else "")


def slices(ns: str) -> str:
    """The path of the endpoint slices."""
    return f"/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"


def service(server: wire.Server, ns: str, name: str, **spec: Any) -> Obj:
    """Create a service."""
    metadata = {"name": name, "labels": {"own": "label"}}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    answer = server.post(core(ns, "services"), body)
    assert answer.code == 201, answer.text
    found: Obj = answer.body
    return found


def pod(server: wire.Server, ns: str, name: str, **spec: Any) -> None:
    """Create a pod with the label ``app: web`` and two ports."""
    containers = [{"name": "c", "image": "x", "ports": PORTS}]
    metadata = {"name": name, "labels": {"app": "web"}}
    body = {"containers": containers, **spec}
    answer = server.post(
        core(ns, "pods"), {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}
    )
    assert answer.code == 201, answer.text


def slice_of(server: wire.Server, ns: str, name: str, holds: Any = lambda found: True) -> Obj:
    """The one endpoint slice of a service, once it is as wanted."""
    path = f"{slices(ns)}?labelSelector=kubernetes.io/service-name%3D{name}"
    found = server.until(path, lambda f: len(f["items"]) == 1 and holds(f["items"][0]))
    item: Obj = found["items"][0]
    return item


def addresses(found: Obj) -> list[str]:
    """The ready addresses of endpoints."""
    return [a["ip"] for subset in found.get("subsets", ()) for a in subset.get("addresses", ())]


@pytest.fixture
def running(server: wire.Server, ns: str) -> Obj:
    """A pod ``a`` that is ready."""
    pod(server, ns, "a")
    return server.until(core(ns, "pods", "a"), lambda obj: obj["status"]["phase"] == "Running")


def test_service_has_endpoints(server: wire.Server, ns: str, running: Obj) -> None:
    """The addresses and ports of ready pods stand in Endpoints and in an EndpointSlice."""
    ports = [
        {"name": "web", "port": 80, "targetPort": "http"},
        {"name": "dns", "port": 53, "targetPort": "dns", "protocol": "UDP"},
        {"name": "none", "port": 99, "targetPort": "nobody-has-it"},
    ]
    made = service(server, ns, "web", selector={"app": "web"}, ports=ports)
    found = server.until(core(ns, "endpoints", "web"), addresses)
    address, uid = running["status"]["podIP"], running["metadata"]["uid"]
    target = {"kind": "Pod", "namespace": ns, "name": "a", "uid": uid}
    assert found["metadata"]["labels"] == {
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
        "own": "label",
    }
    (subset,) = found["subsets"]
    node = running["spec"]["nodeName"]
    assert subset["addresses"] == [{"ip": address, "nodeName": node, "targetRef": target}]
    wanted = [("dns", 53, "UDP"), ("web", 8080, "TCP")]
    assert sorted((p["name"], p["port"], p["protocol"]) for p in subset["ports"]) == wanted
    item = slice_of(server, ns, "web", lambda one: one["endpoints"])
    meta = item["metadata"]
    assert meta["generateName"] == "web-"
    assert meta["labels"] == {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
        "own": "label",
    }
    owner = {"blockOwnerDeletion": True, "controller": True, "uid": made["metadata"]["uid"]}
    assert meta["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Service", "name": "web", **owner}
    ]
    assert item["addressType"] == "IPv4"
    assert item["endpoints"] == [
        {
            "addresses": [address],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": node,
            "targetRef": target,
        }
    ]
    assert sorted((p["name"], p["port"], p["protocol"]) for p in item["ports"]) == wanted
    assert server.delete(core(ns, "services", "web")).code == 200
    server.until_gone(core(ns, "endpoints", "web"))
    server.until(slices(ns), lambda found: not found["items"])


def test_endpoints_follow_the_pods(server: wire.Server, ns: str, running: Obj) -> None:
    """A pod that is not ready is listed as such; one that is deleted is not listed."""
    service(server, ns, "web", selector={"app": "web"}, ports=[{"port": 80}])
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}], "publishNotReadyAddresses": True}
    service(server, ns, "eager", **spec)
    server.until(core(ns, "endpoints", "web"), addresses)
    address = running["status"]["podIP"]
    unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    path = core(ns, "pods", "a/status")
    assert server.patch(path, unready, content_type=wire.STRATEGIC).code == 200
    found = server.until(core(ns, "endpoints", "web"), lambda obj: not addresses(obj))
    (subset,) = found["subsets"]
    assert [one["ip"] for one in subset["notReadyAddresses"]] == [address]
    assert subset["ports"] == [{"port": 80, "protocol": "TCP"}]
    item = slice_of(server, ns, "web", lambda one: not one["endpoints"][0]["conditions"]["ready"])
    state = {"ready": False, "serving": False, "terminating": False}
    assert item["endpoints"][0]["conditions"] == state
    assert item["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]
    eager = slice_of(
        server, ns, "eager", lambda one: not one["endpoints"][0]["conditions"]["serving"]
    )
    assert eager["endpoints"][0]["conditions"]["ready"] is True
    assert addresses(server.get(core(ns, "endpoints", "eager")).body) == [address]
    assert server.delete(core(ns, "pods", "a")).code == 200
    server.until(core(ns, "endpoints", "web"), lambda obj: "subsets" not in obj)
    slice_of(server, ns, "web", lambda one: not one["endpoints"])


def test_endpoints_are_deprecated(server: wire.Server, shared_ns: str) -> None:
    """Who asks for them is told so, and what to use."""
    told = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    assert server.get(core(shared_ns, "endpoints")).warnings == [f'"{told}"']
    answer = server.post(core(shared_ns, "endpoints"), {"metadata": {"name": "own"}})
    assert (answer.code, answer.warnings) == (201, [f'"{told}"'])


def test_service_without_pods(server: wire.Server, ns: str) -> None:
    """Its endpoints are empty; services of other names or without a selector have none."""
    service(server, ns, "empty", selector={"app": "nobody"}, ports=[{"port": 80}])
    service(server, ns, "alias", type="ExternalName", externalName="example.com")
    service(server, ns, "manual", ports=[{"port": 80}])
    found = server.until(core(ns, "endpoints", "empty"), lambda obj: True)
    assert "subsets" not in found
    item = slice_of(server, ns, "empty")
    assert (item["endpoints"], item["ports"]) == (None, None)
    for name in ("alias", "manual"):
        assert server.get(core(ns, "endpoints", name)).code == 404
    body = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "manual"},
        "subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}],
    }
    assert server.post(core(ns, "endpoints"), body).code == 201
    mirrored = slice_of(server, ns, "manual")
    assert mirrored["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] == (
        "endpointslicemirroring-controller.k8s.io"
    )
    assert mirrored["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"
    assert mirrored["endpoints"] == [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}]
    assert mirrored["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]


def test_headless_service_names_its_pods(server: wire.Server, ns: str) -> None:
    """A headless service is labelled so, and gives pods that name it their host names."""
    spec = {"clusterIP": "None", "selector": {"app": "web"}}
    made = service(server, ns, "db", **spec)
    assert made["spec"]["clusterIP"] == "None"
    pod(server, ns, "db-0", hostname="db-0", subdomain="db")
    found = server.until(core(ns, "endpoints", "db"), addresses)
    assert found["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
    (subset,) = found["subsets"]
    assert subset["addresses"][0]["hostname"] == "db-0"
    assert "ports" not in subset
    item = slice_of(server, ns, "db", lambda one: one["endpoints"])
    assert item["endpoints"][0]["hostname"] == "db-0"
    assert item["metadata"]["labels"]["service.kubernetes.io/headless"] == ""
