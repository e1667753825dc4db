"""kubectl writes: create, apply in both ways, diff, edit, patch, replace, label and annotate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubectls
import pytest
import wire

pytestmark = pytest.mark.kubectl
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def deployment(*containers: wire.Obj, **spec: Any) -> wire.Obj:
    """A deployment without replicas."""
    template = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": list(containers)}}
    selector = {"matchLabels": {"app": "d"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "labels": {"app": "d"}},
        "spec": {"selector": selector, "template": template, **spec},
    }


def main(**fields: Any) -> wire.Obj:
    """A container."""
    return {"name": "main", "image": "nginx", **fields}


def thing(path: str, **content: Any) -> wire.Obj:
    """A custom resource of the CRD that the fixture ``crd`` made, with its namespace."""
    _, _, group, version, _, namespace, _ = path.split("/")
    meta = {"name": "t", "namespace": namespace}
    return {"apiVersion": f"{group}/{version}", "kind": "Thing", "metadata": meta, **content}


def test_create_is_validated_by_the_server(kubectl: kubectls.Kubectl) -> None:
    """Unknown fields are refused, or told of; a dry run makes nothing; names may be made up."""
    wrong = kubectls.manifest({**wire.configmap("a"), "dada": {}})
    assert kubectl.fails("create", "-f", "-", stdin=wrong) == (
        'Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" '
        'cannot be handled as a ConfigMap: strict decoding error: unknown field "dada"\n'
    )
    warned = kubectl.warned("create", "--validate=warn", "-f", "-", stdin=wrong)
    assert warned == 'Warning: unknown field "dada"\n'
    dry = ("create", "--dry-run=server", "-o", "name", "-f", "-")
    fine = kubectls.manifest(wire.configmap("b"))
    assert kubectl(*dry, stdin=fine) == "configmap/b\n"
    assert kubectl("get", "cm", "b", "--ignore-not-found") == ""
    made_up = {**wire.configmap("x"), "metadata": {"generateName": "made-up-"}}
    told = kubectl("create", "-f", "-", stdin=kubectls.manifest(made_up))
    assert told.startswith("configmap/made-up-")


def test_apply_merges_three_ways(kubectl: kubectls.Kubectl) -> None:
    """What was applied before and is not any more goes; what others set stays."""
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    side = {"name": "side", "image": "redis"}
    first = deployment(main(env=env), side, replicas=0)
    assert kubectl.apply(first) == "deployment.apps/d created\n"
    assert kubectl.apply(first) == "deployment.apps/d unchanged\n"
    kept = kubectl.read("deployment", "d")["metadata"]["annotations"][LAST_APPLIED]
    assert json.loads(kept)["spec"]["replicas"] == 0
    assert json.loads(kubectl("apply", "view-last-applied", "deploy/d", "-o", "json"))["spec"]
    kubectl("set", "env", "deployment/d", "-c", "main", "OTHER=3")
    kubectl("label", "deployment", "d", "other=label")
    second = deployment(main(image="nginx:2", env=env[1:]))
    second["metadata"]["labels"] = {"new": "label"}
    assert kubectl.apply(second) == "deployment.apps/d configured\n"
    found = kubectl.read("deployment", "d")
    assert found["metadata"]["labels"] == {"new": "label", "other": "label"}
    containers = found["spec"]["template"]["spec"]["containers"]
    assert [(c["name"], c["image"]) for c in containers] == [("main", "nginx:2")]
    assert {e["name"] for e in containers[0]["env"]} == {"B", "OTHER"}
    assert found["spec"]["replicas"] == 1


def test_apply_merges_custom_resources(kubectl: kubectls.Kubectl, crd: Any) -> None:
    """Maps are merged, lists are replaced: there is no schema with merge keys."""
    path = crd()
    spec = {"a": 1, "map": {"x": 1, "y": 2}, "list": [{"name": "one"}, {"name": "two"}]}
    assert kubectl.apply(thing(path, spec=spec)).endswith("/t created\n")
    name = thing(path)["apiVersion"].partition("/")[0]
    kubectl("patch", f"things.{name}", "t", "--type=merge", "-p", '{"spec": {"other": 9}}')
    changed = {"map": {"x": 3}, "list": [{"name": "two"}]}
    assert kubectl.apply(thing(path, spec=changed)).endswith("/t configured\n")
    assert kubectl.read(f"things.{name}", "t")["spec"] == {**changed, "other": 9}


def test_apply_prunes(kubectl: kubectls.Kubectl) -> None:
    """Objects of the label that were applied and are in the file no more are deleted."""
    both = [wire.configmap(name, labels={"set": "s"}) for name in ("a", "b")]
    kubectl.apply(*both)
    options = ("--prune", "-l", "set=s", "--prune-allowlist=core/v1/ConfigMap")
    told = kubectl.apply(both[0], options=options)
    assert told.splitlines()[-1] == "configmap/b pruned"
    assert kubectl("get", "cm", "-l", "set=s", "-o", "name") == "configmap/a\n"


def test_server_side_apply_knows_who_owns_what(kubectl: kubectls.Kubectl) -> None:
    """Another manager's fields are a conflict, unless taken by force."""
    apply = ("apply", "--server-side", "-f", "-")
    first = kubectls.manifest(wire.configmap("a", {"k": "v"}))
    told = kubectl(*apply, "--field-manager=one", stdin=first)
    assert told == "configmap/a serverside-applied\n"
    other = kubectls.manifest(wire.configmap("a", {"k": "w", "l": "m"}))
    refused = kubectl.fails(*apply, "--field-manager=two", stdin=other)
    assert refused.startswith(
        'error: Apply failed with 1 conflict: conflict with "one": .data.k\n'
        "Please review the fields above--they currently have other managers."
    )
    kubectl(*apply, "--field-manager=two", "--force-conflicts", stdin=other)
    found = kubectl.read("cm", "a", "--show-managed-fields")
    assert found["data"] == {"k": "w", "l": "m"}
    owned = {e["manager"]: sorted(e["fieldsV1"].get("f:data", {})) for e in managers(found)}
    assert owned["two"] == [".", "f:k", "f:l"] or owned["two"] == ["f:k", "f:l"]
    assert "f:k" not in owned.get("one", [])


