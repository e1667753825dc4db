"""How a run is done: command, environment, limits, directories, artifacts, log."""

from __future__ import annotations

import base64
import gc
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
import structlog
from ansible_lab import GVK, TOKEN, Lab, dump, make_object

from ansible_operator import objects, settings, watches
from ansible_operator.ansible import environment, inputdir, options, processes, run


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab of this test's own."""
    return Lab(tmp_path, settings.AnsibleSettings(runner_dir=tmp_path / "root", skip_facts=True))


def command(result: run.RunResult) -> list[str]:
    """The command line of a run from its artifacts."""
    assert result.artifacts is not None
    found: list[str] = json.loads((result.artifacts / "command").read_text())["command"]
    return found


def wait_for(path: Path) -> None:
    """Wait until a task of the run has made this file."""
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)


def test_environment_and_known_paths(lab: Lab) -> None:
    """A task finds the operator's environment, the kubeconfig, and the paths that roles know."""
    lab.environ["ANSIBLE_ROLES_PATH"] = str(lab.path / "more")
    sibling = lab.path / "more" / "sibling" / "tasks"
    sibling.mkdir(parents=True)
    (sibling / "main.yml").write_text("- set_fact: {sibling_ran: true}\n")
    lab.role("neighbour", [{"set_fact": {"neighbour_ran": True}}])
    env = "lookup('env', '{}')"
    role = lab.role(
        "web",
        [
            {"include_role": {"name": "sibling"}},
            {"include_role": {"name": "neighbour"}},
            {
                "set_fact": {
                    "hosts_file": f"{{{{ lookup('file', '{lab.object_dir}/inventory/hosts') }}}}"
                }
            },
            dump(
                lab.path,
                f"{{'token': {env.format('LAB_TOKEN')}, 'kube': {env.format('KUBECONFIG')},"
                f" 'auth': {env.format('K8S_AUTH_KUBECONFIG')}, 'cwd': {env.format('PWD')},"
                " 'ran': sibling_ran and neighbour_ran, 'hosts': hosts_file,"
                " 'config': lookup('file', lookup('env', 'KUBECONFIG')),"
                " 'play': playbook_dir, 'role': role_name}",
            ),
        ],
    )
    result = lab.run(role)
    assert result.succeeded, result.message
    value = json.loads(lab.read("dump"))
    private = lab.object_dir / inputdir.RUNS / lab.job
    assert value["token"] == TOKEN
    assert value["kube"] == value["auth"] == str(private / "kubeconfig")
    assert value["config"] == f"token: {TOKEN}"
    assert value["play"] == str(private / "project")
    assert value["hosts"].startswith("localhost ansible_connection=local")
    assert value["role"] == "web"
    assert value["ran"] is True
    assert sorted(p.name for p in lab.object_dir.iterdir()) == [".runs", "artifacts"]
    assert list((lab.object_dir / ".runs").iterdir()) == []


def test_command_line(lab: Lab) -> None:
    """Extra arguments come first as a shell would split them, then inventory, variables, -v."""
    vault = lab.path / "pass word"
    vault.write_text("x")
    args = ("--vault-password-file", str(vault), "--skip-tags", "a, b", "--forks", "3")
    playbook = lab.tasks({"debug": {"msg": 1}, "tags": "a"})
    result = lab.run(playbook, by=lab.runner(args=args, verbosity=3))
    assert result.succeeded, result.message
    private = lab.object_dir / inputdir.RUNS / lab.job
    assert command(result)[6:] == [
        *args,
        "-i",
        str(private / "inventory"),
        "-e",
        f"@{private / 'env' / 'extravars'}",
        "-vvv",
        str(playbook.path),
    ]


def test_arguments_of_a_watch_and_of_a_dry_run_do_not_stay(lab: Lab) -> None:
    """A watch's own arguments replace the global ones; the next run is free of them."""
    playbook = lab.tasks({"copy": {"content": "x", "dest": str(lab.path / "changed")}})
    by = lab.runner(args=("--forks", "2"))
    assert lab.run(playbook, by=by, ansible_args=("--check",)).succeeded
    assert not (lab.path / "changed").exists()
    result = lab.run(playbook, by=by)
    assert (lab.path / "changed").exists()
    assert "--check" not in command(result)
    assert command(result)[6:8] == ["--forks", "2"]


