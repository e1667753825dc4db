"""Writes the status of objects in the fullest form that the schema of their kind takes.

The CRD is the user's: it may have no status subresource, drop fields of ours, or reject them. What
is in the way is said once per kind, and that it is gone is said once, too. Nothing that was
learned holds for good, as a CRD may be repaired at any time: it is put to the test again after
five minutes, and at once when discovery shows another resource. What one object's status is
refused for never counts for other objects.
"""

from __future__ import annotations

import enum
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import structlog

from ansible_operator import errors, objects
from ansible_operator.kube import client as kube_client
from ansible_operator.kube import discovery, fitting, patches

log = structlog.get_logger("status")

RETRY = 300.0
_FORGET = 12 * RETRY
_DISTINCT = 20
_NEVER = float("-inf")

_ABSENT = "no status is written: the kind has no status subresource"
_DROPPED = "the schema drops fields of the status"
_FOREIGN = "status not written: object is invalid"
_VALUES = re.compile(r'"(?:[^"\\]|\\.)*"|\d+')


class _Form(enum.IntEnum):
    """How much of a status was accepted."""

    FULL = 0
    REDUCED = 1
    NONE = 2


_SHORTENED = {
    _Form.REDUCED: "status is written in a reduced form: the schema rejects the full one",
    _Form.NONE: "status is not written: the schema rejects it even in the reduced form",
}
_HINTS = {
    _Form.REDUCED: "add ansibleResult and observedGeneration to the conditions in the"
    " CustomResourceDefinition and allow empty reasons",
    _Form.NONE: "correct status in the CustomResourceDefinition, or set manageStatus: false in"
    " watches.yaml",
}


_Forms: TypeAlias = dict[objects.ObjectKey, tuple[_Form, float]]


@dataclass(slots=True)
class _Learned:
    """What the server's answers showed about one kind; times are of the writer's clock.

    ``lost`` are the fields that it was last seen to drop, ``forms`` the objects whose status is
    not written in full, each with when the full form was last refused.
    """

    resource: discovery.Resource
    lost: set[fitting.Path] = field(default_factory=set)
    lost_at: float = _NEVER
    forms: _Forms = field(default_factory=dict)


