"""Errors of the API: what the server answers instead of an object, in the words of a real one.

ApiFailure is the one exception; ``status`` is the Status object that goes to the client. A Cause
is one field of an invalid object. The constructors are named after what they say, and paths of
fields are written as the server writes them: ``spec.containers[0].name``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Obj = dict[str, Any]


class Named(Protocol):
    """What an error has to know of a resource."""

    @property
    def group(self) -> str:
        """The API group, empty for the core."""

    @property
    def kind(self) -> str:
        """The kind: Deployment."""

    @property
    def plural(self) -> str:
        """The resource: deployments."""

    @property
    def qualified(self) -> str:
        """The resource with its group: deployments.apps."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with an object; ``message`` is without the field's name."""

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        """The field and what is wrong with it, as the message of an Invalid status lists it."""
        return f"{self.field}: {self.message}" if self.field else self.message


class ApiFailure(Exception):
    """The request cannot be served; the arguments are the fields of the Status object."""

    def __init__(self, code: int, reason: str, message: str, details: Obj | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> Obj:
        """The Status object."""
        found: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            found["reason"] = self.reason
        if self.details is not None:
            found["details"] = self.details
        return found | {"code": self.code}


def _details(resource: Named, name: str = "", **more: Any) -> Obj:
    """Details name the resource by its plural, except those of Invalid, which name the kind."""
    found: Obj = {"name": name} if name else {}
    if resource.group:
        found["group"] = resource.group
    return found | {"kind": resource.plural} | more


def not_found(resource: Named, name: str) -> ApiFailure:
    """404: there is no such object."""
    message = f'{resource.qualified} "{name}" not found'
    return ApiFailure(404, "NotFound", message, _details(resource, name))


def no_such_path() -> ApiFailure:
    """404: there is nothing at this path at all."""
    message = "the server could not find the requested resource"
    return ApiFailure(404, "NotFound", message, {})


def already_exists(resource: Named, name: str, *, going: bool = False) -> ApiFailure:
    """409: an object of this name is there, or is still there (``going``)."""
    message = f'{resource.qualified} "{name}" already exists'
    if going:
        message = f"object is being deleted: {message}"
    return ApiFailure(409, "AlreadyExists", message, _details(resource, name))


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def conflict(resource: Named, name: str, why: str = MODIFIED) -> ApiFailure:
    """409: the object is not in the state that the request expects."""
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return ApiFailure(409, "Conflict", message, _details(resource, name))


def apply_conflict(message: str, causes: Sequence[Cause]) -> ApiFailure:
    """409: server-side apply would take fields from other managers."""
    return ApiFailure(409, "Conflict", message, {"causes": _listed(causes)})


def invalid(resource: Named, name: str, causes: Sequence[Cause]) -> ApiFailure:
    """422: the object breaks rules; every cause is told."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    texts = list(dict.fromkeys(str(cause) for cause in causes))
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = _details(resource, name, kind=resource.kind, causes=_listed(dict.fromkeys(causes)))
    return ApiFailure(422, "Invalid", f'{kind} "{name}" is invalid: {told}', details)


def _listed(causes: Iterable[Cause]) -> list[Obj]:
    return [{"reason": c.reason, "message": c.message, "field": c.field} for c in causes]


def unversioned(resource: Named, name: str) -> ApiFailure:
    """422: an update that has to say which version it replaces; named by the resource."""
    cause = Cause("FieldValueInvalid", VERSION_REQUIRED, "metadata.resourceVersion")
    details = _details(resource, name, causes=_listed([cause]))
    return ApiFailure(422, "Invalid", f'{resource.qualified} "{name}" is invalid: {cause}', details)


VERSION_REQUIRED = "Invalid value: 0: must be specified for an update"


def bad_request(message: str) -> ApiFailure:
    """400: the request cannot be understood."""
    return ApiFailure(400, "BadRequest", message)


def check_name(given: Any, name: str) -> None:
    """Raises ApiFailure 400 where an object has another name than its path, or none."""
    if not given:
        told = f"the name of the object ({name} based on URL) was undeterminable: "
        raise bad_request(told + "name must be provided")
    if given != name:
        told = f"the name of the object ({given}) does not match the name on the URL ({name})"
        raise bad_request(told)


def wrong_namespace() -> ApiFailure:
    """400: the object says another namespace than the path."""
    told = "the namespace of the provided object does not match the namespace sent on the request"
    return bad_request(told)


def unauthorized() -> ApiFailure:
    """401: nobody known."""
    return ApiFailure(401, "Unauthorized", "Unauthorized")


def forbidden(resource: Named, name: str, why: str) -> ApiFailure:
    """403: not allowed; ``why`` follows the resource and the name."""
    message = (
        f'{resource.qualified} "{name}" is forbidden: {why}'
        if name
        else (f"{resource.qualified} is forbidden: {why}")
    )
    return ApiFailure(403, "Forbidden", message, _details(resource, name))


def method_not_allowed(custom: Named | None = None, verb: str = "") -> ApiFailure:
    """405: the path is there, the verb is not; of a ``custom`` resource it is told which one."""
    if custom is not None:
        message = f'{verb} is not supported on resources of kind "{custom.qualified}"'
        return ApiFailure(405, "MethodNotAllowed", message, _details(custom))
    message = "the server does not allow this method on the requested resource"
    return ApiFailure(405, "MethodNotAllowed", message, {})


def internal(why: str) -> ApiFailure:
    """500: the server itself is at a loss."""
    details = {"causes": [{"message": why}]}
    return ApiFailure(500, "InternalError", f"Internal error occurred: {why}", details)


def not_acceptable(wanted: Sequence[str]) -> ApiFailure:
    """406: no representation that the client accepts."""
    message = f"only the following media types are accepted: {', '.join(wanted)}"
    return ApiFailure(406, "NotAcceptable", message)


def unsupported_media_type(wanted: Sequence[str]) -> ApiFailure:
    """415: the body is in a form that is not read here; without a list it is told in short."""
    if not wanted:
        short = "415: Unsupported Media Type"
        return ApiFailure(415, "UnsupportedMediaType", short, {})
    message = "the body of the request was in an unknown format - accepted media types include: "
    return ApiFailure(415, "UnsupportedMediaType", message + ", ".join(wanted))


def too_large(limit: int) -> ApiFailure:
    """413: the body is longer than ``limit`` bytes."""
    message = f"Request entity too large: limit is {limit}"
    return ApiFailure(413, "RequestEntityTooLarge", message)


def expired(message: str) -> ApiFailure:
    """410: the version or the token is older than what is kept."""
    return ApiFailure(410, "Expired", message)


def not_implemented(what: str) -> ApiFailure:
    """501: a real server does it, the sandbox does not."""
    message = f"the sandbox does not serve {what}; docs/sandbox.md lists what it does"
    return ApiFailure(501, "NotImplemented", message)


def required(field: str, detail: str = "") -> Cause:
    """A field is missing."""
    return Cause("FieldValueRequired", _with("Required value", detail), field)


def invalid_value(field: str, value: Any, detail: str = "") -> Cause:
    """A value breaks a rule."""
    return Cause("FieldValueInvalid", _with(f"Invalid value: {shown(value)}", detail), field)


def type_invalid(field: str, value: Any, detail: str = "") -> Cause:
    """A value is of the wrong type."""
    return Cause("FieldValueTypeInvalid", _with(f"Invalid value: {shown(value)}", detail), field)


def not_supported(field: str, value: Any, allowed: Iterable[str]) -> Cause:
    """A value is not one of those allowed."""
    listed = ", ".join(json.dumps(item) for item in allowed)
    message = f"Unsupported value: {shown(value)}: supported values: {listed}"
    return Cause("FieldValueNotSupported", message, field)


def duplicate(field: str, value: Any) -> Cause:
    """A value stands twice where it may stand once."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", field)


def forbidden_field(field: str, detail: str) -> Cause:
    """A field must not be set, or not be changed."""
    return Cause("FieldValueForbidden", _with("Forbidden", detail), field)


def too_long(field: str, limit: int) -> Cause:
    """A text has more than ``limit`` bytes."""
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    """A list has more than ``limit`` entries."""
    return Cause("FieldValueTooMany", f"Too many: {actual}: must have at most {limit} items", field)


def shown(value: Any) -> str:
    """A value as the server prints it in messages: JSON; maps and lists in short JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _with(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text
