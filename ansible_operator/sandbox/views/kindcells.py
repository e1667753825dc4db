"""What stands in the columns of tables: functions for one kind each.

A function gets the whole object or one of its fields, as columns.yaml says, and the time.
"""

from __future__ import annotations

from datetime import datetime

from ansible_operator.sandbox.builtins import autoscaling
from ansible_operator.sandbox.views import ages, cells


def data_count(obj: cells.Obj, _: datetime) -> int:
    """How many entries a config map or secret has."""
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def endpoints(obj: cells.Obj, _: datetime) -> str:
    """Addresses with ports, three of them."""
    found: list[str] = []
    for subset in obj.get("subsets") or []:
        ips = [address["ip"] for address in subset.get("addresses") or []]
        ports = subset.get("ports")
        found += [f"{ip}:{port['port']}" for port in ports for ip in ips] if ports else ips
    return cells.first(found, 3, cells.NONE)


def slice_ports(ports: cells.Items, _: datetime) -> str:
    """Numbers, three of them."""
    return cells.first([str(port.get("port", "*")) for port in ports or ()], 3, cells.UNSET)


def slice_addresses(items: cells.Items, _: datetime) -> str:
    """Addresses, three of them."""
    return cells.first(
        [ip for item in items or () for ip in item.get("addresses") or ()], 3, cells.UNSET
    )


def first_seen(obj: cells.Obj, now: datetime) -> str:
    """How long ago the first of an event's times is."""
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp")
    return ages.since(first or obj.get("eventTime"), now)


def last_seen(obj: cells.Obj, now: datetime) -> str:
    """How long ago the last of an event's times is."""
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    last = cells.at(obj, "series.lastObservedTime") or last
    return ages.since(last, now) if last else first_seen(obj, now)


def event_count(obj: cells.Obj, _: datetime) -> int:
    """How often it happened."""
    seen = cells.at(obj, "series.count") or obj.get("count") or obj.get("deprecatedCount")
    return int(seen or 1)


def _regarding(obj: cells.Obj) -> cells.Obj:
    return obj.get("involvedObject") or obj.get("regarding") or {}


def event_object(obj: cells.Obj, _: datetime) -> str:
    """What an event is about: ``pod/name``."""
    about = _regarding(obj)
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def event_field(obj: cells.Obj, _: datetime) -> str:
    """The part of the object that an event is about."""
    return str(_regarding(obj).get("fieldPath", ""))


def event_source(obj: cells.Obj, _: datetime) -> str:
    """Who tells: component and host."""
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    component = obj.get("reportingComponent") or obj.get("reportingController")
    parts = (
        source.get("component") or component,
        source.get("host") or obj.get("reportingInstance"),
    )
    return ", ".join(part for part in parts if part)


def event_message(obj: cells.Obj, _: datetime) -> str:
    """The message without space around it."""
    return str(obj.get("message") or obj.get("note") or "").strip()


def node_status(obj: cells.Obj, _: datetime) -> str:
    """Ready or not, and whether pods may come."""
    ready = {"": "Unknown", "True": "Ready"}.get(cells.condition(obj, "Ready"), "NotReady")
    return ready + (",SchedulingDisabled" if cells.at(obj, "spec.unschedulable") else "")


def node_roles(obj: cells.Obj, _: datetime) -> str:
    """The roles that labels name."""
    prefix, given = "node-role.kubernetes.io/", cells.at(obj, "metadata.labels") or {}
    found = {key.removeprefix(prefix) for key in given if key.startswith(prefix)}
    return ",".join(sorted((found | {given.get("kubernetes.io/role", "")}) - {""})) or cells.NONE


def internal_ip(addresses: cells.Items, _: datetime) -> str:
    """A node's address inside."""
    return next((a["address"] for a in addresses or () if a["type"] == "InternalIP"), cells.NONE)


def external_ip(addresses: cells.Items, _: datetime) -> str:
    """A node's address outside."""
    return next((a["address"] for a in addresses or () if a["type"] == "ExternalIP"), cells.NONE)


