"""Every flag of ``run``: name, type, help text and the default that the help names.

Names and defaults are the incumbent's; what is ours alone is --kubeconfig, --run-timeout,
--runner-*, --max-concurrent-runs, --retry-*, --proxy-allow-anonymous,
--loop-guard-*, --user-metrics-port and --release-orphaned-finalizers.
"""

from __future__ import annotations

from typing import Any

import click

from ansible_operator import goflags


def _flag(name: str, section: str, text: str, **attrs: Any) -> goflags.Flag:
    return goflags.Flag([name], section=section, help=text, **attrs)


def _choice(*choices: str) -> click.Choice[str]:
    return click.Choice(choices, case_sensitive=False)


_BOOLEAN = goflags.Boolean()
_DURATION = goflags.Duration()
_WHAT = "What is watched"
_ANSIBLE = "Ansible"
_PACE = "Pace and concurrency"
_LOGS = "Logs (stderr)"
_LEADER = "Leader election (accepted, not active yet)"
_PROXY = "API proxy and dependents"
_METRICS = "Metrics"
_SERVED = "Health and secure metrics (accepted, not active yet)"

FLAGS: list[click.Parameter] = [
    _flag(
        "--watches-file",
        _WHAT,
        "File that maps kinds to roles and playbooks.",
        metavar="FILE",
        shown="./watches.yaml",
    ),
    _flag(
        "--kubeconfig",
        _WHAT,
        "Cluster to talk to; beats the variable KUBECONFIG.",
        type=click.Path(exists=True, dir_okay=False, resolve_path=True),
        metavar="FILE",
    ),
    _flag(
        "--ansible-verbosity",
        _ANSIBLE,
        "Number of v handed to ansible-playbook; the variable "
        "ANSIBLE_VERBOSITY_<KIND>_<GROUP> and an annotation of the object beat it.",
        type=int,
        shown="2",
    ),
    _flag(
        "--ansible-roles-path",
        _ANSIBLE,
        "Directories with roles, separated by colons; replaces the variable ANSIBLE_ROLES_PATH.",
        metavar="PATH",
    ),
    _flag(
        "--ansible-collections-path",
        _ANSIBLE,
        "Directories with ansible_collections, separated "
        "by colons; replaces the variable ANSIBLE_COLLECTIONS_PATH.",
        metavar="PATH",
    ),
    _flag(
        "--ansible-args",
        _ANSIBLE,
        "Further arguments of ansible-playbook, split as by a shell.",
        metavar="TEXT",
    ),
    _flag(
        "--ansible-log-events",
        _ANSIBLE,
        "Which Ansible events are logged: nothing, tasks or everything.",
        metavar="WORD",
        shown="tasks",
    ),
    _flag(
        "--run-timeout", _ANSIBLE, "Time limit of one run; 0 for none.", type=_DURATION, shown="2h"
    ),
    _flag(
        "--runner-dir",
        _ANSIBLE,
        "Where the private directories of runs are made.",
        metavar="DIRECTORY",
        shown="/tmp/ansible-operator/runner",  # noqa: S108 - de-facto API of roles
    ),
    _flag(
        "--runner-artifacts-max-bytes",
        _ANSIBLE,
        "Upper limit of all kept artifacts, for example 512Mi.",
        type=goflags.Size(),
        shown="1Gi",
    ),
    _flag(
        "--reconcile-period",
        _PACE,
        "Time after which an object is reconciled again although "
        "nothing changed; 0 for never. watches.yaml and an annotation beat it.",
        type=_DURATION,
        shown="10h",
    ),
    _flag(
        "--max-concurrent-reconciles",
        _PACE,
        "Objects of one kind that are reconciled at once; "
        "the variable MAX_CONCURRENT_RECONCILES_<KIND>_<GROUP> beats it.",
        type=int,
        shown="number of CPUs",
    ),
    _flag(
        "--max-concurrent-runs",
        _PACE,
        "Runs at once over all kinds, at least 1.",
        type=int,
        shown="twice the CPUs, or the largest cap given for a kind",
    ),
    _flag(
        "--retry-base-delay",
        _PACE,
        "Wait after the first failure; it doubles with each further one.",
        type=_DURATION,
        shown="1s",
    ),
    _flag("--retry-max-delay", _PACE, "Longest wait after a failure.", type=_DURATION, shown="5m"),
    _flag(
        "--graceful-shutdown-timeout",
        _PACE,
        "How long running playbooks may go on after SIGTERM.",
        type=_DURATION,
        shown="30s",
    ),
    _flag(
        "--zap-devel",
        _LOGS,
        "Console format, debug level, tracebacks from warnings on.",
        type=_BOOLEAN,
        shown="false",
    ),
    _flag(
        "--zap-encoder",
        _LOGS,
        "Format of log lines.",
        type=_choice("json", "console"),
        shown="json; console on a terminal",
    ),
    _flag(
        "--zap-log-level",
        _LOGS,
        "debug, info, error, panic, or a number n > 0 for messages up to V(n).",
        metavar="LEVEL",
        shown="info",
    ),
    _flag(
        "--zap-stacktrace-level",
        _LOGS,
        "Level from which on tracebacks are printed.",
        type=_choice("info", "error", "panic"),
        shown="error",
    ),
    _flag(
        "--zap-time-encoding",
        _LOGS,
        "Format of times.",
        type=_choice("epoch", "millis", "nanos", "iso8601", "rfc3339", "rfc3339nano"),
        shown="rfc3339",
    ),
    _flag(
        "--leader-elect",
        _LEADER,
        "Only one of several replicas works.",
        type=_BOOLEAN,
        shown="false",
    ),
    _flag("--enable-leader-election", _LEADER, "Deprecated: use --leader-elect.", type=_BOOLEAN),
    _flag("--leader-election-id", _LEADER, "Name of the lease.", metavar="NAME"),
    _flag(
        "--leader-election-namespace",
        _LEADER,
        "Namespace of the lease.",
        metavar="NAMESPACE",
        shown="the pod's",
    ),
    _flag(
        "--leader-elect-resource-lock",
        _LEADER,
        "Deprecated and ignored: always leases.",
        metavar="TEXT",
    ),
    _flag(
        "--leader-elect-lease-duration",
        _LEADER,
        "How long a lease is valid.",
        type=_DURATION,
        shown="15s",
    ),
    _flag(
        "--leader-elect-renew-deadline",
        _LEADER,
        "How long the leader tries to renew it.",
        type=_DURATION,
        shown="10s",
    ),
    _flag(
        "--inject-owner-ref",
        _PROXY,
        "Make the object the owner of what its run creates.",
        type=_BOOLEAN,
        shown="true",
    ),
    _flag(
        "--proxy-port",
        _PROXY,
        "Port on loopback where runs reach the API server; 0 for any free one.",
        type=click.IntRange(0, 65535),
        shown="8888",
    ),
    _flag(
        "--proxy-allow-anonymous",
        _PROXY,
        "Serve requests without the token of a run too, with the operator's rights: for sidecars "
        "that rely on it.",
        type=_BOOLEAN,
        shown="false",
    ),
    _flag(
        "--loop-guard-runs",
        _PROXY,
        "An object whose role causes this many runs of its own within --loop-guard-window is "
        "slowed down; 0 or less for never.",
        type=int,
        shown="5",
    ),
    _flag(
        "--loop-guard-window",
        _PROXY,
        "Time within which these runs are counted; a loop is over after it without one.",
        type=_DURATION,
        shown="10m",
    ),
    _flag(
        "--release-orphaned-finalizers",
        _WHAT,
        "At start, remove finalizers that this operator has put on objects of kinds which are no "
        "longer watched, where those are being deleted.",
        type=_BOOLEAN,
        shown="false",
    ),
    _flag(
        "--metrics-bind-address",
        _METRICS,
        "Address of /metrics, which is plain HTTP; 0 for none.",
        metavar="ADDRESS",
        shown=":8443",
    ),
    _flag("--metrics-addr", _METRICS, "Deprecated: use --metrics-bind-address.", metavar="ADDRESS"),
    _flag(
        "--user-metrics-port",
        _METRICS,
        "Port on loopback that takes the metrics of roles (osdk_metric); 0 for none.",
        type=click.IntRange(0, 65535),
        shown="5050",
    ),
    _flag("--metrics-secure", _SERVED, "Serve the metrics with TLS.", type=_BOOLEAN, shown="false"),
    _flag(
        "--metrics-require-rbac",
        _SERVED,
        "Check who reads the metrics; needs --metrics-secure.",
        type=_BOOLEAN,
        shown="false",
    ),
    _flag(
        "--health-probe-bind-address",
        _SERVED,
        "Address of /healthz and /readyz.",
        metavar="ADDRESS",
        shown=":6789",
    ),
    _flag("--enable-http2", _SERVED, "Allow HTTP/2 for the metrics.", type=_BOOLEAN, shown="false"),
]
