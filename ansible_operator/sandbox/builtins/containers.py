"""The words of builtin.yaml that are about containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_operator.sandbox.builtins import names, quantity
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field

_STANDARD = ("cpu", "ephemeral-storage", "memory")
_FIELD_REFS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_LABELS = ("metadata.labels", "metadata.annotations")
_FILE_REFS = (*_LABELS, "metadata.name", "metadata.namespace", "metadata.uid")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['[^']*'\]")
_RESOURCES = tuple(f"{kind}.{name}" for kind in ("limits", "requests") for name in _STANDARD)
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def handler(field: Field) -> None:
    """What a probe or a hook does: exactly one thing."""
    given = [field.at(name) for name in _HANDLERS if field.get(name) is not None]
    if not given:
        field.required("must specify a handler type")
    for more in given[1:]:
        more.forbidden("may not specify more than 1 handler type")
    for one in given[:1]:
        _HANDLER_CHECKS[one.key](one)


def _exec(field: Field) -> None:
    if not field.get("command"):
        field.at("command").required()


def _http_get(field: Field) -> None:
    words.port(field.at("port"))
    field.at("scheme").one_of("HTTP", "HTTPS")
    for header in field.get("httpHeaders") or ():
        field.at("httpHeaders").obeys(names.header, header.get("name", ""))


def _sleep(field: Field) -> None:
    spec = field
    while spec.get("containers") is None:
        spec = spec.above
    limit, seconds = spec.get("terminationGracePeriodSeconds") or 0, field.get("seconds")
    if not 0 <= seconds <= limit:
        told = f"must be non-negative and less than terminationGracePeriodSeconds ({limit})"
        field.invalid(told, seconds)


_HANDLER_CHECKS = {
    "exec": _exec,
    "httpGet": _http_get,
    "tcpSocket": lambda field: words.port(field.at("port")),
    "grpc": lambda field: words.port_number(field.at("port")),
    "sleep": _sleep,
}


def probe(field: Field) -> None:
    """What is special of the three probes."""
    kind = field.key
    grace = field.at("terminationGracePeriodSeconds")
    if kind == "readinessProbe":
        if grace.value is not None:
            grace.invalid("must not be set for readinessProbes")
        return
    if field.get("successThreshold") not in (1, None):
        field.at("successThreshold").invalid("must be 1")
    if grace.value is not None and grace.value <= 0:
        grace.invalid(words.GREATER_THAN_0)


def _one_of(field: Field, kinds: tuple[str, ...], told: str) -> bool:
    given = [kind for kind in kinds if field.get(kind) is not None]
    if not given:
        field.invalid(f"must specify one of: {told}", "")
    elif len(given) > 1:
        field.invalid("may not have more than one field specified at a time", "")
    return len(given) == 1


def env_source(field: Field) -> None:
    """The value of a variable comes from one place."""
    source = field.at("valueFrom")
    if source.value is None:
        return
    kinds = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
    told = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    if field.get("value"):
        source.invalid("may not be specified when `value` is not empty", "")
    else:
        _one_of(source, kinds, told)


def env_from(field: Field) -> None:
    """Every source of variables is one thing."""
    for entry in field.value:
        source = Field(entry, None, field.above, "envFrom", field.causes)
        _one_of(source, ("configMapRef", "secretRef"), "`configMapRef` or `secretRef`")


def env_field(field: Field) -> None:
    """A field of the pod for a variable."""
    _field_path(field, _FIELD_REFS, ("metadata.labels", "metadata.annotations"))


def field_ref(field: Field) -> None:
    """A field of the pod for a file."""
    _field_path(field, _FILE_REFS, _FIELD_REFS)


def _field_path(field: Field, allowed: tuple[str, ...], known: tuple[str, ...]) -> None:
    at = field.at("fieldPath")
    if not at.value:
        at.required()
    elif field.get("apiVersion") not in (None, "v1"):
        told = f"unsupported pod version: {field.get('apiVersion')}"
        at.invalid(f"error converting fieldPath: {told}")
    elif not _KEYED.fullmatch(at.value) and at.value not in allowed:
        if at.value in known:
            at.unsupported(sorted(allowed))
        else:
            at.invalid(f"error converting fieldPath: field label not supported: {at.value}")


def resource(field: Field) -> None:
    """A resource of the container for a variable or a file."""
    if not re.fullmatch(r"(limits|requests)\.hugepages-.+", field.value):
        field.one_of(*_RESOURCES)


def mounts(field: Field) -> None:
    """The volumes of a container are there, each at its own place."""
    known = set(_volume_names(field))
    places: set[str] = set()
    for mount in field.entries():
        name, path = mount.at("name"), mount.at("mountPath")
        if not name.value:
            name.required()
        if (name.value or "") not in known:
            Field(name.value or "", None, mount, "name", field.causes).not_found()
        if not path.value:
            path.required()
        elif path.value in places:
            path.invalid("must be unique")
        places.add(path.value)
        _mount(mount, field)


def _mount(mount: Field, mounts: Field) -> None:
    privileged = mounts.above.at("securityContext").get("privileged")
    # The server names what is in a mount without the number of the mount.
    unnumbered = Field(mount.value, None, mounts.above, "volumeMounts", mounts.causes)
    if mount.get("subPath"):
        words.relative(unnumbered.at("subPath"))
        if mount.get("subPathExpr"):
            told = "subPathExpr and subPath are mutually exclusive"
            mount.at("subPathExpr").invalid(told)
    propagation = unnumbered.at("mountPropagation")
    if propagation.value is not None:
        propagation.one_of("Bidirectional", "HostToContainer", "None")
        if propagation.value == "Bidirectional" and not privileged:
            told = "Bidirectional mount propagation is available only to privileged containers"
            propagation.forbidden(told)


def _volume_names(field: Field) -> Iterator[str]:
    spec = field
    while spec.get("containers") is None:
        spec = spec.above
    yield from (volume.get("name", "") for volume in spec.get("volumes") or ())
    # A stateful set brings a volume for each of its claims.
    for claim in field.top.at("spec").get("volumeClaimTemplates") or ():
        yield (claim.get("metadata") or {}).get("name", "")


def resources(field: Field) -> None:
    """What a container asks for and what it may have."""
    limits, requests = field.at("limits"), field.at("requests")
    for side in (limits, requests):
        for amount in side.entries():
            _amount(amount)
    given = limits.value or {}
    for name, wanted in sorted((requests.value or {}).items()):
        if name in given and quantity.number(wanted) > quantity.number(given[name]):
            told = f"must be less than or equal to {name} limit of {given[name]}"
            requests.invalid(told, wanted)
        elif name not in given and ("/" in name or name.startswith("hugepages-")):
            limits.required("Limit must be set for non overcommitable resources")


def _amount(field: Field) -> None:
    name, value = field.key, quantity.number(field.value)
    field.obeys(names.qualified, name)
    if "/" not in name and not (name in _STANDARD or name.startswith("hugepages-")):
        if name != "storage":
            field.invalid("must be a standard resource type or fully qualified", name)
        field.invalid("must be a standard resource for containers", name)
    elif value < 0:
        field.invalid(words.AT_LEAST_0)
    elif "/" in name and value.denominator != 1:
        field.invalid("must be an integer")


def escalation(field: Field) -> None:
    """A privileged container can always get more privileges."""
    if field.get("privileged") and field.get("allowPrivilegeEscalation") is False:
        told = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        field.invalid(told)
