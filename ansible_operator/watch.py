"""One watched kind: which role or playbook runs for its objects, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_operator import fieldpath, objects, reference, selector, targets

DEFAULT_MAX_RUNNER_ARTIFACTS = 20


@dataclass(frozen=True, slots=True)
class Finalizer:
    """What runs when an object is deleted; with ``target`` None the watch's own target runs."""

    name: str
    target: targets.Target | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watch:
    """One entry of watches.yaml.

    Times are seconds. ``reconcile_period`` is None where the file says nothing (the flag decides)
    and 0 where it says that there are no periodic runs. ``run_timeout`` likewise.
    ``max_runner_artifacts``: 0 keeps none, negative keeps all.
    """

    gvk: objects.GVK
    target: targets.Target
    vars: Mapping[str, Any] = field(default_factory=dict)
    max_runner_artifacts: int = DEFAULT_MAX_RUNNER_ARTIFACTS
    reconcile_period: float | None = None
    run_timeout: float | None = None
    ansible_args: tuple[str, ...] | None = None
    manage_status: bool = True
    watch_dependent_resources: bool = True
    watch_cluster_scoped_resources: bool = False
    snake_case_parameters: bool = True
    snake_case_top_level_only: bool = False
    watch_annotations_changes: bool = False
    mark_unsafe: bool = False
    cancel_on_change: bool = False
    run_once_per_generation: bool = False
    watch_status_paths: tuple[fieldpath.FieldPath, ...] = ()
    references: tuple[reference.Reference, ...] = ()
    blacklist: frozenset[objects.GVK] = frozenset()
    selector: selector.Selector | None = None
    finalizer: Finalizer | None = None
    place: str = ""
