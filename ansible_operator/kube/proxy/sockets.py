"""Listening on loopback, and telling TLS from plain HTTP before anything is read."""

from __future__ import annotations

import asyncio
import errno
import socket

from ansible_operator import errors

V4, V6 = "127.0.0.1", "::1"
SILENCE = 30.0
"""Seconds until a client must have sent its first byte."""
_CLIENT_HELLO = b"\x16"
_ATTEMPTS = 20
_BACKLOG = 512


def listen(port: int) -> list[socket.socket]:
    """Sockets for one port on all loopback addresses that this machine has; port 0: any free one.

    Raises SettingsError, naming the flag, if that cannot be.
    """
    for attempt in range(_ATTEMPTS):
        first = _bound(socket.AF_INET, V4, port)
        chosen = int(first.getsockname()[1])
        try:
            second = _bound(socket.AF_INET6, V6, chosen) if socket.has_ipv6 else None
        except _Absent:
            second = None
        except errors.SettingsError:
            first.close()
            if port or attempt == _ATTEMPTS - 1:
                raise
            continue  # somebody has this port on the other address only
        return [found for found in (first, second) if found is not None]
    raise AssertionError("unreachable")


async def is_encrypted(client: socket.socket) -> bool:
    """Whether a client begins with a TLS handshake; nothing is taken from the socket.

    Raises TimeoutError if it says nothing, ConnectionError if it has gone.
    """
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(client, _set, readable)
    try:
        async with asyncio.timeout(SILENCE):
            await readable
    finally:
        loop.remove_reader(client)
    first = client.recv(1, socket.MSG_PEEK)
    if not first:
        raise ConnectionResetError("closed before anything was sent")
    return first == _CLIENT_HELLO


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class _Absent(Exception):
    """This machine has no such address."""


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    try:
        made = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as problem:
        if family == socket.AF_INET6 and problem.errno in (
            errno.EADDRNOTAVAIL,
            errno.EAFNOSUPPORT,
        ):
            raise _Absent from problem
        raise errors.SettingsError(
            f"--proxy-port={port}: cannot listen on {host}, port {port}: {problem.strerror}."
            " Choose another port, or 0 for any free one"
        ) from problem
    made.setblocking(False)
    return made
