"""Discovery: what a client can ask of the server, group by group and all at once."""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wire
import yaml

Table = dict[str, dict[str, list[Any]]]
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
GROUP = f"discovery-{uuid.uuid4().hex[:6]}.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
GROUPS = {
    "admissionregistration.k8s.io": "v1",
    "apiextensions.k8s.io": "v1",
    "apps": "v1",
    "authentication.k8s.io": "v1",
    "authorization.k8s.io": "v1",
    "autoscaling": "v2",
    "batch": "v1",
    "coordination.k8s.io": "v1",
    "discovery.k8s.io": "v1",
    "events.k8s.io": "v1",
    "networking.k8s.io": "v1",
    "node.k8s.io": "v1",
    "policy": "v1",
    "rbac.authorization.k8s.io": "v1",
    "scheduling.k8s.io": "v1",
    "storage.k8s.io": "v1",
}
FACTS = yaml.safe_load(Path(__file__).with_name("discovery.yaml").read_text())
RESOURCES: Table = FACTS["resources"]
SUBRESOURCES: Table = FACTS["subresources"]


def listed(server: wire.Server, path: str) -> dict[str, wire.Obj]:
    """The resources of a group version, by name."""
    found = server.get(path)
    assert found.code == 200, found.text
    assert found.body["kind"] == "APIResourceList"
    assert found.body.get("apiVersion") == (None if path == "/api/v1" else "v1")
    assert found.body["groupVersion"] == path.removeprefix("/apis/").removeprefix("/api/")
    return {resource["name"]: resource for resource in found.body["resources"]}


def aggregated(server: wire.Server, path: str) -> dict[str, wire.Obj]:
    """The groups of aggregated discovery, by name."""
    found = server.get(path, accept=AGGREGATED)
    assert found.code == 200, found.text
    assert found.headers["Content-Type"] == AGGREGATED
    assert found.headers["Vary"] == "Accept"
    assert found.body["kind"] == "APIGroupDiscoveryList"
    assert found.body["apiVersion"] == "apidiscovery.k8s.io/v2"
    return {item["metadata"].get("name", ""): item for item in found.body["items"]}


def of_version(group: wire.Obj, version: str) -> dict[str, wire.Obj]:
    """The resources of one version of a group of aggregated discovery, by name."""
    found = next(item for item in group["versions"] if item["version"] == version)
    assert found["freshness"] == "Current"
    return {resource["resource"]: resource for resource in found["resources"]}


