"""Objects that could not be given their owner: said in the log, and to the run.

Nothing of this fails a request: the role gets what it asked for, and somebody is told why the
object will neither be deleted with its owner nor run its role.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from ansible_operator import children, errors
from ansible_operator.kube.proxy import interceptor

log = structlog.get_logger("proxy")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why an object does not name its owner. ``reason`` is the same for the same kind of cause."""

    reason: str
    text: str
    remedy: str


def no_discovery(request: interceptor.Request, exc: errors.KubeError) -> Trouble:
    """It is not known what the URL is about."""
    group = f"{request.group}/{request.version}" if request.group else request.version
    return Trouble(
        "NoDiscovery",
        f"the API server did not tell what it serves in {group}: {exc}",
        f"Objects of {group} are created without owner until it does",
    )


def unreadable_answer(request: interceptor.Request) -> Trouble:
    """What was created is not known."""
    return Trouble(
        "UnreadableAnswer",
        f"the answer about {_resource(request)} is in a form that cannot be read",
        "Ask for JSON or protobuf",
    )


def no_read(request: interceptor.Request, exc: errors.KubeError) -> Trouble:
    """Whether the object was there before, and whose it was, is not known."""
    return Trouble("NoRead", f"it cannot be read: {exc}", _rights(request, exc, "get"))


def no_adoption(request: interceptor.Request, exc: errors.KubeError) -> Trouble:
    """The object is there, and cannot be changed."""
    remedy = _rights(request, exc, "get and patch")
    if isinstance(exc, errors.ForbiddenError):
        remedy += " (and delete, where OwnerReferencesPermissionEnforcement is on)"
    return Trouble("NoAdoption", f"it was created, but not adopted: {exc}", remedy)


class Troubles:
    """Logs each reason once for each kind of object, and warns about each object."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str, str]] = set()

    def warn(
        self,
        owner: children.Owner,
        request: interceptor.Request,
        trouble: Trouble,
    ) -> str:
        """Log it; the text of a warning for the run."""
        key = (request.group, request.resource, trouble.reason)
        say = log.debug if key in self._told else log.warning
        self._told.add(key)
        say(
            "created object does not name its owner",
            owner=str(owner.key),
            resource=_resource(request),
            namespace=request.namespace,
            reason=trouble.reason,
            error=trouble.text,
            hint=trouble.remedy,
        )
        return (
            f"ansible-operator: {_resource(request)} without owner {owner.key}:"
            f" {trouble.text}. {trouble.remedy}"
        )


def _rights(request: interceptor.Request, exc: errors.KubeError, verbs: str) -> str:
    if not isinstance(exc, errors.ForbiddenError):
        return "The next run of the role finds the object without owner"
    return f"Permit the operator to {verbs} {_resource(request)}"


def _resource(request: interceptor.Request) -> str:
    return f"{request.resource}.{request.group}" if request.group else request.resource
