"""What is wrong with a CustomResourceDefinition, in the words of the API server.

The server looks at CRDs in a form in which what all versions share (schema, subresources, columns,
selectable fields) stands in the spec itself; the paths of fields in messages are of that form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.customs import version_rules

Obj = dict[str, Any]
Cause = failure.Cause
Causes = list[failure.Cause]

_IS_LABEL = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_APPROVED = "api-approved.kubernetes.io"
_SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_DNS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def validate(crd: Obj, old: Obj | None) -> Causes:
    """The causes for which a CRD is refused; ``old`` is what it replaces."""
    spec = crd.get("spec") or {}
    return [
        *_name(crd, spec),
        *_group(spec),
        *_scope(spec),
        *_versions(spec),
        *_names(spec.get("names") or {}),
        *_common(spec),
        *_conversion(spec),
        *_stored(crd, spec),
        *_unchanged(spec, old),
        *_protected(crd, spec),
        *_preserving(spec),
    ]


def _name(crd: Obj, spec: Obj) -> Iterator[Cause]:
    name = (crd.get("metadata") or {}).get("name", "")
    wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
    if name and name != wanted:  # that there is none is told anyway
        told = 'must be spec.names.plural+"."+spec.group'
        yield failure.invalid_value("metadata.name", name, told)


def _group(spec: Obj) -> Iterator[Cause]:
    group = spec.get("group") or ""
    wrong = names.subdomain(group)
    if not group:
        yield failure.required("spec.group")
    elif wrong:
        yield from (failure.invalid_value("spec.group", group, told) for told in wrong)
    elif "." not in group:
        yield failure.invalid_value("spec.group", group, "should be a domain with at least one dot")


def _scope(spec: Obj) -> Iterator[Cause]:
    scope = spec.get("scope") or ""
    if not scope:
        yield failure.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield failure.not_supported("spec.scope", scope, ("Cluster", "Namespaced"))


def _versions(spec: Obj) -> Iterator[Cause]:
    versions, shared = spec.get("versions") or [], _shared(spec)
    for index, version in enumerate(versions):
        if version_rules.schema(version) is None:
            yield failure.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    for index, version in enumerate(versions):
        at = f"spec.versions[{index}]"
        yield from _label(f"{at}.name", version.get("name") or "")
        yield from version_rules.deprecation(version, at)
        own = {field: value for field, value in version.items() if field not in shared}
        yield from version_rules.validate(own, at, f"{at}.schema")
    shown = "null" if spec.get("versions") is None else _internal(versions, shared)
    named = [version.get("name") for version in versions]
    if len(set(named)) != len(named):
        yield _versions_wrong(shown, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield _versions_wrong(shown, "must have exactly one version marked as storage version")
    if versions and versions[0].get("name"):
        yield from _label("spec.version", versions[0]["name"])


def _versions_wrong(shown: str, told: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {told}", "spec.versions")


def _common(spec: Obj) -> Iterator[Cause]:
    """What is wrong with that which all versions share."""
    if versions := spec.get("versions"):
        common = {field: versions[0].get(field) for field in _shared(spec)}
        yield from version_rules.validate(common, "spec", "spec.validation")


def _shared(spec: Obj) -> frozenset[str]:
    """The fields that are the same in all versions."""
    versions = spec.get("versions") or [{}]
    return frozenset(
        field
        for field in _SHARED
        if all((v.get(field) or None) == (versions[0].get(field) or None) for v in versions)
    )


def _internal(versions: list[Obj], shared: frozenset[str]) -> str:
    """Versions as messages show them."""
    return failure.shown(
        [
            {
                "Name": version.get("name", ""),
                "Served": version.get("served", False),
                "Storage": version.get("storage", False),
                "Deprecated": version.get("deprecated", False),
                "DeprecationWarning": version.get("deprecationWarning"),
                **{f[0].upper() + f[1:]: None if f in shared else version.get(f) for f in _SHARED},
            }
            for version in versions
        ]
    )


def _names(given: Obj) -> Iterator[Cause]:
    kind, list_kind = given.get("kind") or "", given.get("listKind") or ""
    for field in ("plural", "singular", "kind", "listKind"):
        at, name = f"spec.names.{field}", given.get(field) or ""
        if not name:
            yield failure.required(at)
        elif field in ("plural", "singular"):
            yield from _label(at, name)
        elif not _IS_LABEL.fullmatch(name.lower()):
            told = f"may have mixed case, but should otherwise match: {_DNS}"
            yield failure.invalid_value(at, name, told)
    yield from _labels("spec.names.shortNames", given.get("shortNames"))
    if kind and kind == list_kind:
        told = "kind and listKind may not be the same"
        yield failure.invalid_value("spec.names.listKind", list_kind, told)
    yield from _labels("spec.names.categories", given.get("categories"))


def _labels(at: str, listed: list[str] | None) -> Iterator[Cause]:
    for index, name in enumerate(listed or ()):
        yield from _label(f"{at}[{index}]", name)


def _label(at: str, name: str) -> Iterator[Cause]:
    if len(name) > 63:
        yield failure.invalid_value(at, name, "must be no more than 63 characters")
    if not _IS_LABEL.fullmatch(name):
        yield failure.invalid_value(at, name, _DNS)


def _conversion(spec: Obj) -> Iterator[Cause]:
    given: Obj = spec.get("conversion") or {}
    strategy, webhook = given.get("strategy") or "", given.get("webhook") or {}
    at = "spec.conversion"
    parts = {
        "webhookClientConfig": webhook.get("clientConfig"),
        "conversionReviewVersions": webhook.get("conversionReviewVersions"),
    }
    if not strategy:
        yield failure.required(f"{at}.strategy")
    elif strategy not in ("None", "Webhook"):
        yield failure.not_supported(f"{at}.strategy", strategy, ("None", "Webhook"))
    elif strategy == "None":
        told = "should not be set when strategy is not set to Webhook"
        for field in (name for name, value in parts.items() if value):
            yield failure.forbidden_field(f"{at}.{field}", told)
    else:
        if not parts["webhookClientConfig"]:
            told = "required when strategy is set to Webhook"
            yield failure.required(f"{at}.webhookClientConfig", told)
        if not parts["conversionReviewVersions"]:
            yield failure.required(f"{at}.conversionReviewVersions")


def _stored(crd: Obj, spec: Obj) -> Iterator[Cause]:
    at = "status.storedVersions"
    listed = (crd.get("status") or {}).get("storedVersions")
    named = [version.get("name") for version in spec.get("versions") or ()]
    if not listed:
        yield failure.invalid_value(at, listed, "must have at least one stored version")
        return
    for index, name in enumerate(listed):
        if name not in named:
            told = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            yield failure.invalid_value(f"{at}[{index}]", name, told)
    storage = [v.get("name") for v in spec.get("versions") or () if v.get("storage")]
    if storage and storage[-1] not in listed:
        yield failure.invalid_value(at, listed, f"must have the storage version {storage[-1]}")


def _unchanged(spec: Obj, old: Obj | None) -> Iterator[Cause]:
    """What never changes, and what does not change once the names are served."""
    if old is None:
        return
    was = old["spec"]
    fields = [("spec.group", was["group"], spec.get("group"))]
    listed = (old.get("status") or {}).get("conditions") or ()
    if any(c["type"] == "Established" and c["status"] == "True" for c in listed):
        given, had = spec.get("names") or {}, was["names"]
        fields += [
            ("spec.scope", was["scope"], spec.get("scope")),
            ("spec.names.kind", had["kind"], given.get("kind")),
        ]
    fields.append(
        ("spec.names.plural", was["names"]["plural"], (spec.get("names") or {}).get("plural"))
    )
    for at, before, after in fields:
        if before != after:
            yield failure.invalid_value(at, after, "field is immutable")


def _protected(crd: Obj, spec: Obj) -> Iterator[Cause]:
    group = spec.get("group") or ""
    guarded = group.endswith((".k8s.io", ".kubernetes.io")) or group in ("k8s.io", "kubernetes.io")
    if guarded and not ((crd.get("metadata") or {}).get("annotations") or {}).get(_APPROVED):
        told = (
            f'protected groups must have approval annotation "{_APPROVED}", see '
            "https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield failure.required(f"metadata.annotations[{_APPROVED}]", told)


def _preserving(spec: Obj) -> Iterator[Cause]:
    if spec.get("preserveUnknownFields"):
        told = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield failure.invalid_value("spec.preserveUnknownFields", True, told)
