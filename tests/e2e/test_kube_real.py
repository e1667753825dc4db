"""The kube package and the kopf source against a real API server: what a fake cannot prove."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml

from ansible_operator import errors, kopf_source, objects, selector, watches
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import cluster as kube_cluster
from ansible_operator.kube import discovery, listening
from ansible_operator.testing import controlplane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
FORBIDDEN_GROUP = "rbac.authorization.k8s.io"
CONDITION = {
    "type": "Failure",
    "status": "False",
    "reason": "",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 1,
    "ansibleResult": {"ok": 1, "completion": "2026-01-01T00:00:00.1"},
}
STATUS = {"conditions": [CONDITION], "observedGeneration": 1}


class Served:
    """A kind of its own, served by the control plane, and everything to use it with."""

    def __init__(
        self, plane: controlplane.ControlPlane, namespace: str, status: Any, *, subresource: bool
    ) -> None:
        self.plane, self.namespace = plane, namespace
        self.client = kube_client.Client.load({"KUBECONFIG": str(plane.kubeconfig)})
        self.group = f"g{uuid.uuid4().hex[:8]}.example.com"
        self.gvk = objects.GVK(self.group, "v1", "Thing")
        self.subresource = subresource
        self.install(status)
        self.cluster = kube_cluster.Cluster(self.client, lambda gvk: self.resource)

    def install(self, status: Any) -> None:
        """Create the CRD and wait until the kind is served."""
        properties = {"spec": ANY, **({"status": status} if status else {})}
        version: dict[str, Any] = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        }
        if self.subresource:
            version["subresources"] = {"status": {}}
        self.client.request(
            "POST",
            CRDS,
            body={
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"things.{self.group}"},
                "spec": {
                    "group": self.group,
                    "scope": "Namespaced",
                    "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
                    "versions": [version],
                },
            },
        )
        self.resource = eventually(lambda: discovery.resolve(self.client, self.gvk))

    def remove(self) -> None:
        """Delete the CRD and with it all its objects."""
        self.client.request("DELETE", f"{CRDS}/things.{self.group}")
        eventually(lambda: discovery.resolve(self.client, self.gvk) is None)

    def create(self, name: str = "x", **meta: Any) -> objects.ObjectKey:
        """Create an object as soon as the server lets us."""
        body = {
            "apiVersion": self.gvk.api_version,
            "kind": "Thing",
            "metadata": {"name": name, **meta},
            "spec": {"size": 1},
        }
        path = discovery.path(self.resource, self.namespace)

        def post() -> bool:
            try:
                self.client.request("POST", path, body=body)
            except errors.NotFoundError:  # discovery is a moment ahead of the storage
                return False
            return True

        eventually(post)
        return objects.ObjectKey(self.gvk, self.namespace, name)

    def patch(self, key: objects.ObjectKey, body: Any, subresource: str = "") -> None:
        """Change an object as somebody else would."""
        path = discovery.path(self.resource, key.namespace, key.name, subresource)
        content_type = kube_client.MERGE_PATCH
        self.client.request("PATCH", path, body=body, content_type=content_type)

    def delete(self, key: objects.ObjectKey) -> None:
        """Ask for deletion."""
        self.client.request("DELETE", discovery.path(self.resource, key.namespace, key.name))

    def live(self, key: objects.ObjectKey) -> objects.Obj:
        """The object, which must be there."""
        found = self.cluster.get(key)
        assert found is not None
        return found


def eventually(check: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, "it did not become true"
        time.sleep(0.05)
    return found


@pytest.fixture
def serve(
    control_plane: controlplane.ControlPlane, namespace: str
) -> Iterator[Callable[..., Served]]:
    """Makes kinds with the status schema that a test wishes; they are removed after it."""
    made: list[Served] = []

    def make(status: Any = ANY, *, subresource: bool = True) -> Served:
        made.append(Served(control_plane, namespace, status, subresource=subresource))
        return made[-1]

    yield make
    for served in made:
        try:
            served.client.request("DELETE", f"{CRDS}/things.{served.group}")
        except errors.NotFoundError:
            continue
        finally:
            served.client.close()


def test_finalizers_are_guarded_by_the_version(serve: Callable[..., Served]) -> None:
    """They come and go by themselves, others stay, and a deleted object gets none."""
    served = serve()
    key = served.create(finalizers=["other.example.com/f"])
    added = served.cluster.add_finalizer(key, "our.example.com/f")
    assert added is not None
    assert objects.finalizers(added) == ["other.example.com/f", "our.example.com/f"]
    served.delete(key)
    served.cluster.remove_finalizer(key, "our.example.com/f", objects.uid(served.live(key)))
    assert objects.finalizers(served.live(key)) == ["other.example.com/f"]
    assert served.cluster.add_finalizer(key, "our.example.com/f") is None
    served.cluster.remove_finalizer(key, "other.example.com/f", objects.uid(served.live(key)))
    assert served.cluster.get(key) is None
    with pytest.raises(errors.InvalidError):
        served.cluster.add_finalizer(served.create("y"), "no slash and spaces")


def with_field(name: str) -> Callable[[objects.Obj], objects.Obj]:
    """Computes the status that an object has, and one field more."""
    return lambda obj: {**objects.status(obj), name: 1}


def test_concurrent_writers_lose_nothing(serve: Callable[..., Served]) -> None:
    """Four threads add finalizers and statuses to one object while others edit it."""
    served = serve()
    key = served.create()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(5):
                name = f"f{number}.example.com/t{turn}"
                served.cluster.add_finalizer(key, name)
                served.cluster.update_status(key, with_field(name))
                served.patch(key, {"spec": {f"s{number}": turn}})
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    names = {f"f{number}.example.com/t{turn}" for number in range(4) for turn in range(5)}
    live = served.live(key)
    assert set(objects.finalizers(live)) == names
    assert set(live["status"]) == names
    assert {live["spec"][f"s{number}"] for number in range(4)} == {4}
    for name in names:
        served.cluster.remove_finalizer(key, name, objects.uid(served.live(key)))


def test_a_stale_status_is_not_written(serve: Callable[..., Served]) -> None:
    """What was computed from an old read is computed again."""
    served = serve()
    key = served.create()
    reads: list[int] = []

    def compute(obj: objects.Obj) -> objects.Obj:
        reads.append(objects.generation(obj))
        if len(reads) == 1:
            served.patch(key, {"spec": {"size": 2}})
        return {"seen": objects.generation(obj)}

    written = served.cluster.update_status(key, compute)
    assert reads == [1, 2]
    assert written is not None
    assert written["status"] == {"seen": 2}
    assert objects.generation(written) == 2


def test_a_kind_without_status_subresource(serve: Callable[..., Served]) -> None:
    """Noticed by discovery, and without it by the first refusal; said once."""
    served = serve(subresource=False)
    assert not served.resource.has_status
    key = served.create()
    for order in ((False, True), (True, False)):
        served.cluster = kube_cluster.Cluster(served.client, lambda gvk: served.resource)
        with structlog.testing.capture_logs() as logs:
            for has_status in order:
                served.resource = discovery.Resource(served.gvk, "things", True, has_status)
                assert served.cluster.update_status(key, lambda obj: STATUS) is not None
        assert [entry["event"] for entry in logs] == [
            "no status is written: the kind has no status subresource"
        ]
    assert "status" not in served.live(key)


def test_a_strict_schema_gets_what_fits(serve: Callable[..., Served]) -> None:
    """Conditions as metav1.Condition: a reason must not be empty; the rest is dropped."""
    text = {"type": "string"}
    item = {
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": text,
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z]+$"},
            "message": text,
            "lastTransitionTime": {"type": "string", "format": "date-time"},
        },
    }
    conditions = {"type": "array", "items": item}
    served = serve({"type": "object", "properties": {"conditions": conditions}})
    key = served.create()
    with structlog.testing.capture_logs() as logs:
        for _ in range(2):
            served.cluster.update_status(key, lambda obj: STATUS)
    (condition,) = served.live(key)["status"]["conditions"]
    assert condition["reason"] == "NotFailure"
    (said,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert said["event"].startswith("status is written in a reduced form")
    assert "status.conditions[0].reason" in said["error"]


def test_a_schema_that_fits_nothing(serve: Callable[..., Served]) -> None:
    """Said once, with the server's words, and no error for the reconcile."""
    served = serve({"type": "object", "properties": {"conditions": {"type": "string"}}})
    key = served.create()
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            assert served.cluster.update_status(key, lambda obj: STATUS) is not None
    (said,) = logs
    assert "even in the reduced form" in said["event"]
    assert "status.conditions" in said["error"]


