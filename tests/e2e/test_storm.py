"""Many edits of many objects while they run: nothing is lost and nothing runs twice at once."""

from __future__ import annotations

import time
from pathlib import Path

import api
import pytest
from conftest import environment, install_crds

from ansible_operator.testing import controlplane, operator

PROJECT = Path(__file__).parent / "storm"
PER_KIND = 25
EDITS = 20
PAUSE = 1.5
"""Seconds between two rounds of edits, so that runs begin and end between them."""


@pytest.mark.case("E4")
def test_every_object_ends_at_its_newest_generation(
    control_plane: controlplane.ControlPlane,
    module_namespace: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """50 objects of two kinds, 20 edits each during runs: merged, in order, never twice at once."""
    install_crds(control_plane, PROJECT / "crds")
    record, runner_dir = tmp_path / "record", tmp_path / "runner"
    record.mkdir()
    runner_dir.mkdir(mode=0o700)
    server = api.Api(control_plane.kubeconfig, module_namespace)
    objects = [
        (api.kind(k), f"{k.lower()}-{n}") for n in range(PER_KIND) for k in ("Left", "Right")
    ]
    env = environment(record, module_namespace)
    arguments = [f"--runner-dir={runner_dir}"]
    with operator.run_operator(PROJECT, control_plane.kubeconfig, *arguments, env=env) as running:
        for of, name in objects:
            server.create(of, name, spec={"edit": 0})
        for edit in range(1, EDITS + 1):
            for of, name in objects:
                server.patch(of, name, {"spec": {"edit": edit}})
            time.sleep(PAUSE)
        for of, name in objects:
            server.until(of, name, api.settled, seconds=280)
    runs = [judge(server, record, of, name) for of, name in objects]
    edits = EDITS * len(objects)
    assert not [entry for entry in running.logs if entry.get("msg") == "reconcile failed"]
    assert max(runs) > 1, "no edit fell into a run, so that nothing was tested"
    assert sum(runs) < len(objects) + edits, "no edit was merged"
    with capsys.disabled():
        print(
            f"\nstorm: {len(objects)} objects of 2 kinds, {edits} edits, {sum(runs)} runs "
            f"({len(objects) + edits - sum(runs)} edits merged), "
            f"at most {max(runs)} runs of one object"
        )


def judge(server: api.Api, record: Path, of: api.Kind, name: str) -> int:
    """Assert what must hold of one object; how often it ran."""
    obj = server.get(of, name)
    assert obj is not None
    assert api.successful(obj), obj["status"]
    lines = (record / f"{of.kind}.{name}").read_text().splitlines()
    assert "overlap" not in lines, "two runs of one object at once"
    generations = [int(line.split()[0]) for line in lines]
    assert generations == sorted(set(generations)), "a generation ran twice or out of order"
    assert lines[-1] == f"{EDITS + 1} {EDITS}", "the last run did not have the last spec"
    assert not (record / f"{of.kind}.{name}.lock").exists()
    return len(lines)
