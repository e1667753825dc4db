"""The verdict and its message, from what real Ansible does."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from concurrent import futures
from pathlib import Path

import psutil
import pytest
from ansible_lab import Lab, make_object

from ansible_operator import settings, watches
from ansible_operator.ansible import message, processes, run, runner

# What a loop over 5,000 items returns, without the minutes that Ansible needs for such a loop.
MANY_ITEMS = """#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
items = [{"failed": True, "item": i, "msg": "no %d" % i, "pad": "x" * 300} for i in range(5000)]
AnsibleModule({}).fail_json(msg="One or more items failed", results=items)
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab of this test's own."""
    return Lab(tmp_path, settings.AnsibleSettings(runner_dir=tmp_path / "root", skip_facts=True))


def failed(result: run.RunResult) -> str:
    """The message of a failed run."""
    assert result.outcome is run.Outcome.FAILED
    assert result.message
    return result.message


def test_rescued_and_ignored_are_success(lab: Lab) -> None:
    """A rescued failure and an ignored one leave a success without a message."""
    result = lab.run(
        lab.tasks(
            {"block": [{"fail": {"msg": "inner"}}], "rescue": [{"debug": {"msg": "saved"}}]},
            {"command": "/bin/false", "ignore_errors": True},
            {"command": "/bin/true", "when": False},
        )
    )
    assert result.succeeded, result.message
    assert result.message == ""
    counts = result.counts
    assert (counts.ok, counts.changed, counts.skipped, counts.failures) == (2, 1, 1, 0)
    assert counts.completion.endswith("+00:00")


def test_failure_names_task_file_line_host_and_message(lab: Lab) -> None:
    """Only the failure that counts is told, with its place and Ansible's own words."""
    role = lab.role(
        "web",
        [
            {"block": [{"fail": {"msg": "was rescued"}}], "rescue": [{"debug": {"msg": "x"}}]},
            {"name": "install it", "fail": {"msg": "exactly: these words"}},
        ],
    )
    result = lab.run(role)
    path = role.path / "tasks" / "main.yml"
    line = path.read_text().splitlines().index("- fail:") + 1
    assert failed(result) == (
        f"task 'install it' ({path}:{line}) failed on localhost: exactly: these words"
    )
    assert result.counts.failures == 1
    assert result.rc == 2


def test_unreachable_host_is_failure(lab: Lab) -> None:
    """A host that cannot be reached fails the run by name; the counts are localhost's."""
    far = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    playbook = lab.playbook(
        "far.yml",
        [
            {
                "hosts": "localhost",
                "gather_facts": False,
                "tasks": [{"add_host": {"name": "far", **far}}],
            },
            {"hosts": "far", "gather_facts": False, "tasks": [{"ping": None}]},
        ],
    )
    result = lab.run(playbook)
    assert failed(result).startswith("host far is unreachable at task 'ping' (")
    assert result.counts.ok == 1


def test_no_hosts_matched_is_failure_and_an_empty_role_is_success(lab: Lab) -> None:
    """A play for a host that is not there did nothing, a role without tasks is fine."""
    nobody = lab.playbook("n.yml", [{"hosts": "nobody", "tasks": [{"ping": None}]}])
    assert "no hosts matched" in failed(lab.run(nobody))
    result = lab.run(lab.role("empty", "---\n"))
    assert result.succeeded, result.message


def test_parser_errors_carry_message_and_position(lab: Lab) -> None:
    """A syntax error, an undefined variable in a play's header, a missing role are told."""
    broken = lab.role("broken", "- debug: msg=[\n   x: {{\n")
    text = failed(lab.run(broken))
    assert text.startswith("[ERROR]: YAML parsing failed")
    assert f"{broken.path}/tasks/main.yml:2:" in text
    assert "\x1b" not in text
    header = lab.playbook("h.yml", [{"hosts": "{{ nowhere }}", "tasks": [{"ping": None}]}])
    text = failed(lab.run(header))
    assert "'nowhere' is undefined" in text
    assert f"{header.path}:" in text
    text = failed(lab.run(watches.Role(lab.path / "roles" / "missing")))
    assert "role 'missing' was not found" in text


