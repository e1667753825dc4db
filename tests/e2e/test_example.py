"""The role etcdcluster makes a cluster and nothing stays of it. docs/testing.md explains this."""

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def test_an_etcd_cluster_comes_and_goes(control_plane, namespace, run_operator, wait_for):
    """Three members become ready, and are gone when the EtcdCluster is."""
    control_plane.apply(PROJECT / "config/crd/bases")
    run_operator(watches=PROJECT / "watches.yaml", namespace=namespace)
    sample = PROJECT / "config/samples/etcd_v1alpha1_etcdcluster.yaml"

    [cluster] = control_plane.apply(sample, namespace=namespace)
    cluster = wait_for("Ready", cluster, timeout=180)
    members = control_plane.get("apps/v1", "StatefulSet", "etcd-sample", namespace)
    assert cluster["status"]["readyMembers"] == members["spec"]["replicas"] == 3

    control_plane.delete(cluster)
    wait_for("deleted", members)
