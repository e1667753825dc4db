"""The environment of a run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ansible_operator import errors, settings, watches
from ansible_operator.ansible import environment, inputdir, processes

RUN = inputdir.RunDir(Path("/r/one/.runs/job7"), Path("/r/one"))
ROLE = watches.Role(Path("/opt/roles/web"))
PLAYBOOK = watches.Playbook(Path("/opt/p.yml"))


def build(
    environ: dict[str, str],
    target: watches.Target = PLAYBOOK,
    ansible: settings.AnsibleSettings | None = None,
) -> dict[str, str]:
    """The environment with a home that can be written to."""
    environ = {"HOME": "/tmp", **environ}
    return environment.build(environ, ansible or settings.AnsibleSettings(), target, RUN)


def test_is_the_operators_whole_environment_and_the_kubeconfig() -> None:
    """Whatever the operator has, roles have; both kubeconfig variables name the run's file."""
    env = build({"MY_IMAGE": "x", "KUBECONFIG": "/mine"})
    assert env["MY_IMAGE"] == "x"
    assert env["KUBECONFIG"] == env["K8S_AUTH_KUBECONFIG"] == "/r/one/.runs/job7/kubeconfig"
    assert env[processes.MARKER] == "job7"
    assert env["HOME"] == "/tmp"


def test_variables_that_are_not_text_are_left_out() -> None:
    """A variable that is not UTF-8 cannot be handed on and must not end the run."""
    assert "ODD" not in build({"ODD": "\udc80"})


def test_roles_path_of_a_role() -> None:
    """The role's parent comes first, the configured path behind it; the flag beats the variable."""
    assert build({}, ROLE)["ANSIBLE_ROLES_PATH"] == "/opt/roles"
    env = {"ANSIBLE_ROLES_PATH": "/a:/opt/roles:/b"}
    assert build(env, ROLE)["ANSIBLE_ROLES_PATH"] == "/opt/roles:/a:/b"
    flag = settings.AnsibleSettings(roles_path="/flag")
    assert build(env, ROLE, flag)["ANSIBLE_ROLES_PATH"] == "/opt/roles:/flag"
    assert build(env, PLAYBOOK, flag)["ANSIBLE_ROLES_PATH"] == "/flag"


def test_playbooks_find_the_projects_roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """./roles is searched first unless somebody says where roles are."""
    monkeypatch.chdir(tmp_path)
    home = {"HOME": str(tmp_path)}
    assert "ANSIBLE_ROLES_PATH" not in build(home)
    (tmp_path / "roles").mkdir()
    found = build(home)["ANSIBLE_ROLES_PATH"].split(":")
    assert found[:2] == [str(tmp_path / "roles"), str(tmp_path / ".ansible/roles")]
    assert build({**home, "ANSIBLE_ROLES_PATH": "/a"})["ANSIBLE_ROLES_PATH"] == "/a"
    (tmp_path / ".ansible.cfg").write_text("[defaults]\nroles_path = /b\n")
    assert "ANSIBLE_ROLES_PATH" not in build(home)
    (tmp_path / ".ansible.cfg").write_text("no section")
    assert "ANSIBLE_ROLES_PATH" in build(home)


def test_bundled_collection_comes_last() -> None:
    """Our collections are on Python's path behind the user's, without an empty entry."""
    ours = str(environment.COLLECTIONS)
    assert build({"PYTHONPATH": "/mine:"})["PYTHONPATH"] == f"/mine:{ours}"
    assert build({})["PYTHONPATH"] == ours
    flag = settings.AnsibleSettings(collections_path="/flag")
    assert build({}, PLAYBOOK, flag)["ANSIBLE_COLLECTIONS_PATH"] == "/flag"
    assert "ANSIBLE_COLLECTIONS_PATH" not in build({})


