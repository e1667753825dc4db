"""The bundled collection operator_sdk.util in real runs: found without configuration."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_lab import Lab, dump
from prometheus_client import registry

from ansible_operator import serving, settings, usermetrics

MODULES = ("k8s_status", "k8s_event", "requeue_after", "osdk_metric")
OWN = """
from ansible.module_utils.basic import AnsibleModule
AnsibleModule({}, supports_check_mode=True).exit_json(mine=True, period="1h")
"""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A lab whose environment says nothing of collections."""
    tmp_path.chmod(0o700)
    found = Lab(tmp_path, settings.AnsibleSettings(runner_dir=tmp_path / "runner", skip_facts=True))
    for name in ("ANSIBLE_COLLECTIONS_PATH", "PYTHONPATH"):
        found.environ.pop(name, None)
    return found


@pytest.fixture
def intake() -> Iterator[serving.Serving]:
    """Where metrics of roles are taken in, on a free port."""
    shown = registry.CollectorRegistry()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    found = serving.Serving(shown, usermetrics.UserMetrics(shown), metrics="0", intake=port)
    found.start()
    yield found
    found.stop()


def test_found_without_configuration_by_both_names(lab: Lab, intake: serving.Serving) -> None:
    """A full name always works, a plain one where the play names the collection."""
    lab.environ |= intake.environ
    send = {"name": "runs_total", "description": "Runs", "counter": {"increment": True}}
    first = lab.tasks(
        {"operator_sdk.util.osdk_metric": send},
        {"operator_sdk.util.requeue_after": {"time": "7s"}},
    )
    result = lab.run(first)
    assert (result.succeeded, result.requeue_after) == (True, 7), result.message
    second = lab.tasks(
        {"osdk_metric": send},
        {"requeue_after": {"time": "9s"}},
        collections=["operator_sdk.util"],
    )
    result = lab.run(second)
    assert (result.succeeded, result.requeue_after) == (True, 9), result.message


def test_the_users_own_collection_wins(lab: Lab) -> None:
    """For every module, wherever Ansible finds collections by itself."""
    root = lab.path / "mine"
    modules = root / "ansible_collections/operator_sdk/util/plugins/modules"
    modules.mkdir(parents=True)
    for name in MODULES:
        (modules / f"{name}.py").write_text(OWN)
    lab.environ["ANSIBLE_COLLECTIONS_PATH"] = str(root)
    tasks = [{f"operator_sdk.util.{name}": {}, "register": name} for name in MODULES]
    told = "[" + ", ".join(f"{name}.mine" for name in MODULES) + "]"
    result = lab.run(lab.tasks(*tasks, dump(lab.path, told)))
    assert (result.succeeded, result.requeue_after) == (True, 3600), result.message
    assert lab.read("dump").strip() == "[true, true, true, true]"


def test_found_outside_of_runs(tmp_path: Path) -> None:
    """ansible-doc knows the modules in an environment that says nothing at all."""
    told = subprocess.run(
        [Path(sys.executable).with_name("ansible-doc"), "operator_sdk.util.requeue_after"],
        env={"PATH": os.defpath, "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "operator_sdk.util.requeue_after" in told.stdout
