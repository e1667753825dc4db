"""The target of a request: its path and its query, as the client sent them.

Libraries tidy URLs up. Here ``..`` and ``//`` lead nowhere, as with a real server, and what is
escaped is unescaped once.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote

_ORIGIN = re.compile(r"https?://[^/?#]*")
_BROKEN = re.compile(r"%(?![0-9a-fA-F]{2})")


def path(target: str) -> str:
    """The path, unescaped. Raises ValueError for what is no escape."""
    found = _parts(target)[0]
    if _BROKEN.search(found):
        raise ValueError("invalid URL escape")
    return unquote(found, errors="replace")


def query(target: str) -> dict[str, list[str]]:
    """The parameters with all their values."""
    return parse_qs(_parts(target)[1], keep_blank_values=True, errors="replace")


def _parts(target: str) -> tuple[str, str]:
    origin = _ORIGIN.match(target)
    found, _, rest = target[origin.end() if origin else 0 :].partition("?")
    return found or "/", rest
