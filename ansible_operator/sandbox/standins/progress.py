"""The status of a Deployment: counts, availability, and how its rollout comes along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_operator.sandbox import conditions
from ansible_operator.sandbox.standins import cluster, rollouts

Obj = dict[str, Any]
Conditions = list[Obj]
COMPLETE, TIMED_OUT = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"
_NO_DEADLINE = 2**31 - 1
Wait = Callable[[str, float], float]


def plain(deployment: Obj, new: Obj | None, sets: list[Obj], now: str) -> Obj:
    """The status but for the condition Progressing, which stays."""
    available = rollouts.total(sets, "availableReplicas")
    counts = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": rollouts.total(sets, "replicas"),
        "updatedReplicas": rollouts.count(new, "replicas") if new else 0,
        "readyReplicas": rollouts.total(sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(rollouts.wanted(sets) - available, 0),
    }
    if available >= deployment["spec"]["replicas"] - rollouts.slack(deployment)[1]:
        told = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        message = "Deployment does not have minimum availability."
        told = ("False", "MinimumReplicasUnavailable", message)
    leaving = {"terminatingReplicas": rollouts.total(sets, "terminatingReplicas")}
    listed = noted(listed_in(deployment), now, "Available", *told)
    return {**cluster.without_zeros(counts), **leaving, "conditions": listed}


def full(deployment: Obj, new: Obj | None, sets: list[Obj], now: str, wait: Wait) -> Obj:
    """The status with the condition Progressing as it is now."""
    status = plain(deployment, new, sets, now)
    listed = status["conditions"]
    current = conditions.find(listed, "Progressing")
    settled = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if not has_deadline(deployment):
        listed = conditions.without(listed, "Progressing")
    elif not (settled and current and current.get("reason") == COMPLETE):
        name = f'ReplicaSet "{new["metadata"]["name"]}"' if new else "Deployment"
        listed = _progress(deployment, status, name, now, wait)
    status["conditions"] = _with_failure(listed, sets, now)
    return status


def _progress(deployment: Obj, status: Obj, name: str, now: str, wait: Wait) -> Conditions:
    listed: Conditions = status["conditions"]
    if is_complete(deployment, status):
        told = ("True", COMPLETE, f"{name} has successfully progressed.")
        return noted(listed, now, "Progressing", *told)
    if _is_further(deployment.get("status", {}), status):
        current = conditions.find(listed, "Progressing")
        new = _condition(now, "Progressing", "True", "ReplicaSetUpdated", f"{name} is progressing.")
        rest = conditions.without(listed, "Progressing")
        return [*rest, conditions.kept_since(current, new)]
    if (left := time_left(deployment, listed, wait)) is not None and left < 0:
        told = ("False", TIMED_OUT, f"{name} has timed out progressing.")
        return noted(listed, now, "Progressing", *told)
    return listed


def _with_failure(listed: Conditions, sets: list[Obj], now: str) -> Conditions:
    """The failure of a replica set is one of the deployment."""
    found = (conditions.find(listed_in(one), "ReplicaFailure") for one in sets)
    failed = next((one for one in found if one), None)
    if failed is None:
        return conditions.without(listed, "ReplicaFailure")
    told = (failed["status"], failed.get("reason", ""), failed.get("message", ""))
    return noted(listed, now, "ReplicaFailure", *told)


def pause(deployment: Obj, now: str) -> Conditions | None:
    """The conditions with the note that the rollout is paused or resumed; None without news."""
    if not has_deadline(deployment):
        return None
    listed = listed_in(deployment)
    reason = (conditions.find(listed, "Progressing") or {}).get("reason")
    paused = bool(deployment["spec"].get("paused"))
    if reason == TIMED_OUT or paused == (reason == PAUSED):
        return None
    told = (PAUSED, "Deployment is paused") if paused else (RESUMED, "Deployment is resumed")
    return noted(listed, now, "Progressing", "Unknown", *told)


def is_complete(deployment: Obj, status: Obj) -> bool:
    """Whether the status says that all pods are new and available."""
    counts = [status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas")]
    current = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return current and counts == [deployment["spec"]["replicas"]] * 3


def time_left(deployment: Obj, listed: Conditions, wait: Wait) -> float | None:
    """Seconds until the rollout is too late; None if it is over."""
    current = conditions.find(listed, "Progressing")
    if current is None or current.get("reason") in (COMPLETE, TIMED_OUT):
        return None
    since = current.get("lastUpdateTime") or deployment["metadata"]["creationTimestamp"]
    return wait(since, deployment["spec"]["progressDeadlineSeconds"])


def has_deadline(deployment: Obj) -> bool:
    """Whether progress is looked at at all."""
    limit = deployment["spec"].get("progressDeadlineSeconds", _NO_DEADLINE)
    return bool(limit != _NO_DEADLINE)


def listed_in(obj: Obj) -> Conditions:
    """The conditions of an object."""
    found: Conditions = obj.get("status", {}).get("conditions") or []
    return found


def noted(
    listed: Conditions, now: str, kind: str, status: str, reason: str, message: str
) -> Conditions:
    """The conditions with this one at the end, unless it is there with this reason."""
    old = conditions.find(listed, kind)
    if old and (old["status"], old.get("reason")) == (status, reason):
        return listed
    new = conditions.kept_since(old, _condition(now, kind, status, reason, message))
    return [*conditions.without(listed, kind), new]


def _condition(now: str, kind: str, status: str, reason: str, message: str) -> Obj:
    times = {"lastUpdateTime": now, "lastTransitionTime": now}
    return {"type": kind, "status": status, **times, "reason": reason, "message": message}


def _is_further(old: Obj, new: Obj) -> bool:
    def outdated(status: Obj) -> int:
        return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))

    more = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return outdated(new) < outdated(old) or any(new.get(f, 0) > old.get(f, 0) for f in more)
