"""CronJobs on demand: the clock starts nothing, a changed annotation does.

``sandbox.ansible-operator.io/run``
    Each new value makes a job from the template, as the schedule would, whatever the value is.

``kubectl create job --from=cronjob/NAME`` needs nothing of this: it makes the job itself.
"""

from __future__ import annotations

import copy
from typing import Any

from ansible_operator.sandbox import conditions, dependents
from ansible_operator.sandbox.standins import cluster, pods

Obj = dict[str, Any]
COMPONENT = "cronjob-controller"
RUN = f"{pods.PREFIX}run"
RAN = f"{pods.PREFIX}ran"


def sync(seen: cluster.Cluster, found: Obj) -> float | None:
    """Make the job that was asked for, forget old ones, and write the status."""
    if "deletionTimestamp" in found["metadata"]:
        return None
    notes = found["metadata"].get("annotations") or {}
    if notes.get(RUN, notes.get(RAN)) != notes.get(RAN) and not found["spec"].get("suspend"):
        found = _start(seen, found)
        seen.set_meta("cronjobs.batch", found, annotations={**notes, RAN: notes[RUN]})
        return 0.0
    jobs = [job for job in seen.dependents.of(found["metadata"]["uid"]) if _is_own(found, job)]
    jobs.sort(key=lambda job: str(job["metadata"]["creationTimestamp"]))
    seen.set_status("cronjobs.batch", found, _status(seen, found, jobs))
    for kind, field in (("Complete", "successfulJobsHistoryLimit"), ("Failed", _FAILED)):
        ended = [job for job in jobs if conditions.is_true(job, kind)]
        for job in ended[: max(len(ended) - found["spec"].get(field, 1), 0)]:
            meta = job["metadata"]
            seen.local.delete("jobs.batch", meta["namespace"], meta["name"], "Background")
            seen.normal(found, "SuccessfulDelete", f"Deleted job {meta['name']}", COMPONENT)
    return None


_FAILED = "failedJobsHistoryLimit"


def _is_own(found: Obj, job: Obj) -> bool:
    owner = dependents.controller(job)
    return job["kind"] == "Job" and owner is not None and owner["uid"] == found["metadata"]["uid"]


def _start(seen: cluster.Cluster, found: Obj) -> Obj:
    about, template = found["metadata"], found["spec"]["jobTemplate"]
    given = template.get("metadata") or {}
    minute = int(seen.now().timestamp()) // 60
    taken = {job["metadata"]["name"] for job in seen.local.list("jobs.batch", about["namespace"])}
    name = next(
        n for n in (f"{about['name']}-{minute + i}" for i in range(10_000)) if n not in taken
    )
    stamp = {"batch.kubernetes.io/cronjob-scheduled-timestamp": seen.stamp()}
    metadata = {
        "name": name,
        "namespace": about["namespace"],
        "labels": given.get("labels") or {},
        "annotations": {**(given.get("annotations") or {}), **stamp},
        "ownerReferences": [cluster.reference_to(found)],
    }
    head = {"apiVersion": "batch/v1", "kind": "Job"}
    spec = copy.deepcopy(template["spec"])
    seen.local.create("jobs.batch", {**head, "metadata": metadata, "spec": spec})
    seen.normal(found, "SuccessfulCreate", f"Created job {name}", COMPONENT)
    status = {**(found.get("status") or {}), "lastScheduleTime": seen.stamp()}
    return seen.set_status("cronjobs.batch", found, status)


def _status(seen: cluster.Cluster, found: Obj, jobs: list[Obj]) -> Obj:
    ended = [j for j in jobs if any(conditions.is_true(j, kind) for kind in ("Complete", "Failed"))]
    listed = {ref.get("uid") for ref in (found.get("status") or {}).get("active") or ()}
    for job in ended:
        if job["metadata"]["uid"] in listed:
            kind = "Complete" if conditions.is_true(job, "Complete") else "Failed"
            told = f"Saw completed job: {job['metadata']['name']}, condition: {kind}"
            seen.normal(found, "SawCompletedJob", told, COMPONENT)
    completed = [job["status"] for job in ended if conditions.is_true(job, "Complete")]
    good = [status["completionTime"] for status in completed if status.get("completionTime")]
    old = {k: v for k, v in (found.get("status") or {}).items() if k != "active"}
    running = [_reference(job) for job in jobs if job not in ended and _was_started(job)]
    last = {"lastSuccessfulTime": max(good)} if good else {}
    return {**old, **last, **({"active": running} if running else {})}


def _was_started(job: Obj) -> bool:
    """Whether the schedule made it; a job that somebody made by hand is not listed as active."""
    notes = job["metadata"].get("annotations") or {}
    return "cronjob.kubernetes.io/instantiate" not in notes


def _reference(job: Obj) -> Obj:
    meta = job["metadata"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": meta["name"],
        "namespace": meta["namespace"],
        "resourceVersion": meta["resourceVersion"],
        "uid": meta["uid"],
    }
