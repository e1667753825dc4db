"""What a test holds of a running control plane: where it is, and identities to use it with."""

from __future__ import annotations

import functools
import os
import secrets
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator import objects
from ansible_operator.kube import client as kube_client
from ansible_operator.testing import api, credentials, errors, resources

TOKEN_SECONDS = 8 * 3600
NAMESPACE_LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane: the sandbox or a real one.

    ``kubeconfig`` is the administrator's, ``server`` the URL of the API server, ``ca_file`` the
    PEM file of its authority, ``binaries`` a directory with etcd, kubectl and the others (for the
    sandbox with kubectl, if this machine has one), ``audit_log`` every request that reached the
    server, one JSON object per line. ``scratch`` is a private directory for further kubeconfigs.
    """

    kubeconfig: Path
    server: str
    ca_file: Path
    binaries: Path
    audit_log: Path
    scratch: Path

    @property
    def kubectl(self) -> Path:
        """The kubectl to use. Raises ControlPlaneError where there is none."""
        found = self.binaries / "kubectl"
        if not found.exists():
            raise errors.ControlPlaneError(
                "there is no kubectl: put one on PATH, or run `scripts/control-plane build`"
            )
        return found

    @property
    def client(self) -> kube_client.Client:
        """Requests as the administrator: ``client.request("GET", "/api/v1/namespaces")``."""
        return _client(self.kubeconfig)

    def apply(self, source: resources.Source, *, namespace: str = "") -> list[objects.Obj]:
        """Server-side apply of a manifest; what the server made of each object, in order.

        ``source`` is a file, a directory of files, a text or one object; ``namespace`` is for
        objects that name none. Returns when the kinds of CRDs are served. Raises KubeError.
        """
        found = resources.documents(source)
        return [resources.apply(self.client, obj, namespace) for obj in found]

    def get(
        self, api_version: str, kind: str, name: str, namespace: str = ""
    ) -> objects.Obj | None:
        """Read an object; None where there is none. Raises KubeError."""
        target = resources.path(self.client, api_version, kind, namespace, name)
        return resources.read(self.client, target)

    def find(self, obj: Mapping[str, Any]) -> objects.Obj | None:
        """Read an object anew; None where it is gone. Raises KubeError."""
        return resources.read(self.client, resources.path_of(self.client, obj))

    def patch(self, obj: Mapping[str, Any], changes: Mapping[str, Any]) -> objects.Obj:
        """Merge changes into an object, such as ``{"spec": {"size": 5}}``. Raises KubeError."""
        target = resources.path_of(self.client, obj)
        body, merge = dict(changes), kube_client.MERGE_PATCH
        return self.client.request("PATCH", target, body=body, content_type=merge)

    def delete(self, obj: Mapping[str, Any]) -> None:
        """Ask for an object's deletion, without waiting for its end. Raises KubeError."""
        self.client.request("DELETE", resources.path_of(self.client, obj))

    @property
    def admin(self) -> api.Client:
        """Requests as the administrator."""
        return api.Client(self.server, self.ca_file, credentials.token_of(self.kubeconfig))

    def run_kubectl(self, *arguments: str, stdin: str = "", kubeconfig: Path | None = None) -> str:
        """Run kubectl and return its standard output.

        As the administrator, or with another kubeconfig. Raises ControlPlaneError with kubectl's
        words when it fails.
        """
        chosen = kubeconfig or self.kubeconfig
        argv = [str(self.kubectl), f"--kubeconfig={chosen}", *arguments]
        # A home of its own: kubectl remembers what servers serve, by their address.
        environ = {**os.environ, "HOME": str(self.scratch), "KUBECONFIG": str(chosen)}
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, env=environ)
        if done.returncode != 0:
            raise errors.ControlPlaneError(
                f"kubectl {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def kubeconfig_for(self, token: str, path: Path | None = None, *, namespace: str = "") -> Path:
        """A kubeconfig with this bearer token, readable by its owner only."""
        target = path or self.scratch / f"kubeconfig-{secrets.token_hex(4)}"
        content = credentials.render(self.server, self.ca_file.read_text(), token, namespace)
        credentials.write_private(target, content)
        return target

    def service_account_kubeconfig(
        self, namespace: str, name: str, path: Path | None = None
    ) -> Path:
        """A kubeconfig for a service account, which is made if it is not there.

        The token comes from a TokenRequest and is good for eight hours. The account may do what
        RBAC grants it: nothing, until there is a binding. Raises ControlPlaneError.
        """
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
        status, answer = self.admin.ask("POST", accounts, body)
        if status not in (201, 409):
            raise errors.ControlPlaneError(f"POST {accounts}: {status} {answer.get('message')}")
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        issued = self.admin.send("POST", f"{accounts}/{name}/token", request)
        return self.kubeconfig_for(str(issued["status"]["token"]), path)

    def create_namespace(self, prefix: str = "test") -> str:
        """Make a namespace with a name of its own, ready for pods; returns the name."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.admin.send("POST", "/api/v1/namespaces", body)
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        deadline = time.monotonic() + NAMESPACE_LIMIT
        while self.admin.ask("GET", account)[0] != 200:  # pods need it
            if time.monotonic() > deadline:
                raise errors.ControlPlaneError(f"{name} got no default service account in time")
            time.sleep(0.05)
        return name

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace without waiting for its end; fine if it is gone."""
        status, answer = self.admin.ask("DELETE", f"/api/v1/namespaces/{name}")
        if status not in (200, 202, 404, 409):
            raise errors.ControlPlaneError(f"DELETE {name}: {status} {answer.get('message')}")


@functools.cache
def _client(kubeconfig: Path) -> kube_client.Client:
    return kube_client.Client.load({"KUBECONFIG": str(kubeconfig)})