@pytest.fixture(scope="module")
def crd(server: wire.Server) -> Iterator[str]:
    """A CRD with two versions, one with all subresources; the answer is its group."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    body = {
        "metadata": {"name": f"gadgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {
                "plural": "gadgets",
                "kind": "Gadget",
                "shortNames": ["gg"],
                "categories": ["all", "toys"],
            },
            "versions": [
                {"name": "v1alpha1", "served": True, "storage": False, "schema": schema},
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": schema,
                    "subresources": {"status": {}, "scale": scale},
                },
                {"name": "v1beta1", "served": False, "storage": False, "schema": schema},
            ],
        },
    }
    assert server.post(CRDS, body).code == 201
    server.until(f"/apis/{GROUP}/v1", lambda found: len(found["resources"]) == 3)
    server.until(f"/apis/{GROUP}", lambda found: len(found["versions"]) == 2)
    yield GROUP
    server.delete(f"{CRDS}/gadgets.{GROUP}")


def test_the_core_group_has_one_version(server: wire.Server) -> None:
    """/api names it, and an address to reach the server at."""
    found = server.get("/api").body
    assert (found["kind"], found["versions"]) == ("APIVersions", ["v1"])
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": server.url.partition("://")[2]}
    assert found["serverAddressByClientCIDRs"] == [address]


def test_groups_name_their_versions(server: wire.Server) -> None:
    """/apis lists all groups, /apis/GROUP is one of them."""
    found = server.get("/apis").body
    assert (found["kind"], found["apiVersion"]) == ("APIGroupList", "v1")
    by_name = {group["name"]: group for group in found["groups"]}
    assert "" not in by_name
    for name, version in GROUPS.items():
        preferred = {"groupVersion": f"{name}/{version}", "version": version}
        assert by_name[name]["preferredVersion"] == preferred
        assert by_name[name]["versions"][0] == preferred
        one = server.get(f"/apis/{name}").body
        assert one == {"kind": "APIGroup", "apiVersion": "v1", **by_name[name]}


@pytest.mark.parametrize("path", RESOURCES)
def test_resources_say_how_they_are_named(server: wire.Server, path: str) -> None:
    """Kind, singular and short names, scope, verbs and categories."""
    found = listed(server, path)
    for name, (kind, singular, namespaced, short, category) in RESOURCES[path].items():
        resource = dict(found[name])
        assert resource.pop("storageVersionHash")
        assert sorted(resource.pop("verbs")) == ALL
        wanted = {"name": name, "singularName": singular, "namespaced": namespaced, "kind": kind}
        wanted |= {"shortNames": short} if short else {}
        assert resource == wanted | ({"categories": [category]} if category else {})


@pytest.mark.parametrize("path", SUBRESOURCES)
def test_subresources_say_what_they_speak(server: wire.Server, path: str) -> None:
    """Their own kind, with group and version if it is another one, and fewer verbs."""
    found = listed(server, path)
    for name, (kind, other, verbs) in SUBRESOURCES[path].items():
        group, _, version = other.partition("/")
        resource = dict(found[name])
        assert sorted(resource.pop("verbs")) == verbs
        namespaced = found[name.partition("/")[0]]["namespaced"]
        wanted = {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind}
        assert resource == wanted | ({"group": group, "version": version} if other else {})


def test_reviews_can_only_be_created(server: wire.Server) -> None:
    """They are answered, not stored; namespaces cannot be deleted all at once."""
    reviews = listed(server, "/apis/authorization.k8s.io/v1")
    found = reviews["selfsubjectaccessreviews"]
    assert (found["verbs"], found["namespaced"]) == (["create"], False)
    assert "storageVersionHash" not in found
    assert reviews["localsubjectaccessreviews"]["namespaced"] is True
    assert listed(server, "/apis/authentication.k8s.io/v1")["tokenreviews"]["verbs"] == ["create"]
    assert "deletecollection" not in listed(server, "/api/v1")["namespaces"]["verbs"]


def test_versions_of_one_stored_kind_have_the_same_hash(server: wire.Server) -> None:
    """The storage version hash is of group, version and kind that objects are stored in."""
    digest = hashlib.sha256(b"apps/v1/Deployment").digest()[:8]
    stored = listed(server, "/apis/apps/v1")["deployments"]["storageVersionHash"]
    assert stored == base64.b64encode(digest).decode()
    events = listed(server, "/apis/events.k8s.io/v1")["events"]["storageVersionHash"]
    assert events == listed(server, "/api/v1")["events"]["storageVersionHash"]


def test_aggregated_discovery_tells_the_same_in_two_answers(server: wire.Server) -> None:
    """The core group at /api, all others at /apis, with their resources and subresources."""
    core = aggregated(server, "/api")
    assert list(core) == [""]
    groups = aggregated(server, "/apis")
    assert set(GROUPS) <= set(groups)
    for path, wanted in RESOURCES.items():
        group, _, version = path.removeprefix("/api").removeprefix("s/").strip("/").rpartition("/")
        found = of_version(core[""] if not group else groups[group], version)
        for name, (kind, singular, namespaced, short, category) in wanted.items():
            resource = dict(found[name])
            resource.pop("subresources", None)
            assert sorted(resource.pop("verbs")) == ALL
            described: wire.Obj = {
                "resource": name,
                "responseKind": {"group": "", "version": "", "kind": kind},
                "scope": "Namespaced" if namespaced else "Cluster",
                "singularResource": singular,
            }
            described |= {"shortNames": short} if short else {}
            assert resource == described | ({"categories": [category]} if category else {})


def test_aggregated_discovery_nests_subresources(server: wire.Server) -> None:
    """Each says what it answers with and what can be done."""
    pods = of_version(aggregated(server, "/api")[""], "v1")["pods"]["subresources"]
    by_name = {item["subresource"]: item for item in pods}
    eviction = {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert by_name["eviction"] == {
        "subresource": "eviction",
        "responseKind": eviction,
        "verbs": ["create"],
    }
    assert by_name["status"]["responseKind"] == {"group": "", "version": "", "kind": "Pod"}
    deployments = of_version(aggregated(server, "/apis")["apps"], "v1")["deployments"]
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert deployments["subresources"][0]["responseKind"] == scale


def test_aggregated_discovery_is_not_sent_twice(server: wire.Server) -> None:
    """A client that names the ETag it has gets 304 and no body."""
    first = server.get("/api", accept=AGGREGATED)
    tag = first.headers["ETag"]
    assert tag.strip('"') == tag[1:-1]
    again = server.call("GET", "/api", accept=AGGREGATED, headers={"If-None-Match": tag})
    assert (again.code, again.text) == (304, "")


def test_older_forms_of_discovery_get_the_plain_one(server: wire.Server) -> None:
    """v2beta1 is gone: who accepts plain JSON too gets that, who does not gets 406."""
    beta = AGGREGATED.replace("v=v2;", "v=v2beta1;")
    assert server.get("/apis", accept=f"{beta},application/json").body["kind"] == "APIGroupList"
    assert server.get("/apis", accept=f"{AGGREGATED},{beta}").body["kind"].endswith("DiscoveryList")
    refused = server.get("/apis", accept=beta)
    assert (refused.code, refused.body["reason"]) == (406, "NotAcceptable")
    written = server.get("/apis", accept="application/yaml")
    assert yaml.safe_load(written.text)["kind"] == "APIGroupList"


def test_custom_resources_are_discovered(server: wire.Server, crd: str) -> None:
    """All served versions, the most stable first; subresources only where a version has them."""
    group = server.get(f"/apis/{crd}").body
    versions = [{"groupVersion": f"{crd}/{name}", "version": name} for name in ("v1", "v1alpha1")]
    assert group["versions"] == versions
    assert group["preferredVersion"] == versions[0]
    found = listed(server, f"/apis/{crd}/v1")
    assert set(found) == {"gadgets", "gadgets/status", "gadgets/scale"}
    gadgets = found["gadgets"]
    assert sorted(gadgets["verbs"]) == ALL
    assert (gadgets["singularName"], gadgets["namespaced"]) == ("gadget", False)
    assert (gadgets["shortNames"], gadgets["categories"]) == (["gg"], ["all", "toys"])
    assert found["gadgets/scale"]["group"] == "autoscaling"
    assert set(listed(server, f"/apis/{crd}/v1alpha1")) == {"gadgets"}
    own = {"group": crd, "version": "v1", "kind": "Gadget"}
    nested = of_version(aggregated(server, "/apis")[crd], "v1")["gadgets"]
    assert (nested["responseKind"], nested["scope"]) == (own, "Cluster")
    by_name = {item["subresource"]: item["responseKind"] for item in nested["subresources"]}
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert by_name == {"status": own, "scale": scale}


@pytest.mark.parametrize(
    "path", ["/apis/nosuch.example.com", "/apis/nosuch.example.com/v1", "/nope"]
)
def test_unknown_groups_are_no_page(server: wire.Server, path: str) -> None:
    """There is nothing behind such a path, and nothing that could say so in JSON."""
    found = server.get(path)
    assert (found.code, found.text) == (404, "404 page not found\n")


def test_unknown_versions_and_resources_of_custom_groups_are_no_page(
    server: wire.Server, crd: str
) -> None:
    """What is not served of a group that a CRD brought is as if there was no group."""
    for path in (f"/apis/{crd}/v9", f"/apis/{crd}/v1/nosuch", f"/apis/{crd}/v9/gadgets"):
        found = server.get(path)
        assert (found.code, found.text) == (404, "404 page not found\n")


@pytest.mark.parametrize(
    "path", ["/api/v2", "/api/v1/nosuch", "/apis/apps/v9", "/apis/apps/v1/nosuch"]
)
def test_unknown_versions_and_resources_are_not_found(server: wire.Server, path: str) -> None:
    """Where the group is a built-in one the answer is a Status."""
    found = server.get(path)
    assert found.code == 404, found.text
    assert found.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "the server could not find the requested resource",
        "reason": "NotFound",
        "details": {},
        "code": 404,
    }
