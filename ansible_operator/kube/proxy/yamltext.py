"""Pure: edit a YAML text where it stands, without reading and writing the rest of it.

What is inserted is JSON, which is YAML in flow style. Every edit is checked by reading the text
before and after it, as YAML has more corners than are treated here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from ansible_operator.kube.proxy.jsontext import BodyError

# Scalars stay texts. libyaml is also what the parser of the API server was made from.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_MERGE = "<<"
_LONGEST = 256 * 1024  # longer ones would take seconds; clients that generate bodies send JSON
_MOST_NODES = 200_000  # aliases of aliases can make billions of a short text


class Document:
    """A YAML text, of which the first document is one mapping, as the API server reads it."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise BodyError("it is YAML of more than 256 KiB")
        self._text = text = text.removeprefix("\ufeff")
        root = _compose(text)
        if not isinstance(root, yaml.MappingNode):
            raise BodyError("it is not one YAML mapping")
        self.root: yaml.Node = root

    def value(self, node: yaml.Node) -> Any:
        """The content of a node; scalars are texts."""
        return _construct(node)

    def child(self, node: yaml.Node, key: str) -> yaml.Node | None:
        """The value of a key; None for a null."""
        found = _child(node, key)
        return None if found is None or _is_null(found) else found

    def put(self, node: yaml.Node, entries: Mapping[str, Any]) -> str:
        """The text with entries added to a mapping; those that it has are replaced."""
        text, new = self._text, dict(entries)
        old = {key: found for key in entries if (found := _child(node, key)) is not None}
        for key, found in sorted(old.items(), key=lambda item: -item[1].start_mark.index):
            text = _replaced(text, found, new.pop(key))
        if new:
            text = _with_entries(text, node, new)
        return self._checked(text, node, lambda content: {**content, **_texts(entries)})

    def append(self, node: yaml.Node, item: Any) -> str:
        """The text with an item added to a list: at its front, where the indentation is known."""
        at, line = node.start_mark.index, json.dumps(item)
        if _is_flow(node):
            text = _insert(self._text, at + 1, line + (", " if node.value else ""))
        else:
            text = _insert(self._text, at, f"- {line}\n" + " " * node.start_mark.column)
        return self._checked(text, node, lambda content: [_texts(item), *content])

    def _checked(self, text: str, node: yaml.Node, change: Any) -> str:
        """The text, if exactly the node has changed and exactly as wanted."""
        wanted = _construct(self.root, {id(node): change})
        try:
            after = _compose(text)
            if after is not None and _construct(after) == wanted:
                return text
        except BodyError:
            pass
        raise BodyError("it is YAML of a form in which the owner cannot be put")


def _compose(text: str) -> yaml.Node | None:
    loader = _LOADER(text)
    try:
        node: yaml.Node | None = loader.get_node() if loader.check_node() else None
        return node
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        raise BodyError("it is no YAML: " + str(exc).replace("\n", " ")) from exc
    finally:
        loader.dispose()


def _construct(node: yaml.Node, changes: Mapping[int, Any] | None = None) -> Any:
    """Maps, lists and texts; ``changes`` are made to the content of nodes by their identity.

    Once each: what an alias repeats must not change with it.
    """
    try:
        return _content(node, dict(changes or {}), itertools.count())
    except RecursionError as exc:
        raise BodyError("it is nested too deeply") from exc


def _content(node: yaml.Node, changes: dict[int, Any], seen: Iterator[int]) -> Any:
    if next(seen) > _MOST_NODES:
        raise BodyError("it has too many parts")
    content: Any = node.value
    if isinstance(node, yaml.MappingNode):
        content = {_text(key): _content(value, changes, seen) for key, value in node.value}
    elif isinstance(node, yaml.SequenceNode):
        content = [_content(value, changes, seen) for value in node.value]
    change = changes.pop(id(node), None)
    return content if change is None else change(content)


def _child(node: yaml.Node, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        raise BodyError(f"there is no map where {key} should be")
    entries = {_text(name): value for name, value in node.value}
    if _MERGE in entries:
        raise BodyError(f"it merges another map (<<) into the one where {key} should be")
    return entries.get(key)


def _text(key: yaml.Node) -> str:
    if not isinstance(key, yaml.ScalarNode):
        raise BodyError("it has a key that is no text")
    return str(key.value)


def _texts(value: Any) -> Any:
    """JSON content as it is read from YAML with all scalars as texts."""
    if isinstance(value, Mapping):
        return {key: _texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return value if isinstance(value, str) else json.dumps(value)


def _is_null(node: yaml.Node) -> bool:
    plain = isinstance(node, yaml.ScalarNode) and not node.style
    return plain and node.value in ("", "~", "null", "Null", "NULL")


def _replaced(text: str, node: yaml.Node, value: Any) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise BodyError("it has a map or list where a text should be")
    start, end = node.start_mark.index, node.end_mark.index
    if start == end:  # nothing after the colon
        return _insert(text, start, " " + json.dumps(value))
    return text[:start] + json.dumps(value) + text[end:]


def _with_entries(text: str, node: yaml.Node, entries: Mapping[str, Any]) -> str:
    if _is_flow(node):
        addition = json.dumps(entries)[1:-1] + (", " if node.value else "")
        return _insert(text, node.start_mark.index + 1, addition)
    first = node.value[0][0].start_mark
    gap = "\n" + " " * first.column
    lines = [f"{json.dumps(key)}: {json.dumps(value)}{gap}" for key, value in entries.items()]
    return _insert(text, first.index, "".join(lines))


def _is_flow(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _insert(text: str, at: int, addition: str) -> str:
    return text[:at] + addition + text[at:]
