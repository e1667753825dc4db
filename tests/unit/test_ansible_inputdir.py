"""The private directory of a run."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator import errors, objects
from ansible_operator.ansible import inputdir, processes

GVK = objects.GVK("g.example.com", "v1", "Thing")
CONTENT = inputdir.Content({"a": 1}, default_inventory="localhost\n")


def mode(path: Path) -> int:
    """The permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def test_object_dir_is_the_incumbents() -> None:
    """Group, version, kind, namespace, name; an empty group or namespace collapses."""
    root = Path("/r")
    key = objects.ObjectKey(GVK, "ns", "one")
    assert inputdir.object_dir(root, key) == Path("/r/g.example.com/v1/Thing/ns/one")
    core = objects.ObjectKey(objects.GVK("", "v1", "Namespace"), "", "one")
    assert inputdir.object_dir(root, core) == Path("/r/v1/Namespace/one")


@pytest.mark.parametrize("name", ["..", ".", "a/b", "/etc", "", "a\0b", ".runs"])
def test_names_cannot_leave_the_root(name: str) -> None:
    """Names that the API server does not allow are refused, not followed."""
    with pytest.raises(errors.ReconcileError):
        inputdir.object_dir(Path("/r"), objects.ObjectKey(GVK, "ns", name))
    if name:
        with pytest.raises(errors.ReconcileError):
            inputdir.object_dir(Path("/r"), objects.ObjectKey(GVK, name, "one"))


@given(st.text(), st.text())
def test_any_accepted_name_stays_below_the_root(namespace: str, name: str) -> None:
    """What is accepted is below the root."""
    try:
        path = inputdir.object_dir(Path("/r"), objects.ObjectKey(GVK, namespace, name))
    except errors.ReconcileError:
        return
    assert Path(os.path.normpath(path)).is_relative_to("/r/g.example.com/v1/Thing")


def test_root_is_made_private(tmp_path: Path) -> None:
    """The root and its missing parents are made for us alone."""
    root = tmp_path / "a" / "runner"
    assert inputdir.prepare_root(root) == ""
    assert mode(root) == mode(root.parent) == 0o700


def test_root_that_others_can_write_is_refused(tmp_path: Path) -> None:
    """A root in which others can put links is refused with the way out; sticky does not help."""
    for shared in (0o777, 0o1777, 0o770):
        tmp_path.chmod(shared)
        with pytest.raises(errors.SettingsError, match=r"written to by others.*--runner-dir"):
            inputdir.prepare_root(tmp_path)


def test_parent_that_others_can_write_is_refused(tmp_path: Path) -> None:
    """In a parent that others may write to they could replace the root; nothing is made there."""
    root = tmp_path / "shared" / "mine" / "runner"
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    with pytest.raises(errors.SettingsError, match=f"its parent {tmp_path}/shared can be written"):
        inputdir.prepare_root(root)
    assert list((tmp_path / "shared").iterdir()) == []
    (tmp_path / "shared").chmod(0o1777)
    assert inputdir.prepare_root(root) == ""
    assert mode(root) == mode(root.parent) == 0o700


def test_what_a_link_leads_to_is_checked(tmp_path: Path) -> None:
    """A link of our own may lead to a good directory, and to no other."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    assert inputdir.prepare_root(tmp_path / "link" / "runner") == ""
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(errors.SettingsError, match=f"{tmp_path}/real can be written"):
        inputdir.prepare_root(tmp_path / "link" / "runner")


US, ROOT, THEM = 1000, 0, 1234
DIRECTORY, LINK = stat.S_IFDIR, stat.S_IFLNK


@pytest.mark.parametrize(
    ("kind", "owner", "permissions", "is_root", "expected"),
    [
        (DIRECTORY, US, 0o755, True, ""),
        (DIRECTORY, US, 0o775, True, "(mode 0775)"),
        (DIRECTORY, US, 0o1777, True, "(mode 1777)"),
        (DIRECTORY, ROOT, 0o755, True, "belongs to user 0, not to us (1000)"),
        (DIRECTORY, THEM, 0o700, True, "belongs to user 1234"),
        (DIRECTORY, US, 0o755, False, ""),
        (DIRECTORY, ROOT, 0o755, False, ""),
        (DIRECTORY, ROOT, 0o1777, False, ""),
        (DIRECTORY, ROOT, 0o775, False, "(mode 0775)"),
        (DIRECTORY, THEM, 0o755, False, "belongs to user 1234"),
        (DIRECTORY, THEM, 0o1777, False, "belongs to user 1234"),
        (LINK, US, 0o777, True, ""),
        (LINK, ROOT, 0o777, True, ""),
        (LINK, THEM, 0o777, True, "belongs to user 1234"),
        (LINK, THEM, 0o777, False, "belongs to user 1234"),
    ],
)
def test_whom_a_directory_is_safe_from(
    kind: int, owner: int, permissions: int, is_root: bool, expected: str
) -> None:
    """Ours alone; parents and links may be root's; sticky will do for parents only."""
    info = os.stat_result((kind | permissions, 1, 1, 2, owner, owner, 0, 0, 0, 0))
    found = inputdir.problem(info, US, is_root=is_root)
    assert expected in found
    assert bool(found) == bool(expected)


