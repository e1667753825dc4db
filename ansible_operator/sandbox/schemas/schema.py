"""Schemas: what fields objects have, of built-in kinds and of custom ones.

A schema is an OpenAPI v3 dict with the ``x-kubernetes-*`` extensions. The functions here return
*resolved* schemas (no ``$ref`` at their top) and take both. Schemas are shared: never change one.

Those of the built-in kinds come from the kubernetes-validate package, read once at first use and
tidied definition by definition, when asked for: no descriptions, ``type`` is one word, and the few
Go types that read more than one JSON type say so (``x-kubernetes-int-or-string``, the format
``quantity``, ``x-kubernetes-preserve-unknown-fields``).
"""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
"""The schema of values that nothing is known of."""
PREFIX = "#/$defs/"
_MACHINERY = "io.k8s.apimachinery.pkg."
_CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
META: Schema = {"$ref": f"{PREFIX}{_MACHINERY}apis.meta.v1.ObjectMeta"}
DELETE_OPTIONS: Schema = {"$ref": f"{PREFIX}{_MACHINERY}apis.meta.v1.DeleteOptions"}
_PROPS: Schema = {"$ref": f"{PREFIX}{_CRD}JSONSchemaProps"}
_STRING: Schema = {"type": "string"}

_SPECIAL: dict[str, Schema] = {
    f"{_MACHINERY}util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    f"{_MACHINERY}api.resource.Quantity": {"type": "string", "format": "quantity"},
    f"{_MACHINERY}apis.meta.v1.MicroTime": {"type": "string", "format": "micro-time"},
    f"{_MACHINERY}apis.meta.v1.FieldsV1": {"type": "object", **ANY},
    f"{_MACHINERY}apis.meta.v1.Patch": {"type": "object", **ANY},
    f"{_MACHINERY}runtime.RawExtension": {"type": "object", **ANY},
    f"{_CRD}JSON": ANY,
    f"{_CRD}JSONSchemaPropsOrStringArray": ANY,
    f"{_CRD}JSONSchemaPropsOrArray": {**_PROPS, "x-or": "array"},
    f"{_CRD}JSONSchemaPropsOrBool": {**_PROPS, "x-or": "boolean"},
}
"""Types that decode themselves; ``x-or`` names the other JSON type that is read as it is."""


@functools.cache
def definitions() -> dict[str, Schema]:
    """All definitions as the package has them, by name, with descriptions."""
    # Found, not imported: the package itself loads a validator that takes longer than all the rest.
    package = importlib.util.find_spec("kubernetes_validate")
    assert package is not None
    assert package.origin is not None
    file = Path(package.origin).parent / "kubernetes-json-schema/v1.37.0-local/_definitions.json"
    found: dict[str, Schema] = json.loads(file.read_bytes())["$defs"]
    return found


@functools.cache
def _names() -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, definition in definitions().items()
        for kind in definition.get("x-kubernetes-group-version-kind", ())
    }


def builtin(group: str, version: str, kind: str) -> Schema:
    """The schema of a built-in kind. Raises KeyError if there is none."""
    return definition(_names()[group, version, kind])


@functools.cache
def definition(name: str) -> Schema:
    """A definition by its name, tidied. Raises KeyError if there is none."""
    special = _SPECIAL.get(name)
    if special is None:
        return {**_tidied(definitions()[name]), "x-name": name}
    own = {key: value for key, value in special.items() if key != "$ref"}
    return {**resolve(special), **own, "x-name": name}


