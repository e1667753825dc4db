"""What admission adds to new objects: accounts, priorities, tolerations, storage classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_operator.sandbox import failure, kinds, storage

Obj = dict[str, Any]
_ACCOUNTS = ("", "serviceaccounts")
_PRIORITIES = ("scheduling.k8s.io", "priorityclasses")
_RUNTIMES = ("node.k8s.io", "runtimeclasses")
_STORAGE = ("storage.k8s.io", "storageclasses")
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"
_COMPUTED = "priority admission controller computed {} from the given PriorityClass name"


def admit(resource: kinds.Resource, obj: Obj, store: storage.Storage) -> None:
    """Complete a new object by what the cluster has. Raises ApiFailure 403."""
    if resource.kind == "Pod":
        _pod(resource, obj, store)
    elif resource.kind == "PersistentVolumeClaim" and "storageClassName" not in obj["spec"]:
        _storage_class(obj["spec"], store)


def _pod(resource: kinds.Resource, obj: Obj, store: storage.Storage) -> None:
    meta, spec = obj["metadata"], obj["spec"]
    name = meta.get("generateName") or meta.get("name", "")
    _priority(resource, name, spec, store)
    runtime = spec.get("runtimeClassName")
    if runtime and store.get(_RUNTIMES, "", runtime) is None:
        told = f'pod rejected: RuntimeClass "{runtime}" not found'
        raise failure.forbidden(resource, name, told)
    _service_account(resource, name, obj, store)
    tolerate(spec)


def _priority(resource: kinds.Resource, name: str, spec: Obj, store: storage.Storage) -> None:
    wanted = spec.get("priorityClassName")
    found = _priority_class(resource, name, wanted, store)
    value, policy = found.get("value", 0), found.get("preemptionPolicy", "PreemptLowerPriority")
    given = spec.get("priority")
    if given is not None and given != value:
        told = f"the integer value of priority ({given}) must not be provided in pod spec; "
        raise failure.forbidden(resource, name, told + _COMPUTED.format(value))
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        told = f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; "
        raise failure.forbidden(resource, name, told + _COMPUTED.format(policy))
    spec["priority"], spec["preemptionPolicy"] = value, policy
    if found and not wanted:
        spec["priorityClassName"] = found["metadata"]["name"]


def _priority_class(
    resource: kinds.Resource, name: str, wanted: str | None, store: storage.Storage
) -> Obj:
    if not wanted:
        usual = (one for one in store.list(_PRIORITIES) if one.get("globalDefault"))
        return min(usual, key=lambda one: int(one.get("value", 0)), default={})
    found = store.get(_PRIORITIES, "", wanted)
    if found is None:
        told = f"no PriorityClass with name {wanted} was found"
        raise failure.forbidden(resource, name, told)
    return found


def _service_account(resource: kinds.Resource, name: str, obj: Obj, store: storage.Storage) -> None:
    spec, namespace = obj["spec"], obj["metadata"].get("namespace", "")
    wanted = spec.get("serviceAccountName") or "default"
    account = store.get(_ACCOUNTS, namespace, wanted)
    if account is None:
        told = f"error looking up service account {namespace}/{wanted}: "
        raise failure.forbidden(resource, name, f'{told}serviceaccount "{wanted}" not found')
    spec["serviceAccountName"] = spec["serviceAccount"] = wanted
    if account.get("imagePullSecrets") and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(one) for one in account["imagePullSecrets"]]
    mounts = spec.get("automountServiceAccountToken")
    if mounts is None:
        mounts = account.get("automountServiceAccountToken")
    if mounts is not False:
        _mount_token(spec, obj["metadata"]["uid"])


def _mount_token(spec: Obj, uid: str) -> None:
    """Give each container that has nothing there a token, the authority and the namespace."""
    volume = f"kube-api-access-{uid[-5:]}"
    mount = {"name": volume, "readOnly": True, "mountPath": _TOKENS}
    missing = [one for one in _containers(spec) if not _has_mount(one)]
    for one in missing:
        one["volumeMounts"] = [*(one.get("volumeMounts") or ()), dict(mount)]
    if missing:
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": volume, "projected": _token()}]


def _containers(spec: Obj) -> Iterator[Obj]:
    for kind in ("initContainers", "containers"):
        yield from spec.get(kind) or ()


def _has_mount(container: Obj) -> bool:
    return any(one.get("mountPath") == _TOKENS for one in container.get("volumeMounts") or ())


def _token() -> Obj:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    certificate = {"key": "ca.crt", "path": "ca.crt"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [certificate]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
        "defaultMode": 420,
    }


def tolerate(spec: Obj) -> None:
    """A pod bears five minutes of a node that is not there, unless it says otherwise."""
    given = spec.get("tolerations") or []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if any(_bears(one, key) for one in given):
            continue
        seconds = {"effect": "NoExecute", "tolerationSeconds": 300}
        given = [*given, {"key": key, "operator": "Exists", **seconds}]
    spec["tolerations"] = given


def _bears(toleration: Obj, key: str) -> bool:
    effect = toleration.get("effect", "NoExecute")
    return bool(toleration.get("key", key) == key and effect == "NoExecute")


def _storage_class(spec: Obj, store: storage.Storage) -> None:
    usual = [
        one
        for one in store.list(_STORAGE)
        if (one["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    ]
    if usual:
        newest = max(usual, key=lambda one: str(one["metadata"].get("creationTimestamp", "")))
        spec["storageClassName"] = newest["metadata"]["name"]
