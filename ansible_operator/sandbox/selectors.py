"""Label and field selectors of queries: read with the server's messages, and matched.

A parsed selector is a predicate over objects; an empty text matches everything.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ansible_operator import gotext
from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.builtins import names

Obj = dict[str, Any]
Matches = Callable[[Obj], bool]
_Labels = Mapping[str, str]

_TOKEN = re.compile(r"\s*(!=|==|[=!(),<>]|[^\s=!(),<>]+)")
_SYMBOLS = ("", "!", "!=", "==", *"=(),<>")
_NAME = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?\Z")
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "secrets": ("type",),
    "namespaces": ("status.phase",),
    "nodes": ("spec.unschedulable",),
    "services": ("spec.clusterIP", "spec.type"),
    "jobs": ("status.successful",),
    "replicasets": ("status.replicas",),
    "replicationcontrollers": ("status.replicas",),
}


def labels(text: str) -> Matches:
    """Read a label selector. Raises ApiFailure 400 with what was found and what was expected."""
    if not text.strip():
        return _everything
    tests = _Reader(text).requirements()

    def matches(obj: Obj) -> bool:
        carried = obj["metadata"].get("labels") or {}
        return all(test(carried) for test in tests)

    return matches


def fields(text: str, resource: kinds.Resource) -> Matches:
    """Read a field selector for a resource.

    Raises ApiFailure 400 for fields that cannot be selected by.
    """
    if not text.strip():
        return _everything
    allowed = ("metadata.name", "metadata.namespace", *_selectable(resource))
    tests = [_field(part, allowed, resource) for part in text.split(",") if part]
    return lambda obj: all(test(obj) for test in tests)


def _selectable(resource: kinds.Resource) -> tuple[str, ...]:
    return resource.selectable if resource.custom else _FIELDS.get(resource.plural, ())


def single_name(text: str) -> str:
    """The name that a field selector demands, empty if it does not."""
    found = re.fullmatch(r"metadata\.name==?([^,]+)", text)
    return found[1] if found else ""


def _everything(obj: Obj) -> bool:
    return True


def _field(part: str, allowed: tuple[str, ...], resource: kinds.Resource) -> Matches:
    found = re.fullmatch(r"([^=!]+)(!=|==|=)(.*)", part)
    if not found:
        raise failure.bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
    path, operator, wanted = found.groups()
    if path not in allowed:
        known = ", ".join(f'"{name}"' for name in allowed)
        told = f'"{path}" is not a known field selector: only {known}'
        told = f"field label not supported: {path}" if resource.custom else told
        raise failure.bad_request(told)
    return lambda obj: (_text(obj, path) == wanted) is (operator != "!=")


def _text(obj: Obj, path: str) -> str:
    found: Any = obj
    for part in path.lstrip(".").split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    if found is None and path in ("spec.unschedulable", "spec.hostNetwork"):
        return "false"
    return "" if found is None else str(found)


class _Reader:
    """A reader of the selector's grammar, one word at a time."""

    def __init__(self, text: str) -> None:
        self._tokens = deque(_TOKEN.findall(text))

    def requirements(self) -> list[Callable[[_Labels], bool]]:
        self._expect("!, identifier, or 'end of string'")
        found = [self._requirement()]
        while self._tokens:
            word = self._take()
            if word != ",":
                raise failure.bad_request(f"found '{word}', expected: ',' or 'end of string'")
            self._expect("identifier after ','")
            found.append(self._requirement())
        return found

    def _expect(self, wanted: str) -> None:
        """Raise ApiFailure 400 unless a requirement can begin here."""
        word = self._tokens[0] if self._tokens else ""
        if word != "!" and word in _SYMBOLS:
            raise failure.bad_request(f"found '{word}', expected: {wanted}")

    def _requirement(self) -> Callable[[_Labels], bool]:
        key = self._take()
        if key == "!":
            absent = _key(self._take())
            return lambda carried: absent not in carried
        _key(key)
        if not self._tokens or self._tokens[0] == ",":
            return lambda carried: key in carried
        return self._comparison(key, self._take())

    def _comparison(self, key: str, operator: str) -> Callable[[_Labels], bool]:
        if operator in ("=", "=="):
            wanted = _value(key, self._optional())
            return lambda carried: carried.get(key) == wanted
        if operator == "!=":
            unwanted = _value(key, self._optional())
            return lambda carried: carried.get(key) != unwanted
        if operator in ("in", "notin"):
            values = self._values(key)
            return lambda carried: (carried.get(key) in values) is (operator == "in")
        if operator in ("<", ">"):
            limit = self._number(key, operator)
            return lambda carried: _compared(carried.get(key), operator, limit)
        raise _error(f"found '{operator}', expected: {_OPERATORS}")

    def _number(self, key: str, operator: str) -> int:
        text = self._take()
        if gotext.integer(text) is None:
            told = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _error(f'values[0]: Invalid value: "{text}": {told}')
        return int(text)

    def _values(self, key: str) -> set[str]:
        if (word := self._take()) != "(":
            raise _error(f"found '{word}' expected: '('")
        values = {_value(key, self._optional())}
        while (word := self._take()) == ",":
            values.add(_value(key, self._optional()))
        if word != ")":
            raise _error(f"found '{word}', expected: ',' or ')'")
        return values

    def _optional(self) -> str:
        """A value, which may be empty."""
        return "" if not self._tokens or self._tokens[0] in (",", ")") else self._take()

    def _take(self) -> str:
        return str(self._tokens.popleft()) if self._tokens else ""


def _error(told: str) -> failure.ApiFailure:
    return failure.bad_request(f"unable to parse requirement: {told}")


def _key(key: str) -> str:
    if key in _SYMBOLS:
        raise _error(f"found '{key}', expected: identifier")
    if wrong := names.qualified(key):
        raise _error(f'<nil>: Invalid value: "{key}": {"; ".join(wrong)}')
    return key


def _value(key: str, value: str) -> str:
    if len(value) > 63 or not _NAME.match(value):
        raise _error(f'values[0][{key}]: Invalid value: "{value}": {VALUE_RULE}')
    return value


def _compared(text: str | None, operator: str, limit: int) -> bool:
    number = None if text is None else gotext.integer(text)
    if number is None:
        return False
    return number > limit if operator == ">" else number < limit


VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
