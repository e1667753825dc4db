"""The functions of cel.yaml for the CEL library, once to check calls and once to answer them."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml

from ansible_operator.sandbox.customs import celfunctions, celtypes

_LINE = re.compile(
    r"(?:(?P<receiver>\w[\w<|>]*)\.(?=\w+\())?(?P<name>[\w.]+)\((?P<taken>.*)\) (?P<given>\S+)"
)
_OPAQUE = {name.rpartition(".")[2]: name for name in celtypes.OPAQUE}
_COMPARISONS = ("_<_", "_<=_", "_>_", "_>=_")
_NUMBERS = ("int", "uint", "double")


@dataclass(frozen=True, slots=True)
class Declaration:
    """One function for one row of types; the first is the receiver's where there is one."""

    name: str
    member: bool
    taken: tuple[str, ...]
    given: str

    @property
    def id(self) -> str:
        """What tells it from all others."""
        return f"{self.name}{'.' if self.member else ''}({','.join(self.taken)})"


def declarations() -> Iterator[Declaration]:
    """The functions of cel.yaml, lists once for each type of their entries."""
    text = resources.files(__package__).joinpath("cel.yaml").read_text("utf-8")
    for line in yaml.safe_load(text):
        match = _LINE.fullmatch(line)
        assert match is not None, line
        receiver, name, taken, given = match.groups()
        if receiver == "ip":  # no type: isCanonical is a function of the library
            receiver, name = None, f"{receiver}.{name}"
        first = [receiver] if receiver else []
        rest = celtypes.split(taken) if taken else []
        entries = re.search(r"<(.*\|.*)>", receiver or "")
        for entry in entries[1].split("|") if entries else [""]:
            row = [re.sub(r"<.*\|.*>", f"<{entry}>", kind) for kind in (*first, *rest)]
            types = tuple(entry if kind == "*" else kind for kind in row)
            yield Declaration(name, bool(receiver), types, entry if given == "*" else given)


@functools.cache
def checked() -> Any:
    """What the type checker must know of."""
    overloads: dict[str, list[Any]] = {}
    for found in (*declarations(), *_numeric()):
        overloads.setdefault(found.name, []).append(_overload(found, _type(found.given)))
    return _extension(overloads)


def evaluated() -> Any:
    """What the evaluator calls. There the opaque types are texts, and entries of lists are not told
    apart; so of declarations that are the same then, the first stands for all.
    """
    from cel_expr_python import cel

    overloads: dict[str, dict[str, Any]] = {}
    for one in declarations():
        found = dataclasses.replace(one, taken=tuple(_erased(kind) for kind in one.taken))
        made = overloads.setdefault(found.name, {})
        if found.name != "string" and found.id not in made:
            made[found.id] = _overload(found, cel.Type.DYN, celfunctions.named(found.name))
    return _extension({name: list(made.values()) for name, made in overloads.items() if made})


def _overload(found: Declaration, given: Any, does: Callable[..., Any] | None = None) -> Any:
    from cel_expr_python import cel

    return cel.Overload(
        id=found.id,
        return_type=given,
        parameters=[_type(kind) for kind in found.taken],
        is_member=found.member,
        **({} if does is None else {"impl": does}),
    )


def _numeric() -> Iterator[Declaration]:
    """Numbers of different types can be compared, which the library does but does not check."""
    for name in _COMPARISONS:
        for one in _NUMBERS:
            for other in _NUMBERS:
                if one != other:
                    yield Declaration(name, False, (one, other), "bool")


def _extension(overloads: dict[str, list[Any]]) -> Any:
    from cel_expr_python import cel

    declared = [cel.FunctionDecl(name, listed) for name, listed in overloads.items()]
    return cel.CelExtension("kubernetes", declared)


def _erased(kind: str) -> str:
    if kind.startswith("list<"):
        return "list<dyn>"
    return "string" if kind in _OPAQUE else kind


@functools.cache
def _type(kind: str) -> Any:
    from cel_expr_python import cel

    return cel.Type(_OPAQUE.get(kind, kind))