def test_verbosity_zero_and_annotation(lab: Lab) -> None:
    """Verbosity 0 works and adds nothing; the annotation beats it; a bad one is a note."""
    playbook = lab.tasks({"debug": {"msg": 1}})
    by = lab.runner(verbosity=0)
    result = lab.run(playbook, by=by)
    assert result.succeeded, result.message
    assert not [arg for arg in command(result) if arg.startswith("-v")]
    loud = make_object({}, annotations={options.VERBOSITY: "4"})
    assert "-vvvv" in command(lab.run(playbook, loud, by=by))
    bad = make_object({}, annotations={options.VERBOSITY: "loud"})
    result = lab.run(playbook, bad, by=by)
    assert result.succeeded
    assert options.VERBOSITY in result.notes[0]


def test_facts_are_gathered_unless_told_otherwise(lab: Lab) -> None:
    """A role gathers facts, with skip_facts it does not; facts leave no token in artifacts."""
    role = lab.role("facts", [{"debug": {"msg": "{{ ansible_facts | length }}"}}])
    plain = lab.run(role, by=lab.runner(skip_facts=False))
    without = lab.run(role)
    assert plain.artifacts is not None
    assert without.artifacts is not None
    assert "[Gathering Facts]" in (plain.artifacts / "stdout").read_text()
    assert "[Gathering Facts]" not in (without.artifacts / "stdout").read_text()
    kept = [path for path in lab.root.rglob("*") if path.is_file()]
    assert len(kept) > 20
    assert not [path for path in kept if TOKEN in path.read_text(errors="replace")]


def test_inventory_directory(lab: Lab) -> None:
    """A configured inventory is used, with its variables."""
    inventory = lab.path / "inv"
    (inventory / "group_vars").mkdir(parents=True)
    (inventory / "hosts").write_text(f"{environment.default_inventory({})}other\n")
    (inventory / "group_vars" / "all.yml").write_text("from_inventory: 7\n")
    target = lab.tasks(dump(lab.path, "[from_inventory, groups.all | sort]"))
    result = lab.run(target, by=lab.runner(inventory=inventory))
    assert result.succeeded, result.message
    assert json.loads(lab.read("dump")) == [7, ["localhost", "other"]]


def test_missing_inventory(lab: Lab) -> None:
    """A configured inventory that is not there fails the run with its path."""
    result = lab.run(lab.tasks(), by=lab.runner(inventory=lab.path / "nowhere"))
    assert result.outcome is run.Outcome.FAILED
    assert f"{lab.path}/nowhere (ANSIBLE_INVENTORY)" in result.message


def test_role_of_a_collection(lab: Lab) -> None:
    """A collection's role finds the modules of its collection by their short names."""
    root = lab.path / "deep" / "ansible_collections" / "acme" / "web"
    (root / "roles" / "front" / "tasks").mkdir(parents=True)
    (root / "plugins" / "modules").mkdir(parents=True)
    (root / "plugins" / "modules" / "hello.py").write_text(
        "from ansible.module_utils.basic import AnsibleModule\n"
        "AnsibleModule({}).exit_json(said='hi')\n"
    )
    tasks = (
        "- hello:\n  register: it\n"
        f"- copy: {{content: '{{{{ it.said }}}}', dest: {lab.path}/said}}\n"
    )
    (root / "roles" / "front" / "tasks" / "main.yml").write_text(tasks)
    result = lab.run(watches.Role(root / "roles" / "front"))
    assert result.succeeded, result.message
    assert lab.read("said") == "hi"


def test_home_is_not_needed(lab: Lab) -> None:
    """Without HOME, and with one that cannot be written to, runs work and leave nothing behind."""
    lab.environ["HOME"] = str(lab.path / "read" / "only")
    assert lab.run(lab.tasks({"command": "/bin/true"})).succeeded
    del lab.environ["HOME"]
    assert lab.run(lab.tasks({"command": "/bin/true"})).succeeded
    assert not (lab.path / "read").exists()


def test_time_limit(lab: Lab) -> None:
    """A run that is over its limit ends with all its processes and says so."""
    result = lab.run(lab.role("slow", [{"name": "hang", "command": "sleep 4242"}]), run_timeout=4.0)
    assert result.outcome is run.Outcome.TIMED_OUT
    assert result.message.startswith("timed out after 4s")
    assert processes.of_run(lab.job) == []
    assert list((lab.object_dir / ".runs").iterdir()) == []


def test_cancel_ends_everything(lab: Lab) -> None:
    """After a cancelled run all its processes are gone, also stubborn and detached ones."""
    started = lab.path / "started"
    shell = (
        "trap '' TERM; (trap '' TERM; setsid sleep 4242) & "
        f"env -i nohup setsid /bin/sleep 4343 >/dev/null 2>&1 & echo $! > {started}.tmp; "
        f"mv {started}.tmp {started}; while :; do sleep 1; done"
    )
    playbook = lab.tasks({"name": "hang", "shell": shell})
    cancel = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lab.run, playbook, cancel=cancel)
        wait_for(started)
        before = processes.of_run(lab.job)
        cancel.set()
        result = future.result()
    assert result.outcome is run.Outcome.CANCELLED
    assert result.message == f"cancelled while running task 'hang' ({playbook.path}:4)"
    assert len(before) >= 5
    assert int(started.read_text()) in {process.pid for process in before}
    assert [process for process in before if process.is_running()] == []  # not even as zombies
    assert result.artifacts is not None
    assert not list(result.artifacts.rglob("*partial*"))


