"""Environment variables in the text of watches.yaml, put in before it is YAML, as Go's os.Expand.

Lines are remembered: they stay those of the file as it was written, also where the value of a
variable has several lines.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# ${name}, an unclosed ${, one-character shell variables, $name
_REFERENCE = re.compile(
    r"\$(?:\{(?P<braced>[^}]*)\}|(?P<open>\{)|(?P<special>[*#$@!?\-0-9])|(?P<plain>[A-Za-z0-9_]+))"
)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something odd that does not stop the load; ``line`` counts from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Expanded:
    """The text with variables put in; ``lines`` has, for each of its lines, the written line."""

    text: str
    notices: tuple[Notice, ...]
    lines: tuple[int, ...]

    def written(self, line: int) -> int:
        """The line of the written file, from 1, for a line of the text, which counts from 0."""
        return self.lines[min(line, len(self.lines) - 1)]


def expand(text: str, environ: Mapping[str, str]) -> Expanded:
    """Put environment variables into the text before it is YAML, exactly as the incumbent does.

    A variable that is not set stays, as ``${NAME}``, and is reported with its line; ``${}`` and an
    unclosed ``${`` vanish and are reported.
    """
    breaks = [match.start() for match in re.finditer("\n", text)]
    pieces: list[str] = []
    lines = [1]
    notices: list[Notice] = []
    position = 0
    for match in _REFERENCE.finditer(text):
        line = bisect.bisect_left(breaks, match.start()) + 1
        literal = text[position : match.start()]
        value, problem = _substitute(match, environ)
        pieces += (literal, value)
        lines += range(line - literal.count("\n") + 1, line + 1)
        lines += _lines_within(match[0], value, line)
        position = match.end()
        if problem and not _in_comment(text, match.start()):
            notices.append(Notice(line, problem))
    rest = text[position:]
    pieces.append(rest)
    end = len(breaks) + 1
    lines += range(end - rest.count("\n") + 1, end + 1)
    return Expanded("".join(pieces), tuple(dict.fromkeys(notices)), tuple(lines))


def _substitute(match: re.Match[str], environ: Mapping[str, str]) -> tuple[str, str]:
    """The replacement of a reference and, if there is one, what to tell about it."""
    name = match["braced"] or match["special"] or match["plain"]
    if not name:
        return "", f"{match[0]!r} is not a reference to a variable and was dropped"
    if name in environ:
        return environ[name], ""
    text = "${" + name + "}"
    return text, f"the environment variable {name} is not set; the text {text} stays as it is"


def _lines_within(written: str, replacement: str, line: int) -> Iterator[int]:
    """For each line break of the replacement: the written line on which the next text stands."""
    own = written.count("\n")  # only in a name that is not set and therefore stays
    for number in range(1, replacement.count("\n") + 1):
        yield line + min(number, own)


def _in_comment(text: str, position: int) -> bool:
    start = text.rfind("\n", 0, position) + 1
    return text[start:position].lstrip().startswith("#")
