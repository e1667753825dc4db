"""The verdict from events and return code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ansible_events as made
import pytest

from ansible_operator.ansible import events, run, verdict


def reach(happened: Iterable[events.Event], rc: int | None = 0) -> verdict.Verdict:
    """The verdict after these events."""
    tally = verdict.Tally()
    for event in happened:
        tally.observe(event)
    return verdict.reach(tally, rc)


def test_success() -> None:
    """Return code 0 and clean stats are success, with the counts of localhost."""
    counts: dict[str, Any] = {
        "ok": {"localhost": 3, "far": 9},
        "changed": {"localhost": 1},
        "skipped": {},
    }
    found = reach([made.stats(**counts)])
    assert found.outcome is run.Outcome.SUCCEEDED
    assert found.counts == run.TaskCounts(3, 1, 0, 0, "2026-12-01T02:40:19.1234+00:00")


def test_rescued_failure_is_success() -> None:
    """A failure that was rescued does not count."""
    assert reach([made.failed("inner"), made.stats(rescued={"localhost": 1})]).message == ""


def test_ignored_failure_is_success() -> None:
    """A failure with ignore_errors does not count."""
    ignored = made.failed("no matter", ignore_errors=True)
    assert reach([ignored, made.stats(ignored={"localhost": 1})]).message == ""


def test_only_unrescued_failures_are_told() -> None:
    """Of a host's failures the last ones count, as many as the stats say."""
    happened = [
        made.failed("rescued one"),
        made.failed("ignored", ignore_errors=True),
        made.failed("rescued two"),
        made.failed("the real one"),
        made.failed("elsewhere", host="far"),
        made.failed("rescued there", host="near"),
        made.stats(failures={"localhost": 1, "far": 1}, rescued={"localhost": 2, "near": 1}),
    ]
    found = reach(happened, 2)
    assert found.outcome is run.Outcome.FAILED
    assert [line.rsplit(": ")[-1] for line in found.message.splitlines()] == [
        "the real one",
        "elsewhere",
    ]
    assert found.counts.failures == 1


def test_unreachable_is_failure_even_with_return_code_0() -> None:
    """An unreachable host fails the run, also when a later play ended well."""
    gone = made.task_event(events.UNREACHABLE, {"msg": "refused"}, host="far")
    found = reach([gone, made.stats(dark={"far": 1}, ok={"localhost": 5})], 0)
    assert "host far is unreachable" in found.message
    assert found.counts.ok == 5


def test_ignored_unreachable_is_success() -> None:
    """With ignore_unreachable the stats do not count the host as dark."""
    gone = made.task_event(events.UNREACHABLE, {"msg": "refused"}, host="far")
    assert reach([gone, made.stats(ok={"far": 1}, ignored={"far": 1})]).message == ""


def test_failures_of_which_no_event_came() -> None:
    """Stats that count failures without an event still fail the run and name the host."""
    found = reach([made.stats(failures={"a": 1}, dark={"b": 1})], 2)
    assert found.message == "a task failed on host a\nunreachable: host b"


def test_no_hosts_matched() -> None:
    """A play that matched nothing is a failure, an empty play on localhost is not."""
    nothing = made.stats(processed={})
    assert "no hosts matched" in reach([made.event(events.NO_HOSTS), nothing]).message
    assert reach([nothing]).message == ""
    assert reach([made.event(events.NO_HOSTS), made.stats()]).message == ""


def test_parser_error() -> None:
    """Without stats the parser's message with its position is the reason."""
    happened = made.output("[ERROR]: YAML parsing failed: odd.", "Origin: /p.yml:5:4", "")
    assert reach(happened, 4).message == "[ERROR]: YAML parsing failed: odd.\nOrigin: /p.yml:5:4"


def test_error_in_play_header() -> None:
    """An error event outside of tasks is the reason, too."""
    happened = [made.event("error", "[ERROR]: Error processing keyword 'name'\r\nOrigin: p:1:10")]
    assert reach(happened, 4).message.startswith("[ERROR]: Error processing keyword 'name'\n")


def test_silent_end() -> None:
    """Without stats and words the exit code and the task are told."""
    start = made.task_event(events.TASK_START)
    assert reach([start], 5).message == (
        f"ansible-playbook ended with exit code 5 and without a summary while running {start.where}"
    )
    assert "without a summary" in reach(made.output("nothing to do"), 0).message