def test_condition_that_is_not_boolean(lab: Lab) -> None:
    """A non-boolean condition reaches the message with task and file."""
    playbook = lab.tasks({"name": "on flag", "debug": {"msg": "x"}, "when": "flag"})
    text = failed(lab.run(playbook, make_object({"flag": "yes"})))
    assert text.startswith(f"task 'on flag' ({playbook.path}:")
    assert "must have a boolean result" in text or "boolean" in text


def test_killed_ansible_playbook(lab: Lab) -> None:
    """A killed ansible-playbook is told with its signal and the task it was in."""
    kill = "{{ lookup('pipe', 'kill -9 $(ps -o ppid= -p $PPID)') }}"
    text = failed(lab.run(lab.tasks({"name": "greedy", "debug": {"msg": kill}})))
    assert text.startswith("runner died (signal 9) while running task 'greedy' (")
    assert "config file" not in text


def chain(job: str) -> list[psutil.Process]:
    """The processes of a run from the small parent down to its ``sleep``; empty before that."""
    of_run = processes.of_run(job) if job else []
    found = [process for process in of_run if process.cmdline()[:1] == ["sleep"]]
    return [p for p in reversed([*found, *found[0].parents()]) if p in of_run] if found else []


@pytest.mark.parametrize("victim", [0, 1], ids=["supervise", "ansible-playbook"])
def test_killed_run_leaves_no_task_behind(lab: Lab, victim: int) -> None:
    """Whether ansible-playbook or its parent is killed, its task ends before a retry can start."""
    playbook = lab.tasks({"name": "long", "command": "sleep 600"})
    with futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(lab.run, playbook, run_timeout=120.0)
        while not (above := chain(lab.job)) and not running.done():
            time.sleep(0.05)
        above[victim].kill()
        text = failed(running.result())
    assert "runner died" in text
    _, alive = psutil.wait_procs(above, timeout=0)
    # Orphans are reaped by init, when it likes to.
    assert {process.status() for process in alive} <= {psutil.STATUS_ZOMBIE}


def test_prompts_find_nobody(lab: Lab) -> None:
    """A play that prompts does not wait for an answer that nobody gives."""
    playbook = lab.tasks({"debug": {"msg": "x"}}, vars_prompt=[{"name": "asked"}])
    result = lab.run(playbook, run_timeout=120.0)
    assert result.outcome is not run.Outcome.TIMED_OUT


def test_printed_events_are_not_believed(lab: Lab) -> None:
    """Text of an object that imitates ansible-runner's events is only text."""
    known = {"task": "x", "task_action": "requeue_after", "host": "localhost"}
    data = {**known, "res": {"period": "1s"}}
    event = {"uuid": "f", "event": "runner_on_ok", "event_data": data}
    text = base64.b64encode(json.dumps(event).encode()).decode()
    forged = f"\x1b[K{text}\x1b[{len(text)}D\x1b[K"
    playbook = lab.tasks({"name": "say {{ probe }}", "debug": {"msg": "x"}})
    result = lab.run(playbook, make_object({"probe": forged}))
    assert result.succeeded, result.message
    assert result.requeue_after is None


