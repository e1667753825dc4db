"""The environment of ``ansible-playbook``: complete, as roles expect it, and made per run."""

from __future__ import annotations

import configparser
import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import ansible_operator
from ansible_operator import errors, settings, watches
from ansible_operator.ansible import inputdir, processes

PLAYBOOK_COMMAND = "ansible-playbook"
COLLECTIONS = Path(ansible_operator.__file__).parent / "collections"
CALLBACKS = Path(__file__).parent / "callbacks"
STDOUT_CALLBACK = "operator_default"

# Beyond this ansible-runner drops a task's result from its event. Our callback plugin keeps results
# far below; this is for runs with another one.
_MAX_EVENT_RES = "262144"


# Ansible's own default of roles_path, which a value of ours replaces.
_ANSIBLE_ROLES = ("~/.ansible/roles", "/usr/share/ansible/roles", "/etc/ansible/roles")

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Collection:
    """A role within a collection: the directory that holds ``ansible_collections``, full name."""

    root: Path
    role: str


def build(
    environ: Mapping[str, str],
    ansible: settings.AnsibleSettings,
    target: watches.Target,
    run: inputdir.RunDir,
) -> dict[str, str]:
    """The variables: the operator's own, and what this run needs.

    Variables that are not UTF-8 are left out, ansible-runner cannot hand them on.
    """
    env = {name: value for name, value in environ.items() if _is_text(name + value)}
    env[processes.MARKER] = run.path.name
    env["KUBECONFIG"] = env["K8S_AUTH_KUBECONFIG"] = str(run.kubeconfig)
    env["PATH"] = search_path(env.get("PATH", os.defpath))
    env.setdefault("ANSIBLE_STDOUT_CALLBACK", STDOUT_CALLBACK)
    env.setdefault("MAX_EVENT_RES", _MAX_EVENT_RES)
    env["ANSIBLE_CALLBACK_PLUGINS"] = _joined(env.get("ANSIBLE_CALLBACK_PLUGINS"), CALLBACKS)
    if ansible.collections_path:
        env["ANSIBLE_COLLECTIONS_PATH"] = ansible.collections_path
    roles_path = ansible.roles_path or env.get("ANSIBLE_ROLES_PATH", "")
    roots: list[Path] = []
    if isinstance(target, watches.Playbook) and not roles_path:
        roles_path = _project_roles(env)
    if isinstance(target, watches.Role):
        # ansible-runner's own way replaces the configured path; siblings elsewhere would be lost.
        roles_path = _joined(target.roles_path, roles_path)
        found = collection_of(target)
        roots = [found.root] if found else []
    if roles_path:
        env["ANSIBLE_ROLES_PATH"] = roles_path
    # Ansible searches Python's path last, so a user's own copy of a collection wins.
    env["PYTHONPATH"] = _joined(env.get("PYTHONPATH"), *roots, COLLECTIONS)
    return {**env, **_home(env, run), **_direct(env)}


def search_path(path: str) -> str:
    """PATH with the directory of our own ``ansible-playbook`` in front, if there is one."""
    ours = os.path.dirname(sys.executable)
    if os.access(os.path.join(ours, PLAYBOOK_COMMAND), os.X_OK):
        return _joined(ours, path)
    return path


def playbook_command(path: str) -> str:
    """The file that ``ansible-playbook`` stands for. Raises ReconcileError if there is none."""
    found = shutil.which(PLAYBOOK_COMMAND, path=path)
    if found is None:
        raise errors.ReconcileError(
            f"{PLAYBOOK_COMMAND} was not found on PATH ({path}). Install ansible-core"
        )
    return found


def default_inventory(environ: Mapping[str, str]) -> str:
    """One host, localhost, with the interpreter of the virtual environment, else Ansible's own."""
    interpreter = "{{ ansible_playbook_python }}"
    venv = environ.get("VIRTUAL_ENV")
    if venv and os.access(f"{venv}/bin/python3", os.X_OK):
        interpreter = f"{venv}/bin/python3"
    return f'localhost ansible_connection=local ansible_python_interpreter="{interpreter}"\n'


def collection_of(role: watches.Role) -> Collection | None:
    """The collection that a role's directory belongs to, None if it belongs to none.

    Such a role runs under its full name, so that it finds its collection's modules and roles.
    """
    parts = role.path.parts
    if len(parts) < 6 or parts[-5] != "ansible_collections" or parts[-2] != "roles":
        return None
    return Collection(role.path.parents[4], f"{parts[-4]}.{parts[-3]}.{parts[-1]}")


def _home(env: Mapping[str, str], run: inputdir.RunDir) -> dict[str, str]:
    """What makes up for a home directory that is missing or cannot be written to.

    Ansible wants to put temporary files there.
    """
    home = env.get("HOME") or _passwd_home()
    # Rendered templates and arguments of modules go with the run, also when it is killed.
    local = {"ANSIBLE_LOCAL_TEMP": env.get("ANSIBLE_LOCAL_TEMP", str(run.path / "tmp"))}
    if home and os.access(home, os.W_OK | os.X_OK):
        return {"HOME": home, **local}
    return {
        "HOME": home or str(run.path),
        **local,
        "ANSIBLE_REMOTE_TEMP": env.get("ANSIBLE_REMOTE_TEMP", str(run.path / "tmp")),
    }


def _direct(env: Mapping[str, str]) -> dict[str, str]:
    """What keeps requests to the API proxy, which is on loopback, away from an HTTP proxy.

    Go's clients do so by themselves, Python's do not. Both spellings are set, as programs differ
    in which one they read first.
    """
    if not any(env.get(name) or env.get(name.lower()) for name in _PROXIES):
        return {}
    found = {}
    for name, other in (("NO_PROXY", "no_proxy"), ("no_proxy", "NO_PROXY")):
        given = env.get(name) or env.get(other) or ""
        parts = [part.strip() for part in given.split(",")]
        found[name] = ",".join(dict.fromkeys(filter(None, (*parts, *_LOOPBACK))))
    return found


def _project_roles(env: Mapping[str, str]) -> str:
    """``./roles`` before Ansible's own places, as the incumbent's image has it for playbooks.

    Empty where there is no such directory, or where an ansible.cfg says where roles are.
    """
    roles, home = Path.cwd() / "roles", env.get("HOME", "")
    config = env.get("ANSIBLE_CONFIG", "")
    if not roles.is_dir() or any(
        _names_roles(place)
        for place in (config, f"{home}/.ansible.cfg", "/etc/ansible/ansible.cfg")
    ):
        return ""
    return _joined(roles, *(place.replace("~", home, 1) for place in _ANSIBLE_ROLES))


def _names_roles(config: str) -> bool:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        return bool(parser.read(config)) and parser.has_option("defaults", "roles_path")
    except (configparser.Error, OSError, UnicodeDecodeError):
        return False


def _passwd_home() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return ""


def _joined(*paths: str | Path | None) -> str:
    """Search paths as one, each once, empty ones (which would mean here) left out."""
    parts = [part for path in paths for part in str(path or "").split(os.pathsep)]
    return os.pathsep.join(dict.fromkeys(filter(None, parts)))


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
