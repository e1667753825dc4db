"""Settings from flags and environment: defaults, precedence, what is refused and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_operator import errors, flags, kindenv, objects, settings

GVK = objects.GVK("app.example.com", "v1", "MaxConcurrentReconcilesEnv")
MAX = "MAX_CONCURRENT_RECONCILES_MAXCONCURRENTRECONCILESENV_APP_EXAMPLE_COM"
WORKER = "WORKER_MAXCONCURRENTRECONCILESENV_APP_EXAMPLE_COM"
VERBOSITY = "ANSIBLE_VERBOSITY_MAXCONCURRENTRECONCILESENV_APP_EXAMPLE_COM"


def _settings(environ: dict[str, str] | None = None, **options: Any) -> settings.Settings:
    return flags.resolve(options, environ or {}, 2).settings


def _notices(environ: dict[str, str] | None = None, **options: Any) -> tuple[str, ...]:
    return flags.resolve(options, environ or {}, 2, [GVK]).notices


def test_defaults() -> None:
    """Without flags and environment: the incumbent's defaults, and nothing to say."""
    resolved = flags.resolve({}, {}, 3)
    assert resolved.notices == ()
    assert resolved.settings == settings.Settings(
        watches_file=Path("watches.yaml"),
        namespaces=(),
        proxy=settings.ProxySettings(port=8888, allow_anonymous=False, inject_owner_ref=True),
        ansible=settings.AnsibleSettings(
            verbosity=2,
            roles_path="",
            collections_path="",
            args=(),
            log_events=settings.LogEvents.TASKS,
            debug_logs=False,
            skip_facts=False,
            inventory=None,
            runner_dir=Path("/tmp/ansible-operator/runner"),
            run_timeout=7200,
            artifacts_max_bytes=1 << 30,
        ),
        engine=settings.EngineSettings(
            reconcile_period=36000,
            max_concurrent_reconciles=3,
            max_concurrent_runs=6,
            backoff_floor=1,
            backoff_ceiling=300,
            graceful_shutdown_timeout=30,
            loop_guard_runs=5,
            loop_guard_window=600,
        ),
        logs=settings.LogSettings("json", "info", 0, "error", "rfc3339"),
        environ={},
    )


def test_every_flag_arrives() -> None:
    """Each flag of this program has its place in the settings."""
    found = _settings(
        watches_file="w.yaml",
        inject_owner_ref=False,
        proxy_port=0,
        proxy_allow_anonymous=True,
        loop_guard_runs=0,
        loop_guard_window=60.0,
        metrics_bind_address="127.0.0.1:1",
        user_metrics_port=2,
        release_orphaned_finalizers=True,
        ansible_verbosity=4,
        ansible_roles_path="/r",
        ansible_collections_path="/c",
        ansible_args="--tags x",
        ansible_log_events="Everything",
        run_timeout=60.0,
        runner_dir="/run/x",
        runner_artifacts_max_bytes=5,
        reconcile_period=0.0,
        max_concurrent_reconciles=7,
        max_concurrent_runs=5,
        retry_base_delay=2.0,
        retry_max_delay=9.0,
        graceful_shutdown_timeout=1.0,
        kubeconfig="/k",
    )
    assert found.watches_file == Path("w.yaml")
    assert found.proxy == settings.ProxySettings(0, True, False)
    assert found.metrics == settings.MetricsSettings("127.0.0.1:1", True, 2)
    assert found.release_orphaned_finalizers
    assert (found.engine.loop_guard_runs, found.engine.loop_guard_window) == (0, 60)
    assert found.ansible == settings.AnsibleSettings(
        verbosity=4,
        roles_path="/r",
        collections_path="/c",
        args=("--tags", "x"),
        log_events=settings.LogEvents.EVERYTHING,
        runner_dir=Path("/run/x"),
        run_timeout=60,
        artifacts_max_bytes=5,
    )
    assert found.engine == settings.EngineSettings(0, 7, 5, 2, 9, 1, 0, 60)
    assert found.environ == {
        "ANSIBLE_ROLES_PATH": "/r",
        "ANSIBLE_COLLECTIONS_PATH": "/c",
        "KUBECONFIG": "/k",
    }