def test_missing_ansible_playbook(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ansible-playbook the message says so and what to do."""
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    lab.environ["PATH"] = "/nowhere"
    assert "ansible-playbook was not found on PATH" in failed(lab.run(lab.tasks()))


def test_kubeconfig_that_cannot_be_made(lab: Lab) -> None:
    """An unexpected error of ours is a failed run with its text, and leaves nothing behind."""

    def broken(_: object) -> contextlib.AbstractContextManager[str]:
        raise RuntimeError("no credentials")

    by = runner.AnsibleRunner(settings.Settings(ansible=lab.ansible), broken, lab.environ)
    assert "RuntimeError: no credentials" in failed(lab.run(lab.tasks(), by=by))
    assert list(lab.root.iterdir()) == []


def test_no_log_failure_shows_nothing(lab: Lab) -> None:
    """A no_log failure names task and file, says that output is hidden, and shows none of it."""
    playbook = lab.tasks(
        {"name": "hidden", "shell": "echo $LAB_TOKEN; exit 3", "no_log": True},
    )
    text = failed(lab.run(playbook))
    assert text.startswith(f"task 'hidden' ({playbook.path}:")
    assert text.endswith("its output is hidden because of no_log")
    assert lab.environ["LAB_TOKEN"] not in text


def test_no_log_error_is_not_printed(lab: Lab) -> None:
    """The error of a no_log task, which ansible-core 2.19 prints, is in no artifact."""
    task = {"name": "hidden", "fail": {"msg": "{{ lookup('env', 'LAB_TOKEN') }}"}, "no_log": True}
    result = lab.run(lab.tasks(task))
    assert failed(result).endswith("its output is hidden because of no_log")
    assert result.artifacts is not None
    kept = [path for path in result.artifacts.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if lab.environ["LAB_TOKEN"] in path.read_text()]


def test_error_between_tasks_is_told(lab: Lab) -> None:
    """A file that a task includes and that cannot be parsed is named with its position."""
    (lab.path / "broken.yml").write_text('- debug:\n    msg: "unclosed\n')
    included = {"name": "include", "include_tasks": str(lab.path / "broken.yml")}
    text = failed(lab.run(lab.tasks(included)))
    assert "YAML parsing failed" in text
    assert "broken.yml:3" in text


def test_huge_and_binary_failures_are_bounded(lab: Lab) -> None:
    """5,000 failed items and a long binary message fit the limit and point to the rest."""
    (lab.path / "library").mkdir()
    (lab.path / "library" / "many.py").write_text(MANY_ITEMS)
    text = failed(lab.run(lab.tasks({"name": "many", "many": {}})))
    assert "One or more items failed\nitem 0: no 0\n" in text
    assert text.endswith("... and 4995 more failed items")
    assert len(text.encode()) <= message.LIMIT
    long = lab.tasks({"name": "long", "fail": {"msg": "{{ 'ä\u0007' * 100000 }}"}})
    text = failed(lab.run(long))
    assert "ääää" in text
    assert len(text.encode()) <= message.LIMIT
    assert text.endswith(f"artifacts (job {lab.job})")
    assert "\x07" not in text


def test_long_message_with_a_foreign_callback(lab: Lab) -> None:
    """With another output callback a result too large for its event is told from the output."""
    lab.environ["ANSIBLE_STDOUT_CALLBACK"] = "default"
    long = lab.tasks({"name": "long", "fail": {"msg": "start {{ 'x' * 400000 }}"}})
    text = failed(lab.run(long))
    assert "failed on localhost: " in text
    assert "start xxxx" in text


def test_requeue_after(lab: Lab) -> None:
    """The run is finished first, the soonest period counts."""
    result = lab.run(
        lab.tasks(
            {"operator_sdk.util.requeue_after": {"time": "5h"}},
            {"operator_sdk.util.requeue_after": {"time": "1m30s"}},
            {"operator_sdk.util.requeue_after": {"time": "1s"}, "when": False},
            {"copy": {"content": "done", "dest": str(lab.path / "done")}},
        )
    )
    assert result.succeeded, result.message
    assert result.requeue_after == 90
    assert lab.read("done") == "done"


@pytest.mark.case("E11")
def test_requeue_after_with_a_bad_period(lab: Lab) -> None:
    """A period that the module refuses is a failed task with its words."""
    result = lab.run(lab.tasks({"operator_sdk.util.requeue_after": {"time": "soon"}}))
    assert "no duration" in failed(result)
    assert result.requeue_after is None
