"""The processes of a control plane: their command lines, ports and files."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.testing import seed

STAGES = Path(__file__).with_name("stages.yaml")
PORTS = ("etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the files of one cluster are, all below its private directory ``home``."""

    home: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.home / "kubeconfig"

    @property
    def ca(self) -> Path:
        """The certificate authority that signed the API server's certificate."""
        return self.pki / "ca.crt"

    @property
    def server_chain(self) -> Path:
        """The certificate that the API server makes for itself, followed by its authority."""
        return self.pki / "apiserver.crt"

    @property
    def server_key(self) -> Path:
        """The key of that certificate."""
        return self.pki / "apiserver.key"

    @property
    def pki(self) -> Path:
        """Keys and serving certificates."""
        return self.home / "pki"

    @property
    def signing_key(self) -> Path:
        """The key that signs service account tokens; servers take the public half from it."""
        return self.pki / "service-accounts.key"

    @property
    def tokens(self) -> Path:
        """The API server's token file."""
        return self.pki / "tokens.csv"

    @property
    def binaries(self) -> Path:
        """One directory with links to all programs."""
        return self.home / "bin"

    @property
    def state(self) -> Path:
        """What the supervisor says about the cluster."""
        return self.home / "state.json"

    @property
    def lock(self) -> Path:
        """Held by the supervisor as long as it lives."""
        return self.home / "lock"

    @property
    def audit_policy(self) -> Path:
        """The audit policy, when there is an audit log."""
        return self.home / "audit-policy.json"

    @property
    def shims(self) -> Path:
        """Programs that stand before the machine's own in the containers that kwok plays."""
        return self.home / "shims"

    def log(self, name: str) -> Path:
        """The output of one process."""
        return self.home / "logs" / f"{name}.log"

    def kubeconfig_of(self, user: str) -> Path:
        """The kubeconfig of one of the control plane's own components."""
        return self.pki / f"{user.rpartition(':')[2]}.kubeconfig"


def free_ports() -> dict[str, int]:
    """A free loopback port for each name in PORTS; all different, none reserved afterwards."""
    with contextlib.ExitStack() as stack:
        found = {}
        for name in PORTS:
            probe = stack.enter_context(socket.socket())
            probe.bind((HOST, 0))
            found[name] = int(probe.getsockname()[1])
        return found


def server(ports: Mapping[str, int]) -> str:
    """The URL of the API server."""
    return f"https://{HOST}:{ports['kube-apiserver']}"


def storage(
    layout: Layout, ports: Mapping[str, int], audit_log: Path | None
) -> dict[str, list[str]]:
    """Command lines of etcd and the API server, by program name."""
    etcd_url = f"http://{HOST}:{ports['etcd']}"
    etcd = [
        f"--data-dir={layout.home / 'etcd'}",
        f"--listen-client-urls={etcd_url}",
        f"--advertise-client-urls={etcd_url}",
        f"--listen-peer-urls=http://{HOST}:{ports['etcd-peer']}",
        "--unsafe-no-fsync",  # a crash loses the cluster, which is thrown away anyway
    ]
    apiserver = [
        f"--etcd-servers={etcd_url}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={ports['kube-apiserver']}",
        f"--cert-dir={layout.pki}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.signing_key}",
        f"--service-account-signing-key-file={layout.signing_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        # kwok serves as a kubelet with the API server's own certificate, which is for loopback.
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-certificate-authority={layout.server_chain}",
        "--endpoint-reconciler-type=none",
        "--allow-privileged",
    ]
    if audit_log is not None:
        apiserver += [
            f"--audit-log-path={audit_log}",
            f"--audit-policy-file={layout.audit_policy}",
        ]
    return {"etcd": etcd, "kube-apiserver": apiserver}


def controllers(layout: Layout, ports: Mapping[str, int]) -> dict[str, list[str]]:
    """Command lines of what works on the API, by program name; they need a ready API server."""
    return {
        "kube-controller-manager": [
            *_secured(layout, ports, "kube-controller-manager"),
            f"--service-account-private-key-file={layout.signing_key}",
            f"--root-ca-file={layout.ca}",
            "--use-service-account-credentials",
        ],
        "kube-scheduler": _secured(layout, ports, "kube-scheduler"),
        "kwok": [
            f"--kubeconfig={layout.kubeconfig_of('kwok')}",
            f"--config={STAGES}",
            "--manage-all-nodes=true",
            f"--node-ip={HOST}",
            "--cidr=10.244.0.0/16",
            "--node-lease-duration-seconds=40",
            f"--server-address={HOST}:{ports['kwok']}",
            f"--node-port={ports['kwok']}",
            f"--tls-cert-file={layout.server_chain}",
            f"--tls-private-key-file={layout.server_key}",
            f"--enable-crds={','.join(seed.KUBELET_KINDS)}",
        ],
    }


def _secured(layout: Layout, ports: Mapping[str, int], name: str) -> list[str]:
    own = layout.kubeconfig_of(name)
    return [
        f"--kubeconfig={own}",
        f"--authentication-kubeconfig={own}",
        f"--authorization-kubeconfig={own}",
        f"--bind-address={HOST}",
        f"--secure-port={ports[name]}",
        f"--cert-dir={layout.pki}",
        "--leader-elect=false",
        # The defaults protect a shared server; here they would only cost seconds of each boot.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
