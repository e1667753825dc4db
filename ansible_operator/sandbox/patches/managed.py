"""Managed fields: who set which fields, and server-side apply, which rests on that.

Every write notes in ``metadata.managedFields`` which fields it changed. Who applies owns all that
is applied; what an earlier apply had and this one has not is removed unless somebody else owns it;
a change of what others own is a conflict.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.patches import fieldset, fieldwalk, managers, shapes
from ansible_operator.sandbox.schemas import gotypes
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = schemas.Schema

BEFORE = "before-first-apply"
"""The manager of what was there before the first apply, when nobody had been noted."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"

_UNOWNED = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
"""Fields of metadata that nobody owns."""


def track(
    old: Obj | None,
    new: Obj,
    schema: Schema,
    *,
    manager: str,
    api_version: str,
    subresource: str = "",
    time: str,
    with_status: bool = True,
) -> Obj:
    """The new object with managed fields that tell of this write.

    ``old`` is None for an object that is created. ``with_status`` says that there is a status
    subresource, so that a write to the object itself does not set the status.
    """
    entries = managers.decode(_noted(old, new, schema, subresource))
    if not entries and old is not None:
        return managers.encode(new, {})
    before = _zero(schema) if old is None else old
    me = managers.Entry(manager, "Update", api_version, subresource, _stamp(time, subresource))
    entries = _updated(entries, before, new, schema, me, with_status)
    return managers.encode(new, managers.capped(entries))


def apply(
    live: Obj | None,
    patch: Obj,
    schema: Schema,
    *,
    manager: str,
    force: bool,
    api_version: str,
    subresource: str = "",
    time: str,
    with_status: bool = True,
) -> Obj:
    """The live object (None if there is none) with the patch applied, and its managed fields.

    The patch is as it was sent: nulls and unknown fields are seen. Raises ApiFailure: 400 for a
    patch that brings managed fields, 500 (as the server does) for one that does not fit the
    schema, 409 for conflicts, unless ``force`` is given.
    """
    _check(patch, schema, api_version)
    meta = patch.get("metadata") or {}
    meta = {key: item for key, item in meta.items() if key != "managedFields"}
    patch = {**patch, "metadata": meta}
    me = managers.Entry(manager, "Apply", api_version, subresource, _stamp(time, subresource))
    base = _zero(schema) if live is None else live
    entries = managers.decode(base["metadata"].get("managedFields"))
    if not entries and live is not None:
        first = managers.Entry(BEFORE, "Update", api_version, subresource, me.time)
        entries = _updated({}, _zero(schema), live, schema, first, with_status)
    job = _Job(base, patch, schema, me, with_status)
    return _applied(job, entries, force)


@dataclass(frozen=True, slots=True)
class _Job:
    """An apply."""

    live: Obj
    patch: Obj
    schema: Schema
    me: managers.Entry
    with_status: bool

    def bare(self, obj: Obj) -> Obj:
        return _bare(obj, self.schema, self.me.subresource, self.with_status)


def _applied(job: _Job, entries: managers.Entries, force: bool) -> Obj:
    me, schema = job.me, job.schema
    before = entries.get(me.key)
    last = before.fields if before else {}
    mine = fieldset.difference(fieldwalk.of(job.bare(job.patch), schema), {"f:metadata": {}})
    entries = entries | {me.key: me.owning(mine)}
    merged = fieldwalk.overlay(job.live, job.patch, schema)
    merged = _pruned(merged, last, mine, entries, schema)
    change = fieldwalk.compare(job.bare(job.live), job.bare(merged), schema)
    others = [entry for key, entry in entries.items() if key != me.key]
    taken = _conflicts(others, change)
    if taken and not force:
        _refuse_conflicts(job, taken)
    left = {entry.key: _less(entry, change) for entry in others}
    if merged == job.live:
        me = replace(me, time=before.time if before else "")
    found = managers.encode(merged, left | {me.key: me.owning(mine)})
    return _with_last_applied(found, job.patch) if me.manager == KUBECTL else found


