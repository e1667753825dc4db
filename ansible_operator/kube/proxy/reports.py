"""What the rest of the operator is told of the doings of runs: what they own and what they wrote.

All of it is taken from answers: an attempt that the API server refused is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_operator import children, objects, ownership
from ansible_operator.kube.proxy import interceptor

_MEMORY = 4096

_Seen = tuple[str, str, str, str, str]


class Reports:
    """For one thread, that of the proxy's loop."""

    def __init__(self, listener: children.Listener) -> None:
        self._listener = listener
        self._owned: dict[tuple[str, children.ChildKind, children.Tie], None] = {}
        self._settled: dict[_Seen, None] = {}

    def is_settled(self, owner: children.Owner, request: interceptor.Request) -> bool:
        """Whether this run was found to own objects like the one that is read here."""
        return _seen(owner, request) in self._settled

    def may_own(self, owner: children.Owner, body: bytes) -> bool:
        """Whether an answer names the owner at all, before it is read: most do not."""
        primary = ownership.primary_annotations(owner)[children.PRIMARY]
        return owner.uid.encode() in body or primary.encode() in body

    def owns(
        self,
        owner: children.Owner,
        request: interceptor.Request,
        kind: children.ChildKind,
        obj: Mapping[str, Any],
    ) -> None:
        """Tell that an object which an answer showed belongs to the owner, if it does."""
        tie = ownership.tie(obj, owner)
        if tie is None:
            return
        _remember(self._settled, _seen(owner, request))
        key = (owner.job, kind, tie)
        if key not in self._owned:
            _remember(self._owned, key)
            self._listener.owns(owner, kind, tie)

    def wrote(
        self,
        owner: children.Owner,
        request: interceptor.Request,
        kind: children.ChildKind,
        verb: str,
        obj: Mapping[str, Any],
    ) -> None:
        """Tell of a write; ``obj`` is what the answer showed, empty if that was not understood."""
        details = obj.get("details")
        named = details if isinstance(details, dict) else objects.metadata(obj)
        namespace = request.namespace or objects.namespace(obj)
        write = children.Write(
            verb=verb,
            kind=kind,
            namespace=namespace if kind.namespaced else "",
            name=request.name or objects.name(obj),
            uid=str(named.get("uid") or ""),
            resource_version=objects.resource_version(obj),
        )
        self._listener.wrote(owner, write)


def _seen(owner: children.Owner, request: interceptor.Request) -> _Seen:
    return (owner.job, request.group, request.version, request.resource, request.namespace)


def _remember(memory: dict[Any, None], key: Any) -> None:
    """Forget the oldest: at worst something is told twice."""
    memory[key] = None
    if len(memory) > _MEMORY:
        del memory[next(iter(memory))]
