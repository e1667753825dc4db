"""Sets of fields, as managed fields name them.

A set is a dict in the form FieldsV1: keys are steps (``f:name`` a field, ``k:{"name":"x"}`` an
entry of a list with map keys, ``v:"x"`` an entry of a set), values are the sets below them. A step
is *in* the set if nothing is below it or ``"."`` is. Sets are values: no function changes one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Fields = dict[str, Any]

SELF = "."
"""The key that says that a step with others below it is itself in the set."""
_RANKS = {"f": 0, "k": 1, "v": 2}


def includes(below: Fields) -> bool:
    """Whether a step with this below it is itself in the set."""
    return not below or SELF in below


def node(included: bool, below: Fields) -> Fields | None:
    """What stands in a set for a step; None if it need not stand there."""
    if included:
        return {SELF: {}, **below} if below else {}
    return below or None


def union(one: Fields, other: Fields) -> Fields:
    """What is in either."""
    found = dict(one)
    for step, below in other.items():
        if step not in found:
            found[step] = below
        elif step != SELF:
            joined = union(found[step], below)
            joined.pop(SELF, None)
            found[step] = node(includes(found[step]) or includes(below), joined) or {}
    return found


def intersection(one: Fields, other: Fields) -> Fields:
    """What is in both."""
    found = {}
    for step, below in one.items():
        if step == SELF or step not in other:
            continue
        both = includes(below) and includes(other[step])
        if (kept := node(both, intersection(below, other[step]))) is not None:
            found[step] = kept
    return found


def difference(one: Fields, other: Fields) -> Fields:
    """What is in the first and not in the second."""
    found = {}
    for step, below in one.items():
        if step == SELF:
            continue
        if step not in other:
            found[step] = below
            continue
        left = includes(below) and not includes(other[step])
        if (kept := node(left, difference(below, other[step]))) is not None:
            found[step] = kept
    return found


def paths(fields: Fields, prefix: str = "") -> Iterator[str]:
    """The members as messages name them, in order: ``.spec.containers[name="c"].image``."""
    steps = sorted(fields.keys() - {SELF}, key=lambda step: (_RANKS.get(step[0], 3), step))
    yield from (prefix + shown(step) for step in steps if includes(fields[step]))
    for step in steps:
        yield from paths(fields[step], prefix + shown(step))


def shown(step: str) -> str:
    """A step as messages name it."""
    kind, _, rest = step.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        pairs = json.loads(rest).items()
        return f"[{','.join(f'{key}={text(value)}' for key, value in pairs)}]"
    return f"[={rest}]" if kind == "v" else f"[{rest}]"


def valid(fields: Any) -> bool:
    """Whether this is a set at all."""
    return isinstance(fields, dict) and all(
        step == SELF or (step[:2] in ("f:", "k:", "v:", "i:") and valid(below))
        for step, below in fields.items()
    )


def text(value: Any) -> str:
    """JSON as Go writes it by default: safe to stand in HTML."""
    plain = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return plain.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
