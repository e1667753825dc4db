"""Requests told from method and URL, as the API server tells them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.kube.proxy import requests

CORE, APPS = "/api/v1", "/apis/apps/v1"


def facts(method: str, target: str) -> tuple[str, ...]:
    """Verb, group, version, resource, subresource, namespace and name."""
    found = requests.parse(method, target)
    return (
        found.verb,
        found.group,
        found.version,
        found.resource,
        found.subresource,
        found.namespace,
        found.name,
    )


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", f"{CORE}/nodes", ("list", "", "v1", "nodes", "", "", "")),
        ("GET", f"{CORE}/nodes/a", ("get", "", "v1", "nodes", "", "", "a")),
        ("HEAD", f"{CORE}/nodes/a", ("get", "", "v1", "nodes", "", "", "a")),
        ("GET", f"{CORE}/namespaces/n/pods", ("list", "", "v1", "pods", "", "n", "")),
        ("POST", f"{CORE}/namespaces/n/pods", ("create", "", "v1", "pods", "", "n", "")),
        (
            "GET",
            f"{CORE}/namespaces/n/pods/p/log?follow=1",
            ("get", "", "v1", "pods", "log", "n", "p"),
        ),
        (
            "PUT",
            f"{APPS}/namespaces/n/deployments/d",
            ("update", "apps", "v1", "deployments", "", "n", "d"),
        ),
        (
            "PATCH",
            f"{APPS}/namespaces/n/deployments/d/scale",
            ("patch", "apps", "v1", "deployments", "scale", "n", "d"),
        ),
        (
            "DELETE",
            f"{CORE}/namespaces/n/pods",
            ("deletecollection", "", "v1", "pods", "", "n", ""),
        ),
        ("DELETE", f"{CORE}/namespaces/n/pods/p", ("delete", "", "v1", "pods", "", "n", "p")),
    ],
)
def test_plain_requests(method: str, target: str, expected: tuple[str, ...]) -> None:
    """Verb, resource, namespace and name of the usual forms."""
    assert facts(method, target) == expected


def test_namespaces_are_objects_and_places() -> None:
    """A namespace is in its own; what stands behind it is in it, but for two subresources."""
    assert facts("GET", f"{CORE}/namespaces") == ("list", "", "v1", "namespaces", "", "", "")
    named = ("", "v1", "namespaces", "", "n", "n")
    assert facts("GET", f"{CORE}/namespaces/n") == ("get", *named)
    for subresource in ("status", "finalize"):
        found = requests.parse("PUT", f"{CORE}/namespaces/n/{subresource}")
        assert (found.resource, found.name, found.subresource) == ("namespaces", "n", subresource)


@pytest.mark.parametrize(
    ("query", "verb"),
    [
        ("watch=true", "watch"),
        ("watch=1", "watch"),
        ("watch", "watch"),
        ("watch=false", "list"),
        ("watch=False", "list"),
        ("watch=0", "list"),
        ("watch=false&watch=true", "list"),
        ("limit=5", "list"),
    ],
)
def test_watches_by_query(query: str, verb: str) -> None:
    """What Go's conversion takes for true makes a list a watch."""
    found = requests.parse("GET", f"{CORE}/pods?{query}")
    assert found.verb == verb
    assert requests.parse("GET", f"{CORE}/namespaces/n/pods/p?{query}").verb == "get"


def test_watches_by_the_prefix_of_old() -> None:
    """The verb may stand in the path."""
    assert facts("GET", f"{CORE}/watch/namespaces/n/pods/p") == (
        "watch",
        *("", "v1", "pods", "", "n", "p"),
    )
    assert requests.parse("GET", f"{CORE}/watch/pods").verb == "watch"
    assert not requests.parse("GET", f"{CORE}/watch").is_resource


def test_a_selector_of_one_name_names_the_object() -> None:
    """As for the API server's own authorization; other operators and labels do not."""
    path = f"{CORE}/namespaces/n/pods"
    for selector in ("metadata.name%3Dp", "metadata.name==p", "spec.nodeName=x,metadata.name=p"):
        assert requests.parse("GET", f"{path}?watch=1&fieldSelector={selector}").name == "p"
    for query in ("fieldSelector=metadata.name!=p", "labelSelector=metadata.name=p"):
        assert requests.parse("GET", f"{path}?{query}").name == ""


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps/v1",
        "/version",
        "/openapi/v3/apis/apps/v1",
        "/healthz",
    ],
)
def test_what_is_no_resource(target: str) -> None:
    """Discovery and health have no verb and no resource."""
    found = requests.parse("GET", target)
    assert not found.is_resource
    assert found.verb == ""
    assert found.target == target


def test_escapes_and_first_values() -> None:
    """The path is read unquoted; of each key of the query the first value counts."""
    found = requests.parse("GET", f"{CORE}/namespaces/n/configmaps/a%3Ab?x=1&x=2&empty=")
    assert found.name == "a:b"
    assert found.query == {"x": "1", "empty": ""}


@given(st.text(), st.text())
def test_never_raises(method: str, target: str) -> None:
    """Whatever is asked, there is an answer."""
    assert requests.parse(method, target).target == target


@given(
    st.lists(
        st.sampled_from(
            ["api", "apis", "v1", "watch", "proxy", "namespaces", "n", "pods", "status", "", "%2F"]
        )
    ),
    st.sampled_from(["GET", "POST", "DELETE", "TRACE"]),
)
def test_never_raises_for_words_that_mean_something(parts: list[str], method: str) -> None:
    """Nor for any order of the words that the rules know."""
    found = requests.parse(method, "/" + "/".join(parts))
    assert found.is_resource or not found.name
