"""Kubernetes Events about watched objects, as far as the operator may write them."""

from __future__ import annotations

import datetime
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import structlog

from ansible_operator import errors, objects
from ansible_operator.kube import access, asking, discovery

COMPONENT = "ansible-operator"
MAX_MESSAGE = 1024
"""Characters of a message, as the API server has it; more is cut."""

RESOURCE = discovery.Resource(objects.GVK("", "v1", "Event"), "events", True, False)

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")

log = structlog.get_logger("recorder")


class Posts(Protocol):
    """What this needs of :class:`client.Client`."""

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        timeout: tuple[float, float] = asking.TIMEOUT,
    ) -> objects.Obj:
        """As :meth:`client.Client.request`."""
        ...


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class Recorder:
    """Writes Events of core/v1. Best effort: what goes wrong is logged and never raised.

    A missing permission is said once, with the rule to add. Thread-safe.
    """

    def __init__(
        self, client: Posts, now: Callable[[], datetime.datetime] = _now, host: str = ""
    ) -> None:
        self._client = client
        self._now = now
        self._host = host
        self._said = False

    def record(self, obj: objects.Obj, type_: str, reason: str, message: str) -> None:
        """Say what has happened to an object; ``type_`` is Normal or Warning."""
        body = _event(obj, type_, reason, message, self._now(), self._host)
        path = discovery.path(RESOURCE, body["metadata"]["namespace"])
        try:
            self._client.request("POST", path, body=body, timeout=asking.TIMEOUT)
        except errors.ForbiddenError as error:
            self._say_forbidden(error, body["metadata"]["namespace"])
        except errors.KubeError as error:
            log.debug("Event not written", reason=reason, error=str(error))

    def _say_forbidden(self, error: errors.ForbiddenError, namespace: str) -> None:
        # A namespace that is going takes nothing new, whatever is permitted.
        if self._said or "metadata.namespace" in error.fields:
            return
        self._said = True
        rule = access.rule(RESOURCE, ["create"])
        log.warning(
            "Events about objects are not written",
            error=str(error),
            hint=f"{access.grant(namespace)}: {rule}",
        )


def _event(
    obj: objects.Obj,
    type_: str,
    reason: str,
    message: str,
    now: datetime.datetime,
    host: str,
) -> objects.Obj:
    """The Event; of a cluster-scoped object it is in the namespace ``default``, as everywhere."""
    time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": _name(objects.name(obj)),
            "namespace": objects.namespace(obj) or "default",
        },
        "involvedObject": _involved(obj),
        "type": type_,
        "reason": reason,
        "message": message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 3] + "...",
        "count": 1,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "source": {"component": COMPONENT, **({"host": host} if host else {})},
        "reportingComponent": COMPONENT,
        "reportingInstance": host,
    }


def _name(name: str) -> str:
    """As client-go has it: the object's name and something unique, if that makes a name."""
    unique = secrets.token_hex(8)
    begin = name[: 253 - len(unique) - 1].rstrip("-.")
    return f"{begin}.{unique}" if _NAME.fullmatch(begin) else unique


def _involved(obj: Mapping[str, Any]) -> objects.Obj:
    reference = {
        "apiVersion": str(obj.get("apiVersion") or ""),
        "kind": str(obj.get("kind") or ""),
        "name": objects.name(obj),
        "namespace": objects.namespace(obj),
        "uid": objects.uid(obj),
        "resourceVersion": objects.resource_version(obj),
    }
    return {key: value for key, value in reference.items() if value}
