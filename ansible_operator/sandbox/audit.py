"""The audit log: one line for each request that was answered, as a real server writes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from ansible_operator.sandbox.reading import bodies
from ansible_operator.sandbox.rights import access, attributes

Obj = dict[str, Any]
STARTED, COMPLETE = "ResponseStarted", "ResponseComplete"
"""The stages that are told: watches are when they begin, everything when it is answered."""

_CONFIDENTIAL = ("secrets", "tokenreviews")
"""Resources whose objects are not told."""


@dataclass(slots=True)
class Exchange:
    """One request from its arrival to its answer."""

    id: str
    at: attributes.Attributes
    request: web.BaseRequest
    begun: datetime
    user: access.User | None = None
    acting: access.User | None = None
    body: bytes = b""

    def line(self, code: int, stage: str) -> Obj:
        """The event in the format of audit.k8s.io/v1."""
        found: Obj = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Request",
            "auditID": self.id,
            "stage": stage,
            "requestURI": self.request.path_qs,
            "verb": self.at.verb,
            "user": self.user.info() if self.user else {},
            "userAgent": self.request.headers.get("User-Agent", ""),
            "responseStatus": {"metadata": {}, "code": code},
            "requestReceivedTimestamp": _time(self.begun),
            "stageTimestamp": _time(datetime.now(UTC)),
        }
        if not self.at.path:
            found["objectRef"] = self._reference()
        if self.acting is not None and self.acting is not self.user:
            found["impersonatedUser"] = self.acting.info()
        if self.at.plural not in _CONFIDENTIAL and (sent := _parsed(self.body)) is not None:
            found["requestObject"] = sent
        return found

    def _reference(self) -> Obj:
        at = self.at
        listed = {
            "resource": at.plural,
            "namespace": at.namespace,
            "name": at.name,
            "apiGroup": at.group,
            "apiVersion": at.version,
            "subresource": at.subresource,
        }
        return {key: value for key, value in listed.items() if value}


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _parsed(body: bytes) -> Any:
    """The object in a body, if it is JSON and no secret that was sent to the wrong place."""
    try:
        found = bodies.parse_json(body) if body else None
    except ValueError:
        return None
    return None if isinstance(found, dict) and found.get("kind") == "Secret" else found
