"""StatefulSets: numbered pods with claims of their own, made and replaced in order."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox import failure
from ansible_operator.sandbox.standins import (
    cluster,
    labels,
    podstate,
    revisions,
)

Obj = dict[str, Any]
Pods = list[Obj]
COMPONENT = "statefulset-controller"
HASH = "controller.kubernetes.io/hash"
POD_REVISION = "controller-revision-hash"
BATCH = 10
"""How many pods are created before others get their turn."""


def sync(seen: cluster.Cluster, found: Obj) -> float | None:
    """Do the next step and write the status; the answer is when to look again."""
    known = revisions.history(seen, found)
    update = revisions.latest(seen, found, known, HASH)
    if update is None:
        return None
    named = {one["metadata"]["name"]: one for one in [*known, update]}
    current = named.get(found.get("status", {}).get("currentRevision", ""), update)
    step = _Step(seen, found, current, update)
    problem = None
    if "deletionTimestamp" not in found["metadata"]:
        problem = step.act()
        live = {current["metadata"]["name"], update["metadata"]["name"]}
        revisions.truncate(seen, found, known, live)
    seen.set_status("statefulsets.apps", found, step.status())
    minimum = found["spec"].get("minReadySeconds", 0)
    return problem or podstate.next_available(seen, step.pods(), minimum)


class _Step:
    def __init__(self, seen: cluster.Cluster, found: Obj, current: Obj, update: Obj) -> None:
        self._seen = seen
        self._set = found
        self._current = current
        self._update = update
        spec = found["spec"]
        self._replicas: int = spec.get("replicas", 1)
        self._first: int = (spec.get("ordinals") or {}).get("start", 0)
        self._in_order = spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        self._minimum: int = spec.get("minReadySeconds", 0)
        self._room = 0
        strategy = spec.get("updateStrategy") or {}
        self._rolling = strategy.get("type", "RollingUpdate") == "RollingUpdate"
        self._partition: int = (strategy.get("rollingUpdate") or {}).get("partition", 0)

    def pods(self) -> Pods:
        """The pods of the set, by their ordinals."""
        found = self._seen.claim(
            self._set, ("", "pods"), labels.selector(self._set["spec"]["selector"])
        )
        return sorted((pod for pod in found if _ordinal(pod) >= 0), key=_ordinal)

    def act(self) -> float | None:
        """Make what is missing, delete what is too much, replace what is outdated."""
        there = {_ordinal(pod): pod for pod in self.pods()}
        wanted = range(self._first, self._first + self._replicas)
        self._room = BATCH
        try:
            done = all(self._settle(ordinal, there.get(ordinal)) for ordinal in wanted)
        except failure.ApiFailure as refused:
            told = f"create Pod in StatefulSet {self._name} failed error: {refused.message}"
            self._seen.warn(self._set, "FailedCreate", told, COMPONENT)
            return 1.0
        beyond = sorted((ordinal for ordinal in there if ordinal not in wanted), reverse=True)
        condemned = {ordinal: there[ordinal] for ordinal in beyond}
        if done and all(self._condemn(pod) for pod in condemned.values()) and self._rolling:
            kept = sorted(there.keys() - condemned.keys(), reverse=True)
            self._replace_outdated([there[ordinal] for ordinal in kept])
        return None

    def _settle(self, ordinal: int, pod: Obj | None) -> bool:
        """Make a pod if it is missing; whether the next one's turn has come."""
        if pod is not None and podstate.is_finished(pod) and podstate.is_active(pod):
            self._delete(pod)
            return not self._in_order
        if pod is None:
            self._create(ordinal)
            self._room -= 1
            return not self._in_order and self._room > 0
        healthy = "deletionTimestamp" not in pod["metadata"] and self._is_available(pod)
        return healthy or not self._in_order

    def _condemn(self, pod: Obj) -> bool:
        if "deletionTimestamp" not in pod["metadata"]:
            self._own_claims(pod)
            self._delete(pod)
        return not self._in_order

    def _replace_outdated(self, pods: Pods) -> None:
        """Delete the last pod of another revision, unless one is still coming or going."""
        for pod in pods:
            if _ordinal(pod) < self._partition:
                return
            if "deletionTimestamp" in pod["metadata"]:
                return
            if _revision(pod) != self._update["metadata"]["name"]:
                self._delete(pod)
                return
            if not self._is_available(pod):
                return

    def _is_available(self, pod: Obj) -> bool:
        return podstate.is_available(self._seen, pod, self._minimum)

    # -- pods and claims ------------------------------------------------------------------------

    def _create(self, ordinal: int) -> None:
        revision = self._update if ordinal >= self._partition else self._current
        name = f"{self._name}-{ordinal}"
        template = revisions.template(revision)
        pod = podstate.from_template(
            self._set,
            template,
            name=name,
            generateName=f"{self._name}-",
            labels={
                "apps.kubernetes.io/pod-index": str(ordinal),
                POD_REVISION: revision["metadata"]["name"],
                "statefulset.kubernetes.io/pod-name": name,
            },
        )
        service = self._set["spec"].get("serviceName")
        pod["spec"] |= {"hostname": name} | ({"subdomain": service} if service else {})
        self._add_claims(pod)
        self._seen.local.create("pods", pod)
        told = f"Create Pod {name} in StatefulSet {self._name} successful"
        self._seen.normal(self._set, "SuccessfulCreate", told, COMPONENT)

    def _add_claims(self, pod: Obj) -> None:
        """Make the claims that are missing, and the volumes that use them."""
        name, volumes = pod["metadata"]["name"], []
        for wanted in self._set["spec"].get("volumeClaimTemplates") or ():
            claim = f"{wanted['metadata']['name']}-{name}"
            used = {"persistentVolumeClaim": {"claimName": claim}}
            volumes.append({"name": wanted["metadata"]["name"], **used})
            namespace = self._set["metadata"]["namespace"]
            if self._seen.local.get("persistentvolumeclaims", namespace, claim) is None:
                self._seen.local.create("persistentvolumeclaims", self._claim(wanted, claim))
                told = f"Create Claim {claim} Pod {name} in StatefulSet {self._name} success"
                self._seen.normal(self._set, "SuccessfulCreate", told, COMPONENT)
        mine = {volume["name"] for volume in volumes}
        others = [v for v in pod["spec"].get("volumes") or () if v["name"] not in mine]
        if volumes:
            pod["spec"]["volumes"] = volumes + others

    def _claim(self, wanted: Obj, name: str) -> Obj:
        carried = self._set["spec"]["selector"].get("matchLabels") or {}
        meta = wanted["metadata"]
        metadata = {
            "name": name,
            "namespace": self._set["metadata"]["namespace"],
            "labels": {**(meta.get("labels") or {}), **carried},
            "annotations": meta.get("annotations") or {},
        }
        if self._retention("whenDeleted") == "Delete":
            metadata["ownerReferences"] = [cluster.reference_to(self._set)]
        head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        return {**head, "metadata": metadata, "spec": wanted["spec"]}

    def _own_claims(self, pod: Obj) -> None:
        """Let the claims of a pod go with it, if that is what is wanted of scaling down."""
        if self._retention("whenScaled") != "Delete":
            return
        for wanted in self._set["spec"].get("volumeClaimTemplates") or ():
            name = f"{wanted['metadata']['name']}-{pod['metadata']['name']}"
            where = (self._set["metadata"]["namespace"], name)
            if claim := self._seen.local.get("persistentvolumeclaims", *where):
                owner = [cluster.reference_to(pod)]
                self._seen.set_meta("persistentvolumeclaims", claim, ownerReferences=owner)

    def _retention(self, when: str) -> str:
        policy = self._set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        return str(policy.get(when, "Retain"))

    def _delete(self, pod: Obj) -> None:
        meta = pod["metadata"]
        self._seen.local.delete("pods", meta["namespace"], meta["name"], uid=meta["uid"])
        told = f"Delete Pod {meta['name']} in StatefulSet {self._name} successful"
        self._seen.normal(self._set, "SuccessfulDelete", told, COMPONENT)

    @property
    def _name(self) -> str:
        return str(self._set["metadata"]["name"])

    # -- the status -----------------------------------------------------------------------------

    def status(self) -> Obj:
        """The status; when all pods are of the update revision that becomes the current one."""
        pods = self.pods()
        here = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        current, update = self._current["metadata"]["name"], self._update["metadata"]["name"]
        ready = sum(podstate.is_ready(pod) for pod in pods)
        updated = sum(_revision(pod) == update for pod in here)
        if self._rolling and updated == ready == len(pods) == self._replicas:
            current = update
        counts = {
            "observedGeneration": self._set["metadata"].get("generation", 0),
            "readyReplicas": ready,
            "currentReplicas": sum(_revision(pod) == current for pod in here),
            "updatedReplicas": updated,
            "currentRevision": current,
            "updateRevision": update,
            "conditions": self._set.get("status", {}).get("conditions"),
        }
        always = {
            "replicas": len(pods),
            "availableReplicas": sum(self._is_available(pod) for pod in pods),
            "collisionCount": self._set.get("status", {}).get("collisionCount", 0),
        }
        return {**cluster.without_zeros(counts), **always}


def _ordinal(pod: Obj) -> int:
    text = pod["metadata"]["name"].rpartition("-")[2]
    return int(text) if text.isdigit() else -1


def _revision(pod: Obj) -> str:
    return str((pod["metadata"].get("labels") or {}).get(POD_REVISION, ""))
