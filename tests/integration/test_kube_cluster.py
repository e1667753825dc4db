"""Finalizers and status writes over real HTTP, with every refusal a server can think of."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fake_api
import pytest
import structlog
import yaml

from ansible_operator import errors, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import cluster as kube_cluster
from ansible_operator.kube import discovery, kubeconfig, status_writer

GVK = objects.GVK("test.example.com", "v1", "Thing")
KEY = objects.ObjectKey(GVK, "ns", "x")
PATH = "/apis/test.example.com/v1/namespaces/ns/things/x"
CONDITION = {
    "type": "Failure",
    "status": "False",
    "reason": "",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 1,
    "ansibleResult": {"ok": 1},
}
STATUS = {"conditions": [CONDITION], "observedGeneration": 1}


class World:
    """A fake server with one kind and one object, and a cluster that talks to it."""

    def __init__(self, api: fake_api.FakeApi, directory: Path) -> None:
        self.api = api
        self.kind = fake_api.Kind("test.example.com", "v1", "Thing", "things")
        self.now = 0.0
        self.slept: list[float] = []
        api.serve(self.kind)
        self.put()
        path = directory / "config"
        path.write_text(yaml.safe_dump(kubeconfig.document({"server": api.url}, {})))
        client = kube_client.Client.load({"KUBECONFIG": str(path)})
        self.resource = discovery.Resource(GVK, "things", True, True)
        self.cluster = kube_cluster.Cluster(
            client, lambda gvk: self.resource, clock=lambda: self.now, sleep=self.slept.append
        )

    def put(self, name: str = "x", **more: Any) -> None:
        """Create or replace an object; keyword arguments go to its metadata."""
        meta = {"name": name, "namespace": "ns", **more}
        self.api.put(self.kind, {"metadata": meta, "spec": {"size": 1}})

    def stored(self, name: str = "x") -> dict[str, Any]:
        """An object on the server."""
        return self.api.fetch(self.kind, "ns", name)

    def uid(self) -> str:
        """The uid of the object as it is now; empty when it is gone."""
        return objects.uid(self.cluster.get(KEY) or {})

    def patches(self) -> list[tuple[str, Any]]:
        """What was patched: the part of the path after the object, and the body."""
        seen = self.api.requests("PATCH")
        return [(request.path.removeprefix(PATH), request.body) for request in seen]

    def meddle(self, times: int, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the object as somebody else would, right before the next patches arrive."""
        left = [times]

        def before(obj: dict[str, Any]) -> None:
            if left[0] > 0:
                left[0] -= 1
                newer = copy.deepcopy(obj)
                change(newer)
                self.api._store(self.kind, newer)

        self.api.before_patch = before


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world of its own for every test."""
    with fake_api.FakeApi() as api:
        yield World(api, tmp_path)


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    """What was logged."""
    with structlog.testing.capture_logs() as captured:
        yield captured


def key_of(name: str) -> objects.ObjectKey:
    """The key of an object of the kind."""
    return objects.ObjectKey(GVK, "ns", name)


def warnings(logs: list[Any]) -> list[str]:
    """The texts of the warnings."""
    return [entry["event"] for entry in logs if entry["log_level"] == "warning"]


def test_get_reads_live_and_says_none_when_gone(world: World) -> None:
    """Every read asks the server."""
    found = world.cluster.get(KEY)
    assert found is not None
    assert found["spec"] == {"size": 1}
    world.api.delete(world.kind, "ns", "x")
    assert world.cluster.get(KEY) is None


def test_add_finalizer_adds_once(world: World) -> None:
    """The second time nothing is written, and the object after the write comes back."""
    world.put(finalizers=["other/f"])
    added = world.cluster.add_finalizer(KEY, "our/f")
    assert added is not None
    assert objects.finalizers(added) == ["other/f", "our/f"]
    assert world.cluster.add_finalizer(KEY, "our/f") == added
    assert len(world.patches()) == 1


def test_add_finalizer_leaves_deleted_and_gone_objects_alone(world: World) -> None:
    """The server would refuse it."""
    world.put(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["other/f"])
    assert world.cluster.add_finalizer(KEY, "our/f") is None
    world.api.delete(world.kind, "ns", "x")
    assert world.cluster.add_finalizer(KEY, "our/f") is None
    assert world.patches() == []


def test_finalizers_survive_conflicts(world: World) -> None:
    """Somebody who writes at the same time neither loses his change nor stops ours."""
    world.meddle(3, lambda obj: obj["metadata"].setdefault("finalizers", []).append("new/f"))
    world.cluster.add_finalizer(KEY, "our/f")
    assert objects.finalizers(world.stored()) == ["new/f", "new/f", "new/f", "our/f"]
    world.meddle(2, lambda obj: obj["metadata"]["finalizers"].insert(0, "first/f"))
    world.cluster.remove_finalizer(KEY, "our/f", world.uid())
    assert objects.finalizers(world.stored()) == ["first/f"] * 2 + ["new/f"] * 3


def test_endless_conflicts_end_in_an_error(world: World) -> None:
    """After half a minute of fresh reads the pass fails and is tried again later."""
    world.meddle(99, lambda obj: obj["spec"].update(size=obj["spec"]["size"] + 1))
    with pytest.raises(errors.ConflictError):
        world.cluster.add_finalizer(KEY, "our/f")
    assert len(world.patches()) == kube_cluster.ATTEMPTS
    assert len(world.slept) == kube_cluster.ATTEMPTS - 1
    assert 20 < sum(world.slept) < 30


def test_a_refused_finalizer_is_not_taken_for_a_conflict(world: World) -> None:
    """If the object did not change, the refusal is about the content and is not repeated."""
    world.kind.validate = lambda obj: ["metadata.finalizers"]
    with pytest.raises(errors.InvalidError):
        world.cluster.add_finalizer(KEY, "bad name")
    assert len(world.patches()) == 1


def test_remove_finalizer_lets_a_deleted_object_go(world: World) -> None:
    """It is idempotent: absent finalizers and gone objects are fine."""
    world.put(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["our/f"])
    world.cluster.remove_finalizer(KEY, "our/f", world.uid())
    assert world.cluster.get(KEY) is None
    world.cluster.remove_finalizer(KEY, "our/f", world.uid())
    world.put(finalizers=["other/f"])
    world.cluster.remove_finalizer(KEY, "our/f", world.uid())
    assert len(world.patches()) == 1


def test_remove_finalizer_leaves_a_successor_alone(world: World) -> None:
    """An object of the same name that was made meanwhile keeps its finalizer, and its clean-up."""
    world.put(finalizers=["our/f"])
    world.cluster.remove_finalizer(KEY, "our/f", "uid-of-the-one-before")
    assert world.patches() == []
    assert objects.finalizers(world.stored()) == ["our/f"]


def test_an_object_that_vanishes_while_it_is_patched_is_gone(world: World) -> None:
    """Neither an error nor a re-creation."""
    world.put(finalizers=["our/f"])

    def vanish(obj: dict[str, Any]) -> None:
        if (world.kind.plural, "ns", "x") in world.api.objects:
            world.api._remove(world.kind, "ns", "x")

    world.api.before_patch = vanish
    world.cluster.remove_finalizer(KEY, "our/f", world.uid())
    world.put()
    assert world.cluster.add_finalizer(KEY, "our/f") is None
    world.put()
    assert world.cluster.update_status(KEY, lambda obj: STATUS) is None
    assert world.api.objects == {}


def test_status_is_patched_and_nothing_else(world: World) -> None:
    """One merge patch on /status with the changed keys and the version that was read."""
    world.put()
    version = objects.resource_version(world.stored())
    written = world.cluster.update_status(KEY, lambda obj: {"a": 1, "b": {"c": 2}})
    assert written is not None
    assert written["status"] == {"a": 1, "b": {"c": 2}}
    world.cluster.update_status(KEY, lambda obj: {**obj["status"], "b": {"c": 3}})
    world.cluster.update_status(KEY, lambda obj: {"b": {"c": 3}})
    (first, second, third) = world.patches()
    assert first == (
        "/status",
        {"metadata": {"resourceVersion": version}, "status": {"a": 1, "b": {"c": 2}}},
    )
    assert second[1]["status"] == {"b": {"c": 3}}
    assert third[1]["status"] == {"a": None}
    assert world.stored()["spec"] == {"size": 1}


def test_an_unchanged_status_is_not_sent(world: World) -> None:
    """The object comes back as it was read."""
    world.cluster.update_status(KEY, lambda obj: STATUS)
    again = world.cluster.update_status(KEY, lambda obj: copy.deepcopy(STATUS))
    assert again is not None
    assert again["status"] == STATUS
    assert len(world.patches()) == 1
    world.api.delete(world.kind, "ns", "x")
    assert world.cluster.update_status(KEY, lambda obj: STATUS) is None


def test_a_status_conflict_computes_anew(world: World) -> None:
    """What somebody else wrote meanwhile is seen by the next computation, and survives."""
    world.meddle(2, lambda obj: obj.setdefault("status", {}).update(theirs=obj["spec"]["size"]))
    seen: list[Any] = []

    def compute(obj: dict[str, Any]) -> dict[str, Any]:
        seen.append(obj.get("status"))
        return {**(obj.get("status") or {}), "ours": 1}

    world.cluster.update_status(KEY, compute)
    assert seen == [None, {"theirs": 1}, {"theirs": 1}]
    assert world.stored()["status"] == {"theirs": 1, "ours": 1}


def test_errors_of_the_server_reach_the_caller(world: World) -> None:
    """A missing permission or a broken server is the caller's to retry."""
    fault = world.api.fail("PATCH", "/status", 403, message="no")
    with pytest.raises(errors.ForbiddenError):
        world.cluster.update_status(KEY, lambda obj: STATUS)
    fault.status = 500
    with pytest.raises(errors.ServerError):
        world.cluster.update_status(KEY, lambda obj: STATUS)


