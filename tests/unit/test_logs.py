"""The log stream: shape, order, levels, foreign loggers; every line parses."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from ansible_operator import logs, settings


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Everything global that the module touches is put back."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    hooks = (sys.excepthook, sys.unraisablehook, threading.excepthook)
    names = ("kopf", "urllib3", "asyncio", "aiohttp", "ansible-runner", "kubernetes")
    levels = {name: logging.getLogger(name).level for name in names}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    sys.excepthook, sys.unraisablehook, threading.excepthook = hooks
    for name, old in levels.items():
        logging.getLogger(name).setLevel(old)
    logging.captureWarnings(False)
    structlog.reset_defaults()


class Stream(io.StringIO):
    """A stream of log lines."""

    def lines(self) -> list[dict[str, Any]]:
        """What was written, each line parsed."""
        return [json.loads(line) for line in self.getvalue().splitlines()]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def _configured(**config: Any) -> Stream:
    stream = Stream()
    logs.configure(settings.LogSettings(**config), stream)
    return stream


log = structlog.get_logger("reconciler")


def test_line() -> None:
    """level, ts, logger and msg come first, then the keys in their order."""
    stream = _configured()
    log.info("reconciled", namespace="ns", name="a", job="1")
    (line,) = stream.lines()
    assert list(line) == ["level", "ts", "logger", "msg", "namespace", "name", "job"]
    assert (line["level"], line["logger"], line["msg"]) == ("info", "reconciler", "reconciled")
    assert line["ts"].endswith("Z")


def test_level_names() -> None:
    """Levels have zap's names."""
    stream = _configured(level="debug", verbosity=1)
    log.debug("m")
    log.info("m")
    log.warning("m")
    log.error("m")
    log.critical("m")
    assert [line["level"] for line in stream.lines()] == ["debug", "info", "warn", "error", "panic"]


@pytest.mark.parametrize(
    ("level", "count"), [("debug", 5), ("info", 4), ("error", 2), ("panic", 1)]
)
def test_levels(level: str, count: int) -> None:
    """A level shows itself and what is above it."""
    stream = _configured(level=level, verbosity=1)
    for method in ("debug", "info", "warning", "error", "critical"):
        getattr(log, method)("m")
    assert len(stream.lines()) == count


@pytest.mark.parametrize(("verbosity", "messages"), [(1, ["one"]), (2, ["one", "two"])])
def test_verbosity(verbosity: int, messages: list[str]) -> None:
    """A debug message is V(1) unless it says v=n; v is not printed."""
    stream = _configured(level="debug", verbosity=verbosity)
    log.debug("one")
    log.debug("two", v=2)
    log.debug("three", v=3)
    assert [line["msg"] for line in stream.lines()] == messages
    assert not any("v" in line for line in stream.lines())


def test_bound_and_context_keys() -> None:
    """Keys of a bound logger and of the context are printed."""
    stream = _configured()
    with structlog.contextvars.bound_contextvars(job="1"):
        log.bind(kind="App").info("m")
    assert stream.lines()[0]["job"] == "1"
    assert stream.lines()[0]["kind"] == "App"


def test_exception() -> None:
    """An exception is its text in error and its traceback, last, in stacktrace."""
    stream = _configured()
    try:
        raise ValueError("bad\nthing")
    except ValueError:
        log.exception("failed", name="a")
    (line,) = stream.lines()
    assert list(line) == ["level", "ts", "logger", "msg", "name", "error", "stacktrace"]
    assert line["level"] == "error"
    assert line["error"] == "bad\nthing"
    assert line["stacktrace"].startswith("Traceback")
    assert "ValueError: bad" in line["stacktrace"]


@pytest.mark.parametrize(
    ("stacktrace_level", "traced"),
    [
        ("info", ["info", "warn", "error"]),
        ("warning", ["warn", "error"]),
        ("error", ["error"]),
        ("panic", []),
    ],
)
def test_stacktrace_level(stacktrace_level: str, traced: list[str]) -> None:
    """Below the level an exception is told without its traceback."""
    stream = _configured(stacktrace_level=stacktrace_level)
    for method in ("info", "warning", "error"):
        getattr(log, method)("m", exc_info=ValueError("bad"))
    assert [line["level"] for line in stream.lines() if "stacktrace" in line] == traced
    assert [line["error"] for line in stream.lines()] == ["bad"] * 3


