"""What every conformance test has: a client of the API server and a namespace of its own.

The suite runs against the sandbox and against a real control plane with the same assertions, so no
test may know which one it talks to.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import kubectls
import pytest
import wire

from ansible_operator.testing import controlplane


@pytest.fixture(scope="session")
def server(control_plane: controlplane.ControlPlane) -> wire.Server:
    """The API server under test, as its administrator."""
    return wire.Server(control_plane)


@pytest.fixture
def unique() -> str:
    """A name that no other test uses."""
    return f"c{uuid.uuid4().hex[:10]}"


@pytest.fixture
def ns(control_plane: controlplane.ControlPlane) -> Iterator[str]:
    """A fresh namespace for one test; it is deleted afterwards, without waiting for its end."""
    name = control_plane.create_namespace("conformance")
    yield name
    control_plane.delete_namespace(name)


@pytest.fixture(scope="module")
def shared_ns(control_plane: controlplane.ControlPlane) -> Iterator[str]:
    """A fresh namespace for all tests of one module that do not get into each other's way."""
    name = control_plane.create_namespace("conformance")
    yield name
    control_plane.delete_namespace(name)


@pytest.fixture
def crd(server: wire.Server, ns: str, unique: str) -> Iterator[Callable[..., str]]:
    """Makes a CRD ``things`` in a group of its own; answers with the path of its objects in ``ns``.

    ``schema`` is the openAPIV3Schema (anything goes unless told otherwise), ``version`` holds
    further fields of its one version v1. The CRDs are deleted afterwards.
    """
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made: list[str] = []

    def make(schema: wire.Obj | None = None, **version: object) -> str:
        group = f"{unique}{len(made)}.example.com"
        server.post(crds, wire.crd(group, schema, **version))
        made.append(f"{crds}/things.{group}")
        server.until(made[-1], wire.established)
        path = f"/apis/{group}/v1/namespaces/{ns}/things"
        server.until(path, lambda _: True)
        return path

    yield make
    for path in made:
        server.delete(path)


KUBECTLS: list[Path | None] = [*kubectls.found()] or [None]


@pytest.fixture(params=KUBECTLS, ids=kubectls.identity)
def kubectl(
    request: pytest.FixtureRequest,
    control_plane: controlplane.ControlPlane,
    ns: str,
    tmp_path: Path,
) -> kubectls.Kubectl:
    """Each kubectl of this machine, in a namespace of its own."""
    return kubectls.start(request, control_plane.kubeconfig, ns, tmp_path)
