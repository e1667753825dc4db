"""The rules about dependents with what an API server and its controllers really write."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_operator import children, objects
from ansible_operator.control import childpredicates
from ansible_operator.control.childpredicates import Reason
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import informers
from ansible_operator.testing import controlplane

PATIENCE = 60.0


def kind(
    api_version: str, name: str, plural: str, *, namespaced: bool = True
) -> children.ChildKind:
    """A kind of dependents."""
    group, _, version = api_version.rpartition("/")
    return children.ChildKind(objects.GVK(group, version, name), plural, namespaced)


CONFIG_MAP = kind("v1", "ConfigMap", "configmaps")
SERVICE = kind("v1", "Service", "services")
DEPLOYMENT = kind("apps/v1", "Deployment", "deployments")
ROLE = kind("rbac.authorization.k8s.io/v1", "Role", "roles")
PRIORITY_CLASS = kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", namespaced=False)
PLAIN = kind("news.example.com/v1", "Plain", "plains")

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plains.news.example.com}
spec:
  group: news.example.com
  scope: Namespaced
  names: {kind: Plain, plural: plains, singular: plain, listKind: PlainList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
CONTENT: dict[children.ChildKind, dict[str, Any]] = {
    CONFIG_MAP: {"data": {"a": "1"}},
    SERVICE: {"spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]}},
    ROLE: {"rules": []},
    PRIORITY_CLASS: {"value": 7, "description": "one"},
    PLAIN: {"spec": {"a": 1}},
}
EDIT: dict[children.ChildKind, dict[str, Any]] = {
    CONFIG_MAP: {"data": {"a": "2"}},
    SERVICE: {"spec": {"selector": {"app": "y"}}},
    ROLE: {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    PRIORITY_CLASS: {"description": "two"},
    PLAIN: {"spec": {"a": 2}},
}


class News:
    """Objects of one kind, and what an informer and the rules make of what is done to them."""

    def __init__(self, plane: controlplane.ControlPlane, of: children.ChildKind, namespace: str):
        self._client = plane.client
        self._kind = of
        self._place = {"namespace": namespace} if of.namespaced else {}
        self._changed = threading.Condition()
        self._changes: list[children.Change] = []
        self._informers = informers.Informers(self._client, [namespace])
        subscription = self._informers.subscribe(of, self._hear)
        deadline = time.monotonic() + PATIENCE
        while not subscription.synced():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def close(self) -> None:
        self._informers.close()

    def make(self, name: str, **fields: Any) -> objects.Obj:
        """Create an object."""
        self._name = name
        gvk, meta = self._kind.gvk, {"name": name, **self._place, **fields.pop("metadata", {})}
        body = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": meta, **fields}
        return self._client.request("POST", self._path(), body=body)

    def patch(self, body: objects.Obj, subresource: str = "", by: str = "hand") -> objects.Obj:
        """Merge a patch into the object that was made last."""
        path = f"{self._path()}/{self._name}{subresource and '/'}{subresource}?fieldManager={by}"
        merge = kube_client.MERGE_PATCH
        return self._client.request("PATCH", path, body=body, content_type=merge)

    def delete(self) -> None:
        """Delete the object that was made last."""
        self._client.request("DELETE", f"{self._path()}/{self._name}")

    def read(self) -> objects.Obj:
        """The object that was made last, as it is now."""
        return self._client.request("GET", f"{self._path()}/{self._name}")

    def until(self, obj: objects.Obj | None = None) -> list[Reason]:
        """The reasons so far, once the informer knows of this state, or of the object's end."""

        def arrived() -> bool:
            if obj is None:
                return any(change.event is children.Event.DELETED for change in self._own())
            wanted = objects.resource_version(obj)
            return any(change.new.resource_version == wanted for change in self._own())

        with self._changed:
            assert self._changed.wait_for(arrived, PATIENCE), self._changes
            found = [childpredicates.reason(change) for change in self._own()]
        return [reason for reason in found if reason is not None]

    def _own(self) -> list[children.Change]:
        return [change for change in self._changes if change.new.name == self._name]

    def _hear(self, change: children.Change) -> None:
        with self._changed:
            self._changes.append(change)
            self._changed.notify_all()

    def _path(self) -> str:
        gvk = self._kind.gvk
        root = f"/apis/{gvk.api_version}" if gvk.group else f"/api/{gvk.version}"
        inside = f"/namespaces/{self._place['namespace']}" if self._place else ""
        return f"{root}{inside}/{self._kind.plural}"


