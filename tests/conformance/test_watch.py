"""Watches: what is told at the beginning, what happens then, and when it is too late."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import wire

Events = list[tuple[str, str]]


def told(events: Any) -> Events:
    """Type and name of every event."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


def version(server: wire.Server, path: str) -> str:
    """The version of a list now."""
    found: str = server.get(path).body["metadata"]["resourceVersion"]
    return found


def test_present_objects_come_first(server: wire.Server, ns: str) -> None:
    """Without a version, a watch begins with what is there, whole objects with their kind."""
    path = wire.configmaps(ns)
    server.post(path, wire.configmap("a", labels={"w": "1"}))
    events = list(server.watch(path, seconds=1, labelSelector="w"))
    assert told(events) == [("ADDED", "a")]
    assert (events[0]["object"]["kind"], events[0]["object"]["apiVersion"]) == ("ConfigMap", "v1")


def test_changes_after_a_version(server: wire.Server, ns: str) -> None:
    """From a version on, every change is told once, in order, with the object at that moment."""
    path = wire.configmaps(ns)
    since = version(server, path)
    server.post(path, wire.configmap("a", {"n": "1"}))
    server.patch(path + "/a", {"data": {"n": "2"}})
    server.delete(path + "/a")
    events = [
        event
        for event in server.watch(path, seconds=1, resourceVersion=since)
        if event["object"]["metadata"].get("name") == "a"
    ]
    assert told(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert [event["object"]["data"]["n"] for event in events] == ["1", "2", "2"]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_live_changes(server: wire.Server, ns: str) -> None:
    """Changes arrive while the watch is open."""
    path = wire.configmaps(ns)
    since = version(server, path)
    timer = threading.Timer(
        0.5, lambda: server.post(path, wire.configmap("late", labels={"w": "1"}))
    )
    timer.start()
    stream = server.watch(path, seconds=20, resourceVersion=since, labelSelector="w")
    assert told([next(stream)]) == [("ADDED", "late")]
    stream.close()
    timer.join()


def test_selections_are_entered_and_left(server: wire.Server, ns: str) -> None:
    """An object that comes to fit is added; one that stops fitting is deleted, as it was."""
    path = wire.configmaps(ns)
    server.post(path, wire.configmap("leaves", labels={"n": "1"}))
    server.post(path, wire.configmap("enters", labels={"n": "2"}))
    since = version(server, path)
    server.patch(path + "/leaves", {"metadata": {"labels": {"n": "9"}}})
    server.patch(path + "/enters", {"metadata": {"labels": {"n": "1"}}})
    server.patch(path + "/enters", {"data": {"a": "b"}})
    events = list(server.watch(path, seconds=1, resourceVersion=since, labelSelector="n=1"))
    assert told(events) == [("DELETED", "leaves"), ("ADDED", "enters"), ("MODIFIED", "enters")]
    assert events[0]["object"]["metadata"]["labels"] == {"n": "1"}
    now = server.get(path + "/leaves").body["metadata"]["resourceVersion"]
    assert events[0]["object"]["metadata"]["resourceVersion"] == now


def test_watch_of_one_object(server: wire.Server, ns: str) -> None:
    """A field selector on the name watches one object."""
    path = wire.configmaps(ns)
    server.post(path, wire.configmap("a"))
    server.post(path, wire.configmap("b"))
    events = list(server.watch(path, seconds=1, fieldSelector="metadata.name=b"))
    assert told(events) == [("ADDED", "b")]


def test_streaming_lists(server: wire.Server, ns: str) -> None:
    """sendInitialEvents sends what is there and a bookmark that says that this was all."""
    path = wire.configmaps(ns)
    server.post(path, wire.configmap("a", labels={"w": "1"}))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    stream = server.watch(path, seconds=2, allowWatchBookmarks="true", labelSelector="w", **query)
    events = [next(stream), next(stream)]
    stream.close()
    assert told(events) == [("ADDED", "a"), ("BOOKMARK", "")]
    bookmark = events[1]["object"]
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["metadata"]["resourceVersion"]) > 0
    assert bookmark["kind"] == "ConfigMap"


def test_bookmarks(server: wire.Server, ns: str) -> None:
    """Who asks for bookmarks gets the current version, at the latest before the watch ends."""
    path = wire.configmaps(ns)
    made = server.post(path, wire.configmap("a")).body
    version = made["metadata"]["resourceVersion"]
    asked = {"resourceVersion": version, "seconds": 4}
    events = list(server.watch(path, allowWatchBookmarks="true", **asked))
    assert {event["type"] for event in events} == {"BOOKMARK"}
    mark = events[-1]["object"]
    assert (mark["kind"], mark["apiVersion"]) == ("ConfigMap", "v1")
    assert int(mark["metadata"].pop("resourceVersion")) >= int(version)
    assert {key: value for key, value in mark["metadata"].items() if value} == {}
    assert list(server.watch(path, **asked)) == []


def test_bad_watches(server: wire.Server, ns: str) -> None:
    """Options that contradict each other are refused; a version must be a number."""
    path = wire.configmaps(ns)
    answer = server.get(path, watch="true", sendInitialEvents="true", timeoutSeconds=1)
    assert answer.code == 422
    assert "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" in answer.text
    answer = server.get(path, watch="true", resourceVersion="abc", timeoutSeconds=1)
    assert (answer.code, answer.body["message"]) == (
        500,
        'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    )


def test_old_watch_paths(server: wire.Server, ns: str) -> None:
    """/watch/ in the path still watches."""
    server.post(wire.configmaps(ns), wire.configmap("a"))
    answer = server.get(f"/api/v1/watch/namespaces/{ns}/configmaps", timeoutSeconds=1)
    assert answer.code == 200
    assert '"type":"ADDED"' in answer.text


def test_too_old_versions(server: wire.Server, crd: Callable[..., str]) -> None:
    """A version from before the history is told as an ERROR event with code 410."""
    path = crd()
    events = list(server.watch(path, seconds=2, resourceVersion="1"))
    assert [event["type"] for event in events] == ["ERROR"]
    status = events[0]["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")


def test_watch_ends_with_its_kind(server: wire.Server, crd: Callable[..., str]) -> None:
    """When a CRD is deleted, the watches of its objects end."""
    path = crd()
    group = path.split("/")[2]
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    timer = threading.Timer(0.5, lambda: server.delete(f"{crds}/things.{group}"))
    timer.start()
    list(server.watch(path, seconds=300))  # if it did not end, the client's time-out would tell
    timer.join()
    server.until_gone(f"{crds}/things.{group}")
