"""The stand-ins for jobs and cron jobs."""

from __future__ import annotations

from typing import Any

import pytest
import sandbox_fakes as fakes
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.sandbox.standins import indexes

Obj = dict[str, Any]
RUN = "sandbox.ansible-operator.io/run"


@pytest.fixture
def lab() -> fakes.Lab:
    """Stand-ins at work."""
    return fakes.Lab()


def spec_of(policy: str = "Never", notes: Obj | None = None, **spec: Any) -> Obj:
    """The spec of a job."""
    return {"template": fakes.template(spec={"restartPolicy": policy}, **(notes or {})), **spec}


def told(obj: Obj) -> list[str]:
    """The types of the conditions that hold."""
    found = obj["status"].get("conditions", ())
    return [condition["type"] for condition in found if condition["status"] == "True"]


def test_failing_job_uses_up_its_tries(lab: fakes.Lab) -> None:
    """Failed pods are replaced until there are more of them than backoffLimit."""
    lab.create("jobs.batch", "j", spec=spec_of(notes={"fail": "oh"}, backoffLimit=2))
    lab.run(30)
    job = lab.get("jobs.batch", "j")
    assert told(job) == ["FailureTarget", "Failed"]
    assert job["status"]["failed"] == 3
    assert lab.events("Job", "BackoffLimitExceeded") == [
        "Job has reached the specified backoff limit"
    ]


def test_restarts_count_as_tries(lab: fakes.Lab) -> None:
    """With OnFailure the restarts of the containers are counted."""
    lab.create("jobs.batch", "j", spec=spec_of("OnFailure", {"fail": "oh"}, backoffLimit=2))
    lab.run(30)
    assert told(lab.get("jobs.batch", "j")) == ["FailureTarget", "Failed"]
    assert lab.pods() == []


def test_states_come_in_order(lab: fakes.Lab) -> None:
    """A job is active, then has met its criteria, then is complete."""
    lab.create("jobs.batch", "j", spec=spec_of())
    lab.run()
    seen = list(lab.history("jobs.batch", "j"))
    steps = list(dict.fromkeys((o["status"].get("active", 0), tuple(told(o))) for o in seen))
    assert steps == [
        (0, ()),
        (1, ()),
        (0, ("SuccessCriteriaMet",)),
        (0, ("SuccessCriteriaMet", "Complete")),
    ]


def test_job_of_another_controller_is_left_alone(lab: fakes.Lab) -> None:
    """With managedBy somebody else runs the job."""
    lab.create("jobs.batch", "j", spec=spec_of(managedBy="example.com/other"))
    lab.run()
    assert lab.pods() == []


def test_parallelism_is_followed(lab: fakes.Lab) -> None:
    """Fewer pods than before are wanted: the rest go, uncounted."""
    slow = spec_of(notes={"run_for": "1h"}, parallelism=3, completions=3)
    lab.create("jobs.batch", "j", spec=slow)
    lab.run()
    lab.edit("jobs.batch", "j", parallelism=1)
    lab.run()
    status = lab.status("jobs.batch", "j")
    assert (len(lab.pods()), status["active"], status.get("failed")) == (1, 1, None)


def test_pods_of_a_deleted_job_are_released(lab: fakes.Lab) -> None:
    """No finalizer of the job's controller keeps them."""
    lab.create("jobs.batch", "j", spec=spec_of(notes={"run_for": "1h"}))
    lab.run()
    lab.delete("jobs.batch", "j", propagation="Foreground")
    lab.run()
    assert (lab.find("jobs.batch", "j"), lab.pods()) == (None, [])


def test_cron_job_runs_on_demand(lab: fakes.Lab) -> None:
    """Each new value of the annotation makes a job; old ones are forgotten."""
    spec = {
        "schedule": "0 0 1 1 *",
        "jobTemplate": {"spec": spec_of()},
        "successfulJobsHistoryLimit": 1,
    }
    lab.create("cronjobs.batch", "c", spec=spec)
    lab.run(3600)
    assert lab.names("jobs.batch") == []
    for value in ("one", "one", "two"):
        found = lab.get("cronjobs.batch", "c")
        notes = {**found["metadata"].get("annotations", {}), RUN: value}
        lab.api.update(
            "cronjobs.batch", {**found, "metadata": {**found["metadata"], "annotations": notes}}
        )
        lab.run(0.05)
        lab.run(60)
    assert len(lab.events("CronJob", "SuccessfulCreate")) == 2
    assert len(lab.names("jobs.batch")) == 1
    status = lab.status("cronjobs.batch", "c")
    assert set(status) == {"lastScheduleTime", "lastSuccessfulTime"}
    seen = [o["status"].get("active", []) for o in lab.history("cronjobs.batch", "c")]
    assert max(len(active) for active in seen) == 1
    assert "Saw completed job: " in lab.events("CronJob", "SawCompletedJob")[0]


@pytest.mark.parametrize(
    ("text", "numbers"), [("", []), ("0", [0]), ("0,1", [0, 1]), ("0-2,5,7,8", [0, 1, 2, 5, 7, 8])]
)
def test_indexes_are_written_as_ranges(text: str, numbers: list[int]) -> None:
    """Two neighbours are listed, more are a range."""
    assert indexes.render(set(numbers)) == text


@given(st.sets(st.integers(0, 200)))
def test_indexes_are_read_as_they_are_written(numbers: set[int]) -> None:
    """Reading takes back what writing made."""
    assert indexes.parse(indexes.render(numbers), 201) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("abc", set()),
        ("1,x-2,3-", {1, 3}),
        ("5-2", set()),
        ("0-99999999999", {0, 1, 2, 3, 4}),
        ("9" * 5000, set()),
        ("3,7-9", {3}),
    ],
)
def test_what_is_no_index_counts_not(text: str, numbers: set[int]) -> None:
    """Anybody can write a status; it costs no more than the job has indexes."""
    assert indexes.parse(text, 5) == numbers