def test_volume_of_the_cluster_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mount point of root's that all may write to gives a warning, also as a parent."""
    volume = tmp_path / "volume"
    volume.mkdir()
    real = os.lstat

    def lstat(path: Path) -> os.stat_result:
        info = real(path)
        if path != volume:
            return info
        return os.stat_result((stat.S_IFDIR | 0o777, *info[1:4], ROOT, ROOT, *info[6:10]))

    monkeypatch.setattr(Path, "lstat", lstat)
    with pytest.raises(errors.SettingsError, match="mode 0777"):
        inputdir.prepare_root(volume)
    monkeypatch.setattr(os.path, "ismount", lambda path: path == volume)
    warning = f"{volume} is a volume that others may write to"
    assert inputdir.prepare_root(volume) == warning
    assert inputdir.prepare_root(volume / "runner") == warning


def test_private_file_is_always_a_new_one(tmp_path: Path) -> None:
    """A file or link that is there already is not written to."""
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "file").write_text("theirs")
    for name in ("link", "file"):
        with pytest.raises(FileExistsError):
            inputdir.write_private(tmp_path / name, "secret")
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "file").read_text() == "theirs"


def test_root_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A root below a file is refused with the reason."""
    (tmp_path / "file").touch()
    with pytest.raises(errors.SettingsError, match="cannot be made: Not a directory"):
        inputdir.prepare_root(tmp_path / "file" / "root")


def test_root_of_another_user_is_refused(tmp_path: Path) -> None:
    """A root that belongs to somebody else is refused with the way out."""
    owner = tmp_path.stat().st_uid
    with pytest.raises(errors.SettingsError, match=rf"belongs to user {owner}.*--runner-dir"):
        inputdir.prepare_root(tmp_path, uid=owner + 1)


def test_layout_and_modes(tmp_path: Path) -> None:
    """Files and directories of a run are ours alone, in the layout that roles know."""
    content = inputdir.Content(
        {"secret": 1},
        kubeconfig="token: x",
        args="--tags x",
        settings={"s": 1},
        default_inventory="localhost\n",
        play=[{}],
    )
    with inputdir.create(tmp_path / "one", "job", content) as run:
        assert run.path == tmp_path / "one" / ".runs" / "job"
        assert mode(run.path) == 0o700
        assert json.loads((run.path / "env" / "extravars").read_text()) == {"secret": 1}
        assert mode(run.path / "env" / "extravars") == 0o600
        assert (run.path / "env" / "cmdline").read_text() == "--tags x"
        assert json.loads((run.path / "env" / "settings").read_text()) == {"s": 1}
        assert json.loads(run.play.read_text()) == [{}]
        assert (tmp_path / "one" / "inventory" / "hosts").read_text() == "localhost\n"
        assert (tmp_path / "one" / "project").resolve() == run.path / "project"
        assert run.kubeconfig.parent == run.path
        assert run.kubeconfig.read_text() == "token: x"
        assert mode(run.kubeconfig) == 0o600
        assert run.artifacts == run.path / "artifacts" / "job"


def test_directory_is_removed_afterwards(tmp_path: Path) -> None:
    """Nothing of a run is left, also when it fails; empty args make no file."""
    with (
        contextlib.suppress(ZeroDivisionError),
        inputdir.create(tmp_path / "one", "job", CONTENT) as run,
    ):
        assert not (run.path / "env" / "cmdline").exists()
        raise ZeroDivisionError
    assert [p.name for p in (tmp_path / "one").rglob("*")] == [".runs"]


def test_two_runs_of_one_object_do_not_touch_each_other(tmp_path: Path) -> None:
    """The links show the newest run, and a run that ends leaves those of another alone."""
    with inputdir.create(tmp_path / "one", "a", CONTENT) as first:
        with inputdir.create(tmp_path / "one", "b", CONTENT) as second:
            assert (tmp_path / "one" / "env").resolve() == second.path / "env"
            with pytest.raises(errors.ReconcileError, match="in use"):
                inputdir.create(tmp_path / "one", "b", CONTENT).__enter__()
        assert (first.path / "env" / "extravars").exists()
        assert not (tmp_path / "one" / "env").is_symlink()
    with inputdir.create(tmp_path / "one", "c", CONTENT):
        (tmp_path / "one" / "env").unlink()
        inputdir.link(tmp_path / "one" / "env", "elsewhere")
    assert os.readlink(tmp_path / "one" / "env") == "elsewhere"


def test_existing_run_directory_is_refused(tmp_path: Path) -> None:
    """A directory that is there already is never used."""
    (tmp_path / "one" / ".runs" / "job").mkdir(parents=True)
    with pytest.raises(errors.ReconcileError, match="in use"):
        inputdir.create(tmp_path / "one", "job", CONTENT).__enter__()


def test_real_directories_make_way_for_links(tmp_path: Path) -> None:
    """What an older operator left at the known paths is replaced."""
    (tmp_path / "one" / "inventory").mkdir(parents=True)
    (tmp_path / "one" / "inventory" / "stale").touch()
    with inputdir.create(tmp_path / "one", "job", CONTENT):
        assert (tmp_path / "one" / "inventory").is_symlink()


def test_inventory_file_and_directory_are_copied(tmp_path: Path) -> None:
    """A file becomes inventory/hosts, a directory is copied with modes."""
    source = tmp_path / "inv"
    (source / "group_vars").mkdir(parents=True)
    (source / "dynamic.sh").write_text("#!/bin/sh\n")
    (source / "dynamic.sh").chmod(0o755)
    content = inputdir.Content({}, inventory=source)
    with inputdir.create(tmp_path / "one", "job", content) as run:
        assert mode(run.path / "inventory" / "dynamic.sh") == 0o755
        assert (run.path / "inventory" / "group_vars").is_dir()
        assert not (run.path / "inventory" / "hosts").exists()
    content = inputdir.Content({}, inventory=source / "dynamic.sh")
    with inputdir.create(tmp_path / "one", "job", content) as run:
        assert (run.path / "inventory" / "hosts").read_text() == "#!/bin/sh\n"


def test_missing_inventory_is_an_error(tmp_path: Path) -> None:
    """A missing inventory names the path and the variable, and leaves nothing behind."""
    content = inputdir.Content({}, inventory=tmp_path / "missing")
    with pytest.raises(errors.ReconcileError, match=r"missing \(ANSIBLE_INVENTORY\)"):
        inputdir.create(tmp_path / "one", "job", content).__enter__()
    assert list((tmp_path / "one" / ".runs").iterdir()) == []


def test_stale_runs_are_removed_and_living_ones_kept(tmp_path: Path) -> None:
    """What a dead operator left goes, a run that holds its lock stays."""
    runs = tmp_path / "one" / ".runs"
    with inputdir.create(tmp_path / "one", "alive", CONTENT) as run:
        (runs / "dead" / "env").mkdir(parents=True)
        (runs / "dead2").mkdir()
        (runs / "dead2.lock").touch()
        assert inputdir.remove_stale_runs(tmp_path / "one") == 2
        assert run.play.parent.is_dir()
        assert sorted(p.name for p in runs.iterdir()) == ["alive", "alive.lock"]


def test_links_of_dead_runs_do_not_stay(tmp_path: Path) -> None:
    """After a crash nothing keeps an object's directory from being removed; other links stay."""
    crashed = inputdir.create(tmp_path / "one", "dead", CONTENT)
    crashed.__enter__()
    os.replace(tmp_path / "one" / ".runs" / "dead.lock", tmp_path / "held")
    inputdir.link(tmp_path / "one" / "env", ".runs/gone/env")
    with inputdir.create(tmp_path / "two", "alive", CONTENT):
        assert inputdir.remove_stale_runs(tmp_path / "one") == 1
        assert inputdir.remove_stale_runs(tmp_path / "two") == 0
        assert (tmp_path / "two" / "project").is_dir()
    inputdir.remove_empty(tmp_path / "one", tmp_path)
    assert not (tmp_path / "one").exists()


def test_play_that_outlived_its_operator_is_ended(tmp_path: Path) -> None:
    """A process of a stale run is killed before its directory is removed."""
    job = uuid.uuid4().hex
    (tmp_path / ".runs" / job).mkdir(parents=True)
    with subprocess.Popen(["sleep", "4242"], env={**os.environ, processes.MARKER: job}) as orphan:
        try:
            assert [process.pid for process in processes.of_run(job)] == [orphan.pid]
            assert inputdir.remove_stale_runs(tmp_path) == 1
            assert processes.of_run(job) == []
        finally:
            orphan.kill()


def test_remove_empty_stops_at_what_is_in_use(tmp_path: Path) -> None:
    """Empty parents go up to the root, a directory with content stops it."""
    one, two = tmp_path / "g" / "ns" / "one", tmp_path / "g" / "ns" / "two"
    (one / ".runs").mkdir(parents=True)
    two.mkdir()
    inputdir.remove_empty(one, tmp_path)
    assert not one.exists()
    assert two.exists()
    inputdir.remove_empty(one, tmp_path)
    inputdir.remove_empty(two, tmp_path)
    assert list(tmp_path.iterdir()) == []
