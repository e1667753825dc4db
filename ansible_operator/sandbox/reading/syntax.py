"""What is wrong with a text that is no JSON, in the words of Go's scanner."""

from __future__ import annotations

import json
import re

_ESCAPE = "in string escape code"
END = "unexpected end of JSON input"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_CONTROL = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_QUOTED = {"'": "\\'", "\\": "\\\\"}
_CONTEXTS = (
    ("Expecting value", "looking for beginning of value"),
    ("Expecting property name", "looking for beginning of object key string"),
    ("Expecting ':'", "after object key"),
    ("Expecting ','", "after object key:value pair"),
    ("Extra data", "after top-level value"),
    ("Invalid control", "in string literal"),
)
"""What Python's parser says and what Go's scanner says of the same place."""


def error(text: str, wrong: ValueError) -> str:
    """Go's message for a text of which Python's parser says that something is ``wrong``."""
    blank = _STRING.sub(lambda found: '"' * len(found[0]), text)
    if not isinstance(wrong, json.JSONDecodeError):  # a constant that is no JSON
        found = re.search("-?Infinity|NaN", blank)
        at, context = (found.start() if found else 0), _CONTEXTS[0][1]
    else:
        at = wrong.pos
        context = next((go for python, go in _CONTEXTS if wrong.msg.startswith(python)), "")
    if wrong.args[0].startswith("Illegal trailing comma"):
        at = re.compile(r",\s*").match(text, at).end()  # type: ignore[union-attr] # it is there
        context = _CONTEXTS[0 if text[at] == "]" else 1][1]
    if not context:
        return _in_string(text, at)
    if context.startswith("after") and (tail := _number_tail(text, at)):
        return tail
    if context == _CONTEXTS[0][1] and (inside := _in_token(text, at)):
        return inside
    if context == _CONTEXTS[3][1] and _in_array(blank[:at]):
        context = "after array element"
    return _invalid(text, at, context) if at < len(text) else END


def _invalid(text: str, at: int, context: str) -> str:
    """Go's scanner reads a space after the end."""
    char = text[at : at + 1] or " "
    code = ord(char)
    if code > 127:  # it reads bytes
        char = chr(char.encode()[0])
    elif code < 32 or code == 127:
        char = _CONTROL.get(char, f"\\x{code:02x}")
    return f"invalid character '{_QUOTED.get(char, char)}' {context}"


def _in_array(before: str) -> bool:
    depth = 0
    for char in reversed(before):
        depth += (char in "]}") - (char in "[{")
        if depth < 0:
            return char == "["
    return False


def _in_string(text: str, at: int) -> str:
    """An escape that is none, or a string without an end."""
    place = text.find("\\", max(at - 2, 0))
    if place < 0 or place > at + 1:
        return _invalid(text, len(text), _ESCAPE) if text.endswith("\\") else END
    if text[place + 1 : place + 2] != "u":
        return _invalid(text, place + 1, _ESCAPE)
    digits = re.compile(r"[0-9a-fA-F]{0,4}").match(text, place + 2)
    end = digits.end() if digits else at
    return _invalid(text, end, "in \\u hexadecimal character escape")


def _number_tail(text: str, at: int) -> str:
    """What follows a number and does not belong there, though it looked so."""
    if at and text[at - 1].isdecimal() and text[at : at + 1] == ".":
        return _invalid(text, at + 1, "after decimal point in numeric literal")
    if at and text[at - 1].isdecimal() and text[at : at + 1] in ("e", "E"):
        sign = text[at + 1 : at + 2] in ("+", "-")
        return _invalid(text, at + 1 + sign, "in exponent of numeric literal")
    return ""


def _in_token(text: str, at: int) -> str:
    """A number or literal that begins well."""
    if text[at : at + 1] == "-":
        return _invalid(text, at + 1, "in numeric literal")
    for literal in ("true", "false", "null"):
        if text[at : at + 1] == literal[0]:
            place = next(i for i, char in enumerate(literal) if text[at + i : at + i + 1] != char)
            expecting = f"in literal {literal} (expecting '{literal[place]}')"
            return _invalid(text, at + place, expecting)
    return ""
