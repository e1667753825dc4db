"""Service accounts as users, and the roles and bindings that give them rights."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import wire

from ansible_operator.testing import controlplane

Obj = dict[str, Any]
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
RBAC = f"/apis/{GROUP}/v1"


class Account(wire.Server):
    """The API server as a service account sees it, or with further headers as another user."""

    def __init__(
        self,
        plane: controlplane.ControlPlane,
        token: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(plane, token)
        self._plane = plane
        self._more = dict(headers or {})

    def _headers(self, content_type: str, accept: str) -> dict[str, str]:
        return super()._headers(content_type, accept) | self._more

    def acting(self, **headers: str) -> Account:
        """Requests with Impersonate headers: ``User``, ``Group``, ``Uid``, ``Extra_x``."""
        named = {f"Impersonate-{key.replace('_', '-')}": text for key, text in headers.items()}
        return Account(self._plane, self.token, named)

    def whoami(self) -> Obj:
        """Who the server thinks that this is."""
        answer = self.post(f"{AUTHENTICATION}/selfsubjectreviews", {})
        assert answer.code == 201, answer.text
        found: Obj = answer.body["status"]["userInfo"]
        return found

    def access(self, **attributes: str) -> Obj:
        """The status of a review whether this user may do something."""
        body = {"spec": {"resourceAttributes": attributes}}
        answer = self.post(f"{AUTHORIZATION}/selfsubjectaccessreviews", body)
        assert answer.code == 201, answer.text
        found: Obj = answer.body["status"]
        return found

    def until_access(self, allowed: bool, **attributes: str) -> Obj:
        """Wait until this user may do something, or may not do it any more."""
        deadline = time.monotonic() + wire.LIMIT
        while (found := self.access(**attributes))["allowed"] is not allowed:
            assert time.monotonic() < deadline, f"{attributes}: {found}"
            time.sleep(0.05)
        return found


def tokens(namespace: str, name: str) -> str:
    """The path where tokens of a service account are asked for."""
    return f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"


def user_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def account(
    plane: controlplane.ControlPlane, server: wire.Server, namespace: str, name: str
) -> Account:
    """A service account, made if it is not there, with a token from a TokenRequest."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    server.post(accounts, {"metadata": {"name": name}})
    answer = server.post(tokens(namespace, name), {})
    assert answer.code == 201, answer.text
    return Account(plane, answer.body["status"]["token"])


def rule(groups: str, resources: str, verbs: str, names: str = "") -> Obj:
    """A rule; everything in it is separated by spaces, the core group is ``core``."""
    found: Obj = {
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
        "verbs": verbs.split(),
    }
    return found | ({"resourceNames": names.split()} if names else {})


def roles(namespace: str = "", name: str = "") -> str:
    """The path of the roles of a namespace or of the cluster, or of one of them."""
    middle = f"/namespaces/{namespace}/roles" if namespace else "/clusterroles"
    return f"{RBAC}{middle}" + (f"/{name}" if name else "")


def bindings(namespace: str = "", name: str = "") -> str:
    """The path of the bindings of a namespace or of the cluster, or of one of them."""
    middle = f"/namespaces/{namespace}/rolebindings" if namespace else "/clusterrolebindings"
    return f"{RBAC}{middle}" + (f"/{name}" if name else "")


def role(name: str, *rules: Obj, **meta: Any) -> Obj:
    """The body of a role, of either kind."""
    return {"metadata": {"name": name, **meta}, "rules": list(rules)}


def binding(name: str, to: str, *subjects: Obj, kind: str = "Role") -> Obj:
    """The body of a binding, of either kind."""
    reference = {"apiGroup": GROUP, "kind": kind, "name": to}
    return {"metadata": {"name": name}, "roleRef": reference, "subjects": list(subjects)}


def subject(namespace: str, name: str) -> Obj:
    """A service account in a binding."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def group(name: str) -> Obj:
    """A group in a binding."""
    return {"apiGroup": GROUP, "kind": "Group", "name": name}


def user(name: str) -> Obj:
    """A user in a binding."""
    return {"apiGroup": GROUP, "kind": "User", "name": name}


def grant(server: wire.Server, namespace: str, name: str, *rules: Obj) -> None:
    """Give a service account these rights in its namespace, by a role under its own name."""
    answer = server.put(roles(namespace, name), role(name, *rules))
    assert answer.code in (200, 201), answer.text
    answer = server.put(bindings(namespace, name), binding(name, name, subject(namespace, name)))
    assert answer.code in (200, 201), answer.text
