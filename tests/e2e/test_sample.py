"""The sample operator end to end: EtcdCluster and EtcdBackup on a real API server."""

from __future__ import annotations

from collections.abc import Iterator

import api
import pytest
import sample

from ansible_operator import errors
from ansible_operator.testing import controlplane

pytestmark = pytest.mark.timeout(sample.TIMEOUT)
ENDPOINT = "http://{name}-client.{namespace}.svc:2379"


@pytest.fixture(scope="module")
def server(
    control_plane: controlplane.ControlPlane,
    module_namespace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[api.Api]:
    """The sample operator at work, and one EtcdCluster of three members named main."""
    runner_dir = tmp_path_factory.mktemp("runner")
    with sample.running(control_plane, module_namespace, runner_dir) as found:
        resources = {"requests": {"cpu": "10m", "ephemeral-storage": "1Gi"}}
        found.create(sample.CLUSTER, "main", spec={"resources": resources})
        found.until(sample.CLUSTER, "main", api.successful, seconds=sample.LIMIT)
        yield found


def get(server: api.Api, kind: api.Kind, name: str) -> api.Obj:
    """An object that must be there."""
    found = server.get(kind, name)
    assert found is not None, f"{kind.kind} {name} is missing"
    return found


def test_status_tells_members_and_version(server: api.Api) -> None:
    """Members, ready members, version and endpoint stand in the status beside the conditions."""
    status = get(server, sample.CLUSTER, "main")["status"]
    assert (status["members"], status["readyMembers"], status["version"]) == (3, 3, "3.7.3")
    assert status["clientEndpoint"] == ENDPOINT.format(name="main", namespace=server.namespace)


def test_objects_belong_to_the_cluster(server: api.Api) -> None:
    """Everything that the role makes names the EtcdCluster as its owner."""
    uid = get(server, sample.CLUSTER, "main")["metadata"]["uid"]
    made = [
        get(server, sample.STATEFULSET, "main"),
        get(server, sample.SERVICE, "main-client"),
        get(server, sample.SERVICE, "main-peers"),
        get(server, sample.BUDGET, "main"),
        get(server, sample.CONFIGMAP, "main-bootstrap"),
    ]
    assert [[o["uid"] for o in obj["metadata"]["ownerReferences"]] for obj in made] == [[uid]] * 5


def test_keys_inside_resources_are_not_renamed(server: api.Api) -> None:
    """ephemeral-storage reaches the pods as it was written, not as ephemeral_storage."""
    template = get(server, sample.STATEFULSET, "main")["spec"]["template"]["spec"]
    requests = template["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "10m", "ephemeral-storage": "1Gi"}


def test_a_run_without_a_change_changes_nothing(server: api.Api) -> None:
    """An edit that means the same runs the role, and no task reports a change."""
    obj = server.patch(sample.CLUSTER, "main", {"spec": {"extraArgs": []}})
    obj = server.until(sample.CLUSTER, "main", api.successful, seconds=sample.LIMIT)
    assert obj["metadata"]["generation"] == 2
    assert sample.result(obj)["changed"] == 0


def test_a_size_and_a_new_version_at_once(server: api.Api) -> None:
    """Both end in one successful reconcile: a new image tag, then the members one by one."""
    server.create(sample.CLUSTER, "both", spec={"size": 2, "version": "3.6.9"})
    server.until(sample.CLUSTER, "both", api.successful, seconds=sample.LIMIT)
    server.patch(sample.CLUSTER, "both", {"spec": {"size": 1, "version": "3.7.3"}})
    status = server.until(sample.CLUSTER, "both", api.successful, seconds=sample.LIMIT)["status"]
    assert (status["members"], status["readyMembers"], status["version"]) == (1, 1, "3.7.3")
    template = get(server, sample.STATEFULSET, "both")["spec"]["template"]["spec"]
    assert template["containers"][0]["image"].endswith(":v3.7.3")
    told = get(server, sample.CONFIGMAP, "both-bootstrap")["data"]["ETCD_INITIAL_CLUSTER"]
    assert told.count("both-") == 3  # one member: its name, its host name, its service
    server.delete(sample.CLUSTER, "both")
    server.until_gone(sample.STATEFULSET, "both", seconds=sample.LIMIT)
    server.until_gone(sample.CONFIGMAP, "both-bootstrap", seconds=sample.LIMIT)


def test_a_version_that_etcd_cannot_change_to_is_refused(server: api.Api) -> None:
    """Two minor versions at once fail with a message that says what is possible."""
    server.create(sample.CLUSTER, "old", spec={"size": 1, "version": "3.5.21"})
    server.until(sample.CLUSTER, "old", api.successful, seconds=sample.LIMIT)
    server.patch(sample.CLUSTER, "old", {"spec": {"version": "3.7.3"}})
    obj = server.until(sample.CLUSTER, "old", api.failed, seconds=sample.LIMIT)
    assert "go up by one minor version at a time" in api.condition(obj, "Failure")["message"]
    server.patch(sample.CLUSTER, "old", {"spec": {"version": "4.5.0"}})
    obj = server.until(sample.CLUSTER, "old", api.failed, seconds=sample.LIMIT)
    assert "etcd 3.5.21 cannot become 4.5.0" in api.condition(obj, "Failure")["message"]
    server.patch(sample.CLUSTER, "old", {"spec": {"version": "3.6.9"}})
    server.until(sample.CLUSTER, "old", api.successful, seconds=sample.LIMIT)
    server.delete(sample.CLUSTER, "old")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"size": 8}, "less than or equal to 7"),
        ({"version": "v3.7.3"}, "spec.version"),
        ({"extraArgs": ["--name=other"]}, "are set by the operator"),
        ({"storage": {"size": "much"}}, "spec.storage.size"),
    ],
    ids=["size", "version", "extraArgs", "storage"],
)
def test_the_schema_refuses_what_cannot_work(server: api.Api, spec: api.Obj, words: str) -> None:
    """The API server says no before anything runs."""
    with pytest.raises(errors.InvalidError, match=words):
        server.create(sample.CLUSTER, "wrong", spec=spec)


