"""YAML as the API server reads it: the first document, made into what JSON can say.

That is YAML 1.1 (``yes`` is true) with Go's numbers; times stay texts and all keys become texts.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = re.compile(
    "(y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)|n|N|no|No|NO|false|False|FALSE|off|Off|OFF"
)
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|0b[01]+|0o?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_OCTAL = re.compile(r"([-+]?)0([0-7]+)")


class Unreadable(ValueError):
    """The text is no YAML that JSON can say; the message is that of the server."""


def read(text: str) -> tuple[Any, list[str]]:
    """The value, and which keys stand there again (``line 4: key "a" already set in map``).

    Raises Unreadable.
    """
    repeated: list[str] = []
    loader = _Loader(text)
    try:
        node = loader.get_node() if loader.check_node() else None
        value = None if node is None else _value(loader, node, repeated, [])
    except yaml.YAMLError as error:
        raise Unreadable(f"yaml: {_told(text, error)}") from None
    finally:
        loader.dispose()
    return value, repeated


def _told(text: str, error: yaml.YAMLError) -> str:
    """The message of Go's parser, which is a port of the C one."""
    if isinstance(error, yaml.reader.ReaderError):
        return str(error.reason)
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error)
    problem, at, context = str(error.problem), error.problem_mark, error.context_mark
    if isinstance(error, yaml.composer.ComposerError) and at is not None:
        alias = re.match(r"\*([\w-]*)", text[at.index :])
        return f"unknown anchor '{alias[1] if alias else ''}' referenced"
    if at is not None and at.line:
        line = at.line + isinstance(error, yaml.scanner.ScannerError)
        return f"line {line}: {problem}"
    return f"line {context.line}: {problem}" if context is not None and context.line else problem


def _value(loader: Any, node: yaml.Node, repeated: list[str], around: list[yaml.Node]) -> Any:
    if any(node is outer for outer in around):
        raise Unreadable("yaml: the value of an anchor contains itself")
    if isinstance(node, yaml.ScalarNode):
        return _scalar(loader, node)
    inside = [*around, node]
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, item, repeated, inside) for item in node.value]
    found: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key_node, value_node in node.value:
        value = _value(loader, value_node, repeated, inside)
        if key_node.tag == _TAG + "merge":
            for more in value if isinstance(value, list) else [value]:
                merged = {**more, **merged}
            continue
        key = _key(_value(loader, key_node, repeated, inside))
        if key in found:
            repeated.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
        found[key] = value
    return {**merged, **found}


def _key(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, list | dict):
        raise Unreadable(f"yaml: invalid map key: {value}")
    return str(value)


def _scalar(loader: Any, node: yaml.ScalarNode) -> Any:
    text: str = node.value
    plain = not node.style and node.tag == loader.resolve(yaml.ScalarNode, text, (True, False))
    if plain or node.tag in (_TAG + "bool", _TAG + "float", _TAG + "int", _TAG + "null"):
        return _plain(text)
    if node.tag == _TAG + "binary":
        return base64.b64decode(text).decode("utf-8", "replace")
    return text


def _plain(text: str) -> Any:
    """What a text without quotes stands for."""
    if text in _NULLS:
        return None
    if truth := _BOOL.fullmatch(text):
        return truth[1] is not None
    if not text[0].isdecimal() and text[0] not in "+-.":
        return text
    if found := _INFINITE.fullmatch(text):
        shown = "NaN" if found[1] is None else f"{'-' if found[1] == '-' else '+'}Inf"
        raise Unreadable(f"json: unsupported value: {shown}")
    return _number(text)


def _number(text: str) -> Any:
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        whole = int(_OCTAL.sub(r"\g<1>0o\2", digits) if _OCTAL.fullmatch(digits) else digits, 0)
        return whole if -(1 << 63) <= whole < 1 << 63 else float(whole)
    if _FLOAT.fullmatch(digits) and not math.isinf(value := float(digits)):
        return int(value) if value.is_integer() and abs(value) < 1 << 63 else value
    return text


def errors(repeated: Iterable[str]) -> str:
    """What an error says of keys that stand there again."""
    return "\n  ".join(("yaml: unmarshal errors:", *repeated))
