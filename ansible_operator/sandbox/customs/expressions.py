"""CEL expressions: compiled against the schema of what they are about, and evaluated.

The one module that knows the library (cel-expr-python, Google's CEL), which is imported when the
first CRD with rules comes. An expression is compiled twice. To find what is wrong with it, schemas
become protobuf messages, as the library's type checker knows the fields of nothing else. To
evaluate it nothing is said of types, and values are plain ones. Both know the functions of
cel.yaml, and errors are told in the words that the API server has for them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.customs import celdeclarations, celtypes, celvalues

Schema = dict[str, Any]

# Those that the API server has too; math, bindings and encoders it has not.
_LIBRARIES = """
extensions:
- {name: lists, version: 2}
- {name: sets}
- {name: two-var-comprehensions}
- {name: optional}
- {name: strings, version: 2}
"""
# The library has no functions that give optional values from outside, and cannot do transformMap.
_UNSERVED = {
    "the format library of CEL": re.compile(r"\bformat\s*\.\s*\w+\s*\("),
    "transformMap in CEL": re.compile(r"\.\s*transformMap(?:Entry)?\s*\("),
}
# An optional old value: the library takes none from outside, so it is made within.
_CHECKED = "[optional.of(oldSelf)].map(oldSelf,\n{}\n)[0]"
_EVALUATED = "[given.?oldSelf].map(oldSelf,\n{}\n)[0]"

# What the library says, and what the API server says in its place.
_WORDS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"undefined field '(\w+)' not found in struct '[\w.]+'", r"undefined field '\1'"),
        (
            r"expression of type '(.*)' cannot be the operand of a select operation",
            r"type '\1' does not support field selection",
        ),
        (r"cannot be the range of", "cannot be range of"),
        (r"null_type", "null"),
        (r"\*error\*", "!error!"),
        (r"Key not found in map : \"?([^\"]*)\"?", r"no such key: \1"),
        (r"Index error: index=(-?\d+) size=\d+", r"index out of bounds: \1"),
        (r"divide by zero", "division by zero"),
        (r"No matching overloads found.*", "no such overload"),
    )
)


class Refused(Exception):
    """The expression does not compile; the text says why."""


class Failed(Exception):
    """The expression came to no value; the text says why."""


class Checker:
    """Compiles expressions about values of one schema. Raises ValueError if they have no type."""

    def __init__(self, schema: Schema) -> None:
        cel = library()
        pool, kind = celtypes.declare(schema)
        variables = {"self": kind, "oldSelf": kind}
        self._environment = cel.NewEnv(
            pool,
            config=cel.NewEnvConfigFromYaml(_LIBRARIES),
            variables=variables,
            extensions=[celdeclarations.checked()],
        )

    def check(self, source: str, wanted: str, *, optional: bool = False) -> bool:
        """Whether the expression is of the type ``wanted``. Raises Refused if it is of none."""
        for what, pattern in _UNSERVED.items():
            if pattern.search(source):
                raise failure.not_implemented(what)
        text = _CHECKED.format(source) if optional else source
        try:
            compiled = self._environment.compile(text)
        except RuntimeError as error:
            if "recursion" in str(error):  # the API server's limit is 250
                raise failure.not_implemented("CEL nested deeper than 32") from None
            raise Refused(_compiler_words(str(error), source, int(optional))) from None
        return bool(compiled.return_type().name().lower() == wanted)


Program = Callable[[Any], Any]
"""Evaluates an expression in a situation. Raises Failed."""

MISSING = celvalues.MISSING


def situation(value: Any, old: Any) -> Any:
    """A value and the one that was there before (or MISSING), for any number of programs."""
    given = {} if old is MISSING else {"oldSelf": old}
    return _evaluator().Activation({"self": value, "given": given, **given})


@functools.lru_cache(maxsize=4096)
def program(source: str, *, optional: bool = False) -> Program:
    """An expression that was checked before, to be evaluated."""
    text = _EVALUATED.format(source) if optional else source
    compiled = _evaluator().compile(text, disable_check=True)

    def run(about: Any) -> Any:
        try:
            found = compiled.eval(about)
            if found.type().name() == "ERROR":
                raise Failed(_evaluator_words(str(found.plain_value())))
            return found.plain_value()
        except RuntimeError as error:
            raise Failed(_evaluator_words(str(error))) from None

    return run


@functools.cache
def _evaluator() -> Any:
    cel = library()
    names = ("self", "oldSelf", "given")
    return cel.NewEnv(
        config=cel.NewEnvConfigFromYaml(_LIBRARIES),
        variables=dict.fromkeys(names, cel.Type.DYN),
        extensions=[celdeclarations.evaluated()],
    )


def library() -> Any:
    """The CEL library. Raises ApiFailure 501 where it is not installed."""
    try:
        from cel_expr_python import cel
    except ImportError:
        raise failure.not_implemented("CEL rules where cel-expr-python is missing") from None
    return cel


def _compiler_words(text: str, source: str, shift: int) -> str:
    """The library's report as the API server writes it: by place, with calls as they are written.

    ``shift`` is the number of lines that were put before the source.
    """
    reports = re.findall(r"ERROR: <input>:(\d+):(\d+): (.*?)(?=\nERROR: |\Z)", _bare(text), re.S)
    found = []
    for line, column, told in reports:
        if told.startswith("expression of type '*error*'"):
            continue  # of what was told before
        at = (int(line) - shift, int(column))
        found.append((at, _call_words(_in_words(told), source, at)))
    shown = [f"ERROR: <input>:{line}:{column}: {told}" for (line, column), told in sorted(found)]
    return "\n".join(shown) or _in_words(_bare(text))


def _call_words(told: str, source: str, at: tuple[int, int]) -> str:
    """Where a function of a value is called, ``'(int, string)'`` is written ``'int.(string)'``."""
    match = re.match(r"(found no matching overload for '(\w+)' applied to) '\((.*)\)'", told)
    lines = source.split("\n")
    if match is None or not 0 < at[0] <= len(lines):
        return told
    before = lines[at[0] - 1][: at[1] - 1].rstrip()
    if not re.search(rf"\.\s*{match[2]}$", before):
        return told
    target, *rest = celtypes.split(match[3])
    return f"{match[1]} '{target}.({', '.join(rest)})'{told[match.end() :]}"


def _evaluator_words(text: str) -> str:
    return _in_words(re.sub(r"^[A-Z_]+: ", "", _bare(text)))


def _in_words(text: str) -> str:
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text


def _bare(text: str) -> str:
    """Without the status code that the library puts before and after."""
    return re.sub(r" \[[A-Z_]+\]$", "", re.sub(r"^[A-Z_]+: (?=ERROR: )", "", text))