def test_an_error_key_wins_over_the_exception() -> None:
    """What the caller says about the error is kept."""
    stream = _configured()
    log.error("m", error="mine", exc_info=ValueError("bad"))
    assert stream.lines()[0]["error"] == "mine"


def test_exc_info_without_an_exception() -> None:
    """Asking for an exception where there is none adds nothing."""
    stream = _configured()
    log.info("m", exc_info=True)
    log.info("m", exc_info=False)
    assert [list(line) for line in stream.lines()] == [["level", "ts", "logger", "msg"]] * 2


@pytest.mark.parametrize("encoding", ["epoch", "millis", "nanos"])
def test_time_encoding(encoding: str) -> None:
    """Numbers stay numbers."""
    stream = _configured(time_encoding=encoding)
    log.info("m")
    assert isinstance(stream.lines()[0]["ts"], int | float)


def test_values_that_json_cannot_hold() -> None:
    """They become text; reserved names cannot break the shape."""
    stream = _configured()
    log.info("m", a={1: {2}}, b=float("nan"), c=object, level="x", ts="y", logger="z")
    (line,) = stream.lines()
    assert line["a"] == {"1": "{2}"}
    assert line["b"] == "nan"
    assert (line["level"], line["logger"]) == ("info", "reconciler")


def test_percent_signs_are_text() -> None:
    """A message or value with a percent sign is printed as it is."""
    stream = _configured()
    log.info("100 %", text="%s")
    assert stream.lines()[0]["msg"] == "100 %"


@pytest.mark.parametrize("name", ["kopf.reactor", "urllib3.connectionpool", "asyncio", "aiohttp"])
def test_libraries_speak_from_warnings_on(name: str) -> None:
    """Libraries are in the same stream and format, from warnings on unless at debug."""
    stream = _configured()
    logging.getLogger(name).info("chatter")
    logging.getLogger(name).warning("careful: %s", "x")
    assert [(line["logger"], line["msg"]) for line in stream.lines()] == [(name, "careful: x")]
    stream = _configured(level="debug", verbosity=1)
    logging.getLogger(name).debug("chatter")
    assert [line["level"] for line in stream.lines()] == ["debug"]


def test_the_client_never_prints_bodies() -> None:
    """The Kubernetes client's debug messages hold response bodies; they are never shown."""
    stream = _configured(level="debug", verbosity=9)
    logging.getLogger("kubernetes.client.rest").debug("response body: secret")
    logging.getLogger("kubernetes.client.rest").warning("odd")
    assert [line["msg"] for line in stream.lines()] == ["odd"]


def test_kopf_objects() -> None:
    """Kopf's note of the object becomes our keys; other extras are not printed."""
    stream = _configured()
    reference = {"kind": "App", "namespace": "ns", "name": "a", "uid": "u", "apiVersion": "v1"}
    logging.getLogger("kopf.objects").warning("odd", extra={"k8s_ref": reference, "settings": 1})
    logging.getLogger("kopf.objects").warning("odd", extra={"k8s_ref": None})
    first, second = stream.lines()
    assert list(first) == ["level", "ts", "logger", "msg", "kind", "namespace", "name"]
    assert list(second) == ["level", "ts", "logger", "msg"]


def test_exceptions_of_libraries() -> None:
    """An exception that a library logs has the same keys; stack_info does not break the line."""
    stream = _configured()
    try:
        raise OSError("gone")
    except OSError:
        logging.getLogger("kopf").exception("lost", stack_info=True)
    (line,) = stream.lines()
    assert line["error"] == "gone"
    assert "OSError: gone" in line["stacktrace"]


