"""Nobody grants by roles and bindings what they may not do themselves."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.rights import access, attributes

Obj = dict[str, Any]
Rule = access.Rule

CHECKED = (access.ROLES, access.CLUSTER_ROLES, access.BINDINGS, access.CLUSTER_BINDINGS)
_LETTING_GO = ("finalizers", "ownerReferences", "managedFields", "resourceVersion")
_FIELDS = (
    ("apiGroups", "APIGroups"),
    ("resources", "Resources"),
    ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"),
    ("verbs", "Verbs"),
)


def check(
    rights: access.Access, user: access.User, resource: kinds.Resource, new: Obj, old: Obj | None
) -> None:
    """Raise Forbidden if writing this role or binding gives rights that the user has not.

    Every change counts, but for those that let it go. 404 if a binding refers to a role that does
    not exist, which nobody can judge.
    """
    if not rights.enforced or access.MASTERS in user.groups or resource.key not in CHECKED:
        return
    if old is not None and _content(old) == _content(new):
        return
    judge = _check_role if resource.key in CHECKED[:2] else _check_binding
    judge(rights, user, resource, new)


def _content(obj: Obj) -> Obj:
    meta = obj["metadata"]
    return {**obj, "metadata": {key: meta[key] for key in meta if key not in _LETTING_GO}}


def _check_role(
    rights: access.Access, user: access.User, resource: kinds.Resource, new: Obj
) -> None:
    namespace, name = new["metadata"].get("namespace", ""), new["metadata"].get("name", "")
    if _may(rights, user, "escalate", resource.plural, namespace, name):
        return
    held, problems = rights.rules(user, namespace)
    if new.get("aggregationRule") and uncovered(held, access.EVERYTHING):
        told = "must have cluster-admin privileges to use the aggregationRule"
        raise failure.forbidden(resource, name, told)
    if missing := uncovered(held, new.get("rules") or ()):
        raise failure.forbidden(resource, name, _told(user, missing, problems))


def _check_binding(
    rights: access.Access, user: access.User, resource: kinds.Resource, new: Obj
) -> None:
    reference = new.get("roleRef") or {}
    if not {"kind", "name"} <= reference.keys():
        return  # invalid, which others say
    namespace, name = new["metadata"].get("namespace", ""), new["metadata"].get("name", "")
    plural = f"{reference['kind'].lower()}s"
    if _may(rights, user, "bind", plural, namespace, reference["name"]):
        return
    role = rights.role(reference, namespace)
    if role is None:
        raise failure.not_found(resource, reference["name"])
    held, problems = rights.rules(user, namespace)
    if missing := uncovered(held, role.get("rules") or ()):
        raise failure.forbidden(resource, name, _told(user, missing, problems))


def _may(
    rights: access.Access, user: access.User, verb: str, plural: str, namespace: str, name: str
) -> bool:
    at = attributes.Attributes(
        verb, group=access.GROUP, version="v1", plural=plural, namespace=namespace, name=name
    )
    return rights.decide(user, at).allowed


def uncovered(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The parts of the wanted rules that no held rule covers: one verb of one resource each."""
    parts = itertools.chain.from_iterable(_parts(rule) for rule in wanted)
    return [part for part in parts if not any(_covers(rule, part) for rule in held)]


def _parts(rule: Rule) -> Iterator[Rule]:
    for verb in rule.get("verbs") or ():
        for url in rule.get("nonResourceURLs") or ():
            yield {"verbs": [verb], "nonResourceURLs": [url]}
        for group, resource in itertools.product(
            rule.get("apiGroups") or (), rule.get("resources") or ()
        ):
            part = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
            names = rule.get("resourceNames") or ()
            yield from ({**part, "resourceNames": [name]} for name in names)
            if not names:
                yield part


def _covers(rule: Rule, part: Rule) -> bool:
    if not _any(part["verbs"], rule.get("verbs"), _equal):
        return False
    if "nonResourceURLs" in part:
        return _any(part["nonResourceURLs"], rule.get("nonResourceURLs"), access.covers_path)
    names, named = rule.get("resourceNames"), part.get("resourceNames", ("",))
    return (
        _any(part["apiGroups"], rule.get("apiGroups"), _equal)
        and access.covers_resource(rule.get("resources") or (), part["resources"][0])
        and (not names or named[0] in names)
    )


def _any(
    part: Sequence[str], patterns: Iterable[str] | None, covers: Callable[[str, str], bool]
) -> bool:
    return any(covers(pattern, part[0]) for pattern in patterns or ())


def _equal(pattern: str, word: str) -> bool:
    return pattern in ("*", word)


def _told(user: access.User, missing: Iterable[Rule], problems: str) -> str:
    groups = " ".join(json.dumps(group) for group in user.groups)
    lines = sorted(_shown(rule) for rule in _joined(missing))
    text = (
        f"user {json.dumps(user.name)} (groups=[{groups}]) is attempting to grant RBAC "
        "permissions not currently held:\n" + "\n".join(lines)
    )
    return f"{text}; resolution errors: [{problems.strip('[]')}]" if problems else text


def _joined(parts: Iterable[Rule]) -> list[Rule]:
    """Parts that differ in nothing but the verb as one rule; those for URLs stay apart."""
    found: list[Rule] = []
    verbs: dict[str, list[str]] = {}
    for part in parts:
        what = json.dumps({key: value for key, value in part.items() if key != "verbs"})
        if "resources" in part and what in verbs:
            verbs[what] += [verb for verb in part["verbs"] if verb not in verbs[what]]
            continue
        verbs[what] = list(part["verbs"])
        found.append({**part, "verbs": verbs[what]})
    return found


def _shown(rule: Rule) -> str:
    parts = []
    for key, label in _FIELDS:
        if values := rule.get(key):
            words = " ".join(json.dumps(value) for value in values)
            parts.append(f"{label}:[{words}]")
    return "{" + ", ".join(parts) + "}"