def _pruned(
    merged: Obj,
    last: fieldset.Fields,
    mine: fieldset.Fields,
    entries: managers.Entries,
    schema: Schema,
) -> Obj:
    """Without what the last apply of this manager had and nobody has any more."""
    if not fieldset.difference(last, mine):
        return merged
    named = functools.partial(fieldwalk.named, schema=schema)
    had, all_of_it = named(last), named(fieldwalk.of(merged, schema))
    owned = functools.reduce(fieldset.union, (entry.fields for entry in entries.values()))
    left = named(fieldwalk.of(fieldwalk.without(merged, had, schema), schema))
    ownerless = fieldset.difference(all_of_it, fieldset.union(left, named(owned)))
    pruned = fieldwalk.without(merged, ownerless, schema)
    gone = fieldset.difference(all_of_it, named(fieldwalk.of(pruned, schema)))
    found: Obj = fieldwalk.without(merged, fieldset.intersection(gone, had), schema)
    unowned = {key: item for key, item in merged["metadata"].items() if key in _UNOWNED}
    return {**found, "metadata": {**(found.get("metadata") or {}), **unowned}}


# -- who owns what ------------------------------------------------------------------------------


def _updated(
    entries: managers.Entries,
    before: Obj,
    after: Obj,
    schema: Schema,
    me: managers.Entry,
    with_status: bool,
) -> managers.Entries:
    """The entries after ``me`` wrote what makes ``after`` of ``before``."""
    change = fieldwalk.compare(
        _bare(before, schema, me.subresource, with_status),
        _bare(after, schema, me.subresource, with_status),
        schema,
    )
    if change.same:
        return entries
    found = {key: _less(entry, change) for key, entry in entries.items()}
    mine = fieldset.union(change.added, change.modified)
    if me.subresource == "scale" and not _conflicts(entries.values(), change):
        mine = {}  # the server notes who scales only where somebody was noted before
    if mine:
        before_that = found[me.key].fields if me.key in found else {}
        found[me.key] = me.owning(fieldset.union(before_that, mine))
    return found


def _less(entry: managers.Entry, change: fieldwalk.Comparison) -> managers.Entry:
    """What is left to a manager of fields that another one changed."""
    fields = entry.fields
    for gone in (change.added, change.modified, change.removed):
        fields = fieldset.difference(fields, gone) if gone else fields
    return entry.owning(fields)


def _bare(obj: Obj, schema: Schema, subresource: str, with_status: bool) -> Obj:
    """What of an object can be owned in a write to it, or to a subresource of it."""
    meta = {key: item for key, item in (obj.get("metadata") or {}).items() if key not in _UNOWNED}
    found = {key: item for key, item in obj.items() if key not in ("apiVersion", "kind")}
    found["metadata"] = meta
    if subresource == "status":
        found.pop("spec", None)
        if obj.get("kind") == "Deployment":
            meta.pop("labels", None)  # which its status, unlike that of others, does not change
        if not _builtin(schema):
            del found["metadata"]
    elif with_status:
        found.pop("status", None)
    return found


def _builtin(schema: Schema) -> bool:
    return "x-name" in schemas.resolve(schema)


def _zero(schema: Schema) -> Obj:
    """What an object is before it is created: in Go, structs are there from the beginning."""
    return _zero_of(schemas.resolve(schema)["x-name"]) if _builtin(schema) else {"metadata": {}}


@functools.cache
def _zero_of(name: str) -> Obj:
    definition = schemas.definition(name)
    found: Obj = gotypes.read({}, definition)[0]
    for key, value in found.items():
        sub = schemas.of_field(definition, key)
        if isinstance(value, dict) and sub and "x-name" in sub:
            found[key] = _zero_of(sub["x-name"])
    # Metadata are there as well, though they are not written while they are empty.
    return found | ({"metadata": {}} if "metadata" in definition["properties"] else {})


# -- conflicts ----------------------------------------------------------------------------------


Taken = list[tuple[managers.Entry, fieldset.Fields]]


