"""kubectl reads: get in all its forms, watch, describe, events, and what it says of errors."""

from __future__ import annotations

import json
from typing import Any

import kubectls
import pytest
import wire
import yaml

pytestmark = pytest.mark.kubectl


def some(kubectl: kubectls.Kubectl) -> None:
    """Make three config maps and a secret."""
    maps: list[Any] = [
        wire.configmap("a", {"k": "v"}, labels={"app": "one", "tier": "x"}),
        wire.configmap("b", {"k": "v", "l": "w"}, labels={"app": "two"}),
        wire.configmap("c", labels={"app": "one"}),
    ]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    kubectl("create", "-f", "-", stdin=kubectls.manifest(*maps, secret))


def names(text: str) -> list[str]:
    """The first column of what is printed, without the header."""
    return [row[0] for row in kubectls.table(text)[1:]]


def test_get_prints_what_the_server_lays_out(kubectl: kubectls.Kubectl) -> None:
    """A table with header; names, several kinds, short names and type/name select."""
    some(kubectl)
    found = kubectls.table(kubectl("get", "configmaps", "a", "b"))
    assert [row[:2] for row in found] == [["NAME", "DATA"], ["a", "1"], ["b", "2"]]
    assert found[0] == ["NAME", "DATA", "AGE"]
    assert names(kubectl("get", "cm/b", "secret/s")).count("secret/s") == 1
    assert kubectl("get", "cm", "a", "--no-headers").split()[:2] == ["a", "1"]
    assert kubectl("get", "cm", "nosuch", "--ignore-not-found") == ""
    wide = kubectls.table(kubectl("get", "ns", "default", "-o", "wide"))
    assert wide[1][:2] == ["default", "Active"]
    listed = kubectls.table(kubectl("get", "cm", "--all-namespaces"))
    assert listed[0][:2] == ["NAMESPACE", "NAME"]
    assert [kubectl.namespace, "a"] in [row[:2] for row in listed]


def test_get_selects_and_sorts(kubectl: kubectls.Kubectl) -> None:
    """By label, by field, in pages, in another order, with labels as columns."""
    some(kubectl)
    assert names(kubectl("get", "cm", "-l", "app=one")) == ["a", "c"]
    assert names(kubectl("get", "cm", "-l", "app in (two),tier notin (x)")) == ["b"]
    assert names(kubectl("get", "cm", "--field-selector", "metadata.name=b")) == ["b"]
    pages = kubectl("get", "cm", "--chunk-size=1", "-l", "app")
    assert names(pages) == ["a", "b", "c"]
    ordered = kubectl("get", "cm", "-l", "app", "--sort-by={.metadata.labels.app}", "-o", "name")
    assert ordered.split()[-1] == "configmap/b"
    shown = kubectls.table(kubectl("get", "cm", "a", "--show-labels"))
    assert (shown[0][-1], shown[1][-1]) == ("LABELS", "app=one,tier=x")
    columns = kubectls.table(kubectl("get", "cm", "-l", "tier", "-L", "app"))
    assert (columns[0][-1], columns[1][-1]) == ("APP", "one")


def test_get_writes_other_forms(kubectl: kubectls.Kubectl) -> None:
    """JSON, YAML, names, paths and columns of one's own."""
    some(kubectl)
    one = json.loads(kubectl("get", "cm", "a", "-o", "json"))
    assert (one["kind"], one["data"]) == ("ConfigMap", {"k": "v"})
    assert "managedFields" not in one["metadata"]
    kept = kubectl("get", "cm", "a", "-o", "yaml", "--show-managed-fields")
    assert yaml.safe_load(kept)["metadata"]["managedFields"][0]["manager"] == "kubectl-create"
    many = json.loads(kubectl("get", "cm", "-l", "app", "-o", "json"))
    assert (many["kind"], len(many["items"])) == ("List", 3)
    assert kubectl("get", "cm,secret", "-o", "name").split()[-1] == "secret/s"
    path = "jsonpath={range .items[*]}{.metadata.name}:{.data.k} {end}"
    assert kubectl("get", "cm", "-l", "app", "-o", path) == "a:v b:v c: "
    custom = kubectl("get", "cm", "b", "-o", "custom-columns=N:.metadata.name,L:.data.l,X:.x")
    assert kubectls.table(custom) == [["N", "L", "X"], ["b", "w", "<none>"]]
    template = "go-template={{.metadata.name}} has {{len .data}}"
    assert kubectl("get", "cm", "b", "-o", template) == "b has 2"
    raw = kubectl("get", "--raw", f"/api/v1/namespaces/{kubectl.namespace}/configmaps/a")
    assert json.loads(raw)["metadata"]["name"] == "a"


