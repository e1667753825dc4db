"""One stream for everything that is logged, ours and that of libraries; every line parses.

Use ``structlog.get_logger("reconciler")`` and ``log.info("constant message", key=value)``. A JSON
line has ``level``, ``ts``, ``logger``, ``msg``, the given keys, and for exceptions ``error`` and
``stacktrace``, as the incumbent's. ``log.debug`` is what Go operators call V(1); ``v=2`` (or more)
among the keys of a debug message makes it V(2) and is not printed itself.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from types import TracebackType
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, WrappedLogger

from ansible_operator import logvalues, settings

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "panic": logging.CRITICAL,
}
_NAMES = {"warning": "warn", "critical": "panic", "exception": "error"}
_FOREIGN = ("kopf", "urllib3", "asyncio", "aiohttp", "ansible-runner")


def configure(config: settings.LogSettings, stream: TextIO = sys.stderr) -> None:
    """Send everything to ``stream``: our loggers, those of libraries, warnings, uncaught errors.

    May be called again; the last call holds. Colours are used on a terminal only.
    """
    own = _own_processors(config)
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.ExtraAdder(allow=("k8s_ref",)), _object, *own],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _order,
            _renderer(config, stream),
        ],
    )
    handler = _Handler(stream)
    handler.setFormatter(formatter)
    _configure_stdlib(handler, _LEVELS[config.level])
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            _Verbosity(config.verbosity),
            structlog.contextvars.merge_contextvars,
            *own,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable
    threading.excepthook = _uncaught_in_thread


def _own_processors(config: settings.LogSettings) -> list[structlog.typing.Processor]:
    return [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        _Failure(_LEVELS[config.stacktrace_level]),
        _Clock(config.time_encoding),
        structlog.processors.EventRenamer("msg"),
    ]


def _configure_stdlib(handler: logging.Handler, level: int) -> None:
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
    for name in _FOREIGN:
        logging.getLogger(name).setLevel(level if level < logging.INFO else logging.WARNING)
    # At DEBUG the client prints the bodies of responses, Secrets among them.
    logging.getLogger("kubernetes").setLevel(max(level, logging.INFO))


class _Handler(logging.StreamHandler[TextIO]):
    """A stream handler that reports a record it cannot format as a line like any other."""

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, OSError):  # nobody listens any more
            return
        line = {
            "level": "error",
            "ts": logvalues.timestamp(time.time_ns(), "rfc3339"),
            "logger": record.name,
            "msg": "a log record could not be formatted",
            "record": repr(record.msg),
            "error": logvalues.failure(error),
        }
        self.stream.write(logvalues.dumps(line) + self.terminator)
        self.flush()


class _Verbosity:
    """Drop messages whose key ``v`` is above what was asked for."""

    def __init__(self, verbosity: int) -> None:
        self._verbosity = verbosity

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        if event.pop("v", 0) > self._verbosity:
            raise structlog.DropEvent
        return event


class _Clock:
    """Add ``ts`` in the encoding that was asked for."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        event["ts"] = logvalues.timestamp(time.time_ns(), self._encoding)
        return event


class _Failure:
    """Turn ``exc_info`` into ``error`` and, from the given level on, ``stacktrace``."""

    def __init__(self, level: int) -> None:
        self._level = level

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
        error = event.pop("exc_info", None)
        if error is True:
            error = sys.exc_info()
        if isinstance(error, tuple):
            error = error[1]
        event.pop("stack_info", None)
        if isinstance(error, BaseException):
            event.setdefault("error", logvalues.failure(error))
            if _LEVELS.get(event["level"], logging.ERROR) >= self._level:
                event["stacktrace"] = "".join(traceback.format_exception(error)).rstrip()
        return event


def _object(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Kopf's note of the object that it speaks about, as our own keys."""
    found = event.pop("k8s_ref", None)
    if isinstance(found, dict):
        event.update({key: found[key] for key in ("kind", "namespace", "name") if found.get(key)})
    return event


def _order(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    event["level"] = _NAMES.get(event["level"], event["level"])
    first = {key: event.pop(key) for key in ("level", "ts", "logger", "msg")}
    stacktrace = {"stacktrace": event.pop("stacktrace")} if "stacktrace" in event else {}
    return {**first, **event, **stacktrace}


def _renderer(config: settings.LogSettings, stream: TextIO) -> structlog.typing.Processor:
    if config.encoder == "json":
        return lambda _logger, _method, event: logvalues.dumps(event)
    console = structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), event_key="msg", timestamp_key="ts", sort_keys=False
    )

    def render(logger: WrappedLogger, method: str, event: EventDict) -> str:
        if "stacktrace" in event:
            event["exception"] = event.pop("stacktrace")
        return str(console(logger, method, event))

    return render


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    structlog.get_logger("main").error("uncaught exception", exc_info=error)


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    structlog.get_logger("main").error(
        "uncaught exception in a thread",
        thread=args.thread.name if args.thread else "",
        exc_info=args.exc_value,
    )


def _unraisable(args: Any) -> None:
    structlog.get_logger("main").error(
        "exception where none can be raised", where=repr(args.object), exc_info=args.exc_value
    )
