"""Hashes of templates, in the form in which they stand in names and labels.

They are not those that a cluster computes (these depend on Go's way to print the template), but
like those they are the same for the same template.
"""

from __future__ import annotations

import json
from typing import Any

LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""What names are made of: no vowels, so no words."""


def of(template: Any, collisions: int = 0) -> str:
    """The hash of a template: the digits of its FNV-1a sum, written with those letters."""
    text = json.dumps([template, collisions], sort_keys=True, separators=(",", ":"))
    digits = str(_fnv(text.encode()))
    return "".join(LETTERS[ord(digit) % len(LETTERS)] for digit in digits)


def _fnv(data: bytes) -> int:
    total = 0x811C9DC5
    for byte in data:
        total = ((total ^ byte) * 0x01000193) & 0xFFFFFFFF
    return total
