"""The words of builtin.yaml that are about services."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.builtins import names
from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins.fields import Field

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_TRAFFIC = ("Cluster", "Local")
_BALANCED = "may only be used when `type` is 'LoadBalancer'"


def service(field: Field) -> None:
    """A service."""
    kind = field.get("type")
    _addresses_fit(field, kind)
    _ports(field, kind)
    words.labels(field.at("selector"))
    field.at("sessionAffinity").one_of("ClientIP", "None")
    _affinity(field)
    if kind not in _TYPES:
        field.at("type").unsupported(_TYPES)
    _cluster_ips(field, kind)
    _external_ips(field)
    if kind == "ExternalName":
        name = (field.get("externalName") or "").removesuffix(".")
        if name:
            field.at("externalName").obeys(names.subdomain, name)
        else:
            field.at("externalName").required()
    _traffic(field, kind)
    _balancer(field, kind)


def _addresses_fit(field: Field, kind: str) -> None:
    if kind == "NodePort" and field.get("clusterIP") == "None":
        told = "may not be set to 'None' for NodePort services"
        field.at("clusterIPs").entry(0).invalid(told)


def _ports(field: Field, kind: str) -> None:
    ports = list(field.at("ports").entries())
    if not ports and kind != "ExternalName" and field.get("clusterIP") != "None":
        field.at("ports").required()
    seen: set[str] = set()
    used: set[tuple[Any, Any]] = set()
    for one in ports:
        _port(one, kind, len(ports) > 1, seen)
        place = (one.get("protocol"), one.get("port"))
        if place in used:
            one.duplicate(_key_of_port(place))
        used.add(place)


def _key_of_port(place: tuple[Any, Any]) -> dict[str, Any]:
    protocol, number = place
    empty = {"Name": "", "Protocol": protocol, "AppProtocol": None}
    return {**empty, "Port": number, "TargetPort": 0, "NodePort": 0}


def _port(field: Field, kind: str, named: bool, seen: set[str]) -> None:
    name = field.at("name")
    if name.value:
        name.obeys(names.label)
        if name.value in seen:
            name.duplicate()
        seen.add(name.value)
    elif named:
        name.required()
    if not 1 <= (field.get("port") or 0) <= 65535:
        field.at("port").invalid(words.PORT, field.get("port") or 0)
    field.at("protocol").one_of(*_PROTOCOLS)
    words.port(field.at("targetPort"))
    if field.get("appProtocol"):
        field.at("appProtocol").obeys(names.qualified)
    if field.get("nodePort") and kind not in ("NodePort", "LoadBalancer"):
        field.at("nodePort").forbidden(f"may not be used when `type` is '{kind}'")


def _affinity(field: Field) -> None:
    seconds = field.at("sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if field.get("sessionAffinity") == "ClientIP" and not 0 < (seconds.value or 0) <= 86400:
        seconds.invalid("must be greater than 0 and less than 86400")


def _cluster_ips(field: Field, kind: str) -> None:
    addresses = field.at("clusterIPs")
    if kind == "ExternalName":
        if addresses.value:
            addresses.forbidden("may not be set for ExternalName services")
        return
    first, given = field.get("clusterIP") or "", addresses.value or []
    if given and not first:
        addresses.invalid("must be empty when `clusterIP` is not specified")
    elif given and first != given[0]:
        addresses.invalid("first value must match `clusterIP`")
    for one in addresses.entries():
        if one.value != "None":
            words.address(one)
    _families(field, given)


def _families(field: Field, given: list[str]) -> None:
    families, policy = field.at("ipFamilies"), field.at("ipFamilyPolicy")
    headless = given[:1] == ["None"]
    for family in families.entries():
        if family.value not in ("IPv4", "IPv6"):
            family.unsupported(("IPv4", "IPv6"))
        elif family.value == "IPv6" and not (headless and not field.get("selector")):
            family.invalid("not configured on this cluster")
    if policy.value not in (None, "PreferDualStack", "RequireDualStack", "SingleStack"):
        policy.unsupported(("PreferDualStack", "RequireDualStack", "SingleStack"))
    elif policy.value == "RequireDualStack" and not (headless and not field.get("selector")):
        policy.invalid("this cluster is not configured for dual-stack services")


def _external_ips(field: Field) -> None:
    for one in field.at("externalIPs").entries():
        words.address(one)
        if not names.address(one.value):
            words.reachable(one)


def _traffic(field: Field, kind: str) -> None:
    outer, inner = field.at("externalTrafficPolicy"), field.at("internalTrafficPolicy")
    exposed = kind in ("NodePort", "LoadBalancer") or field.get("externalIPs")
    if outer.value and not exposed:
        outer.invalid("may only be set for externally-accessible services")
    elif outer.value:
        outer.one_of(*_TRAFFIC)
    if inner.value is not None:
        inner.one_of(*_TRAFFIC)
    check = field.at("healthCheckNodePort")
    if check.value and not (kind == "LoadBalancer" and outer.value == "Local"):
        told = "`type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        check.invalid(f"may only be set when {told}")


def _balancer(field: Field, kind: str) -> None:
    # Of these the server writes the name of its own type.
    given = field.get("loadBalancerSourceRanges")
    ranges = Field(given, None, field, "LoadBalancerSourceRanges", field.causes)
    if kind != "LoadBalancer":
        if ranges.value:
            ranges.forbidden(_BALANCED)
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if field.get(name) is not None:
                field.at(name).forbidden(_BALANCED)
    for one in ranges.entries():
        one.obeys(names.network, one.value.strip())


def fixed_addresses(field: Field) -> None:
    """The address of a service stays, as long as it has one."""
    if "ExternalName" in (field.get("type"), field.old.get("type")):
        return
    old, new = field.old.get("clusterIPs"), field.get("clusterIPs")
    if old and new and old[0] != new[0]:
        field.at("clusterIPs").entry(0).invalid("may not change once set", new)
