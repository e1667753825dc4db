"""Jobs and CronJobs: pods that end, counts, conditions and events."""

from __future__ import annotations

from typing import Any

import wire

Obj = dict[str, Any]
NEVER = {"example.com/no": "such-node"}
REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")


def jobs(ns: str, name: str = "") -> str:
    """The path of a job."""
    return f"/apis/batch/v1/namespaces/{ns}/jobs" + (f"/{name}" if name else "")


def pods(ns: str, name: str = "") -> str:
    """The path of a pod."""
    return f"/api/v1/namespaces/{ns}/pods" + (f"/{name}" if name else "")


def job_spec(pod: Obj | None = None, **spec: Any) -> Obj:
    """The spec of a job of one container."""
    containers = [{"name": "c", "image": "x"}]
    inner = {"restartPolicy": "Never", "containers": containers, **(pod or {})}
    return {"template": {"spec": inner}, **spec}


def start(server: wire.Server, ns: str, name: str, pod: Obj | None = None, **spec: Any) -> Obj:
    """Create a job."""
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}
    answer = server.post(jobs(ns), {**head, "spec": job_spec(pod, **spec)})
    assert answer.code == 201, answer.text
    found: Obj = answer.body
    return found


def told(obj: Obj) -> list[tuple[str, str, str]]:
    """Type, status and reason of each condition, in their order."""
    found = obj["status"].get("conditions") or []
    return [(c["type"], c["status"], c.get("reason", "")) for c in found]


def ended(kind: str) -> Any:
    """A test for a job that has ended so."""
    return lambda obj: (kind, "True") in [(one, status) for one, status, _ in told(obj)]


def messages(server: wire.Server, ns: str, kind: str) -> list[tuple[str, str]]:
    """Reasons and messages of the events about objects of a kind."""
    path = f"/api/v1/namespaces/{ns}/events"
    found = server.get(path, fieldSelector=f"involvedObject.kind={kind}").body["items"]
    return [(event["reason"], event["message"]) for event in found]


def test_job_completes(server: wire.Server, ns: str) -> None:
    """A job makes a pod, and is complete when that has succeeded."""
    uid = start(server, ns, "once")["metadata"]["uid"]
    found = server.until(jobs(ns, "once"), ended("Complete"))
    status = found["status"]
    assert told(found) == [
        ("SuccessCriteriaMet", "True", REACHED[0]),
        ("Complete", "True", REACHED[0]),
    ]
    assert {c["message"] for c in status["conditions"]} == {REACHED[1]}
    assert status["startTime"] <= status["completionTime"]
    counts = {
        k: v for k, v in status.items() if k not in ("conditions", "startTime", "completionTime")
    }
    assert counts == {"succeeded": 1, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}}
    (pod,) = server.get(pods(ns), labelSelector="job-name=once").body["items"]
    assert pod["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "once",
        "controller-uid": uid,
        "job-name": "once",
    }
    assert pod["metadata"]["generateName"] == "once-"
    assert pod["metadata"]["ownerReferences"][0]["uid"] == uid
    assert pod["status"]["phase"] == "Succeeded"
    server.until(pods(ns, pod["metadata"]["name"]), lambda p: "finalizers" not in p["metadata"])
    seen = messages(server, ns, "Job")
    assert ("SuccessfulCreate", f"Created pod: {pod['metadata']['name']}") in seen
    assert ("Completed", "Job completed") in seen


def test_job_runs_as_many_pods_as_it_wants(server: wire.Server, ns: str) -> None:
    """Completions and parallelism are kept; an indexed job says which indexes are complete."""
    start(server, ns, "many", completions=3, parallelism=2)
    indexed = {"completions": 4, "parallelism": 4, "completionMode": "Indexed"}
    start(server, ns, "indexed", {"restartPolicy": "OnFailure"}, **indexed)
    start(server, ns, "queue", parallelism=2)
    found = server.until(jobs(ns, "many"), ended("Complete"))
    assert found["status"]["succeeded"] == 3
    assert len(server.get(pods(ns), labelSelector="job-name=many").body["items"]) == 3
    found = server.until(jobs(ns, "indexed"), ended("Complete"))
    assert (found["status"]["succeeded"], found["status"]["completedIndexes"]) == (4, "0-3")
    listed = server.get(pods(ns), labelSelector="job-name=indexed").body["items"]
    key = "batch.kubernetes.io/job-completion-index"
    assert sorted(pod["metadata"]["labels"][key] for pod in listed) == ["0", "1", "2", "3"]
    for pod in listed:
        index = pod["metadata"]["annotations"][key]
        assert pod["spec"]["hostname"] == f"indexed-{index}"
        assert pod["metadata"]["generateName"] == f"indexed-{index}-"
        (variable,) = pod["spec"]["containers"][0]["env"]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
    found = server.until(jobs(ns, "queue"), ended("Complete"))
    assert found["status"]["succeeded"] == 2


