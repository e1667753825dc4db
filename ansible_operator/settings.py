"""What ``run`` was told, as frozen settings; :mod:`ansible_operator.flags` makes them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ansible_operator import kindenv, objects


class LogEvents(enum.Enum):
    """``--ansible-log-events``: what of a run's events reaches the log."""

    NOTHING = "nothing"
    TASKS = "tasks"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The ``--zap-*`` flags. ``verbosity`` n shows V(n) messages; ``level`` is a Python level name.

    ``stacktrace_level`` is the lowest level at which the traceback of an exception is printed.
    """

    encoder: str = "json"
    level: str = "info"
    verbosity: int = 0
    stacktrace_level: str = "error"
    time_encoding: str = "rfc3339"


@dataclass(frozen=True, slots=True)
class AnsibleSettings:
    """What concerns every Ansible run. Times are seconds, sizes bytes."""

    verbosity: int = 2
    roles_path: str = ""
    collections_path: str = ""
    args: tuple[str, ...] = ()
    log_events: LogEvents = LogEvents.TASKS
    debug_logs: bool = False
    skip_facts: bool = False
    inventory: Path | None = None
    runner_dir: Path = Path("/tmp/ansible-operator/runner")  # noqa: S108 - de-facto API of roles
    run_timeout: float = 7200.0
    artifacts_max_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What concerns queue and workers. Times are seconds.

    ``max_concurrent_reconciles`` is per kind, ``max_concurrent_runs`` over all kinds. An object
    whose role causes ``loop_guard_runs`` runs of its own within ``loop_guard_window`` is slowed
    down; 0 runs means that nothing is.
    """

    reconcile_period: float = 36000.0
    max_concurrent_reconciles: int = 1
    max_concurrent_runs: int = 2
    backoff_floor: float = 1.0
    backoff_ceiling: float = 300.0
    graceful_shutdown_timeout: float = 30.0
    loop_guard_runs: int = 5
    loop_guard_window: float = 600.0


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """What concerns the API proxy. Port 0 is any free one.

    ``allow_anonymous`` serves requests without a token, with the rights of the operator.
    """

    port: int = 8888
    allow_anonymous: bool = False
    inject_owner_ref: bool = True


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """Where metrics are served and taken in.

    ``bind_address`` is ``host:port``, the host may be empty; ``0`` or an empty text is nowhere.
    ``bind_is_required`` says that it was asked for, so that the operator must not start without
    it. ``user_port`` is the port on loopback that takes the metrics of roles; 0 is none.
    """

    bind_address: str = ":8443"
    bind_is_required: bool = False
    user_port: int = 5050


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything ``run`` was told. ``namespaces`` is empty for all namespaces."""

    watches_file: Path = Path("watches.yaml")
    namespaces: tuple[str, ...] = ()
    proxy: ProxySettings = ProxySettings()
    metrics: MetricsSettings = MetricsSettings()
    release_orphaned_finalizers: bool = False
    ansible: AnsibleSettings = AnsibleSettings()
    engine: EngineSettings = EngineSettings()
    logs: LogSettings = LogSettings()
    environ: Mapping[str, str] = field(default_factory=dict)

    def workers(self, gvk: objects.GVK) -> int:
        """How many objects of this kind may run at once: MAX_..., WORKER_..., then the flag."""
        return kindenv.workers(self.environ, gvk) or self.engine.max_concurrent_reconciles

    def verbosity(self, gvk: objects.GVK) -> int:
        """The verbosity of runs for this kind: ANSIBLE_VERBOSITY_... (0 to 7), then the flag."""
        found = kindenv.verbosity(self.environ, gvk)
        return self.ansible.verbosity if found is None else found
