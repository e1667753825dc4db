"""How an answer is written: JSON or YAML, whole objects, their metadata only, or a Table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ansible_operator.sandbox import failure

Obj = dict[str, Any]
JSON, YAML = "application/json", "application/yaml"
OFFERED = f"{JSON}, {YAML}"
_ANY = ("*/*", "application/*")


@dataclass(frozen=True, slots=True)
class Form:
    """What the client accepts. ``shape`` is empty, Table, PartialObjectMetadata or its list."""

    media_type: str = JSON
    shape: str = ""
    version: str = ""
    group: str = ""

    @property
    def table(self) -> bool:
        """Whether a Table is wanted."""
        return self.shape == "Table"

    @property
    def metadata_only(self) -> bool:
        """Whether only metadata are wanted."""
        return self.shape.startswith("PartialObjectMetadata")


def negotiate(accept: str, *, builtin: bool = False) -> Form:
    """The first form in the Accept header that is served here. Raises ApiFailure 406.

    ``builtin``: of a built-in kind, where ``application/*`` means nothing.
    """
    if not accept.strip():
        return Form()
    known = False
    for clause in accept.split(","):
        media_type, *given = (part.strip() for part in clause.split(";"))
        facts = dict(part.split("=", 1) for part in given if "=" in part)
        form = Form(
            YAML if media_type == YAML else JSON,
            facts.get("as", ""),
            facts.get("v", ""),
            facts.get("g", ""),
        )
        if media_type in (JSON, YAML, *(_ANY[:1] if builtin else _ANY)):
            known = True
            if _served(form):
                return form
    if known:
        raise failure.not_acceptable([JSON, YAML])
    raise failure.ApiFailure(
        406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {OFFERED}", {}
    )


def check_list(form: Form, group: str, kind: str, custom: bool) -> None:
    """Raise ApiFailure 406 where the metadata of one object are asked for, and not those of a list.

    ``kind`` is that of the list.
    """
    if form.shape == "PartialObjectMetadata":
        package = group.partition(".")[0] or "core"
        go_type = "unstructured.UnstructuredList" if custom else f"{package}.{kind}"
        told = f"you requested {form.shape}, but the requested object is a list (*{go_type})"
        raise failure.ApiFailure(406, "NotAcceptable", told)


def _served(form: Form) -> bool:
    if not form.shape:
        return True
    if form.group == "apidiscovery.k8s.io":
        return form.version == "v2"
    return form.version in ("v1", "v1beta1") and (form.table or form.metadata_only)


def write(found: Any, form: Form) -> bytes:
    """The bytes of an answer."""
    if form.media_type == YAML:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        return yaml.dump(found, Dumper=dumper, default_flow_style=False).encode(errors="replace")
    return _dump(found) + b"\n"


def event(kind: str, obj: Mapping[str, Any]) -> bytes:
    """One line of a watch."""
    return b'{"type":"' + kind.encode() + b'","object":' + _dump(obj) + b"}\n"


def _dump(found: Any) -> bytes:
    """JSON; bytes of a header that were no text, in which Python reads them, are replaced."""
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="replace")


def partial(obj: Obj, version: str = "v1") -> Obj:
    """The metadata of an object, as a PartialObjectMetadata."""
    head = {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}"}
    return head | {"metadata": obj["metadata"]}


def partial_list(items: Iterable[Obj], meta: Obj) -> Obj:
    """The metadata of objects, as a PartialObjectMetadataList; a real server says null for none."""
    head: Obj = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
    kept = {key: value for key, value in meta.items() if value != ""}
    return head | {"metadata": kept, "items": [partial(obj) for obj in items] or None}
