"""What a person reads about a failure."""

from __future__ import annotations

import ansible_events as made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.ansible import events, message

HEAD = f"task 'boom' ({made.PATH}) failed on localhost"


def test_names_task_place_host_and_message() -> None:
    """Task, file, line and host come first, Ansible's words verbatim after them."""
    assert message.failure(made.failed("exactly: this {{ text }}")) == (
        f"{HEAD}: exactly: this {{{{ text }}}}"
    )


def test_unreachable_names_the_host() -> None:
    """An unreachable host is named as such."""
    event = made.task_event(events.UNREACHABLE, {"msg": "refused"}, host="far")
    assert message.failure(event) == f"host far is unreachable at {event.where}: refused"


@pytest.mark.parametrize(
    ("result", "tail"),
    [
        ({"msg": "non-zero return code", "rc": 3, "stderr": "bad\x07\n", "stdout": "out"},
         "non-zero return code (rc=3)\nstderr: bad"),
        ({"msg": "m", "rc": 1, "stdout": " out "}, "m (rc=1)\nstdout: out"),
        ({"msg": "MODULE FAILURE", "module_stderr": "Traceback"},
         "MODULE FAILURE\nstderr: Traceback"),
        ({"module_stdout": "said"}, "no message\nstdout: said"),
        ({"msg": ["a"], "rc": "x"}, "no message"),
    ],
)  # fmt: skip
def test_output_of_the_module(result: dict[str, object], tail: str) -> None:
    """Exit code and what the program printed follow Ansible's message."""
    assert message.failure(made.task_event(events.FAILED, result)) == f"{HEAD}: {tail}"


def test_long_output_shows_its_end() -> None:
    """Of long output the end is shown, where errors stand."""
    result = {"msg": "m", "stderr": "x" * 10_000 + "the end"}
    text = message.failure(made.task_event(events.FAILED, result))
    assert text.endswith("the end")
    assert len(text) < 2400


def test_no_log_is_hidden_and_said_so() -> None:
    """A no_log failure names task and place and nothing of the output."""
    for result in (
        {"censored": "the output has been hidden"},
        {"_ansible_no_log": True, "msg": "s3cret"},
    ):
        text = message.failure(made.task_event(events.FAILED, result, stdout="s3cret"))
        assert text == f"{HEAD}; its output is hidden because of no_log"


def test_loop_shows_the_first_failed_items() -> None:
    """Five failed items with their words, then how many more."""
    items = [{"failed": i % 2 == 1, "item": f"i{i}", "msg": f"m{i}"} for i in range(20)]
    items.append({"failed": True, "censored": "x", "_ansible_item_label": "secret one"})
    result = {"msg": "One or more items failed", "results": items, "_operator_omitted_failed": 100}
    assert message.failure(made.task_event(events.FAILED, result)).splitlines() == [
        f"{HEAD}: One or more items failed",
        *(f"item i{i}: m{i}" for i in (1, 3, 5, 7, 9)),
        "... and 106 more failed items",
    ]


def test_censored_item() -> None:
    """An item with no_log shows that it is hidden."""
    items = [{"failed": True, "censored": "x", "_ansible_item_label": "one"}]
    text = message.failure(made.task_event(events.FAILED, {"msg": "m", "results": items}))
    assert text.endswith("item one: output hidden because of no_log")


@pytest.mark.parametrize(
    ("stdout", "tail"),
    [
        ('fatal: [localhost]: FAILED! => {"changed": false, "msg": "say \\"hä\\" \\u00e4"}',
         'say "hä" ä'),
        ("[ERROR]: Task failed: too long\nOrigin: x", "[ERROR]: Task failed: too long\nOrigin: x"),
        ("", "no message"),
    ],
)  # fmt: skip
def test_result_that_is_not_in_the_event(stdout: str, tail: str) -> None:
    """When the result was too large for the event, what Ansible printed tells."""
    event = made.task_event(events.FAILED, {})
    event = events.Event({**event.raw, "stdout": stdout})
    assert message.failure(event) == f"{HEAD}: {tail}"


def test_output_starts_with_the_error() -> None:
    """Of a parser's output the part from the error on is shown, without colours and blank lines."""
    text = (
        "\x1b[1mUsing x\x1b[0m\n\x1b[31m[ERROR]: YAML parsing failed\x1b[0m\n\nOrigin: a.yml:5:4  "
    )
    assert message.output(text) == "[ERROR]: YAML parsing failed\nOrigin: a.yml:5:4"
    assert message.output("ERROR! old style") == "ERROR! old style"


def test_output_without_an_error_shows_the_end() -> None:
    """Without an error line the last twenty lines are shown."""
    text = "\n".join(f"l{i}" for i in range(50))
    assert message.output(text).splitlines() == [f"l{i}" for i in range(30, 50)]
    assert message.output("") == ""


def test_bound_points_to_the_rest() -> None:
    """A long message is cut within the limit and names where the rest is."""
    text = message.bound("ä" * 40_000, "job7")
    assert len(text.encode()) <= message.LIMIT
    assert "(job job7)" in text
    assert message.bound("short\x00", "j") == "short"


@given(st.text(), st.integers(min_value=200, max_value=400))
def test_bound_is_bounded(text: str, limit: int) -> None:
    """Any text fits the limit in bytes of UTF-8."""
    assert len(message.bound(text * 10, "j", limit).encode()) <= limit


def test_join_says_everything_once() -> None:
    """Equal messages are joined to one, empty ones left out."""
    assert message.join(["a", "", "b", "a"]) == "a\nb"
