"""One watch: how it goes with listening to its kind, and what was said of that already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from ansible_operator import objects, watches
from ansible_operator.kube import access, discovery, source

log = structlog.get_logger("listening")


@dataclass(slots=True)
class Entry:
    """One watch; times are of the clock of who keeps it.

    ``resource`` is None while the kind is not served, ``known`` is the last one that was.
    ``scopes`` are where it can be listened to, ``wide`` that the whole cluster is asked for them,
    ``ready`` says that it may be started there, and ``target`` is what the source was told, None
    while it was told nothing. ``due`` is when it is looked at again, ``since`` when it was
    started, and ``superseded`` says that the objects run under another listed version of the kind.
    """

    watch: watches.Watch
    resource: discovery.Resource | None = None
    known: discovery.Resource | None = None
    scopes: tuple[str, ...] = ()
    wide: bool = False
    ready: bool = False
    target: source.Target | None = None
    due: float = 0.0
    since: float = 0.0
    failures: int = 0
    superseded: bool = False
    said: str = ""
    said_superseded: bool = False
    said_lacking: str = ""

    @property
    def gvk(self) -> objects.GVK:
        """The kind."""
        return self.watch.gvk

    @property
    def healthy(self) -> bool:
        """Whether nothing is in the way, so that it is not looked at again by itself."""
        return self.due == float("inf")

    def say(self, problems: Sequence[access.Problem], retry: str) -> None:
        """Say what is in the way, or that nothing is any more, if that has changed."""
        text = "\n".join(map(str, problems))
        if text == self.said:
            return
        self.said = text
        for problem in problems:
            log.error(
                "cannot listen to a kind",
                kind=str(self.gvk),
                reason=problem.reason.value,
                error=problem.message,
                retry=retry,
            )
        if not problems:
            log.info("kind can be listened to now", kind=str(self.gvk))

    def say_lacking(self, texts: Sequence[str]) -> None:
        """Say which permissions are missing besides, if that has changed."""
        text = "\n".join(text for text in texts if text)
        if text and text != self.said_lacking:
            log.warning("permission is missing", kind=str(self.gvk), error=text)
        self.said_lacking = text

    def say_superseded(self, winner: watches.Watch) -> None:
        """Say once that the served kind is not run because a newer version of it is."""
        if self.resource is not None and not self.said_superseded:
            self.said_superseded = True
            log.warning(
                "kind is not run in this version: a newer version of it is listed",
                kind=str(self.gvk),
                runs=str(winner.gvk),
                hint="both show the same objects; remove one of them from watches.yaml",
            )

    def say_changed(self, found: discovery.Resource) -> None:
        """Say that the kind is served as ``found`` now."""
        log.info(
            "kind is served differently now",
            kind=str(self.gvk),
            plural=found.plural,
            namespaced=found.namespaced,
            status_subresource=found.has_status,
        )
