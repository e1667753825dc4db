"""Quantities (``500m``, ``1Gi``): what they are worth, and how the API server writes them."""

from __future__ import annotations

import functools
import re
from fractions import Fraction

_PATTERN = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,4})", re.ASCII)
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_NANO = Fraction(1, 10**9)
_LARGEST = 2**63 - 1
_UNREADABLE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_SUFFIX = "unable to parse quantity's suffix"


def number(text: str | int | float) -> Fraction:
    """The value of a quantity. Raises ValueError with the server's words."""
    return _parsed(str(text))[0]


@functools.lru_cache(maxsize=4096)
def canonical(value: str | int | float, scale: int = 9) -> str:
    """The quantity as the API server writes it. Raises ValueError with the server's words.

    ``1000m`` is ``1``, ``1024Mi`` is ``1Gi``, ``0.5`` is ``500m``. ``scale`` decimal places are
    kept, and what is behind them is rounded up.
    """
    exact, form = _parsed(str(value))
    exact = _rounded(exact, scale)
    if form == "binary" and (abs(exact) < 1024 or exact.denominator != 1):
        form = "decimal"
    if form == "binary":
        return _binary(max(-_LARGEST, min(_LARGEST, int(exact))))
    return _decimal(exact, exponent=form == "exponent")


def _parsed(text: str) -> tuple[Fraction, str]:
    """The value, and how it was written: binary, decimal or exponent."""
    match = _PATTERN.fullmatch(text.strip())
    if match is None or not match[0]:
        raise ValueError(_UNREADABLE)
    sign, whole, part, suffix = match.groups()
    factor, form = _factor(suffix)
    exact = Fraction(f"{whole or 0}.{part or 0}") * factor
    return (-exact if sign == "-" else exact), form


def _factor(suffix: str) -> tuple[Fraction, str]:
    if suffix in _DECIMAL:
        return Fraction(1000) ** (_DECIMAL.index(suffix) - 3), "decimal"
    if suffix in _BINARY:
        return Fraction(1024) ** _BINARY.index(suffix), "binary"
    if match := _EXPONENT.fullmatch(suffix):
        return Fraction(10) ** int(match[1]), "exponent"
    raise ValueError(_SUFFIX)


def _rounded(exact: Fraction, scale: int) -> Fraction:
    """Away from zero, to ``scale`` decimal places."""
    unit = Fraction(1, 10**scale)
    up = -(-abs(exact) // unit) * unit
    return -up if exact < 0 else up


def _binary(whole: int) -> str:
    power = 0
    while whole and whole % 1024 == 0 and power < len(_BINARY) - 1:
        whole //= 1024
        power += 1
    return f"{whole}{_BINARY[power]}"


def _decimal(exact: Fraction, *, exponent: bool) -> str:
    if exact == 0:
        return "0"
    units, power = int(exact / _NANO), -3
    # There is no larger suffix than E, and no largest exponent.
    while units % 1000 == 0 and (exponent or power < 6):
        units //= 1000
        power += 1
    if exponent:
        return f"{units}e{3 * power}" if power else str(units)
    return f"{units}{_DECIMAL[power + 3]}"
