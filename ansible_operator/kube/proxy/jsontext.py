"""Pure: edit a JSON text where it stands, without reading and writing the rest of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_BLANK = " \t\r\n"
# Numbers stay texts: nobody asks for them, and Python reads no number of 5,000 digits.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str)


class BodyError(ValueError):
    """A body that cannot be understood; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value in the text, from ``start`` to before ``end``."""

    start: int
    end: int
    content: Any


class Document:
    """A JSON text that holds one object. Raises BodyError, in the end from everywhere."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.root = self._node(self._skip(0))
        if not isinstance(self.root.content, dict) or self._skip(self.root.end) != len(text):
            raise BodyError("it is not one JSON object")

    def value(self, node: Node) -> Any:
        """The content of a node; numbers are texts."""
        return node.content

    def child(self, node: Node, key: str) -> Node | None:
        """The value of a key, of the last one if there are several as the API server has it."""
        found = self._child(node, key)
        return None if found is None or found.content is None else found

    def put(self, node: Node, entries: Mapping[str, Any]) -> str:
        """The text with entries added to an object; those that it has are replaced."""
        text, new = self._text, dict(entries)
        old = {key: found for key in entries if (found := self._child(node, key)) is not None}
        for key, found in sorted(old.items(), key=lambda item: -item[1].start):
            text = text[: found.start] + json.dumps(new.pop(key)) + text[found.end :]
        if not new:
            return text
        inside = node.start + 1
        addition = json.dumps(new, separators=(",", ":"))[1:-1] + ("," if node.content else "")
        return text[:inside] + addition + text[inside:]

    def append(self, node: Node, item: Any) -> str:
        """The text with an item added to the end of a list."""
        end = node.end - 1
        addition = ("," if node.content else "") + json.dumps(item, separators=(",", ":"))
        return self._text[:end] + addition + self._text[end:]

    def _child(self, node: Node, key: str) -> Node | None:
        if not isinstance(node.content, dict):
            raise BodyError(f"there is no object where {key} should be")
        found = None
        for name, member in self._members(node):
            found = member if name == key else found
        return found

    def _members(self, node: Node) -> Iterator[tuple[str, Node]]:
        at = self._skip(node.start + 1)
        while self._text[at] != "}":
            name, at = _DECODER.raw_decode(self._text, at)
            at = self._skip(self._skip(at) + 1)  # the colon
            member = self._node(at)
            yield name, member
            at = self._skip(member.end)
            if self._text[at] == ",":
                at = self._skip(at + 1)

    def _node(self, start: int) -> Node:
        try:
            content, end = _DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError as exc:
            raise BodyError(f"it is no JSON: {exc}") from exc
        except RecursionError as exc:
            raise BodyError("it is nested too deeply") from exc
        return Node(start, end, content)

    def _skip(self, at: int) -> int:
        while at < len(self._text) and self._text[at] in _BLANK:
            at += 1
        return at
