"""Strategic merge patches: merge patches that know by the schema how lists are to be merged.

Lists whose schema says ``merge`` are merged entry by entry, told apart by the merge key; all others
are replaced. Directives in the patch say what a plain patch cannot: ``$patch`` (delete, replace),
``$retainKeys``, ``$setElementOrder/field`` and ``$deleteFromPrimitiveList/field``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.reading import gowords, values
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = schemas.Schema

PATCH = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder/"
DELETE = "$deleteFromPrimitiveList/"


def merge(obj: Obj, patch: Any, schema: Schema) -> Obj:
    """The object with the patch merged in; ``obj`` itself is not changed.

    Raises ApiFailure: 400 for what is no patch and for ``$retainKeys`` that contradict it, 500 (as
    the server does) for other directives and for lists that make no sense.
    """
    if not isinstance(patch, dict | None):
        wrong = values.Mismatch(values.word(patch), "map[string]interface {}")
        raise failure.bad_request(str(wrong))
    return _map(obj, patch or {}, schema)


def _map(original: Obj, patch: Obj, schema: Schema) -> Obj:
    if PATCH in patch:
        return _directed(patch)
    found = _retained(original, patch)
    rest = {key: value for key, value in patch.items() if key != RETAIN}
    for key in [key for key in rest if key.startswith(ORDER)]:
        _put_in_order(found, rest, key, schema)
    for key, value in rest.items():
        if key.startswith(DELETE):
            _delete_from(found, key.removeprefix(DELETE), value)
        elif value is None:
            found.pop(key, None)
        else:
            found[key] = _value(found.get(key), value, schemas.of_field(schema, key))
    return found


def _value(before: Any, patch: Any, schema: Schema | None) -> Any:
    strategy = schemas.patch_strategy(schema) if schema else ()
    if isinstance(before, dict) and isinstance(patch, dict):
        return patch if "replace" in strategy else _map(before, patch, schema or schemas.ANY)
    if isinstance(before, list) and isinstance(patch, list):
        return _list(before, patch, schema) if schema and "merge" in strategy else patch
    return _fresh(patch)


def _directed(patch: Obj) -> Obj:
    if patch[PATCH] == "replace":
        return {key: value for key, value in patch.items() if key != PATCH}
    if patch[PATCH] == "delete":
        return {}
    raise _unknown_directive(patch)


def _retained(original: Obj, patch: Obj) -> Obj:
    """A copy of the original, without what ``$retainKeys`` does not name."""
    if RETAIN not in patch:
        return dict(original)
    names = patch[RETAIN]
    set_here = [
        key
        for key, value in patch.items()
        if key != RETAIN and value is not None and not key.startswith((ORDER, DELETE))
    ]
    if not isinstance(names, list) or any(key not in names for key in set_here):
        raise failure.bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in names}


def _fresh(value: Any) -> Any:
    """A patch where there is nothing to merge it into: without nulls and what ``$patch`` marks."""
    if isinstance(value, dict):
        if PATCH in value:
            return None
        return {key: _fresh(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_fresh(item) for item in value if not _marked(item)]
    return value


def _marked(item: Any) -> bool:
    return isinstance(item, dict) and PATCH in item


def _delete_from(found: Obj, name: str, gone: Any) -> None:
    before = found.get(name)
    if isinstance(before, list) and isinstance(gone, list):
        _check_alike(before, gone)
        found[name] = [item for item in before if item not in gone]


def _list(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    """Two lists merged; what is new comes first, what both have is in the order of the patch."""
    if not original and not patch:
        return original
    key = ""
    if isinstance(_check_alike(original, patch), dict):
        key = schemas.merge_key(schema)
        original, patch = _without_directives(original, patch, key)
        merged = _entries(original, patch, key, schemas.of_items(schema))
    else:
        merged = []
        for item in (*original, *patch):
            if item not in merged:
                merged.append(item)
    return _in_order(merged, patch, original, key)


def _check_alike(original: Sequence[Any], patch: Sequence[Any]) -> Any:
    """One of the entries, which must all be of one type."""
    items = (*original, *patch)
    if any(type(item) is not type(items[0]) for item in items):
        shown = gowords.plain([list(original), list(patch)])
        raise _error(f"list element types are not identical: {shown}")
    return items[0] if items else None


def _without_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], ...]:
    """Both lists after ``$patch: delete`` and ``$patch: replace`` among the patch's entries."""
    plain = [item for item in patch if PATCH not in item]
    for item in patch:
        directive = item.get(PATCH)
        if directive == "delete":
            gone = _key_of(item, key)
            original = [entry for entry in original if entry.get(key) != gone]
        elif directive == "merge":
            raise _error("merging lists cannot yet be specified in the patch")
        elif PATCH in item and directive != "replace":
            raise _unknown_directive(item)
    replaced = any(item.get(PATCH) == "replace" for item in patch)
    return (plain, []) if replaced else (original, plain)


