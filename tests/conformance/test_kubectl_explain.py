"""kubectl asks what there is: explain, api-resources, versions, and who may do what."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator

import kubectls
import pytest
import wire

pytestmark = pytest.mark.kubectl
GROUP = f"explain-{uuid.uuid4().hex[:6]}.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SPEC = {
    "type": "object",
    "description": "What is wanted.",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "description": "How big it is."},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "parts": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
        "notes": {"type": "object", "additionalProperties": {"type": "string"}},
        "port": {"x-kubernetes-int-or-string": True},
    },
}


@pytest.fixture(scope="module")
def things(server: wire.Server) -> Iterator[str]:
    """A custom resource with a schema; the answer is its full name."""
    schema = {"type": "object", "description": "A thing.", "properties": {"spec": SPEC}}
    assert server.post(CRDS, wire.crd(GROUP, schema)).code == 201
    server.until("/openapi/v3", lambda found: f"apis/{GROUP}/v1" in found["paths"])
    server.until(f"/apis/{GROUP}/v1", lambda _: True)
    yield f"things.{GROUP}"
    server.delete(f"{CRDS}/things.{GROUP}")


def lines(text: str) -> list[str]:
    """The lines without space around them, each once and none empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_explain_describes_built_in_fields(kubectl: kubectls.Kubectl) -> None:
    """Kind and version, the type of each field, what it is for, on all levels."""
    found = lines(kubectl("explain", "deployments"))
    assert found[:3] == ["GROUP:      apps", "KIND:       Deployment", "VERSION:    v1"]
    assert "Deployment enables declarative updates for Pods and ReplicaSets." in found
    assert "spec\t<DeploymentSpec> -required-" in found
    assert "metadata\t<ObjectMeta>" in found
    found = lines(kubectl("explain", "deploy.spec.template.spec.containers"))
    assert "FIELD: containers <[]Container>" in found
    assert "name\t<string> -required-" in found
    assert "env\t<[]EnvVar>" in found
    found = lines(kubectl("explain", "pod.spec.containers.resources.limits"))
    assert "FIELD: limits <map[string]Quantity>" in found
    found = lines(kubectl("explain", "service.spec.ports.targetPort"))
    assert "FIELD: targetPort <IntOrString>" in found
    found = lines(kubectl("explain", "hpa.spec.metrics"))
    assert "VERSION:    v2" in found
    missing = kubectl.fails("explain", "pods.spec.nosuch")
    assert missing == 'error: field "nosuch" does not exist\n'


def test_explain_lists_fields_recursively(kubectl: kubectls.Kubectl) -> None:
    """All levels at once, also where a schema contains itself."""
    text = kubectl("explain", "statefulset", "--recursive")
    assert "  spec\t<StatefulSetSpec> -required-\n" in text
    assert "    volumeClaimTemplates\t<[]PersistentVolumeClaim>\n" in text
    assert "        storageClassName\t<string>\n" in text
    text = kubectl("explain", "crd.spec.versions.schema", "--recursive")
    assert "openAPIV3Schema\t<JSONSchemaProps>" in text


def test_explain_describes_custom_resources(kubectl: kubectls.Kubectl, things: str) -> None:
    """By the schema of their CRD."""
    found = lines(kubectl("explain", things))
    assert found[:3] == [f"GROUP:      {GROUP}", "KIND:       Thing", "VERSION:    v1"]
    assert {"A thing.", "kind\t<string>", "metadata\t<ObjectMeta>", "spec\t<Object>"} <= set(found)
    found = lines(kubectl("explain", "things.spec", f"--api-version={GROUP}/v1"))
    wanted = {
        "What is wanted.",
        "size\t<integer> -required-",
        "How big it is.",
        "parts\t<[]Object>",
        "notes\t<map[string]string>",
        "port\t<Object>",
    }
    assert wanted <= set(found)
    assert "colour\t<string>" in found
    assert "enum: red, blue" in found
    text = kubectl("explain", things, "--recursive")
    assert "    parts\t<[]Object>\n      name\t<string>\n" in text


def test_api_resources_and_versions(kubectl: kubectls.Kubectl, things: str) -> None:
    """What is served, as tables and names; short names and categories lead to it."""
    rows = {row[0]: row for row in kubectls.table(kubectl("api-resources"))}
    assert rows["NAME"] == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    assert rows["deployments"] == ["deployments", "deploy", "apps/v1", "true", "Deployment"]
    assert rows["things"] == ["things", f"{GROUP}/v1", "true", "Thing"]
    found = kubectl("api-resources", "--api-group=batch", "-o", "name").split()
    assert found == ["cronjobs.batch", "jobs.batch"]
    text = kubectl("api-resources", "--namespaced=false", "--verbs=list,delete", "-o", "name")
    assert {"nodes", "clusterroles.rbac.authorization.k8s.io"} <= set(text.split())
    versions = kubectl("api-versions").split()
    assert {"v1", "apps/v1", "autoscaling/v2", "batch/v1", f"{GROUP}/v1"} <= set(versions)


def test_the_cluster_introduces_itself(kubectl: kubectls.Kubectl) -> None:
    """Version and address; the health endpoints are readable."""
    version = json.loads(kubectl("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"].startswith("v1.37.")
    text = re.sub(r"\x1b\[[0-9;]*m", "", kubectl("cluster-info"))
    assert "Kubernetes control plane is running at" in text
    assert kubectl("get", "--raw", "/readyz") == "ok"


def test_auth_says_who_one_is_and_what_one_may(kubectl: kubectls.Kubectl) -> None:
    """whoami, can-i for oneself and for others, and the list of what is allowed."""
    assert "system:masters" in kubectl("auth", "whoami")
    assert kubectl("auth", "can-i", "create", "deployments") == "yes\n"
    account = f"system:serviceaccount:{kubectl.namespace}:default"
    mine = ("auth", "can-i", f"--as={account}")
    assert kubectl(*mine, "list", "secrets", code=1) == "no\n"
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=secrets")
    kubectl(
        "create",
        "rolebinding",
        "reads",
        "--role=reader",
        f"--serviceaccount={kubectl.namespace}:default",
    )
    assert kubectl(*mine, "list", "secrets") == "yes\n"
    assert kubectl(*mine, "delete", "secrets", code=1) == "no\n"
    rows = kubectls.table(kubectl(*mine, "--list"))
    assert ["secrets", "[]", "[]", "[get list]"] in rows
    assert kubectl("get", "secrets", f"--as={account}", "-o", "name") == ""
    assert kubectl.fails("get", "cm", f"--as={account}") == (
        f'Error from server (Forbidden): configmaps is forbidden: User "{account}" cannot list '
        f'resource "configmaps" in API group "" in the namespace "{kubectl.namespace}"\n'
    )
