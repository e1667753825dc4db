"""What is filled in where an object says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_operator.sandbox.builtins import defaults

Obj = dict[str, Any]


def filled(kind: str, obj: Obj) -> Obj:
    """An object with its defaults."""
    return defaults.fill(kind, {"metadata": {"name": "x"}, **obj})


def template(**spec: Any) -> Obj:
    """Pods to be made, as they are decoded."""
    return {"spec": {"containers": [{"name": "c", "image": "n", "resources": {}}], **spec}}


def test_kinds_without_defaults_stay() -> None:
    """Nothing is added to a config map."""
    assert filled("ConfigMap", {"data": {"a": "b"}}) == {
        "metadata": {"name": "x"},
        "data": {"a": "b"},
    }


def test_what_is_said_stays() -> None:
    """A default never replaces a value, not even zero or false."""
    spec = {"replicas": 0, "template": template(), "strategy": {"type": "Recreate"}}
    found = filled("Deployment", {"spec": spec})["spec"]
    assert found["replicas"] == 0
    assert found["strategy"] == {"type": "Recreate"}


def test_defaults_are_not_shared() -> None:
    """Two objects never hold the same default."""
    one, other = (filled("Pod", template())["spec"]["securityContext"] for _ in range(2))
    assert one == other == {}
    assert one is not other


def test_only_what_is_given_is_filled_in() -> None:
    """Probes and volumes get defaults if they are there."""
    container = {"name": "c", "image": "n", "livenessProbe": {"httpGet": {"port": 1}}}
    found = filled("Pod", {"spec": {"containers": [container], "volumes": [{"name": "v"}]}})["spec"]
    probe = found["containers"][0]["livenessProbe"]
    assert probe["httpGet"] == {"port": 1, "path": "/", "scheme": "HTTP"}
    assert probe["failureThreshold"] == 3
    assert "readinessProbe" not in found["containers"][0]
    assert found["volumes"] == [{"name": "v", "emptyDir": {}}]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("n", "Always"),
        ("h:5000/n", "Always"),
        ("n:latest", "Always"),
        ("n:1", "IfNotPresent"),
        ("n@sha256:0", "IfNotPresent"),
    ],
)
def test_images_are_pulled_by_their_tag(image: str, policy: str) -> None:
    """An image that may change under its name is always pulled."""
    found = filled("Pod", {"spec": {"containers": [{"name": "c", "image": image}]}})
    assert found["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_limits_become_requests_of_pods_only() -> None:
    """Templates are left as they are."""
    limited = [{"name": "c", "image": "n", "resources": {"limits": {"cpu": "1500u"}}}]
    pod = filled("Pod", {"spec": {"containers": limited, "hostNetwork": True}})
    amounts = pod["spec"]["containers"][0]["resources"]
    assert amounts == {"limits": {"cpu": "2m"}, "requests": {"cpu": "2m"}}
    limited[0]["resources"] = {"limits": {"cpu": "1"}}
    found = filled("ReplicaSet", {"spec": {"template": {"spec": {"containers": limited}}}})
    assert "requests" not in found["spec"]["template"]["spec"]["containers"][0]["resources"]


@pytest.mark.parametrize(
    ("kind", "field", "rolling"),
    [
        ("Deployment", "strategy", {"maxUnavailable": "25%", "maxSurge": "25%"}),
        ("DaemonSet", "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0}),
        ("StatefulSet", "updateStrategy", {"maxUnavailable": 1, "partition": 0}),
    ],
)
def test_rollouts(kind: str, field: str, rolling: Obj) -> None:
    """How pods are replaced is filled in for rolling updates only."""
    found = filled(kind, {"spec": {"template": template()}})["spec"][field]
    assert found == {"type": "RollingUpdate", "rollingUpdate": rolling}
    given: Obj = {"spec": {"template": template(), field: {"type": "OnDelete"}}}
    assert filled(kind, given)["spec"][field] == {"type": "OnDelete"}


def test_jobs_run_once_unless_they_say_how_often() -> None:
    """One completion is the default, but not of a job that only says how wide it is."""
    assert filled("Job", {"spec": {"template": template()}})["spec"]["completions"] == 1
    wide = filled("Job", {"spec": {"template": template(), "parallelism": 2}})
    assert "completions" not in wide["spec"]


def test_services_by_type() -> None:
    """Ports lead to themselves; what a type has is filled in."""
    found = filled("Service", {"spec": {"ports": [{"port": 80}, {"port": 1, "targetPort": "a"}]}})
    assert [port["targetPort"] for port in found["spec"]["ports"]] == [80, "a"]
    assert "externalTrafficPolicy" not in found["spec"]
    spec: Obj = {"type": "LoadBalancer", "sessionAffinity": "ClientIP"}
    found = filled("Service", {"spec": spec})["spec"]
    assert found["allocateLoadBalancerNodePorts"] is True
    assert found["externalTrafficPolicy"] == "Cluster"
    assert found["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    assert (
        "internalTrafficPolicy" not in filled("Service", {"spec": {"type": "ExternalName"}})["spec"]
    )


def test_texts_of_secrets_become_data() -> None:
    """They win over data of the same key."""
    found = filled("Secret", {"data": {"a": "eA==", "b": ""}, "stringData": {"a": "ü"}})
    assert found["data"] == {"a": "w7w=", "b": ""}
    assert "stringData" not in found


def test_namespaces_are_labelled_by_their_name() -> None:
    """The label cannot be changed or taken away."""
    label = {"kubernetes.io/metadata.name": "x"}
    assert filled("Namespace", {})["metadata"]["labels"] == label
    meta = {"name": "x", "labels": {"kubernetes.io/metadata.name": "y", "a": "b"}}
    assert filled("Namespace", {"metadata": meta})["metadata"]["labels"] == {"a": "b", **label}


def test_limit_ranges_complete_themselves() -> None:
    """The most is the default, and the default is requested."""
    limits = [{"type": "Container", "max": {"cpu": "2"}}, {"type": "Pod", "max": {"cpu": "4"}}]
    first, second = filled("LimitRange", {"spec": {"limits": limits}})["spec"]["limits"]
    assert first["default"] == first["defaultRequest"] == {"cpu": "2"}
    assert "default" not in second


def test_policies_bindings_and_controllers() -> None:
    """Directions, groups of subjects and selectors follow from what is there."""
    assert filled("NetworkPolicy", {"spec": {}})["spec"]["policyTypes"] == ["Ingress"]
    both = filled("NetworkPolicy", {"spec": {"egress": [{}]}})["spec"]["policyTypes"]
    assert both == ["Ingress", "Egress"]
    subjects = [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "a"}]
    found = filled("RoleBinding", {"roleRef": {"apiGroup": ""}, "subjects": subjects})
    assert found["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    assert [one.get("apiGroup") for one in found["subjects"]] == ["rbac.authorization.k8s.io", None]
    labelled = {**template(), "metadata": {"labels": {"a": "b"}}}
    found = filled("ReplicationController", {"spec": {"template": labelled}})
    assert found["spec"]["selector"] == found["metadata"]["labels"] == {"a": "b"}
