"""A TCP relay in front of a server, whose connections can die in the ways that networks have."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading


class Relay:
    """Passes bytes on in a thread of its own, from a free port of the loopback interface.

    While it ``refuses``, new connections are closed at once. ``told`` counts the bytes that the
    server has sent.
    """

    def __init__(self, port: int) -> None:
        self.refuses = False
        self.told = 0
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._far: set[socket.socket] = set()
        self._silent: list[socket.socket] = []
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(10)
        assert not self._thread.is_alive(), "the relay did not stop"
        for sock in [self._listener, *self._pairs, *self._silent]:
            sock.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connections(self) -> int:
        """How many clients are connected and heard."""
        with self._lock:
            return len(self._pairs) // 2

    def silence(self) -> int:
        """From now on nothing passes on today's connections, which stay open; how many."""
        with self._lock:
            fell_silent = list(self._pairs)
            self._silent += fell_silent
            self._pairs.clear()
        return len(fell_silent) // 2

    def reset(self) -> None:
        """Break today's connections with a TCP reset."""
        with self._lock:
            for sock in self._pairs:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.close()
            self._pairs.clear()

    def _serve(self) -> None:
        while not self._end.is_set():
            with self._lock, selectors.DefaultSelector() as found:
                found.register(self._listener, selectors.EVENT_READ)
                for sock in self._pairs:
                    found.register(sock, selectors.EVENT_READ)
                ready = [key.fileobj for key, _ in found.select(0.01)]
                for end in ready:
                    if end is self._listener:
                        self._accept()
                    elif isinstance(end, socket.socket) and end in self._pairs:
                        self._pass_on(end)
            self._end.wait(0.002)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        if self.refuses:
            near.close()
            return
        try:
            far = socket.create_connection(self._target, 10)
        except OSError:
            near.close()
            return
        self._pairs[near], self._pairs[far] = far, near
        self._far.add(far)

    def _pass_on(self, sock: socket.socket) -> None:
        other = self._pairs[sock]
        with contextlib.suppress(OSError):
            if data := sock.recv(1 << 16):
                self.told += len(data) if sock in self._far else 0
                other.sendall(data)
                return
        for end in (sock, other):
            self._pairs.pop(end, None)
            self._far.discard(end)
            end.close()
