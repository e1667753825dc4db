"""Pure: which changes of a dependent object are a reason to run its owner's role.

The incumbent compares whole objects without status and resourceVersion. Here only metadata is
known, which is enough: ``generation`` counts changes of the content where the kind has one, and
``managedFields`` tell who has written what, and when, everywhere. An entry is *about content* if
it has fields other than metadata and status.

- Appeared: no. Vanished, or replaced by one of the same name: yes. Deletion asked for: yes, and
  after that nothing but the end counts, as no write can save the object.
- Metadata changed, but for notes of the cluster's own controllers: yes.
- An entry about content changed: yes, also where the generation did not, which kinds such as
  PriorityClass never raise. Only other entries changed: no. This is a write of the status, even
  one that raised the generation, as it does where a kind has no status subresource.
- No entry changed, since the same manager wrote the same fields before in the same second, or has
  scaled before, of which no time is kept. With a generation that stayed the same: no. Otherwise it
  is a write of one whose entry has the latest time of all, or none: yes if any of these is about
  content, or if there are no entries at all.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from ansible_operator import children


class Reason(enum.Enum):
    """What happened to a dependent that its owner has to see to."""

    CHANGED = "changed"
    GOING = "being deleted"
    GONE = "deleted"


def reason(change: children.Change) -> Reason | None:
    """Why this change is a reason to run the owners, None if it is not."""
    old, new = change.old, change.new
    if change.initial or change.event is children.Event.ADDED:
        return None
    if change.event is children.Event.DELETED:
        return Reason.GONE
    if old is None:
        return Reason.CHANGED
    if old.uid != new.uid:
        return Reason.GONE
    if new.deleted:
        return None if old.deleted else Reason.GOING
    return Reason.CHANGED if _differs(old, new) else None


def managers(change: children.Change) -> tuple[str, ...]:
    """The field managers that made the change, as far as it can be told; empty for a deletion."""
    if change.event is children.Event.DELETED or change.old is None:
        return ()
    touched = _touched(change.old, change.new).intersection(change.new.entries)
    # Who takes fields from others changes their entries too, but is the last to have written.
    found = _last(touched) or _last(change.new.entries)
    return tuple(sorted({entry.manager for entry in found}))


def _differs(old: children.Digest, new: children.Digest) -> bool:
    if old.resource_version == new.resource_version:
        return False
    if old.metadata != new.metadata:
        return True
    touched = _touched(old, new)
    if touched:
        return any(entry.content for entry in touched)
    if old.generation == new.generation != 0:
        return False
    last = _last(new.entries)
    return not last or any(entry.content for entry in last)


def _touched(old: children.Digest, new: children.Digest) -> set[children.FieldsEntry]:
    """The entries that are not the same in both."""
    return set(old.entries) ^ set(new.entries)


def _last(entries: Iterable[children.FieldsEntry]) -> list[children.FieldsEntry]:
    """Those that may be of the last write; the times' texts are in their order (RFC 3339, UTC)."""
    found = list(entries)
    newest = max((entry.time for entry in found), default="")
    return [entry for entry in found if entry.time in (newest, "")]
