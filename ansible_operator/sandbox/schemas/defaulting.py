"""The defaults that the schemas of custom resources have."""

from __future__ import annotations

import copy
from typing import Any

from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = schemas.Schema


def default(obj: Obj, schema: Schema) -> Obj:
    """Fill in the defaults, also within what was filled in; ``obj`` itself is changed.

    A null is replaced by the default where the schema is not ``nullable``.
    """
    _value(obj, schema)
    return obj


def _value(value: Any, schema: Schema) -> None:
    if isinstance(value, dict):
        _map(value, schema)
    elif isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        for index, item in enumerate(value):
            if item is None:
                value[index] = item = _of_null(items)
            _value(item, items)


def _map(value: Obj, schema: Schema) -> None:
    properties: Schema = schema.get("properties", {})
    for key, sub in properties.items():
        given = sub.get("default")
        if given is None or value.get(key) is not None:
            continue
        if key not in value or not sub.get("nullable"):
            value[key] = copy.deepcopy(given)
    more = schema.get("additionalProperties")
    for key, item in value.items():
        sub = properties.get(key)
        if sub is None and isinstance(more, dict):
            sub = more
            if item is None:
                value[key] = item = _of_null(more)
        if sub is not None:
            _value(item, sub)


def _of_null(schema: Schema) -> Any:
    """What a null stands for among the entries of a list or map."""
    given = schema.get("default")
    return None if given is None or schema.get("nullable") else copy.deepcopy(given)
