"""The words of builtin.yaml that are about claims, volumes and storage classes."""

from __future__ import annotations

from fractions import Fraction

from ansible_operator.sandbox.builtins import quantity
from ansible_operator.sandbox.builtins.fields import Field

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ONE_TYPE = "may not specify more than 1 volume type"
_CLAIMS = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)
_NO_SOURCE = (
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
)


def access(field: Field) -> None:
    """How a volume may be used."""
    if not field.value:
        field.required("at least 1 access mode is required")
    elif "ReadWriteOncePod" in field.value and len(field.value) > 1:
        field.forbidden("may not use ReadWriteOncePod with other access modes")


def access_mode(field: Field) -> None:
    """One way of using a volume; the server names the whole list."""
    if field.value not in _MODES:
        field.above.unsupported(_MODES, field.value)


def storage_request(field: Field) -> None:
    """A claim says how much it needs."""
    size = field.at("resources", "requests", "storage")
    place = Field(size.value, None, field.at("resources"), "[storage]", field.causes)
    if size.value is None:
        place.required()
    elif quantity.number(size.value) <= 0:
        place.invalid("must be greater than zero")


def fixed_claim(field: Field) -> None:
    """Of a claim only the size changes, and only upwards."""
    bound = field.top.old.get("status", {}).get("phase") == "Bound"
    aside = ("resources", "volumeAttributesClassName") if bound else ()
    old, new = dict(field.old), dict(field.value)
    if not old.get("volumeName"):
        old["volumeName"] = new.get("volumeName")
    new.setdefault("volumeName", None)
    if {k: v for k, v in old.items() if k not in aside} != {
        k: v for k, v in new.items() if k not in aside
    }:
        field.forbidden(_CLAIMS)
    if field.get("volumeMode") != field.old.get("volumeMode"):
        Field(field.get("volumeMode"), key="volumeMode", causes=field.causes).invalid(
            "field is immutable"
        )
    size = field.at("resources", "requests", "storage")
    if bound and _number(size.value) < _number(size.old):
        size.forbidden("field can not be less than status.capacity")


def _number(amount: str | None) -> Fraction:
    return quantity.number(amount or "0")


def volume_source(field: Field) -> None:
    """A volume is of one type."""
    given = [key for key in sorted(field.value) if key not in _NO_SOURCE]
    if not given:
        field.required("must specify a volume type")
    for more in given[1:]:
        field.at(more).forbidden(_ONE_TYPE)
    if "local" in given and not field.get("nodeAffinity"):
        field.at("nodeAffinity").required("Local volume requires node affinity")
    path = field.at("hostPath").get("path")
    if field.get("persistentVolumeReclaimPolicy") == "Recycle" and path == "/":
        told = "may not be 'recycle' for a hostPath mount of '/'"
        field.at("persistentVolumeReclaimPolicy").forbidden(told)


def fixed_source(field: Field) -> None:
    """What a volume is made of stays."""
    kept = [{k: v for k, v in s.items() if k not in _NO_SOURCE} for s in (field.value, field.old)]
    if kept[0] != kept[1]:
        source = Field(None, None, field, "persistentvolumesource", field.causes)
        source.forbidden(f"{source.path} is immutable after creation")


def capacity(field: Field) -> None:
    """How much a volume holds."""
    if not field.value:
        field.required()
    if list(field.value or ()) != ["storage"]:
        return field.unsupported(("storage",), field.value and dict(sorted(field.value.items())))
    if quantity.number(field.value["storage"]) <= 0:
        field.entry("storage").invalid("must be greater than zero")
    return None


def node_constraints(field: Field) -> None:
    """Where a volume is."""
    if not field.value:
        field.required("must specify required node constraints")


def parameters(field: Field) -> None:
    """The parameters of a storage class."""
    if "" in field.value:
        field.invalid("field can not be empty.", "")