def torn_event(job_events: str) -> str:
    """A shell command that prints an event whose file is cut off, as a full disk would leave it."""
    begin, end = (
        f"\\033[K{text}\\033[{len(text)}D\\033[K"
        for text in (base64.b64encode(data).decode() for data in (b'{"uuid": "torn"}', b"{}"))
    )
    return (
        f"echo '{{' > {job_events}/torn-partial.json; "
        f"printf '{begin}torn\\n{end}' > /proc/$(ps -o ppid= -p $PPID | tr -d ' ')/fd/1"
    )


# When it fails, ansible-runner leaves its output files to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_error_of_our_own_ends_everything(lab: Lab) -> None:
    """When ansible-runner fails in the middle of a run, nothing of the run goes on."""
    pid, events = lab.path / "pid", lab.path / "events"
    play: list[dict[str, Any]] = [
        {"copy": {"content": "{{ lookup('env', 'AWX_ISOLATED_DATA_DIR') }}", "dest": str(events)}},
        {"shell": f"setsid sleep 4242 >/dev/null 2>&1 & echo $! > {pid}"},
        {"debug": {"msg": "{{ lookup('pipe', torn) }}"}},
        {"command": "sleep 4343"},
    ]
    torn = torn_event(f"$(cat {events})/job_events")
    try:
        with structlog.testing.capture_logs():
            result = lab.run(lab.tasks(*play, vars={"torn": torn}))
        assert result.outcome is run.Outcome.FAILED
        assert "the run could not be done: JSONDecodeError" in result.message
        assert processes.of_run(lab.job) == []
        assert not psutil.pid_exists(int(pid.read_text()))
        assert [child for child in psutil.Process().children() if child.status() == "zombie"] == []
        assert f"events-{lab.job}" not in {thread.name for thread in threading.enumerate()}
        assert list((lab.object_dir / ".runs").iterdir()) == []
    finally:
        processes.kill(lab.job)
        gc.collect()


def test_cancel_before_the_run(lab: Lab) -> None:
    """A run that is cancelled already does not start Ansible."""
    cancel = threading.Event()
    cancel.set()
    result = lab.run(lab.tasks(), cancel=cancel)
    assert result.outcome is run.Outcome.CANCELLED
    assert result.artifacts is None
    assert list(lab.root.iterdir()) == []


def test_two_operators_and_two_objects_share_a_root(lab: Lab) -> None:
    """Runs at the same time have their own variables, directories and outcomes."""
    target = lab.tasks(
        {"copy": {"content": "{{ mark }}", "dest": str(lab.path / "mark-{{ mark }}")}}
    )
    watch = watches.Watch(gvk=GVK, target=target)
    runners = [lab.runner(), lab.runner()]

    def go(number: int) -> run.RunResult:
        obj = make_object({"mark": f"m{number}"}, name="one" if number < 2 else "two")
        request = run.RunRequest(f"r{number}", watch, obj)
        return runners[number % 2].run(request, cancel=threading.Event())

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(go, range(3)))
    assert [result.message for result in results] == ["", "", ""]
    assert sorted(p.name for p in lab.path.glob("mark-*")) == ["mark-m0", "mark-m1", "mark-m2"]
    assert not [p for p in lab.root.rglob("*") if p.is_symlink() and p.name != "latest"]


def test_same_job_twice_is_refused(lab: Lab) -> None:
    """A directory is never shared: the second run of a name that runs fails with a message."""
    by = lab.runner()
    request = run.RunRequest("twice", watches.Watch(gvk=GVK, target=lab.tasks()), make_object({}))
    with inputdir.create(lab.object_dir, "twice", inputdir.Content({})):
        result = by.run(request, cancel=threading.Event())
    assert result.outcome is run.Outcome.FAILED
    assert "in use" in result.message


