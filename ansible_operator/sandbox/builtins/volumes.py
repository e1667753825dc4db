"""The words of builtin.yaml that are about the volumes of pods."""

from __future__ import annotations

from ansible_operator.sandbox.builtins import persistence, quantity
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field


def downward(field: Field) -> None:
    """What a file says of the pod: a field or a resource."""
    if field.get("fieldRef") is None and field.get("resourceFieldRef") is None:
        volume = field.above.above
        volume.required("one of fieldRef and resourceFieldRef is required")


def one_volume(field: Field) -> None:
    """A volume is of one type."""
    types = [key for key in sorted(field.value) if key not in ("name", "emptyDir")]
    given = ["emptyDir", *types] if "emptyDir" in field.value else types
    for more in given[1:]:
        field.at(more).forbidden("may not specify more than 1 volume type")


def size_limit(field: Field) -> None:
    """The size of a directory is not negative."""
    if quantity.number(field.value) < 0:
        field.forbidden("SizeLimit field must be a valid resource quantity")


def ephemeral_claim(field: Field) -> None:
    """The claim that is made for a pod is one that could be made."""
    spec = field.at("volumeClaimTemplate", "spec")
    if spec.value is not None:
        persistence.access(spec.at("accessModes"))
        persistence.storage_request(spec)


def token_life(field: Field) -> None:
    """How long a token is good."""
    if field.value < 600:
        field.invalid("may not specify a duration less than 10 minutes")


def token_path(field: Field) -> None:
    """Where a token is written; the server forgets what in the volume it is about."""
    at = Field(field.value, None, field.above.above.above.above, "path", field.causes)
    if not at.value:
        at.required()
    else:
        words.no_backsteps(at)
