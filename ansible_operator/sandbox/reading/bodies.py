"""The bodies of requests: from bytes to values, with the server's words for what cannot be read.

A JSON object in which keys stand more than once becomes a values.Repeated, and so does the
outermost one around it, so that only those bodies are searched that have any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ansible_operator.sandbox import failure, kinds
from ansible_operator.sandbox.reading import limits, protobuf, syntax, values, yamltext

Obj = dict[str, Any]
JSON, YAML = "application/json", "application/yaml"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_HEAD = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
_HEAD += 'Kind string "json:\\"kind,omitempty\\"" }'
_MAP = "map[string]interface {}"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_BAD_BYTES = {
    "invalid start byte": "invalid leading UTF-8 octet",
    "invalid continuation byte": "invalid trailing UTF-8 octet",
    "unexpected end of data": "incomplete UTF-8 octet sequence",
}
_GROUP_VERSION = re.compile(r"[^/]*(/[^/]*)?")


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch: its media type, its value, and what a strict reader says of its text."""

    media_type: str
    value: Any
    complaints: tuple[str, ...] = ()

    @property
    def strategic(self) -> bool:
        """Whether it is a strategic merge patch."""
        return self.media_type == STRATEGIC_PATCH


def read(raw: bytes, media_type: str, resource: kinds.Resource) -> Obj:
    """The object in a body. Raises ApiFailure 400 for what is none."""
    try:
        if media_type == protobuf.MEDIA_TYPE:
            return protobuf.read(raw, resource.api_version, resource.kind)
        value = _yaml(raw) if media_type == YAML else parse_json(raw, resource.custom)
        check_head(value, resource, raw.decode("utf-8", "replace"))
    except limits.Huge as huge:
        told = f'{resource.kind} in version "{resource.version}" cannot be handled as a '
        raise failure.bad_request(f"{told}{resource.kind}: {huge}") from None
    except ValueError as error:
        told = f"the object provided is unrecognized (must be of type {resource.kind}): "
        raise failure.bad_request(f"{told}{error} ({_summary(raw)})") from None
    return value or {}


def read_patch(raw: bytes, media_type: str) -> Patch:
    """A JSON, merge or strategic merge patch, of whatever type. Raises ApiFailure 400."""
    try:
        value = parse_json(raw)
    except limits.Huge as huge:
        raise failure.bad_request(_huge_in_patch(huge, media_type)) from None
    except ValueError:
        raise failure.bad_request("invalid JSON patch") from None
    if media_type == JSON_PATCH:
        return Patch(media_type, value, tuple(_operation_complaints(value)))
    told = duplicates(value) if isinstance(value, values.Repeated) else ()
    return Patch(media_type, value, tuple(told))


def _huge_in_patch(huge: limits.Huge, media_type: str) -> str:
    if media_type == STRATEGIC_PATCH:
        return str(huge)
    where = "struct field jsonPatchOp.value of" if media_type == JSON_PATCH else "value of"
    return f"error decoding patch: {str(huge).replace('value of', where)}"


def read_apply(raw: bytes, resource: kinds.Resource, mode: str) -> tuple[Obj, list[str]]:
    """The object of a server-side apply and the warnings if it succeeds. Raises ApiFailure 400.

    Keys that stand there again are an error if ``mode`` is Strict, and a warning if it is Warn.
    """
    try:
        value, repeated = _yaml_or_json(raw)
    except yamltext.Unreadable as error:
        told = "error decoding patch: error converting YAML to JSON: "
        told = told if raw.startswith(b"{") else "error encoding patch: "
        raise failure.bad_request(f"{told}{error}") from None
    if repeated and mode == "Strict":
        told = "error strict decoding patch: error converting YAML to JSON: "
        raise failure.bad_request(told + yamltext.errors(repeated))
    if not isinstance(value, dict | None):
        told = "error decoding patch: error unmarshaling JSON: while decoding JSON: "
        raise failure.bad_request(f"{told}{values.Mismatch(values.word(value), _MAP)}")
    found: Obj = value or {}
    version, kind = (str(found.get(key) or "") for key in ("apiVersion", "kind"))
    if (version, kind) != (resource.api_version, resource.kind):
        shown = version if "/" in version else f"/{version}"
        raise failure.bad_request(f"invalid object type: {shown}, Kind={kind}")
    return found, repeated if mode == "Warn" else []


def read_options(raw: bytes, media_type: str) -> Any:
    """The options in the body of a DELETE. Raises ApiFailure 400 for what is no object."""
    try:
        if media_type == protobuf.MEDIA_TYPE:
            return protobuf.read(raw)
        value = _yaml(raw) if media_type == YAML else parse_json(raw)
        _check_identity(value)
    except ValueError as error:
        raise failure.bad_request(str(error)) from None
    return value


def parse_json(raw: bytes, whole: bool = False) -> Any:
    """The JSON value, numbers such as 1.0 as whole ones if that is asked for.

    Raises ValueError with the message of Go's decoder, limits.Huge for numbers that are too large.
    """
    text = raw.decode("utf-8", "replace")
    told = "couldn't get version/kind; json parse error: "
    if bracket := limits.too_deep(text):
        raise ValueError(f"{told}invalid character '{bracket}' exceeded max depth")
    try:
        value, repeated = _DECODERS[whole].decode(text)
    except limits.Huge:
        raise
    except ValueError as error:
        raise ValueError(told + syntax.error(text, error)) from None
    if _SURROGATE.search(text):
        value = _without_surrogates(value)
    if repeated and isinstance(value, dict) and not isinstance(value, values.Repeated):
        return values.Repeated(value, pairs=list(value.items()))
    return value


