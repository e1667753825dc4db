"""Rules in CEL: how they are checked, and what they say of objects."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.customs import rules
from ansible_operator.sandbox.schemas import schema

Obj = dict[str, Any]
AT = "root"
STRING: Obj = {"type": "string"}
INTEGER: Obj = {"type": "integer"}
ARRAY: Obj = {"type": "array"}


def fields(**properties: Obj) -> Obj:
    """The schema of an object."""
    return {"type": "object", "properties": properties}


def ruled(given: Obj, *listed: str | Obj) -> Obj:
    """A schema with rules."""
    return {**given, rules.FIELD: [r if isinstance(r, dict) else {"rule": r} for r in listed]}


def found(given: Obj, new: Any, old: Any = None, **more: Any) -> list[str]:
    """What rules say of an object with the schema."""
    made = schema.custom(given)
    obj = {"metadata": {"name": "a"}, **new}
    was = None if old is None else {"metadata": {"name": "a"}, **old}
    return [str(cause) for cause in rules.validate(obj, was, made, **more)]


def refused(given: Obj) -> list[str]:
    """What is said against the rules of a schema."""
    return [str(cause) for cause in rules.compile_errors(given, AT)]


def test_without_rules_nothing_is_loaded() -> None:
    """The library is imported for the first CRD with rules, not before."""
    code = (
        "import sys; from ansible_operator.sandbox.customs import rules; "
        "assert not rules.validate({'a': 1}, None, {'type': 'object'}); "
        "assert not {'cel_expr_python', 'google.protobuf'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the library is not installed rules are something that is not served."""
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    with pytest.raises(failure.ApiFailure) as error:
        refused(ruled(fields(a=STRING), "true"))
    assert error.value.code == 501


def test_a_rule_that_holds() -> None:
    """Nothing is said where rules hold, and where there is nothing to hold them against."""
    given = fields(a=ruled(INTEGER, "self > 1"))
    assert found(given, {"a": 2}) == []
    assert found(given, {}) == []
    assert found(given, {"a": None}) == []


def test_messages() -> None:
    """The messageExpression is told, else the message, else the rule."""
    rule = "self > 1"
    value = "a: Invalid value: 0"
    for parts, told in (
        ({}, "failed rule: self > 1"),
        ({"message": "too small"}, "too small"),
        ({"message": "too small", "messageExpression": "'is ' + string(self)"}, "is 0"),
        ({"message": "too small", "messageExpression": "''"}, "too small"),
        ({"message": "too small", "messageExpression": "string(1/self)"}, "too small"),
        ({"messageExpression": "'a\\nb'"}, "failed rule: self > 1"),
    ):
        given = fields(a=ruled(INTEGER, {"rule": rule, **parts}))
        assert found(given, {"a": 0}) == [f"{value}: {told}"]


def test_reasons_and_paths() -> None:
    """A rule says which reason its cause has, and at which field of its value."""
    rule = {"rule": "false", "message": "no", "fieldPath": ".m['k.l']"}
    made = {"type": "object", "additionalProperties": STRING}
    given = fields(o=ruled(fields(m=made), rule))
    assert found(given, {"o": {}}) == ["o.m[k.l]: Invalid value: no"]
    for reason, told in (
        ("FieldValueRequired", "Required value: no"),
        ("FieldValueForbidden", "Forbidden: no"),
        ("FieldValueDuplicate", 'Duplicate value: "x"'),
    ):
        given = fields(a=ruled(STRING, {"rule": "false", "message": "no", "reason": reason}))
        (cause,) = rules.validate({"a": "x"}, None, given)
        assert (cause.reason, str(cause)) == (reason, f"a: {told}")


def test_places() -> None:
    """Rules hold in lists, maps and at the root, which has no name."""
    item = ruled(fields(n=INTEGER), "self.n > 0")
    entry = ruled(INTEGER, "self > 0")
    given = ruled(
        fields(
            l={"type": "array", "items": item},
            m={"type": "object", "additionalProperties": entry},
        ),
        "self.metadata.name == 'b' && self.kind == 'X'",
    )
    assert found(given, {"kind": "X", "l": [{"n": 1}, {"n": 0}], "m": {"a.b": 0}}) == [
        "<nil>: Invalid value: failed rule: self.metadata.name == 'b' && self.kind == 'X'",
        "l[1]: Invalid value: failed rule: self.n > 0",
        "m[a.b]: Invalid value: 0: failed rule: self > 0",
    ]


