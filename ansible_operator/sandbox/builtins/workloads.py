"""The words of builtin.yaml that are about what keeps pods running: deployments and their kin."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field
from ansible_operator.sandbox.standins import labels as selecting

_MISMATCH = "`selector` does not match template `labels`"


def pod_selector(field: Field) -> None:
    """The selector of pods is there, is not empty and matches the template."""
    kind = field.top.get("kind").lower()
    called = "deployment" if kind == "replicaset" else kind
    if field.value is None:
        field.required()
    daemon_pod_selector(field, called)


def daemon_pod_selector(field: Field, called: str = "daemonset") -> None:
    """The selector of pods is not empty and matches the template."""
    if field.value is None:
        return matches_template(field)
    if not words.selector(field):
        return field.invalid("invalid label selector")
    if not field.value.get("matchLabels") and not field.value.get("matchExpressions"):
        return field.invalid(f"empty selector is invalid for {called}", {})
    return matches_template(field)


def matches_template(field: Field) -> None:
    """The labels of the template are selected."""
    found = field.above.at("template", "metadata", "labels")
    if not selecting.selector(field.value)({"metadata": {"labels": found.value}}):
        found.invalid(_MISMATCH, found.value and dict(sorted(found.value.items())))


def map_selector(field: Field) -> None:
    """The selector of a replication controller."""
    words.labels(field)
    found = field.above.at("template", "metadata", "labels")
    if not field.value:
        field.required()
    elif not selecting.contains(found.value or {}, field.value):
        found.invalid(_MISMATCH)


def restarts_always(field: Field) -> None:
    """Pods that are replaced when they end are also restarted."""
    spec = field.at("spec")
    if spec.get("restartPolicy") in ("OnFailure", "Never"):
        spec.at("restartPolicy").unsupported(("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        told = "activeDeadlineSeconds in ReplicaSet is not Supported"
        spec.at("activeDeadlineSeconds").forbidden(told)


def rollout(field: Field) -> None:
    """How a deployment replaces pods."""
    rolling = field.at("rollingUpdate")
    match field.get("type"):
        case "Recreate":
            if rolling.value is not None:
                rolling.forbidden("may not be specified when strategy `type` is 'Recreate'")
        case "RollingUpdate":
            if rolling.value is not None:
                _rolling(rolling)
        case other:
            field.unsupported(("Recreate", "RollingUpdate"), _strategy(other))


def _strategy(kind: Any) -> dict[str, Any]:
    return {"Type": kind or "", "RollingUpdate": None}


def _rolling(field: Field) -> None:
    unavailable, surge = field.at("maxUnavailable"), field.at("maxSurge")
    words.number_or_percent(unavailable)
    words.number_or_percent(surge)
    if _zero(unavailable.value) and _zero(surge.value):
        unavailable.invalid("may not be 0 when `maxSurge` is 0")
    elif isinstance(unavailable.value, str) and not names.percent(unavailable.value):
        words.count_or_percent(unavailable)


def _zero(value: int | str | None) -> bool:
    return value in (0, "0%")


def daemon_rollout(field: Field) -> None:
    """How a daemon set replaces pods."""
    if field.get("type") not in ("RollingUpdate", "OnDelete"):
        field.unsupported(("RollingUpdate", "OnDelete"), _strategy(field.get("type")))
    elif field.get("type") == "RollingUpdate":
        rolling = field.at("rollingUpdate")
        unavailable, surge = rolling.at("maxUnavailable"), rolling.at("maxSurge")
        before = len(field.causes)
        words.count_or_percent(unavailable)
        words.count_or_percent(surge)
        if len(field.causes) > before:
            return
        if _zero(unavailable.value) and _zero(surge.value):
            unavailable.required("cannot be 0 when maxSurge is 0")
        elif not _zero(unavailable.value) and not _zero(surge.value):
            surge.invalid("may not be set when maxUnavailable is non-zero")


def stateful_rollout(field: Field) -> None:
    """How a stateful set replaces pods."""
    rolling = field.at("rollingUpdate")
    if field.get("type") not in ("RollingUpdate", "OnDelete"):
        field.invalid("must be 'RollingUpdate' or 'OnDelete'", _strategy(field.get("type")))
    elif rolling.value is None:
        return
    elif field.get("type") == "OnDelete":
        shown = {name: rolling.get(name[0].lower() + name[1:]) for name in ("Partition", _MAX)}
        rolling.invalid("only allowed for updateStrategy 'RollingUpdate'", shown)
    else:
        words.count(rolling.at("partition"))


_MAX = "MaxUnavailable"


def claim_name(field: Field) -> None:
    """A claim makes a volume of its name, and the server finds what is wrong with that one."""
    volumes = field.top.at("spec", "template", "spec", "volumes")
    volume = Field(field.get("metadata"), None, volumes, f"[{field.key}]", field.causes)
    name = volume.at("name")
    if name.value:
        name.obeys(names.label)
    else:
        volume.at("persistentVolumeClaim", "claimName").required()
        name.required()


def management(field: Field) -> None:
    """In which order a stateful set makes pods."""
    if field.value not in ("OrderedReady", "Parallel"):
        field.invalid("must be 'OrderedReady' or 'Parallel'")


def fixed_stateful(field: Field) -> None:
    """Most of a stateful set stays."""
    for name in ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"):
        words.fixed(field.at(name))


def progress(field: Field) -> None:
    """A deployment has time to become ready."""
    if field.value <= (field.above.get("minReadySeconds") or 0):
        field.invalid("must be greater than minReadySeconds")
