"""The rules of CRDs' schemas, ``x-kubernetes-validations``: checked, and applied to objects.

A rule is an expression about the value it stands at, ``self``. One that speaks of ``oldSelf`` too
says which changes are allowed; it is left out where there is no old value, unless the rule takes
an optional one. What was wrong before and did not change is not refused, but warned of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.customs import celvalues, expressions
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = dict[str, Any]
Cause = failure.Cause
Warn = Callable[[str], None]

FIELD = "x-kubernetes-validations"
MISSING = expressions.MISSING
_ROOT = "<nil>"
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
# After one of these nothing can be said about the value.
_BLOCKING = (
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
_NOT_CHECKED = Cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    _ROOT,
)


def validate(
    new: Any,
    old: Any,
    schema: Schema,
    *,
    causes: Sequence[Cause] = (),
    warn: Warn = lambda text: None,
    path: str = "",
) -> list[Cause]:
    """What rules say against an object. ``old`` is what it replaces, or None.

    ``causes`` are those that were found before, as not all leave something to be checked. ``warn``
    is called with what is wrong but not new.
    """
    if not ruled(schema):
        return []
    if any(cause.reason in _BLOCKING for cause in causes):
        return [_NOT_CHECKED]
    return list(_values(new, MISSING if old is None else old, schema, path, warn))


def compile_errors(schema: Schema, at: str) -> list[Cause]:
    """The causes for which the rules within a CRD's schema, the value of ``at``, are refused."""
    from ansible_operator.sandbox.customs import rule_checks

    return rule_checks.validate(schema, at)


# By identity; the schema is kept with the answer so that nothing else gets its identity.
_RULED: dict[int, tuple[Schema, bool]] = {}
_MOST = 50_000


def ruled(schema: Schema) -> bool:
    """Whether there are rules anywhere in a schema."""
    known = _RULED.get(id(schema))
    if known is None:
        if len(_RULED) >= _MOST:
            _RULED.clear()
        below = [*(schema.get("properties") or {}).values(), schema.get("items")]
        below.append(schema.get("additionalProperties"))
        found = bool(schema.get(FIELD)) or any(ruled(sub) for sub in below if isinstance(sub, dict))
        known = _RULED[id(schema)] = (schema, found)
    return known[1]


def uses_old(rule: Obj) -> bool:
    """Whether a rule is about a change."""
    return re.search(r"\boldSelf\b", _LITERAL.sub("''", rule["rule"])) is not None


def _values(new: Any, old: Any, schema: Schema, path: str, warn: Warn) -> Iterator[Cause]:
    if new is None or not ruled(schema):
        return
    if schema.get(FIELD):
        yield from _here(new, old, schema, path, warn)
    if isinstance(new, dict):
        properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, item in sorted(new.items()):
            sub = properties.get(key, more)
            if isinstance(sub, dict):
                before = old.get(key, MISSING) if isinstance(old, dict) else MISSING
                at = f"{path}.{key}" if key in properties else f"{path}[{key}]"
                yield from _values(item, before, sub, at.removeprefix("."), warn)
    elif isinstance(new, list) and isinstance(schema.get("items"), dict):
        before = _keyed(old, schema)
        for index, item in enumerate(new):
            was = before.get(_key(item, schema), MISSING)
            yield from _values(item, was, schema["items"], f"{path}[{index}]", warn)


def _keyed(old: Any, schema: Schema) -> dict[Any, Any]:
    """The old entries by key: those of other lists than maps are nobody's predecessors."""
    if not isinstance(old, list) or schemas.list_type(schema) != "map":
        return {}
    return {_key(item, schema): item for item in old}


def _key(item: Any, schema: Schema) -> Any:
    names = schemas.map_keys(schema)
    return tuple(item.get(name) for name in names) if isinstance(item, dict) else None


def _here(new: Any, old: Any, schema: Schema, path: str, warn: Warn) -> Iterator[Cause]:
    """The rules at one place."""
    before = MISSING if old is None else old
    was = MISSING if before is MISSING else celvalues.value(before, schema, new)
    about = expressions.situation(celvalues.value(new, schema), was)
    for rule in schema[FIELD]:
        if was is MISSING and not rule.get("optionalOldSelf") and uses_old(rule):
            continue
        cause = _broken(rule, about, new, schema, path)
        if cause is not None and before is not MISSING and before == new:
            warn(str(cause))
        elif cause is not None:
            yield cause


def _broken(rule: Obj, about: Any, new: Any, schema: Schema, path: str) -> Cause | None:
    source = rule["rule"].strip()
    try:
        if _program(rule, "rule")(about) is True:
            return None
    except expressions.Failed as error:
        kind = failure.shown(schema.get("type", ""))
        told = f"Invalid value: {kind}: {error} evaluating rule: {source}"
        return Cause("FieldValueInvalid", told, path or _ROOT)
    message = _message(rule, about) or f"failed rule: {source}"
    at = path + field_path(rule["fieldPath"], schema) if rule.get("fieldPath") else path
    return _cause(rule.get("reason") or "FieldValueInvalid", message, new, at.strip(".") or _ROOT)


def _program(rule: Obj, field: str) -> expressions.Program:
    optional = bool(rule.get("optionalOldSelf"))
    return expressions.program(rule[field].strip(), optional=optional)


def _message(rule: Obj, about: Any) -> str:
    if rule.get("messageExpression"):
        try:
            found = _program(rule, "messageExpression")(about)
        except expressions.Failed:
            found = ""
        if isinstance(found, str) and found.strip() and "\n" not in found:
            return found.strip()
    return str(rule.get("message") or "").strip()


def _cause(reason: str, message: str, value: Any, path: str) -> Cause:
    """Of values that are no scalars messages show nothing."""
    shown = "" if isinstance(value, dict | list) else f": {failure.shown(value)}"
    words = {
        "FieldValueRequired": f"Required value: {message}",
        "FieldValueForbidden": f"Forbidden: {message}",
        "FieldValueDuplicate": f"Duplicate value{shown}",
    }
    return Cause(reason, words.get(reason, f"Invalid value{shown}: {message}"), path)


def field_path(text: str, schema: Schema) -> str:
    """``.spec['a.b']`` as messages write it. Raises ValueError if there is no such field."""
    found, rest = "", text
    at: Any = schema
    while rest:
        match = re.match(r"\.([^.\[\]]+)|\['([^']+)'\]", rest)
        if match is None:
            raise ValueError(text)
        name, rest = match[1] or match[2], rest[match.end() :]
        properties, more = at.get("properties") or {}, at.get("additionalProperties")
        if name not in properties and not isinstance(more, dict):
            raise ValueError(text)
        found += f".{name}" if name in properties else f"[{name}]"
        at = schemas.resolve(properties.get(name, more))
    return found
