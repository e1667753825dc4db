"""Object -> extra vars: which variables a run gets, under which names.

All variables are extra vars, so they beat every other Ansible variable level. In the order of
writing, later ones win, as the incumbent does:

1. every key of ``spec``, converted to snake case if the watch says so;
2. ``ansible_operator_meta``: ``{name, namespace}``;
3. ``_<group>_<kind>``: the whole object, keys not converted;
4. ``_<group>_<kind>_spec``: the original spec;
5. the watch's ``vars``, 6. on finalizer runs the finalizer's ``vars``.

Who may write an object must not thereby be able to run programs as the operator. So connection
variables never come from an object (:func:`is_connection_variable`), maps that Ansible's JSON
decoder would take for its own marks lose their marks, and everything but ``spec`` in the whole
object is always marked unsafe (``spec`` is where ``markUnsafe`` decides). What is nested so deep
that this decoder gives up is left out: Ansible then reads the file as YAML, where no mark counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_operator import objects, watches

META = "ansible_operator_meta"
MAX_DEPTH = 100
"""Levels of maps and lists; ansible-core 2.19 gives up between 230 and 245."""
MAX_NOTES = 20
MAX_PATH = 120

_UNSAFE = "__ansible_unsafe"
_DECODER_MARK = "__ansible_"
_SPECIAL_WORDS = ("HTTP", "URL", "IP")
_NUMBERS = re.compile(r"([A-Za-z])([0-9]+)([A-Za-z])([0-9]+)")

# Besides ``ansible_*`` and ``_ansible_*`` these are the names in the ``vars:`` documentation of
# ansible-core's plugins. Other magic variables (hostvars, groups, playbook_dir, ...) are left
# alone: Ansible itself overrides extra vars of these names, so an object cannot reach them.
_CONNECTION_NAMES = frozenset({"inventory_hostname", "delegated_vars"})


@dataclass(frozen=True, slots=True)
class Params:
    """The extra vars of a run, ready for JSON, and what the object's author should know."""

    variables: dict[str, Any]
    notes: tuple[str, ...] = ()


def build(watch: watches.Watch, obj: objects.Obj, finalizing: bool) -> Params:
    """The variables of a run of ``watch`` for ``obj``; ``finalizing`` adds the finalizer's vars."""
    notes: list[str] = []
    obj = _pruned(obj, "", MAX_DEPTH, notes)
    spec = objects.spec(obj)
    prefix = object_variable(watch.gvk)
    converted, spelled = spec, {key: key for key in spec}
    if watch.snake_case_parameters:
        spelled = _winners(spec, "spec", notes)
        inner = _unchanged if watch.snake_case_top_level_only else _convert
        converted = {name: inner(spec[key], f"spec.{key}", notes) for name, key in spelled.items()}
    variables: dict[str, Any] = {
        key: _encode(value, watch.mark_unsafe)
        for key, value in _spec_variables(converted, spelled, notes)
    }
    variables[META] = {"name": objects.name(obj), "namespace": objects.namespace(obj)}
    variables[prefix] = _whole(obj, watch.mark_unsafe)
    variables[f"{prefix}_spec"] = _encode(spec, watch.mark_unsafe)
    variables.update(watch.vars)
    if finalizing and watch.finalizer is not None:
        variables.update(watch.finalizer.vars)
    if obj.get("spec") is not None and not isinstance(obj["spec"], dict):
        notes.append("spec is not a map: no variables come from it")
    notes.extend([*_marks(obj), *_marks(converted, "spec")])
    return Params(variables, _first(list(dict.fromkeys(notes))))


def object_variable(gvk: objects.GVK) -> str:
    """The name of the whole-object variable: kind in lower case, ``.`` and ``-`` become ``_``."""
    return f"_{gvk.group}_{gvk.kind.lower()}".replace(".", "_").replace("-", "_")


def is_connection_variable(name: str) -> bool:
    """Whether Ansible takes this variable for how to connect, to become or to find programs.

    Spelling counts: Ansible's variable names are case-sensitive.
    """
    return name.startswith(("ansible_", "_ansible_")) or name in _CONNECTION_NAMES


def snake_case(key: str) -> str:
    """The variable name for a key of a spec, byte for byte as the incumbent converts it.

    The rule is older than this program and surprising in places (``useHTTPS`` becomes
    ``use_http_s``, ``A`` becomes ``_a``); roles depend on it. Only ASCII letters count.
    """
    text = _NUMBERS.sub(r"\1 \2 \3\4", key).strip(" ")
    capital = "A" <= text[:1] <= "Z"
    for word in _SPECIAL_WORDS:
        text = _mark_off(text, word)
    chunks = list(_chunks(text))
    prefix = capital and chunks[0] not in ("http", "url", "ip")
    return ("_" if prefix else "") + "_".join(chunks)


def _mark_off(text: str, word: str) -> str:
    """Put ``_`` around the first occurrence of a special word; a plural s joins the word."""
    head, found, tail = text.partition(word)
    if not found:
        return text
    if tail.startswith("s"):
        word, tail = word + "S", tail[1:]
    if not tail:
        return f"{head}_{word}"
    return f"{head}_{word}_{tail}" if head else f"{word}_{tail}"