@pytest.fixture
def news(
    request: pytest.FixtureRequest, control_plane: controlplane.ControlPlane, namespace: str
) -> Iterator[News]:
    """News of the kind that the test is parametrized with."""
    if request.param is PLAIN:
        control_plane.apply(CRD)
    found = News(control_plane, request.param, namespace)
    yield found
    found.close()


def of(*kinds: children.ChildKind) -> pytest.MarkDecorator:
    """Which kinds a test is about."""
    return pytest.mark.parametrize("news", kinds, indirect=True, ids=lambda each: each.gvk.kind)


@pytest.mark.parametrize(
    ("news", "of_kind"),
    [(each, each) for each in CONTENT],
    indirect=["news"],
    ids=[each.gvk.kind for each in CONTENT],
)
def test_edits(news: News, of_kind: children.ChildKind, namespace: str) -> None:
    """An edit of the content, a label and a deletion are one reason each, the creation is none."""
    news.make(f"one-{namespace}", **CONTENT[of_kind])
    edited = news.patch(EDIT[of_kind])
    assert news.until(edited) == [Reason.CHANGED]
    labelled = news.patch({"metadata": {"labels": {"a": "b"}}})
    assert news.until(labelled) == [Reason.CHANGED] * 2
    news.delete()
    assert news.until() == [Reason.CHANGED, Reason.CHANGED, Reason.GONE]


@of(CONFIG_MAP)
def test_quick_edits(news: News) -> None:
    """Edits in the same second are told apart from nothing, each counts."""
    news.make("one", **CONTENT[CONFIG_MAP])
    for number in range(5):
        edited = news.patch({"data": {"a": str(number + 2)}})
    assert news.until(edited) == [Reason.CHANGED] * 5


@of(SERVICE)
def test_status_of_a_kind_without_generation(news: News) -> None:
    """Several writes of the status in one second are none."""
    news.make("one", **CONTENT[SERVICE])
    time.sleep(1.1)  # it must not be the second of the creation, which is a write of content
    for number in range(5):
        written = news.patch(_seen(number), "status", by="controller")
    assert news.until(written) == []


@of(PLAIN)
def test_status_without_subresource(news: News) -> None:
    """The status of a custom resource raises the generation here, and is none all the same."""
    news.make("one", **CONTENT[PLAIN])
    time.sleep(1.1)  # as above
    for number in range(3):
        written = news.patch({"status": {"seen": number}}, by="controller")
    assert objects.generation(written) == 4
    assert news.until(written) == []


@of(DEPLOYMENT)
def test_controllers_of_the_cluster(news: News) -> None:
    """Nothing that they write to a Deployment while it comes up counts; a scale does, once."""
    labels = {"app": "one"}
    containers = [{"name": "web", "image": "registry.example.com/web:1"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    news.make("one", spec=spec)
    assert news.until(_settled(news)) == []
    news.patch({"spec": {"replicas": 2}}, "scale")
    assert news.until(_settled(news)) == [Reason.CHANGED]
    news.delete()
    assert news.until() == [Reason.CHANGED, Reason.GONE]


@of(CONFIG_MAP)
def test_held_by_finalizers(news: News) -> None:
    """The request to delete is a reason, then only the end."""
    held = {"finalizers": ["example.com/a", "example.com/b"]}
    news.make("one", **CONTENT[CONFIG_MAP], metadata=held)
    news.delete()
    assert news.until(news.read()) == [Reason.GOING]
    half = news.patch({"metadata": {"finalizers": ["example.com/b"]}})
    assert news.until(half) == [Reason.GOING]
    news.patch({"metadata": {"finalizers": []}})
    assert news.until() == [Reason.GOING, Reason.GONE]


def _seen(number: int) -> objects.Obj:
    times = {"lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": number}
    condition = {"type": "Seen", "status": "True", "reason": "Seen", "message": "", **times}
    return {"status": {"conditions": [condition]}}


def _settled(news: News) -> objects.Obj:
    """The object once its controllers have done all that there is to do."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = news.read()
        status, wanted = objects.status(found), objects.spec(found)["replicas"]
        if status.get("readyReplicas") == wanted == status.get("updatedReplicas"):
            return found
        assert time.monotonic() < deadline, status
        time.sleep(0.1)
