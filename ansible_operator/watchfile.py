"""The text of watches.yaml, with variables put in, parsed to YAML nodes that know their lines."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from ansible_operator import envtext, errors


@dataclass(frozen=True, slots=True)
class Document:
    """The one YAML document of a file; ``root`` is None where the file has no content."""

    file: str
    root: yaml.Node | None
    source: envtext.Expanded

    def place(self, node: yaml.Node, entry: int = 0, key: str = "") -> errors.Place:
        """Where ``node`` stands, for errors and warnings."""
        return errors.Place(self.file, self.source.written(node.start_mark.line), entry, key)


def parse(source: envtext.Expanded, file: str) -> Document:
    """Parse the one YAML document of a file.

    Raises :class:`errors.WatchesError` if the text is not YAML, holds more than one document, or
    gives a key twice in one map.
    """
    try:
        roots = [node for node in _compose(source.text) if not _is_empty(node)]
    except yaml.YAMLError as error:
        raise _not_yaml(error, source, file) from error
    if len(roots) > 1:
        raise errors.WatchesError(
            errors.Place(file, source.written(roots[1].start_mark.line)),
            "a second YAML document starts here",
            "Put all entries into one list and remove the '---' between them",
        )
    document = Document(file, roots[0] if roots else None, source)
    if document.root is not None:
        _refuse_duplicate_keys(document, document.root, set())
    return document


def value(node: yaml.Node, place: errors.Place) -> Any:
    """``node`` as JSON-like data: maps with text keys, lists, text, numbers, booleans, None.

    Dates stay text, as in the incumbent. Raises :class:`errors.WatchesError` for what JSON cannot
    hold: not-a-number, infinity, binary, a map or list as key, a node that contains itself.
    """
    loader = _Loader("")
    try:
        return _plain(loader.construct_object(node, deep=True))
    except (yaml.YAMLError, ValueError) as error:
        problem = getattr(error, "problem", None) or str(error)
        raise errors.WatchesError(place, problem, "Use only what JSON can hold") from error
    except _UNREADABLE as error:
        kind = node.tag.rpartition(":")[2]
        raise errors.WatchesError(place, f"this is no {kind}", "Remove the tag") from error
    except RecursionError as error:
        raise errors.WatchesError(place, "nested too deeply", "Flatten it") from error
    finally:
        loader.dispose()


def pairs(node: yaml.MappingNode, place: errors.Place) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    """Key and value nodes of a map by the text of the key, with ``<<`` merged in.

    Raises :class:`errors.WatchesError` if what is to be merged is no map.
    """
    loader = _Loader("")
    try:
        loader.flatten_mapping(node)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error)
        raise errors.WatchesError(place, problem, "'<<' takes a map or a list of maps") from error
    finally:
        loader.dispose()
    return {str(key.value): (key, child) for key, child in node.value}


# What PyYAML's constructors raise for text that does not fit its explicit tag (``!!bool foo``).
_UNREADABLE = (KeyError, IndexError, AttributeError, TypeError)


class _Loader(yaml.SafeLoader):
    """YAML 1.1 without dates and base-60 numbers; keys are text, as JSON has them.

    So ``22:22`` and ``2024-01-01`` are text, and the keys ``1`` and ``yes`` do not collide, which
    in Python they would.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The map with text keys."""
        self.flatten_mapping(node)
        return {
            _key(self.construct_object(key, deep=True)): self.construct_object(child, deep=deep)
            for key, child in node.value
        }


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag
        not in (
            "tag:yaml.org,2002:timestamp",
            "tag:yaml.org,2002:int",
            "tag:yaml.org,2002:float",
        )
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
        r"|[0-9][0-9_]*[eE][-+]?[0-9]+|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
    ),
    list("-+0123456789."),
)


def _compose(text: str) -> Iterator[yaml.Node]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                yield node
    finally:
        loader.dispose()


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _not_yaml(error: yaml.YAMLError, source: envtext.Expanded, file: str) -> errors.WatchesError:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = source.written(mark.line) if mark else 0
        what = ", ".join(part for part in (error.context, error.problem) if part)
    else:  # a ReaderError: a character that YAML does not allow
        position = getattr(error, "position", 0)
        line = source.written(source.text.count("\n", 0, position))
        what = f"a character that YAML does not allow ({getattr(error, 'reason', error)})"
    unset = "".join(f"; {note.text}" for note in source.notices if note.line == line)
    return errors.WatchesError(
        errors.Place(file, line),
        f"this is not YAML: {what}{unset}",
        "Check indentation, colons and quotes on this line and the one before it",
    )


def _refuse_duplicate_keys(document: Document, node: yaml.Node, seen: set[int]) -> None:
    if id(node) in seen:  # an alias, or a node that contains itself
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        first: dict[str, yaml.Node] = {}
        for key, child in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in first:
                    raise _given_twice(document, key, first[key.value])
                first[key.value] = key
            _refuse_duplicate_keys(document, child, seen)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_duplicate_keys(document, child, seen)


def _given_twice(document: Document, key: yaml.Node, earlier: yaml.Node) -> errors.WatchesError:
    entry = _entry_of(document.root, key)
    first = document.source.written(earlier.start_mark.line)
    return errors.WatchesError(
        document.place(key, entry, str(key.value)),
        f"this key is given twice, first in line {first}",
        "Keep one of the two",
    )


def _entry_of(root: yaml.Node | None, node: yaml.Node) -> int:
    """Which entry of the list, from 1, the node stands in; 0 if there is no list."""
    if not isinstance(root, yaml.SequenceNode):
        return 0
    return sum(entry.start_mark.index <= node.start_mark.index for entry in root.value)


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _plain(item) for key, item in data.items()}
    if isinstance(data, list):
        return [_plain(item) for item in data]
    if data is None or isinstance(data, bool | int | str):
        return data
    if isinstance(data, float) and math.isfinite(data):
        return data
    raise ValueError(f"{data!r} cannot be handed to Ansible as a variable")


def _key(key: Any) -> str:
    """A map's key as text, as JSON has it: ``true`` for a boolean, ``1`` for a number."""
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    if isinstance(key, str | int | float):
        return str(key)
    raise ValueError(f"{key!r} cannot be the key of a map")
