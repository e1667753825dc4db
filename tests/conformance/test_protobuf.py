"""Bodies in the API's protobuf form, which kubectl sends; all answers asked for are JSON."""

from __future__ import annotations

import pytest
import wire

from ansible_operator.testing import controlplane

PROTOBUF = "application/vnd.kubernetes.protobuf"


def field(number: int, content: bytes) -> bytes:
    """A field of a message that is a text, a message or bytes."""
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def envelope(version: bytes, kind: bytes, message: bytes) -> bytes:
    """What is sent: the mark, the type, the object."""
    return b"k8s\x00" + field(1, field(1, version) + field(2, kind)) + field(2, message)


def test_an_object(server: wire.Server, ns: str) -> None:
    """Texts, bytes, maps and truth values arrive; what is not set is not there."""
    meta = (
        field(1, b"one")
        + field(4, b"")
        + field(8, b"")
        + field(11, field(1, b"l") + field(2, b"v"))
    )
    data, binary = field(1, b"a") + field(2, b"b"), field(1, b"c") + field(2, b"\x00\x01\x02")
    message = field(1, meta) + field(2, data) + field(3, binary) + bytes([4 << 3, 1])
    body = envelope(b"v1", b"ConfigMap", message)
    answer = server.call("POST", wire.configmaps(ns), body, content_type=PROTOBUF)
    assert answer.code == 201, answer.text
    found = answer.body
    assert (found["metadata"]["name"], found["metadata"]["labels"]) == ("one", {"l": "v"})
    assert (found["data"], found["binaryData"], found["immutable"]) == (
        {"a": "b"},
        {"c": "AAEC"},
        True,
    )
    empty = envelope(b"v1", b"ConfigMap", field(1, field(1, b"two") + field(8, b"")))
    found = server.call("POST", wire.configmaps(ns), empty, content_type=PROTOBUF).body
    assert set(found) == {"kind", "apiVersion", "metadata"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            b"garbage",
            "the object provided is unrecognized (must be of type ConfigMap): provided data does "
            "not appear to be a protobuf message, expected prefix [107 56 115 0] (67617262616765)",
        ),
        (
            b"",
            "the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)",
        ),
        (
            envelope(b"v1", b"Nope", b""),
            'Nope in version "v1" cannot be handled as a ConfigMap: no kind "Nope" is registered '
            'for version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
        (
            envelope(b"v1", b"Secret", b""),
            'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to '
            "(core.ConfigMap): unknown conversion",
        ),
    ],
)
def test_bodies_that_are_refused(server: wire.Server, body: bytes, told: str) -> None:
    """What is no message, and objects of another kind."""
    answer = server.call("POST", wire.configmaps("default"), body, content_type=PROTOBUF)
    assert (answer.code, answer.body["message"]) == (400, told)


@pytest.mark.kubectl
def test_kubectl_creates(
    control_plane: controlplane.ControlPlane, server: wire.Server, ns: str
) -> None:
    """kubectl create sends protobuf for everything that it makes itself."""

    def create(*arguments: str) -> None:
        control_plane.run_kubectl("-n", ns, "create", *arguments)

    create("deployment", "d", "--image=example/i", "--replicas=0", "--port=80")
    found = server.get(f"/apis/apps/v1/namespaces/{ns}/deployments/d").body
    assert found["spec"]["replicas"] == 0
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["resources"]) == ("example/i", {})
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    create("service", "nodeport", "s", "--tcp=80:http")
    (port,) = server.get(f"/api/v1/namespaces/{ns}/services/s").body["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, "http")
    create("secret", "generic", "s", "--from-literal=a=b")
    assert server.get(f"/api/v1/namespaces/{ns}/secrets/s").body["data"] == {"a": "Yg=="}
    create("quota", "q", "--hard=cpu=1500m,pods=3")
    found = server.get(f"/api/v1/namespaces/{ns}/resourcequotas/q").body
    assert found["spec"]["hard"] == {"cpu": "1500m", "pods": "3"}
    create("pdb", "p", "--selector=a=b", "--min-available=50%")
    found = server.get(f"/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/p").body
    assert found["spec"]["minAvailable"] == "50%"
    create("ingress", "i", "--rule=example.com/a*=s:80")
    found = server.get(f"/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses/i").body
    (rule,) = found["spec"]["rules"]
    assert rule["host"] == "example.com"
    assert rule["http"]["paths"][0]["backend"] == {"service": {"name": "s", "port": {"number": 80}}}
    create("role", "r", "--verb=get,list", "--resource=pods", "--resource-name=x")
    found = server.get(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles/r").body
    assert found["rules"][0]["resourceNames"] == ["x"]
    create("cronjob", "c", "--image=example/i", "--schedule=1 2 3 4 5")
    found = server.get(f"/apis/batch/v1/namespaces/{ns}/cronjobs/c").body
    assert found["spec"]["schedule"] == "1 2 3 4 5"
    assert found["spec"]["suspend"] is False