def managers(found: wire.Obj) -> list[wire.Obj]:
    """The managed fields of an object."""
    return list(found["metadata"]["managedFields"])


def test_server_side_apply_takes_over_from_client_side(kubectl: kubectls.Kubectl) -> None:
    """After it the fields of client-side apply are those of the server-side manager."""
    kubectl.apply(wire.configmap("a", {"k": "v", "l": "w"}))
    fewer = kubectls.manifest(wire.configmap("a", {"k": "v"}))
    kubectl("apply", "--server-side", "-f", "-", stdin=fewer)
    found = kubectl.read("cm", "a", "--show-managed-fields")
    assert found["data"] == {"k": "v"}
    operations = {entry["manager"]: entry["operation"] for entry in managers(found)}
    assert operations["kubectl"] == "Apply"
    assert "kubectl-client-side-apply" not in operations


def test_diff_shows_what_apply_would_change(kubectl: kubectls.Kubectl) -> None:
    """Exit code 0 without a difference, 1 with one; nothing is changed by it."""
    kubectl.apply(wire.configmap("a", {"k": "v"}))
    diff = ("diff", "-f", "-")
    assert kubectl(*diff, stdin=kubectls.manifest(wire.configmap("a", {"k": "v"}))) == ""
    other = kubectls.manifest(wire.configmap("a", {"k": "w"}), wire.configmap("new"))
    for options in ((), ("--server-side", "--force-conflicts")):
        text = kubectl(*diff, *options, stdin=other, code=1)
        assert "-  k: v\n+  k: w\n" in text
        assert "+  name: new\n" in text
    assert kubectl.read("cm", "a")["data"] == {"k": "v"}
    assert kubectl("get", "cm", "new", "--ignore-not-found") == ""


def test_edit_sends_what_the_editor_leaves(kubectl: kubectls.Kubectl, tmp_path: Path) -> None:
    """A changed file becomes a patch, an unchanged one nothing."""
    kubectl("create", "-f", "-", stdin=kubectls.manifest(wire.configmap("a", {"k": "v"})))
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/k: v/k: edited/" "$1"\n')
    editor.chmod(0o755)
    told = kubectl("edit", "cm", "a", KUBE_EDITOR=str(editor))
    assert told == "configmap/a edited\n"
    assert kubectl.read("cm", "a")["data"] == {"k": "edited"}
    assert kubectl("edit", "cm", "a", KUBE_EDITOR="true") == ""


