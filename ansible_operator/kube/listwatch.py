"""What an informer asks of the API server: lists in pages, and watches."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from ansible_operator import children, errors, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import discovery, streaming, watchevents

LIMIT = 500
"""Objects in one answer to a list."""

LASTS = (240, 300)
"""Seconds that a watch is asked to last, spread so that not all of them begin anew at once."""

CONNECT, ANSWER = 5.0, 60.0
"""Seconds to connect, and to wait for the answer to a list."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for: which objects, and how much of each is remembered.

    ``selector`` is a label selector as the API has it. Without ``full`` only the metadata is
    fetched, so that a Secret costs what its name and labels do. ``digest`` gets what is fetched.
    """

    kind: children.ChildKind
    selector: str = ""
    full: bool = False
    digest: Callable[[objects.Obj], children.Digest] = children.digest

    @property
    def resource(self) -> discovery.Resource:
        """The kind as discovery has it."""
        return discovery.Resource(self.kind.gvk, self.kind.plural, self.kind.namespaced, False)

    def accept(self, kind: str) -> str:
        """The Accept header; plain JSON is for servers that cannot tell metadata alone."""
        if self.full:
            return kube_client.JSON
        return f"{kube_client.JSON};as={kind};g=meta.k8s.io;v=v1,{kube_client.JSON}"


class ListWatch:
    """Asks for a kind in one namespace, in the whole cluster if it is empty.

    ``within`` are the namespaces that count then, none for all. Every method raises KubeError, for
    an answer that cannot be used with status 0.
    """

    def __init__(
        self,
        client: kube_client.Client,
        wish: Wish,
        namespace: str = "",
        within: Collection[str] = (),
    ) -> None:
        self._client = client
        self._wish = wish
        self._path = discovery.path(wish.resource, namespace)
        self._within = frozenset(within)

    def everything(self) -> tuple[list[children.Digest], str]:
        """All objects, and the resourceVersion of that list."""
        try:
            return self._pages(LIMIT)
        except errors.KubeError as exc:
            if exc.status != watchevents.GONE:
                raise
        # The list took longer than the server keeps its state: all at once, as kubectl does.
        return self._pages(0)

    def watch(self, version: str, quiet: float) -> streaming.Stream:
        """Begin to hear what happens after a version; ``quiet`` as of informers."""
        query = self._query(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=str(round(spread(*LASTS))),
        )
        return self._client.stream(
            self._path,
            query=query,
            accept=self._wish.accept("PartialObjectMetadata"),
            timeout=(CONNECT, quiet),
        )

    def digests(self, items: Iterable[objects.Obj]) -> list[children.Digest]:
        """What is remembered of the objects that count."""
        try:
            return [self._wish.digest(item) for item in items if self._counts(item)]
        except (TypeError, AttributeError, ValueError) as exc:
            raise errors.KubeError(f"not a list of objects: {exc} (GET {self._path})") from exc

    def _pages(self, limit: int) -> tuple[list[children.Digest], str]:
        items: list[children.Digest] = []
        token = ""
        while True:
            page = self._page(limit, token)
            items += self.digests(page.get("items") or ())
            meta = objects.metadata(page)
            token = str(meta.get("continue") or "")
            if not token:
                return items, str(meta.get("resourceVersion") or "")

    def _page(self, limit: int, token: str) -> objects.Obj:
        query = self._query(limit=str(limit or ""), **{"continue": token})
        accept = self._wish.accept("PartialObjectMetadataList")
        with self._client.stream(
            self._path, query=query, accept=accept, timeout=(CONNECT, ANSWER)
        ) as stream:
            content = stream.read()
        try:
            page = json.loads(content)
        except ValueError:
            page = None
        if not isinstance(page, dict) or not isinstance(page.get("metadata"), dict):
            raise errors.KubeError(f"not a list: {content[:200]!r} (GET {self._path})")
        return page

    def _counts(self, obj: objects.Obj) -> bool:
        return not self._within or objects.namespace(obj) in self._within

    def _query(self, **parts: str) -> dict[str, str]:
        query = {**parts, "labelSelector": self._wish.selector}
        return {key: value for key, value in query.items() if value}


def spread(least: float, most: float) -> float:
    """Some number between two."""
    return random.uniform(least, most)  # noqa: S311 - spreads load, guards nothing