def test_rules_that_fail() -> None:
    """A rule that comes to nothing is told with the reason."""
    for rule, told in (
        ("10 / self > 0", "division by zero"),
        ("[1][self + 7] == 1", "index out of bounds: 7"),
        ("{'a': self}['b'] == 1", "no such key: b"),
        ("dyn(self) + 'a' == ''", "no such overload"),
    ):
        value = f'a: Invalid value: "integer": {told} evaluating rule: {rule}'
        assert found(fields(a=ruled(INTEGER, rule)), {"a": 0}) == [value]


def test_changes() -> None:
    """A rule about a change needs an old value, unless that is optional."""
    given = fields(a=ruled(INTEGER, "self >= oldSelf"))
    assert found(given, {"a": 1}) == []
    assert found(given, {"a": 1}, {}) == []
    assert found(given, {"a": 1}, {"a": 2}) == ["a: Invalid value: 1: failed rule: self >= oldSelf"]
    first = {"rule": "oldSelf.orValue(0) + 1 == self // next", "optionalOldSelf": True}
    given = fields(a=ruled(INTEGER, first))
    assert refused(given) == []
    assert found(given, {"a": 1}) == []
    assert found(given, {"a": 2}, {"a": 1}) == []
    assert len(found(given, {"a": 2})) == 1


