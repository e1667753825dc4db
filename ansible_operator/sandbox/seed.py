"""What a fresh sandbox holds: the first namespaces, the service kubernetes, the usual roles."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

import yaml

from ansible_operator.sandbox.rights import access, aggregation

if TYPE_CHECKING:
    from ansible_operator.sandbox import local

Obj = dict[str, Any]

_LABEL = f"{access.GROUP}/aggregate-to-"
_META: Mapping[str, Any] = {
    "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
    "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
}


def plant(server: local.Local) -> None:
    """Create the objects of seed.yaml, namespaces first."""
    for resource, obj in objects():
        server.create(resource, obj)


def objects() -> list[tuple[str, Obj]]:
    """What is created, each with the name of its resource, ``clusterroles.rbac...``."""
    table = _table()
    found = [(_resource(obj), obj) for obj in table["objects"]]
    verbs = table["verbs"]
    roles = [_role(name, facts, verbs) for name, facts in table["roles"].items()]
    roles.sort(key=lambda role: str(role["metadata"]["name"]))
    # Filled in now, so that nobody ever sees the collected roles empty; once for each level.
    for _ in range(3):
        roles = [role | _collected(role, roles) for role in roles]
    found += [(aggregation.ROLES, role) for role in roles]
    found += [(f"clusterrolebindings.{access.GROUP}", obj) for obj in _bindings(table["roles"])]
    return found


def _collected(role: Obj, roles: list[Obj]) -> Obj:
    found = aggregation.rules(role, roles)
    return {} if found is None else {"rules": found}


@functools.cache
def _table() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("seed.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: Mapping[str, Any] = yaml.load(text, loader)  # noqa: S506 - a safe loader
    return found


def _resource(obj: Obj) -> str:
    """The kinds of seed.yaml all have regular plurals."""
    group, slash, _ = obj["apiVersion"].partition("/")
    kind = obj["kind"].lower()
    plural = f"{kind}es" if kind.endswith("s") else f"{kind}s"
    return f"{plural}.{group}" if slash else plural


def _role(name: str, facts: Mapping[str, Any], verbs: Mapping[str, str]) -> Obj:
    labels = dict(_META["labels"])
    if whole := facts.get("part-of"):
        labels[f"{_LABEL}{whole}"] = "true"
    role = {
        "apiVersion": f"{access.GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, **_META, "labels": labels},
        "rules": [_rule(verbs, *row) for row in facts.get("rules", ())],
    }
    if parts := facts.get("parts"):
        selector = {"matchLabels": {f"{_LABEL}{parts}": "true"}}
        role["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    return role


def _rule(verbs: Mapping[str, str], allowed: str, *what: str) -> Obj:
    rule: Obj = {"verbs": verbs.get(allowed, allowed).split()}
    if len(what) == 1:
        return rule | {"nonResourceURLs": what[0].split()}
    groups = ["" if group == "core" else group for group in what[0].split()]
    return rule | {"apiGroups": groups, "resources": what[1].split()}


def _bindings(roles: Mapping[str, Mapping[str, Any]]) -> Iterator[Obj]:
    for name, facts in roles.items():
        if "to" in facts:
            yield {
                "apiVersion": f"{access.GROUP}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name, **_META},
                "roleRef": {"apiGroup": access.GROUP, "kind": "ClusterRole", "name": name},
                "subjects": [
                    {"apiGroup": access.GROUP, "kind": "Group", "name": group}
                    for group in facts["to"].split()
                ],
            }
