"""An operator with limited rights: what is missing is named, what is allowed works."""

from __future__ import annotations

from pathlib import Path

import api
from conftest import LATE_CRD, PROJECT, environment, install_crds

from ansible_operator.testing import controlplane, operator

RBAC = "rbac.authorization.k8s.io/v1"
ROLE, BINDING = api.Kind(RBAC, "Role", "roles"), api.Kind(RBAC, "RoleBinding", "rolebindings")
ACCOUNT = api.Kind("v1", "ServiceAccount", "serviceaccounts")


def rule(resources: list[str], verbs: list[str]) -> api.Obj:
    """One rule of a Role for the test group."""
    return {"apiGroups": [api.GROUP], "resources": resources, "verbs": verbs}


def test_missing_rights_are_named_and_the_other_kinds_go_on(
    control_plane: controlplane.ControlPlane, module_namespace: str, tmp_path: Path
) -> None:
    """A kind that may not be listed is said with the rule to add, and runs once it is granted."""
    install_crds(control_plane, PROJECT / "crds", but=LATE_CRD)
    (tmp_path / "record").mkdir()
    (tmp_path / "runner").mkdir(mode=0o700)
    admin = api.Api(control_plane.kubeconfig, module_namespace)
    admin.create(ACCOUNT, "limited")
    rules = [rule(["scenarios"], ["get", "list", "watch"]), rule(["scenarios/status"], ["patch"])]
    admin.create(ROLE, "limited", rules=rules)
    subject = {"kind": "ServiceAccount", "name": "limited", "namespace": module_namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "limited"}
    admin.create(BINDING, "limited", subjects=[subject], roleRef=reference)
    kubeconfig = control_plane.service_account_kubeconfig(
        module_namespace, "limited", tmp_path / "limited.kubeconfig"
    )
    env = environment(tmp_path / "record", module_namespace)
    arguments = [f"--runner-dir={tmp_path / 'runner'}"]
    with operator.run_operator(PROJECT, kubeconfig, *arguments, env=env) as running:
        admin.create(api.SCENARIO, "allowed", spec={"mode": "ok"})
        admin.until(api.SCENARIO, "allowed", api.successful)
        said = running.wait_for_log(
            lambda e: e["level"] in ("warn", "error") and "periodics" in str(e), 60
        )
        for part in (api.GROUP, "list", "watch", module_namespace):
            assert part in str(said)
        rules += [rule(["periodics"], ["get", "list", "watch"])]
        rules += [rule(["periodics/status"], ["patch"])]
        admin.patch(ROLE, "limited", {"rules": rules})
        admin.create(api.PERIODIC, "granted", spec={})
        admin.until(api.PERIODIC, "granted", lambda o: api.condition(o, "Ready"))


def test_unreachable_server_is_said_and_waited_for(
    control_plane: controlplane.ControlPlane, module_namespace: str, tmp_path: Path
) -> None:
    """With no API server the operator says which address does not answer, and keeps trying."""
    kubeconfig = tmp_path / "nowhere.kubeconfig"
    text = control_plane.kubeconfig.read_text().replace(control_plane.server, "https://127.0.0.1:1")
    kubeconfig.write_text(text)
    kubeconfig.chmod(0o600)
    (tmp_path / "runner").mkdir(mode=0o700)
    env = environment(tmp_path, module_namespace)
    arguments = [f"--runner-dir={tmp_path / 'runner'}"]
    with operator.run_operator(PROJECT, kubeconfig, *arguments, env=env) as running:
        running.wait_for_log(
            lambda e: "127.0.0.1:1" in str(e) and e["level"] in ("warn", "error"), 60
        )
        assert running.returncode is None
        assert running.stop() == 0
