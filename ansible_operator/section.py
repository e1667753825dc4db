"""Typed reading of one map of watches.yaml; what it cannot read it reports with line and key.

Keys match in any case and text may be written as a number, as Go's decoder has it for the
incumbent. Unlike there, a key that nobody knows is reported, with the nearest that exists.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import yaml

from ansible_operator import durations, errors, watchfile

_NO_ADVICE: Mapping[str, str] = MappingProxyType({})
_TAG = "tag:yaml.org,2002:"
_SHORT_BOOLEANS = {"y": True, "Y": True, "n": False, "N": False}
_BARE_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?")


@dataclass(slots=True)
class Section:
    """The map ``node``, which is the entry number ``entry`` or lies in it below ``prefix``.

    ``warn`` gets every line that should be logged. A key that is absent, or null, reads as None.
    """

    document: watchfile.Document
    node: yaml.MappingNode
    entry: int
    warn: Callable[[str], None]
    prefix: str = ""
    _found: dict[str, tuple[yaml.Node, yaml.Node]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        own = [key for key, _ in self.node.value if key.tag != _TAG + "merge"]
        for text, (key, child) in watchfile.pairs(
            self.node, self.document.place(self.node, self.entry)
        ).items():
            other = self._found.get(text.lower())
            if other is not None and key in own and other[0] in own:
                raise errors.WatchesError(
                    self.document.place(key, self.entry, self.prefix + text),
                    f'this is the same key as "{other[0].value}"; upper and lower case are alike',
                    "Keep one of the two",
                )
            self._found[text.lower()] = (key, child)

    def place(self, key: str = "") -> errors.Place:
        """Where ``key`` stands; the start of the section if it is absent."""
        name = self.prefix + key if key else self.prefix.rstrip(".")
        node = self._found[key.lower()][0] if key.lower() in self._found else self.node
        return self.document.place(node, self.entry, name)

    def error(self, key: str, problem: str, hint: str = "") -> errors.WatchesError:
        """An error that names file, line, entry and key."""
        return errors.WatchesError(self.place(key), problem, hint)

    def caution(self, key: str, text: str) -> None:
        """Warn of something about ``key``."""
        self.warn(f"{self.place(key)}: {text}")

    def expect(self, keys: Sequence[str], advice: Mapping[str, str] = _NO_ADVICE) -> None:
        """Warn of every key that is not one of ``keys``, with the nearest one that is.

        ``advice`` says what to do instead of a key that many believe to exist.
        """
        known = {key.lower(): key for key in keys}
        for name, (key, _) in self._found.items():
            if name in known:
                continue
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            guess = f"did you mean {known[near[0]]}?" if near else f"known are {', '.join(keys)}"
            hint = advice.get(str(key.value), guess)
            self.caution(str(key.value), f"unknown key, ignored; {hint}")

    def given(self, key: str) -> bool:
        """Whether the key is there and not null."""
        return self._node(key) is not None

    def text(self, key: str) -> str:
        """Text, or a number or boolean as it is written; empty where there is none."""
        node = self._node(key)
        return "" if node is None else self._scalar(key, node)

    def flag(self, key: str) -> bool | None:
        """A boolean of YAML 1.1: true, yes, on, y and their opposites, without quotes."""
        node = self._node(key)
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode):
            if node.tag == _TAG + "bool":
                return bool(watchfile.value(node, self.place(key)))
            if node.style is None and node.value in _SHORT_BOOLEANS:
                return _SHORT_BOOLEANS[node.value]
        raise self.error(key, f"expected true or false, found {_found(node)}", "Write it unquoted")

    def number(self, key: str) -> int | None:
        """A whole number."""
        node = self._node(key)
        if node is None:
            return None
        if node.tag != _TAG + "int":
            raise self.error(
                key, f"expected a whole number, found {_found(node)}", "Write digits only, unquoted"
            )
        return int(watchfile.value(node, self.place(key)))

    def duration(self, key: str) -> float | None:
        """A Go duration, in seconds."""
        node = self._node(key)
        if node is None:
            return None
        text = self._scalar(key, node)
        try:
            return durations.parse(text)
        except ValueError as error:
            hint = "A duration needs a unit, for example 10m, 1h30m or 30s; 0 turns it off"
            if _BARE_NUMBER.fullmatch(text):
                raise self.error(key, f"{text} is a number without a unit", hint) from error
            raise self.error(key, str(error), hint) from error

    def words(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, or one text that is split as a shell does."""
        node = self._node(key)
        if node is None:
            return None
        if isinstance(node, yaml.SequenceNode):
            return self.texts(key)
        try:
            return tuple(shlex.split(self._scalar(key, node)))
        except ValueError as error:
            raise self.error(
                key, f"cannot be split into words: {error}", "Balance the quotes"
            ) from (error)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty where there is none."""
        return tuple(self._scalar(key, node) for node in self._items(key))

    def data(self, key: str) -> dict[str, Any]:
        """A map of anything that JSON can hold; empty where there is none."""
        node = self._node(key)
        if node is None:
            return {}
        found: dict[str, Any] = watchfile.value(self._mapping(key, node), self.place(key))
        return found

    def text_map(self, key: str) -> dict[str, str]:
        """A map of texts; empty where there is none."""
        node = self._node(key)
        if node is None:
            return {}
        found = watchfile.pairs(self._mapping(key, node), self.place(key))
        return {name: self._scalar(f"{key}.{name}", child) for name, (_, child) in found.items()}

    def section(self, key: str) -> Section | None:
        """A map that has keys of its own."""
        node = self._node(key)
        return None if node is None else self._below(self._mapping(key, node), key)

    def sections(self, key: str) -> Iterator[Section]:
        """A list of maps; nothing where there is none."""
        for number, node in enumerate(self._items(key)):
            yield self._below(self._mapping(key, node), f"{key}[{number}]")

    def _below(self, node: yaml.MappingNode, name: str) -> Section:
        return Section(self.document, node, self.entry, self.warn, f"{self.prefix}{name}.")

    def _node(self, key: str) -> yaml.Node | None:
        _, node = self._found.get(key.lower(), (None, None))
        return None if node is None or node.tag == _TAG + "null" else node

    def _scalar(self, key: str, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode):
            return "" if node.tag == _TAG + "null" else str(node.value)
        raise errors.WatchesError(
            self.document.place(node, self.entry, self.prefix + key),
            f"expected text, found {_found(node)}",
        )

    def _mapping(self, key: str, node: yaml.Node) -> yaml.MappingNode:
        if isinstance(node, yaml.MappingNode):
            return node
        raise self.error(key, f"expected a map, found {_found(node)}", "Write 'name: value' pairs")

    def _items(self, key: str) -> list[yaml.Node]:
        node = self._node(key)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(key, f"expected a list, found {_found(node)}", "Start items with '- '")
        return list(node.value)


def _found(node: yaml.Node) -> str:
    """What a node is, in the words of somebody who writes YAML."""
    if isinstance(node, yaml.MappingNode):
        return "a map"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    kind = {"int": "the number ", "float": "the number ", "bool": "the boolean "}
    prefix = kind.get(node.tag.removeprefix(_TAG), "the text ")
    return prefix + (f'"{node.value}"' if prefix == "the text " else str(node.value))
