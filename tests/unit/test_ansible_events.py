"""The view of ansible-runner's events."""

from __future__ import annotations

import ansible_events as made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.ansible import events


def test_reads_a_task_event() -> None:
    """Kind, task, place, host, actions and result are read from where ansible-runner puts them."""
    event = made.task_event(
        events.FAILED, {"msg": "no"}, resolved_action="ansible.builtin.fail", ignore_errors=True
    )
    assert event.kind == "runner_on_failed"
    assert event.where == f"task 'boom' ({made.PATH})"
    assert event.host == "localhost"
    assert event.actions == {"fail", "ansible.builtin.fail"}
    assert event.result == {"msg": "no"}
    assert event.is_ignored


@pytest.mark.parametrize("raw", [{}, {"event_data": None}, {"event_data": [], "stdout": None}])
def test_anything_may_be_missing(raw: dict[str, object]) -> None:
    """An event without its usual parts reads as empty."""
    event = events.Event(raw)
    assert (event.kind, event.task, event.where, event.host, event.created) == ("",) * 5
    assert event.stdout == ""
    assert not event.is_ignored
    assert event.result == {}


def test_where_without_a_path() -> None:
    """A task without a path is named without one."""
    assert made.event(events.OK, task="t").where == "task 't'"


def test_results_of_a_loop_and_of_a_single_task() -> None:
    """A loop gives one result per item, also for items that are no maps."""
    loop = made.task_event(events.OK, {"results": [{"a": 1}, "odd"]})
    assert list(events.results(loop)) == [{"a": 1}, {}]
    assert list(events.results(made.task_event(events.OK, {"a": 1}))) == [{"a": 1}]


def test_clean_removes_colours_and_control_characters() -> None:
    """Colours, bells, carriage returns and NUL go; tabs and line ends stay."""
    text = "\x1b[0;31mred\x1b[0m\r\nnext\tline\x00\x07\x1b]\udc80 \x1bM\x9bend"
    assert events.clean(text) == "red\nnext\tline end"


@given(st.text(st.characters()))
def test_clean_text_can_be_stored(text: str) -> None:
    """Cleaned text is valid UTF-8 without control characters, and cleaning again keeps it."""
    cleaned = events.clean(text)
    cleaned.encode()
    assert not [c for c in cleaned if ord(c) < 32 and c not in "\n\t"]
    assert events.clean(cleaned) == cleaned
