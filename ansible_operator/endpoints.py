"""The addresses that metrics are served at: read from flags, and listened to."""

from __future__ import annotations

import errno
import re
import socket
from dataclasses import dataclass

import structlog

from ansible_operator import errors

METRICS = ":8443"
"""Where the incumbent shows its metrics: on every address of the host."""

INTAKE_PORT = 5050
"""Where roles that do not say otherwise send their metrics to."""

LOOPBACK = "127.0.0.1"
"""Where the intake is: nobody outside of the pod can send metrics."""

_ADDRESS = re.compile(r"(?:\[(?P<v6>[^\[\]]*)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]{1,5})")

log = structlog.get_logger("metrics")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen. ``host`` is empty for every address, port 0 means any free one."""

    host: str
    port: int


def parse(text: str) -> Place | None:
    """An address as Go programs take it (``:8443``, ``10.0.0.1:8443``, ``[::1]:0``); None for none.

    Raises SettingsError naming the flag.
    """
    if text in ("", "0"):
        return None
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise errors.SettingsError(
            f"--metrics-bind-address={text}: this is no address. Write HOST:PORT, :PORT for every "
            "address of the host, or 0 for no metrics"
        )
    return Place(match["v6"] or match["host"] or "", int(match["port"]))


def for_metrics(given: str | None) -> socket.socket | None:
    """What listens for readers of metrics; None for nothing, also where the default is taken.

    ``given`` is the flag, None where it was not given. Raises SettingsError if it cannot be used.
    """
    place = parse(METRICS if given is None else given)
    if place is None:
        return None
    try:
        return _listen(place)
    except OSError as error:
        if given is not None:
            raise errors.SettingsError(
                f"--metrics-bind-address={given}: {_why(error)}. Choose another address, "
                "or 0 for no metrics"
            ) from error
        log.warning(
            "metrics are not shown: the usual address cannot be used",
            address=METRICS,
            reason=_why(error),
            hint="choose another one with --metrics-bind-address, or 0 for no metrics",
        )
        return None


def for_intake(port: int) -> socket.socket | None:
    """What listens for metrics of roles; None for port 0.

    Where the usual port is taken it is any free one, of which runs are told. Raises SettingsError
    if another port cannot be used.
    """
    if port == 0:
        return None
    if not 0 < port < 65536:
        raise errors.SettingsError(
            f"--user-metrics-port={port}: ports go from 1 to 65535, 0 is off"
        )
    try:
        return _listen(Place(LOOPBACK, port))
    except OSError as error:
        if port != INTAKE_PORT:
            raise errors.SettingsError(
                f"--user-metrics-port={port}: {_why(error)}. Choose another port, or 0 to take "
                "in no metrics of roles"
            ) from error
        found = _listen(Place(LOOPBACK, 0))
        log.warning(
            "metrics of roles are taken in at another port: the usual one cannot be used",
            usual=port,
            port=port_of(found),
            reason=_why(error),
        )
        return found


def _listen(place: Place) -> socket.socket:
    """A listening socket; one for IPv4 and IPv6 where it is for every address, as Go has it."""
    both = not place.host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in place.host else socket.AF_INET
    return socket.create_server((place.host, place.port), family=family, dualstack_ipv6=both)


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program listens there"
    return error.strerror or str(error)


def port_of(listening: socket.socket | None) -> int:
    """The port of what listens; 0 where nothing does, or not any more."""
    if listening is None or listening.fileno() < 0:
        return 0
    port: int = listening.getsockname()[1]
    return port


def close(listening: socket.socket | None) -> None:
    """Stop to listen."""
    if listening is not None:
        listening.close()