class _Decoder:
    """Python's decoder, made once, and whether it came across keys that stand again."""

    def __init__(self, whole: bool) -> None:
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._made,
            parse_constant=_no_constant,
            parse_float=_whole if whole else limits.number,
            parse_int=_short if whole else limits.integer,
        ).decode
        self._repeated = False

    def decode(self, text: str) -> tuple[Any, bool]:
        """The value, and whether there is any values.Repeated in it."""
        self._repeated = False
        return self._decode(text), self._repeated

    def _made(self, pairs: list[tuple[str, Any]]) -> Obj:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        self._repeated = True
        return values.Repeated(found, pairs=pairs)


def _without_surrogates(value: Any) -> Any:
    """Halves of characters, which Python keeps, are replaced as Go does."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        keys = map(_without_surrogates, value)
        return dict(zip(keys, map(_without_surrogates, value.values()), strict=True))
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _whole(text: str) -> float:
    return values.number(limits.number(text))


def _short(text: str) -> float:
    """Without a schema, what does not fit into Go's integers is a number of the other sort."""
    value = limits.integer(text)
    return value if -(1 << 63) <= value < 1 << 63 else float(value)


_DECODERS = {whole: _Decoder(whole) for whole in (False, True)}


def _yaml(raw: bytes) -> Any:
    value, repeated = _yaml_or_json(raw)
    if repeated and isinstance(value, dict):
        return values.Repeated(value, pairs=list(value.items()), complaints=tuple(repeated))
    return value


def _yaml_or_json(raw: bytes) -> tuple[Any, list[str]]:
    """YAML; most of it is JSON, which is read much faster."""
    text = _text(raw)
    if text.startswith("{") and not _SURROGATE.search(text):
        try:
            value = parse_json(raw)
        except ValueError:
            pass
        else:
            if not isinstance(value, values.Repeated):
                return value, []
    return yamltext.read(text)


def _text(raw: bytes) -> str:
    """The text of YAML. Raises yamltext.Unreadable in the words of its parser."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise yamltext.Unreadable(f"yaml: {_BAD_BYTES[error.reason]}") from None


def check_head(value: Any, resource: kinds.Resource, text: str) -> None:
    """Raise ValueError where version and kind of an object, of that text, cannot be found."""
    _check_identity(value)
    if resource.custom and not (value and value.get("kind")):
        raise ValueError(f"Object 'Kind' is missing in '{text}'")


def _check_identity(value: Any) -> None:
    """Raise ValueError for what is no object, or one whose version and kind are no texts."""
    told = "couldn't get version/kind; json parse error: "
    if not isinstance(value, dict | None):
        raise ValueError(f"{told}{values.Mismatch(values.word(value), _HEAD)}")
    for key in ("apiVersion", "kind"):
        given = value.get(key) if value else None
        if not isinstance(given, str | None):
            wrong = values.word(given)
            raise ValueError(
                f"{told}json: cannot unmarshal {wrong} into Go struct field .{key} of type string"
            )
    version = value.get("apiVersion") if value else None
    if version and not _GROUP_VERSION.fullmatch(version):
        raise ValueError(f"unexpected GroupVersion string: {version}")


def _summary(raw: bytes) -> str:
    """How an error shows a body: its beginning, in hexadecimal unless it looks like JSON."""
    if not raw:
        return "<empty>"
    if raw.startswith(b"{"):
        return raw[:30].decode("utf-8", "replace") + (" ..." if len(raw) > 30 else "")
    return raw[:30].hex() + (" ..." if len(raw) > 30 else "")


def duplicates(value: Any) -> list[str]:
    """``duplicate field "spec.a"`` for every key that stands again."""
    found = (complaint("duplicate", path) for path in _repeated(value, ""))
    return list(dict.fromkeys(found))


def complaint(what: str, path: str) -> str:
    """``unknown field "spec.a"``: how a strict reader says what is wrong with a field."""
    return f"{what} field {json.dumps(path, ensure_ascii=False)}"


def _repeated(value: Any, path: str) -> Sequence[str]:
    found: list[str] = []
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += _repeated(item, f"{path}[{index}]")
    if isinstance(value, dict):
        seen: set[str] = set()
        pairs = value.pairs if isinstance(value, values.Repeated) else value.items()
        for key, item in pairs:
            here = f"{path}.{key}" if path else key
            found += [here] if key in seen else []
            seen.add(key)
            found += _repeated(item, here)
    return found


def _operation_complaints(value: Any) -> list[str]:
    """What a strict reader says of the operations of a JSON patch."""
    found: list[str] = []
    for index, operation in enumerate(value if isinstance(value, list) else ()):
        paths = [("duplicate", path) for path in _repeated(operation, "")]
        if isinstance(operation, dict):
            unknown = [key for key in operation if key not in ("op", "path", "from", "value")]
            paths += [("unknown", key) for key in unknown]
        found += ["json patch " + complaint(what, f"[{index}].{path}") for what, path in paths]
    return list(dict.fromkeys(found))
