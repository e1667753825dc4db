"""What a test holds of a running control plane: where it is, and identities to use it with."""

from __future__ import annotations

import secrets
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.testing import api, credentials, errors

TOKEN_SECONDS = 8 * 3600
NAMESPACE_LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane.

    ``kubeconfig`` is the administrator's, ``server`` the URL of the API server, ``ca_file`` the
    PEM file of its authority, ``binaries`` a directory with etcd, kubectl and the others,
    ``audit_log`` every request that reached the server, one JSON object per line. ``scratch`` is a
    private directory for further kubeconfigs.
    """

    kubeconfig: Path
    server: str
    ca_file: Path
    binaries: Path
    audit_log: Path
    scratch: Path

    @property
    def kubectl(self) -> Path:
        """The kubectl of the control plane's version."""
        return self.binaries / "kubectl"

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
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True)
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
