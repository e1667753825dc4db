"""Who may do what: roles and bindings from the storage, read as the RBAC authorizer reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_operator.sandbox import failure, kinds, storage
from ansible_operator.sandbox.rights import attributes

Obj = dict[str, Any]
Rule = Mapping[str, Any]

GROUP = "rbac.authorization.k8s.io"
ROLES: kinds.Key = (GROUP, "roles")
CLUSTER_ROLES: kinds.Key = (GROUP, "clusterroles")
BINDINGS: kinds.Key = (GROUP, "rolebindings")
CLUSTER_BINDINGS: kinds.Key = (GROUP, "clusterrolebindings")

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
KEPT = 4096
"""Decisions that are remembered until a role or binding changes."""
EVERYTHING: tuple[Rule, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who sends requests, with all groups that they are in."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def info(self) -> Obj:
        """The UserInfo of reviews and of the audit log."""
        found: Obj = {"username": self.name, "uid": self.uid, "groups": list(self.groups)}
        found["extra"] = {key: list(values) for key, values in self.extra.items()}
        return {key: value for key, value in found.items() if value or key == "username"}


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and why or what went wrong in finding out."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """What one binding gives to one subject; an empty namespace is the whole cluster.

    ``error`` says why there are no rules: the role does not exist.
    """

    namespace: str
    text: str
    rules: Sequence[Rule]
    error: str = ""


class Access:
    """Decides by the roles and bindings that are stored now.

    Unless ``enforced``, everybody may do everything.
    """

    def __init__(self, objects: storage.Storage, *, enforced: bool) -> None:
        self.enforced = enforced
        self._objects = objects
        self._granted: dict[tuple[str, str], list[Grant]] | None = None
        self._decided: dict[tuple[str, tuple[str, ...], attributes.Attributes], Decision] = {}
        objects.subscribe(self._note)

    def decide(self, user: User, at: attributes.Attributes) -> Decision:
        """Whether a user may do this."""
        if not self.enforced or MASTERS in user.groups:
            return Decision(True)
        asked = (user.name, user.groups, at)
        if (decision := self._decided.get(asked)) is None:
            if len(self._decided) >= KEPT:
                self._decided.clear()
            decision = self._decided[asked] = self._judge(user, at)
        return decision

    def _judge(self, user: User, at: attributes.Attributes) -> Decision:
        problems = []
        for grant in self.grants(user, at.namespace):
            if grant.error:
                problems.append(grant.error)
            elif any(allows(rule, at) for rule in grant.rules):
                return Decision(True, f"RBAC: allowed by {grant.text}")
        return Decision(False, f"rbac: RBAC: {_listed(problems)}" if problems else "")

    def require(self, user: User, at: attributes.Attributes) -> None:
        """Raise Forbidden unless a user may do this."""
        decision = self.decide(user, at)
        if not decision.allowed:
            raise denied(user, at, decision.reason)

    def rules(self, user: User, namespace: str) -> tuple[list[Rule], str]:
        """The rules that count for a user in a namespace, and what was wrong with the others."""
        if not self.enforced:
            return list(EVERYTHING), ""
        grants = list(self.grants(user, namespace))
        problems = [grant.error for grant in grants if grant.error]
        return [rule for grant in grants for rule in grant.rules], _listed(problems)

    def role(self, reference: Mapping[str, str], namespace: str) -> Obj | None:
        """The role that a binding in this namespace refers to."""
        if reference["kind"] == "ClusterRole":
            return self._objects.get(CLUSTER_ROLES, "", reference["name"])
        return self._objects.get(ROLES, namespace, reference["name"])

    def grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """What counts for a user in a namespace, that for the whole cluster first."""
        if self._granted is None:
            self._granted = self._read()
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        found = [grant for subject in subjects for grant in self._granted.get(subject, ())]
        yield from (grant for grant in found if not grant.namespace)
        yield from (grant for grant in found if namespace and grant.namespace == namespace)

    def _note(self, change: storage.Change) -> None:
        if change.key[0] == GROUP:
            self._granted = None
            self._decided.clear()

    def _read(self) -> dict[tuple[str, str], list[Grant]]:
        found: dict[tuple[str, str], list[Grant]] = {}
        for key in (CLUSTER_BINDINGS, BINDINGS):
            for binding in self._objects.list(key):
                for subject, grant in self._of_binding(binding):
                    found.setdefault(subject, []).append(grant)
        return found

    def _of_binding(self, binding: Obj) -> Iterator[tuple[tuple[str, str], Grant]]:
        name, namespace = binding["metadata"]["name"], binding["metadata"].get("namespace", "")
        reference = binding["roleRef"]
        role = self.role(reference, namespace)
        rules = (role or {}).get("rules") or ()
        kind = reference["kind"]
        error = "" if role else f'{kind.lower()}.{GROUP} "{reference["name"]}" not found'
        own = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
        for subject in binding.get("subjects") or ():
            whom, told = _subject(subject, namespace)
            text = f'{own} of {kind} "{reference["name"]}" to {told}'
            yield whom, Grant(namespace, text, rules, error)


def _subject(subject: Mapping[str, str], namespace: str) -> tuple[tuple[str, str], str]:
    kind, name = subject["kind"], subject["name"]
    if kind != "ServiceAccount":
        return (kind, name), f'{kind} "{name}"'
    home = subject.get("namespace") or namespace
    return ("User", account_name(home, name)), f'{kind} "{name}/{home}"'


def account_name(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups of the service accounts of a namespace."""
    return "system:serviceaccounts", f"system:serviceaccounts:{namespace}"


def allows(rule: Rule, at: attributes.Attributes) -> bool:
    """Whether one rule allows this."""
    if not _has(rule.get("verbs") or (), at.verb):
        return False
    if at.path:
        return any(covers_path(url, at.path) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _has(rule.get("apiGroups") or (), at.group)
        and covers_resource(rule.get("resources") or (), at.resource)
        and (not names or at.name in names)
    )


def covers_resource(patterns: Iterable[str], resource: str) -> bool:
    """Whether a role's list of resources has this one, ``pods/log`` for a subresource."""
    _, slash, subresource = resource.partition("/")
    accepted = ("*", resource, f"*/{subresource}") if slash else ("*", resource)
    return any(pattern in accepted for pattern in patterns)


def covers_path(pattern: str, path: str) -> bool:
    """Whether a pattern of a role's nonResourceURLs takes in this path or narrower pattern."""
    if pattern in ("*", path):
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


def denied(user: User, at: attributes.Attributes, reason: str = "") -> failure.ApiFailure:
    """403: a user may not do this."""
    who = f"User {failure.shown(user.name)} cannot {at.verb}"
    why = f": {reason}" if reason else ""
    if at.path:
        message = f"forbidden: {who} path {failure.shown(at.path)}{why}"
        return failure.ApiFailure(403, "Forbidden", message, {})
    where = f'in the namespace "{at.namespace}"' if at.namespace else "at the cluster scope"
    what = f'resource "{at.resource}" in API group "{at.group}" {where}'
    return failure.forbidden(at, at.name, f"{who} {what}{why}")


def _has(listed: Iterable[str], wanted: str) -> bool:
    return any(item in ("*", wanted) for item in listed)


def _listed(problems: Sequence[str]) -> str:
    """Several errors as one text, each once."""
    texts = list(dict.fromkeys(problems))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
