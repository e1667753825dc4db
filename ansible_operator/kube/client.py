"""JSON in, JSON out: one request to the API server, with its errors mapped once.

Connection pool, TLS and proxies are the official client's; its models are not used.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib import parse

import urllib3
from kubernetes import client
from kubernetes.client import exceptions, rest

from ansible_operator import __version__, errors, objects
from ansible_operator.kube import connection, streaming

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
TIMEOUT = (10.0, 60.0)

_POOL = 64
_BY_STATUS: Mapping[int, type[errors.KubeError]] = {
    400: errors.InvalidError,
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    422: errors.InvalidError,
    429: errors.ServerError,
}


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """A successful answer as it came. Names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """A thread-safe connection to one API server as one identity.

    Credentials are read again when the server no longer accepts them, so tokens, certificates
    and whole kubeconfig files may be replaced while the program runs. There is no client-side
    rate limit.
    """

    def __init__(self, source: connection.Source, environ: Mapping[str, str]) -> None:
        self._source = source
        self._environ = environ
        self._lock = threading.Lock()
        self._session = self._new_session()

    @classmethod
    def load(
        cls, environ: Mapping[str, str], service_account: Path = connection.SERVICE_ACCOUNT
    ) -> Client:
        """Connect as the environment says; raises ConfigError if it says nothing usable."""
        return cls(connection.locate(environ, service_account), environ)

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return str(self._session.configuration.host)

    def connection(self) -> connection.Connection:
        """The facts of this connection, with credentials read anew; raises ConfigError."""
        return connection.facts(connection.load(self._source, self._environ))

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: tuple[float, float] = TIMEOUT,
    ) -> objects.Obj:
        """Ask for ``path`` (which begins with a slash) and return the parsed answer.

        ``body`` is what ``json.dumps`` takes; ``accept`` names a form of JSON; ``timeout`` is
        (connect, read) in seconds. Raises the KubeError that fits the answer, UnreachableError if
        there was none, or UnauthorizedError if there were no credentials to ask with.
        """
        url = f"{path}?{parse.urlencode(query)}" if query else path
        answer = self._exchange(method, url, body, content_type, accept, timeout)
        return self._parse(answer, f"{method} {path}")

    def exchange(
        self, method: str, path: str, *, body: Any = None, content_type: str = JSON, accept: str
    ) -> RawAnswer:
        """Like :meth:`request`, but the answer stays as it is, in the form that ``accept`` names.

        Raises as :meth:`request` does for what is no success.
        """
        answer = self._exchange(method, path, body, content_type, accept, TIMEOUT)
        self._check(answer, f"{method} {path}")
        headers = {key.lower(): str(value) for key, value in answer.headers.items()}
        return RawAnswer(answer.status, headers, answer.data or b"")

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str = JSON,
        timeout: tuple[float, float] = TIMEOUT,
    ) -> streaming.Stream:
        """GET whose answer is read as it comes; nothing is tried again but for new credentials.

        ``timeout`` is (connect, read) in seconds, the second for each wait for the next piece.
        Raises as :meth:`request`; errors have ``retry_after`` where the server said so.
        """
        what = f"GET {path}"
        url = f"{path}?{parse.urlencode(query)}" if query else path
        session = self._session
        answer = self._open(session, url, accept, timeout, what)
        if answer.status == 401 and (fresh := self._renewed(session)) is not None:
            answer.close()
            answer = self._open(fresh, url, accept, timeout, what)
        stream = streaming.Stream(answer, lambda exc: unreachable(self.server, what, exc))
        if 200 <= answer.status <= 299:
            return stream
        with stream:
            content = _json(stream.read())
        after = _seconds(answer.headers.get("Retry-After", ""))
        where = f"{what} at {self.server}"
        raise failure(answer.status, content, where, self._source, retry_after=after)

    def close(self) -> None:
        """Close the idle connections."""
        self._session.close()  # type: ignore[no-untyped-call]

    def _exchange(
        self,
        method: str,
        url: str,
        body: Any,
        content_type: str,
        accept: str,
        timeout: tuple[float, float],
    ) -> rest.RESTResponse:
        session, what = self._session, f"{method} {url.partition('?')[0]}"
        answer = self._send(session, method, url, body, content_type, accept, timeout, what)
        if answer.status == 401 and (fresh := self._renewed(session)) is not None:
            answer = self._send(fresh, method, url, body, content_type, accept, timeout, what)
        return answer

    def _send(
        self,
        session: client.ApiClient,
        method: str,
        url: str,
        body: Any,
        content_type: str,
        accept: str,
        timeout: tuple[float, float],
        what: str,
    ) -> rest.RESTResponse:
        headers = self._headers(session, accept, what)
        if body is not None:
            headers["Content-Type"] = content_type
        server = session.configuration.host
        try:
            answer = session.call_api(method, server + url, headers, body, _request_timeout=timeout)
            answer.read()  # type: ignore[no-untyped-call]
        except (urllib3.exceptions.HTTPError, exceptions.ApiException, OSError) as exc:
            raise unreachable(server, what, exc) from exc
        return answer

    def _open(
        self,
        session: client.ApiClient,
        url: str,
        accept: str,
        timeout: tuple[float, float],
        what: str,
    ) -> urllib3.BaseHTTPResponse:
        headers = self._headers(session, accept, what)
        server = session.configuration.host
        try:
            return session.rest_client.pool_manager.request(
                "GET",
                server + url,
                headers=headers,
                timeout=urllib3.Timeout(connect=timeout[0], read=timeout[1]),
                retries=False,
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as exc:
            raise unreachable(server, what, exc) from exc

    def _headers(self, session: client.ApiClient, accept: str, what: str) -> dict[str, str]:
        headers = {"Accept": accept, "User-Agent": f"ansible-operator/{__version__}"}
        if value := self._authorization(session, what):
            headers["Authorization"] = value
        return headers

    def _authorization(self, session: client.ApiClient, what: str) -> str:
        try:
            return connection.authorization(session.configuration)
        except errors.ConfigError as exc:
            raise errors.UnauthorizedError(
                f"{exc} ({what} at {self.server} was not sent). Check the credentials in"
                f" {self._source}"
            ) from exc

    def _check(self, answer: rest.RESTResponse, what: str) -> None:
        if not 200 <= answer.status <= 299:
            content = _json(answer.data or b"")
            raise failure(answer.status, content, f"{what} at {self.server}", self._source)

    def _parse(self, answer: rest.RESTResponse, what: str) -> objects.Obj:
        self._check(answer, what)
        content = _json(answer.data or b"")
        if not isinstance(content, dict):
            raise errors.KubeError(
                f"{self.server} answered {what} with something that is not a JSON object;"
                " is it the URL of a Kubernetes API server?",
                status=answer.status,
            )
        return content

    def _renewed(self, refused: client.ApiClient) -> client.ApiClient | None:
        """A session with credentials read after ``refused``; None if they cannot be read."""
        with self._lock:
            if self._session is refused:
                try:
                    self._session = self._new_session()
                except errors.ConfigError:
                    return None
                # Only idle connections are closed; requests of other threads go on.
                refused.close()  # type: ignore[no-untyped-call]
            return self._session

    def _new_session(self) -> client.ApiClient:
        configuration = connection.load(self._source, self._environ)
        configuration.connection_pool_maxsize = _POOL
        configuration.keep_alive = True
        configuration.retries = _retries()
        try:
            session = client.ApiClient(configuration)
            streaming.interruptible(session.rest_client.pool_manager)
            return session
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as exc:
            raise errors.ConfigError(f"cannot use {self._source}: {exc}") from exc


def _retries() -> urllib3.Retry:
    """Once more where the connection broke, and as told where the server says Retry-After.

    PATCH is among the methods because every patch we send is guarded by a resourceVersion: one
    that arrived although its answer was lost is answered with a conflict the second time.
    """
    return urllib3.Retry(
        total=4,
        connect=1,
        read=1,
        status=3,
        other=0,
        allowed_methods=frozenset({"GET", "PUT", "PATCH", "DELETE"}),
        backoff_factor=0.1,
        raise_on_status=False,
        retry_after_max=5,
    )


def failure(
    status: int,
    content: Any,
    what: str,
    source: connection.Source | str = "",
    *,
    retry_after: float = 0.0,
) -> errors.KubeError:
    """The error for an answer that is not a success; ``content`` is its parsed body or None."""
    answer = content if isinstance(content, dict) else {}
    reason = str(answer.get("reason") or "")
    message = str(answer.get("message") or "the server gave no explanation")
    kind = _BY_STATUS.get(status, errors.ServerError if status >= 500 else errors.KubeError)
    hint = f". Check the credentials in {source}" if status == 401 and source else ""
    details = answer.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    fields = tuple(
        str(cause.get("field") or "") for cause in causes or () if isinstance(cause, dict)
    )
    text = f"{message} ({what}: {status} {reason}".rstrip() + f"){hint}"
    return kind(
        text,
        status=status,
        reason=reason,
        fields=tuple(f for f in fields if f),
        retry_after=retry_after,
    )


def unreachable(server: str, what: str, cause: Exception) -> errors.UnreachableError:
    """The error for a request that got no answer."""
    return errors.UnreachableError(f"no answer from {server}: {_words(cause)} ({what})")


def _json(data: bytes) -> Any:
    """Parsed, or None if it cannot be."""
    try:
        return json.loads(data)
    except ValueError:
        return None


def _seconds(text: str) -> float:
    """A Retry-After that is a number; API servers send no dates."""
    return float(text) if text.isascii() and text.isdecimal() else 0.0


def _words(exc: BaseException) -> str:
    """The innermost cause, without the addresses of objects that urllib3 puts in front of it."""
    inner = getattr(exc, "reason", None)
    if isinstance(inner, BaseException):
        return _words(inner)
    text = str(inner or exc).replace("\n", ": ")
    _, separator, rest_of_it = text.partition("): ")
    return rest_of_it if separator and text.startswith("HTTP") else text