def test_a_schema_that_drops_fields(serve: Callable[..., Served]) -> None:
    """They are named once; the rest arrives; a status unknown to the schema is sent once only."""
    item = {"type": "object", "properties": {"type": {"type": "string"}}}
    conditions = {"type": "array", "items": item}
    for schema, lost in (
        ({"type": "object", "properties": {"conditions": conditions}}, 7),
        ({"type": "object"}, 2),
        (None, 2),
    ):
        served = serve(schema)
        key = served.create()
        with structlog.testing.capture_logs() as logs:
            for _ in range(2):
                served.cluster.update_status(key, lambda obj: STATUS)
        (said,) = logs
        assert said["event"] == "the schema drops fields of the status"
        assert len(said["fields"]) == lost, said["fields"]
        if lost > 2:
            assert served.live(key)["status"]["conditions"] == [{"type": "Failure"}]


def grant(plane: controlplane.ControlPlane, namespace: str, rules: list[Any]) -> None:
    """Let the service account ``op`` do this in its namespace; earlier grants are replaced."""
    role = {
        "apiVersion": f"{FORBIDDEN_GROUP}/v1",
        "kind": "Role",
        "metadata": {"name": "op", "namespace": namespace},
        "rules": rules,
    }
    binding = {
        "apiVersion": f"{FORBIDDEN_GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "op", "namespace": namespace},
        "roleRef": {"apiGroup": FORBIDDEN_GROUP, "kind": "Role", "name": "op"},
        "subjects": [{"kind": "ServiceAccount", "name": "op", "namespace": namespace}],
    }
    plane.apply(role)
    plane.apply(binding)


