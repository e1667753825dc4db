"""How long ago: times as the server prints them in tables."""

from __future__ import annotations

from datetime import datetime, timedelta


def parsed(text: object) -> datetime | None:
    """A time of the API (RFC 3339); None if it is not one."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else None


def since(text: object, now: datetime) -> str:
    """How long ago a time was; ``<unknown>`` where there is none."""
    if not text:
        return "<unknown>"
    then = parsed(text)
    return "<invalid>" if then is None else human(now - then)


def human(length: timedelta) -> str:
    """A length of time in at most two units, finer ones only while they matter: ``4m20s``, ``3d``.

    The future is ``<invalid>``, but for a second that clocks may differ by.
    """
    seconds = int(length.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}" + (f"{small}{small_unit}" if small else "")
