"""Tests of ansible_operator.sandbox.gotypes and scalars."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator.sandbox.reading import values
from ansible_operator.sandbox.schemas import gotypes, scalars, schema

Obj = dict[str, Any]


def read(value: Any, kind: str = "Pod", version: str = "v1") -> Any:
    """A value as a built-in type holds it; there are no problems."""
    group, _, name = version.rpartition("/")
    found, problems = gotypes.read(value, schema.builtin(group, name, kind))
    assert problems == []
    return found


def container(**fields: Any) -> Obj:
    """A container as a pod holds it."""
    found: Obj = read({"spec": {"containers": [fields]}})["spec"]["containers"][0]
    return found


def test_zero_values_fall_away_unless_they_mean_something() -> None:
    """Pointers keep theirs, plain fields do not, structs are always there."""
    fields: Obj = {"tty": False, "workingDir": "", "command": [], "envFrom": None}
    assert container(name="a", **fields) == {"name": "a", "resources": {}}
    security = {"privileged": False, "runAsUser": 0, "capabilities": {"add": []}}
    kept = {"privileged": False, "runAsUser": 0, "capabilities": {}}
    assert container(name="a", securityContext=security)["securityContext"] == kept
    assert read({})["status"] == {}


def test_required_fields_are_written() -> None:
    """A name that is missing is an empty one, a list that is missing a null."""
    assert container() == {"name": "", "resources": {}}
    assert read({}, "ClusterRole", "rbac.authorization.k8s.io/v1") == {"rules": None}


def test_nulls_are_nothing_in_structs_and_zero_in_collections() -> None:
    """As Go's decoder has it."""
    found = read({"data": {"a": None}, "immutable": None}, "ConfigMap")
    assert found == {"data": {"a": ""}}
    assert container(name="a", command=[None])["command"] == [""]
    assert container(name="a", ports=[None])["ports"] == [{}]


def test_values_that_read_themselves_are_tidied() -> None:
    """Quantities, times and base64 have one form; ports are what they are."""
    limits = {"cpu": 0.5, "memory": "1024Mi"}
    assert container(name="a", resources={"limits": limits})["resources"] == {
        "limits": {"cpu": "500m", "memory": "1Gi"}
    }
    stamp = "2020-01-01T01:00:00.123+01:00"
    assert read({"metadata": {"creationTimestamp": stamp}})["metadata"] == {
        "creationTimestamp": "2020-01-01T00:00:00Z"
    }
    renewed = {"spec": {"renewTime": "2020-01-01T00:00:00.1234567Z"}}
    lease = read(renewed, "Lease", "coordination.k8s.io/v1")
    assert lease["spec"] == {"renewTime": "2020-01-01T00:00:00.123456Z"}
    assert read({"data": {"a": "YQ==\n"}}, "Secret") == {"data": {"a": "YQ=="}}
    for port in (80, "http"):
        probe = {"httpGet": {"port": port}}
        assert container(name="a", livenessProbe=probe)["livenessProbe"] == probe


def test_schemas_in_definitions() -> None:
    """Where a schema or a boolean may stand, and in free values, nothing is strict."""
    inner = {"type": "string", "foo": 1}
    props = {
        "properties": {"list": {"items": inner}, "map": {"additionalProperties": False}},
        "default": {"x": 1.0, "y": None},
        "maximum": 2.0,
    }
    spec = {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": props}}]}
    found = read({"spec": spec}, "CustomResourceDefinition", "apiextensions.k8s.io/v1")
    assert found["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "properties": {
            "list": {"items": {"type": "string"}},
            "map": {"additionalProperties": False},
        },
        "default": {"x": 1, "y": None},
        "maximum": 2,
    }


def test_unknown_and_repeated_fields_are_told_with_their_path() -> None:
    """In the order of the text."""
    again = values.Repeated({"a": "2"}, pairs=[("a", "1"), ("b", "1"), ("a", "2")])
    port = {"x": 1}
    pod = {"metadata": {"labels": again}, "spec": {"containers": [{"ports": [port]}]}, "foo": 1}
    found, problems = gotypes.read(pod, schema.builtin("", "v1", "Pod"))
    assert found["metadata"] == {"labels": {"a": "2", "b": "1"}}
    assert problems == [
        ("duplicate", "metadata.labels.a"),
        ("unknown", "spec.containers[0].ports[0].x"),
        ("unknown", "foo"),
    ]


OF = "into Go struct field"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"image": 5}, f"number {OF} Container.spec.containers.image of type string"),
        ({"command": 5}, f"number {OF} Container.spec.containers.command of type []string"),
        ({"ports": [5]}, f"number {OF} Container.spec.containers.ports of type v1.ContainerPort"),
        (
            {"imagePullPolicy": True},
            f"bool {OF} Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
        ),
        (
            {"livenessProbe": {"httpGet": []}},
            f"array {OF} Probe.spec.containers.livenessProbe.ProbeHandler.httpGet"
            " of type v1.HTTPGetAction",
        ),
        (
            {"securityContext": {"runAsUser": 1.5}},
            f"number 1.5 {OF} SecurityContext.spec.containers.securityContext.runAsUser"
            " of type int64",
        ),
        (
            {"securityContext": {"capabilities": {"add": [1]}}},
            f"number {OF} Capabilities.spec.containers.securityContext.capabilities.add"
            " of type v1.Capability",
        ),
        (
            {"resources": {"limits": 1}},
            f"number {OF} ResourceRequirements.spec.containers.resources.limits"
            " of type v1.ResourceList",
        ),
        (
            {"livenessProbe": {"httpGet": {"port": 1 << 31}}},
            f"number 2147483648 {OF} "
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
    ],
)
def test_wrong_types(fields: Obj, told: str) -> None:
    """The message is that of Go's decoder."""
    with pytest.raises(values.Mismatch) as caught:
        container(**fields)
    assert str(caught.value) == f"json: cannot unmarshal {told}"


@pytest.mark.parametrize(
    ("stamp", "told"),
    [
        ("x", '"2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
        ("2020/01", '"2006-01-02T15:04:05Z07:00": cannot parse "/01" as "-"'),
        ("2020-01-01 00", '"2006-01-02T15:04:05Z07:00": cannot parse " 00" as "T"'),
        ("2020-13-01T00:00:00Z", "month out of range"),
        ("2020-02-30T00:00:00Z", "day out of range"),
        ("2020-01-01T00:00:00", '"2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'),
        ("2020-01-01T00:00:00Zx", '"2006-01-02T15:04:05Z07:00": extra text: "x"'),
    ],
)
def test_unreadable_times(stamp: str, told: str) -> None:
    """The message is that of Go's time package."""
    with pytest.raises(scalars.Unreadable) as caught:
        scalars.moment(stamp)
    joint = ": " if told.endswith("range") else " as "
    assert str(caught.value) == f'parsing time "{stamp}"{joint}{told}'


def test_unreadable_base64() -> None:
    """The message says where."""
    for text, at in (("!!", 0), ("YQ", 0), ("YWJj!", 4), ("YQ==YQ==", 4), ("YQ=", 3)):
        with pytest.raises(scalars.Unreadable, match=f"illegal base64 data at input byte {at}"):
            read({"data": {"a": text}}, "Secret")


def test_all_kinds_can_be_read() -> None:
    """Also those that nobody sends here."""
    for name in schema.definitions():
        if schema.definition(name).get("type") == "object":
            gotypes.read({}, schema.definition(name))
