"""Finalizers of kinds that nothing looks after any more, on an API server; and Events there."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml

from ansible_operator import errors, objects, watches
from ansible_operator.kube import childkinds, cluster, discovery, orphans, recorder
from ansible_operator.kube import client as kube_client
from ansible_operator.testing import controlplane

FINALIZER = "orphans.example.com/finalizer"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class World:
    """A group of its own with the kinds Kept, Left and Wide, and a namespace."""

    client: kube_client.Client
    cluster: cluster.Cluster
    group: str
    namespace: str

    def gvk(self, kind: str) -> objects.GVK:
        """A kind of the group."""
        return objects.GVK(self.group, "v1", kind)

    def key(self, kind: str, name: str) -> objects.ObjectKey:
        """An object of the group."""
        return objects.ObjectKey(self.gvk(kind), "" if kind == "Wide" else self.namespace, name)

    def hold(self, kind: str, name: str, finalizer: str = FINALIZER) -> objects.ObjectKey:
        """Make an object on which the operator puts a finalizer."""
        key = self.key(kind, name)
        resource = discovery.resolve(self.client, key.gvk)
        assert resource is not None
        body = {
            "apiVersion": key.gvk.api_version,
            "kind": kind,
            "metadata": {"name": name, "finalizers": ["foreign.example.com/x"]},
        }
        path = discovery.path(resource, key.namespace)
        self.client.request("POST", path, query={"fieldManager": "foreign"}, body=body)
        assert self.cluster.add_finalizer(key, finalizer) is not None
        return key

    def delete(self, key: objects.ObjectKey) -> None:
        """Ask for its deletion."""
        resource = discovery.resolve(self.client, key.gvk)
        assert resource is not None
        self.client.request("DELETE", discovery.path(resource, key.namespace, key.name))

    def finalizers(self, key: objects.ObjectKey) -> list[str]:
        """Those that an object has now."""
        return objects.finalizers(self.cluster.get(key) or {})

    def check(self, *, release: bool = False, watched: str = "Kept") -> list[orphans.Orphaned]:
        """Look, as an operator that watches one kind of the group."""
        watch = watches.Watch(
            self.gvk(watched),
            watches.Role(Path("/roles/kept")),
            finalizer=watches.Finalizer(FINALIZER, vars={"a": 1}),
        )
        subject = orphans.Orphans(self.client, [watch], [self.namespace], release=release)
        return subject.check()


def crd(group: str, kind: str) -> objects.Obj:
    """A CustomResourceDefinition that takes anything."""
    plural = kind.lower() + "s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster" if kind == "Wide" else "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


@pytest.fixture
def world(
    control_plane: controlplane.ControlPlane, namespace: str, tmp_path: Path
) -> Iterator[World]:
    """The kinds are served; whatever is left at the end is let go and removed."""
    client = kube_client.Client.load({"KUBECONFIG": str(control_plane.kubeconfig)})
    group = f"g{uuid.uuid4().hex[:8]}.example.com"
    kinds = ("Kept", "Left", "Wide")
    for kind in kinds:
        path = tmp_path / f"{kind}.yaml"
        path.write_text(yaml.safe_dump(crd(group, kind)))
        control_plane.apply(path)

    def resource(gvk: objects.GVK) -> discovery.Resource:
        found = discovery.resolve(client, gvk)
        assert found is not None
        return found

    world = World(client, cluster.Cluster(client, resource), group, namespace)
    yield world
    for kind in kinds:
        where = discovery.path(resource(world.gvk(kind)))
        for item in client.request("GET", where)["items"]:
            at = discovery.path(
                resource(world.gvk(kind)), objects.namespace(item), objects.name(item)
            )
            body = {"metadata": {"finalizers": None}}
            with contextlib.suppress(errors.NotFoundError):
                client.request("PATCH", at, body=body, content_type=kube_client.MERGE_PATCH)
        client.request("DELETE", f"{CRDS}/{kind.lower()}s.{group}")
    client.close()


def warnings(lines: list[Any]) -> list[Any]:
    """What was said loudly."""
    return [line for line in lines if line["log_level"] == "warning"]


@pytest.mark.case("D13")
def test_orphans_are_reported_once_per_kind(world: World) -> None:
    """A kind that is not watched is reported with count, example and command (D13)."""
    for name in ("a", "b"):
        world.hold("Left", name)
    world.hold("Kept", "kept")
    wide = world.hold("Wide", "wide")
    world.delete(world.key("Left", "b"))
    with structlog.testing.capture_logs() as lines:
        world.check()
    left, cluster_wide = warnings(lines)
    assert (left["kind"], left["objects"], left["being_deleted"]) == (
        str(world.gvk("Left")),
        2,
        1,
    )
    assert left["finalizer"] == FINALIZER
    assert left["example"] == f"{world.namespace}/b"
    assert left["command"] == (
        f"kubectl patch lefts.{world.group} b -n {world.namespace} --type=json -p "
        f"""'[{{"op": "test", "path": "/metadata/finalizers/1", "value": "{FINALIZER}"}}, """
        """{"op": "remove", "path": "/metadata/finalizers/1"}]'"""
    )
    assert (cluster_wide["example"], cluster_wide["objects"]) == ("wide", 1)
    assert world.finalizers(world.key("Left", "b")) == ["foreign.example.com/x", FINALIZER]
    assert world.finalizers(wide) == ["foreign.example.com/x", FINALIZER]