def test_every_variable_arrives() -> None:
    """Each variable has its place in the settings, and the environment is kept."""
    environ = {
        "WATCH_NAMESPACE": "ns",
        "ANSIBLE_ROLES_PATH": "/r",
        "ANSIBLE_COLLECTIONS_PATH": "/c",
        "ANSIBLE_DEBUG_LOGS": "TRUE",
        "ANSIBLE_GATHERING": "explicit",
        "ANSIBLE_INVENTORY": "/opt/ansible/inventory",
        "OTHER": "x",
    }
    found = _settings(environ)
    assert found.namespaces == ("ns",)
    assert found.environ == environ
    assert found.ansible == settings.AnsibleSettings(
        roles_path="/r",
        collections_path="/c",
        debug_logs=True,
        skip_facts=True,
        inventory=Path("/opt/ansible/inventory"),
    )


def test_path_flags_beat_their_variables() -> None:
    """A path flag that is not empty replaces the variable; an empty one does not."""
    environ = {"ANSIBLE_ROLES_PATH": "/env", "KUBECONFIG": "/env"}
    assert _settings(environ, ansible_roles_path="/flag").environ == {
        **environ,
        "ANSIBLE_ROLES_PATH": "/flag",
    }
    assert _settings(environ, ansible_roles_path="").ansible.roles_path == "/env"
    assert _settings(environ, ansible_roles_path="").environ == environ


@pytest.mark.parametrize(
    ("text", "namespaces"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        (" a , b ", ("a", "b")),
        (",,", ()),
        ("a,,b,a", ("a", "b")),
    ],
)
@pytest.mark.case("K7")
def test_watch_namespace(text: str, namespaces: tuple[str, ...]) -> None:
    """A comma list, trimmed; nothing left means all namespaces."""
    assert _settings({"WATCH_NAMESPACE": text}).namespaces == namespaces


@pytest.mark.parametrize(("text", "value"), [("", False), ("f", False), ("1", True), ("T", True)])
def test_debug_logs(text: str, value: bool) -> None:
    """A Go boolean."""
    assert _settings({"ANSIBLE_DEBUG_LOGS": text}).ansible.debug_logs is value
    assert _notices({"ANSIBLE_DEBUG_LOGS": text}) == ()


def test_debug_logs_that_is_no_boolean() -> None:
    """It counts as false, and that is said."""
    assert _settings({"ANSIBLE_DEBUG_LOGS": "yes"}).ansible.debug_logs is False
    (notice,) = _notices({"ANSIBLE_DEBUG_LOGS": "yes"})
    assert notice.startswith('ANSIBLE_DEBUG_LOGS is ignored: "yes" is not a boolean')


@pytest.mark.parametrize(("text", "skip"), [("explicit", True), ("smart", False), ("", False)])
def test_gathering(text: str, skip: bool) -> None:
    """Only explicit means that no facts are gathered."""
    assert _settings({"ANSIBLE_GATHERING": text}).ansible.skip_facts is skip


def test_empty_inventory_is_none() -> None:
    """An empty variable is no path."""
    assert _settings({"ANSIBLE_INVENTORY": ""}).ansible.inventory is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("--tags a,b --check", ("--tags", "a,b", "--check")),
        ("--extra-vars 'a b'", ("--extra-vars", "a b")),
        ("""'--x "a b"'""", ("--x", "a b")),
        ("'--vault-password-file /p'", ("--vault-password-file", "/p")),
        ("'--x' '--y'", ("--x", "--y")),
        ("''", ()),
        ('-e a\\"b', ("-e", 'a"b')),
    ],
)
def test_ansible_args(text: str, words: tuple[str, ...]) -> None:
    """Split as by a shell, after the pair of quotes that a manifest leaves."""
    assert _settings(ansible_args=text).ansible.args == words


