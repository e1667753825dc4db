"""What a request wants, read from its method and URL."""

from __future__ import annotations

import pytest

from ansible_operator.sandbox.rights import attributes

APPS = {"group": "apps", "version": "v1", "plural": "deployments"}
PODS = {"version": "v1", "plural": "pods"}


@pytest.mark.parametrize(
    ("method", "path", "query", "wanted"),
    [
        ("GET", "/api/v1/pods", {}, {**PODS, "verb": "list"}),
        ("GET", "/api/v1/namespaces/a/pods/", {}, {**PODS, "verb": "list", "namespace": "a"}),
        ("GET", "/api/v1/pods", {"watch": "1"}, {**PODS, "verb": "watch"}),
        ("GET", "/api/v1/pods", {"watch": ""}, {**PODS, "verb": "watch"}),
        ("GET", "/api/v1/pods", {"watch": "0"}, {**PODS, "verb": "list"}),
        ("GET", "/api/v1/watch/pods", {}, {**PODS, "verb": "watch"}),
        (
            "GET",
            "/api/v1/pods",
            {"fieldSelector": "spec.a=b,metadata.name==c"},
            {**PODS, "verb": "list", "name": "c"},
        ),
        ("GET", "/api/v1/pods", {"fieldSelector": "metadata.name!=a"}, {**PODS, "verb": "list"}),
        (
            "GET",
            "/api/v1/namespaces/a/pods/p",
            {"watch": "1"},
            {**PODS, "verb": "get", "namespace": "a", "name": "p"},
        ),
        (
            "HEAD",
            "/api/v1/namespaces/a/pods/p/log",
            {},
            {**PODS, "verb": "get", "namespace": "a", "name": "p", "subresource": "log"},
        ),
        (
            "PUT",
            "/apis/apps/v1/namespaces/a/deployments/d/scale/deep/er",
            {},
            {**APPS, "verb": "update", "namespace": "a", "name": "d", "subresource": "scale"},
        ),
        ("POST", "/apis/apps/v1/namespaces/a/deployments", {}, {**APPS, "verb": "create"}),
        ("DELETE", "/apis/apps/v1/namespaces/a/deployments", {}, {"verb": "deletecollection"}),
        ("DELETE", "/apis/apps/v1/namespaces/a/deployments/d", {}, {"verb": "delete"}),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/d", {}, {"verb": "patch"}),
    ],
)
def test_resources(method: str, path: str, query: dict[str, str], wanted: dict[str, str]) -> None:
    """Verb, resource, namespace and name are those that the server's messages tell."""
    found = attributes.of_request(method, path, query)
    assert found.path == ""
    assert {key: getattr(found, key) for key in wanted} == wanted


@pytest.mark.parametrize("rest", ["", "/status", "/finalize"])
def test_a_namespace_is_in_itself(rest: str) -> None:
    """The namespace's own requests count as requests in it."""
    found = attributes.of_request("GET", f"/api/v1/namespaces/a{rest}", {})
    assert (found.plural, found.namespace, found.name) == ("namespaces", "a", "a")
    assert found.resource == f"namespaces{rest}"


@pytest.mark.parametrize(
    "path", ["/", "/api", "/apis/", "/api/v1/", "/apis/apps", "/apis/apps/v1", "/healthz/ping"]
)
def test_paths_that_are_no_resource(path: str) -> None:
    """Discovery and the like are paths with the method as their verb."""
    assert attributes.of_request("GET", path, {}) == attributes.Attributes("get", path)
    assert attributes.of_request("POST", path, {}).verb == "post"
