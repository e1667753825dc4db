"""What the e2e tests ask of the API server: objects by kind and name, and waiting for a state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator import errors
from ansible_operator.kube import client

GROUP = "test.example.com"
Obj = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """Where the objects of one kind live; ``namespaced`` False for cluster-scoped kinds."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str, name: str = "") -> str:
        """The URL path of the collection, or of one object."""
        root = (
            f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        )
        middle = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{root}{middle}/{self.plural}" + (f"/{name}" if name else "")


def kind(name: str, *, namespaced: bool = True) -> Kind:
    """A kind of the test group, by its name."""
    suffix = "es" if name.endswith("s") else "s"
    return Kind(f"{GROUP}/v1alpha1", name, name.lower() + suffix, namespaced)


SCENARIO, CLEANED, SELECTED = kind("Scenario"), kind("Cleaned"), kind("Selected")
ANNOTATED, PERIODIC, UNMANAGED = kind("Annotated"), kind("Periodic"), kind("Unmanaged")
STATUSLESS, STRICT, LATE = kind("Statusless"), kind("Strict"), kind("Late")
WIDE = kind("Wide", namespaced=False)
SECRET = Kind("v1", "Secret", "secrets")
CRD = Kind(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False
)


class Api:
    """One namespace of a cluster, with the rights of a kubeconfig file."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.client = client.Client.load({"KUBECONFIG": str(kubeconfig)})
        self.namespace = namespace

    def create(self, of: Kind, name: str, *, meta: Obj | None = None, **fields: Any) -> Obj:
        """Create an object; ``fields`` are its top-level fields beside the metadata."""
        metadata = {"name": name, **(meta or {})}
        body = {"apiVersion": of.api_version, "kind": of.kind, "metadata": metadata, **fields}
        return self.client.request("POST", of.path(self.namespace), body=body)

    def get(self, of: Kind, name: str) -> Obj | None:
        """Read an object; None where there is none."""
        try:
            return self.client.request("GET", of.path(self.namespace, name))
        except errors.NotFoundError:
            return None

    def patch(self, of: Kind, name: str, body: Obj, subresource: str = "") -> Obj:
        """Merge a patch into an object or into one of its subresources."""
        path = of.path(self.namespace, name) + (f"/{subresource}" if subresource else "")
        content_type = "application/merge-patch+json"
        return self.client.request("PATCH", path, body=body, content_type=content_type)

    def delete(self, of: Kind, name: str) -> None:
        """Ask for the deletion of an object; it is fine if there is none."""
        try:
            self.client.request("DELETE", of.path(self.namespace, name))
        except errors.NotFoundError:
            return

    def until(
        self, of: Kind, name: str, holds: Callable[[Obj], Any], *, seconds: float = 90.0
    ) -> Obj:
        """Wait until ``holds`` is true of the object; the failure shows what it was at the end."""
        deadline = time.monotonic() + seconds
        found: Obj | None = None
        while time.monotonic() < deadline:
            found = self.get(of, name)
            if found is not None and holds(found):
                return found
            time.sleep(0.2)
        raise AssertionError(f"{of.kind} {name} did not get there in {seconds:g} s: {found}")

    def until_gone(self, of: Kind, name: str, *, seconds: float = 90.0) -> None:
        """Wait until there is no such object."""
        deadline = time.monotonic() + seconds
        while (found := self.get(of, name)) is not None:
            assert time.monotonic() < deadline, f"{of.kind} {name} is still there: {found}"
            time.sleep(0.2)


def condition(obj: Obj, wanted: str) -> Obj:
    """One condition of an object, an empty map if it has none of this type."""
    listed = obj.get("status", {}).get("conditions", [])
    return next((item for item in listed if item["type"] == wanted), {})


def settled(obj: Obj) -> bool:
    """Whether the newest generation has been dealt with, well or badly."""
    ready = condition(obj, "Ready")
    fresh = ready.get("observedGeneration") == obj["metadata"]["generation"]
    return fresh and ready["status"] in ("True", "False")


def successful(obj: Obj) -> bool:
    """Whether the newest generation has been dealt with well."""
    return settled(obj) and condition(obj, "Ready")["status"] == "True"


def failed(obj: Obj) -> bool:
    """Whether the last run of the newest generation failed."""
    return settled(obj) and condition(obj, "Ready")["status"] == "False"
