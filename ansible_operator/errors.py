"""Every error this program raises on purpose, as one tree.

::

    OperatorError
    ├── ConfigError                 the operator cannot start as it was told to; exit code 1
    │   ├── SettingsError           a flag or an environment variable
    │   └── WatchesError            watches.yaml, with file, line, entry and key
    ├── ReconcileError              one pass failed; retried with backoff
    │   ├── RunFailedError          Ansible ran (or could not start) and its verdict is failure
    │   └── TerminalError           no retry before the object changes
    └── KubeError                   the API server said no, or could not be reached
        ├── UnreachableError        no answer: connection, TLS or time-out
        ├── UnauthorizedError       401
        ├── ForbiddenError          403
        ├── NotFoundError           404
        ├── ConflictError           409, and a JSON patch whose test did not hold
        ├── InvalidError            422 (and 400)
        └── ServerError             429 and 5xx

The retry decision is made by type: :class:`TerminalError` is not retried, everything else is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class OperatorError(Exception):
    """Base of all errors raised on purpose; its text is for the person who runs the operator."""


class ConfigError(OperatorError):
    """The operator cannot start as it was told to."""


class SettingsError(ConfigError):
    """A flag or environment variable has a value that cannot be used."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a watches file something stands: line and entry count from 1, 0 means unknown."""

    file: str
    line: int = 0
    entry: int = 0
    key: str = ""

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}" if self.line else self.file
        if self.entry:
            text += f": entry {self.entry}"
        return f"{text}: {self.key}" if self.key else text


class WatchesError(ConfigError):
    """A watches file cannot be used.

    Its text reads ``watches.yaml:12: entry 2: role: <problem>. <way out>``; the texts of
    ``others``, which are further problems of the same file or warnings that may explain one,
    follow on lines of their own.
    """

    def __init__(
        self, place: Place, problem: str, hint: str = "", others: Sequence[WatchesError | str] = ()
    ) -> None:
        self.place = place
        self.problem = problem
        self.hint = hint
        self.others = tuple(others)
        text = f"{place}: {problem}"
        own = f"{text}. {hint}" if hint else text
        super().__init__("\n".join([own, *(str(other) for other in self.others)]))

    @classmethod
    def all(cls, problems: Sequence[WatchesError], warnings: Sequence[str] = ()) -> WatchesError:
        """One error for several; the first is the one whose place and problem it has."""
        first, *others = problems
        return cls(first.place, first.problem, first.hint, [*first.others, *others, *warnings])


class ReconcileError(OperatorError):
    """One reconcile pass failed; it is tried again after a backoff."""


class RunFailedError(ReconcileError):
    """Ansible ran, or could not be started, and the verdict is failure."""


class TerminalError(ReconcileError):
    """Trying again cannot help before the object changes."""


class KubeError(OperatorError):
    """The API server refused a request or could not be reached.

    ``status`` is the HTTP status (0 when there was no answer), ``reason`` the machine-readable
    reason of the server's Status object (``""`` when there was none), ``fields`` the paths of the
    fields that the server rejected, as it names them (``status.conditions[0].reason``).
    ``retry_after`` are the seconds after which the server wants to be asked again, 0 where it is
    not known.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        fields: tuple[str, ...] = (),
        retry_after: float = 0.0,
    ) -> None:
        self.status = status
        self.reason = reason
        self.fields = fields
        self.retry_after = retry_after
        super().__init__(message)


class UnreachableError(KubeError):
    """There was no answer: connection refused, TLS failure or time-out."""


class UnauthorizedError(KubeError):
    """The server does not know who we are (401)."""


class ForbiddenError(KubeError):
    """The server knows who we are and does not allow it (403)."""


class NotFoundError(KubeError):
    """The object, or its whole kind, is not there (404)."""


class ConflictError(KubeError):
    """Somebody else wrote first (409, or a JSON patch whose test did not hold)."""


class InvalidError(KubeError):
    """The server understood the request and rejected its content (422, 400)."""


class ServerError(KubeError):
    """The server is in trouble or asks to come later (429 and 5xx)."""
