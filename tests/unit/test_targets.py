"""Where roles and playbooks are looked for, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator import targets


def _places(text: str, **environ: str) -> list[str]:
    return [str(path) for path in targets.role_places(text, environ, Path("/cwd"))]


def test_the_seven_places() -> None:
    """ANSIBLE_ROLES_PATH, each entry with and without roles, then the roles of the cwd."""
    places = _places("Foo", ANSIBLE_ROLES_PATH="relative:nested/relative:/and/abs")
    assert places == [
        "/cwd/relative/Foo",
        "/cwd/relative/roles/Foo",
        "/cwd/nested/relative/Foo",
        "/cwd/nested/relative/roles/Foo",
        "/and/abs/Foo",
        "/and/abs/roles/Foo",
        "/cwd/roles/Foo",
        "/cwd/Foo",
    ]


def test_absolute_role() -> None:
    """An absolute path is the only place."""
    assert _places("/opt/roles/foo/", ANSIBLE_ROLES_PATH="/a") == ["/opt/roles/foo"]


def test_collection_role_with_the_default_paths() -> None:
    """Unset or empty: the system's collections before the user's, as the incumbent has it."""
    expected = [
        "/usr/share/ansible/collections/ansible_collections/ns/coll/roles/foo",
        "/home/me/.ansible/collections/ansible_collections/ns/coll/roles/foo",
        "/cwd/roles/ns.coll.foo",
        "/cwd/ns.coll.foo",
    ]
    assert _places("ns.coll.foo", HOME="/home/me") == expected
    assert _places("ns.coll.foo", HOME="/home/me", ANSIBLE_COLLECTIONS_PATH="") == expected
    assert _places("ns.coll.foo") == [expected[0], *expected[2:]]


def test_collection_role_with_a_path() -> None:
    """Defaults are not tried when the variable is set; ~ is the home directory."""
    places = _places(
        "ns.coll.foo", HOME="/home/me", ANSIBLE_COLLECTIONS_PATH="~:/c::rel", ANSIBLE_ROLES_PATH="r"
    )
    tail = "ansible_collections/ns/coll/roles/foo"
    assert places == [
        f"/home/me/{tail}",
        f"/c/{tail}",
        f"/cwd/rel/{tail}",
        "/cwd/r/ns.coll.foo",
        "/cwd/r/roles/ns.coll.foo",
        "/cwd/roles/ns.coll.foo",
        "/cwd/ns.coll.foo",
    ]


@pytest.mark.parametrize("text", ["a.b", "a.b.c.d", "a..c", "./a.b"])
def test_not_a_collection_role(text: str) -> None:
    """Only three parts without a slash name a collection's role."""
    assert _places(text) == [f"/cwd/roles/{Path(text)}", f"/cwd/{Path(text)}"]


@pytest.mark.parametrize("text", ["foo", "foo/", "roles/foo", "./roles/foo/"])
def test_role_found(tmp_path: Path, text: str) -> None:
    """Name, path below the cwd, with and without a slash at the end: one role."""
    (tmp_path / "roles" / "foo").mkdir(parents=True)
    role = targets.role(text, {}, tmp_path)
    assert (role.name, role.roles_path) == ("foo", tmp_path / "roles")


def test_first_place_wins(tmp_path: Path) -> None:
    """ANSIBLE_ROLES_PATH comes before ./roles; a file is no role and is passed over."""
    for name in ("roles/foo", "b/foo"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "foo").touch()
    role = targets.role("foo", {"ANSIBLE_ROLES_PATH": "a:b"}, tmp_path)
    assert role.path == tmp_path / "b" / "foo"


def test_collection_role_found(tmp_path: Path) -> None:
    """A collection's role is run by its directory."""
    path = tmp_path / "ansible_collections" / "ns" / "coll" / "roles" / "foo"
    path.mkdir(parents=True)
    environ = {"ANSIBLE_COLLECTIONS_PATH": str(tmp_path)}
    assert targets.role("ns.coll.foo", environ, Path("/cwd")).path == path


def test_missing_role_lists_every_place(tmp_path: Path) -> None:
    """The error names each place, says where a file was found, and how to go on."""
    (tmp_path / "foo").touch()
    with pytest.raises(targets.NotFoundError) as caught:
        targets.role("foo", {"ANSIBLE_ROLES_PATH": "/a"}, tmp_path)
    assert caught.value.problem == (
        f'there is no role "foo"; tried /a/foo, /a/roles/foo, {tmp_path}/roles/foo, '
        f"{tmp_path}/foo (a file)"
    )
    assert "ANSIBLE_ROLES_PATH" in str(caught.value)


def test_missing_collection_role_names_the_variable(tmp_path: Path) -> None:
    """For a collection's role the way out is the collections path."""
    with pytest.raises(targets.NotFoundError, match="ANSIBLE_COLLECTIONS_PATH"):
        targets.role("ns.coll.foo", {"ANSIBLE_COLLECTIONS_PATH": "/none"}, tmp_path)


def test_playbook(tmp_path: Path) -> None:
    """Relative to the cwd, or absolute."""
    path = tmp_path / "playbooks" / "x.yml"
    path.parent.mkdir()
    path.touch()
    assert targets.playbook("./playbooks/x.yml", tmp_path).path == path
    assert targets.playbook(str(path), Path("/cwd")).path == path


def test_missing_playbook(tmp_path: Path) -> None:
    """The error names the full path and the directory that relative paths start from."""
    with pytest.raises(targets.NotFoundError) as caught:
        targets.playbook("x.yml", tmp_path)
    assert caught.value.problem == f"there is no playbook {tmp_path}/x.yml"
    assert str(tmp_path) in caught.value.hint


def test_playbook_that_is_a_directory(tmp_path: Path) -> None:
    """A directory is refused at load, not at the first run."""
    with pytest.raises(targets.NotFoundError, match="is a directory"):
        targets.playbook(".", tmp_path)