def test_patch_speaks_three_languages(kubectl: kubectls.Kubectl) -> None:
    """Strategic merge by container name, merge, JSON patch, and the status."""
    side = {"name": "side", "image": "redis"}
    made = kubectls.manifest(deployment(main(), side, replicas=0))
    kubectl("create", "-f", "-", stdin=made)

    def patched(kind: str, patch: Any, *options: str) -> str:
        return kubectl("patch", "deploy", "d", f"--type={kind}", "-p", json.dumps(patch), *options)

    images = {"spec": {"template": {"spec": {"containers": [main(image="nginx:2")]}}}}
    assert patched("strategic", images) == "deployment.apps/d patched\n"
    spec = kubectl.read("deploy", "d")["spec"]["template"]["spec"]
    assert [c["image"] for c in spec["containers"]] == ["nginx:2", "redis"]
    assert patched("strategic", images) == "deployment.apps/d patched (no change)\n"
    patched("merge", {"metadata": {"labels": {"app": None, "new": "label"}}})
    assert kubectl.read("deploy", "d")["metadata"]["labels"] == {"new": "label"}
    path = "/spec/template/spec/containers/1"
    patched(
        "json",
        [{"op": "test", "path": f"{path}/name", "value": "side"}, {"op": "remove", "path": path}],
    )
    spec = kubectl.read("deploy", "d")["spec"]["template"]["spec"]
    assert [c["name"] for c in spec["containers"]] == ["main"]
    condition = {"type": "Mine", "status": "True"}
    patched("strategic", {"status": {"conditions": [condition]}}, "--subresource=status")
    status = kubectl.read("deploy", "d", "--subresource=status")["status"]
    assert "Mine" in [c["type"] for c in status["conditions"]]


def test_replace_puts_the_whole_object(kubectl: kubectls.Kubectl) -> None:
    """What is not in the file is gone; an old version is refused; --force makes it anew."""
    old = kubectl("create", "cm", "a", "--from-literal=k=v", "-o", "json")
    replace = ("replace", "-f", "-")
    told = kubectl(*replace, stdin=kubectls.manifest(wire.configmap("a", {"l": "w"})))
    assert told == "configmap/a replaced\n"
    assert kubectl.read("cm", "a")["data"] == {"l": "w"}
    assert kubectl.fails(*replace, stdin=old) == (
        'Error from server (Conflict): error when replacing "STDIN": Operation cannot be fulfilled '
        'on configmaps "a": the object has been modified; please apply your changes to the latest '
        "version and try again\n"
    )
    uid = kubectl.read("cm", "a")["metadata"]["uid"]
    kubectl(*replace, "--force", stdin=kubectls.manifest(wire.configmap("a")))
    assert kubectl.read("cm", "a")["metadata"]["uid"] != uid


def test_labels_and_annotations(kubectl: kubectls.Kubectl) -> None:
    """Added, changed only with --overwrite, taken away."""
    for verb, field in (("label", "labels"), ("annotate", "annotations")):
        kubectl("create", "cm", verb)
        done = "labeled" if verb == "label" else "annotated"
        assert kubectl(verb, "cm", verb, "a=b", "c=d") == f"configmap/{verb} {done}\n"
        assert "already has a value" in kubectl.fails(verb, "cm", verb, "a=e")
        kubectl(verb, "cm", verb, "a=e", "--overwrite")
        kubectl(verb, "cm", verb, "c-")
        assert kubectl.read("cm", verb)["metadata"][field] == {"a": "e"}
    assert kubectl("label", "cm", "label", "a=e") == "configmap/label not labeled\n"


def test_delete_waits_until_objects_are_gone(kubectl: kubectls.Kubectl) -> None:
    """By name, label or all; with a finalizer it waits, and gives up after --timeout."""
    for name in ("a", "b", "c"):
        kubectl(
            "create", "-f", "-", stdin=kubectls.manifest(wire.configmap(name, labels={"n": name}))
        )
    told = kubectl("delete", "cm", "a")
    assert told.startswith('configmap "a" deleted')
    kubectl("delete", "cm", "-l", "n in (b)")
    assert kubectl("get", "cm", "-l", "n", "-o", "name") == "configmap/c\n"
    missing = kubectl.fails("delete", "cm", "a")
    assert missing == 'Error from server (NotFound): configmaps "a" not found\n'
    assert kubectl("delete", "cm", "a", "--ignore-not-found") == ""
    held = wire.configmap("held", finalizers=["example.com/hold"])
    kubectl("create", "-f", "-", stdin=kubectls.manifest(held))
    late = kubectl.fails("delete", "cm", "held", "--timeout=1s")
    assert "timed out waiting for the condition on configmaps/held" in late
    assert kubectl.read("cm", "held")["metadata"]["deletionTimestamp"]
    with kubectl.running("wait", "--for=delete", "cm/held", "--timeout=60s") as output:
        kubectl("patch", "cm", "held", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
        output.ends()
    kubectl("delete", "cm", "--all")
    assert "configmap/c" not in kubectl("get", "cm", "-o", "name")
