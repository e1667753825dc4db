"""Answers that are read as they come, in threads that another thread can interrupt."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import urllib3
from urllib3 import connection, connectionpool

from ansible_operator import errors

PIECE = 1 << 16
_here = threading.local()

Unreachable: TypeAlias = Callable[[Exception], errors.UnreachableError]


class Interrupt:
    """Ends what a thread asks of an API server, for good, from any other thread.

    It counts for requests inside of :meth:`bound`: the one under way fails with UnreachableError,
    and so do all later ones. Only a connection that is just being made is waited for.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flag = threading.Event()
        self._socket: Any = None

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """The requests of the calling thread inside of the block can be interrupted."""
        _here.interrupt = self
        try:
            yield
        finally:
            _here.interrupt = None
            self.use(None)

    def set(self) -> None:
        """Interrupt."""
        with self._lock:
            self._flag.set()
            _shut(self._socket)

    def is_set(self) -> bool:
        """Whether it was interrupted."""
        return self._flag.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep, but not on; whether it was interrupted."""
        return self._flag.wait(seconds)

    def use(self, sock: Any) -> None:
        """What the thread waits for now, None for nothing."""
        with self._lock:
            self._socket = sock
            if self._flag.is_set():
                _shut(sock)


class Stream:
    """The body of one successful answer; it must be closed. Reads raise UnreachableError."""

    def __init__(self, response: urllib3.BaseHTTPResponse, unreachable: Unreachable) -> None:
        self._response = response
        self._unreachable = unreachable

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the connection, unless everything was read and it can be used again."""
        if (interrupt := _current()) is not None:
            interrupt.use(None)
        self._response.close()

    def read(self) -> bytes:
        """All of it."""
        with self._told():
            return self._response.read()

    def lines(self) -> Iterator[bytes]:
        """Line by line, as soon as each is there; empty ones are left out."""
        rest = b""
        for piece in self._pieces():
            *lines, rest = (rest + piece).split(b"\n")
            yield from filter(None, map(bytes.strip, lines))
        if rest.strip():
            yield rest.strip()

    def _pieces(self) -> Iterator[bytes]:
        with self._told():
            if getattr(self._response, "chunked", False):
                yield from self._response.stream(PIECE)
                return
            while piece := self._response.read1(PIECE):
                yield piece

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        # The last two: what http.client raises if its file was closed in another place.
        try:
            yield
        except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as exc:
            raise self._unreachable(exc) from exc


def interruptible(manager: urllib3.PoolManager) -> None:
    """Let the connections of a manager be interrupted; those to SOCKS proxies cannot be."""
    if manager.pool_classes_by_scheme["http"] is connectionpool.HTTPConnectionPool:
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}


class _Connection(connection.HTTPConnection):
    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override] # as urllib3 has it
        _note(self.sock)
        return super().getresponse()


class _TlsConnection(connection.HTTPSConnection):
    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override] # as urllib3 has it
        _note(self.sock)
        return super().getresponse()


class _Pool(connectionpool.HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(connectionpool.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


def _current() -> Interrupt | None:
    return getattr(_here, "interrupt", None)


def _note(sock: Any) -> None:
    if (interrupt := _current()) is not None:
        interrupt.use(sock)
        if interrupt.is_set():  # an answer that is already here could still be read
            raise ConnectionAbortedError("interrupted")


def _shut(sock: Any) -> None:
    """Wake who reads from a socket. The TLS layer is left alone: its owner may be inside of it."""
    plain = getattr(sock, "socket", sock)  # TLS inside of TLS, by way of a proxy
    if isinstance(plain, socket.socket):
        with contextlib.suppress(OSError):
            socket.socket.shutdown(plain, socket.SHUT_RDWR)