def test_get_watches(kubectl: kubectls.Kubectl) -> None:
    """What is there comes first, then changes as they happen."""
    some(kubectl)
    watch = ("get", "cm", "-l", "app", "--watch", "--output-watch-events")
    with kubectl.running(*watch) as output:
        output.until(r"^ADDED +c ")
        kubectl("label", "cm", "b", "new=label")
        output.until(r"^MODIFIED +b ")
        kubectl("delete", "cm", "c")
        text = output.until(r"^DELETED +c ")
    assert kubectls.table(text)[0] == ["EVENT", "NAME", "DATA", "AGE"]
    with kubectl.running("get", "cm", "--watch-only", "-o", "name") as output:
        for number in range(1000):
            kubectl("create", "cm", f"new{number}")
            if output.file.read_text():
                break
        assert output.until("new").startswith("configmap/new")


def test_describe_reads_objects_of_many_kinds(kubectl: kubectls.Kubectl) -> None:
    """Built-in kinds in their own words, with their events."""
    some(kubectl)
    found = kubectl("describe", "cm", "b")
    assert "Name:         b\n" in found
    assert "l:\n----\nw\n" in found
    kubectl("create", "deployment", "web", "--image=nginx", "--port=80")
    kubectl("rollout", "status", "deployment/web")
    found = kubectl("describe", "deployment", "web")
    assert "1 desired | 1 updated | 1 total | 1 available | 0 unavailable" in found
    assert "Scaled up replica set web-" in found
    found = kubectl("describe", "pods", "-l", "app=web")
    assert "Controlled By:  ReplicaSet/web-" in found
    assert "Successfully assigned" in found
    kubectl("expose", "deployment", "web")
    found = kubectl("describe", "service", "web")
    assert "Selector:                 app=web\n" in found or "app=web" in found
    assert "Endpoints:" in found
    assert "Status:       Active" in kubectl("describe", "ns", kubectl.namespace)


def test_describe_reads_custom_resources(
    kubectl: kubectls.Kubectl, server: wire.Server, unique: str
) -> None:
    """Kinds that kubectl does not know are laid out field by field."""
    group = f"{unique}.example.com"
    crd = wire.crd(group)
    kubectl("create", "-f", "-", stdin=kubectls.manifest(crd))
    name = f"things.{group}"
    kubectl("wait", "--for=condition=Established", f"crd/{name}")
    server.until(f"/apis/{group}/v1", lambda _: True)
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}}
    kubectl.apply({**thing, "spec": {"someSize": 3}})
    found = kubectl("describe", name, "t")
    assert "Some Size:  3" in found
    assert "Kind:         Thing" in found
    assert names(kubectl("get", name)) == ["t"]
    kubectl("delete", "crd", name)


def test_events_are_printed(kubectl: kubectls.Kubectl) -> None:
    """`kubectl events` and `kubectl get events` show what was recorded, of one object or all."""
    kubectl("run", "p", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/p")
    found = kubectls.table(kubectl("events", "--for=pod/p"))
    assert found[0] == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert "Scheduled" in {row[2] for row in found}
    found = kubectls.table(kubectl("get", "events", "--field-selector=reason=Scheduled"))
    assert found[1][1:4] == ["Normal", "Scheduled", "pod/p"]
    assert kubectl("events", "--types=Warning") == ""


def test_errors_are_told_in_the_servers_words(kubectl: kubectls.Kubectl) -> None:
    """Not found, unknown kinds, bad selectors, invalid and existing objects."""
    fails = kubectl.fails
    some(kubectl)
    assert fails("get", "cm", "x") == 'Error from server (NotFound): configmaps "x" not found\n'
    unknown = 'error: the server doesn\'t have a resource type "nosuch"\n'
    assert fails("get", "nosuch") == unknown
    deploy = 'Error from server (NotFound): deployments.apps "x" not found\n'
    assert fails("get", "deploy/x") == deploy
    assert "Error from server (BadRequest): Unable to find" in fails(
        "get", "cm", "--field-selector", "spec.x=1"
    )
    exists = 'error: failed to create configmap: configmaps "a" already exists\n'
    assert fails("create", "cm", "a") == exists
    twice = 'Error from server (AlreadyExists): error when creating "STDIN": configmaps "a" '
    doubled = kubectls.manifest(wire.configmap("a"))
    assert fails("create", "-f", "-", stdin=doubled) == f"{twice}already exists\n"
    invalid = fails("create", "-f", "-", stdin=kubectls.manifest(wire.configmap("A_b")))
    assert invalid.startswith('The ConfigMap "A_b" is invalid: metadata.name: Invalid value: "A_b"')
    nowhere = fails("create", "cm", "x", "-n", "nosuch")
    assert nowhere == 'error: failed to create configmap: namespaces "nosuch" not found\n'
    kind = {"apiVersion": "nosuch.example.com/v1", "kind": "Nope", "metadata": {"name": "n"}}
    assert 'no matches for kind "Nope" in version "nosuch.example.com/v1"' in fails(
        "create", "-f", "-", stdin=kubectls.manifest(kind)
    )
