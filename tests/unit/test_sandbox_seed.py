"""What a fresh sandbox holds, and how cluster roles are collected from others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_operator.sandbox import kinds, seed, storage
from ansible_operator.sandbox.rights import access, aggregation

Obj = dict[str, Any]


class Local:
    """Writes straight into a storage."""

    def __init__(self, store: storage.Storage) -> None:
        self.storage = store
        self.updates: list[str] = []

    def list(self, resource: str) -> list[Obj]:
        """All cluster roles."""
        assert resource == "clusterroles.rbac.authorization.k8s.io"
        return list(self.storage.list(access.CLUSTER_ROLES))

    def create(self, resource: str, obj: Obj) -> Obj:
        """Store an object of a resource that is served."""
        plural, _, group = resource.partition(".")
        served = [(found.group, found.plural, found.kind) for found in kinds.builtins()]
        assert (group, plural, obj["kind"]) in served
        return self.storage.put((group, plural), obj)

    def update(self, resource: str, obj: Obj) -> Obj:
        """Store a changed object."""
        self.updates.append(obj["metadata"]["name"])
        return self.create(resource, obj)


def role(name: str, *verbs: str, collects: Obj | None = None, **labels: str) -> Obj:
    """A cluster role with one rule for each verb; ``collects`` is what it is collected by."""
    rules = [{"verbs": [verb], "apiGroups": [""], "resources": ["pods"]} for verb in verbs]
    found = {"kind": "ClusterRole", "metadata": {"name": name, "labels": labels}, "rules": rules}
    return found | ({"aggregationRule": {"clusterRoleSelectors": [collects]}} if collects else {})


def verbs(rules: list[Obj] | None) -> list[str]:
    """The verbs of rules that have one each."""
    return [rule["verbs"][0] for rule in rules or []]


def test_objects_are_those_of_a_fresh_cluster() -> None:
    """The namespaces come first, and every object is of a kind that is served."""
    store = storage.Storage()
    seed.plant(Local(store))  # type: ignore[arg-type]
    names = {obj["metadata"]["name"] for obj in store.list(("", "namespaces"))}
    assert names == {"default", "kube-system", "kube-public", "kube-node-lease"}
    assert [resource for resource, _ in seed.objects()[:4]] == ["namespaces"] * 4
    assert store.get(("", "services"), "default", "kubernetes")
    assert store.count(access.CLUSTER_ROLES) > 10


def test_view_edit_and_admin_are_collected() -> None:
    """Each has what the one before has, and something more; nothing is left to do for it."""
    store = storage.Storage()
    seed.plant(Local(store))  # type: ignore[arg-type]
    roles = list(store.list(access.CLUSTER_ROLES))
    by_name = {found["metadata"]["name"]: found for found in roles}
    for smaller, larger in (("view", "edit"), ("edit", "admin")):
        missing = [r for r in by_name[smaller]["rules"] if r not in by_name[larger]["rules"]]
        assert missing == []
        assert len(by_name[larger]["rules"]) > len(by_name[smaller]["rules"])
    for name in ("view", "edit", "admin"):
        assert aggregation.rules(by_name[name], roles) == by_name[name]["rules"]


def test_rules_are_collected_by_name_and_once() -> None:
    """In the order of selectors, then of names, without those that are there and its own."""
    whole = role("m", "own", collects={"matchLabels": {"a": "b"}}, a="b")
    whole["aggregationRule"]["clusterRoleSelectors"].append(
        {"matchExpressions": [{"key": "c", "operator": "Exists"}]}
    )
    others = [role("a", "x", "y", c="1"), role("b", "z", "x", a="b", c="1"), role("z", "no")]
    assert verbs(aggregation.rules(whole, [*others, whole])) == ["z", "x", "y"]
    assert aggregation.rules(others[0], others) is None


def test_collected_roles_follow_their_parts() -> None:
    """One step later, through several levels, and only where something changed."""
    store = storage.Storage()
    writer = Local(store)
    steps: list[Callable[[], None]] = []

    def settle() -> None:
        while steps:
            steps.pop(0)()

    aggregation.Aggregation(writer, store, lambda _, step: steps.append(step))  # type: ignore[arg-type]
    for obj in (
        role("large", collects={"matchLabels": {"to": "large"}}),
        role("small", collects={"matchLabels": {"to": "small"}}, to="large"),
        role("part", "get", to="small"),
    ):
        store.put(access.CLUSTER_ROLES, obj)
    settle()
    for name in ("small", "large"):
        found = store.get(access.CLUSTER_ROLES, "", name)
        assert found is not None
        assert verbs(found["rules"]) == ["get"]
    assert writer.updates == ["small", "large"]
    store.remove(access.CLUSTER_ROLES, "", "part")
    settle()
    found = store.get(access.CLUSTER_ROLES, "", "large")
    assert found is not None
    assert found["rules"] == []