@pytest.mark.parametrize("text", ["'", "--x 'a", '--x "a'])
def test_ansible_args_with_open_quotes(text: str) -> None:
    """Unbalanced quotes are an error that names the flag and quotes the text."""
    with pytest.raises(errors.SettingsError) as caught:
        _settings(ansible_args=text)
    assert str(caught.value).startswith("--ansible-args: cannot be split into words")
    assert str(caught.value).endswith(f"{text}; balance the quotes")


@pytest.mark.parametrize("text", ["nothing", "NOTHING", "tasks", "Everything", ""])
def test_log_events(text: str) -> None:
    """The words match in any case, empty is tasks."""
    found = _settings(ansible_log_events=text).ansible.log_events
    assert found.value == (text.lower() or "tasks")
    assert _notices(ansible_log_events=text) == ()


def test_unknown_log_events() -> None:
    """An unknown word counts as tasks, and that is said."""
    assert _settings(ansible_log_events="all").ansible.log_events is settings.LogEvents.TASKS
    assert _notices(ansible_log_events="all") == (
        '--ansible-log-events: "all" is not one of nothing, tasks, everything; it counts as tasks',
    )


@pytest.mark.parametrize(
    ("environ", "workers"),
    [
        ({}, 2),
        ({MAX: "3"}, 3),
        ({WORKER: "4"}, 4),
        ({MAX: "3", WORKER: "1"}, 3),
        ({MAX: "x", WORKER: "1"}, 2),
        ({MAX: "", WORKER: "1"}, 2),
        ({MAX: "0"}, 2),
        ({MAX: "-1"}, 2),
        ({WORKER: "0"}, 2),
        ({WORKER: "many"}, 2),
    ],
)
def test_workers(environ: dict[str, str], workers: int) -> None:
    """The new variable, else the old one, else the flag; useless values lead to the flag."""
    assert _settings(environ).workers(GVK) == workers


def test_workers_flag() -> None:
    """The flag holds for kinds without a variable."""
    found = _settings({MAX: "3"}, max_concurrent_reconciles=5)
    assert found.workers(GVK) == 3
    assert found.workers(objects.GVK("", "v1", "Secret")) == 5


@pytest.mark.parametrize(
    ("text", "verbosity"),
    [("4", 4), ("0", 0), ("7", 7), ("-1", 1), ("8", 1), ("x", 1), ("", 1), (None, 1)],
)
def test_verbosity(text: str | None, verbosity: int) -> None:
    """The variable from 0 to 7, else the flag."""
    environ = {} if text is None else {VERBOSITY: text}
    assert _settings(environ, ansible_verbosity=1).verbosity(GVK) == verbosity


def test_variable_names() -> None:
    """Kind and group in upper case, dots as underscores, dashes kept, core ends in one."""
    assert kindenv.variable("WORKER", objects.GVK("", "v1", "Secret")) == "WORKER_SECRET_"
    name = kindenv.variable("WORKER", objects.GVK("cert-manager.io", "v1", "Issuer"))
    assert name == "WORKER_ISSUER_CERT-MANAGER_IO"


def test_notices_about_variables_of_kinds() -> None:
    """Old names and useless values are said once the kinds are known."""
    assert _notices({WORKER: "0", MAX: "x", VERBOSITY: "8"}) == (
        f"{WORKER} is deprecated; use {MAX}",
        f'{MAX}="x" is ignored; it must be a whole number of 1 or more',
        f'{WORKER}="0" is ignored; it must be a whole number of 1 or more',
        f'{VERBOSITY}="8" is ignored; it must be a whole number from 0 to 7',
    )
    assert flags.resolve({}, {WORKER: "0"}, 2).notices == ()


