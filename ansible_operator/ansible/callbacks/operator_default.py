"""Ansible's default output with a limit on what one result prints and reports.

Runs inside ansible-playbook, below ansible-runner's own callback, which subclasses the class here
and reports events to the operator. A task may return 50 MB; what is printed of it and what goes
into its event are cut, so that operator, log and artifacts stay small. What roles register is not
touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.plugins.callback.default import CallbackModule as DefaultCallback

DOCUMENTATION = """
    name: operator_default
    type: stdout
    short_description: default Ansible screen output with limits
    description:
        - The default output, in which long results are cut with a note.
    extends_documentation_fragment:
      - default_callback
      - result_format_callback
    requirements:
      - set as stdout in configuration
"""

PRINTED_LIMIT = 32 * 1024
STRING_LIMIT = 20 * 1024
RESULT_LIMIT = 128 * 1024
LABEL_LIMIT = 1024
SHOWN_ITEMS = 50

# What the verdict and ansible-runner read of a result comes first, so that no limit hits it.
_FIRST = ("_ansible_no_log", "censored", "failed", "skipped", "unreachable", "changed", "rc",
          "period", "item", "_ansible_item_label", "msg", "exception", "stderr", "stdout",
          "module_stderr", "module_stdout")  # fmt: skip
_CUT = "... cut by the operator, {} more {}"


class CallbackModule(DefaultCallback):  # type: ignore[misc]
    """Prints as the default callback does, within limits."""

    CALLBACK_NAME = "operator_default"

    def __init__(self) -> None:
        super().__init__()
        # ansible-runner's subclass reports every event through this method.
        capture = getattr(self, "capture_event_data", None)
        if capture is not None:
            self.capture_event_data = lambda event, **data: capture(event, **_limited_event(data))

    def _dump_results(self, result: Any, *args: Any, **kwargs: Any) -> Any:
        dumped = super()._dump_results(_limited(result, PRINTED_LIMIT), *args, **kwargs)
        return _cut(dumped, PRINTED_LIMIT) if isinstance(dumped, str) else dumped

    def _get_diff(self, difflist: Any) -> Any:
        return _cut(str(super()._get_diff(_limited(difflist, PRINTED_LIMIT))), PRINTED_LIMIT)

    def _get_item_label(self, result: Any) -> Any:
        label = super()._get_item_label(result)
        text = str(label)
        return _cut(text, LABEL_LIMIT) if len(text) > LABEL_LIMIT else label

    def _handle_exception(self, result: Any, *args: Any, **kwargs: Any) -> None:
        """Print the error of a result, unless it is hidden or repeats a message too long to print.

        ansible-core 2.19 prints the error of a failed ``no_log`` task in full.
        """
        hidden = "censored" in result or result.get("_ansible_no_log")
        if hidden or len(str(result.get("msg", ""))) > PRINTED_LIMIT:
            result.pop("exception", None)
        super()._handle_exception(result, *args, **kwargs)


def _limited_event(data: dict[str, Any]) -> dict[str, Any]:
    for key in ("res", "diff"):
        if data.get(key):
            data[key] = _limited(data[key], RESULT_LIMIT)
    return data


def _limited(value: Any, limit: int) -> Any:
    """A copy of a result that is about ``limit`` characters at most."""
    if isinstance(value, Mapping) and isinstance(value.get("results"), Sequence):
        value = _with_few_items(value)
    return _copy(value, [limit])


def _with_few_items(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a loop's items the first failed ones and the first others, in their order."""
    items = result["results"]
    if isinstance(items, str) or len(items) <= 2 * SHOWN_ITEMS:
        return result
    failed = [i for i, item in enumerate(items) if _has_failed(item)]
    others = [i for i, item in enumerate(items) if not _has_failed(item)]
    shown = sorted(failed[:SHOWN_ITEMS] + others[:SHOWN_ITEMS])
    return {
        **result,
        "results": [items[i] for i in shown],
        "_operator_omitted_items": len(items) - len(shown),
        "_operator_omitted_failed": max(0, len(failed) - SHOWN_ITEMS),
    }


def _has_failed(item: Any) -> bool:
    return isinstance(item, Mapping) and bool(item.get("failed"))


def _copy(value: Any, left: list[int]) -> Any:
    """A copy that spends at most the characters in ``left[0]``; the rest becomes a note."""
    if isinstance(value, str):
        allowed = max(0, min(STRING_LIMIT, left[0]))
        left[0] -= min(len(value), allowed)
        return value if len(value) <= allowed else _cut(value, allowed)
    if isinstance(value, Mapping):
        return _copy_map(value, left)
    if isinstance(value, (list, tuple)):
        return _copy_list(value, left)
    left[0] -= 8
    return value


def _copy_map(value: Mapping[Any, Any], left: list[int]) -> dict[Any, Any]:
    keys = [key for key in _FIRST if key in value]
    keys += [key for key in value if key not in _FIRST]
    copied: dict[Any, Any] = {}
    for number, key in enumerate(keys):
        if left[0] <= 0 and key not in _FIRST:
            copied["_operator_cut"] = _CUT.format(len(keys) - number, "keys")
            break
        left[0] -= len(str(key))
        copied[key] = _copy(value[key], left)
    return copied


def _copy_list(value: Sequence[Any], left: list[int]) -> list[Any]:
    copied: list[Any] = []
    for number, item in enumerate(value):
        if left[0] <= 0:
            copied.append(_CUT.format(len(value) - number, "entries"))
            break
        copied.append(_copy(item, left))
    return copied


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[:limit] + _CUT.format(len(text) - limit, "characters")