def kernel(info: cells.Obj | None, _: datetime) -> str:
    """The version of a node's kernel, and the architecture."""
    version, architecture = (
        cells.at(info, "kernelVersion") or cells.UNKNOWN,
        cells.at(info, "architecture"),
    )
    return f"{version} ({architecture})" if architecture else version


def claim_capacity(obj: cells.Obj, _: datetime) -> str:
    """What a bound claim got."""
    return (cells.at(obj, "spec.volumeName") and cells.at(obj, "status.capacity.storage")) or ""


def claim_modes(obj: cells.Obj, now: datetime) -> str:
    """How a bound claim may be used."""
    return cells.modes(
        cells.at(obj, "spec.volumeName") and cells.at(obj, "status.accessModes"), now
    )


def volume_claim(claim: cells.Obj | None, _: datetime) -> str:
    """Whose volume it is."""
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def quota_requests(status: cells.Obj | None, _: datetime) -> str:
    """Used of allowed, of everything but limits."""
    return _quota(status, limits=False)


def quota_limits(status: cells.Obj | None, _: datetime) -> str:
    """Used of allowed, of limits."""
    return _quota(status, limits=True)


def _quota(status: cells.Obj | None, *, limits: bool) -> str:
    hard, used = cells.at(status, "hard") or {}, cells.at(status, "used") or {}
    mine = sorted(name for name in hard if name.startswith("limits.") == limits)
    return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in mine)


def external_ips(obj: cells.Obj, now: datetime) -> str:
    """Where a service can be reached from outside."""
    given, kind = cells.at(obj, "spec.externalIPs") or [], cells.at(obj, "spec.type")
    if kind == "ExternalName":
        return str(cells.at(obj, "spec.externalName"))
    if kind == "LoadBalancer":
        found = balancers(cells.at(obj, "status.loadBalancer.ingress"), now)
        return ",".join([*([found] if found else []), *given]) or "<pending>"
    return ",".join(given) or cells.NONE


def balancers(items: cells.Items, _: datetime) -> str:
    """The addresses of load balancers."""
    return ",".join(sorted({item.get("ip") or item.get("hostname") or "" for item in items or ()}))


def service_ports(ports: cells.Items, _: datetime) -> str:
    """Ports with those of the nodes."""
    found = (
        f"{port['port']}{':' if port.get('nodePort') else ''}{port.get('nodePort') or ''}"
        f"/{port.get('protocol', 'TCP')}"
        for port in ports or ()
    )
    return ",".join(found) or cells.NONE


def controller(obj: cells.Obj, _: datetime) -> str:
    """Whose revision it is: ``daemonset.apps/name``."""
    owners = (item for item in obj["metadata"].get("ownerReferences", ()) if item.get("controller"))
    owner = next(owners, None)
    if owner is None:
        return cells.NONE
    group, _slash, _version = owner["apiVersion"].rpartition("/")
    return f"{owner['kind'].lower()}{'.' if group else ''}{group}/{owner['name']}"


def ready_of_desired(obj: cells.Obj, _: datetime) -> str:
    """How many replicas are ready, of how many."""
    return f"{cells.at(obj, 'status.readyReplicas') or 0}/{cells.at(obj, 'spec.replicas') or 0}"


def metric_targets(obj: cells.Obj, _: datetime) -> str:
    """Current and wanted values of an autoscaler's metrics, two of them."""
    obj = autoscaling.to_new(obj)
    specs, seen = cells.at(obj, "spec.metrics") or [], cells.at(obj, "status.currentMetrics") or []
    found = [_metric(spec, seen[i] if i < len(seen) else {}) for i, spec in enumerate(specs)]
    return cells.first(found, 2, cells.NONE, ", ")


