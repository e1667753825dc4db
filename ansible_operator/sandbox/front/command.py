"""``ansible-operator sandbox``: serve, say how to use it, run a command with it, end cleanly."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import os
import re
import secrets
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ansible_operator.sandbox.front import kubeconfig, manifests, running
from ansible_operator.testing import api, errors

Error = errors.ControlPlaneError
ADMIN = "admin"
MASTERS = "system:masters"
LOOPBACK = "127.0.0.1"
PACKAGES = ("aiohttp", "cryptography", "kubernetes_validate", "re2", "sortedcontainers")
"""What is imported of the extra ``sandbox`` in any case."""

_TOKEN = re.compile(r"[-._~+/A-Za-z0-9]+=*")
_USER = re.compile(r"[^\s:,]+")


@dataclass(frozen=True, slots=True)
class Order:
    """What the command line asks for; see the options' help."""

    bind: str = LOOPBACK
    port: int = 0
    http: bool = False
    token: str = ""
    kubeconfig: Path | None = None
    crds: Sequence[Path] = ()
    apply: Sequence[Path] = ()
    rbac: bool = False
    users: Sequence[str] = ()
    audit_log: Path | None = None
    real: bool = False
    owner: int | None = None
    command: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Front:
    """A server that is up: its URL, the PEM text of its authority, and the token of each user."""

    url: str
    authority: str
    tokens: Mapping[str, str]
    scratch: Path


def run(order: Order, environ: Mapping[str, str]) -> int:
    """Serve until it is told to stop, or until the command ends; the exit code.

    Raises ControlPlaneError for everything that keeps it from starting.
    """
    if not order.real and (missing := [name for name in PACKAGES if not find_spec(name)]):
        raise Error(f"{', '.join(missing)} not installed: pip install 'ansible-operator[sandbox]'")
    host = loopback(order.bind)
    if order.token and not _TOKEN.fullmatch(order.token):
        raise Error("--token: use letters, digits and -._~+/= only")
    users = [parse_user(text) for text in order.users]
    if order.kubeconfig and (why := kubeconfig.refusal(order.kubeconfig)):
        raise Error(f"--kubeconfig {order.kubeconfig}: {why}")
    try:
        documents = [found for path in order.crds for found in manifests.crds(path)]
        documents += [found for path in order.apply for found in manifests.read(path)]
        with tempfile.TemporaryDirectory(prefix="ansible-operator-sandbox-") as scratch:
            session = _Session(order, documents, environ)
            if order.real:
                return _real(session, order, environ, Path(scratch))
            tokens = {ADMIN: order.token or secrets.token_urlsafe(24)}
            tokens |= {name: secrets.token_urlsafe(24) for name, _ in users}
            groups = {ADMIN: (MASTERS,), **dict(users)}
            return asyncio.run(_serve(session, order, host, tokens, groups, Path(scratch)))
    except manifests.ManifestError as error:
        raise Error(str(error)) from error


def loopback(bind: str) -> str:
    """The address to listen on. Raises ControlPlaneError for all that others could reach."""
    host = LOOPBACK if bind == "localhost" else bind.strip("[]")
    try:
        if ipaddress.ip_address(host).is_loopback:
            return host
    except ValueError:
        pass
    raise Error(
        f"--bind {bind}: the sandbox listens on this machine's loopback only (127.0.0.0/8, ::1 or "
        "localhost). It is for trying and testing and must not be reachable from elsewhere."
    )


def parse_user(text: str) -> tuple[str, tuple[str, ...]]:
    """Name and groups of ``NAME[:GROUP,...]``. Raises ControlPlaneError."""
    name, _, listed = text.partition(":")
    groups = tuple(group for group in listed.split(",") if group)
    if not _USER.fullmatch(name) or name in (ADMIN, kubeconfig.MARK):
        raise Error(
            f"--user {text}: write NAME or NAME:GROUP,GROUP. A name has no blanks, colons and "
            f"commas, and {ADMIN} is taken. Service accounts need no --user: they get their tokens "
            "by `kubectl create token`."
        )
    return name, groups


async def _serve(
    session: _Session,
    order: Order,
    host: str,
    tokens: Mapping[str, str],
    groups: Mapping[str, Sequence[str]],
    scratch: Path,
) -> int:
    # The heavy part: nothing before this imports the server.
    from ansible_operator.sandbox.front import serving

    session.begin()
    with running.log(order.audit_log) as log:
        identities = [(tokens[name], name, tuple(groups[name])) for name in tokens]
        serve = serving.Serving(host, order.port, encrypted=not order.http)
        async with serve.started(identities, enforced=order.rbac, log=log) as (url, authority):
            return await session.use(Front(url, authority, tokens, scratch))


