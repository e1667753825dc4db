"""Lists: selected, in pages that show one moment, and what a watch begins with."""

from __future__ import annotations

import base64
import binascii
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ansible_operator.sandbox import failure, kinds, options, registry, selectors

Obj = dict[str, Any]
SNAPSHOTS = 64
"""Lists that were begun in pages and can be gone on with; the oldest goes first."""

LONGEST = 19
"""Digits of a version; there is one number with more that Go reads."""

TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter."
)


@dataclass(frozen=True, slots=True)
class Page:
    """Some objects, the revision that they show, and where to go on."""

    items: list[Obj]
    revision: int
    go_on: str = ""
    remaining: int | None = None

    def meta(self) -> Obj:
        """The metadata of the list."""
        found: Obj = {"resourceVersion": str(self.revision)}
        if self.go_on:
            found["continue"] = self.go_on
        if self.remaining is not None:
            found["remainingItemCount"] = self.remaining
        return found


class Lister:
    """Reads lists out of the storage."""

    def __init__(self, store: registry.Registry) -> None:
        self._registry = store
        self._begun: OrderedDict[tuple[int, kinds.Key, str], list[Obj]] = OrderedDict()

    def page(self, resource: kinds.Resource, namespace: str, name: str, how: options.List) -> Page:
        """One page. Raises ApiFailure 400, 410 and 504."""
        matches = selection(resource, name, how)
        self._check_revision(how)
        if not how.limit and not how.go_on:
            stored = self._registry.storage.list(resource.key, namespace)
            return Page(list(self._read(resource, stored, matches)), self._revision)
        return self._paged(resource, namespace, matches, how)

    @property
    def _revision(self) -> int:
        return self._registry.storage.revision

    def _read(
        self, resource: kinds.Resource, stored: Iterator[Obj], matches: selectors.Matches
    ) -> Iterator[Obj]:
        found = (self._registry.read(resource, obj) for obj in stored)
        return (obj for obj in found if matches(obj))

    def _paged(
        self,
        resource: kinds.Resource,
        namespace: str,
        matches: selectors.Matches,
        how: options.List,
    ) -> Page:
        revision, start = _token(how.go_on) if how.go_on else (self._revision, 0)
        moment = self._moment(resource, namespace, revision, begun=bool(how.go_on))
        items: list[Obj] = []
        at = start
        while at < len(moment) and not (how.limit and len(items) == how.limit):
            if matches(found := self._registry.read(resource, moment[at])):
                items.append(found)
            at += 1
        left = len(moment) - at
        if not left or not how.limit:
            return Page(items, revision)
        self._keep(resource, namespace, revision, moment)
        selected = how.labels or how.fields
        return Page(items, revision, _continue(revision, at), None if selected else left)

    def _moment(
        self, resource: kinds.Resource, namespace: str, revision: int, *, begun: bool
    ) -> list[Obj]:
        if not begun:
            return list(self._registry.storage.list(resource.key, namespace))
        moment = self._begun.get((revision, resource.key, namespace))
        if moment is None:
            raise failure.expired(TOO_OLD)
        return moment

    def _keep(
        self, resource: kinds.Resource, namespace: str, revision: int, moment: list[Obj]
    ) -> None:
        self._begun[revision, resource.key, namespace] = moment
        self._begun.move_to_end((revision, resource.key, namespace))
        while len(self._begun) > SNAPSHOTS:
            self._begun.popitem(last=False)

    def _check_revision(self, how: options.List) -> None:
        try:
            wanted = revision_of(how.revision)
        except failure.ApiFailure as error:
            raise failure.bad_request(f"invalid resource version: {error}") from None
        if wanted > self._revision:
            raise too_large(wanted, self._revision)
        if how.match == "Exact" and wanted != self._revision:
            told = "The resourceVersion for the provided list is too old."
            raise failure.expired(told)


def selection(resource: kinds.Resource, name: str, how: options.List) -> selectors.Matches:
    """Whether an object is asked for. Raises ApiFailure 400."""
    tests: list[Callable[[Obj], bool]] = []
    if how.labels:
        tests.append(selectors.labels(how.labels))
    if how.fields:
        tests.append(selectors.fields(how.fields, resource))
    if name:
        tests.append(lambda obj: obj["metadata"]["name"] == name)
    return lambda obj: all(test(obj) for test in tests)


def revision_of(text: str) -> int:
    """A resourceVersion as a number, 0 for none. Raises ApiFailure 500, as the server does."""
    if not text:
        return 0
    decimal = text.isascii() and text.isdecimal()
    if not decimal or len(text.lstrip("0")) > LONGEST:
        told = f'strconv.ParseUint: parsing "{text}": '
        told += "value out of range" if decimal else "invalid syntax"
        raise failure.ApiFailure(500, "", f'resourceVersion: Invalid value: "{text}": {told}')
    return int(text)


def too_large(wanted: int, current: int) -> failure.ApiFailure:
    """504: the version is one that has not been yet."""
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return failure.ApiFailure(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def _continue(revision: int, start: int) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _token(text: str) -> tuple[int, int]:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        found = json.loads(raw)
        return int(found["rv"]), max(int(found["start"]), 0)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        told = "invalid continue token: continue key is not valid: no list of this server gave it"
        raise failure.bad_request(told) from None
