"""What failed, in words for a person: task, file and line, host, Ansible's own message.

Ansible's own text stays verbatim inside, so that what searches conditions for it goes on
working. The output of ``no_log`` tasks is never shown, only that it is hidden.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_operator.ansible import events

LIMIT = 16 * 1024
_SHOWN_ITEMS = 5
_OUTPUT_LIMIT = 2048
_ITEM_LIMIT = 1024
_ERROR_LINE = re.compile(r"^(?:\[ERROR\]:|ERROR!|fatal:|Traceback )", re.MULTILINE)
_MSG = re.compile(r'"msg": ?("(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")')


def failure(event: events.Event) -> str:
    """The message for one failed task or unreachable host."""
    if event.kind == events.UNREACHABLE:
        head = f"host {event.host} is unreachable at {event.where}"
    else:
        head = f"{event.where} failed on {event.host}"
    if event.is_hidden:
        return f"{head}; its output is hidden because of no_log"
    if not event.result:
        return f"{head}: {_from_stdout(event.stdout)}"
    return "\n".join([f"{head}: {_words(event.result)}", *_items(event)])


def output(text: str, *, whole: bool = True) -> str:
    """What Ansible said: its error with position, or else, if ``whole``, its last lines."""
    text = events.clean(text).strip("\n")
    start = _ERROR_LINE.search(text)
    if start is None and not whole:
        return ""
    lines = text[start.start() :].splitlines() if start else text.splitlines()[-20:]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def bound(text: str, job: str, limit: int = LIMIT) -> str:
    """The text cut to ``limit`` bytes of UTF-8; a cut text says where the rest is."""
    text = events.clean(text)
    if len(text.encode()) <= limit:
        return text
    pointer = f"\n... cut here; the rest is in the operator's log and artifacts (job {job})"
    return cut(text, limit - len(pointer.encode())) + pointer


def cut(text: str, limit: int) -> str:
    """The first ``limit`` bytes of UTF-8, without half a character."""
    return text.encode()[:limit].decode(errors="ignore")


def join(messages: Sequence[str]) -> str:
    """Several messages as one, each once, one below the other."""
    return "\n".join(dict.fromkeys(filter(None, messages)))


def _words(result: Mapping[str, Any]) -> str:
    """Ansible's message, the exit code, and what the program printed."""
    said = result.get("msg")
    parts = [said if isinstance(said, str) and said else "no message"]
    code = result.get("rc")
    if isinstance(code, int):
        parts[0] += f" (rc={code})"
    for key in ("stderr", "module_stderr", "stdout", "module_stdout"):
        text = result.get(key)
        if isinstance(text, str) and text.strip():
            label = key.removeprefix("module_")
            parts.append(f"{label}: {_tail(events.clean(text).strip())}")
            break
    return "\n".join(parts)


def _tail(text: str) -> str:
    if len(text) <= _OUTPUT_LIMIT:
        return text
    return "... " + text[-_OUTPUT_LIMIT:]


def _items(event: events.Event) -> Iterator[str]:
    """The first failed items of a loop, and how many more there are."""
    if "results" not in event.result:
        return
    failed = [item for item in events.results(event) if item.get("failed") is True]
    for item in failed[:_SHOWN_ITEMS]:
        label = item.get("_ansible_item_label", item.get("item", "?"))
        yield f"item {cut(str(label), 256)}: {cut(_item_words(item), _ITEM_LIMIT)}"
    hidden = len(failed) - _SHOWN_ITEMS + _omitted(event.result)
    if hidden > 0:
        yield f"... and {hidden} more failed items"


def _item_words(item: Mapping[str, Any]) -> str:
    return "output hidden because of no_log" if events.is_hidden(item) else _words(item)


def _omitted(result: Mapping[str, Any]) -> int:
    """Failed items that the operator's callback plugin left out of a very long result."""
    value = result.get("_operator_omitted_failed")
    return value if isinstance(value, int) else 0


def _from_stdout(stdout: str) -> str:
    """The message of a result that was too large for the event, from what Ansible printed."""
    found = _MSG.search(stdout)
    if found:
        return str(json.loads(found.group(1), strict=False))
    text = output(stdout)
    return cut(text, _OUTPUT_LIMIT) if text else "no message"