def test_suspended_job_waits(server: wire.Server, ns: str) -> None:
    """A suspended job has no pods; resumed it runs, suspended again it drops them uncounted."""
    start(server, ns, "later", suspend=True)
    found = server.until(jobs(ns, "later"), told)
    assert told(found) == [("Suspended", "True", "JobSuspended")]
    assert "startTime" not in found["status"]
    assert server.get(pods(ns)).body["items"] == []
    assert server.patch(jobs(ns, "later"), {"spec": {"suspend": False}}).code == 200
    found = server.until(jobs(ns, "later"), ended("Complete"))
    assert told(found)[0] == ("Suspended", "False", "JobResumed")
    start(server, ns, "stuck", {"nodeSelector": NEVER})
    server.until(jobs(ns, "stuck"), lambda obj: obj["status"].get("active") == 1)
    server.patch(jobs(ns, "stuck"), {"spec": {"suspend": True}})
    found = server.until(jobs(ns, "stuck"), lambda obj: told(obj) and "active" not in obj["status"])
    assert "failed" not in found["status"]
    assert server.get(pods(ns), labelSelector="job-name=stuck").body["items"] == []
    seen = messages(server, ns, "Job")
    for event in (("Suspended", "Job suspended"), ("Resumed", "Job resumed")):
        assert event in seen


def fail_pod(server: wire.Server, ns: str, job: str) -> None:
    """Let the waiting pod of a job fail."""
    selector = {"labelSelector": f"job-name={job}"}
    server.until(jobs(ns, job), lambda obj: obj["status"].get("active") == 1)
    listed = server.get(pods(ns), **selector).body["items"]
    name = next(p["metadata"]["name"] for p in listed if p["status"]["phase"] == "Pending")
    answer = server.patch(pods(ns, f"{name}/status"), {"status": {"phase": "Failed"}})
    assert answer.code == 200, answer.text


def test_job_fails(server: wire.Server, ns: str) -> None:
    """Too many failed pods, or too much time, make a job fail."""
    never = {"nodeSelector": NEVER}
    start(server, ns, "broken", never, backoffLimit=0)
    start(server, ns, "late", never, activeDeadlineSeconds=1)
    fail_pod(server, ns, "broken")
    found = server.until(jobs(ns, "broken"), ended("Failed"))
    why = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert told(found) == [("FailureTarget", "True", why[0]), ("Failed", "True", why[0])]
    assert found["status"]["conditions"][1]["message"] == why[1]
    assert found["status"]["failed"] == 1
    assert "completionTime" not in found["status"]
    assert "succeeded" not in found["status"]
    late = server.until(jobs(ns, "late"), ended("Failed"))
    reason = ("DeadlineExceeded", "Job was active longer than specified deadline")
    assert told(late) == [("FailureTarget", "True", reason[0]), ("Failed", "True", reason[0])]
    assert late["status"]["failed"] == 1
    assert server.get(pods(ns), labelSelector="job-name=late").body["items"] == []
    seen = messages(server, ns, "Job")
    assert why in seen
    assert reason in seen


def test_finished_job_goes_when_its_time_is_over(server: wire.Server, ns: str) -> None:
    """With ttlSecondsAfterFinished a job is deleted with its pods."""
    start(server, ns, "brief", ttlSecondsAfterFinished=0)
    server.until_gone(jobs(ns, "brief"))
    server.until(pods(ns), lambda found: not found["items"])


def test_deleted_job_leaves_its_pods_by_default(server: wire.Server, ns: str) -> None:
    """Unlike with other kinds the default of the API is to orphan; Background deletes the pods."""
    start(server, ns, "a")
    start(server, ns, "b")
    for name in ("a", "b"):
        server.until(jobs(ns, name), ended("Complete"))
    answer = server.delete(jobs(ns, "a"))
    assert answer.code == 200
    (warning,) = answer.warnings
    assert warning.startswith('"child pods are preserved by default when jobs are deleted; set ')
    assert answer.body["metadata"]["finalizers"] == ["orphan"]
    server.until_gone(jobs(ns, "a"))
    (pod,) = server.get(pods(ns), labelSelector="job-name=a").body["items"]
    assert "ownerReferences" not in pod["metadata"]
    answer = server.delete(jobs(ns, "b"), propagationPolicy="Background")
    assert (answer.code, answer.warnings) == (200, [])
    server.until_gone(jobs(ns, "b"))
    server.until(f"{pods(ns)}?labelSelector=job-name%3Db", lambda found: not found["items"])


def test_job_of_a_cron_job(server: wire.Server, ns: str) -> None:
    """A job that is made from a CronJob belongs to it; the CronJob notes when it succeeded."""
    path = f"/apis/batch/v1/namespaces/{ns}/cronjobs"
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job_spec()}}
    head = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"}}
    created = server.post(path, {**head, "spec": spec})
    assert created.code == 201, created.text
    assert created.body["status"] == {}
    assert created.body["spec"]["concurrencyPolicy"] == "Allow"
    uid = created.body["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "cron", "uid": uid}
    metadata = {
        "name": "manual",
        "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
        "ownerReferences": [{**owner, "controller": True}],
    }
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job_spec()}
    assert server.post(jobs(ns), body).code == 201
    done = server.until(jobs(ns, "manual"), ended("Complete"))
    found = server.until(f"{path}/cron", lambda obj: obj["status"].get("lastSuccessfulTime"))
    assert found["status"] == {"lastSuccessfulTime": done["status"]["completionTime"]}
    assert server.delete(f"{path}/cron").code == 200
    server.until_gone(jobs(ns, "manual"))
