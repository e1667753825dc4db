"""Jobs: pods until enough of them have succeeded, or too many failed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ansible_operator.sandbox import conditions, failure
from ansible_operator.sandbox.standins import cluster, indexes, labels, podstate

Obj = dict[str, Any]
Pods = list[Obj]
COMPONENT = "job-controller"
OWN = "kubernetes.io/job-controller"
TRACKING = "batch.kubernetes.io/job-tracking"
BATCH = 10
"""How many pods are created before others get their turn."""

PAUSE, LONGEST_PAUSE = 0.1, 1.0
"""Before a failed pod is replaced; a cluster waits for 10 seconds and more."""
REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
LIMIT = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")


def sync(seen: cluster.Cluster, found: Obj) -> float | None:
    """Do the next step and write the status; the answer is when to look again."""
    if found["spec"].get("managedBy", OWN) != OWN:
        return None
    if _is_finished(found):
        return _expire(seen, found)
    if "deletionTimestamp" in found["metadata"]:
        _release(seen, _pods(seen, found))
        return None
    return _Step(seen, found).act()


def _is_finished(job: Obj) -> bool:
    return any(conditions.is_true(job, kind) for kind in ("Complete", "Failed"))


def _expire(seen: cluster.Cluster, job: Obj) -> float | None:
    """Delete a finished job when it has been there for as long as it wanted to be."""
    _release(seen, _pods(seen, job))
    lifetime, meta = job["spec"].get("ttlSecondsAfterFinished"), job["metadata"]
    if lifetime is None or "deletionTimestamp" in meta:
        return None
    kinds = ("Complete", "Failed")
    listed = job["status"]["conditions"]
    ended = next(c.get("lastTransitionTime") for c in listed if c["type"] in kinds)
    left = seen.wait(ended or meta["creationTimestamp"], lifetime)
    if left <= 0:
        seen.local.delete("jobs.batch", meta["namespace"], meta["name"], "Foreground", meta["uid"])
        return None
    return left


def _pods(seen: cluster.Cluster, job: Obj) -> Pods:
    return seen.claim(job, ("", "pods"), labels.selector(job["spec"]["selector"]))


def _release(seen: cluster.Cluster, pods: Pods) -> None:
    """Let go of pods that are counted or count no more."""
    for pod in pods:
        kept = [name for name in pod["metadata"].get("finalizers") or () if name != TRACKING]
        if len(kept) != len(pod["metadata"].get("finalizers") or ()):
            seen.set_meta("pods", pod, finalizers=kept)


class _Step:
    """One look at a job and its pods."""

    def __init__(self, seen: cluster.Cluster, job: Obj) -> None:
        self._seen = seen
        self._job = job
        self._spec: Obj = job["spec"]
        self._status: Obj = dict(job.get("status") or {})
        self._conditions: Pods = self._status.get("conditions") or []
        self._pods = _pods(seen, job)
        self._active = [pod for pod in self._pods if podstate.is_active(pod)]
        self._counted: Pods = []
        self._indexed = self._spec.get("completionMode") == "Indexed"

    def act(self) -> float | None:
        """Count, judge, create and delete, and write the status."""
        self._count()
        target = self._true("FailureTarget") or self._true("SuccessCriteriaMet")
        if target:
            self._finish(target)
            self._write()
            return None
        wait = None
        if self._judge():
            for pod in self._active:
                self._delete(pod)
        elif self._suspend():
            for pod in self._active:
                self._dismiss(pod)
        else:
            wait = self._fill()
        self._write()
        return cluster.sooner(wait, self._deadline())

    def _count(self) -> None:
        """Count the pods that have ended since the last time."""
        self._counted = [
            pod
            for pod in self._pods
            if TRACKING in (pod["metadata"].get("finalizers") or ()) and not podstate.is_active(pod)
        ]
        good = [pod for pod in self._counted if pod["status"].get("phase") == "Succeeded"]
        bad = len(self._counted) - len(good)
        if self._indexed:
            done = self._completed()
            done |= {indexes.of(pod) for pod in good}
            self._status["completedIndexes"] = indexes.render(done)
            self._status["succeeded"] = len(done)
        else:
            self._status["succeeded"] = self._status.get("succeeded", 0) + len(good)
        self._status["failed"] = self._status.get("failed", 0) + bad

    def _judge(self) -> bool:
        """Whether it is decided how the job ends; notes how."""
        reason = self._failure_reason()
        if reason:
            self._note("FailureTarget", "True", *reason)
        elif self._is_done():
            self._note("SuccessCriteriaMet", "True", *REACHED)
        return bool(reason) or self._is_done()

    def _failure_reason(self) -> tuple[str, str] | None:
        limit = self._spec.get("backoffLimit", 6)
        restarts = sum(
            container.get("restartCount", 0)
            for pod in self._active
            for container in pod["status"].get("containerStatuses") or ()
        )
        if self._status["failed"] > limit or (restarts and restarts >= limit):
            return LIMIT
        left = self._deadline()
        return DEADLINE if left is not None and left <= 0 else None

    def _is_done(self) -> bool:
        wanted, done = self._spec.get("completions"), self._status["succeeded"]
        if wanted is None:  # a work queue: one success ends it, when all pods have ended
            return done > 0 and not self._active
        return bool(done >= wanted)

    def _finish(self, target: Obj) -> None:
        """Say how the job ended, once all pods are gone or have ended."""
        if any(not podstate.is_finished(pod) for pod in self._pods):
            for pod in self._active:
                self._delete(pod)
            return
        good = target["type"] == "SuccessCriteriaMet"
        reason, message = target["reason"], target["message"]
        self._note("Complete" if good else "Failed", "True", reason, message)
        if good:
            self._status["completionTime"] = self._seen.stamp()
            self._seen.normal(self._job, "Completed", "Job completed", COMPONENT)
        else:
            self._seen.warn(self._job, reason, message, COMPONENT)

    def _suspend(self) -> bool:
        """Whether the job is suspended; notes that it is, or is no longer."""
        now = bool(self._spec.get("suspend"))
        was = self._true("Suspended") is not None
        if now and not was:
            self._note("Suspended", "True", "JobSuspended", "Job suspended")
            self._seen.normal(self._job, "Suspended", "Job suspended", COMPONENT)
            self._status.pop("startTime", None)
        elif was and not now:
            self._note("Suspended", "False", "JobResumed", "Job resumed")
            self._seen.normal(self._job, "Resumed", "Job resumed", COMPONENT)
        if not now:
            self._status.setdefault("startTime", self._seen.stamp())
        return now

    def _fill(self) -> float | None:
        """Create pods, or delete those that are too many; when to try again."""
        wanted, parallel = self._spec.get("completions"), self._spec.get("parallelism", 1)
        if wanted is not None:
            parallel = min(parallel, wanted - self._status["succeeded"])
        elif self._status["succeeded"]:
            parallel = min(parallel, len(self._active))
        missing = parallel - len(self._active)
        for pod in sorted(self._active, key=podstate.victims_first)[: max(-missing, 0)]:
            self._dismiss(pod)
        failed = self._status["failed"]
        if missing > 0 and failed:
            left = float(min(PAUSE * 2.0 ** min(failed, 10), LONGEST_PAUSE))
            left -= self._seen.elapsed(self._job, f"failure {failed}")
            if left > 0:
                return left
        try:
            for index in itertools.islice(self._open_indexes(), min(max(missing, 0), BATCH)):
                self._create(index)
        except failure.ApiFailure as refused:
            told = f"Error creating: {refused.message}"
            self._seen.warn(self._job, "FailedCreate", told, COMPONENT)
            return LONGEST_PAUSE
        return None

    def _open_indexes(self) -> Iterator[int]:
        if not self._indexed:
            return itertools.repeat(0)
        taken = self._completed() | {indexes.of(pod) for pod in self._active}
        return (index for index in range(self._spec["completions"]) if index not in taken)

    def _completed(self) -> set[int]:
        return indexes.parse(self._status.get("completedIndexes", ""), self._spec["completions"])

    def _create(self, index: int) -> None:
        name, index_text = self._job["metadata"]["name"], str(index)
        mark = {indexes.INDEX: index_text} if self._indexed else {}
        prefix = f"{name}-{index_text}-" if self._indexed else f"{name}-"
        template = self._spec["template"]
        pod = podstate.from_template(
            self._job,
            template,
            generateName=prefix,
            labels=dict(mark),
            annotations=dict(mark),
            finalizers=[TRACKING],
        )
        if self._indexed:
            pod = indexes.tell(pod, prefix[:-1])
        made = self._seen.local.create("pods", pod)
        self._active.append(made)
        told = f"Created pod: {made['metadata']['name']}"
        self._seen.normal(self._job, "SuccessfulCreate", told, COMPONENT)

    def _dismiss(self, pod: Obj) -> None:
        """Delete a pod that is not to be counted as failed."""
        _release(self._seen, [pod])
        self._delete(pod)

    def _delete(self, pod: Obj) -> None:
        meta = pod["metadata"]
        self._seen.local.delete("pods", meta["namespace"], meta["name"], uid=meta["uid"])
        told = f"Deleted pod: {meta['name']}"
        self._seen.normal(self._job, "SuccessfulDelete", told, COMPONENT)

    def _write(self) -> None:
        pods = _pods(self._seen, self._job)
        active = [pod for pod in pods if podstate.is_active(pod)]
        leaving = [p for p in pods if "deletionTimestamp" in p["metadata"]]
        counts = {
            **self._status,
            "active": len(active),
            "conditions": self._conditions,
        }
        always = {
            "terminating": sum(not podstate.is_finished(pod) for pod in leaving),
            "ready": sum(podstate.is_ready(pod) for pod in active),
            "uncountedTerminatedPods": {},
        }
        status = {**cluster.without_zeros(counts), **always}
        self._seen.set_status("jobs.batch", self._job, status)
        _release(self._seen, self._counted)

    def _deadline(self) -> float | None:
        limit, start = self._spec.get("activeDeadlineSeconds"), self._status.get("startTime")
        if limit is None or start is None or self._spec.get("suspend"):
            return None
        return self._seen.wait(str(start), float(limit))

    def _true(self, kind: str) -> Obj | None:
        found = conditions.find(self._conditions, kind)
        return found if found and found["status"] == "True" else None

    def _note(self, kind: str, status: str, reason: str, message: str) -> None:
        now = self._seen.stamp()
        times = {"lastProbeTime": now, "lastTransitionTime": now}
        told = {"type": kind, "status": status, **times, "reason": reason, "message": message}
        self._conditions = conditions.replaced(self._conditions, told)