def test_a_kind_without_status_is_noticed_and_said_once(world: World, logs: list[Any]) -> None:
    """404 on /status of an object that is there: no error, one warning; one when it is back."""
    world.kind.has_status = False
    for _ in range(3):
        read = world.cluster.update_status(KEY, lambda obj: STATUS)
        assert read is not None
        assert "status" not in read
    assert warnings(logs) == ["no status is written: the kind has no status subresource"]
    world.kind.has_status = True
    for ok in range(2):
        world.cluster.update_status(KEY, lambda obj, ok=ok: {"ok": ok})  # type: ignore[misc]
    assert world.stored()["status"] == {"ok": 1}
    assert [entry["event"] for entry in logs[1:]] == [
        "status is written again: the kind has it now"
    ]


def test_a_kind_that_is_known_to_have_no_status_is_never_asked(
    world: World, logs: list[Any]
) -> None:
    """Discovery said so; when the kind is served with a status later, it is written."""
    world.resource = discovery.Resource(GVK, "things", True, has_status=False)
    world.cluster.update_status(KEY, lambda obj: STATUS)
    assert world.patches() == []
    assert len(warnings(logs)) == 1
    world.resource = discovery.Resource(GVK, "things", True, has_status=True)
    world.cluster.update_status(KEY, lambda obj: STATUS)
    assert world.stored()["status"] == STATUS
    assert [entry["event"] for entry in logs[1:]] == [
        "status is written again: the kind has it now"
    ]


