"""The few requests that control planes and tests need, with only the standard library."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator.testing import errors

TIMEOUT = 10.0
"""Seconds that a request may take."""


def get(url: str, ca: Path | None, token: str = "") -> tuple[int, bytes]:
    """Status and body of a GET; status 0 when there is no answer (yet)."""
    try:
        return _send("GET", url, ca, token, None)
    except (OSError, http.client.HTTPException):
        return 0, b""


@dataclass(frozen=True, slots=True)
class Client:
    """Requests with one identity. ``ca`` is a PEM file, ``server`` a URL without a path."""

    server: str
    ca: Path
    token: str

    def send(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request with a JSON body and return the answer.

        Raises ControlPlaneError with the server's words unless the status is 2xx.
        """
        status, answer = self.ask(method, path, body)
        if not 200 <= status < 300:
            said = answer.get("message", answer)
            raise errors.ControlPlaneError(f"{method} {self.server}{path}: {status} {said}")
        return answer

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """Like ``send``, but every status is an answer."""
        data = None if body is None else json.dumps(body).encode()
        try:
            status, answer = _send(method, self.server + path, self.ca, self.token, data)
            found: dict[str, Any] = json.loads(answer)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise errors.ControlPlaneError(f"{method} {self.server}{path}: {error}") from error
        return status, found


def _send(
    method: str, url: str, ca: Path | None, token: str, body: bytes | None
) -> tuple[int, bytes]:
    parts = urllib.parse.urlsplit(url)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=str(ca))
        connection = http.client.HTTPSConnection(parts.netloc, timeout=TIMEOUT, context=context)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT)
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    try:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
