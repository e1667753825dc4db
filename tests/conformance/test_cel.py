"""Rules of CRDs in CEL: ``x-kubernetes-validations``."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import customs
import pytest
import wire
from customs import INTEGER, STRING, fields, thing, things

SHORT = STRING | {"maxLength": 10}
OBJECT: wire.Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
AT = "spec.validation.openAPIV3Schema."


def ruled(schema: wire.Obj, *rules: str | wire.Obj) -> wire.Obj:
    """A schema with rules; a text is a rule without anything else."""
    listed = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {**schema, "x-kubernetes-validations": listed}


def array(items: wire.Obj, kind: str = "atomic", *keys: str, **rest: Any) -> wire.Obj:
    """The schema of a list of at most five."""
    found = {"type": "array", "maxItems": 5, "items": items, "x-kubernetes-list-type": kind}
    return found | ({"x-kubernetes-list-map-keys": list(keys)} if keys else {}) | rest


def mapping(values: wire.Obj) -> wire.Obj:
    """The schema of a map of at most five."""
    return {"type": "object", "maxProperties": 5, "additionalProperties": values}


FIELDS = fields(
    name=SHORT,
    number=INTEGER,
    float={"type": "number"},
    flag={"type": "boolean"},
    none=SHORT | {"nullable": True},
    list=array(INTEGER),
    texts=array(SHORT),
    objects=array(fields(a=SHORT, n=INTEGER)),
    map=mapping(INTEGER),
    free={"x-kubernetes-preserve-unknown-fields": True},
    partly=OBJECT | {"properties": {"known": SHORT}},
    any={"x-kubernetes-int-or-string": True},
    duration=STRING | {"format": "duration"},
    time=STRING | {"format": "date-time"},
    day=STRING | {"format": "date"},
    bytes=STRING | {"format": "byte"},
    embedded=OBJECT | {"x-kubernetes-embedded-resource": True},
    **{"namespace": SHORT, "a-b": SHORT, "a.b": SHORT, "a/b": SHORT, "a__b": SHORT, "1x": SHORT},
)
VALUES = {
    "name": "abc",
    "number": 3,
    "float": 2,
    "flag": True,
    "none": None,
    "list": [1, 2, 3],
    "texts": ["b", "a"],
    "objects": [{"a": "x", "n": 1}, {"a": "y"}],
    "map": {"k": 1, "l.m": 2},
    "free": {"z": 1},
    "partly": {"known": "v", "unknown": 1},
    "any": "5%",
    "duration": "1h30m",
    "time": "2020-01-02T03:04:05Z",
    "day": "2020-01-02",
    "bytes": "YWJj",
    "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {}}},
    "namespace": "ns",
    "a-b": "dash",
    "a.b": "dot",
    "a/b": "slash",
    "a__b": "scores",
    "1x": "hidden",
}


@pytest.fixture
def group(unique: str) -> str:
    """An API group of the test's own."""
    return f"{unique}.cel.example.com"


# -- what rules are refused ----------------------------------------------------------------------


def told(server: wire.Server, group: str, schema: wire.Obj) -> list[tuple[str, str]]:
    """Field and message of all that is said against a CRD whose spec has the schema."""
    found = customs.refused(server, wire.crd(group, fields(spec=schema)))
    at = f"{AT}properties[spec]."
    return [(field.removeprefix(at), message) for _, field, message in found]


def shown(rule: str, **parts: str) -> str:
    """A rule as messages have it."""
    rule = rule.replace("&", "\\u0026").replace(">", "\\u003e").replace("<", "\\u003c")
    expression = parts.get("messageExpression", "")
    return (
        f'{{"Rule":"{rule}","Message":"","MessageExpression":"{expression}","Reason":null,'
        '"FieldPath":"","OptionalOldSelf":null}'
    )