def _real(session: _Session, order: Order, environ: Mapping[str, str], scratch: Path) -> int:
    """The same on a real control plane, which ends with this process."""
    from ansible_operator.testing import cluster, credentials, registry, supervisor

    name = f"sandbox-{os.getpid()}"
    log = order.audit_log.absolute() if order.audit_log else None
    wanted = supervisor.Order(name, owners=(os.getpid(),), audit_log=log)
    state = cluster.start(wanted, environ, say)
    try:
        place = registry.layout(name)
        tokens = {ADMIN: credentials.token_of(place.kubeconfig)}
        front = Front(state.server, place.ca.read_text(), tokens, scratch)
        return asyncio.run(session.begin_and_use(front))
    finally:
        cluster.stop(name)


class _Session:
    """What happens while a server is up, from its first objects to the end of the command."""

    def __init__(
        self, order: Order, documents: Sequence[manifests.Document], environ: Mapping[str, str]
    ) -> None:
        self._order = order
        self._documents = documents
        self._environ = environ
        self._child: asyncio.subprocess.Process | None = None
        self._ended = asyncio.Event()

    def begin(self) -> None:
        """Listen to signals, and to the life of the process that this belongs to."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, functools.partial(self._on_signal, number))
        if self._order.owner is not None:
            running.watch(self._order.owner, self._end)

    async def begin_and_use(self, front: Front) -> int:
        """Both, for a server that runs elsewhere."""
        self.begin()
        return await self.use(front)

    async def use(self, front: Front) -> int:
        """Create the objects, write the kubeconfig, run the command or wait; the exit code."""
        if not await self._prepared(front):
            return 0
        path = (self._order.kubeconfig or front.scratch / "kubeconfig").absolute()
        content = kubeconfig.render(front.url, front.authority, front.tokens)
        kubeconfig.write(path, content)
        try:
            say(_screen(self._order, front, path))
            if self._order.command:
                return await self._run(path)
            print(path, flush=True)
            await self._ended.wait()
            say("The sandbox has ended.")
            return 0
        finally:
            kubeconfig.remove(path, content)

    async def _prepared(self, front: Front) -> bool:
        """Create the objects of --crds and --apply; False when it shall end before that."""
        if not self._documents:
            return True
        authority = front.scratch / "ca.crt"
        authority.write_text(front.authority)
        client = api.Client(front.url, authority, front.tokens[ADMIN])
        # In a thread, because the server that answers is this process.
        work = asyncio.to_thread(manifests.create, self._documents, client.ask)
        created = asyncio.ensure_future(work)
        ended = asyncio.ensure_future(self._ended.wait())
        await asyncio.wait({created, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if created.done():
            created.result()
        return created.done()

    async def _run(self, path: Path) -> int:
        """Run the command and end what it started; its exit code as a shell has it."""
        environ = {k: v for k, v in self._environ.items() if not k.startswith("K8S_AUTH_")}
        environ["KUBECONFIG"] = str(path)
        with running.descendants():
            try:
                self._child = await running.spawn(self._order.command, environ)
            except OSError as error:
                say(f"--exec {self._order.command[0]}: {error.strerror}")
                return 127 if isinstance(error, FileNotFoundError) else 126
            if self._ended.is_set():
                self._child.terminate()
            code = await self._child.wait()
        return code if code >= 0 else 128 - code

    def _on_signal(self, number: signal.Signals) -> None:
        if self._child is None or self._child.returncode is not None:
            self._end()
        # At a terminal Ctrl-C has reached the command already.
        elif number != signal.SIGINT or not running.at_terminal():
            self._child.send_signal(number)

    def _end(self) -> None:
        self._ended.set()
        if self._child is not None and self._child.returncode is None:
            self._child.terminate()


def say(text: str) -> None:
    """A line for people; standard output is the command's."""
    print(text, file=sys.stderr, flush=True)


def _screen(order: Order, front: Front, path: Path) -> str:
    what = (
        "a real Kubernetes 1.37 control plane"
        if order.real
        else "the Kubernetes 1.37 API from this process's memory"
    )
    first = f"Sandbox: {what}, for trying and testing only, at {front.url}"
    if order.command:
        return first
    trial = "kubectl get namespaces"
    if order.http:
        trial = "not with kubectl, which sends no token without TLS, as other clients do"
    lines = [
        first,
        "",
        f"  use it    export KUBECONFIG={path}",
        f"  try it    {trial}",
        "  stop it   Ctrl-C; all that is in it is gone then",
    ]
    names = [name for name in front.tokens if name != ADMIN]
    if names:
        lines.append(f"  users     {', '.join(names)}: kubectl --context NAME")
    if not order.rbac and not order.real:
        lines.append("  rights    everybody may do everything; --rbac enforces roles and bindings")
    return "\n".join(lines) + "\n"