def strict(obj: dict[str, Any]) -> list[str]:
    """A schema of conditions like metav1.Condition, without additional fields."""
    allowed = {"type", "status", "reason", "message", "lastTransitionTime"}
    listed = obj.get("status", {}).get("conditions", [])
    bad = [c for c in listed if set(c) - allowed or not c["reason"]]
    return ["status.conditions[0]"] if bad else []


def test_a_strict_schema_gets_the_reduced_form(world: World, logs: list[Any]) -> None:
    """Tried in full once, said once with the server's words, reduced from then on."""
    world.kind.validate = strict
    world.cluster.update_status(KEY, lambda obj: STATUS)
    (condition,) = world.stored()["status"]["conditions"]
    assert condition["reason"] == "NotFailure"
    assert "ansibleResult" not in condition
    changed = {"conditions": [{**CONDITION, "status": "True", "reason": "Failed"}]}
    world.cluster.update_status(KEY, lambda obj: changed)
    world.cluster.update_status(KEY, lambda obj: changed)
    assert len(world.patches()) == 3
    (said,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert said["event"].startswith("status is written in a reduced form")
    assert "status.conditions[0]: Invalid value" in said["error"]


def test_the_full_form_is_tried_again(world: World, logs: list[Any]) -> None:
    """After some minutes, and at once when discovery shows another resource; said once each."""
    world.kind.validate = strict
    for name in ("x", "y"):
        world.put(name)
        world.cluster.update_status(key_of(name), lambda obj: STATUS)
    world.kind.validate = lambda obj: []
    world.cluster.update_status(KEY, lambda obj: STATUS)
    assert world.stored()["status"] != STATUS
    world.now = status_writer.RETRY
    for name in ("x", "y"):
        world.cluster.update_status(key_of(name), lambda obj: STATUS)
        assert world.stored(name)["status"] == STATUS
    assert [entry["event"] for entry in logs[1:]] == ["status is written in full again"]
    world.kind.validate = strict
    world.put()
    world.cluster.update_status(KEY, lambda obj: STATUS)
    assert len(warnings(logs)) == 2
    world.kind.validate = lambda obj: []
    world.resource = discovery.Resource(GVK, "things", namespaced=True, has_status=False)
    world.cluster.update_status(KEY, lambda obj: STATUS)
    world.resource = discovery.Resource(GVK, "things", namespaced=True, has_status=True)
    world.cluster.update_status(KEY, lambda obj: STATUS)
    assert world.stored()["status"] == STATUS


def test_a_strict_schema_that_stays_costs_one_more_request_now_and_then(
    world: World, logs: list[Any]
) -> None:
    """What was refused is not sent again with every write, nor warned of again."""
    world.kind.validate = strict
    for turn in range(6):
        world.now = turn * status_writer.RETRY / 2
        world.cluster.update_status(KEY, lambda obj: STATUS)
    assert len(world.patches()) == 2 + 2  # both forms, then the full one after 300 and 600 s
    assert len(logs) == 1


def test_a_refused_status_costs_two_requests_and_no_other_object(
    world: World, logs: list[Any]
) -> None:
    """The others of its kind are written in full; the warning is of the kind, not of each."""

    def refuse(obj: dict[str, Any]) -> list[str]:
        return ["status.phase"] if obj["metadata"]["name"].startswith("bad") else []

    world.kind.validate = refuse
    for name in ("bad1", "bad2", "good"):
        world.put(name)
    for turn in range(3):
        for name in ("bad1", "bad2"):
            before = len(world.patches())
            read = world.cluster.update_status(key_of(name), lambda obj: STATUS)
            assert read is not None
            assert len(world.patches()) == before + 2
        status = {**STATUS, "turn": turn}
        world.cluster.update_status(key_of("good"), lambda obj, new=status: new)  # type: ignore[misc]
        assert world.stored("good")["status"] == status
    assert warnings(logs) == [
        "status is not written: the schema rejects it even in the reduced form"
    ]
    assert logs[0]["object"].endswith("ns/bad1")


def test_a_reduced_status_reduces_no_other_object(world: World) -> None:
    """That one object's full status was refused says nothing of the others."""

    def refuse(obj: dict[str, Any]) -> list[str]:
        return strict(obj) if obj["metadata"]["name"] == "x" else []

    world.kind.validate = refuse
    world.put("y")
    for name in ("x", "y"):
        world.cluster.update_status(key_of(name), lambda obj: STATUS)
    assert world.stored()["status"] != STATUS
    assert world.stored("y")["status"] == STATUS


def test_a_refusal_is_said_again_in_other_words_and_when_it_is_over(
    world: World, logs: list[Any]
) -> None:
    """Each distinct complaint once, however often they alternate; then that it is written."""
    for fields in (["status.a"], ["status.b"], ["status.a"], ["status.b"]):
        world.kind.validate = lambda obj, fields=fields: fields  # type: ignore[misc]
        world.cluster.update_status(KEY, lambda obj: STATUS)
    assert ["status.a" in logs[0]["error"], "status.b" in logs[1]["error"]] == [True, True]
    assert len(logs) == 2
    world.kind.validate = lambda obj: []
    world.cluster.update_status(KEY, lambda obj: STATUS)
    world.cluster.update_status(KEY, lambda obj: {})
    assert [entry["event"] for entry in logs[2:]] == ["status is written in full again"]
    world.kind.validate = lambda obj: ["status.a"]
    world.cluster.update_status(KEY, lambda obj: STATUS)
    assert len(logs) == 4


def test_an_object_with_an_invalid_spec_does_not_silence_its_kind(
    world: World, logs: list[Any]
) -> None:
    """If what is rejected is not the status, the form of the status stays as it is."""
    world.kind.validate = lambda obj: ["spec.size"]
    assert world.cluster.update_status(KEY, lambda obj: STATUS) is not None
    world.kind.validate = lambda obj: []
    world.cluster.update_status(KEY, lambda obj: STATUS)
    assert world.stored()["status"] == STATUS
    assert warnings(logs) == ["status not written: object is invalid"]


def test_fields_that_the_schema_drops_are_named_once(world: World, logs: list[Any]) -> None:
    """The rest is written, and an unchanged status is not sent again and again."""

    def prune(status: dict[str, Any]) -> None:
        status.pop("observedGeneration", None)
        for condition in status.get("conditions", []):
            condition.pop("ansibleResult", None)

    world.kind.prune = prune
    for _ in range(3):
        world.cluster.update_status(KEY, lambda obj: STATUS)
    assert len(world.patches()) == 1
    (said,) = [entry for entry in logs if entry["log_level"] == "warning"]
    assert said["fields"] == ["status.conditions[].ansibleResult", "status.observedGeneration"]
    changed = {"conditions": [{**CONDITION, "status": "True"}], "observedGeneration": 2}
    world.cluster.update_status(KEY, lambda obj: changed)
    assert world.stored()["status"]["conditions"][0]["status"] == "True"
    assert len(warnings(logs)) == 1


def test_a_status_that_is_dropped_altogether_is_not_sent_again(world: World) -> None:
    """A CRD without any status in its schema."""
    world.kind.prune = lambda status: status.clear()
    for _ in range(3):
        world.cluster.update_status(KEY, lambda obj: STATUS)
    assert len(world.patches()) == 1


def test_a_schema_that_keeps_the_status_again_is_noticed(world: World, logs: list[Any]) -> None:
    """What was dropped is sent again after some minutes, and for every object if it is kept."""
    world.put("y")
    world.kind.prune = lambda status: status.clear()
    for name in ("x", "y", "x", "y"):
        world.cluster.update_status(key_of(name), lambda obj: STATUS)
    assert len(world.patches()) == 1
    world.now = status_writer.RETRY
    for name in ("x", "y"):
        world.cluster.update_status(key_of(name), lambda obj: STATUS)
    assert len(world.patches()) == 2
    world.kind.prune = lambda status: None
    world.now = 2 * status_writer.RETRY
    for name in ("x", "y"):
        world.cluster.update_status(key_of(name), lambda obj: STATUS)
        assert world.stored(name)["status"] == STATUS
    assert [entry["event"] for entry in logs] == [
        "the schema drops fields of the status",
        "the schema keeps fields of the status that it dropped before",
    ]
    assert logs[1]["fields"] == ["status.conditions", "status.observedGeneration"]
