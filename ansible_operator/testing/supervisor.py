"""Boot a control plane, keep watch over it, and leave no process behind."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator.testing import (
    api,
    binaries,
    components,
    credentials,
    errors,
    process,
    progress,
    registry,
    seed,
    shims,
)

BOOT_LIMIT = 120.0
"""Seconds until a boot is given up; a loaded machine needs many times what an idle one does."""
ATTEMPTS = 3
TAIL = 15


@dataclass(frozen=True, slots=True)
class Order:
    """What shall be started. ``owners``: when one of these processes ends, the cluster ends.

    ``starter`` is one more such process, but only until the cluster is ready.
    """

    name: str
    owners: tuple[int, ...] = ()
    starter: int | None = None
    export: Path | None = None
    audit_log: Path | None = None


class _Stop(Exception):
    """The cluster is to end, in good order."""


class _PortTaken(Exception):
    """Another program took a port between choosing and using it."""


class Supervisor:
    """One cluster, from boot to end, in the process that calls ``run``."""

    def __init__(
        self,
        order: Order,
        place: components.Layout,
        programs: Mapping[str, Path],
        report: progress.Report,
        on_ready: Callable[[registry.State], None] = lambda state: None,
    ):
        self._on_ready = on_ready
        self._order = order
        self._place = place
        self._programs = programs
        self._report = report
        self._owners = [process.Watch(pid) for pid in order.owners]
        self._starter = process.Watch(order.starter) if order.starter else None
        self._children: dict[str, subprocess.Popen[str]] = {}
        self._signal = ""
        self._state = registry.State(
            name=order.name, phase=registry.BOOTING, pid=os.getpid(), started=time.time()
        )

    def run(self) -> int:
        """Boot and serve until told to stop, an owner ends or a part dies; the exit code.

        Handles SIGTERM, SIGINT and SIGHUP, so call it in the main thread.
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        try:
            self._prepare()
            self._boot()
            while True:
                self._check()
                time.sleep(0.1)
        except _Stop as reason:
            # The report comes last: whoever read it may be gone, and writing may fail.
            self._say(phase=registry.STOPPING, message=str(reason))
            self._end()
            registry.remove(self._place)
            self._report(f"control plane {self._order.name} has ended: {reason}")
            return 0
        except (errors.ControlPlaneError, OSError) as error:
            self._end()
            self._say(phase=registry.FAILED, message=str(error))
            self._report(f"control plane {self._order.name} failed: {error}")
            return 1
        finally:
            self._end()

    def _on_signal(self, number: int, frame: object) -> None:
        self._signal = signal.Signals(number).name

    def _say(self, **changes: Any) -> None:
        self._state = dataclasses.replace(self._state, **changes)
        registry.write(self._place, self._state)

    def _prepare(self) -> None:
        """Directories, links, keys and tokens; everything that needs no port."""
        place = self._place
        logs, scratch = place.home / "logs", place.home / "tmp"
        for directory in (place.pki, place.binaries, place.shims, logs, scratch):
            directory.mkdir(mode=0o700)
        shims.write(place.shims)
        for name, path in self._programs.items():
            (place.binaries / name).symlink_to(path)
        self._tokens = credentials.tokens()
        credentials.write_private(place.signing_key, credentials.signing_key())
        credentials.write_private(place.tokens, credentials.token_file(self._tokens))
        if self._order.audit_log is not None:
            credentials.write_private(place.audit_policy, json.dumps(seed.AUDIT_POLICY))
        self._say()

    def _boot(self) -> None:
        begun = time.monotonic()
        for attempt in range(ATTEMPTS):
            try:
                self._boot_once()
                break
            except _PortTaken as taken:
                if attempt == ATTEMPTS - 1:
                    raise errors.ControlPlaneError(str(taken)) from taken
                self._report(f"{taken}; starting again with other ports")
                self._end()
                self._children.clear()
        if self._order.export is not None:
            credentials.write_private(self._order.export, self._place.kubeconfig.read_text())
        self._say(
            phase=registry.READY,
            boot_seconds=round(time.monotonic() - begun, 1),
            exported=str(self._order.export or ""),
            versions={program.name: program.version for program in binaries.PROGRAMS},
        )
        self._starter = None
        self._on_ready(self._state)

    def _boot_once(self) -> None:
        place = self._place
        ports = components.free_ports()
        url = components.server(ports)
        self._say(ports=ports, server=url)
        self._start(components.storage(place, ports, self._order.audit_log))
        admin = self._tokens[credentials.ADMIN]
        self._wait("kube-apiserver", lambda: _ok(f"{url}/readyz", place.server_chain, admin))
        authority = credentials.authority(place.server_chain.read_text())
        credentials.write_private(place.ca, authority)
        for user, token in self._tokens.items():
            content = credentials.render(url, authority, token)
            target = place.kubeconfig if user == credentials.ADMIN else place.kubeconfig_of(user)
            credentials.write_private(target, content)
        client = api.Client(url, place.ca, admin)
        for path, body in seed.objects():
            client.send("POST", path, body)
        self._start(components.controllers(place, ports))
        for name in ("kube-controller-manager", "kube-scheduler"):
            health = f"https://{components.HOST}:{ports[name]}/healthz"
            certificate = place.pki / f"{name}.crt"
            self._wait(name, lambda h=health, c=certificate: _ok(h, c))  # type: ignore[misc]
        account = f"{url}/api/v1/namespaces/default/serviceaccounts/default"
        self._wait("kube-controller-manager", lambda: _ok(account, place.ca, admin))
        for node in seed.NODES:
            node_url = f"{url}/api/v1/nodes/{node}"
            self._wait("kwok", lambda u=node_url: _schedulable(u, place.ca, admin))  # type: ignore[misc]

    def _start(self, commands: Mapping[str, Sequence[str]]) -> None:
        # A small environment: a proxy setting or a Go setting of the caller must not matter.
        home = self._place.home
        path = os.pathsep.join((str(self._place.shims), os.defpath))
        env = {"PATH": path, "HOME": str(home), "TMPDIR": str(home / "tmp")}
        for name, arguments in commands.items():
            with self._place.log(name).open("w") as log:
                self._children[name] = subprocess.Popen(
                    [self._place.binaries / name, *arguments],
                    cwd=home,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    text=True,
                    # Ctrl-C goes to the supervisor alone, which ends them in order.
                    start_new_session=True,
                    preexec_fn=process.tied(),
                )
        self._say(pids={name: child.pid for name, child in self._children.items()})

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + BOOT_LIMIT
        while not ready():
            self._check()
            if time.monotonic() > deadline:
                raise errors.ControlPlaneError(
                    f"{name} was not ready after {BOOT_LIMIT:.0f} s. {self._log_end(name)}"
                )
            time.sleep(0.05)

    def _check(self) -> None:
        """Raise _Stop when it is time to end, ControlPlaneError when a part has died."""
        if self._signal:
            raise _Stop(self._signal)
        for watch in (*self._owners, *([self._starter] if self._starter else [])):
            if watch.gone():
                raise _Stop(f"its owner, process {watch.pid}, is gone")
        for name, child in self._children.items():
            if child.poll() is not None:
                self._died(name, child.returncode)

    def _died(self, name: str, code: int) -> None:
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        problem = f"{name} {how}. {self._log_end(name)}"
        booting = self._state.phase == registry.BOOTING
        if booting and "address already in use" in problem:
            raise _PortTaken(problem)
        raise errors.ControlPlaneError(problem)

    def _log_end(self, name: str) -> str:
        path = self._place.log(name)
        try:
            lines = path.read_text(errors="replace").splitlines()[-TAIL:]
        except OSError:
            lines = []
        end = "\n  ".join(line[:400] for line in lines)
        return f"The end of its log {path}:\n  {end}"

    def _end(self) -> None:
        # Nothing is worth an orderly end: the data goes with the cluster, and an API server
        # waits for its watchers.
        process.stop(list(self._children.values()), grace=0.0)


def _ok(url: str, certificate: Path, token: str = "") -> bool:
    return certificate.exists() and api.get(url, certificate, token)[0] == 200


def _schedulable(url: str, ca: Path, token: str) -> bool:
    status, body = api.get(url, ca, token)
    if status != 200:
        return False
    node = json.loads(body)
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ready and not node["spec"].get("taints")
