"""The words of builtin.yaml that are about ingresses, network policies and endpoints."""

from __future__ import annotations

import ipaddress

from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field

_BACKSTEPS = ("//", "/./", "/../", "%2f", "%2F")
_LAST_STEPS = ("/..", "/.")


def subset(field: Field) -> None:
    """A subset of endpoints."""
    if not field.get("addresses") and not field.get("notReadyAddresses"):
        field.required("must specify `addresses` or `notReadyAddresses`")
    for kind in ("addresses", "notReadyAddresses"):
        for one in field.at(kind).entries():
            ip = one.at("ip")
            words.address(ip)
            if names.address(ip.value or ""):
                ip.invalid("must be a valid IP address")
            else:
                words.reachable(ip)
    ports = list(field.at("ports").entries())
    for given in ports:
        if not given.get("name") and len(ports) > 1:
            given.at("name").required()
        words.port(given.at("port"))


def address_type(field: Field) -> None:
    """What the addresses of a slice are."""
    field.one_of("FQDN", "IPv4", "IPv6")


def endpoint(field: Field) -> None:
    """One endpoint of a slice."""
    if not field.get("addresses"):
        field.at("addresses").required()
    if field.top.get("addressType") in ("IPv4", "IPv6"):
        for one in field.at("addresses").entries():
            words.address(one)


def port_label(field: Field) -> None:
    """The name of a port of a slice."""
    if field.value:
        field.obeys(names.label)


def ingress(field: Field) -> None:
    """An ingress leads somewhere."""
    if not field.get("rules") and not field.get("defaultBackend"):
        told = "either `defaultBackend` or `rules` must be specified"
        field.invalid(told, field.get("rules"))


def ingress_path(field: Field) -> None:
    """What a path is and how it is compared."""
    kind, path = field.at("pathType"), field.at("path")
    text = path.value or ""
    if kind.value is None:
        return kind.required("pathType must be specified")
    if kind.value not in ("Exact", "ImplementationSpecific", "Prefix"):
        return kind.unsupported(("Exact", "ImplementationSpecific", "Prefix"))
    if not text.startswith("/") and (text or kind.value != "ImplementationSpecific"):
        path.invalid("must be an absolute path", text)
    if text and kind.value != "ImplementationSpecific":
        for part in _BACKSTEPS:
            if part in text:
                path.invalid(f"must not contain '{part}'")
        for part in _LAST_STEPS:
            if text.endswith(part):
                path.invalid(f"cannot end with '{part}'")
    return None


def backend(field: Field) -> None:
    """Where an ingress leads: a service or something else."""
    service, other = field.at("service"), field.at("resource")
    if field.key == "backend" and field.above.get("pathType") is None:
        return None
    if service.value is not None and other.value is not None:
        return field.invalid("cannot set both resource and service backends", "")
    if service.value is None and other.value is None:
        return field.invalid("resource or service backend is required", "")
    if service.value is not None:
        _service_backend(field, service)
    return None


def _service_backend(field: Field, service: Field) -> None:
    name, number, named = (
        service.at("name"),
        service.at("port", "number"),
        service.at("port", "name"),
    )
    if name.value:
        name.obeys(names.label)
    else:
        name.required()
    if number.value and named.value:
        field.invalid("cannot set both port name & port number", "")
    elif number.value or named.value:
        words.port(number if number.value else named)
    else:
        field.required("port name or number is required")


def policy_types(field: Field) -> None:
    """Which directions a policy is about."""
    if len(field.value) > 2:
        return field.invalid("may not specify more than two policyTypes")
    for one in field.entries():
        one.one_of("Ingress", "Egress")
    return None


def peer(field: Field) -> None:
    """Whom a policy is about."""
    given = sum(field.get(kind) is not None for kind in ("podSelector", "namespaceSelector"))
    if field.get("ipBlock") is not None:
        if given:
            field.forbidden("may not specify both ipBlock and another peer")
    elif not given:
        field.required("must specify a peer")


def excepted(field: Field) -> None:
    """Networks that are taken out of one lie within it."""
    whole = field.get("cidr") or ""
    for one in field.at("except").entries():
        one.obeys(names.network)
        if names.network(whole) or names.network(one.value):
            continue
        inner, outer = ipaddress.ip_network(one.value), ipaddress.ip_network(whole)
        within = inner.version == outer.version and outer.supernet_of(inner)  # type: ignore[arg-type]
        if not within or inner == outer:
            one.invalid("must be a strict subset of `cidr`")


def end_port(field: Field) -> None:
    """The end of a range of ports."""
    first, last = field.get("port"), field.at("endPort")
    if last.value is None:
        return
    if first is None:
        last.invalid("may not be specified when `port` is not specified")
    elif isinstance(first, str):
        last.invalid("may not be specified when `port` is non-numeric")
    elif last.value < first:
        last.invalid("must be greater than or equal to `port`")