def test_storage_cannot_be_changed(server: api.Api) -> None:
    """A StatefulSet's claims are final, so the schema says so at the edit."""
    with pytest.raises(errors.InvalidError, match="storage cannot be changed"):
        server.patch(sample.CLUSTER, "main", {"spec": {"storage": {"size": "9Gi"}}})


def test_a_backup_is_made_once_per_generation(server: api.Api) -> None:
    """A job that is gone is not run again; an edit asks for another; deletion removes all."""
    server.create(sample.BACKUP, "daily", spec={"cluster": "main"})
    obj = server.until(sample.BACKUP, "daily", api.successful, seconds=sample.LIMIT)
    assert obj["status"]["completedGeneration"] == 1
    assert obj["status"]["snapshot"] == "daily-1.db"
    job = get(server, sample.JOB, "daily-g1")
    container = job["spec"]["template"]["spec"]["containers"][0]
    endpoint = ENDPOINT.format(name="main", namespace=server.namespace)
    assert [container["command"][0], *container["args"]] == [
        "/usr/local/bin/etcdctl",
        f"--endpoints={endpoint}",
        "snapshot",
        "save",
        "/backup/daily-1.db",
    ]

    server.delete(sample.JOB, "daily-g1")  # without propagation: its pod stays
    server.until_gone(sample.JOB, "daily-g1", seconds=sample.LIMIT)
    server.patch(sample.BACKUP, "daily", {"spec": {"note": "before the migration"}})
    obj = server.until(sample.BACKUP, "daily", api.successful, seconds=sample.LIMIT)
    assert obj["status"]["completedGeneration"] == 2
    assert get(server, sample.JOB, "daily-g2")
    assert server.get(sample.JOB, "daily-g1") is None

    server.delete(sample.BACKUP, "daily")
    server.until_gone(sample.BACKUP, "daily", seconds=sample.LIMIT)
    assert server.get(sample.JOB, "daily-g2") is None
    assert server.get(sample.CLAIM, "daily") is None


def test_a_backup_of_nothing_says_so(server: api.Api) -> None:
    """A cluster that is not there fails the backup with its name, and the backup can be deleted."""
    server.create(sample.BACKUP, "lost", spec={"cluster": "nowhere"})
    obj = server.until(sample.BACKUP, "lost", api.failed, seconds=sample.LIMIT)
    assert "no EtcdCluster nowhere" in api.condition(obj, "Failure")["message"]
    server.delete(sample.BACKUP, "lost")
    server.until_gone(sample.BACKUP, "lost", seconds=sample.LIMIT)