@pytest.mark.parametrize(
    ("rule", "column", "wrong"),
    [
        ("self.x == 1", 5, "undefined field 'x'"),
        ("has(self.x)", 4, "undefined field 'x'"),
        ("self.?x.hasValue()", 5, "undefined field 'x'"),
        ("foo == 1", 1, "undeclared reference to 'foo' (in container '')"),
        ("self.name.foo()", 14, "undeclared reference to 'foo' (in container '')"),
        (
            "self.number == 'a'",
            13,
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "self.float + 1 > 2.0",
            12,
            "found no matching overload for '_+_' applied to '(double, int)'",
        ),
        (
            "self.list.all(x, x == 'a')",
            20,
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "self.map['k'] == 'b'",
            15,
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        ("self.objects.all(o, o.zz == 1)", 22, "undefined field 'zz'"),
        (
            "self.name == null",
            11,
            "found no matching overload for '_==_' applied to '(string, null)'",
        ),
        ("self.free == 1", 5, "undefined field 'free'"),
        ("self.partly.unknown == 1", 12, "undefined field 'unknown'"),
        ("self.embedded.spec == 1", 14, "undefined field 'spec'"),
        ("self.a__b == 'x'", 5, "undefined field 'a__b'"),
        ("oldSelf.zz == 1", 8, "undefined field 'zz'"),
        ("has(self.name.x)", 4, "type 'string' does not support field selection"),
        (
            "self.texts.sum() == 1",
            15,
            "found no matching overload for 'sum' applied to 'list(string).()'",
        ),
        (
            "self.list.indexOf('a') == 1",
            18,
            "found no matching overload for 'indexOf' applied to 'list(int).(string)'",
        ),
        (
            "quantity(self.number).isInteger()",
            9,
            "found no matching overload for 'quantity' applied to '(int)'",
        ),
        (
            "self.name in self.list",
            11,
            "found no matching overload for '@in' applied to '(string, list(int))'",
        ),
        (
            "self.number ? true : false",
            13,
            "found no matching overload for '_?_:_' applied to '(int, bool, bool)'",
        ),
        (
            "self +",
            7,
            "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', "
            "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
        ),
    ],
)
def test_rules_are_compiled(
    server: wire.Server, group: str, rule: str, column: int, wrong: str
) -> None:
    """A rule must be about what the schema has, with functions and types that fit."""
    message = (
        f"Invalid value: {shown(rule)}: compilation failed: ERROR: <input>:1:{column}: {wrong}\n"
        f" | {rule}\n | {'.' * (column - 1)}^"
    )
    assert told(server, group, ruled(FIELDS, rule)) == [
        ("x-kubernetes-validations[0].rule", message)
    ]


def test_every_error_is_told(server: wire.Server, group: str) -> None:
    """All rules are looked at, and all that is wrong with one."""
    rule = "self.name == 1 && self.flag == 2"
    found = told(server, group, ruled(FIELDS, rule, "self.zz", "self.name == 'a'", "self.yy"))
    assert [field for field, _ in found] == [
        f"x-kubernetes-validations[{index}].rule" for index in (0, 1, 3)
    ]
    first = [line for line in found[0][1].split("\n") if "ERROR" in line]
    assert [line.split("ERROR: ")[1].split(": found")[0] for line in first] == [
        "<input>:1:11",
        "<input>:1:29",
    ]


def test_rules_come_to_true_or_false(server: wire.Server, group: str) -> None:
    """A rule is a bool, a messageExpression a string."""
    for rule in ("1", "'a'", "self.number", "self.any", "dyn(true)", "optional.of(true)"):
        assert told(server, group, ruled(FIELDS, rule)) == [
            (
                "x-kubernetes-validations[0].rule",
                f"Invalid value: {shown(rule)}: cel expression must evaluate to a bool",
            )
        ]
    at = "x-kubernetes-validations[0].messageExpression"
    for expression, wrong in (
        ("1", "messageExpression must evaluate to a string"),
        (
            "self.zz",
            "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'zz'\n"
            " | self.zz\n | ....^",
        ),
    ):
        found = told(
            server, group, ruled(FIELDS, {"rule": "true", "messageExpression": expression})
        )
        given = shown("true", messageExpression=expression)
        assert found == [(at, f"Invalid value: {given}: {wrong}")]


@pytest.mark.parametrize(
    ("rule", "field", "message"),
    [
        ({"rule": " "}, "rule", "Required value: rule is not specified"),
        (
            {"rule": "true", "message": "a\nb"},
            "message",
            'Invalid value: "a\\nb": must not contain line breaks',
        ),
        (
            {"rule": "true", "message": " "},
            "message",
            'Invalid value: " ": must be non-empty if specified',
        ),
        (
            {"rule": "true &&\n true"},
            "message",
            "Required value: message must be specified if rule contains line breaks",
        ),
        (
            {"rule": "true", "messageExpression": " "},
            "messageExpression",
            "Required value: messageExpression must be non-empty if specified",
        ),
        (
            {"rule": "true", "reason": "Foo"},
            "reason",
            'Unsupported value: "Foo": supported values: "FieldValueDuplicate", '
            '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        ),
        (
            {"rule": "true", "fieldPath": ".zz"},
            "fieldPath",
            'Invalid value: ".zz": must be a valid path',
        ),
        (
            {"rule": "true", "fieldPath": ".objects[0].a"},
            "fieldPath",
            'Invalid value: ".objects[0].a": must be a valid path',
        ),
        (
            {"rule": "true", "optionalOldSelf": True},
            "optionalOldSelf",
            "Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ],
)
def test_parts_of_rules(
    server: wire.Server, group: str, rule: wire.Obj, field: str, message: str
) -> None:
    """What stands beside the expression has its own rules."""
    assert told(server, group, ruled(FIELDS, rule)) == [
        (f"x-kubernetes-validations[0].{field}", message)
    ]


def test_where_rules_can_stand(server: wire.Server, group: str) -> None:
    """Not on values that may be anything, nor about old entries that cannot be told apart."""
    free = ruled({"x-kubernetes-preserve-unknown-fields": True}, "true")
    assert customs.refused(server, wire.crd(group, fields(spec=fields(a=free)))) == [
        (
            "InternalError",
            f"{AT}properties[spec].properties[a].x-kubernetes-validations",
            "Internal error: internal error: failed to construct type information for "
            "x-kubernetes-validations rules: unable to convert structural schema to CEL "
            "declarations",
        )
    ]
    change = "self == oldSelf"
    for kind in ("atomic", "set"):
        found = told(server, group, fields(l=array(ruled(SHORT, change), kind)))
        assert found == [
            (
                "properties[l].items.x-kubernetes-validations[0].rule",
                f'Invalid value: "{change}": oldSelf cannot be used on the uncorrelatable portion '
                f"of the schema within {AT}properties[spec].properties[l]",
            )
        ]
    entry = fields(k=SHORT, v=ruled(SHORT, change)) | {"required": ["k"]}
    assert told(server, group, fields(l=array(entry, "map", "k"))) == []
    assert told(server, group, fields(m=mapping(ruled(SHORT, change)))) == []


def test_defaults_keep_the_rules(server: wire.Server, group: str) -> None:
    """A default that breaks a rule is refused."""
    schema = fields(a=ruled(STRING | {"default": "b"}, "self == 'a'"))
    assert told(server, group, schema) == [
        ("properties[a].default", "Invalid value: \"b\": failed rule: self == 'a'")
    ]
    schema = fields(a=ruled(STRING, "self == 'a'")) | {"default": {"a": "b"}}
    assert told(server, group, schema) == [
        ("default.a", "Invalid value: \"b\": failed rule: self == 'a'")
    ]


# -- what is true --------------------------------------------------------------------------------

TRUE = [
    # fields and their names
    "self.name == 'abc' && self.number == 3 && self.flag",
    "!has(self.objects[1].n) && has(self.objects[0].n) && has(self.list)",
    "self.a__dash__b == 'dash' && self.a__dot__b == 'dot' && self.a__slash__b == 'slash'",
    "self.a__underscores__b == 'scores' && self.__namespace__ == 'ns'",
    "self.namespace == 'ns' && !has(self.none) && !self.?none.hasValue()",
    "self.partly.known == 'v'",
    "self.embedded.kind == 'Pod' && self.embedded.metadata.name == 'p'",
    "self.map.k == 1 && self.map['l.m'] == 2 && 'k' in self.map && self.map.size() == 2",
    # numbers, times, texts
    "self.float == 2.0 && self.float + 0.5 > 2 && self.number < 3.5",
    "self.any == '5%' && type(self.any) == string",
    "self.duration > duration('1h') && self.duration == duration('90m')",
    "self.time.getFullYear() == 2020 && self.day <= self.time",
    "self.time - duration('4s') == timestamp('2020-01-02T03:04:01Z')",
    "self.bytes == b'abc'",
    "self.name.startsWith('a') && self.name.endsWith('c') && self.name.contains('b')",
    "self.name.matches('^[a-c]{3}$') && size(self.name) == 3",
    "self.name.upperAscii() == 'ABC' && self.name.indexOf('c') == 2",
    "self.name.substring(1) == 'bc' && self.name.replace('b', '-') == 'a-c'",
    "'a,b'.split(',') == ['a', 'b'] && self.texts.join('-') == 'b-a'",
    "' x '.trim() == 'x' && 'abc'.charAt(1) == 'b' && '%s=%d'.format(['n', 1]) == 'n=1'",
    "'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
    "'a1b22'.findAll('[0-9]', 2) == ['1', '2'] && 'x'.find('[0-9]') == ''",
    "int('7') == 7 && double('1.5') == 1.5 && string(7) == '7' && dyn(self.number) == 3.0",
    "string(self.duration) == '5400s' && string(self.time) == '2020-01-02T03:04:05Z'",
    # lists and maps
    "self.list.all(x, x > 0) && self.list.exists(x, x == 2) && self.list.exists_one(x, x > 2)",
    "self.list.map(x, x * 2) == [2, 4, 6] && self.list.filter(x, x > 1).size() == 2",
    "self.list.map(x, x > 1, x + 1) == [3, 4]",
    "self.map.all(k, self.map[k] > 0) && self.map.exists(k, k == 'k')",
    "self.list.all(i, x, x == i + 1) && self.map.exists(k, v, k == 'k' && v == 1)",
    "self.map.transformList(k, v, v > 1, k) == ['l.m']",
    "self.objects.exists_one(o, o.a == 'y') && self.objects.map(o, o.a) == ['x', 'y']",
    "self.list.sum() == 6 && self.list.min() == 1 && self.list.max() == 3 && [1.5].sum() == 1.5",
    "self.list.isSorted() && !self.texts.isSorted() && [3, 1, 3].indexOf(3) == 0",
    "[3, 1, 3].lastIndexOf(3) == 2 && self.list.indexOf(9) == -1",
    "['b', 'a'].sort() == ['a', 'b'] && [1, 1, 2].distinct() == [1, 2]",
    "lists.range(3) == [0, 1, 2] && [[1], [2]].flatten() == [1, 2] && [1, 2].slice(0, 1) == [1]",
    "['bb', 'a'].sortBy(s, s.size()) == ['a', 'bb']",
    "sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1], [1])",
    "self.list + [4] == [1, 2, 3, 4] && 2 in self.list && !(9 in self.list)",
    # optional values
    "self.?name.orValue('x') == 'abc' && self.objects[1].?n.orValue(7) == 7",
    "!self.objects[1].?n.hasValue() && self.list[?9].orValue(0) == 0",
    "optional.of(1).hasValue() && optional.none().orValue(2) == 2",
    # quantities, URLs, addresses, versions
    "quantity('1') == quantity('1000m') && quantity('1Gi').asInteger() == 1073741824",
    "quantity('1.5').asApproximateFloat() == 1.5 && !quantity('1.5').isInteger()",
    "quantity('1').add(quantity('500m')).compareTo(quantity('1500m')) == 0",
    "quantity('2').sub(1).isLessThan(quantity('2')) && quantity('2k').isGreaterThan(quantity('2'))",
    "isQuantity('1Mi') && !isQuantity('1Zz')",
    "url('https://a.b:80/x%20y?q=1&q=2').getHost() == 'a.b:80'",
    "url('https://a.b:80/x').getHostname() == 'a.b' && url('https://a.b:80/x').getPort() == '80'",
    "url('https://a.b/x%20y').getEscapedPath() == '/x%20y'",
    "url('https://a.b/?q=1&q=2').getQuery()['q'] == ['1', '2']",
    "url('https://a.b').getScheme() == 'https' && isURL('/a') && !isURL('a') && !isURL('a b')",
    "ip('::1').family() == 6 && ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()",
    "ip('10.0.0.1').isGlobalUnicast() && ip('fe80::1').isLinkLocalUnicast()",
    "ip('ff02::1').isLinkLocalMulticast() && string(ip('2001:DB8::1')) == '2001:db8::1'",
    "isIP('1.2.3.4') && !isIP('01.2.3.4') && ip.isCanonical('::1') && !ip.isCanonical('0:0::1')",
    "ip('2001:db8::1') == ip('2001:DB8::1')",
    "cidr('10.0.0.0/8').containsIP('10.1.1.1') && !cidr('10.0.0.0/8').containsIP(ip('11.1.1.1'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && isCIDR('::/0') && !isCIDR('10.0.0.0')",
    "cidr('10.1.0.0/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.0.0/8').prefixLength() == 8",
    "cidr('10.1.0.0/8').ip() == ip('10.1.0.0')",
    "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.2.3').minor() == 2",
    "semver('1.0.0-rc.1').isLessThan(semver('1.0.0')) && semver('v1.2', true).patch() == 0",
    "isSemver('1.2.3') && !isSemver('v1.2') && isSemver('v1.2', true)",
]


def test_what_is_true(server: wire.Server, ns: str, group: str) -> None:
    """Expressions with the functions that the API server has come to what it makes of them."""
    for half in (TRUE[: len(TRUE) // 2], TRUE[len(TRUE) // 2 :]):
        assert told(server, group, ruled(FIELDS, *half)) == []
    # The rules of one schema may only cost so much: so each gets its own place.
    parts = {f"p{index}": ruled(FIELDS, rule) for index, rule in enumerate(TRUE)}
    crd = wire.crd(group, fields(spec=fields(**parts)))
    with customs.serving(server, crd):
        spec = dict.fromkeys(parts, VALUES)
        answer = server.post(things(crd, ns), thing(crd, "a", spec=spec))
        wrong = customs.causes(answer) if answer.code != 201 else []
        assert [message for _, _, message in wrong] == []


def test_names_that_are_alike(server: wire.Server, ns: str, group: str) -> None:
    """Maps whose names differ only in how words are joined are two fields with their own types."""
    schema = fields(aB=mapping(INTEGER), a_b=mapping(SHORT), A_B=array(INTEGER))
    rules = ("self.aB['k'] == 1", "self.a_b['k'] == 'x'", "self.A_B == [2]")
    broken = ruled(schema, "self.a_b.all(k, self.a_b[k].size() < 2)")
    crd = wire.crd(group, fields(spec=fields(right=ruled(schema, *rules), wrong=broken)))
    with customs.serving(server, crd):
        right = {"aB": {"k": 1}, "a_b": {"k": "x"}, "A_B": [2]}
        assert server.post(things(crd, ns), thing(crd, "a", spec={"right": right})).code == 201
        wrong = server.post(things(crd, ns), thing(crd, "b", spec={"wrong": {"a_b": {"k": "xy"}}}))
        assert [field for _, field, _ in customs.causes(wrong)] == ["spec.wrong"]


# -- what is said of objects that break rules ---------------------------------------------------

GROWS = {"rule": "self >= oldSelf", "message": "must grow"}
BROKEN = fields(
    replicas=ruled(INTEGER, {"rule": "self >= 1", "message": "at least one"}),
    min=INTEGER,
    max=INTEGER,
    name=ruled(
        SHORT,
        {"rule": "self.startsWith('a')", "messageExpression": "'name is ' + self"},
        {"rule": "self != 'a1'", "messageExpression": "self == 'x' ? 'a' : ''", "message": "plain"},
        {"rule": "self != 'a2'", "messageExpression": "'two\\nlines'"},
    ),
    fixed=ruled(SHORT, {"rule": "self == oldSelf", "message": "immutable"}),
    same=ruled(array(SHORT, "set"), {"rule": "self == oldSelf", "message": "keep it"}),
    first=ruled(
        SHORT,
        {
            "rule": "oldSelf.hasValue() || self == 'init'",
            "optionalOldSelf": True,
            "message": "must begin with init",
        },
    ),
    duplicate=ruled(SHORT, {"rule": "self != 'x'", "reason": "FieldValueDuplicate"}),
    forbidden=ruled(
        SHORT, {"rule": "self != 'x'", "reason": "FieldValueForbidden", "message": "no"}
    ),
    required=ruled(
        fields(a=SHORT),
        {
            "rule": "has(self.a)",
            "reason": "FieldValueRequired",
            "fieldPath": ".a",
            "message": "say a",
        },
    ),
    paths=ruled(
        fields(m=mapping(SHORT), **{"a-b": SHORT}),
        {"rule": "!('k.z' in self.m)", "fieldPath": ".m['k.z']"},
        {"rule": "!has(self.a__dash__b)", "fieldPath": ".a-b"},
    ),
    list=ruled(
        array(ruled(fields(a=SHORT, n=INTEGER), "self.n > 0")),
        {"rule": "self.all(x, x.a != 'bad')", "message": "no bad"},
    ),
    map=ruled(mapping(ruled(INTEGER, "self > 0")), "self.all(k, k.size() < 3)"),
    keyed=array(fields(k=SHORT, v=ruled(INTEGER, GROWS)) | {"required": ["k"]}, "map", "k"),
    names=ruled(array(SHORT, "set"), {"rule": "oldSelf.all(x, x in self)", "message": "only grow"}),
    part=ruled(INTEGER, "10 / self > 0"),
    pick=ruled(array(INTEGER), "self[2] > 0"),
    has=ruled(fields(x=SHORT), "self.x == 'a'"),
    either=ruled(
        {"x-kubernetes-int-or-string": True}, "type(self) == int ? self > 0 : self.endsWith('%')"
    ),
    silent=ruled(fields(x=SHORT), {"rule": "false", "messageExpression": "self.x + 'y'"}),
    twice=ruled(fields(x=INTEGER), "self.x > 5", "self.x > 6"),
    empty=ruled(SHORT | {"nullable": True}, "self == 'x'"),
    amount=ruled(SHORT, "quantity(self).isGreaterThan(quantity('1Gi'))"),
    address=ruled(SHORT, "ip(self).family() == 4"),
    period=ruled(STRING | {"format": "duration"}, "self > duration('1h')"),
    pattern=STRING | {"pattern": "^[a-z]+$"},
)
BETWEEN = "!has(self.replicas) || !has(self.max) || self.replicas <= self.max"
SPEC = ruled(
    BROKEN,
    {
        "rule": "!has(self.min) || !has(self.max) || self.min <= self.max",
        "message": "min over max",
    },
    BETWEEN,
)
ROOT = ruled(
    fields(spec=SPEC, status=fields(n=ruled(INTEGER, "self > 0"))),
    {"rule": "self.metadata.name.size() < 10", "message": "long name"},
)


@pytest.fixture(scope="module")
def crd(server: wire.Server) -> Iterator[wire.Obj]:
    """A CRD with all these rules, served."""
    group = f"r{uuid.uuid4().hex[:10]}.cel.example.com"
    with customs.serving(server, wire.crd(group, ROOT, subresources={"status": {}})) as found:
        yield found


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, []),
        ({"replicas": 0}, ["spec.replicas: Invalid value: 0: at least one"]),
        ({"name": "b"}, ['spec.name: Invalid value: "b": name is b']),
        ({"name": "a1"}, ['spec.name: Invalid value: "a1": plain']),
        ({"name": "a2"}, ["spec.name: Invalid value: \"a2\": failed rule: self != 'a2'"]),
        ({"fixed": "anything"}, []),
        ({"first": "x"}, ['spec.first: Invalid value: "x": must begin with init']),
        ({"first": "init"}, []),
        ({"duplicate": "x"}, ['spec.duplicate: Duplicate value: "x"']),
        ({"forbidden": "x"}, ["spec.forbidden: Forbidden: no"]),
        ({"required": {}}, ["spec.required.a: Required value: say a"]),
        (
            {"paths": {"m": {"k.z": "1"}, "a-b": "x"}},
            [
                "spec.paths.m[k.z]: Invalid value: failed rule: !('k.z' in self.m)",
                "spec.paths.a-b: Invalid value: failed rule: !has(self.a__dash__b)",
            ],
        ),
        (
            {"list": [{"n": 0, "a": "bad"}, {"n": 1, "a": "x"}]},
            [
                "spec.list: Invalid value: no bad",
                "spec.list[0]: Invalid value: failed rule: self.n > 0",
            ],
        ),
        (
            {"map": {"a": 0, "long": 1}},
            [
                "spec.map: Invalid value: failed rule: self.all(k, k.size() < 3)",
                "spec.map[a]: Invalid value: 0: failed rule: self > 0",
            ],
        ),
        ({"keyed": [{"k": "a", "v": 1}], "names": ["a"]}, []),
        (
            {"part": 0},
            [
                'spec.part: Invalid value: "integer": division by zero evaluating rule: '
                "10 / self > 0"
            ],
        ),
        (
            {"pick": [1]},
            [
                'spec.pick: Invalid value: "array": index out of bounds: 2 evaluating rule: '
                "self[2] > 0"
            ],
        ),
        (
            {"has": {}},
            ["spec.has: Invalid value: \"object\": no such key: x evaluating rule: self.x == 'a'"],
        ),
        (
            {"either": 0},
            [
                "spec.either: Invalid value: 0: failed rule: type(self) == int ? self > 0 : "
                "self.endsWith('%')"
            ],
        ),
        (
            {"either": "5"},
            [
                'spec.either: Invalid value: "5": failed rule: type(self) == int ? self > 0 : '
                "self.endsWith('%')"
            ],
        ),
        ({"either": "5%"}, []),
        ({"silent": {}}, ["spec.silent: Invalid value: failed rule: false"]),
        ({"silent": {"x": "q"}}, ["spec.silent: Invalid value: qy"]),
        (
            {"twice": {"x": 1}},
            [
                "spec.twice: Invalid value: failed rule: self.x > 5",
                "spec.twice: Invalid value: failed rule: self.x > 6",
            ],
        ),
        ({"min": 5, "max": 4}, ["spec: Invalid value: min over max"]),
        ({"replicas": 5, "max": 4}, [f"spec: Invalid value: failed rule: {BETWEEN}"]),
        ({"empty": None}, []),
        (
            {"amount": "1Mi"},
            [
                'spec.amount: Invalid value: "1Mi": failed rule: '
                "quantity(self).isGreaterThan(quantity('1Gi'))"
            ],
        ),
        (
            {"amount": "x"},
            [
                'spec.amount: Invalid value: "string": quantities must match the regular '
                "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$' evaluating rule: "
                "quantity(self).isGreaterThan(quantity('1Gi'))"
            ],
        ),
        (
            {"period": "1m"},
            ["spec.period: Invalid value: \"1m\": failed rule: self > duration('1h')"],
        ),
        ({"period": "2h"}, []),
    ],
)
def test_broken_rules(
    server: wire.Server, crd: wire.Obj, shared_ns: str, spec: wire.Obj, wrong: list[str]
) -> None:
    """Each broken rule is told with its place, its message and, where it is short, the value."""
    made = thing(crd, "a", spec=spec)
    answer = server.post(things(crd, shared_ns), made, dryRun="All")
    found = customs.causes(answer) if answer.code != 201 else []
    assert [f"{field}: {message}" for _, field, message in found] == wrong


def test_functions_that_fail(server: wire.Server, crd: wire.Obj, shared_ns: str) -> None:
    """What a function cannot read is told with the rule."""
    made = thing(crd, "a", spec={"address": "nowhere"})
    answer = server.post(things(crd, shared_ns), made, dryRun="All")
    ((_, field, message),) = customs.causes(answer)
    assert field == "spec.address"
    assert message.startswith('Invalid value: "string": IP Address "nowhere" parse error during ')
    assert message.endswith(" evaluating rule: ip(self).family() == 4")


def test_reasons(server: wire.Server, crd: wire.Obj, shared_ns: str) -> None:
    """The causes have the reasons that the rules give."""
    for field, reason in (
        ("duplicate", "FieldValueDuplicate"),
        ("forbidden", "FieldValueForbidden"),
        ("fixed", "FieldValueInvalid"),
    ):
        made = thing(crd, "r", spec={field: "y"})
        at = things(crd, shared_ns)
        server.post(at, made)
        answer = server.patch(f"{at}/r", {"spec": {field: "x"}})
        assert [cause[0] for cause in customs.causes(answer)] == [reason]
        server.delete(f"{at}/r")


def test_rules_about_the_whole_object(server: wire.Server, crd: wire.Obj, shared_ns: str) -> None:
    """Rules at the root know the name; their place has none."""
    made = thing(crd, "much-too-long", spec={})
    answer = server.post(things(crd, shared_ns), made, dryRun="All")
    assert customs.causes(answer) == [("FieldValueInvalid", "<nil>", "Invalid value: long name")]
    assert answer.body["message"] == (
        f'Thing.{crd["spec"]["group"]} "much-too-long" is invalid: <nil>: Invalid value: long name'
    )


NOT_CHECKED = (
    "FieldValueInvalid",
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def test_rules_come_after_the_schema(server: wire.Server, crd: wire.Obj, shared_ns: str) -> None:
    """Where types, lengths or fields are wrong rules are not applied, and it says so."""
    at = things(crd, shared_ns)

    def found(spec: wire.Obj) -> list[tuple[str, str, str]]:
        return customs.causes(server.post(at, thing(crd, "a", spec=spec), dryRun="All"))

    told = found({"replicas": "x", "min": 5, "max": 4})
    assert [cause[:2] for cause in told[:-1]] == [("FieldValueTypeInvalid", "spec.replicas")]
    assert told[-1] == NOT_CHECKED
    told = found({"name": "b" * 11, "min": 5, "max": 4})
    assert told == [
        ("FieldValueTooLong", "spec.name", "Too long: may not be more than 10 bytes"),
        NOT_CHECKED,
    ]
    told = found({"pattern": "A", "min": 5, "max": 4})
    assert [cause[1] for cause in told] == ["spec.pattern", "spec"]


def test_rules_about_changes(server: wire.Server, crd: wire.Obj, shared_ns: str) -> None:
    """Rules with oldSelf hold for what was there and is there."""
    at = things(crd, shared_ns)
    spec = {
        "fixed": "x",
        "first": "init",
        "keyed": [{"k": "a", "v": 5}, {"k": "b", "v": 1}],
        "names": ["a", "b"],
        "same": ["a", "b"],
    }
    assert server.post(at, thing(crd, "changes", spec=spec)).code == 201

    def wrong(changes: wire.Obj) -> list[str]:
        answer = server.patch(f"{at}/changes", {"spec": changes}, dryRun="All")
        if answer.code == 200:
            return []
        return [f"{field}: {message}" for _, field, message in customs.causes(answer)]

    assert wrong({"fixed": "y"}) == ['spec.fixed: Invalid value: "y": immutable']
    assert wrong({"fixed": None}) == []
    assert wrong({"first": "later"}) == []
    grown = "Invalid value: 0: must grow"
    moved = [{"k": "b", "v": 0}, {"k": "a", "v": 5}]
    assert wrong({"keyed": moved}) == [f"spec.keyed[0].v: {grown}"]
    assert wrong({"keyed": [{"k": "c", "v": 0}]}) == []
    assert wrong({"names": ["a"]}) == ["spec.names: Invalid value: only grow"]
    assert wrong({"names": ["c", "b", "a"]}) == []
    assert wrong({"same": ["b", "a"]}) == []
    assert wrong({"same": ["b", "c"]}) == ["spec.same: Invalid value: keep it"]
    status = server.patch(f"{at}/changes/status", {"status": {"n": 0}})
    assert customs.causes(status) == [
        ("FieldValueInvalid", "status.n", "Invalid value: 0: failed rule: self > 0")
    ]


def test_what_was_wrong_before(server: wire.Server, ns: str, group: str) -> None:
    """A new rule does not refuse what it finds, as long as that stays as it is: it warns."""

    def rule(least: int) -> wire.Obj:
        number = ruled(INTEGER, {"rule": f"self >= {least}", "message": f"at least {least}"})
        return fields(spec=fields(number=number, other=INTEGER))

    crd = wire.crd(group, rule(1))

    def tighten(live: wire.Obj) -> None:
        live["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = rule(10)

    with customs.serving(server, crd):
        at = things(crd, ns)
        assert server.post(at, thing(crd, "a", spec={"number": 3})).code == 201
        assert customs.update(server, crd, tighten).code == 200
        probe = thing(crd, "probe", spec={"number": 5})
        for _ in range(1000):
            if server.post(at, probe, dryRun="All").code == 422:
                break
        answer = server.patch(f"{at}/a", {"spec": {"other": 1}})
        assert answer.code == 200
        assert answer.warnings == ['"spec.number: Invalid value: 3: at least 10"']
        answer = server.patch(f"{at}/a", {"spec": {"number": 4}})
        assert customs.causes(answer) == [
            ("FieldValueInvalid", "spec.number", "Invalid value: 4: at least 10")
        ]
