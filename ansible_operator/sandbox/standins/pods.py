"""The kubelet: makes scheduled pods run, become ready, end and go; nothing really runs.

Annotations of a pod, and so of the pod template of a workload, say otherwise:

``sandbox.ansible-operator.io/ready-after``
    How long the containers run before they are ready, a duration such as ``5s``; with ``never``
    they never are, so that a rollout runs into its ``progressDeadlineSeconds``.
``sandbox.ansible-operator.io/fail``
    The containers end with exit code 1 and this message: a pod that is never restarted fails,
    another one is restarted again and again (CrashLoopBackOff).
``sandbox.ansible-operator.io/run-for``
    How long the containers of a pod run that is to end (``restartPolicy`` Never or OnFailure).
"""

from __future__ import annotations

from typing import Any

from ansible_operator import durations
from ansible_operator.sandbox import conditions
from ansible_operator.sandbox.standins import cluster, containers, podstate, scheduling

Obj = dict[str, Any]
PREFIX = "sandbox.ansible-operator.io/"
READY_AFTER, FAIL, RUN_FOR = f"{PREFIX}ready-after", f"{PREFIX}fail", f"{PREFIX}run-for"

START = 0.1
"""Seconds between a pod's arrival on its node and the start of its containers."""
RUN = 0.2
"""Seconds that the containers of a pod run that is to end."""
LONGEST_PAUSE = 300.0
LEVELLED = 12
"""Restarts after which the pauses are the longest."""


def sync(seen: cluster.Cluster, pod: Obj) -> float | None:
    """Take a pod one step further; the answer is when to look again."""
    if "deletionTimestamp" in pod["metadata"]:
        _end(seen, pod)
        return None
    if podstate.is_finished(pod):
        return None
    if not pod["spec"].get("nodeName"):
        if scheduling.is_due(pod["spec"]):
            scheduling.schedule(seen, pod)
        return None
    left = START - seen.elapsed(pod, "start")
    if left > 0:
        return left
    if pod["status"].get("phase") != "Running":
        seen.set_status("pods", pod, containers.started(seen, pod, _is_ready_at_once(pod)))
        return 0.0
    return _run(seen, pod)


def _end(seen: cluster.Cluster, pod: Obj) -> None:
    """The containers end at once, however long the grace period; then the pod is gone."""
    meta = pod["metadata"]
    if meta.get("deletionGracePeriodSeconds") or not meta.get("finalizers"):
        seen.local.delete("pods", meta["namespace"], meta["name"], uid=meta["uid"], grace=0)


def _run(seen: cluster.Cluster, pod: Obj) -> float | None:
    """What happens to a running pod: it fails, ends, or becomes ready, when its time has come."""
    notes = pod["metadata"].get("annotations") or {}
    running = seen.elapsed(pod, "start") - START
    ends = pod["spec"].get("restartPolicy") != "Always"
    if FAIL in notes:
        return _fail(seen, pod, notes[FAIL], running)
    if ends and (left := _seconds(notes.get(RUN_FOR), RUN) - running) <= 0:
        seen.set_status("pods", pod, containers.finished(seen, pod))
        return None
    waits = [left] if ends else []
    ready = conditions.find(pod["status"].get("conditions"), "Ready") or {}
    if ready.get("reason") == containers.NOT_READY:
        if (unready := _seconds(notes.get(READY_AFTER), 0.0) - running) > 0:
            waits.append(unready)
        else:
            seen.set_status("pods", pod, containers.ready(seen, pod))
    return cluster.sooner(*waits)


def _fail(seen: cluster.Cluster, pod: Obj, message: str, running: float) -> float | None:
    """End the containers with an error, and start them again after ever longer pauses."""
    if pod["spec"].get("restartPolicy") == "Never":
        if running < RUN:
            return RUN - running
        seen.set_status("pods", pod, containers.finished(seen, pod, message))
        return None
    given = pod["status"].get("containerStatuses") or ()
    restarts = max((container["restartCount"] for container in given), default=0)
    due = sum(_pause(count) for count in range(min(restarts, LEVELLED) + 1))
    due += max(restarts - LEVELLED, 0) * LONGEST_PAUSE
    if running < due:
        return due - running
    seen.set_status("pods", pod, containers.crashed(seen, pod, message, restarts + 1))
    return _pause(restarts + 1)


def _pause(restarts: int) -> float:
    return min(RUN * 2.0 ** min(restarts, LEVELLED), LONGEST_PAUSE)


def _seconds(text: str | None, default: float) -> float:
    """A duration; what is none, such as ``never``, is longer than anybody waits."""
    if text is None:
        return default
    try:
        return durations.parse(text)
    except ValueError:
        return float("inf")


def _is_ready_at_once(pod: Obj) -> bool:
    notes = pod["metadata"].get("annotations") or {}
    return FAIL not in notes and _seconds(notes.get(READY_AFTER), 0.0) <= 0