def test_bad_exit_code_with_clean_stats() -> None:
    """Clean stats and a bad exit code are a failure with Ansible's last words."""
    found = reach([*made.output("ERROR! cannot close"), made.stats()], 250)
    assert found.message == "ansible-playbook ended with exit code 250\nERROR! cannot close"


@pytest.mark.parametrize(
    ("rc", "text"), [(137, "runner died (signal 9)"), (143, "runner died (signal 15)"),
                     (None, "runner died (killed by a signal)")]
)  # fmt: skip
def test_killed(rc: int | None, text: str) -> None:
    """A run that a signal ended names it and the task it was in, and the last failure if any."""
    start = made.task_event(events.TASK_START, task="heavy")
    assert reach([start], rc).message == f"{text} while running {start.where}"
    assert reach([made.failed("a"), made.failed("b")], rc).message.endswith("b")


@pytest.mark.parametrize(
    ("periods", "delay"),
    [(["1m30s"], 90), (["5h", "10s", "1m"], 10), (["0"], None), (["-1s"], None)],
)
def test_requeue_after(periods: list[str], delay: float | None) -> None:
    """The soonest of the periods counts; zero and below is no request."""
    happened = [
        made.task_event(events.OK, {"period": p}, task_action="operator_sdk.util.requeue_after")
        for p in periods
    ]
    assert reach([*happened, made.stats()]).requeue_after == delay


def test_requeue_after_by_its_resolved_name_and_in_a_loop() -> None:
    """The module is known by its full name, too; skipped items do not count."""
    results = [{"period": "20s"}, {"skipped": True}, {"period": "30s"}]
    loop = made.task_event(
        events.OK, {"results": results}, task_action="x",
        resolved_action="operator_sdk.util.requeue_after",
    )  # fmt: skip
    assert reach([loop, made.stats()]).requeue_after == 20


@pytest.mark.parametrize("result", [{}, {"period": "soon"}, {"period": 5}, {"period": ""}])
@pytest.mark.case("E11")
def test_requeue_after_without_a_period_is_a_failure(result: dict[str, object]) -> None:
    """A bad or missing period in a good result fails the run and names the task."""
    event = made.task_event(events.OK, result, task_action="requeue_after")
    found = reach([event, made.stats()])
    assert found.message.startswith(f"{event.where} did not say when to run again: ")
    assert found.requeue_after is None


def test_requeue_after_of_a_failed_run_does_not_count() -> None:
    """A failed run is retried with backoff, whatever it asked for."""
    asked = made.task_event(events.OK, {"period": "1h"}, task_action="requeue_after")
    failed = [asked, made.failed("x"), made.stats(failures={"localhost": 1})]
    assert reach(failed, 2).requeue_after is None


@pytest.mark.parametrize(
    ("created", "text"),
    [
        ("2026-01-02T15:04:05.123456+00:00", "2026-01-02T15:04:05.123456+00:00"),
        ("2026-01-02T15:04:05.120000+00:00", "2026-01-02T15:04:05.12+00:00"),
        ("2026-01-02T15:04:05.000000+00:00", "2026-01-02T15:04:05+00:00"),
        ("2026-01-02T15:04:05+00:00", "2026-01-02T15:04:05+00:00"),
        ("2026-01-02T15:04:05.1234567890+00:00", "2026-01-02T15:04:05.12345678+00:00"),
        ("", ""),
    ],
)
def test_completion(created: str, text: str) -> None:
    """The fraction loses its trailing zeros and has eight digits at most."""
    assert verdict.completion(created) == text


def test_counts_without_and_with_odd_stats() -> None:
    """No stats are zeros, and counts that are no numbers as well."""
    assert verdict.task_counts(None) == run.TaskCounts()
    assert verdict.task_counts(made.stats(ok={"localhost": "x"}, changed=[])).ok == 0


def test_memory_is_bounded() -> None:
    """Hundreds of failures and lines of output are not kept."""
    tally = verdict.Tally()
    for number in range(500):
        tally.observe(made.failed("x" * 100_000, host=f"h{number}"))
        tally.observe(made.output("line")[0])
    kept = sum(len(known.text) for known in tally.failures) + sum(map(len, tally.output))
    assert kept < 2_000_000