def test_a_record_that_cannot_be_formatted() -> None:
    """A library's mistake in its own message is a line, not text between the lines."""
    stream = _configured()
    logging.getLogger("kopf").warning("%d items", "x")
    log.info("after")
    first, second = stream.lines()
    assert first["msg"] == "a log record could not be formatted"
    assert (first["logger"], first["record"]) == ("kopf", "'%d items'")
    assert second["msg"] == "after"


def test_a_closed_pipe_is_borne() -> None:
    """Nobody listening is no reason to fail."""

    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    logs.configure(settings.LogSettings(), Closed())
    log.info("m")


def test_warnings() -> None:
    """Python's warnings are lines."""
    stream = _configured()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old", stacklevel=1)
        logging.captureWarnings(False)
    (line,) = stream.lines()
    assert (line["level"], line["logger"]) == ("warn", "py.warnings")
    assert "old" in line["msg"]


def test_uncaught_exception() -> None:
    """An exception that ends the program is a line; Ctrl-C is left to Python."""
    stream = _configured()
    error = ValueError("bad")
    sys.excepthook(ValueError, error, None)
    (line,) = stream.lines()
    assert (line["logger"], line["msg"], line["error"]) == ("main", "uncaught exception", "bad")


def test_keyboard_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C is left to Python and is no line of the log."""
    stream = _configured()
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert stream.lines() == []
    assert "KeyboardInterrupt" in capsys.readouterr().err


def test_uncaught_exception_in_a_thread() -> None:
    """An exception that ends a thread is a line with the thread's name."""
    stream = _configured()

    def fail() -> None:
        raise ValueError("bad")

    thread = threading.Thread(target=fail, name="worker-1")
    thread.start()
    thread.join()
    (line,) = stream.lines()
    assert (line["msg"], line["thread"]) == ("uncaught exception in a thread", "worker-1")
    assert "in fail" in line["stacktrace"]


def test_exception_in_a_finalizer() -> None:
    """An exception that Python can only ignore is a line."""
    stream = _configured()

    class Bad:
        def __del__(self) -> None:
            raise ValueError("bad")

    Bad()
    (line,) = stream.lines()
    assert (line["msg"], line["error"]) == ("exception where none can be raised", "bad")
    assert "__del__" in line["where"]


def test_asyncio() -> None:
    """A task whose exception nobody looks at is reported by asyncio as a line."""
    stream = _configured()

    async def main() -> None:
        asyncio.get_running_loop().call_exception_handler(
            {"message": "lost", "exception": ValueError("bad")}
        )

    asyncio.run(main())
    (line,) = stream.lines()
    assert (line["logger"], line["level"], line["error"]) == ("asyncio", "error", "bad")


def test_many_threads() -> None:
    """Lines of threads do not mix."""
    stream = _configured()

    def work(number: int) -> None:
        for _ in range(50):
            log.info("m", number=number, text="x" * 500)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stream.lines()) == 400


def test_configured_again() -> None:
    """The last configuration holds, alone."""
    first = _configured()
    second = _configured(level="error")
    log.info("m")
    log.error("m")
    assert (first.lines(), len(second.lines())) == ([], 1)


def test_console() -> None:
    """The console format is for people: one line, keys as key=value, no colours in a file."""
    stream = io.StringIO()
    logs.configure(settings.LogSettings(encoder="console"), stream)
    log.info("reconciled", name="a")
    text = stream.getvalue()
    assert "reconciled" in text
    assert "name=a" in text
    assert "\x1b" not in text
    assert text.count("\n") == 1


def test_console_on_a_terminal() -> None:
    """On a terminal there are colours."""
    stream = Terminal()
    logs.configure(settings.LogSettings(encoder="console"), stream)
    log.info("reconciled")
    assert "\x1b[" in stream.getvalue()


def test_console_traceback() -> None:
    """A traceback is printed below its line."""
    stream = io.StringIO()
    logs.configure(settings.LogSettings(encoder="console"), stream)
    log.error("failed", exc_info=ValueError("bad"))
    assert stream.getvalue().splitlines()[-1] == "ValueError: bad"
