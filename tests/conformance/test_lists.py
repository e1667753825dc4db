"""Lists: selectors, pages, versions, and how the server answers to those that make no sense."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import wire

from ansible_operator.testing import controlplane


@pytest.fixture(scope="module")
def path(server: wire.Server, control_plane: controlplane.ControlPlane) -> Iterator[str]:
    """A namespace's config maps m0 to m4, labelled n=0 to n=4, tier=a or b."""
    name = control_plane.create_namespace("lists")
    path = wire.configmaps(name)
    for number in range(5):
        labels = {"n": str(number), "tier": "ab"[number % 2], "set": "mine"}
        server.post(path, wire.configmap(f"m{number}", {"x": "1"}, labels=labels))
    yield path
    control_plane.delete_namespace(name)


def names(answer: wire.Answer) -> list[str]:
    """The names of the items of a list."""
    assert answer.code == 200, answer.text
    return [item["metadata"]["name"] for item in answer.body["items"]]


def test_list_is_an_object(server: wire.Server, path: str) -> None:
    """A list has its kind and version; items of built-in kinds do not repeat them."""
    body = server.get(path, labelSelector="set").body
    assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(body["metadata"]["resourceVersion"]) > 0
    assert not {"kind", "apiVersion"} & set(body["items"][0])


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("n=1", "1"),
        ("n==1", "1"),
        ("n!=1", "0234"),
        ("n in (1,3)", "13"),
        ("n notin (1,3)", "024"),
        ("tier=a,n!=0", "24"),
        ("n", "01234"),
        ("!n", ""),
        ("!missing", "01234"),
        ("missing notin (x)", "01234"),
        ("n>2", "34"),
        ("n<2", "01"),
        (" n in ( 0 , 4 ) , tier = a ", "04"),
        ("tier in (a),n notin (2)", "04"),
        ("n=", ""),
    ],
)
def test_label_selectors(server: wire.Server, path: str, selector: str, expected: str) -> None:
    """Equality, sets, existence and comparison select as on a cluster."""
    combined = f"set=mine,{selector}"
    assert names(server.get(path, labelSelector=combined)) == [f"m{digit}" for digit in expected]


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a b c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("n in 1", "unable to parse requirement: found '1' expected: '('"),
    ],
)
def test_bad_label_selectors(server: wire.Server, path: str, selector: str, message: str) -> None:
    """A selector that cannot be read is a bad request that says where it broke."""
    answer = server.get(path, labelSelector=selector)
    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert answer.body["message"] == message


def test_field_selectors(server: wire.Server, path: str) -> None:
    """Every kind can be selected by name and namespace, and by no field that is not listed."""
    assert names(server.get(path, fieldSelector="metadata.name=m3")) == ["m3"]
    picked = server.get(path, fieldSelector="metadata.name!=m3", labelSelector="set=mine")
    assert names(picked) == ["m0", "m1", "m2", "m4"]
    assert names(server.get("/api/v1/configmaps", fieldSelector="metadata.namespace=none")) == []
    unknown = server.get(path, fieldSelector="data.x=1")
    assert unknown.code == 400
    assert unknown.body["message"] == (
        '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
    odd = server.get(path, fieldSelector="odd")
    assert odd.body["message"] == "invalid selector: 'odd'; can't understand 'odd'"


def test_field_selectors_of_kinds(server: wire.Server, ns: str) -> None:
    """Secrets are selected by type, pods by phase, events by what they are about."""
    secrets = f"/api/v1/namespaces/{ns}/secrets"
    server.post(secrets, {"metadata": {"name": "plain"}})
    assert names(server.get(secrets, fieldSelector="type=Opaque")) == ["plain"]
    assert names(server.get(secrets, fieldSelector="type=other")) == []
    pods = f"/api/v1/namespaces/{ns}/pods"
    assert names(server.get(pods, fieldSelector="status.phase=Running,spec.nodeName=x")) == []
    events = f"/api/v1/namespaces/{ns}/events"
    about = {"involvedObject": {"kind": "Secret", "name": "plain", "namespace": ns}}
    server.post(events, {"metadata": {"name": "told"}, "reason": "Because", **about})
    for selector in ("involvedObject.name=plain", "reason=Because,involvedObject.kind=Secret"):
        assert names(server.get(events, fieldSelector=selector)) == ["told"]
    assert names(server.get(events, fieldSelector="involvedObject.name=other")) == []


def test_pages(server: wire.Server, path: str) -> None:
    """limit and continue walk through a list that shows one moment."""
    first = server.get(path, limit=2, labelSelector="set=mine")
    assert names(first) == ["m0", "m1"]
    meta = first.body["metadata"]
    assert "remainingItemCount" not in meta  # it is not counted where a selector is
    server.post(path, wire.configmap("m10", labels={"set": "mine"}))
    second = server.get(path, limit=2, labelSelector="set=mine", **{"continue": meta["continue"]})
    assert names(second) == ["m2", "m3"]
    assert second.body["metadata"]["resourceVersion"] == meta["resourceVersion"]
    token = second.body["metadata"]["continue"]
    third = server.get(path, limit=2, labelSelector="set=mine", **{"continue": token})
    assert names(third) == ["m4"]
    assert "continue" not in third.body["metadata"]
    server.delete(path + "/m10")


def test_rest_of_a_list_is_counted(server: wire.Server, path: str) -> None:
    """Without selectors the first page says how many are left."""
    whole = len(server.get(path).body["items"])
    meta = server.get(path, limit=2).body["metadata"]
    assert meta["remainingItemCount"] == whole - 2


def test_bad_pages(server: wire.Server, path: str) -> None:
    """Tokens and limits that are none are bad requests."""
    bad = server.get(path, **{"continue": "abc"})
    assert bad.code == 400
    assert bad.body["message"].startswith("invalid continue token: continue key is not valid")
    worse = server.get(path, limit="x")
    assert (worse.code, worse.body["message"]) == (
        400,
        'strconv.ParseInt: parsing "x": invalid syntax',
    )


def test_versions_of_lists(server: wire.Server, path: str) -> None:
    """A list can be of any version, of one not older than, or exactly of that one."""
    assert len(server.get(path, resourceVersion="0", labelSelector="set=mine").body["items"]) == 5
    current = server.get(path).body["metadata"]["resourceVersion"]
    fresh = server.get(path, resourceVersion=current, resourceVersionMatch="NotOlderThan")
    assert fresh.code == 200
    exact = server.get(path, resourceVersion=current, resourceVersionMatch="Exact")
    assert (exact.code, exact.body["metadata"]["resourceVersion"]) == (200, current)
    alone = server.get(path, resourceVersionMatch="Exact")
    assert alone.code == 422
    assert "forbidden unless resourceVersion is provided" in alone.body["message"]


def test_versions_to_come(server: wire.Server, path: str) -> None:
    """A version that has not been yet is a time-out with a hint to try again."""
    answer = server.get(path, resourceVersion="999999999")
    assert (answer.code, answer.body["reason"]) == (504, "Timeout")
    assert answer.body["message"].startswith(
        "Timeout: Too large resource version: 999999999, current"
    )
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_list_of_all_namespaces(server: wire.Server, path: str) -> None:
    """The collection without a namespace has the objects of all, ordered by namespace and name."""
    items = server.get("/api/v1/configmaps").body["items"]
    found = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in items]
    assert found == sorted(found)
    assert len({namespace for namespace, _ in found}) > 1


def test_list_of_a_missing_namespace(server: wire.Server) -> None:
    """A namespace that is not there has no objects, which is no error."""
    assert names(server.get(wire.configmaps("no-such-namespace"))) == []
