"""What is wrong with the rules of a CRD's schema, in the words of the API server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.customs import expressions, rules
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = dict[str, Any]
Cause = failure.Cause

REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_INTERNAL = (
    "failed to construct type information for x-kubernetes-validations rules: unable to convert "
    "structural schema to CEL declarations"
)


def validate(schema: Schema, at: str) -> list[Cause]:
    """The causes for which the rules within a schema are refused; it is structural otherwise."""
    found = list(_places(schemas.custom(schema), at, ""))
    causes = [cause for place in found for cause in _written(*place)]
    return causes or [cause for place in found for cause in _compiled(*place[:2])]


def _places(schema: Schema, at: str, loose: str) -> Iterator[tuple[Schema, str, str]]:
    """Where there are rules; ``loose`` is the list whose entries have no predecessors."""
    if schema.get(rules.FIELD):
        yield schema, at, loose
    for name, sub in sorted((schema.get("properties") or {}).items()):
        yield from _places(sub, f"{at}.properties[{name}]", loose)
    for field in ("items", "additionalProperties"):
        if isinstance(schema.get(field), dict):
            keyed = field != "items" or schema.get("x-kubernetes-list-type") == "map"
            yield from _places(schema[field], f"{at}.{field}", loose if keyed else loose or at)


def _written(schema: Schema, at: str, loose: str) -> Iterator[Cause]:
    """What can be told without compiling."""
    for index, rule in enumerate(schema[rules.FIELD]):
        place = f"{at}.{rules.FIELD}[{index}]"
        yield from _texts(rule, place)
        if rule.get("reason") and rule["reason"] not in REASONS:
            yield failure.not_supported(f"{place}.reason", rule["reason"], REASONS)
        if path := rule.get("fieldPath"):
            yield from _path(path, schema, f"{place}.fieldPath")
        uses_old = rules.uses_old({"rule": rule.get("rule") or ""})
        if "optionalOldSelf" in rule and not uses_old:
            told = "may not be set if oldSelf is not used in rule"
            yield failure.invalid_value(f"{place}.optionalOldSelf", rule["optionalOldSelf"], told)
        if loose and uses_old:
            told = (
                f"oldSelf cannot be used on the uncorrelatable portion of the schema within {loose}"
            )
            yield failure.invalid_value(f"{place}.rule", rule["rule"], told)


def _texts(rule: Obj, place: str) -> Iterator[Cause]:
    source, message = rule.get("rule") or "", rule.get("message") or ""
    if not source.strip():
        yield failure.required(f"{place}.rule", "rule is not specified")
    if message and not message.strip():
        told = "must be non-empty if specified"
        yield failure.invalid_value(f"{place}.message", message, told)
    elif "\n" in message:
        told = "must not contain line breaks"
        yield failure.invalid_value(f"{place}.message", message, told)
    elif "\n" in source.strip() and not message:
        told = "message must be specified if rule contains line breaks"
        yield failure.required(f"{place}.message", told)
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        told = "messageExpression must be non-empty if specified"
        yield failure.required(f"{place}.messageExpression", told)


def _path(path: str, schema: Schema, at: str) -> Iterator[Cause]:
    if "\n" in path:
        yield failure.invalid_value(at, path, "must not contain line breaks")
    try:
        rules.field_path(path.strip(" ") if "\n" not in path else "\n", schema)
    except ValueError:
        yield failure.invalid_value(at, path, "must be a valid path")


def _compiled(schema: Schema, at: str) -> Iterator[Cause]:
    try:
        checker = expressions.Checker(schema)
    except ValueError:
        message = f"Internal error: internal error: {_INTERNAL}"
        yield Cause("InternalError", message, f"{at}.{rules.FIELD}")
        return
    for index, rule in enumerate(schema[rules.FIELD]):
        yield from _expressions(checker, rule, f"{at}.{rules.FIELD}[{index}]")


def _expressions(checker: expressions.Checker, rule: Obj, place: str) -> Iterator[Cause]:
    optional, shown = bool(rule.get("optionalOldSelf")), _shown(rule)
    for field, wanted, told in (
        ("rule", "bool", "cel expression must evaluate to a bool"),
        ("messageExpression", "string", "messageExpression must evaluate to a string"),
    ):
        if not (source := (rule.get(field) or "").strip()):
            continue
        try:
            wrong = "" if checker.check(source, wanted, optional=optional) else told
        except expressions.Refused as error:
            wrong = f"{'' if field == 'rule' else field + ' '}compilation failed: {error}"
        if wrong:
            message = f"Invalid value: {shown}: {wrong}"
            yield Cause("FieldValueInvalid", message, f"{place}.{field}")


def _shown(rule: Obj) -> str:
    """A rule as messages have it."""
    fields = {
        "rule": "",
        "message": "",
        "messageExpression": "",
        "reason": None,
        "fieldPath": "",
        "optionalOldSelf": None,
    }
    text = failure.shown({k[0].upper() + k[1:]: rule.get(k, none) for k, none in fields.items()})
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text)
