"""Events about objects: what is written, and that nothing depends on it."""

from __future__ import annotations

import datetime
from typing import Any

import engine_fakes as fakes
import pytest
import structlog

from ansible_operator import errors, objects
from ansible_operator.kube import recorder

NOW = datetime.datetime(2026, 1, 1, 12, 0, 0, tzinfo=datetime.UTC)


class FakeClient:
    """Takes what is posted, or refuses it."""

    def __init__(self, error: errors.KubeError | None = None) -> None:
        self.error = error
        self.posted: list[tuple[str, str, objects.Obj]] = []

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        timeout: tuple[float, float] = (1.0, 1.0),
    ) -> objects.Obj:
        self.posted.append((method, path, body))
        if self.error:
            raise self.error
        return {}


def record(obj: objects.Obj, message: str = "it failed") -> tuple[str, objects.Obj]:
    """Where the Event goes, and what it is."""
    client = FakeClient()
    recorder.Recorder(client, lambda: NOW).record(obj, "Warning", "CleanupFailed", message)
    [(method, path, body)] = client.posted
    assert method == "POST"
    return path, body


def test_event_of_a_namespaced_object() -> None:
    """It is in the namespace of the object and names it with kind and uid."""
    path, body = record(fakes.make())
    assert path == "/api/v1/namespaces/prod/events"
    assert body["involvedObject"] == {
        "apiVersion": "db.example.com/v1",
        "kind": "Etcd",
        "name": "one",
        "namespace": "prod",
        "uid": "uid-one",
        "resourceVersion": "1",
    }
    assert (body["type"], body["reason"], body["message"]) == (
        "Warning",
        "CleanupFailed",
        "it failed",
    )
    assert body["lastTimestamp"] == "2026-01-01T12:00:00Z"
    assert body["source"] == {"component": "ansible-operator"}
    assert body["metadata"]["name"].startswith("one.")


def test_event_of_a_cluster_scoped_object() -> None:
    """It is in the namespace default, and the object has none."""
    path, body = record(fakes.make(namespace=""))
    assert path == "/api/v1/namespaces/default/events"
    assert "namespace" not in body["involvedObject"]


@pytest.mark.parametrize(
    ("name", "begins"), [("n" * 253, "n" * 200), ("a." * 125 + "b", "a.a."), ("system:role", "")]
)
def test_names(name: str, begins: str) -> None:
    """The name of an Event is valid whatever the object is called, and never the same."""
    one, two = (record(fakes.make(name))[1]["metadata"]["name"] for _ in range(2))
    assert one != two
    assert one.startswith(begins)
    assert len(one) <= 253
    assert ":" not in one
    assert ".." not in one


def test_long_message() -> None:
    """The API server takes 1024 characters."""
    message = record(fakes.make(), "x" * 5000)[1]["message"]
    assert len(message) == 1024
    assert message.endswith("...")


def test_missing_permission_is_told_once() -> None:
    """One warning has the rule to add; nothing is raised."""
    client = FakeClient(errors.ForbiddenError("not allowed", status=403))
    subject = recorder.Recorder(client)
    with structlog.testing.capture_logs() as lines:
        for _ in range(3):
            subject.record(fakes.make(), "Normal", "CleanupSkipped", "m")
    [line] = [line for line in lines if line["log_level"] == "warning"]
    assert '{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}' in line["hint"]
    assert "namespace prod" in line["hint"]
    assert len(client.posted) == 3


@pytest.mark.parametrize(
    "error",
    [
        errors.ForbiddenError("terminating", status=403, fields=("metadata.namespace",)),
        errors.UnreachableError("no answer"),
        errors.ServerError("busy", status=503),
        errors.InvalidError("no", status=422),
    ],
)
def test_other_trouble_is_no_concern(error: errors.KubeError) -> None:
    """A namespace that is going, or a server in trouble, is not complained of."""
    with structlog.testing.capture_logs() as lines:
        recorder.Recorder(FakeClient(error)).record(fakes.make(), "Normal", "X", "m")
    assert {line["log_level"] for line in lines} <= {"debug"}
