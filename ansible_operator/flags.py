"""The flags that were given and the environment -> :class:`settings.Settings`, without any I/O."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator import errors, gotext, kindenv, objects, settings

_LOG_LEVELS = ("debug", "info", "error", "panic")
_NOT_ACTIVE = (
    "metrics_secure",
    "metrics_require_rbac",
    "health_probe_bind_address",
    "leader_elect",
    "enable_leader_election",
    "leader_election_id",
    "leader_election_namespace",
    "leader_elect_lease_duration",
    "leader_elect_renew_deadline",
    "enable_http2",
)
_DEPRECATED = {
    "metrics_addr": "use --metrics-bind-address",
    "enable_leader_election": "use --leader-elect",
    "leader_elect_resource_lock": "it is ignored, leases are always used",
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings, and what the person who gave the flags should hear about."""

    settings: settings.Settings
    notices: tuple[str, ...] = ()


def resolve(
    options: Mapping[str, Any],
    environ: Mapping[str, str],
    cpus: int,
    kinds: Iterable[objects.GVK] = (),
) -> Resolved:
    """Settings from the flags that were given, the environment and the number of CPUs.

    ``options`` has only flags that were given, by their names with ``_`` for ``-``; durations are
    seconds, sizes bytes. ``kinds`` are the watched kinds, once they are known: their variables
    are checked, and workers configured for one of them raise the default of the cap over all.
    Flags beat the environment, except that variables of one kind beat a flag for all kinds.
    Raises :class:`errors.SettingsError` that names the flag.
    """
    given = _Given(options, environ, [])
    _check_pairs(options)
    watched = sorted(set(kinds))
    found = settings.Settings(
        watches_file=Path(options.get("watches_file") or "watches.yaml"),
        namespaces=_namespaces(environ.get("WATCH_NAMESPACE", "")),
        proxy=_proxy(options),
        metrics=_metrics(options),
        release_orphaned_finalizers=options.get("release_orphaned_finalizers", False),
        ansible=_ansible(given),
        engine=_engine(given, cpus, watched),
        logs=log_settings(options),
        environ=_environ(options, environ),
    )
    given.notices.extend(kindenv.notices(environ, watched))
    return Resolved(found, (*_flag_notices(options), *given.notices))


def log_settings(options: Mapping[str, Any]) -> settings.LogSettings:
    """The log settings alone, so that a mistake in other flags is reported in the right format."""
    devel = options.get("zap_devel", False)
    level, verbosity = _log_level(options.get("zap_log_level") or ("debug" if devel else "info"))
    return settings.LogSettings(
        encoder=options.get("zap_encoder") or ("console" if devel else "json"),
        level=level,
        verbosity=verbosity,
        stacktrace_level=options.get("zap_stacktrace_level") or ("warning" if devel else "error"),
        time_encoding=options.get("zap_time_encoding") or "rfc3339",
    )


@dataclass(frozen=True, slots=True)
class _Given:
    options: Mapping[str, Any]
    environ: Mapping[str, str]
    notices: list[str]

    def seconds(self, name: str, default: float) -> float:
        """A duration that must not be negative."""
        found: float = self.options.get(name, default)
        if found < 0:
            raise errors.SettingsError(f"{_flag(name)}: a duration cannot be negative here")
        return found

    def at_least(self, name: str, default: int, least: int) -> int:
        """A number; below ``least`` it counts as ``least``, and that is said."""
        found: int = self.options.get(name, default)
        if found < least:
            self.notices.append(f"{_flag(name)}={found} counts as {least}")
        return max(found, least)


def _ansible(given: _Given) -> settings.AnsibleSettings:
    options, environ = given.options, given.environ
    plain = settings.AnsibleSettings()
    inventory = environ.get("ANSIBLE_INVENTORY", "")
    return settings.AnsibleSettings(
        verbosity=given.at_least("ansible_verbosity", plain.verbosity, 0),
        roles_path=options.get("ansible_roles_path") or environ.get("ANSIBLE_ROLES_PATH", ""),
        collections_path=(
            options.get("ansible_collections_path") or environ.get("ANSIBLE_COLLECTIONS_PATH", "")
        ),
        args=_words(options.get("ansible_args", "")),
        log_events=_log_events(given),
        debug_logs=_debug_logs(given),
        skip_facts=environ.get("ANSIBLE_GATHERING") == "explicit",
        inventory=Path(inventory) if inventory else None,
        runner_dir=Path(options.get("runner_dir") or plain.runner_dir),
        run_timeout=given.seconds("run_timeout", plain.run_timeout),
        artifacts_max_bytes=options.get("runner_artifacts_max_bytes", plain.artifacts_max_bytes),
    )


def _engine(given: _Given, cpus: int, kinds: Iterable[objects.GVK]) -> settings.EngineSettings:
    plain = settings.EngineSettings()
    floor = given.seconds("retry_base_delay", plain.backoff_floor)
    ceiling = given.seconds("retry_max_delay", plain.backoff_ceiling)
    if not floor:
        raise errors.SettingsError("--retry-base-delay: must be more than 0, for example 1s")
    if ceiling < floor:
        raise errors.SettingsError(
            f"--retry-max-delay: {ceiling:g}s is less than --retry-base-delay, {floor:g}s"
        )
    return settings.EngineSettings(
        reconcile_period=max(0.0, given.options.get("reconcile_period", plain.reconcile_period)),
        max_concurrent_reconciles=given.at_least("max_concurrent_reconciles", cpus, 1),
        max_concurrent_runs=_run_cap(given, cpus, kinds),
        backoff_floor=floor,
        backoff_ceiling=ceiling,
        graceful_shutdown_timeout=given.seconds(
            "graceful_shutdown_timeout", plain.graceful_shutdown_timeout
        ),
        loop_guard_runs=given.at_least("loop_guard_runs", plain.loop_guard_runs, 0),
        loop_guard_window=_window(given),
    )


