"""How Go prints values: what the server's messages show of patches."""

from __future__ import annotations

import json
from typing import Any


def plain(value: Any) -> str:
    """As ``%v`` does: ``map[a:1 b:[x y]]``."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{plain(value[key])}' for key in sorted(value))}]"
    return f"[{' '.join(map(plain, value))}]" if isinstance(value, list) else str(value)


def source(value: Any) -> str:
    """As ``%#v`` does: ``map[string]interface {}{"a":1}``."""
    if isinstance(value, dict):
        entries = ", ".join(f"{json.dumps(key)}:{source(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{entries}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(source, value))}}}"
    return "interface {}(nil)" if value is None else json.dumps(value, ensure_ascii=False)


def kind(value: Any) -> str:
    """As ``%T`` does, of values that were read from JSON."""
    names = {bool: "bool", int: "int64", float: "float64", str: "string", type(None): "<nil>"}
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else names[type(value)]
