"""The words of builtin.yaml that are about pods, in objects of their own and in templates."""

from __future__ import annotations

import re
from typing import Any

from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field

_SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_UPDATES = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
    "was previously negative)"
)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_RESTARTED = "may not be set for init containers without restartPolicy=Always"


def pod(field: Field) -> None:
    """What the parts of a pod must have to do with each other."""
    mains = list(field.at("containers").entries())
    inits = list(field.at("initContainers").entries())
    _unique_names([*mains, *inits])
    for one in inits:
        if one.get("restartPolicy") != "Always":
            _not_restarted(one)
    _host_ports(field, mains)
    if field.get("dnsPolicy") == "None" and not field.get("dnsConfig"):
        field.at("dnsConfig").required("must provide `dnsConfig` when `dnsPolicy` is None")
    if field.get("shareProcessNamespace") and field.get("hostPID"):
        told = "ShareProcessNamespace and HostPID cannot both be enabled"
        field.at("shareProcessNamespace").invalid(told)
    if field.get("hostNetwork") and field.get("hostUsers") is False:
        field.at("hostNetwork").forbidden("when `hostUsers` is false")


def new_pod(field: Field) -> None:
    """What a pod may not be created with."""
    extra = field.at("spec", "ephemeralContainers")
    if extra.value and field.old is None:
        extra.forbidden("cannot be set on create")


def _unique_names(containers: list[Field]) -> None:
    seen: set[str] = set()
    for one in containers:
        name = one.get("name")
        if name and name in seen:
            one.at("name").duplicate()
        seen.add(name)


def _not_restarted(container: Field) -> None:
    for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name):
            container.at(name).forbidden(_RESTARTED)


def _host_ports(spec: Field, containers: list[Field]) -> None:
    on_host = spec.get("hostNetwork")
    used: set[str] = set()
    for one in containers:
        seen: set[str] = set()
        for given in one.at("ports").entries():
            name, host_port = given.get("name"), given.get("hostPort")
            if name and name in seen:
                given.at("name").duplicate()
            seen.add(name)
            if not host_port:
                continue
            at = given.at("hostPort")
            if on_host and host_port != given.get("containerPort"):
                at.invalid("must match `containerPort` when `hostNetwork` is true")
            taken = f"{given.get('protocol')}/{given.get('hostIP') or ''}/{host_port}"
            if taken in used:
                at.duplicate(taken)
            used.add(taken)


def localhost_profile(field: Field) -> None:
    """A profile of the node has a name."""
    if field.get("type") == "Localhost" and not field.get("localhostProfile"):
        told = "must be set when seccomp type is Localhost"
        field.at("localhostProfile").required(told)


def seccomp_type(field: Field) -> None:
    """The types of seccomp profiles."""
    field.one_of("Localhost", "RuntimeDefault", "Unconfined")


def sysctl(field: Field) -> None:
    """The name of a kernel parameter."""
    if len(field.value) > 253 or not re.fullmatch(_SYSCTL, field.value):
        field.invalid(f"must have at most 253 characters and match regex {_SYSCTL}")


def terms(field: Field) -> None:
    """A required affinity has terms."""
    if not field.value:
        field.required("must have at least one node selector term")


def weight(field: Field) -> None:
    """How much a preference counts."""
    if not 1 <= (field.value or 0) <= 100:
        field.invalid("must be in the range 1-100", field.value or 0)


def topology(field: Field) -> None:
    """A label of nodes."""
    if not field.value:
        field.required("can not be empty")
    words.qualified(field)


def node_requirement(field: Field) -> None:
    """One expression about the labels of nodes."""
    values = field.at("values")
    match field.get("operator"):
        case "In" | "NotIn":
            if not values.value:
                values.required("must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values.value:
                told = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                values.forbidden(told)
        case "Gt" | "Lt":
            if len(values.value or ()) != 1:
                values.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
        case other:
            field.at("operator").invalid("not a valid selector operator", other)
    words.qualified(field.at("key"))


def skew(field: Field) -> None:
    """How uneven pods may be spread."""
    if (field.value or 0) <= 0:
        field.invalid("must be greater than zero", field.value or 0)


def when_unsatisfiable(field: Field) -> None:
    """What is done with pods that cannot be spread."""
    if field.value not in ("DoNotSchedule", "ScheduleAnyway"):
        field.unsupported(("DoNotSchedule", "ScheduleAnyway"), field.value or "")


def deadline(field: Field) -> None:
    """How long a pod may run."""
    if not 1 <= field.value <= 2**31 - 1:
        field.invalid("must be between 1 and 2147483647, inclusive")


def toleration(field: Field) -> None:
    """A taint that a pod bears."""
    key, operator, effect = (field.at(name) for name in ("key", "operator", "effect"))
    if key.value:
        key.obeys(names.qualified)
    elif operator.value != "Exists":
        told = "operator must be Exists when `key` is empty, which means "
        operator.invalid(f'{told}"match all values and all keys"', operator.value or "")
    if field.get("tolerationSeconds") is not None and effect.value != "NoExecute":
        effect.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator.value == "Exists" and field.get("value"):
        operator.invalid("value must be empty when `operator` is 'Exists'", field.get("value"))
    elif operator.value not in (None, "Equal", "Exists"):
        operator.unsupported(("Equal", "Exists"))
    elif operator.value != "Exists" and key.value:
        operator.obeys(names.label_value, field.get("value") or "")
    if effect.value and effect.value not in _EFFECTS:
        effect.unsupported(_EFFECTS)


def node_system(field: Field) -> None:
    """The system of the node."""
    if field.get("name") not in ("linux", "windows"):
        field.unsupported(("linux", "windows"), field.get("name") or "")


def fixed_pod(field: Field) -> None:
    """Of a pod only images, deadlines and further tolerations can be changed."""
    for name in ("containers", "initContainers"):
        containers = field.at(name)
        if len(containers.value or ()) != len(containers.old or ()):
            containers.forbidden(f"pod updates may not add or remove {_CALLED[name]}")
            return
    gates = ("schedulingGates", "nodeSelector") if field.old.get("schedulingGates") else ()
    same = _without_images(field.value, gates) == _without_images(field.old, gates)
    if not same or not _added(field.get("tolerations"), field.old.get("tolerations")):
        field.forbidden(_UPDATES)


_CALLED = {"containers": "containers", "initContainers": "init containers"}


def _without_images(spec: dict[str, Any], more: tuple[str, ...]) -> dict[str, Any]:
    aside = ("activeDeadlineSeconds", "tolerations", *more)
    found = {key: value for key, value in spec.items() if key not in aside}
    for name in ("containers", "initContainers"):
        found[name] = [{**one, "image": ""} for one in spec.get(name) or ()]
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        found["terminationGracePeriodSeconds"] = 1
    return found


def _added(new: list[Any] | None, old: list[Any] | None) -> bool:
    return all(one in (new or ()) for one in old or ())
