"""The words of builtin.yaml that are about roles, budgets and events."""

from __future__ import annotations

from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field

_RBAC = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def policy_rule(field: Field) -> None:
    """A rule says what is allowed with what."""
    urls = field.at("nonResourceURLs")
    if urls.value:
        if field.top.get("kind") == "Role":
            urls.invalid("namespaced rules cannot apply to non-resource URLs")
        if field.get("apiGroups") or field.get("resources") or field.get("resourceNames"):
            urls.invalid("rules cannot apply to both regular resources and non-resource URLs")
    else:
        if not field.get("apiGroups"):
            field.at("apiGroups").required("resource rules must supply at least one api group")
        if not field.get("resources"):
            field.at("resources").required("resource rules must supply at least one resource")
    if not field.get("verbs"):
        field.at("verbs").required()


def aggregated(field: Field) -> None:
    """A role that is made of others says of which."""
    if not field.value:
        told = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        field.required(told)


def role_kind(field: Field) -> None:
    """What a binding refers to."""
    namespaced = field.top.get("kind") == "RoleBinding"
    allowed = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if field.value not in allowed:
        field.unsupported(allowed, field.value or "")


def subject(field: Field) -> None:
    """Who is bound."""
    kind, group, name = (field.at(key) for key in ("kind", "apiGroup", "name"))
    if kind.value not in _SUBJECTS:
        kind.unsupported(_SUBJECTS, kind.value or "")
    wanted = "" if kind.value == "ServiceAccount" else _RBAC
    if kind.value in _SUBJECTS and (group.value or "") != wanted:
        group.unsupported((wanted,))
    if not name.value:
        name.required()
    elif kind.value == "ServiceAccount":
        name.obeys(names.subdomain)
    cluster = field.top.get("kind") == "ClusterRoleBinding"
    if cluster and kind.value == "ServiceAccount" and not field.get("namespace"):
        field.at("namespace").required()


def fixed_role(field: Field) -> None:
    """A binding always binds the same role."""
    if field.differs():
        shown = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
        field.invalid(words.FIXED, {go: field.get(key) or "" for go, key in shown.items()})


def budget(field: Field) -> None:
    """A budget says one of two things."""
    least, most = field.get("minAvailable"), field.get("maxUnavailable")
    if least is not None and most is not None:
        shown = {"MinAvailable": least, "Selector": field.get("selector"), "MaxUnavailable": most}
        shown |= {"UnhealthyPodEvictionPolicy": field.get("unhealthyPodEvictionPolicy")}
        field.invalid("minAvailable and maxUnavailable cannot be both set", shown)


def event(field: Field) -> None:
    """An event of the core group is about something of its namespace, a newer one is complete."""
    old_kind = "/" not in field.get("apiVersion")
    about = field.at("involvedObject" if old_kind else "regarding")
    namespace = field.at("metadata").get("namespace")
    if old_kind:
        given = about.get("namespace") or ""
        if (given or "default") != namespace:
            about.at("namespace").invalid("does not match event.namespace", given)
        return
    if not field.get("eventTime"):
        field.at("eventTime").required()
    controller = field.at("reportingController")
    if not controller.value:
        controller.required()
    controller.obeys(names.qualified, controller.value or "")
    for key in ("reportingInstance", "action", "reason"):
        if not field.get(key):
            field.at(key).required()
    kind = field.get("type")
    if kind not in ("Normal", "Warning"):
        field.at("type").invalid(f"has invalid value: {kind}", "")
