"""Making objects of values: their kind, the types of their fields, unknown and repeated fields.

Built-in objects are read by their types, custom ones are pruned by their schema; what is told about
unknown and repeated fields is an error, a warning or nothing, as fieldValidation says.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from ansible_operator.sandbox import failure, kinds, options
from ansible_operator.sandbox.reading import bodies, gowords, values, yamltext
from ansible_operator.sandbox.schemas import gotypes, pruning, scalars
from ansible_operator.sandbox.schemas import schema as schemas

Obj = dict[str, Any]
Schema = schemas.Schema
_UNREADABLE = (ValueError, values.Mismatch, scalars.Unreadable)
_SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'


@dataclasses.dataclass(frozen=True, slots=True)
class _Read:
    """An object and what a strict reader says of it; ``lines`` are those of YAML."""

    obj: Obj
    complaints: Sequence[str] = ()
    lines: Sequence[str] = ()


def decode(resource: kinds.Resource, body: Obj, schema: Schema, how: options.Write) -> Obj:
    """The object in the body of a POST or PUT. Raises ApiFailure 400, and 422 for another kind.

    What is wrong with fields is added to the warnings of ``how`` if it does not ask for errors.
    """
    try:
        read = _read(resource, body, schema)
        _complain(read, how)
    except _UNREADABLE as error:
        kind = body.get("kind") or resource.kind
        version = str(body.get("apiVersion") or resource.version).rpartition("/")[2]
        told = f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {error}'
        raise failure.bad_request(told) from None
    given = body.get("apiVersion") or ("" if resource.custom else resource.api_version)
    if given != resource.api_version:
        told = f"the API version in the data ({given}) does not match the expected API version "
        raise failure.bad_request(f"{told}({resource.api_version})")
    _check_kind(resource, body)
    return read.obj


def decode_options(body: Any) -> Obj:
    """The options in the body of a DELETE. Raises ApiFailure 400 for fields of other types."""
    try:
        found, _ = gotypes.read(body or {}, schemas.DELETE_OPTIONS)
    except _UNREADABLE as error:
        raise failure.bad_request(str(error)) from None
    return dict(found)


def decode_patched(
    resource: kinds.Resource, made: Obj, schema: Schema, how: options.Write, patch: bodies.Patch
) -> Obj:
    """The object that a patch made, as ``decode``. Raises ApiFailure 422."""
    if patch.strategic:
        named = isinstance(made.get("kind"), str) and isinstance(made.get("apiVersion"), str)
        made = {**made, **_head(resource)} if named else made
    try:
        if not patch.strategic:
            bodies.check_head(made, resource, _text(made))
        read = _read(resource, made, schema, patch)
        _complain(read, how)
    except _UNREADABLE as error:
        value = gowords.plain(patch.value) if patch.strategic else _text(made)
        told = str(error)
        if patch.strategic and isinstance(error, values.Mismatch):
            told = error.converted
        cause = failure.invalid_value("patch", value, told)
        details = {"causes": [dataclasses.asdict(cause)]}
        raise failure.ApiFailure(422, "Invalid", f' "" is invalid: {cause}', details) from None
    if resource.custom and made["apiVersion"] != resource.api_version:
        _refuse(resource, made, "apiVersion", resource.api_version)
    _check_kind(resource, made)
    return read.obj


def _head(resource: kinds.Resource) -> Obj:
    return {"kind": resource.kind, "apiVersion": resource.api_version}


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _check_kind(resource: kinds.Resource, obj: Obj) -> None:
    """Built-in objects of another kind were refused before."""
    if resource.custom and obj["kind"] != resource.kind:
        _refuse(resource, obj, "kind", resource.kind)


def _refuse(resource: kinds.Resource, obj: Obj, field: str, wanted: str) -> None:
    name = (obj.get("metadata") or {}).get("name", "")
    cause = failure.invalid_value(field, obj[field], f"must be {wanted}")
    raise failure.invalid(dataclasses.replace(resource, kind=obj["kind"]), name, [cause])


def _complain(read: _Read, how: options.Write) -> None:
    """Raise ValueError in strict mode, else note warnings unless they are to be ignored."""
    if how.validation == "Ignore" or not (read.complaints or read.lines):
        return
    if how.validation == "Warn":
        how.warnings.extend((*read.lines, *read.complaints))
        return
    lines = [yamltext.errors(read.lines)] if read.lines else []
    raise ValueError(f"strict decoding error: {', '.join((*lines, *read.complaints))}")


def _read(
    resource: kinds.Resource, body: Obj, schema: Schema, patch: bodies.Patch | None = None
) -> _Read:
    """The object of a body, or of what a patch made, and all that is told of its text."""
    told = list(patch.complaints) if patch else []
    lines = body.complaints if isinstance(body, values.Repeated) else ()
    if not resource.custom:
        obj, problems = _builtin(resource, body, schema)
        # What a patch made is a map to the server, and its maps are sorted.
        problems = sorted(problems, key=lambda problem: problem[1]) if patch else problems
        more = [bodies.complaint(*problem) for problem in problems]
    else:
        if patch or isinstance(body, values.Repeated):
            told += bodies.duplicates(body) if not lines and (told or not patch) else []
            body = values.plain(body)
        obj, more = _custom(body, schema)
    return _Read(obj, list(dict.fromkeys(told + more)), lines)


def _builtin(resource: kinds.Resource, body: Obj, schema: Schema) -> tuple[Obj, gotypes.Problems]:
    version = body.get("apiVersion") or resource.api_version
    kind = body.get("kind") or resource.kind
    named = isinstance(version, str) and isinstance(kind, str)
    if named and (version, kind) != (resource.api_version, resource.kind):
        schema = _other(resource, version, kind)
    return gotypes.read(body, schema)


def _other(resource: kinds.Resource, version: str, kind: str) -> Schema:
    """The schema of the same kind in another version. Raises ValueError if it is another kind."""
    group, _, name = version.rpartition("/")
    try:
        found = schemas.builtin(group, name, kind)
    except KeyError:
        raise ValueError(
            f'no kind "{kind}" is registered for version "{version}" {_SCHEME}'
        ) from None
    if (group, kind) != (resource.group, resource.kind):
        ours = resource.group.partition(".")[0] or "core"
        told = f"converting ({name}.{kind}) to ({ours}.{resource.kind}): unknown conversion"
        raise ValueError(told)
    return found


def _custom(body: Obj, schema: Schema) -> tuple[Obj, list[str]]:
    meta, unknown = _meta(body.get("metadata"))
    obj, pruned = pruning.prune(body, schema)
    obj.pop("metadata", None)
    if meta:
        obj["metadata"] = meta
    inner: list[str] = []
    if schemas.has_embedded(schema):
        _coerce(obj, schema, "", inner)
    paths = [*(f"metadata.{path}" for path in unknown), *pruned, *sorted(inner)]
    return obj, [bodies.complaint("unknown", path) for path in paths]


def _meta(given: Any) -> tuple[Obj, list[str]]:
    """Metadata and their unknown fields."""
    if given is None:
        return {}, []
    found, problems = gotypes.read(given, schemas.META)
    return found, sorted(path for what, path in problems if what == "unknown")


def _coerce(value: Any, schema: Schema, path: str, unknown: list[str]) -> None:
    """Read the metadata of embedded objects, in place. Raises ValueError."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            _coerce(item, schemas.of_items(schema), f"{path}[{index}]", unknown)
    if not isinstance(value, dict):
        return
    whole = bool(path) and schemas.embedded(schema)
    for key, item in value.items():
        here = f"{path}.{key}" if path else key
        if whole and key == "metadata":
            value[key] = _embedded_meta(item, here, unknown)
        elif whole and key in ("apiVersion", "kind") and not isinstance(item, str):
            raise ValueError(str(failure.invalid_value(here, item, "must be a string")))
        elif key != "metadata" and (sub := schemas.of_field(schema, key)) is not None:
            _coerce(item, sub, here, unknown)


def _embedded_meta(given: Any, path: str, unknown: list[str]) -> Obj:
    try:
        found, problems = _meta(given)
    except _UNREADABLE as error:
        shown = dict(sorted(given.items())) if isinstance(given, dict) else given
        raise ValueError(str(failure.invalid_value(path, shown, str(error)))) from None
    unknown += [f"{path}.{field}" for field in problems]
    return found
