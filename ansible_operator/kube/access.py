"""Whether a kind can be listened to, and if not, what is missing and how to grant it."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible_operator import errors, objects, watches
from ansible_operator.kube import asking, discovery

_LISTEN = ("get", "list", "watch")


class Reason(enum.Enum):
    """Why a kind cannot be listened to."""

    MISSING = "not served"
    FORBIDDEN = "not permitted"
    UNREACHABLE = "API server unreachable"
    ERROR = "API server refused"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a kind cannot be listened to, in words that say what to do."""

    reason: Reason
    message: str

    def __str__(self) -> str:
        return self.message


def check(client: asking.Asks, resource: discovery.Resource, namespace: str) -> Problem | None:
    """Try to list one object and ask whether watching is allowed; None if both work.

    ``namespace`` empty means cluster-wide.
    """
    path = discovery.path(resource, namespace)
    try:
        client.request("GET", path, query={"limit": "1"})
    except errors.ForbiddenError as exc:
        return forbidden(resource, namespace, str(exc))
    except errors.NotFoundError:
        return missing(client.server, resource.gvk, ())
    except errors.KubeError as exc:
        return problem(exc)
    if allowed(client, resource, namespace, "watch"):
        return None
    return forbidden(resource, namespace, f"watching {resource} is not allowed")


def lacking(
    client: asking.Asks, resource: discovery.Resource, namespace: str, watch: watches.Watch
) -> str:
    """What the operator may not do to the objects of a kind that it can listen to.

    Empty if nothing is lacking, else a message with the rule to add.
    """
    wanted = writes(resource, watch)
    lack = {
        subresource: [
            verb for verb in verbs if not allowed(client, resource, namespace, verb, subresource)
        ]
        for subresource, verbs in wanted.items()
    }
    lack = {subresource: verbs for subresource, verbs in lack.items() if verbs}
    if not lack:
        return ""
    rules = " and ".join(rule(resource, verbs, sub) for sub, verbs in lack.items())
    return f"reconciling {resource} will fail. {grant(namespace)}: {rules}"


def writes(resource: discovery.Resource, watch: watches.Watch) -> dict[str, list[str]]:
    """The verbs that a reconcile needs besides listing and watching, by subresource."""
    needed = {"": ["get"]}
    if watch.finalizer:
        needed[""].append("patch")
    if watch.manage_status and resource.has_status:
        needed["status"] = ["patch"]
    return needed


def allowed(
    client: asking.Asks,
    resource: discovery.Resource,
    namespace: str,
    verb: str,
    subresource: str = "",
) -> bool:
    """Ask the server whether we may; True where it cannot say, the request itself will tell."""
    attributes = {
        "group": resource.gvk.group,
        "version": resource.gvk.version,
        "resource": resource.plural,
        "subresource": subresource,
        "verb": verb,
        "namespace": namespace,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    try:
        answer = client.request(
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            body=review,
        )
    except errors.KubeError:
        return True
    return bool(objects.status(answer).get("allowed", True))


def problem(exc: errors.KubeError) -> Problem:
    """The problem that an error of any probing request shows."""
    if isinstance(exc, errors.UnreachableError):
        return Problem(Reason.UNREACHABLE, str(exc))
    if isinstance(exc, errors.UnauthorizedError | errors.ForbiddenError):
        return Problem(Reason.FORBIDDEN, str(exc))
    return Problem(Reason.ERROR, str(exc))


def missing(server: str, gvk: objects.GVK, served: Sequence[str]) -> Problem:
    """The kind is not served; ``served`` are the versions of its group that are."""
    message = f"{server} does not serve kind {gvk.kind} in {gvk.api_version}"
    if served and gvk.version not in served:
        others = ", ".join(served)
        return Problem(
            Reason.MISSING,
            f"{message}, but the group {gvk.group} in version {others}: correct the version in"
            " watches.yaml, or serve it in the CustomResourceDefinition",
        )
    return Problem(
        Reason.MISSING,
        f"{message}: install its CustomResourceDefinition; the operator notices it by itself",
    )


def forbidden(resource: discovery.Resource, namespace: str, words: str) -> Problem:
    """Listening is not permitted; ``words`` are the server's."""
    where = f"in namespace {namespace}" if namespace else "in the whole cluster"
    narrow = (
        "; or set WATCH_NAMESPACE if only some namespaces are to be watched"
        if resource.namespaced and not namespace
        else ""
    )
    return Problem(
        Reason.FORBIDDEN,
        f"cannot listen to {resource} {where}: {words}."
        f" {grant(namespace)}: {rule(resource, _LISTEN)}{narrow}",
    )


def grant(namespace: str) -> str:
    """Where a rule belongs."""
    if namespace:
        return f"Add this rule to a Role in namespace {namespace} that is bound to the operator"
    return "Add this rule to a ClusterRole that is bound to the operator by a ClusterRoleBinding"


def rule(resource: discovery.Resource, verbs: Sequence[str], subresource: str = "") -> str:
    """An RBAC rule on one line, valid as YAML and as JSON."""
    name = f"{resource.plural}/{subresource}" if subresource else resource.plural
    parts: Mapping[str, list[str]] = {
        "apiGroups": [resource.gvk.group],
        "resources": [name],
        "verbs": list(verbs),
    }
    return json.dumps(parts)