def _metric(spec: cells.Obj, status: cells.Obj) -> str:
    source = spec["type"][0].lower() + spec["type"][1:]
    target = cells.at(spec, f"{source}.target") or {}
    current = cells.at(status, f"{source}.current") or {}
    resource = source in ("resource", "containerResource")
    prefix = f"{spec[source]['name']}: " if resource else ""
    if resource and (wanted := target.get("averageUtilization")) is not None:
        used = current.get("averageUtilization")
        return f"{prefix}{cells.UNKNOWN if used is None else f'{used}%'}/{wanted}%"
    field = "averageValue" if target.get("averageValue") is not None else "value"
    suffix = " (avg)" if field == "averageValue" and source in ("object", "external") else ""
    return f"{prefix}{current.get(field, cells.UNKNOWN)}/{target.get(field, '<auto>')}{suffix}"


def job_status(obj: cells.Obj, _: datetime) -> str:
    """What a job is at."""
    told = ["Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"]
    holds = [kind for kind in told if cells.condition(obj, kind) == "True"]
    if cells.at(obj, "metadata.deletionTimestamp") and not {"Complete", "Failed"} & set(holds):
        return "Terminating"
    return holds[0] if holds else "Running"


def completions(obj: cells.Obj, _: datetime) -> str:
    """How many pods of a job succeeded, of how many."""
    done, wanted = cells.at(obj, "status.succeeded") or 0, cells.at(obj, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = cells.at(obj, "spec.parallelism") or 0
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def job_duration(obj: cells.Obj, now: datetime) -> str:
    """How long a job took, or takes by now."""
    start = ages.parsed(cells.at(obj, "status.startTime"))
    end = ages.parsed(cells.at(obj, "status.completionTime"))
    return "" if start is None else ages.human((end or now) - start)


def ingress_parameters(given: cells.Obj, _: datetime) -> str:
    """Where the parameters of an ingress class are."""
    group = f".{given['apiGroup']}" if given.get("apiGroup") else ""
    return f"{given['kind']}{group}/{given['name']}"


def ingress_hosts(rules: cells.Items, _: datetime) -> str:
    """The hosts of an ingress, three of them."""
    return cells.first([rule["host"] for rule in rules or () if rule.get("host")], 3, "*")


def ingress_ports(tls: cells.Items, _: datetime) -> str:
    """The ports that an ingress opens."""
    return "80, 443" if tls else "80"


def users(subjects: cells.Items, _: datetime) -> str:
    """The users that a role is bound to."""
    return ", ".join(item["name"] for item in subjects or () if item["kind"] == "User")


def groups(subjects: cells.Items, _: datetime) -> str:
    """The groups that a role is bound to."""
    return ", ".join(item["name"] for item in subjects or () if item["kind"] == "Group")


def accounts(subjects: cells.Items, _: datetime) -> str:
    """The service accounts that a role is bound to."""
    found = (item for item in subjects or () if item["kind"] == "ServiceAccount")
    return ", ".join(f"{item.get('namespace', '')}/{item['name']}" for item in found)


def storage_class(obj: cells.Obj, _: datetime) -> str:
    """The name, and whether it is the default."""
    given = cells.at(obj, "metadata.annotations") or {}
    default = given.get("storageclass.kubernetes.io/is-default-class") == "true"
    return str(obj["metadata"]["name"]) + (" (default)" if default else "")


def param_kind(kind: cells.Obj | None, _: datetime) -> str:
    """The kind of a policy's parameters: ``v1/ConfigMap``."""
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else cells.UNSET


def param_ref(ref: cells.Obj | None, _: datetime) -> str:
    """The parameters of a policy: ``namespace/name``."""
    if not ref:
        return cells.UNSET
    name = ref.get("name") or "*"
    return f"{ref['namespace']}/{name}" if ref.get("namespace") else name


def definition_versions(versions: cells.Items, _: datetime) -> str:
    """The versions, and which is stored."""
    return ",".join(v["name"] + ("(storage)" if v.get("storage") else "") for v in versions or ())


def established(obj: cells.Obj, _: datetime) -> bool:
    """Whether a custom resource is served."""
    return cells.condition(obj, "Established") == "True"