def test_from_missing_permission_to_vanished_crd(
    serve: Callable[..., Served], control_plane: controlplane.ControlPlane, namespace: str
) -> None:
    """A service account, RBAC and kopf: each obstacle is said, and left when it is removed."""
    served = serve()
    account = control_plane.service_account_kubeconfig(namespace, "op")
    client = kube_client.Client.load({"KUBECONFIG": str(account)})
    heard: list[tuple[str | None, str]] = []
    source = kopf_source.KopfSource(
        client, lambda watch, event, obj: heard.append((event, objects.name(obj)))
    )
    requirement = selector.Requirement("run", "In", ("yes",))
    watch = watches.Watch(
        served.gvk,
        watches.Playbook(Path("/p.yml")),
        selector=selector.Selector((requirement,)),
        manage_status=False,
    )
    ears = listening.Listening(client, [watch], (namespace,), source)
    stop = threading.Event()
    with structlog.testing.capture_logs() as logs:
        thread = threading.Thread(target=ears.run, args=(stop,))
        thread.start()
        try:
            story(served, control_plane, heard, logs, source)
        finally:
            stop.set()
            thread.join(60)
            client.close()
    assert not thread.is_alive()
    assert writes_of_kopf(control_plane) == []


def story(
    served: Served,
    plane: controlplane.ControlPlane,
    heard: list[tuple[str | None, str]],
    logs: list[Any],
    source: kopf_source.KopfSource,
) -> None:
    """What happens while the kind is listened to."""
    namespace = served.namespace

    def problems() -> list[str]:
        return [entry["error"] for entry in logs if entry["event"] == "cannot listen to a kind"]

    def listening_now() -> bool:
        return source.state(served.gvk).listening

    eventually(problems)
    assert "cannot list resource" in problems()[0]
    rule = problems()[0].partition("bound to the operator: ")[2]
    grant(plane, namespace, [yaml.safe_load(rule)])
    eventually(listening_now)
    key = served.create("one", labels={"run": "yes"})
    served.create("other", labels={"run": "no"})
    eventually(lambda: ("ADDED", "one") in heard or (None, "one") in heard)
    served.patch(key, {"metadata": {"labels": {"run": "no"}}})
    eventually(lambda: ("DELETED", "one") in heard)
    assert "other" not in {name for _, name in heard}

    served.remove()
    eventually(lambda: "does not serve kind Thing" in problems()[-1])
    served.install(ANY)
    eventually(listening_now)
    served.create("two", labels={"run": "yes"})
    eventually(lambda: {name for _, name in heard} >= {"two"})
    assert len(problems()) == 2, problems()


def writes_of_kopf(plane: controlplane.ControlPlane) -> list[str]:
    """Every request of kopf's own that is not a read, from the audit log."""
    found = []
    for line in plane.audit_log.read_text().splitlines():
        entry = json.loads(line)
        if entry.get("userAgent", "").startswith("kopf"):
            found.append(f"{entry['verb']} {entry['requestURI']}")
    assert found, "the audit log does not show kopf at all"
    return [text for text in found if text.split()[0] not in {"get", "list", "watch"}]
