"""Flags on click that read like those of Go programs: booleans, durations, sizes, sections."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from ansible_operator import durations, gotext

_T = TypeVar("_T")


class Boolean(click.ParamType[bool]):
    """``--flag``, ``--flag=true``, ``--flag=0``: as Go's flag packages read them."""

    name = "boolean"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        """A bool; fails with the list of what is accepted."""
        return _converted(gotext.boolean, value, self, param, ctx)


class Duration(click.ParamType[float]):
    """A Go duration, as seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds; fails with an example."""
        return _converted(durations.parse, value, self, param, ctx)


class Size(click.ParamType[int]):
    """A Kubernetes quantity of bytes, such as 512Mi."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes; fails with an example."""
        return _converted(gotext.size, value, self, param, ctx)


class Flag(click.Option):
    """An option that is None where it was not given and has a section in the help text.

    ``shown`` is the default as the help names it; it is applied where settings are made.
    """

    def __init__(self, *args: Any, section: str, shown: str = "", **attrs: Any) -> None:
        self.section = section
        if shown:
            attrs["help"] = f"{attrs['help']} [default: {shown}]"
        super().__init__(*args, **attrs)


class Command(click.Command):
    """A command of :class:`Flag` options; booleans need no value, unused words are in ``args``."""

    def __init__(self, *args: Any, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.allow_extra_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse after ``--flag`` of a boolean was completed to ``--flag=true``."""
        return super().parse_args(ctx, list(self._completed(args)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help, one block per section in order of appearance."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "section", "Other"), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)

    def _completed(self, args: Iterable[str]) -> Iterable[str]:
        booleans = self._names(lambda param: isinstance(param.type, Boolean))
        valued = self._names(lambda param: not isinstance(param.type, Boolean))
        rest = iter(args)
        for arg in rest:
            yield f"{arg}=true" if arg in booleans else arg
            if arg == "--":
                yield from rest
            elif arg in valued:
                yield from itertools.islice(rest, 1)

    def _names(self, wanted: Callable[[Flag], bool]) -> set[str]:
        flags = [param for param in self.params if isinstance(param, Flag)]
        return {name for param in flags if wanted(param) for name in param.opts}


def _converted(
    read: Callable[[str], _T],
    value: Any,
    kind: click.ParamType[Any],
    param: click.Parameter | None,
    ctx: click.Context | None,
) -> _T:
    try:
        return read(str(value))
    except ValueError as error:
        kind.fail(str(error), param, ctx)