def _chunks(text: str) -> Iterator[str]:
    chunk = ""
    for here, after in zip(text, f"{text[1:]} ", strict=False):
        if here in " _-":
            yield chunk.lower()
            chunk = ""
        elif chunk and _is_upper(here) and _is_lower(after):
            yield chunk.lower()
            chunk = here
        elif chunk and _is_lower(here) and _is_upper(after):
            yield (chunk + here).lower()
            chunk = ""
        else:
            chunk += here
    yield chunk.lower()


def _is_upper(char: str) -> bool:
    return "A" <= char <= "Z"


def _first(notes: list[str]) -> tuple[str, ...]:
    """The first notes, and how many more there are: an object may give rise to thousands."""
    more = len(notes) - MAX_NOTES
    return (*notes[:MAX_NOTES], *([f"... and {more} more"] if more > 0 else []))


def _pruned(value: Any, path: str, left: int, notes: list[str]) -> Any:
    """The value without what is nested more than ``left`` maps and lists deep."""
    if not isinstance(value, dict | list):
        return value
    if left == 0:
        if not path.startswith("metadata."):  # managedFields repeats the depth of the spec
            notes.append(
                f"{path[:MAX_PATH]} is not handed to Ansible: it is nested more than {MAX_DEPTH} "
                "levels deep"
            )
        return None
    if isinstance(value, list):
        return [_pruned(item, f"{path}[{i}]", left - 1, notes) for i, item in enumerate(value)]
    return {
        key: _pruned(item, f"{path}.{key}" if path else key, left - 1, notes)
        for key, item in value.items()
    }


def _is_lower(char: str) -> bool:
    return "a" <= char <= "z"


def _convert(value: Any, path: str, notes: list[str]) -> Any:
    """The value with all map keys in snake case, at all depths."""
    if isinstance(value, list):
        return [_convert(item, f"{path}[{i}]", notes) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {
        name: _convert(value[key], f"{path}.{key}", notes)
        for name, key in _winners(value, path, notes).items()
    }


def _unchanged(value: Any, path: str, notes: list[str]) -> Any:
    return value


def _winners(value: Mapping[str, Any], path: str, notes: list[str]) -> dict[str, str]:
    """Result name -> the key that gives it: the one spelled like the result, else the first."""
    winners: dict[str, str] = {}
    for key in sorted(value):
        name = snake_case(key)
        if name in winners:
            loser, winner = (winners[name], key) if key == name else (key, winners[name])
            notes.append(
                f"{path}.{loser} is not handed to Ansible: {path}.{winner} has the same name "
                f"{name!r} in snake case. Rename one of them, or read the spec variable"
            )
            winners[name] = winner
        else:
            winners[name] = key
    return winners


def _spec_variables(
    spec: Mapping[str, Any], spelled: Mapping[str, str], notes: list[str]
) -> Iterator[tuple[str, Any]]:
    """The variables that may come from a spec; ``spelled`` has the key that gave each name."""
    for name, value in spec.items():
        where = f"spec.{spelled[name]}"
        if name == META:
            notes.append(f"{where} is not handed to Ansible: the operator sets this variable")
        elif is_connection_variable(name):
            notes.append(
                f"{where} is not handed to Ansible: connection variables cannot be set by an "
                "object. A role can read it from the spec variable"
            )
        elif not name.startswith(_DECODER_MARK):
            yield name, value


def _whole(obj: objects.Obj, mark_unsafe: bool) -> dict[str, Any]:
    """The whole object; only ``spec`` may hold templates, and only if the watch allows them."""
    return {
        key: _encode(value, mark_unsafe if key == "spec" else True)
        for key, value in obj.items()
        if not key.startswith(_DECODER_MARK)
    }


def _encode(value: Any, unsafe: bool) -> Any:
    """The value for Ansible's JSON decoder, strings marked unsafe if asked for.

    A map of the object's own with the key ``__ansible_vault`` would be decrypted with the
    operator's secrets, and a malformed ``__ansible_unsafe`` makes Ansible read the file as YAML
    instead, where no mark counts: such keys are dropped.
    """
    if isinstance(value, str):
        return {_UNSAFE: value} if unsafe else value
    if isinstance(value, list):
        return [_encode(item, unsafe) for item in value]
    if isinstance(value, dict):
        return {
            key: _encode(item, unsafe)
            for key, item in value.items()
            if not key.startswith(_DECODER_MARK)
        }
    return value


def _marks(value: Any, path: str = "") -> Iterator[str]:
    """Notes on the keys that :func:`_encode` drops."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _marks(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            where = f"{path}.{key}" if path else key
            if key.startswith(_DECODER_MARK):
                yield (
                    f"{where} is not handed to Ansible: keys that begin with {_DECODER_MARK} are "
                    "Ansible's own marks"
                )
            else:
                yield from _marks(item, where)
