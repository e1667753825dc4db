"""Objects from files: how they are found, created, and which one is told when it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_operator.sandbox.front import manifests

Obj = dict[str, Any]
CONFIGMAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: m}\n"
THING = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: m}\n"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true}, {name: v0, served: false}]
"""


class Server:
    """Notes requests; ``failures`` are answers to writes, by path."""

    def __init__(self, **failures: tuple[int, Obj]) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.failures = failures
        self.things = 0

    def ask(self, method: str, path: str, body: Any) -> tuple[int, Obj]:
        """Answer a request."""
        self.requests.append((method, path, body))
        if method == "GET" and path.count("/") < 4:
            return self._served(path)
        if method == "GET":
            return 200, {"metadata": {"resourceVersion": "7"}}
        return self.failures.get(f"{method}_{path.rpartition('/')[2]}", (201, body))

    def _served(self, path: str) -> tuple[int, Obj]:
        if path == "/apis":
            self.things += 1
            versions = ["apiextensions.k8s.io/v1"]
            if self.things > 3:  # a moment passes after the CRD is created
                versions.append("example.com/v1")
            return 200, {"groups": [{"versions": [{"groupVersion": v} for v in versions]}]}
        if path == "/apis/example.com/v1":
            things = {"name": "things", "kind": "Thing", "namespaced": True}
            return 200, {"resources": [things]}
        core = [("configmaps", "ConfigMap", True), ("namespaces", "Namespace", False)]
        found = [{"name": n, "kind": k, "namespaced": inside} for n, k, inside in core]
        found.append({"name": "customresourcedefinitions", "kind": manifests.CRD})
        return 200, {"resources": [{"namespaced": False, **one} for one in found]}

    def writes(self) -> list[str]:
        """Method and path of each write."""
        return [f"{method} {path}" for method, path, _ in self.requests if method != "GET"]


def told(work: Any, *arguments: Any) -> str:
    """The message of what fails."""
    with pytest.raises(manifests.ManifestError) as caught:
        work(*arguments)
    return str(caught.value)


def test_documents_are_numbered(tmp_path: Path) -> None:
    """Every document counts that is not empty, and so do the items of lists."""
    path = tmp_path / "f.yaml"
    listed = 'kind: List\napiVersion: v1\nitems:\n- {"apiVersion": "v1", "kind": "Secret"}\n'
    path.write_text(f"---\n{CONFIGMAP}--- # next\n---\n{listed}")
    found = manifests.read(path)
    assert [document.where for document in found] == [
        f"{path}, document 1",
        f"{path}, document 2, item 1",
    ]
    assert found[1].object["kind"] == "Secret"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{CONFIGMAP}---\na: [", "document 2: yaml: line"),
        (f"{CONFIGMAP}---\n- 1\n", "document 2: this is no object"),
        ("kind: X\n", "document 1: this is no object"),
    ],
)
def test_files_that_are_not_understood(tmp_path: Path, text: str, said: str) -> None:
    """The document is named."""
    path = tmp_path / "f.yaml"
    path.write_text(text)
    assert told(manifests.read, path).startswith(f"{path}, {said}")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """What is not there, is a directory, or is no text."""
    assert told(manifests.read, tmp_path / "x") == f"{tmp_path}/x: No such file or directory"
    assert told(manifests.read, tmp_path) == f"{tmp_path}: Is a directory"
    (tmp_path / "b").write_bytes(b"\xff")
    assert "no text" in told(manifests.read, tmp_path / "b")


def test_crds_of_a_directory(tmp_path: Path) -> None:
    """The files in order of their names, and of their objects only CRDs."""
    assert "there is no CustomResourceDefinition" in told(manifests.crds, tmp_path)
    assert "No such file or directory" in told(manifests.crds, tmp_path / "x")
    for name, text in (("b.yml", CRD), ("a.yaml", CRD), ("c.yaml", CONFIGMAP), ("d.txt", "- 1")):
        (tmp_path / name).write_text(text)
    found = manifests.crds(tmp_path)
    assert [Path(document.where.partition(",")[0]).name for document in found] == [
        "a.yaml",
        "b.yml",
    ]


def written(tmp_path: Path, text: str, server: Server) -> None:
    """Create the objects of a file."""
    path = tmp_path / "f.yaml"
    path.write_text(text)
    manifests.create(manifests.read(path), server.ask)


def test_objects_are_created_where_they_belong(tmp_path: Path) -> None:
    """In order, in the namespace default if they name none, CRDs until they are served."""
    server = Server()
    written(tmp_path, "---\n".join((NAMESPACE, CONFIGMAP, CRD, THING)), server)
    assert server.writes() == [
        "POST /api/v1/namespaces",
        "POST /api/v1/namespaces/default/configmaps",
        "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "POST /apis/example.com/v1/namespaces/m/things",
    ]
    assert server.things > 3


def test_objects_that_are_there_are_replaced(tmp_path: Path) -> None:
    """With the version that is there."""
    server = Server(POST_configmaps=(409, {"reason": "AlreadyExists"}))
    written(tmp_path, CONFIGMAP, server)
    assert server.writes()[-1] == "PUT /api/v1/namespaces/default/configmaps/a"
    assert server.requests[-1][2]["metadata"] == {"name": "a", "resourceVersion": "7"}


def test_refused_objects_are_named(tmp_path: Path) -> None:
    """By file and document, with the server's words."""
    server = Server(POST_namespaces=(422, {"message": "it is invalid"}))
    path = tmp_path / "f.yaml"
    assert told(written, tmp_path, f"{CONFIGMAP}---\n{NAMESPACE}", server) == (
        f"{path}, document 2: it is invalid"
    )
    assert "does not serve Pod of v1" in told(
        written, tmp_path, "{apiVersion: v1, kind: Pod}", Server()
    )
