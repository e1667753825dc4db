"""The project dropin/advanced: one kind for each thing that an Ansible operator can be told.

The behaviour is that of operator-sdk's advanced-molecule-operator, whose project works unchanged:
watches.yaml, playbooks, a role, a collection with a role, an inventory with a group, a filter
plugin that ansible.cfg names, a vault file, and arguments for ansible-playbook in single quotes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dropin import suite

from ansible_operator.testing import controlplane

pytestmark = pytest.mark.timeout(600)

PROJECT = suite.HERE / "advanced"
AT_ONCE = [
    *("InventoryTest", "CollectionTest", "CaseTest", "ArgsTest"),
    *("ReconciliationTest", "ClusterAnnotationTest"),
]
PRIMARY = "operator-sdk/primary-resource"


@pytest.fixture(scope="module")
def advanced(
    control_plane: controlplane.ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[suite.Suite]:
    """The operator with most samples created, so that their runs are under way together."""
    scratch = tmp_path_factory.mktemp("advanced")
    suite.install(PROJECT / "fixture_collection", scratch)
    arguments = f"--ansible-args='--vault-password-file {PROJECT / 'pwd.yml'}'"
    env = {
        "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"),
        "ANSIBLE_INVENTORY": str(PROJECT / "inventory"),
        "ANSIBLE_DEBUG_LOGS": "TRUE",
    }
    with suite.running("advanced", control_plane, scratch, arguments, **env) as found:
        for kind in AT_ONCE:
            found.sample(kind)
        yield found
    control_plane.delete_namespace(f"{found.namespace}-external")  # the operator would mend it


def test_an_inventory_brings_groups_and_their_variables(advanced: suite.Suite) -> None:
    """ANSIBLE_INVENTORY names a directory: a play runs on its group, with the group's variables."""
    done = advanced.done("InventoryTest")
    assert advanced.data("inventory-cm") == {"sentinel": "test", "groups": "127.0.0.1"}
    [running] = [c for c in done["status"]["conditions"] if c["type"] == "Running"]
    # The counts are those of localhost, so of the second play, which also used the filter plugin.
    assert running["ansibleResult"]["ok"] == 2
    assert running["ansibleResult"]["changed"] == 1


def test_a_role_is_found_in_a_collection(advanced: suite.Suite) -> None:
    """A watch names a role by namespace.collection.role, its custom resource has no spec."""
    advanced.done("CollectionTest")
    assert advanced.data("test-this-collection") == {"did_it_work": "indeed"}


@pytest.mark.case("W15")
def test_a_secret_is_reconciled_like_a_custom_resource(advanced: suite.Suite) -> None:
    """A core kind without generation and status: each change of its data runs the playbook."""
    secret = advanced.secret("test-secret", {"test": "hello"}, reconcile="true")
    advanced.secret("test-unlabelled", {"test": "hello"})
    advanced.wait(lambda: advanced.data("test-secret") == {"test": "hello"})
    more = {"data": {"more": base64.b64encode(b"world").decode()}}
    advanced.plane.patch(secret, more)
    advanced.wait(lambda: advanced.data("test-secret") == {"test": "hello", "more": "world"})
    assert advanced.data("test-unlabelled") == {}


def test_only_what_the_selector_matches_is_reconciled(advanced: suite.Suite) -> None:
    """An object without the label gets no run and no status, until it has the label."""
    other = advanced.create(
        {
            "apiVersion": "test.example.com/v1alpha1",
            "kind": "SelectorTest",
            "metadata": {"name": "selectortest-unlabelled"},
        }
    )
    advanced.done("SelectorTest")
    assert advanced.data("selectortest-sample") == {"hello": "world"}
    assert advanced.data("selectortest-unlabelled") == {}
    untouched = advanced.plane.find(other)
    assert untouched is not None
    assert "status" not in untouched
    advanced.plane.patch(other, {"metadata": {"labels": {"testLabel": ""}}})
    advanced.wait("Successful", other)
    assert advanced.data("selectortest-unlabelled") == {"hello": "world"}


def test_parameters_keep_their_case_when_told_so(advanced: suite.Suite) -> None:
    """With snakeCaseParameters false a field of the spec is a variable of the same name."""
    advanced.done("CaseTest")
    assert advanced.data("casetest-sample") == {"shouldBeCamel": "true", "snakeIsThere": "False"}


def test_ansible_args_reach_the_playbook(advanced: suite.Suite) -> None:
    """The password file named in quoted --ansible-args opens a file that the playbook includes."""
    advanced.done("ArgsTest")
    assert advanced.data("argstest-sample") == {"msg": "The decrypted value is thisisatest"}