class StatusWriter:
    """Writes statuses through one client. Thread-safe; ``clock`` is monotonic, in seconds."""

    def __init__(
        self, client: kube_client.Client, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._clock = clock
        self._learned: dict[objects.GVK, _Learned] = {}
        self._said: dict[tuple[objects.GVK, str], set[str]] = {}
        self._lock = threading.Lock()

    def has_status(self, resource: discovery.Resource) -> bool:
        """Whether discovery shows a status subresource; that it does not is said once."""
        self._learned_of(resource)
        if not resource.has_status:
            self.say_absent(resource)
        return resource.has_status

    def say_absent(self, resource: discovery.Resource) -> None:
        """Say once that the kind has no status subresource."""
        self._warn_once(
            resource.gvk,
            _ABSENT,
            hint="add 'subresources: {status: {}}' to the version in the"
            " CustomResourceDefinition, or set manageStatus: false in watches.yaml",
        )

    def write(
        self,
        resource: discovery.Resource,
        key: objects.ObjectKey,
        obj: objects.Obj,
        new: objects.Obj,
    ) -> objects.Obj:
        """Make ``new`` the whole status of the object that was read as ``obj``.

        Returns the object after the write, or ``obj`` if nothing had to be or could be written.
        Sends two requests at most. Raises ConflictError if the object changed since,
        NotFoundError if it is gone or its kind has no status subresource, and other KubeErrors.
        """
        learned = self._learned_of(resource)
        reduced = fitting.reduced(new, objects.status(obj))
        candidates = [(_Form.FULL, new), (_Form.REDUCED, reduced)]
        if self._is_reduced(learned, key):
            del candidates[0]
        refused = []
        for form, status in candidates:
            try:
                written = self._send(learned, key, obj, status)
            except errors.InvalidError as exc:
                if not _concerns_status(exc):
                    self._warn_once(key.gvk, _FOREIGN, exc, object=str(key))
                    return obj
                refused.append(exc)
            else:
                self._note(learned, key, form, refused)
                return written
        self._note(learned, key, _Form.NONE, refused)
        return obj

    def _send(
        self, learned: _Learned, key: objects.ObjectKey, obj: objects.Obj, new: objects.Obj
    ) -> objects.Obj:
        ignored = learned.lost if self._is_recent(learned.lost_at) else frozenset()
        old = objects.status(obj)
        if patches.same(fitting.without(old, ignored), fitting.without(new, ignored)):
            return obj
        written = self._client.request(
            "PATCH",
            discovery.path(learned.resource, key.namespace, key.name, "status"),
            body=patches.status(obj, new),
            content_type=kube_client.MERGE_PATCH,
        )
        self._rejoice(key.gvk, _ABSENT, "status is written again: the kind has it now")
        self._note_lost(learned, new, objects.status(written))
        return written

    def _is_reduced(self, learned: _Learned, key: objects.ObjectKey) -> bool:
        form, refused_at = learned.forms.get(key, (_Form.FULL, _NEVER))
        return form is _Form.REDUCED and self._is_recent(refused_at)

    def _note(
        self,
        learned: _Learned,
        key: objects.ObjectKey,
        form: _Form,
        refused: list[errors.InvalidError],
    ) -> None:
        """Remember in which form an object's status was accepted, and say it if that changed."""
        now = self._clock()
        with self._lock:
            before, since = learned.forms.pop(key, (_Form.FULL, _NEVER))
            if form is not _Form.FULL:
                at = now if refused else since
                learned.forms = _younger(learned.forms, now - _FORGET)
                learned.forms[key] = (form, at)
        if form < before:
            how = "in full" if form is _Form.FULL else "in a reduced form"
            self._rejoice(key.gvk, _SHORTENED[before], f"status is written {how} again")
        if form is not _Form.FULL and refused:
            said = refused[-1] if form is _Form.NONE else refused[0]
            self._warn_once(key.gvk, _SHORTENED[form], said, object=str(key), hint=_HINTS[form])

    def _note_lost(self, learned: _Learned, sent: objects.Obj, stored: objects.Obj) -> None:
        lost = set(fitting.lost(sent, stored))
        with self._lock:
            kept = {path for path in learned.lost - lost if fitting.holds(stored, path)}
            new = lost - learned.lost
            learned.lost = (learned.lost | lost) - kept
            learned.lost_at = self._clock()
        if kept:
            self._rejoice(
                learned.resource.gvk,
                _DROPPED,
                "the schema keeps fields of the status that it dropped before",
                fields=sorted(map(fitting.text, kept)),
            )
        if new:
            fields = sorted(map(fitting.text, new))
            self._warn_once(
                learned.resource.gvk,
                _DROPPED,
                words=" ".join(fields),
                fields=fields,
                hint="add them to status in the CustomResourceDefinition, or set"
                " x-kubernetes-preserve-unknown-fields: true there",
            )

    def _warn_once(
        self,
        gvk: objects.GVK,
        event: str,
        refused: errors.InvalidError | None = None,
        words: str = "",
        **more: Any,
    ) -> None:
        """Warn of what is wrong with a kind, and again only if the server's words change."""
        if refused is not None:
            # What differs between objects (name, path of the request, values) makes no new words.
            words = _VALUES.sub("", str(refused).partition(" (PATCH ")[0])
            more["error"] = str(refused)
        with self._lock:
            said = self._said.setdefault((gvk, event), set())
            if words in said or len(said) >= _DISTINCT:
                return
            said.add(words)
        log.warning(event, kind=str(gvk), **more)

    def _rejoice(self, gvk: objects.GVK, event: str, message: str, **more: Any) -> None:
        """Say that what was warned of is over; if it comes back it is warned of again."""
        with self._lock:
            said = self._said.pop((gvk, event), None)
        if said:
            log.info(message, kind=str(gvk), **more)

    def _is_recent(self, time_: float) -> bool:
        return self._clock() - time_ < RETRY

    def _learned_of(self, resource: discovery.Resource) -> _Learned:
        """What holds for the resource; what was seen of another one is to be seen anew."""
        with self._lock:
            learned = self._learned.setdefault(resource.gvk, _Learned(resource))
            if learned.resource != resource:
                learned.resource, learned.lost_at = resource, _NEVER
                for key, (form, _) in learned.forms.items():
                    learned.forms[key] = (form, _NEVER)
            return learned


def _younger(forms: _Forms, time_: float) -> _Forms:
    """Without the objects that were not written for long: nobody tells us of deleted ones."""
    return {key: entry for key, entry in forms.items() if entry[1] >= time_}


def _concerns_status(refused: errors.InvalidError) -> bool:
    """Whether the rejected fields are ours; a server that names no fields is taken to mean them."""
    fields = refused.fields
    return not fields or any(name == "status" or name.startswith("status.") for name in fields)