def _conflicts(others: Iterable[managers.Entry], change: fieldwalk.Comparison) -> Taken:
    touched = fieldset.union(change.added, change.modified)
    found = [(entry, fieldset.intersection(entry.fields, touched)) for entry in others]
    return [(entry, fields) for entry, fields in found if fields]


def _refuse_conflicts(job: _Job, taken: Taken) -> None:
    """Raise 409, unless it is kubectl that only takes what it once set by client-side apply."""
    if job.me.manager == KUBECTL and (known := _last_applied(job)):
        taken = [(entry, fieldset.difference(fields, known)) for entry, fields in taken]
        taken = [(entry, fields) for entry, fields in taken if fields]
    if not taken:
        return
    taken.sort(key=lambda one: json.dumps(replace(one[0], time="", fields={}).encoded))
    told = [(str(entry), list(fieldset.paths(fields))) for entry, fields in taken]
    causes = [
        failure.Cause("FieldManagerConflict", f"conflict with {who}", path)
        for who, paths in told
        for path in paths
    ]
    raise failure.apply_conflict(_conflict_message(told), causes)


def _conflict_message(told: Sequence[tuple[str, list[str]]]) -> str:
    count = sum(len(paths) for _, paths in told)
    if count == 1:
        who, (path,) = told[0]
        return f"Apply failed with 1 conflict: conflict with {who}: {path}"
    lines = [
        line
        for who, paths in told
        for line in (f"conflicts with {who}:", *map("- {}".format, paths))
    ]
    return f"Apply failed with {count} conflicts: " + "\n".join(lines)


def _last_applied(job: _Job) -> fieldset.Fields:
    """The fields of the last client-side apply that have not been changed since."""
    text = (job.live["metadata"].get("annotations") or {}).get(LAST_APPLIED, "")
    try:
        last = json.loads(text)
    except ValueError:
        return {}
    change = fieldwalk.compare(job.live, fieldwalk.overlay(job.live, last, job.schema), job.schema)
    changed = fieldset.union(change.added, change.modified)
    return fieldset.difference(fieldwalk.of(last, job.schema), changed)


def _with_last_applied(obj: Obj, patch: Obj) -> Obj:
    """Keep up the annotation of client-side apply, where there is one."""
    meta = obj["metadata"]
    if LAST_APPLIED not in (meta.get("annotations") or {}):
        return obj
    given = {**patch, "metadata": {**patch["metadata"]}}
    if "annotations" in given["metadata"]:
        annotations = dict(given["metadata"]["annotations"] or {})
        annotations.pop(LAST_APPLIED, None)
        given["metadata"]["annotations"] = annotations
    annotations = {**meta["annotations"], LAST_APPLIED: fieldset.text(given) + "\n"}
    return {**obj, "metadata": {**meta, "annotations": annotations}}


def _check(patch: Obj, schema: Schema, api_version: str) -> None:
    meta = patch.get("metadata")
    if isinstance(meta, dict) and meta.get("managedFields") is not None:
        raise failure.bad_request("metadata.managedFields must be nil")
    found = list(shapes.problems(patch, schema))
    if found:
        name = meta.get("name") if isinstance(meta, dict) else ""
        group, _, version = api_version.rpartition("/")
        place = meta.get("namespace", "") if isinstance(meta, dict) else ""
        place = f"{place}/{name if isinstance(name, str) else ''}"
        what = f"{place}; {group}/{version}, Kind={patch['kind']}"
        told = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
        message = f"failed to create typed patch object ({what}): {told}"
        raise failure.ApiFailure(500, "", message)


def _noted(old: Obj | None, new: Obj, schema: Schema, subresource: str) -> Any:
    """The entries that count: those of the request, if it has any that can be read."""
    live = old["metadata"].get("managedFields") if old else None
    given = new["metadata"].get("managedFields")
    if subresource:
        return live
    if given == [{}] or (given == [] and _builtin(schema)):
        return None
    return given if given and managers.readable(given) else live


def _stamp(time: str, subresource: str) -> str:
    """The server does not note when the scale subresource was written."""
    return "" if subresource == "scale" else time
