"""One run, from request to result: drives ansible-runner as a library in the calling thread."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import ansible_runner
import pexpect  # type: ignore[import-untyped]
import structlog
from ansible_runner.config.runner import RunnerConfig

from ansible_operator import durations, errors, objects, settings, watches
from ansible_operator.ansible import (
    artifacts,
    environment,
    eventlog,
    inputdir,
    message,
    options,
    params,
    recorder,
    supervise,
    verdict,
    watchdog,
)
from ansible_operator.ansible import run as outcomes

log = structlog.get_logger("runner")

# No site and no PYTHON* variables: it starts in a few milliseconds.
_SUPERVISE = (sys.executable, "-I", "-S", supervise.__file__)
_ANY_OUTPUT = r"[\s\S]+"
_DEBUG_LIMIT = 256 * 1024


class AnsibleRunner:
    """Runs roles and playbooks. One instance serves all worker threads.

    ``access`` gives a run its kubeconfig, as text, for as long as the run lasts. ``environ`` is the
    operator's environment, which runs get whole. Making an instance prepares the runner directory
    and removes what a dead operator left there; raises SettingsError if that directory cannot be
    used.
    """

    def __init__(
        self,
        config: settings.Settings,
        access: Callable[[outcomes.RunRequest], contextlib.AbstractContextManager[str]],
        environ: Mapping[str, str],
    ) -> None:
        self._settings = config
        self._ansible = config.ansible
        self._access = access
        self._environ = environ
        self._root = config.ansible.runner_dir.absolute()
        warning = inputdir.prepare_root(self._root)
        if warning:
            log.warning("The runner directory is shared", reason=warning)
        self._noted: dict[objects.ObjectKey, tuple[str, ...]] = {}
        self._store = artifacts.Store(self._root, config.ansible.artifacts_max_bytes)
        found = self._store.open()
        log.debug("Opened the runner directory", path=str(self._root), artifacts=found.artifacts,
                  bytes=found.bytes, stale_runs=found.stale_runs)  # fmt: skip

    def run(self, request: outcomes.RunRequest, *, cancel: threading.Event) -> outcomes.RunResult:
        """Do the run and tell what came of it; ends early when ``cancel`` is set.

        Never raises: what goes wrong, in a role or here, is a failed result with a message.
        """
        started = time.monotonic()
        try:
            result = self._run(request, cancel)
        except errors.OperatorError as error:
            result = _failed(str(error))
        except Exception as error:
            log.exception("The run could not be done", job=request.job)
            result = _failed(f"the run could not be done: {type(error).__name__}: {error}")
        return replace(
            result,
            message=message.bound(result.message, request.job),
            duration=time.monotonic() - started,
        )

    def forget(self, key: objects.ObjectKey) -> None:
        """Drop the artifacts and directories of an object that is gone."""
        self._noted.pop(key, None)
        self._store.forget(inputdir.object_dir(self._root, key))

    def _run(self, request: outcomes.RunRequest, cancel: threading.Event) -> outcomes.RunResult:
        if cancel.is_set():
            return outcomes.RunResult(outcomes.Outcome.CANCELLED, "cancelled before it started")
        watch = request.watch
        key = objects.key_of(request.obj, watch.gvk)
        chosen = options.choose(request.obj, watch, self._settings)
        built = params.build(watch, request.obj, request.finalizing)
        notes = (*built.notes, *chosen.notes)
        fields = {"job": request.job, "name": key.name, "namespace": key.namespace,
                  "gvk": str(watch.gvk)}  # fmt: skip
        if notes and self._noted.get(key) != notes:
            log.warning("Input of the object was not used", reasons=list(notes), **fields)
        self._noted[key] = notes
        target = _target(request)
        directory = inputdir.object_dir(self._root, key)
        with (
            self._access(request) as kubeconfig,
            inputdir.create(
                directory, request.job, self._content(request, target, built, kubeconfig)
            ) as place,
        ):
            attempt = _Attempt(self._ansible, self._environ, place, target, chosen, fields)
            result = attempt.run(cancel)
            kept = self._store.keep(place, chosen.max_artifacts)
        return replace(result, notes=notes, artifacts=kept)

    def _content(
        self,
        request: outcomes.RunRequest,
        target: watches.Target,
        built: params.Params,
        kubeconfig: str,
    ) -> inputdir.Content:
        watch = request.watch
        args = self._ansible.args if watch.ansible_args is None else watch.ansible_args
        play = _play(target, self._ansible.skip_facts) if isinstance(target, watches.Role) else None
        return inputdir.Content(
            variables=built.variables,
            args=shlex.join(args),
            kubeconfig=kubeconfig,
            settings={"pexpect_timeout": 1},
            inventory=self._ansible.inventory,
            default_inventory=environment.default_inventory(self._environ),
            play=play,
        )


class _Runner(ansible_runner.Runner):  # type: ignore[misc]
    """ansible-runner's, but not taken in by events that a task prints.

    The stream only says which event comes; what it is stands in a file that the callback plugin
    wrote. An event whose content is in the stream comes out of some task's output.
    """

    def event_callback(self, event_data: dict[str, Any]) -> None:
        forged = event_data.get("event") not in (None, "verbose", "EOF")
        if forged or "event_data" in event_data:
            plain = ("counter", "stdout", "start_line", "end_line")
            known = {key: event_data[key] for key in plain if key in event_data}
            event_data = {**known, "event": "verbose", "uuid": str(uuid.uuid4())}
        super().event_callback(event_data)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The part of a run in which its directory exists."""

    ansible: settings.AnsibleSettings
    environ: Mapping[str, str]
    place: inputdir.RunDir
    target: watches.Target
    chosen: options.Options
    fields: Mapping[str, Any]

    def run(self, cancel: threading.Event) -> outcomes.RunResult:
        """Start Ansible, watch it, and judge."""
        config = self._config()
        verbose = self.chosen.is_verbose or _int(self.environ.get("ANSIBLE_VERBOSITY")) > 0
        guard = watchdog.Watchdog(self.place.path.name, self.chosen.timeout, cancel)
        with contextlib.closing(
            eventlog.EventLog(self.fields, self.ansible.log_events, verbose)
        ) as events:
            record = recorder.Recorder(events.put)
            rc = self._guarded(config, record, guard)
        recorder.scrub(self.place.artifacts)
        self._log_output()
        if guard.reason is not None:
            return self._ended_early(guard.reason, record.tally)
        return self._judge(record.tally, rc)

    def _config(self) -> RunnerConfig:
        env = environment.build(self.environ, self.ansible, self.target, self.place)
        command = environment.playbook_command(env["PATH"])
        playbook = self.place.play if isinstance(self.target, watches.Role) else self.target.path
        config = RunnerConfig(
            private_data_dir=str(self.place.path),
            artifact_dir=str(self.place.artifacts.parent),
            ident=self.place.path.name,
            playbook=str(playbook),
            verbosity=self.chosen.verbosity,
            envvars=env,
            quiet=True,
            # Facts hold the environment; kept outside, they go with the run directory.
            fact_cache=str(self.place.path / "fact_cache"),
            # Without a pattern that takes it out, pexpect keeps all output of the run in memory.
            passwords={_ANY_OUTPUT: None},
        )
        config.prepare()
        config.command = [*_SUPERVISE, str(os.getpid()), command, *config.command[1:]]
        return config

    def _guarded(
        self, config: RunnerConfig, record: recorder.Recorder, guard: watchdog.Watchdog
    ) -> int | None:
        """Drive the run; whatever happens to us, Ansible does not go on without us."""
        try:
            rc = self._drive(config, record, guard)
        except BaseException as error:
            self._tell_left(guard.abandon())
            if guard.reason is None or not isinstance(error, Exception):
                raise
            log.exception("The run that was ended early left a mess", **self.fields)
            return None
        # Without stats or with a signal Ansible was killed, and its workers may live on.
        well = rc is not None and rc < 128 and record.tally.stats is not None
        self._tell_left(guard.finish(well=well))
        return rc

    def _tell_left(self, pids: list[int]) -> None:
        if pids:
            log.error("Processes of the run could not be ended", pids=pids, **self.fields)

    def _drive(
        self, config: RunnerConfig, record: recorder.Recorder, guard: watchdog.Watchdog
    ) -> int | None:
        runner = _Runner(
            config,
            event_handler=record.on_event,
            status_handler=recorder.on_status,
            cancel_callback=guard.poll,
        )
        try:
            runner.run()
        except pexpect.TIMEOUT:
            # Ansible has ended, but something that it started still holds its terminal.
            log.warning("The run left processes behind that hold its terminal", **self.fields)
            return 0 if record.tally.stats else None
        code: int | None = runner.rc
        return code

    def _log_output(self) -> None:
        if not self.ansible.debug_logs:
            return
        stdout = self.place.artifacts / "stdout"
        if stdout.is_file():
            text = message.bound(stdout.read_text(errors="replace"), self.place.path.name,
                                 _DEBUG_LIMIT)  # fmt: skip
            log.info("Output of the run", **{eventlog.DEBUG_RESULT: text}, **self.fields)

    def _ended_early(self, reason: outcomes.Outcome, tally: verdict.Tally) -> outcomes.RunResult:
        if reason is outcomes.Outcome.TIMED_OUT:
            text = f"timed out after {durations.render(self.chosen.timeout)}{tally.where}"
        else:
            text = f"cancelled{tally.where}"
        log.error("Ansible-runner was ended early", reason=text, **self.fields)
        return outcomes.RunResult(reason, text, verdict.task_counts(tally.stats))

    def _judge(self, tally: verdict.Tally, rc: int | None) -> outcomes.RunResult:
        found = verdict.reach(tally, rc)
        if rc == 0:
            log.info(
                "Ansible-runner exited successfully",
                ok=found.counts.ok,
                changed=found.counts.changed,
                requeue_after=found.requeue_after,
                **self.fields,
            )
        return outcomes.RunResult(
            found.outcome, found.message, found.counts, found.requeue_after, rc=rc
        )


def _target(request: outcomes.RunRequest) -> watches.Target:
    finalizer = request.watch.finalizer
    if request.finalizing and finalizer is not None and finalizer.target is not None:
        return finalizer.target
    return request.watch.target


def _play(role: watches.Role, skip_facts: bool) -> list[dict[str, Any]]:
    found = environment.collection_of(role)
    play: dict[str, Any] = {
        "hosts": "localhost",
        "roles": [{"name": found.role if found else role.name}],
    }
    if skip_facts:
        play["gather_facts"] = False
    return [play]


def _failed(text: str) -> outcomes.RunResult:
    return outcomes.RunResult(outcomes.Outcome.FAILED, text)


def _int(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0