@pytest.mark.case("D9")
def test_artifacts_are_rotated_and_forgotten(lab: Lab) -> None:
    """The watch's number and the annotation decide what is kept; a gone object leaves nothing."""
    playbook = lab.tasks()
    by = lab.runner()
    kept = [lab.run(playbook, by=by, max_runner_artifacts=1).artifacts for _ in range(2)]
    assert kept[0] is not None
    assert kept[1] is not None
    assert not kept[0].exists()
    assert (lab.object_dir / "artifacts" / "latest").resolve() == kept[1]
    assert sorted(p.name for p in kept[1].iterdir()) == [
        "command", "job_events", "rc", "status", "stderr", "stdout",
    ]  # fmt: skip
    every = make_object({}, annotations={options.MAX_RUNNER_ARTIFACTS: "0"})
    third = lab.run(playbook, every, by=by, max_runner_artifacts=1).artifacts
    assert kept[1].exists()
    assert third is not None
    assert lab.run(playbook, by=by, max_runner_artifacts=0).artifacts is None
    assert not third.exists()
    by.forget(objects.ObjectKey(GVK, "default", "one"))
    assert list(lab.root.iterdir()) == []


def test_big_output_is_bounded(lab: Lab) -> None:
    """5 MB of lines and a line of 5 MB reach the role whole, and log and artifacts cut."""
    playbook = lab.tasks(
        {"shell": "head -c 5000000 /dev/zero | tr '\\0' x; echo; seq 700000", "register": "big"},
        {"debug": {"msg": "{{ big.stdout }}"}},
        {"assert": {"that": "big.stdout | length > 9000000"}},
        {"fail": {"msg": "{{ big.stdout_lines[0] }}"}},
    )
    with structlog.testing.capture_logs() as captured:
        result = lab.run(playbook, run_timeout=240.0)
    assert result.outcome is run.Outcome.FAILED
    assert "failed on localhost: xxxxx" in result.message
    assert result.artifacts is not None
    assert sum(p.stat().st_size for p in result.artifacts.rglob("*") if p.is_file()) < 2_000_000
    assert "cut by the operator" in (result.artifacts / "stdout").read_text()
    assert max(len(str(entry)) for entry in captured) < 200_000


def test_log_lines(lab: Lab) -> None:
    """A good run logs its tasks, its recap and the line that others search for; no secret."""
    playbook = lab.tasks(
        {"name": "say", "debug": {"msg": "hello"}},
        {"name": "try", "command": "/bin/false", "ignore_errors": True},
        {"name": "hide", "shell": "echo $LAB_TOKEN", "no_log": True},
    )
    with structlog.testing.capture_logs() as captured:
        assert lab.run(playbook, by=lab.runner(debug_logs=True)).succeeded
    bound = {"job": lab.job, "name": "one", "namespace": "default", "gvk": str(GVK)}
    lines = {entry["event"]: entry for entry in captured}
    for name in (
        "[playbook task start]",
        "[playbook debug]",
        "[playbook task failed]",
        "[playbook recap]",
        "Ansible-runner exited successfully",
        "Output of the run",
    ):
        assert bound.items() <= lines[name].items()
    assert lines["[playbook task failed]"]["log_level"] == "info"
    assert "hello" in lines["[playbook debug]"]["stdout"]
    assert "ok=3" in lines["[playbook recap]"]["Ansible Task Status Event StdOut"]
    assert "PLAY RECAP" in lines["Output of the run"]["Ansible Debug Result"]
    assert "error" not in {entry["log_level"] for entry in captured}
    assert TOKEN not in str(captured)


def test_slow_log_does_not_lose_the_stats(lab: Lab) -> None:
    """A log that hangs for the whole run neither holds it up nor changes what came of it."""
    release = threading.Event()
    blocked: list[threading.Thread] = []

    def hang(logger: Any, method: str, event: Any) -> Any:
        if threading.current_thread().name.startswith("events-"):
            blocked.append(threading.current_thread())
            release.wait()
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[hang])
    try:
        tasks = [{"set_fact": {f"f{number}": number}} for number in range(10)]
        result = lab.run(lab.tasks(*tasks), by=lab.runner(log_events=settings.LogEvents.EVERYTHING))
        assert len(blocked) == 1
        assert result.succeeded, result.message
        assert result.counts.ok == 10
    finally:
        release.set()
        for thread in blocked[:1]:
            thread.join()
        structlog.configure(**before)


def test_nothing_is_printed(lab: Lab, capfd: pytest.CaptureFixture[str]) -> None:
    """ansible-runner writes nothing to our standard output or error."""
    with structlog.testing.capture_logs():
        assert lab.run(lab.tasks({"debug": {"msg": "hello"}})).succeeded
    assert capfd.readouterr() == ("", "")


def test_root_of_somebody_else(lab: Lab) -> None:
    """A runner directory that others may write to is refused when the runner is made."""
    lab.root.mkdir()
    lab.root.chmod(0o777)
    with pytest.raises(Exception, match="--runner-dir"):
        lab.runner()
    assert os.listdir(lab.root) == []