def test_order_of_sets_does_not_count() -> None:
    """Sets and lists of type map are the same in any order, lists of other types are not."""
    items = fields(k=STRING, s={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"})
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    old = {"l": [{"k": "a", "s": ["x", "y"]}, {"k": "b"}]}
    new = {"l": [{"k": "b"}, {"k": "a", "s": ["y", "x"]}]}
    for more, wrong in ((keyed, 0), ({}, 1)):
        given = ruled(fields(l={"type": "array", "items": items, **more}), "self.l == oldSelf.l")
        assert len(found(given, new, old)) == wrong
    given = ruled(fields(l={"type": "array", "items": items, **keyed}), "self.l == oldSelf.l")
    assert len(found(given, {"l": [{"k": "b"}, {"k": "a", "s": ["x"]}]}, old)) == 1


def test_entries_are_found_again() -> None:
    """In lists of type map the old entry is the one with the same keys; elsewhere there is none."""
    entry = fields(k=STRING, v=ruled(INTEGER, "self >= oldSelf"))
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    old = {"l": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]}
    new = {"l": [{"k": "b", "v": 0}, {"k": "c", "v": 0}, {"k": "a", "v": 5}]}
    given = fields(l={"type": "array", "items": entry, **keyed})
    assert found(given, new, old) == ["l[0].v: Invalid value: 0: failed rule: self >= oldSelf"]
    assert found(fields(l={"type": "array", "items": entry}), new, old) == []


def test_what_was_wrong_before() -> None:
    """What did not change is warned of and not refused."""
    given = fields(a=ruled(INTEGER, "self > 1"), b=INTEGER)
    warnings: list[str] = []
    assert found(given, {"a": 0, "b": 2}, {"a": 0, "b": 1}, warn=warnings.append) == []
    assert warnings == ["a: Invalid value: 0: failed rule: self > 1"]


def test_after_the_schema() -> None:
    """Rules are not applied where the schema said that types are wrong, and that is told."""
    given = fields(a=ruled(INTEGER, "self > 1"))
    wrong = failure.type_invalid("a", "x", "")
    (told,) = found(given, {"a": "x"}, causes=[wrong])
    assert told.startswith("<nil>: Invalid value: null: some validation rules were not checked")
    other = failure.invalid_value("b", "x", "")
    assert found(given, {"a": 0}, causes=[other]) == ["a: Invalid value: 0: failed rule: self > 1"]
    assert found(fields(a=INTEGER), {"a": "x"}, causes=[wrong]) == []


def test_values_have_their_types() -> None:
    """Numbers, times and texts are what the schema says, and names are escaped."""
    given = ruled(
        fields(
            number={"type": "number"},
            time={"type": "string", "format": "date-time"},
            period={"type": "string", "format": "duration"},
            data={"type": "string", "format": "byte"},
            either={"x-kubernetes-int-or-string": True},
            **{"a-b": STRING, "if": STRING, "c.d/e__f": STRING},
        ),
        "self.number + 0.5 == 1.5",
        "self.time > timestamp('2020-01-01T00:00:00Z')",
        "self.period == duration('-90m')",
        "self.data == b'abc'",
        "self.either == 1",
        "self.a__dash__b + self.__if__ == 'xy'",
        "self.c__dot__d__slash__e__underscores__f == 'z'",
    )
    value = {
        "number": 1,
        "time": "2020-01-02T03:04:05+01:00",
        "period": "-1h30m",
        "data": "YWJj",
        "either": 1,
        "a-b": "x",
        "if": "y",
        "c.d/e__f": "z",
    }
    assert refused(given) == []
    assert found(given, value) == []


def test_functions() -> None:
    """The functions of cel.yaml can be called, also for what no list of the schema has."""
    listed = (
        "quantity('1k').add(1).asInteger() == 1001",
        "[duration('1h'), duration('1m')].min() == duration('1m')",
        "[timestamp('2020-01-01T00:00:00Z')].max().getFullYear() == 2020",
        "[duration('1h'), duration('1m')].sum() == duration('61m')",
        "semver('1.0.0-a.1').compareTo(semver('1.0.0-a.b')) == -1",
        "isSemver('1.0.0-rc+x') && !isQuantity('x') && !isIP('::ffff:1.2.3.4') && !isCIDR('x')",
        "ip('224.0.0.1').isLinkLocalMulticast() && !ip('255.255.255.255').isGlobalUnicast()",
        "!cidr('::/0').containsIP('1.2.3.4') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "url('https://[::1]:80/a').getHostname() == '::1' && !isURL('https://a:b')",
    )
    given = ruled(fields(a=STRING), *listed)
    assert refused(given) == []
    assert found(given, {}) == []


def test_refused_rules() -> None:
    """Rules are compiled with the types of the schema; all that is wrong is told, in place."""
    given = fields(
        l={"type": "array", "items": ruled(fields(a=STRING), "self.b == 1 || self.a == 1")},
        m={"type": "object", "additionalProperties": ruled(INTEGER, "self")},
    )
    first, second = refused(given)
    at = f"{AT}.properties[l].items.{rules.FIELD}[0].rule: Invalid value: "
    assert first.startswith(at + '{"Rule":"self.b == 1 || self.a == 1","Message":"",')
    assert first.endswith(
        ": compilation failed: ERROR: <input>:1:5: undefined field 'b'\n"
        " | self.b == 1 || self.a == 1\n | ....^\n"
        "ERROR: <input>:1:23: found no matching overload for '_==_' applied to '(string, int)'\n"
        " | self.b == 1 || self.a == 1\n | ......................^"
    )
    assert second.startswith(f"{AT}.properties[m].additionalProperties.{rules.FIELD}[0].rule: ")
    assert second.endswith(": cel expression must evaluate to a bool")


def test_lines_count_from_the_rule() -> None:
    """With an optional old value errors stand where they stand in the rule."""
    rule = {"rule": "oldSelf.hasValue() &&\nself.zz", "optionalOldSelf": True, "message": "x"}
    (told,) = refused(ruled(fields(a=STRING), rule))
    assert "ERROR: <input>:2:5: undefined field 'zz'\n | self.zz\n | ....^" in told


def test_nothing_is_compiled_where_a_rule_is_incomplete() -> None:
    """What can be told without compiling is told alone."""
    assert refused(ruled(fields(a=STRING), "self.zz", "")) == [
        f"{AT}.{rules.FIELD}[1].rule: Required value: rule is not specified"
    ]


def test_free_values_have_no_rules() -> None:
    """What may be anything has no type that a rule could be compiled with."""
    free = {"x-kubernetes-preserve-unknown-fields": True}
    (told,) = refused(fields(a=ruled(free, "true")))
    assert told.startswith(f"{AT}.properties[a].{rules.FIELD}: Internal error: ")


def test_what_the_library_has_not() -> None:
    """What cannot be done is told to be missing, not to be wrong."""
    for rule in (
        "format.dns1123Label().validate(self.a).hasValue()",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        f"self.a{'.trim()' * 60} == ''",
    ):
        with pytest.raises(failure.ApiFailure) as error:
            refused(ruled(fields(a=STRING), rule))
        assert error.value.code == 501


def test_old_self_in_a_text_is_no_old_self() -> None:
    """A rule that only has the word in a text is about no change."""
    assert not rules.uses_old({"rule": 'self != \'oldSelf\' && self != "\\"oldSelf"'})
    assert rules.uses_old({"rule": "self == oldSelf"})
