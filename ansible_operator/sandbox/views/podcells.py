"""What stands in the columns of pods: one word for what a pod and its containers are at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from ansible_operator.sandbox.views import ages, cells


@dataclass(frozen=True, slots=True)
class _Container:
    """What is wanted of a container and what it is at."""

    sidecar: bool
    status: cells.Obj

    @property
    def running(self) -> bool:
        return bool(self.status.get("ready")) and cells.at(self.status, "state.running") is not None

    @property
    def started(self) -> bool:
        return self.sidecar and bool(self.status.get("started"))

    @property
    def done(self) -> bool:
        return bool(cells.at(self.status, "state.terminated.exitCode") == 0)

    @property
    def reason(self) -> str:
        """Why it does not run; empty if it does."""
        ended = cells.at(self.status, "state.terminated")
        if waits := cells.at(self.status, "state.waiting.reason"):
            return str(waits)
        if ended is None:
            return ""
        if told := ended.get("reason"):
            return str(told)
        signal = ended.get("signal")
        return f"Signal:{signal}" if signal else f"ExitCode:{ended.get('exitCode', 0)}"


def _paired(pod: cells.Obj, wanted: str, told: str) -> Iterator[_Container]:
    statuses = {item["name"]: item for item in cells.at(pod, f"status.{told}") or ()}
    for spec in cells.at(pod, f"spec.{wanted}") or ():
        status = statuses.get(spec["name"], {})
        yield _Container(spec.get("restartPolicy") == "Always", status)


def _inits(pod: cells.Obj) -> list[_Container]:
    return list(_paired(pod, "initContainers", "initContainerStatuses"))


def _mains(pod: cells.Obj) -> list[_Container]:
    return list(_paired(pod, "containers", "containerStatuses"))


def _initializing(inits: list[_Container]) -> str:
    """What the init containers are at; empty when they are through."""
    for at, container in enumerate(inits):
        if container.done or container.started:
            continue
        reason = container.reason if container.status else ""
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{at}/{len(inits)}"
    return ""


def pod_ready(pod: cells.Obj, _: datetime) -> str:
    """How many containers are ready, of how many."""
    sidecars = [container for container in _inits(pod) if container.sidecar]
    counted = [*sidecars, *_mains(pod)]
    return f"{sum(container.running for container in counted)}/{len(counted)}"


def pod_status(pod: cells.Obj, _: datetime) -> str:
    """The phase, or more exactly what holds a pod up."""
    status = cells.at(pod, "status") or {}
    phase = status.get("phase", "")
    if cells.at(pod, "metadata.deletionTimestamp") and phase not in ("Succeeded", "Failed"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    initializing = _initializing(_inits(pod)) if status.get("initContainerStatuses") else ""
    if initializing and cells.condition(pod, "Initialized") != "True":
        return initializing
    return _of_mains(pod, _gated(pod) or status.get("reason") or phase)


def _gated(pod: cells.Obj) -> str:
    given = cells.at(pod, "status.conditions") or ()
    waits = (c for c in given if c["type"] == "PodScheduled" and c.get("reason"))
    return next((c["reason"] for c in waits if c["reason"] == "SchedulingGated"), "")


def _of_mains(pod: cells.Obj, otherwise: str) -> str:
    mains = _mains(pod)
    reason = next((c.reason for c in mains if c.reason), otherwise)
    if reason == "Completed" and any(c.running for c in mains):
        return "Running" if cells.condition(pod, "Ready") == "True" else "NotReady"
    return str(reason)


def pod_restarts(pod: cells.Obj, now: datetime) -> str:
    """How often containers were started again, and how long ago the last time was."""
    counted = [*(c for c in _inits(pod) if c.sidecar), *_mains(pod)]
    if not cells.at(pod, "status.containerStatuses"):
        counted = _inits(pod)
    restarts = sum(c.status.get("restartCount", 0) for c in counted)
    ends = [cells.at(c.status, "lastState.terminated.finishedAt") for c in counted]
    last = max((end for end in ends if end), default="")
    return f"{restarts} ({ages.since(last, now)} ago)" if restarts and last else str(restarts)


def readiness_gates(pod: cells.Obj, _: datetime) -> str:
    """How many readiness gates are open, of how many."""
    gates = [gate["conditionType"] for gate in cells.at(pod, "spec.readinessGates") or ()]
    if not gates:
        return cells.NONE
    return f"{sum(cells.condition(pod, gate) == 'True' for gate in gates)}/{len(gates)}"
