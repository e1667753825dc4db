"""JSON patches (RFC 6902) and JSON merge patches (RFC 7386), with the liberties that the API takes.

The server's JSON patch is not quite that of the RFC: ``replace`` of a field that is not there adds
it, ``copy`` of one gives null, ``test`` of one equals null, and negative list indices count from
the end. That is why no library is used here.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from ansible_operator import gotext
from ansible_operator.sandbox import failure
from ansible_operator.sandbox.reading import values

Obj = dict[str, Any]
LIMIT = 10_000
"""Operations that one JSON patch may have."""


def json_patch(obj: Obj, patch: Any) -> Obj:
    """The object after all operations of a JSON patch; ``obj`` itself is not changed.

    Raises ApiFailure: 400 for what is no patch, 413 for too many operations, 422 when one cannot
    be done or a test fails.
    """
    operations = _operations(patch)
    found = copy.deepcopy(obj)
    for operation in operations:
        do = _OPERATIONS.get(operation.get("op") or "")
        if do is None or operation.get("path") is None:
            raise _refused()
        found = do(found, operation)
    return found


def merge_patch(obj: Obj, patch: Any) -> Obj:
    """The object with a merge patch merged in; ``obj`` itself is not changed. Raises 400."""
    if patch is None:
        raise failure.bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise _no_patch(values.Mismatch(values.word(patch), "map[string]interface {}"))
    return _merged(obj, patch)


def _merged(obj: Obj, patch: Obj) -> Obj:
    found = dict(obj)
    for key, value in patch.items():
        before = obj.get(key)
        if value is None:
            found.pop(key, None)
        elif not isinstance(before, dict):
            found[key] = _without_nulls(value)
        else:
            found[key] = _merged(before, value) if isinstance(value, dict) else value
    return found


def _without_nulls(value: Any) -> Any:
    """A patch where there is nothing to merge it into: its nulls remove nothing."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _operations(patch: Any) -> list[Obj]:
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _no_patch(values.Mismatch(values.word(patch), "[]handlers.jsonPatchOp"))
    operations = [{} if operation is None else operation for operation in patch]
    for operation in operations:
        if not isinstance(operation, dict):
            raise _no_patch(values.Mismatch(values.word(operation), "handlers.jsonPatchOp"))
        for field in ("op", "path", "from"):
            if not isinstance(operation.get(field), str | None):
                wrong = values.Mismatch(values.word(operation[field]), "string")
                wrong.within("jsonPatchOp", field)
                raise _no_patch(wrong)
    if len(operations) > LIMIT:
        told = f"The allowed maximum operations in a JSON patch is {LIMIT}, got {len(operations)}"
        told = f"Request entity too large: {told}"
        raise failure.ApiFailure(413, "RequestEntityTooLarge", told)
    return operations


def _no_patch(wrong: values.Mismatch) -> failure.ApiFailure:
    return failure.bad_request(f"error decoding patch: {wrong}")


def _refused() -> failure.ApiFailure:
    """422, in the words that the server has for every operation that cannot be done."""
    told = "the server rejected our request due to an error in our request"
    return failure.ApiFailure(422, "Invalid", told, {})


Container = dict[str, Any] | list[Any]


def _place(doc: Any, path: Any) -> tuple[Container, str]:
    """What holds the value at a path, and the last step to it."""
    steps = path.split("/")[1:] if isinstance(path, str) else []
    if not steps:
        raise _refused()
    for step in steps[:-1]:
        doc = _get(doc, _unescaped(step))
        if not isinstance(doc, dict | list):
            raise _refused()
    return doc, _unescaped(steps[-1])


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def _index(text: str, size: int) -> int:
    index = gotext.integer(text)
    if index is None or not -size <= index < size:
        raise _refused()
    return index % size


def _get(at: Container, key: str) -> Any:
    return at.get(key) if isinstance(at, dict) else at[_index(key, len(at))]


def _insert(doc: Obj, path: Any, value: Any) -> None:
    at, key = _place(doc, path)
    if isinstance(at, dict):
        at[key] = value
    else:
        at.insert(len(at) if key == "-" else _index(key, len(at) + 1), value)


def _take(doc: Obj, path: Any) -> Any:
    at, key = _place(doc, path)
    if isinstance(at, list):
        return at.pop(_index(key, len(at)))
    if key not in at:
        raise _refused()
    return at.pop(key)


def _add(doc: Obj, operation: Obj) -> Obj:
    _insert(doc, operation["path"], operation.get("value"))
    return doc


def _remove(doc: Obj, operation: Obj) -> Obj:
    _take(doc, operation["path"])
    return doc


def _replace(doc: Obj, operation: Obj) -> Obj:
    value = operation.get("value")
    if operation["path"] == "":
        if not isinstance(value, dict):
            raise _refused()
        return value
    at, key = _place(doc, operation["path"])
    if isinstance(at, dict):
        at[key] = value
    else:
        at[_index(key, len(at))] = value
    return doc


def _move(doc: Obj, operation: Obj) -> Obj:
    _insert(doc, operation["path"], _take(doc, operation.get("from")))
    return doc


def _copy(doc: Obj, operation: Obj) -> Obj:
    value = _get(*_place(doc, operation.get("from")))
    _insert(doc, operation["path"], copy.deepcopy(value))
    return doc


def _test(doc: Obj, operation: Obj) -> Obj:
    path = operation["path"]
    value = doc if path == "" else _get(*_place(doc, path))
    if _text(value) != _text(operation.get("value")):
        raise _refused()
    return doc


def _text(value: Any) -> str:
    """Equal for values that JSON holds for equal: to Python, true is 1 as well."""
    return json.dumps(value, sort_keys=True)


_OPERATIONS: Mapping[str, Callable[[Obj, Obj], Obj]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