def test_role_of_a_collection() -> None:
    """A role within a collection has a full name, and its collection is found."""
    role = watches.Role(Path("/c/ansible_collections/acme/web/roles/front"))
    assert environment.collection_of(role) == environment.Collection(Path("/c"), "acme.web.front")
    assert build({}, role)["PYTHONPATH"] == f"/c:{environment.COLLECTIONS}"
    assert environment.collection_of(ROLE) is None
    assert environment.collection_of(watches.Role(Path("/a/b/c/d/roles/e"))) is None


def test_callback_unless_the_user_has_one() -> None:
    """Our callback plugin is used unless the user chose another one."""
    env = build({"ANSIBLE_CALLBACK_PLUGINS": "/mine"})
    assert env["ANSIBLE_STDOUT_CALLBACK"] == "operator_default"
    assert env["ANSIBLE_CALLBACK_PLUGINS"] == f"/mine:{environment.CALLBACKS}"
    assert build({"ANSIBLE_STDOUT_CALLBACK": "minimal"})["ANSIBLE_STDOUT_CALLBACK"] == "minimal"


def test_home_that_is_missing_or_read_only(tmp_path: Path) -> None:
    """Without a home that can be written to, temporary files go into the run directory."""
    env = environment.build({}, settings.AnsibleSettings(), PLAYBOOK, RUN)
    assert env["HOME"]
    env = build({"HOME": str(tmp_path / "missing")})
    assert env["HOME"] == str(tmp_path / "missing")
    assert env["ANSIBLE_LOCAL_TEMP"] == env["ANSIBLE_REMOTE_TEMP"] == "/r/one/.runs/job7/tmp"
    env = build({"HOME": str(tmp_path / "missing"), "ANSIBLE_LOCAL_TEMP": "/mine"})
    assert env["ANSIBLE_LOCAL_TEMP"] == "/mine"


def test_user_without_a_passwd_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random user id without HOME gets the run directory as home."""
    monkeypatch.setattr(os, "geteuid", lambda: 3_999_999_999)
    env = environment.build({}, settings.AnsibleSettings(), PLAYBOOK, RUN)
    assert env["HOME"] == "/r/one/.runs/job7"


def test_ansible_playbook_of_our_own_venv_is_found() -> None:
    """The command next to our interpreter is found although the venv is not activated."""
    path = environment.search_path("/usr/bin")
    assert path == f"{os.path.dirname(sys.executable)}:/usr/bin"
    assert environment.playbook_command(path).endswith("/ansible-playbook")


def test_interpreter_without_ansible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Next to an interpreter without Ansible nothing is added to PATH."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert environment.search_path("/usr/bin") == "/usr/bin"


def test_missing_ansible_playbook(tmp_path: Path) -> None:
    """If there is no ansible-playbook, the message names PATH and the way out."""
    with pytest.raises(errors.ReconcileError, match=r"not found on PATH .* Install ansible-core"):
        environment.playbook_command(str(tmp_path))


def test_default_inventory(tmp_path: Path) -> None:
    """localhost, with the virtual environment's interpreter if there is one."""
    start = "localhost ansible_connection=local ansible_python_interpreter="
    assert environment.default_inventory({}) == f'{start}"{{{{ ansible_playbook_python }}}}"\n'
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.touch(0o755)
    venv = {"VIRTUAL_ENV": str(tmp_path)}
    assert environment.default_inventory(venv) == f'{start}"{python}"\n'


def test_http_proxy_does_not_take_the_way_to_the_api_proxy() -> None:
    """Where an HTTP proxy is configured, loopback is excepted from it in both spellings."""
    loopback = "localhost,127.0.0.1,::1"
    assert not {"NO_PROXY", "no_proxy"} & set(build({}))
    for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        env = build({name: "http://proxy:3128"})
        assert env["NO_PROXY"] == env["no_proxy"] == loopback
    env = build({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "corp.example, 127.0.0.1"})
    assert env["no_proxy"] == env["NO_PROXY"] == "corp.example,127.0.0.1,localhost,::1"
    env = build({"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "a", "NO_PROXY": "b"})
    assert (env["no_proxy"], env["NO_PROXY"]) == (f"a,{loopback}", f"b,{loopback}")