def _window(given: _Given) -> float:
    window = given.seconds("loop_guard_window", settings.EngineSettings().loop_guard_window)
    if not window:
        raise errors.SettingsError(
            "--loop-guard-window: must be more than 0; --loop-guard-runs=0 switches the guard off"
        )
    return window


def _proxy(options: Mapping[str, Any]) -> settings.ProxySettings:
    plain = settings.ProxySettings()
    return settings.ProxySettings(
        port=options.get("proxy_port", plain.port),
        allow_anonymous=options.get("proxy_allow_anonymous", plain.allow_anonymous),
        inject_owner_ref=options.get("inject_owner_ref", plain.inject_owner_ref),
    )


def _metrics(options: Mapping[str, Any]) -> settings.MetricsSettings:
    plain = settings.MetricsSettings()
    address = options.get("metrics_bind_address", options.get("metrics_addr"))
    return settings.MetricsSettings(
        bind_address=plain.bind_address if address is None else address,
        bind_is_required=address is not None,
        user_port=options.get("user_metrics_port", plain.user_port),
    )


def _run_cap(given: _Given, cpus: int, kinds: Iterable[objects.GVK]) -> int:
    """The cap over all kinds; by default 2 per CPU, or more if one kind was promised more."""
    cap: int | None = given.options.get("max_concurrent_runs")
    if cap is None:
        configured = (kindenv.workers(given.environ, gvk) or 0 for gvk in kinds)
        flag: int = given.options.get("max_concurrent_reconciles", 0)
        return max(2 * cpus, flag, *configured)
    if cap < 1:
        raise errors.SettingsError(
            f"--max-concurrent-runs: {cap} would allow no run; it must be 1 or more "
            "(there is no value for 'no cap')"
        )
    return cap


def _environ(options: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for watches.yaml and runs: path flags replace their variables."""
    replaced = {
        "ANSIBLE_ROLES_PATH": options.get("ansible_roles_path"),
        "ANSIBLE_COLLECTIONS_PATH": options.get("ansible_collections_path"),
        "KUBECONFIG": options.get("kubeconfig"),
    }
    return {**environ, **{name: str(value) for name, value in replaced.items() if value}}


def _check_pairs(options: Mapping[str, Any]) -> None:
    for old, new in (
        ("metrics_addr", "metrics_bind_address"),
        ("enable_leader_election", "leader_elect"),
    ):
        if old in options and new in options:
            raise errors.SettingsError(
                f"{_flag(old)} and {_flag(new)} cannot both be given; remove the deprecated "
                f"{_flag(old)}"
            )
    if options.get("metrics_require_rbac") and not options.get("metrics_secure"):
        raise errors.SettingsError(
            "--metrics-require-rbac needs --metrics-secure: without TLS the tokens would travel "
            "in clear text"
        )


def _flag_notices(options: Mapping[str, Any]) -> Iterable[str]:
    for name, advice in _DEPRECATED.items():
        if name in options:
            yield f"{_flag(name)} is deprecated: {advice}"
    for name in _NOT_ACTIVE:
        if name in options:
            yield f"{_flag(name)} is accepted but not active yet"


def _log_level(text: str) -> tuple[str, int]:
    """Level and V(n): an integer n shows V(n) messages, ``debug`` is V(1)."""
    level = text.lower()
    number = gotext.integer(level)
    if number is not None and number > 0:
        return "debug", number
    if level not in _LOG_LEVELS:
        raise errors.SettingsError(
            f'--zap-log-level: "{text}" is not a level; use one of {", ".join(_LOG_LEVELS)} '
            "or a whole number above 0"
        )
    return level, int(level == "debug")


def _log_events(given: _Given) -> settings.LogEvents:
    text = given.options.get("ansible_log_events", "")
    try:
        return settings.LogEvents(text.lower() or "tasks")
    except ValueError:
        known = ", ".join(choice.value for choice in settings.LogEvents)
        given.notices.append(
            f'--ansible-log-events: "{text}" is not one of {known}; it counts as tasks'
        )
        return settings.LogEvents.TASKS


def _debug_logs(given: _Given) -> bool:
    text = given.environ.get("ANSIBLE_DEBUG_LOGS", "")
    try:
        return bool(text) and gotext.boolean(text)
    except ValueError as error:
        given.notices.append(f"ANSIBLE_DEBUG_LOGS is ignored: {error}")
        return False


def _words(text: str) -> tuple[str, ...]:
    """The words of ``--ansible-args``, after one pair of quotes left over by a manifest."""
    if text.count("'") == 2 and text.startswith("'") and text.endswith("'"):
        text = text[1:-1]
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise errors.SettingsError(
            f"--ansible-args: cannot be split into words ({error}): {text}; balance the quotes"
        ) from error


def _namespaces(text: str) -> tuple[str, ...]:
    """``WATCH_NAMESPACE``: a comma list; nothing left means all namespaces."""
    return tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
