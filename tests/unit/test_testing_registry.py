"""Names, directories and states of clusters."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from ansible_operator.testing import cluster, credentials, errors, lock, registry


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All clusters of these tests live in a directory of their own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def dead(name: str, exported: str = "") -> Path:
    """What a cluster leaves whose supervisor was killed."""
    place = registry.layout(name)
    place.home.mkdir()
    registry.write(place, registry.State(name, registry.READY, 1, exported=exported))
    return place.home


@pytest.mark.parametrize("name", ["default", "a", "pytest-123", "a.b"])
def test_good_names_are_directories_below_the_root(name: str) -> None:
    """A name is a directory of its own in the user's directory."""
    assert registry.layout(name).home == registry.root() / name


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", ".", "-a", "a-", "a" * 61, "a\n"])
def test_bad_names_are_refused(name: str) -> None:
    """Nothing that leaves the user's directory or looks like a flag is a name."""
    with pytest.raises(errors.ControlPlaneError, match="not a good name"):
        registry.layout(name)


def test_root_that_others_can_read_is_refused() -> None:
    """Credentials are not put into a directory that somebody else prepared."""
    registry.root().chmod(0o755)
    with pytest.raises(errors.ControlPlaneError, match="TMPDIR"):
        registry.root()


def test_root_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """A link in a shared directory may lead anywhere."""
    root = registry.root()
    root.rmdir()
    (tmp_path / "other").mkdir(mode=0o700)
    root.symlink_to(tmp_path / "other")
    with pytest.raises(errors.ControlPlaneError, match="TMPDIR"):
        registry.root()


def test_claimed_name_is_private_and_refused_to_others() -> None:
    """One cluster per name; the message says how to stop it."""
    place, descriptor = registry.claim("mine")
    assert place.home.stat().st_mode & 0o777 == 0o700
    with pytest.raises(errors.ControlPlaneError, match="down --name mine"):
        registry.claim("mine")
    os.close(descriptor)
    _, descriptor = registry.claim("mine")
    os.close(descriptor)


def test_claim_removes_what_dead_clusters_left_and_nothing_else() -> None:
    """Directories without a living supervisor go, those of running clusters stay."""
    left = dead("left")
    running, descriptor = registry.claim("running")
    registry.write(running, registry.State("running", registry.READY, os.getpid()))
    _, second = registry.claim("new")
    assert not left.exists()
    assert running.state.exists()
    for held in (descriptor, second):
        os.close(held)


def test_exported_kubeconfig_goes_with_its_cluster(tmp_path: Path) -> None:
    """The copy is removed, unless somebody put something else there."""
    ours, foreign = tmp_path / "ours", tmp_path / "foreign"
    ours.write_text(credentials.render("https://127.0.0.1:1", "PEM", "secret"))
    foreign.write_text("clusters: []")
    dead("one", str(ours))
    dead("two", str(foreign))
    dead("three", str(tmp_path / "gone"))
    for name in ("one", "two", "three"):
        registry.sweep(name)
    assert registry.names() == []
    assert not ours.exists()
    assert foreign.exists()


def test_foreign_kubeconfig_is_never_overwritten(tmp_path: Path) -> None:
    """Only a new file or one that we wrote may be the target of a copy."""
    path = tmp_path / "config"
    registry.check_export(path)
    path.write_text(credentials.render("https://127.0.0.1:1", "PEM", "secret"))
    registry.check_export(path)
    path.write_text("apiVersion: v1\nkind: Config\n")
    with pytest.raises(errors.ControlPlaneError, match="not overwritten"):
        registry.check_export(path)
    with pytest.raises(errors.ControlPlaneError, match="there is no directory"):
        registry.check_export(tmp_path / "no" / "config")


def test_states_survive_writing_and_bad_files_are_no_state() -> None:
    """What is written is read; a file of another version is nothing."""
    place, descriptor = registry.claim("a")
    assert registry.read(place) is None
    state = registry.State("a", registry.BOOTING, 7, ports={"etcd": 1}, pids={"etcd": 2})
    registry.write(place, state)
    assert registry.read(place) == state
    place.state.write_text('{"unknown": 1}')
    assert registry.read(place) is None
    os.close(descriptor)


def test_list_tells_dead_failed_and_booting_clusters_apart() -> None:
    """A state is believed only as far as its supervisor lives."""
    place, descriptor = registry.claim("fresh")
    dead("killed")
    failed = registry.layout("failed")
    failed.home.mkdir()
    registry.write(failed, registry.State("failed", registry.FAILED, 1, message="etcd died"))
    states = {state.name: state for state in cluster.list_all()}
    assert {name: state.phase for name, state in states.items()} == {
        "killed": registry.DEAD,
        "failed": registry.FAILED,
        "fresh": registry.BOOTING,
    }
    assert states["failed"].message == "etcd died"
    assert lock.held(place.lock)
    os.close(descriptor)


def test_ready_cluster_whose_server_does_not_answer_is_not_ready() -> None:
    """The list asks the server itself."""
    place, descriptor = registry.claim("mute")
    registry.write(place, registry.State("mute", registry.READY, 1, server="https://127.0.0.1:1"))
    [state] = cluster.list_all()
    assert (state.phase, state.message) == ("not ready", "/readyz: 0 no answer")
    os.close(descriptor)


def test_stop_removes_a_dead_cluster_and_is_idempotent() -> None:
    """The first call says that there was one, the second that there was none."""
    home = dead("killed")
    assert cluster.stop("killed")
    assert not home.exists()
    assert not cluster.stop("killed")
