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

from ansible_operator.sandbox.reading import limits

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = re.compile(
    "(y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)|n|N|no|No|NO|false|False|FALSE|off|Off|OFF"
)
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|0b[01]+|0o?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LONGEST = 100
"""Digits of what may be an integer; even in binary, there are fewer."""

_TAGGED: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "float": (int, float),
    "int": (int,),
    "null": (type(None),),
}
_FEW, _MANY = 400_000, 4_000_000
"""Nodes of a document below which nearly all may come from aliases, above which hardly any."""

_TOO_DEEP = f"yaml: exceeded max depth of {limits.DEPTH}"
_OCTAL = re.compile(r"([-+]?)0([0-7]+)")


class Unreadable(ValueError):
    """The text is no YAML that JSON can say; the message is that of the server."""


def read(text: str) -> tuple[Any, list[str]]:
    """The value, and which keys stand there again (``line 4: key "a" already set in map``).

    Raises Unreadable.
    """
    loader = _Loader(text)
    reader = _Reader(loader)
    try:
        node = loader.get_node() if loader.check_node() else None
        value = None if node is None else reader.value(node)
    except yaml.YAMLError as error:
        raise Unreadable(f"yaml: {_told(text, error)}") from None
    except RecursionError:
        raise Unreadable(_TOO_DEEP) from None
    finally:
        loader.dispose()
    return value, reader.repeated


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


class _Reader:
    """Makes values of nodes, as long as their aliases do not make too much of a small text."""

    def __init__(self, loader: Any) -> None:
        self.repeated: list[str] = []
        self._loader = loader
        self._around: list[yaml.Node] = []
        self._seen: set[int] = set()
        self._count = self._aliased = 0
        self._in_alias = False

    def value(self, node: yaml.Node) -> Any:
        """The value of a node."""
        self._check_count()
        if isinstance(node, yaml.ScalarNode):
            return _scalar(self._loader, node)
        if any(node is outer for outer in self._around):
            raise Unreadable("yaml: the value of an anchor contains itself")
        if len(self._around) >= limits.DEPTH:
            raise Unreadable(_TOO_DEEP)
        again = id(node) in self._seen and not self._in_alias
        self._seen.add(id(node))
        self._in_alias = self._in_alias or again
        self._around.append(node)
        found = self._list(node) if isinstance(node, yaml.SequenceNode) else self._map(node)
        self._around.pop()
        self._in_alias = self._in_alias and not again
        return found

    def _check_count(self) -> None:
        """Raise Unreadable where nearly all that is read comes from aliases, as Go's parser."""
        self._count += 1
        self._aliased += self._in_alias
        if self._aliased > 100 and self._count > 1000:
            beyond = (self._count - _FEW) / (_MANY - _FEW)
            if self._aliased / self._count > 0.99 - 0.89 * min(max(beyond, 0.0), 1.0):
                raise Unreadable("yaml: document contains excessive aliasing")

    def _list(self, node: yaml.SequenceNode) -> list[Any]:
        return [self.value(item) for item in node.value]

    def _map(self, node: yaml.Node) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            value = self.value(value_node)
            if key_node.tag == _TAG + "merge":
                for more in value if isinstance(value, list) else [value]:
                    merged = {**_merged(more), **merged}
                continue
            key = _key(self.value(key_node))
            if key in found:
                line = key_node.start_mark.line + 1
                self.repeated.append(f'line {line}: key "{key}" already set in map')
            found[key] = value
        return {**merged, **found}


def _merged(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable("yaml: map merge requires map or sequence of maps as the value")
    return value


def _key(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, list | dict):
        raise Unreadable(f"yaml: invalid map key: {value}")
    return str(value)


def _scalar(loader: Any, node: yaml.ScalarNode) -> Any:
    text: str = node.value
    if not node.style and node.tag == loader.resolve(yaml.ScalarNode, text, (True, False)):
        return _plain(text)
    word = node.tag.removeprefix(_TAG)
    if word in _TAGGED:
        return _tagged(text, word)
    if word == "binary":
        try:
            found = base64.b64decode("".join(text.split()), validate=True)
            return found.decode("utf-8", "replace")
        except ValueError:
            raise Unreadable("yaml: !!binary value contains invalid base64 data") from None
    return text


def _tagged(text: str, word: str) -> Any:
    value = _plain(text)
    fits = isinstance(value, _TAGGED[word])
    if not fits or (isinstance(value, bool) and word != "bool"):
        raise Unreadable(f"yaml: cannot decode !!str `{text}` as a !!{word}")
    return value


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
    if _INTEGER.fullmatch(digits) and len(digits) < _LONGEST:
        whole = int(_OCTAL.sub(r"\g<1>0o\2", digits) if _OCTAL.fullmatch(digits) else digits, 0)
        return whole if -(1 << 63) <= whole < 1 << 63 else float(whole)
    if _FLOAT.fullmatch(digits) and not math.isinf(value := float(digits)):
        return int(value) if value.is_integer() and abs(value) < 1 << 63 else value
    return text


def errors(repeated: Iterable[str]) -> str:
    """What an error says of keys that stand there again."""
    return "\n  ".join(("yaml: unmarshal errors:", *repeated))