def _entries(original: list[Any], patch: list[Any], key: str, schema: Schema) -> list[Any]:
    found = list(original)
    for item in patch:
        name = _key_of(item, key)
        at = next((i for i, entry in enumerate(found) if entry.get(key) == name), None)
        if at is None:
            found.append(item)
        else:
            found[at] = _map(found[at], item, schema)
    return found


def _key_of(item: Any, key: str) -> Any:
    if key and key not in item:
        shown = gowords.plain(item)
        raise _error(f"map: {shown} does not contain declared merge key: {key}")
    return item[key] if key else item


def _put_in_order(found: Obj, patch: Obj, directive: str, schema: Schema) -> None:
    """Do what ``$setElementOrder`` says; takes the list that it orders from the patch as well."""
    name, order = directive.removeprefix(ORDER), patch.pop(directive)
    original, given = found.get(name), patch.get(name)
    if not isinstance(original, list | None) or not isinstance(given, list | None):
        return
    if not isinstance(order, list):
        raise _error(f"expected a []interface {{}}, but received a {gowords.kind(order)}")
    below = schemas.of_field(schema, name)
    if below is None:
        struct = schemas.resolve(schema).get("x-name", "").rpartition(".")[2]
        raise _error(f'unable to find api field in struct {struct} for the json field "{name}"')
    key = schemas.merge_key(below) if isinstance((original or given or [None])[0], dict) else ""
    _check_order(given or [], order, key)
    if given is not None:
        del patch[name]
        merged = _value(original, given, below)
        original = _places(original or [], given, merged, key)
    elif original is not None:
        merged = original
    else:
        return
    found[name] = _in_order(merged, order, original, key)


def _places(original: list[Any], given: list[Any], merged: list[Any], key: str) -> list[Any]:
    """What stands where before the ordering: new entries take the places of deleted ones."""
    had, has = _positions(original, key), _positions(merged, key)
    kept = [item for item in original if _hashable(item, key) in has]
    new = [item for item in given if _hashable(item, key) not in had and not _marked(item)]
    return [*kept, *new][: len(original)]


def _check_order(given: list[Any], order: list[Any], key: str) -> None:
    for at, item in enumerate(order):
        if key and not isinstance(item, dict):
            raise _error(f"value for key {at} is not a map")
        _key_of(item, key)
    wanted = iter([item[key] if key else item for item in order])
    kept = [item for item in given if not (_marked(item) and item[PATCH] == "delete")]
    if not all((item.get(key) if key else item) in wanted for item in kept if not _marked(item)):
        raise _error(
            f"The order in patch list:\n{gowords.plain(given)}\n doesn't match $setElementOrder "
            f"list:\n{gowords.plain(order)}\n"
        )


def _in_order(merged: list[Any], order: list[Any], original: list[Any], key: str) -> list[Any]:
    """The entries that ``order`` has in its order, between them those that only the server has."""
    first = _positions(order, key)
    stood = _positions(original, key)
    ordered = [item for item in merged if _hashable(item, key) in first]
    ordered.sort(key=lambda item: first[_hashable(item, key)])
    others = [item for item in merged if _hashable(item, key) not in first]
    found: list[Any] = []
    for item in ordered:
        at = stood.get(_hashable(item, key), -1)
        while others and stood.get(_hashable(others[0], key), at) < at:
            found.append(others.pop(0))
        found.append(item)
    return found + others


def _positions(items: list[Any], key: str) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for at, item in enumerate(items):
        found.setdefault(_hashable(item, key), at)
    return found


def _hashable(item: Any, key: str) -> Any:
    value = item.get(key) if key else item
    return value if isinstance(value, str | int | float | bool | None) else gowords.plain(value)


def _unknown_directive(patch: Obj) -> failure.ApiFailure:
    directive = patch[PATCH]
    shown = directive
    if not isinstance(directive, str):
        shown = f"%!s({gowords.kind(directive)}={gowords.plain(directive)})"
    return _error(f"unknown patch type: {shown} in map: {gowords.plain(patch)}")


def _error(message: str) -> failure.ApiFailure:
    """What the server says of patches that it did not foresee: 500, without a reason."""
    return failure.ApiFailure(500, "", message)
