"""Services get addresses and ports from the cluster, and keep them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from ansible_operator.sandbox import failure, kinds, storage
from ansible_operator.sandbox.builtins import names

Obj = dict[str, Any]
ADDRESSES = ipaddress.ip_network("10.96.0.0/16")
"""What services get their addresses from."""
PORTS = range(30000, 32768)
"""What services get the ports of nodes from."""
_KEY = ("", "services")
_FIRST = 256  # the lowest addresses are left to those who ask for them
_EXPOSED = ("NodePort", "LoadBalancer")
_BALANCER_ONLY = ("allocateLoadBalancerNodePorts", "loadBalancerClass")
_ADDRESSED_ONLY = (
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "ipFamilyPolicy",
    "internalTrafficPolicy",
)
_TAKEN = "already allocated"


def create(resource: kinds.Resource, obj: Obj, store: storage.Storage) -> None:
    """Complete a new service, in place. Raises ApiFailure 422 where something is taken."""
    spec = obj["spec"]
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    _allocate(resource, obj, store)


def update(resource: kinds.Resource, new: Obj, old: Obj, store: storage.Storage) -> None:
    """Let a service keep what it has, in place. Raises ApiFailure 422 where something is taken."""
    spec, before = new["spec"], old["spec"]
    _same_address(spec, before)
    _drop(spec, before)
    _keep(spec, before)
    _allocate(resource, new, store)


def _same_address(spec: Obj, before: Obj) -> None:
    """Of the two fields for addresses, the one that was changed wins."""
    unchanged = spec.get("clusterIPs") == before.get("clusterIPs")
    if spec.get("clusterIP") and (not spec.get("clusterIPs") or unchanged):
        spec["clusterIPs"] = [spec["clusterIP"], *(spec.get("clusterIPs") or ())[1:]]
    elif not spec.get("clusterIP") and unchanged:
        spec.pop("clusterIPs", None)


def _drop(spec: Obj, before: Obj) -> None:
    """Take out what a service of another type had and nobody changed."""
    kind = spec["type"]
    gone: list[str] = []
    if kind == "ExternalName":
        gone += _ADDRESSED_ONLY
    if kind not in _EXPOSED and not spec.get("externalIPs"):
        gone += ["externalTrafficPolicy"]
    if kind != "LoadBalancer":
        gone += [*_BALANCER_ONLY, "healthCheckNodePort"]
    for name in gone:
        if name in spec and spec[name] == before.get(name):
            del spec[name]
    if kind not in _EXPOSED:
        had = {port.get("nodePort") for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            if port.get("nodePort") in had:
                port.pop("nodePort", None)


def _keep(spec: Obj, before: Obj) -> None:
    """Fill in the addresses and ports that a service has already."""
    if "ExternalName" not in (spec["type"], before["type"]) and not spec.get("clusterIP"):
        for name in ("clusterIP", "clusterIPs"):
            if name in before:
                spec[name] = before[name]
    if spec["type"] != "ExternalName":
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if name in before:
                spec.setdefault(name, before[name])
    if spec["type"] in _EXPOSED and before["type"] in _EXPOSED:
        _keep_ports(spec, before)


def _keep_ports(spec: Obj, before: Obj) -> None:
    had = {port.get("name"): port.get("nodePort") for port in before.get("ports") or ()}
    used = {port.get("nodePort") for port in spec.get("ports") or ()}
    for port in spec.get("ports") or ():
        number = had.get(port.get("name"))
        if not port.get("nodePort") and number and number not in used:
            port["nodePort"] = number
    if _checked(spec) and before.get("healthCheckNodePort"):
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _allocate(resource: kinds.Resource, obj: Obj, store: storage.Storage) -> None:
    spec, kind = obj["spec"], obj["spec"]["type"]
    others = [one for one in store.list(_KEY) if not _same(one, obj)]
    if kind in ("ClusterIP", *_EXPOSED):
        _families(spec)
        _address(resource, obj, {one["spec"].get("clusterIP") for one in others})
    if kind in _EXPOSED:
        _node_ports(resource, obj, {number for one in others for number in _ports_of(one)})


def _same(one: Obj, obj: Obj) -> bool:
    return all(one["metadata"].get(k) == obj["metadata"].get(k) for k in ("namespace", "name"))


def _ports_of(obj: Obj) -> Iterator[int]:
    spec = obj["spec"]
    yield from (port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


def _families(spec: Obj) -> None:
    """The cluster speaks IPv4; only headless services without pods are for whoever answers."""
    anyone = spec.get("clusterIP") == "None" and not spec.get("selector")
    policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack" if anyone else "SingleStack")
    both = anyone and policy != "SingleStack"
    given = spec.setdefault("ipFamilies", ["IPv4"])
    if both and len(given) == 1:
        spec["ipFamilies"] = [*given, "IPv6" if given == ["IPv4"] else "IPv4"]


def _address(resource: kinds.Resource, obj: Obj, taken: set[str | None]) -> None:
    spec = obj["spec"]
    given = spec.get("clusterIP")
    # What is wrong with these is found when the service is validated.
    if (
        given == "None"
        or (given and names.address(given))
        or (not given and spec.get("clusterIPs"))
    ):
        return
    if not given:
        free = (str(one) for one in _free_addresses() if str(one) not in taken)
        spec["clusterIP"] = next(free)
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif wrong := _wrong_address(given, taken):
        told = f"failed to allocate IP {given}: {wrong}"
        cause = failure.invalid_value("spec.clusterIPs", spec["clusterIPs"], told)
        raise failure.invalid(resource, obj["metadata"].get("name", ""), [cause])


def _free_addresses() -> Iterator[Any]:
    return (ADDRESSES[number] for number in range(_FIRST, ADDRESSES.num_addresses - 1))


def _wrong_address(given: str, taken: set[str | None]) -> str:
    found = ipaddress.ip_address(given)
    edges = (ADDRESSES.network_address, ADDRESSES.broadcast_address)
    if found not in ADDRESSES or found in edges:
        return "the provided network does not match the current range"
    return f"provided IP is {_TAKEN}" if given in taken else ""


def _node_ports(resource: kinds.Resource, obj: Obj, taken: set[int]) -> None:
    spec = obj["spec"]
    mine: dict[int, set[str]] = {}
    ports = spec.get("ports") or ()
    for index, port in enumerate(ports):
        number = port.get("nodePort")
        if number and (wrong := _wrong_port(number, port["protocol"], taken, mine)):
            cause = failure.invalid_value(f"spec.ports[{index}].nodePort", number, wrong)
            raise failure.invalid(resource, obj["metadata"].get("name", ""), [cause])
    wanted = spec.get("allocateLoadBalancerNodePorts", True) or spec["type"] == "NodePort"
    free = (number for number in PORTS if number not in taken and number not in mine)
    for port in ports:
        if wanted and not port.get("nodePort"):
            port["nodePort"] = next(free)
    if _checked(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = next(free)


def _wrong_port(number: int, protocol: str, taken: set[int], mine: dict[int, set[str]]) -> str:
    if number not in PORTS:
        valid = f"{PORTS[0]}-{PORTS[-1]}"
        return f"provided port is not in the valid range. The range of valid ports is {valid}"
    used = mine.setdefault(number, set())
    # One service can have the same port for two protocols.
    if number in taken or protocol in used:
        return f"provided port is {_TAKEN}"
    used.add(protocol)
    return ""


def _checked(spec: Obj) -> bool:
    return spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