@pytest.mark.parametrize(
    ("environ", "options", "cap"),
    [
        ({}, {}, 4),
        ({MAX: "9"}, {}, 9),
        ({WORKER: "8"}, {}, 8),
        ({MAX: "1"}, {}, 4),
        ({}, {"max_concurrent_reconciles": 10}, 10),
        ({MAX: "9"}, {"max_concurrent_runs": 3}, 3),
    ],
)
def test_cap_over_all_kinds(environ: dict[str, str], options: dict[str, Any], cap: int) -> None:
    """Twice the CPUs, or the largest cap that was promised to one kind, or the flag."""
    assert flags.resolve(options, environ, 2, [GVK]).settings.engine.max_concurrent_runs == cap


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_concurrent_runs": 0}, "--max-concurrent-runs: 0 would allow no run"),
        ({"run_timeout": -1.0}, "--run-timeout: a duration cannot be negative"),
        ({"graceful_shutdown_timeout": -1.0}, "--graceful-shutdown-timeout: a duration cannot"),
        ({"retry_base_delay": 0.0}, "--retry-base-delay: must be more than 0"),
        ({"loop_guard_window": 0.0}, "--loop-guard-window: must be more than 0"),
        ({"retry_base_delay": 9.0, "retry_max_delay": 2.0}, "--retry-max-delay: 2s is less than"),
        ({"zap_log_level": "loud"}, '--zap-log-level: "loud" is not a level'),
        ({"zap_log_level": "0"}, '--zap-log-level: "0" is not a level'),
        ({"zap_log_level": "-1"}, '--zap-log-level: "-1" is not a level'),
        (
            {"metrics_addr": ":1", "metrics_bind_address": ":2"},
            "--metrics-addr and --metrics-bind-address cannot both be given",
        ),
        (
            {"enable_leader_election": True, "leader_elect": True},
            "--enable-leader-election and --leader-elect cannot both be given",
        ),
        ({"metrics_require_rbac": True}, "--metrics-require-rbac needs --metrics-secure"),
        (
            {"metrics_require_rbac": True, "metrics_secure": False},
            "--metrics-require-rbac needs --metrics-secure",
        ),
    ],
)
def test_refused(options: dict[str, Any], text: str) -> None:
    """What cannot be used is an error that starts with the flag."""
    with pytest.raises(errors.SettingsError) as caught:
        _settings(**options)
    assert str(caught.value).startswith(text)


def test_what_is_out_of_range_is_bounded_and_said() -> None:
    """Values that the incumbent takes without a check are bounded, with a notice."""
    found = _settings(max_concurrent_reconciles=0, ansible_verbosity=-3, reconcile_period=-1.0)
    assert (found.engine.max_concurrent_reconciles, found.ansible.verbosity) == (1, 0)
    assert found.engine.reconcile_period == 0
    assert _notices(max_concurrent_reconciles=0, ansible_verbosity=-3) == (
        "--ansible-verbosity=-3 counts as 0",
        "--max-concurrent-reconciles=0 counts as 1",
    )


def test_flags_that_are_not_active() -> None:
    """A flag of a later version is accepted and says so, once; a deprecated one its successor."""
    assert _notices(
        leader_election_id="x", leader_elect_resource_lock="leases", metrics_addr="0"
    ) == (
        "--metrics-addr is deprecated: use --metrics-bind-address",
        "--leader-elect-resource-lock is deprecated: it is ignored, leases are always used",
        "--leader-election-id is accepted but not active yet",
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"zap_devel": True}, ("console", "debug", 1, "warning")),
        ({"zap_devel": False}, ("json", "info", 0, "error")),
        ({"zap_devel": True, "zap_encoder": "json"}, ("json", "debug", 1, "warning")),
        ({"zap_devel": True, "zap_log_level": "error"}, ("console", "error", 0, "warning")),
        ({"zap_log_level": "DEBUG"}, ("json", "debug", 1, "error")),
        ({"zap_log_level": "3"}, ("json", "debug", 3, "error")),
        ({"zap_log_level": "panic"}, ("json", "panic", 0, "error")),
        ({"zap_stacktrace_level": "info"}, ("json", "info", 0, "info")),
    ],
)
def test_log_settings(options: dict[str, Any], expected: tuple[str, str, int, str]) -> None:
    """--zap-devel changes defaults only; a number n shows V(n), debug is V(1)."""
    found = flags.log_settings(options)
    assert (found.encoder, found.level, found.verbosity, found.stacktrace_level) == expected


def test_time_encoding() -> None:
    """The flag holds."""
    assert flags.log_settings({"zap_time_encoding": "nanos"}).time_encoding == "nanos"