def test_requeue_after_runs_the_playbook_again_and_again(advanced: suite.Suite) -> None:
    """Each run asks for another one after a second, until the fifth; then the status says so."""
    advanced.done("ReconciliationTest")
    assert advanced.data("reconciliationtest-sample") == {"iterations": "5"}
    assert advanced.runs("reconciliationtest-sample") == 5


def test_a_deletion_during_a_run_is_cleaned_up_after_it(advanced: suite.Suite) -> None:
    """The clean-up waits for the run under way, whose results it finds, and lets go."""
    advanced.config_map("finalizer-concurrency-results", {})
    resource = advanced.sample("FinalizerConcurrencyTest")
    advanced.wait(lambda: advanced.data("finalizer-concurrency-started"))
    advanced.delete(resource)
    assert advanced.data("finalizer-concurrency-results") == {}
    advanced.config_map("unpause-reconciliation", {})
    advanced.wait("deleted", resource)
    results = {"main": "ended", "finalizer": "success"}
    assert advanced.data("finalizer-concurrency-results") == results


def test_a_failing_playbook_does_not_keep_the_cleanup_from_running(advanced: suite.Suite) -> None:
    """A main playbook that does not parse fails with Ansible's words; a deletion is cleaned up."""
    advanced.config_map("finalizer-failing-results", {})
    resource = advanced.sample("FinalizerFailingTest")
    failed = advanced.wait("Failure", resource)
    [failure] = [c for c in failed["status"]["conditions"] if c["type"] == "Failure"]
    assert "conflicting action statements" in failure["message"]
    assert failed["metadata"]["finalizers"] == ["test.example.com/finalizer"]
    advanced.delete(resource)
    advanced.wait("deleted", resource)
    assert advanced.data("finalizer-failing-results") == {"finalizer": "success"}


def test_objects_beyond_the_namespace_are_annotated_and_watched(advanced: suite.Suite) -> None:
    """What cannot be owned names its custom resource in annotations; its change is reverted."""
    advanced.done("ClusterAnnotationTest")
    external = f"{advanced.namespace}-external"
    annotations = {
        PRIMARY: f"{advanced.namespace}/clusterannotationtest-sample",
        f"{PRIMARY}-type": "ClusterAnnotationTest.test.example.com",
    }
    namespace = advanced.plane.get("v1", "Namespace", external)
    settings = advanced.plane.get("v1", "ConfigMap", "clusterannotationtest-sample", external)
    for found in (namespace, settings):
        assert found is not None
        assert annotations.items() <= found["metadata"]["annotations"].items()
        assert "ownerReferences" not in found["metadata"]
    assert namespace is not None
    advanced.plane.patch(namespace, {"metadata": {"labels": {"foo": "baz"}}})
    advanced.wait(lambda found: found["metadata"]["labels"]["foo"] == "bar", namespace)


def kubelet(kind: str, pod: str, **spec: Any) -> dict[str, Any]:
    """How kwok answers for a pod of this name."""
    head = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": kind}
    return {**head, "metadata": {"name": pod}, "spec": spec}


@pytest.mark.case("K2")
@pytest.mark.real
def test_a_playbook_runs_commands_in_pods_and_reads_their_logs(
    advanced: suite.Suite, tmp_path: Path
) -> None:
    """k8s_exec and k8s_log work as without the operator, and k8s_status reports what they gave."""
    log = tmp_path / "log"
    log.write_text("2026-01-02T03:04:05.000000000Z stdout F Running\n")
    pod = "subresourcestest-sample-busybox"
    advanced.create(kubelet("Exec", pod, execs=[{"local": {"workDir": str(tmp_path)}}]))
    advanced.create(kubelet("Logs", pod, logs=[{"logsFile": str(log)}]))
    done = advanced.done("SubresourcesTest")
    assert done["status"]["execCommandStdout"] == "hello world"
    assert done["status"]["execCommandStderr"] == ""
    assert "Running" in done["status"]["logs"]


def test_the_log_tells_of_runs_as_the_incumbents_does(advanced: suite.Suite) -> None:
    """ANSIBLE_DEBUG_LOGS logs the whole output of a run; the line of its end has the same words."""
    name = "casetest-sample"
    advanced.operator.wait_for_log(
        lambda entry: entry.get("name") == name and entry["msg"] == suite.DONE
    )
    [output] = {
        text for entry in advanced.logs(name) if (text := entry.get("Ansible Debug Result"))
    }
    assert "PLAY RECAP" in output
    assert "failed=0" in output