def _tidied(raw: Schema) -> Schema:
    """Without descriptions and null types; a ``$ref`` stands alone or is replaced by its target."""
    found = {key: value for key, value in raw.items() if key not in ("description", "enum")}
    ref = found.pop("$ref", None)
    if ref is not None:
        return {**definition(ref.removeprefix(PREFIX)), **found} if found else {"$ref": ref}
    if isinstance(found.get("type"), list):
        found["type"] = found["type"][0]
    if "properties" in found:
        found["properties"] = {name: _tidied(sub) for name, sub in found["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _tidied(found[key])
    return found


def resolve(schema: Schema) -> Schema:
    """The schema itself, or the definition that its ``$ref`` names.

    A definition has its name in ``x-name``.
    """
    ref = schema.get("$ref")
    return schema if ref is None else definition(ref.removeprefix(PREFIX))


def custom(given: Schema) -> Schema:
    """A CRD's ``openAPIV3Schema`` with what every object has, also in embedded resources.

    What must be looked for in its objects is noted: ``x-embeds``, ``x-unique`` (see below).
    """
    noted = {
        "x-embeds": _anywhere(given, embedded),
        "x-unique": _anywhere(given, lambda sub: list_type(sub) != "atomic"),
    }
    return {**_with_object_fields(_completed(given)), **noted}


def _anywhere(given: Schema, holds: Callable[[Schema], bool]) -> bool:
    inner = [*given.get("properties", {}).values()]
    inner += [given.get("items"), given.get("additionalProperties")]
    return holds(given) or any(_anywhere(sub, holds) for sub in inner if isinstance(sub, dict))


def _completed(given: Schema) -> Schema:
    found = dict(given)
    if "properties" in found:
        found["properties"] = {name: _completed(sub) for name, sub in found["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = _completed(found[key])
    return _with_object_fields(found) if embedded(found) else found


def _with_object_fields(given: Schema) -> Schema:
    fields = {"apiVersion": _STRING, "kind": _STRING, **given.get("properties", {})}
    # What a CRD asks of names is validated; of what fields there are, the reference tells.
    fields["metadata"] = {**fields.get("metadata", {}), **META}
    return {**given, "properties": fields}


def of_field(schema: Schema, name: str) -> Schema | None:
    """The schema of a field or map entry; None if it is not described (see preserves_unknown)."""
    schema = resolve(schema)
    found = schema.get("properties", {}).get(name)
    if found is None:
        found = schema.get("additionalProperties")
        if not isinstance(found, dict):
            return ANY if found else None
    return resolve(found)


def of_items(schema: Schema) -> Schema:
    """The schema of the entries of a list."""
    return resolve(resolve(schema).get("items", ANY))


def list_type(schema: Schema) -> str:
    """``atomic``, ``set`` or ``map``."""
    found: str = resolve(schema).get("x-kubernetes-list-type", "atomic")
    return found


def map_keys(schema: Schema) -> tuple[str, ...]:
    """The fields that tell the entries of a list of type ``map`` apart."""
    return tuple(resolve(schema).get("x-kubernetes-list-map-keys", ()))


def atomic_map(schema: Schema) -> bool:
    """Whether a map or struct is owned and replaced as a whole by server-side apply."""
    return resolve(schema).get("x-kubernetes-map-type") == "atomic"


def preserves_unknown(schema: Schema) -> bool:
    """Whether fields that are not described are kept."""
    return bool(resolve(schema).get("x-kubernetes-preserve-unknown-fields"))


def embedded(schema: Schema) -> bool:
    """Whether a field holds a whole object, with apiVersion, kind and metadata."""
    return bool(resolve(schema).get("x-kubernetes-embedded-resource"))


def has_embedded(schema: Schema) -> bool:
    """Whether objects of a custom schema can have whole objects in their fields."""
    return bool(schema.get("x-embeds"))


def has_unique_lists(schema: Schema) -> bool:
    """Whether objects of a custom schema can have lists of type ``set`` or ``map``."""
    return bool(schema.get("x-unique"))


def int_or_string(schema: Schema) -> bool:
    """Whether numbers and texts are both right."""
    return bool(resolve(schema).get("x-kubernetes-int-or-string"))


def merge_key(schema: Schema) -> str:
    """The field that tells list entries apart in strategic merges; empty if there is none."""
    found: str = resolve(schema).get("x-kubernetes-patch-merge-key", "")
    return found


def patch_strategy(schema: Schema) -> tuple[str, ...]:
    """``merge``, ``retainKeys``, ``replace``: what strategic merges do with a field."""
    given: str = resolve(schema).get("x-kubernetes-patch-strategy", "")
    return tuple(given.split(",")) if given else ()