@pytest.mark.case("D13")
def test_orphans_that_are_being_deleted_are_released(world: World) -> None:
    """With the option they lose our finalizer and no other; living ones keep it (D13)."""
    living, dying = world.hold("Left", "living"), world.hold("Left", "dying")
    kept = world.hold("Kept", "kept")
    for key in (dying, kept):
        world.delete(key)
    with structlog.testing.capture_logs() as lines:
        world.check(release=True)
    assert world.finalizers(dying) == ["foreign.example.com/x"]
    assert world.finalizers(living) == ["foreign.example.com/x", FINALIZER]
    assert world.finalizers(kept) == ["foreign.example.com/x", FINALIZER]
    said = [line["object"] for line in lines if "without a clean-up" in line["event"]]
    assert said == [f"{world.namespace}/dying"]


def test_former_finalizer_of_a_watched_kind(world: World) -> None:
    """A finalizer that was renamed in watches.yaml is an orphan, too."""
    world.hold("Kept", "old", "orphans.example.com/former")
    world.hold("Kept", "new")
    [found] = world.check()
    assert (found.finalizer, found.count) == ("orphans.example.com/former", 1)


def test_finalizers_of_others_are_none_of_ours(world: World) -> None:
    """An object on which only others have put finalizers is not reported."""
    key = world.hold("Left", "a")
    world.cluster.remove_finalizer(key, FINALIZER, objects.uid(world.cluster.get(key) or {}))
    with structlog.testing.capture_logs() as lines:
        assert world.check(release=True) == []
    assert warnings(lines) == []


def test_groups_of_the_server_itself_are_left_out(world: World) -> None:
    """Nobody pays for a look at all Pods or Secrets because one kind of theirs is watched."""
    watch = watches.Watch(objects.GVK("", "v1", "Secret"), watches.Role(Path("/roles/x")))
    assert orphans.Orphans(world.client, [watch], []).check() == []


def test_kind_by_name(world: World) -> None:
    """Plural and scope come from the server; what is not served is an error."""
    kind = childkinds.resolve(world.client, world.gvk("Wide"))
    assert (str(kind), kind.namespaced) == (f"wides.{world.group}", False)
    with pytest.raises(errors.NotFoundError, match="does not serve"):
        childkinds.resolve(world.client, world.gvk("None"))


def test_event_on_a_server(world: World) -> None:
    """An Event is taken by the server and found at its object."""
    key = world.hold("Left", "a")
    obj = world.cluster.get(key)
    assert obj is not None
    recorder.Recorder(world.client).record(obj, "Warning", "CleanupFailed", "boom\nmore")
    listed = world.client.request("GET", f"/api/v1/namespaces/{world.namespace}/events")
    [event] = [e for e in listed["items"] if e["involvedObject"].get("uid") == objects.uid(obj)]
    assert (event["reason"], event["type"], event["message"]) == (
        "CleanupFailed",
        "Warning",
        "boom\nmore",
    )
