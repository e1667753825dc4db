"""The words of builtin.yaml that are about autoscalers."""

from __future__ import annotations

from ansible_operator.sandbox.builtins import quantity
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field

_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_NO_TARGET = {
    "resource": (
        "averageUtilization",
        "must set either a target raw value or a target utilization",
    ),
    "pods": ("averageValue", "must specify a positive target averageValue"),
    "object": ("averageValue", "must set either a target value or averageValue"),
    "external": ("averageValue", "must set either a target value for metric or a per-pod target"),
}


def autoscaler(field: Field) -> None:
    """An autoscaler has room, and something to go by where it can scale to nothing."""
    least, most = field.get("minReplicas"), field.get("maxReplicas") or 0
    if least is not None and most < least:
        told = "must be greater than or equal to `minReplicas`"
        field.at("maxReplicas").invalid(told, most)
    kinds = {metric.get("type") for metric in field.get("metrics") or ()}
    if least == 0 and not kinds & {"Object", "External"}:
        told = "must specify at least one Object or External metric to support scaling to zero "
        field.at("metrics").forbidden(told + "replicas")


def scale_target(field: Field) -> None:
    """What is scaled is in a group, or the one kind without."""
    version = field.at("apiVersion")
    text = version.value or ""
    if text.count("/") > 1:
        version.invalid(f"unexpected GroupVersion string: {text}")
    elif "/" not in text and field.get("kind") != "ReplicationController":
        version.invalid("apiVersion must specify API group", text)


def metric(field: Field) -> None:
    """What an autoscaler goes by."""
    kind = field.at("type")
    if not kind.value:
        kind.required("must specify a metric source type")
    if kind.value not in _SOURCES:
        return kind.unsupported(tuple(_SOURCES), kind.value or "")
    source = field.at(_SOURCES[kind.value])
    if source.value is None:
        return source.required("must populate information for the given metric source")
    if kind.value == "Object":
        for key in ("kind", "name"):
            if not source.at("describedObject").get(key):
                source.at("describedObject", key).required()
    if "esource" in kind.value:
        if not source.get("name"):
            source.at("name").required("must specify a resource name")
    elif not source.at("metric").get("name"):
        source.at("metric", "name").required("must specify a metric name")
    return _target(source.at("target"), _SOURCES[kind.value].replace("containerR", "r"))


def _target(field: Field, source: str) -> None:
    kind = field.at("type")
    if not kind.value:
        kind.required("must specify a metric target type")
    if kind.value not in ("Utilization", "Value", "AverageValue"):
        told = "must be either Utilization, Value, or AverageValue"
        kind.invalid(told, kind.value or "")
    share = field.at("averageUtilization")
    if share.value is not None and share.value < 1:
        share.invalid(words.GREATER_THAN_0)
    amounts = [field.at(key) for key in ("value", "averageValue")]
    given = [amount for amount in amounts if amount.value is not None]
    for amount in given:
        if quantity.number(amount.value) <= 0:
            amount.invalid("must be positive")
    name, told = _NO_TARGET[source]
    if share.value is None and not given:
        field.at(name).required(told)
    elif share.value is not None and field.get("averageValue") is not None:
        told = "may not set both a target raw value and a target utilization"
        field.at("averageValue").forbidden(told)


def window(field: Field) -> None:
    """How long an autoscaler waits."""
    if field.value < 0:
        field.invalid("must be greater than or equal to zero")
    elif field.value > 3600:
        field.invalid("must be less than or equal to 3600")
