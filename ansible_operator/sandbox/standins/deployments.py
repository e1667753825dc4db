"""Deployments: roll templates out through ReplicaSets, step by step."""

from __future__ import annotations

from typing import Any

from ansible_operator.sandbox.standins import cluster, labels, progress, rollouts

Obj = dict[str, Any]
Sets = list[Obj]
COMPONENT = "deployment-controller"
SETS = "replicasets.apps"


def sync(seen: cluster.Cluster, found: Obj) -> float | None:
    """Do the next step of a rollout and write the status; the answer is when to look again."""
    step = _Step(seen, found)
    if "deletionTimestamp" in found["metadata"]:
        step.write()
        return None
    step.note_pause()
    if found["spec"].get("paused") or step.is_scaled():
        step.keep_new()
        step.scale()
        step.write()
        return None
    return step.recreate() if step.recreates else step.roll()


class _Step:
    """A deployment with its replica sets; ``new`` is the one of its template."""

    def __init__(self, seen: cluster.Cluster, found: Obj) -> None:
        self._seen = seen
        self._deployment = found
        self._replicas: int = found["spec"]["replicas"]
        selects = labels.selector(found["spec"]["selector"])
        sets = seen.claim(found, ("apps", "replicasets"), selects)
        self._new, self._old = rollouts.split(found, sets)
        self._surge, self._unavailable = rollouts.slack(found)
        self.recreates = found["spec"].get("strategy", {}).get("type") == "Recreate"

    @property
    def _sets(self) -> Sets:
        return [*self._old, *([self._new] if self._new else [])]

    def note_pause(self) -> None:
        """Note that the rollout is paused or resumed."""
        listed = progress.pause(self._deployment, self._seen.stamp())
        if listed is not None:
            self._store({**self._deployment.get("status", {}), "conditions": listed})

    def is_scaled(self) -> bool:
        """Whether an active replica set was made for another number of replicas."""
        active = (rollouts.notes(one) for one in self._sets if one["spec"]["replicas"])
        size = (None, str(self._replicas))
        return any(notes.get(rollouts.DESIRED) not in size for notes in active)

    def scale(self) -> None:
        """Give the replicas to the replica set at work; of several the newest takes the rest."""
        active = [one for one in self._sets if one["spec"]["replicas"]]
        if not active:
            active = self._sets[-1:]
        for one in active[:-1]:
            self._resize(one, one["spec"]["replicas"])
        if active:
            self._resize(active[-1], max(self._replicas - rollouts.wanted(active[:-1]), 0))

    def recreate(self) -> float | None:
        """All old pods go before the first new one comes."""
        emptied = [self._resize(one, 0) for one in self._old]
        if any(emptied):
            self.keep_new()
            return self._write_progress()
        if not any(self._has_pods(one) for one in self._old):
            self._need_new()
        return self._settle()

    def roll(self) -> float | None:
        """New pods come as old ones go, within the limits of the strategy."""
        new = self._need_new()
        if not self._resize(new, self._new_size()):
            self._shrink_old()
        return self._settle()

    def keep_new(self) -> None:
        """Bring the annotations of the new replica set up to date, if there is one."""
        if self._new is None:
            return
        number = str(max((rollouts.revision(one) for one in self._old), default=0) + 1)
        notes = rollouts.handed_down(self._deployment, rollouts.notes(self._new), number)
        minimum = self._deployment["spec"].get("minReadySeconds", 0)
        if notes != rollouts.notes(self._new) or minimum != self._new["spec"].get(_MINIMUM, 0):
            meta = {**self._new["metadata"], "annotations": notes}
            spec = {**self._new["spec"], _MINIMUM: minimum}
            changed = {**self._new, "metadata": meta, "spec": spec}
            self._new = self._seen.local.update(SETS, changed)
        self._number(notes[rollouts.REVISION])

    def _need_new(self) -> Obj:
        """The new replica set, which is made if it is not there."""
        if self._new is not None:
            self.keep_new()
            if self.recreates:
                self._resize(self._new, self._replicas)
            return self._new
        number = str(max((rollouts.revision(one) for one in self._old), default=0) + 1)
        size = self._new_size()
        self._new = self._seen.local.create(SETS, rollouts.make(self._deployment, number, size))
        name = self._new["metadata"]["name"]
        if size:
            self._tell_scaled(name, 0, size)
        status = dict(self._deployment.get("status", {}))
        if progress.has_deadline(self._deployment):
            told = ("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
            listed = progress.listed_in(self._deployment)
            now = self._seen.stamp()
            status["conditions"] = progress.noted(listed, now, "Progressing", *told)
        self._number(number, status)
        return self._new

    def _new_size(self) -> int:
        """How large the new replica set may be now."""
        size: int = self._new["spec"]["replicas"] if self._new else 0
        if self.recreates or size > self._replicas:
            return self._replicas
        room = self._replicas + self._surge - rollouts.wanted(self._sets)
        return size + max(min(room, self._replicas - size), 0)

    def _shrink_old(self) -> None:
        """Take replicas from the old sets: first what never worked, then what can be spared."""
        assert self._new is not None
        least = self._replicas - self._unavailable
        missing = self._new["spec"]["replicas"] - rollouts.count(self._new, "availableReplicas")
        spare = rollouts.wanted(self._sets) - least - missing
        if spare <= 0:
            return
        for one in self._old:
            broken = one["spec"]["replicas"] - rollouts.count(one, "availableReplicas")
            spare -= self._cut(one, min(spare, broken))
        spare = rollouts.total(self._sets, "availableReplicas") - least
        for one in self._old:
            spare -= self._cut(one, min(spare, one["spec"]["replicas"]))

    def _cut(self, one: Obj, number: int) -> int:
        if number <= 0:
            return 0
        self._resize(one, one["spec"]["replicas"] - number)
        return number

    def _settle(self) -> float | None:
        if progress.is_complete(self._deployment, self._deployment.get("status", {})):
            self._forget_old()
        return self._write_progress()

    def _forget_old(self) -> None:
        """Delete the oldest empty replica sets beyond the limit of the history."""
        limit = self._deployment["spec"].get("revisionHistoryLimit", len(self._old))
        idle = sorted((one for one in self._old if _is_idle(one)), key=rollouts.revision)
        for one in idle[: max(len(self._old) - limit, 0)]:
            self._seen.local.delete(SETS, one["metadata"]["namespace"], one["metadata"]["name"])

    def _has_pods(self, one: Obj) -> bool:
        pods = self._seen.dependents.of(one["metadata"]["uid"], ("", "pods"))
        return any(p.get("status", {}).get("phase") not in ("Succeeded", "Failed") for p in pods)

    # -- writing --------------------------------------------------------------------------------

    def _resize(self, one: Obj, size: int) -> bool:
        """Scale a replica set and tell so; whether its size changed."""
        before = one["spec"]["replicas"]
        notes = {**rollouts.notes(one), **rollouts.sizes(self._deployment)}
        if before == size and (not size or notes == rollouts.notes(one)):
            return False
        meta = {**one["metadata"], "annotations": notes}
        changed = {**one, "metadata": meta, "spec": {**one["spec"], "replicas": size}}
        stored = self._seen.local.update(SETS, changed)
        if one is self._new:
            self._new = stored
        else:
            self._old = [stored if other is one else other for other in self._old]
        if before != size:
            self._tell_scaled(meta["name"], before, size)
        return bool(before != size)

    def _tell_scaled(self, name: str, before: int, size: int) -> None:
        way = "up" if size > before else "down"
        told = f"Scaled {way} replica set {name} from {before} to {size}"
        self._seen.normal(self._deployment, "ScalingReplicaSet", told, COMPONENT)

    def _number(self, revision: str, status: Obj | None = None) -> None:
        """Note the revision that is rolled out, and a status with it."""
        notes = {**rollouts.notes(self._deployment), rollouts.REVISION: revision}
        if notes != rollouts.notes(self._deployment) or status is not None:
            meta = {**self._deployment["metadata"], "annotations": notes}
            new = self._deployment.get("status", {}) if status is None else status
            changed = {**self._deployment, "metadata": meta, "status": new}
            self._deployment = self._seen.local.update_status("deployments.apps", changed)

    def write(self) -> None:
        """Write the status without looking at the progress."""
        now = self._seen.stamp()
        self._store(progress.plain(self._deployment, self._new, self._sets, now))

    def _write_progress(self) -> float | None:
        seen = self._seen
        new, sets = self._new, self._sets
        self._store(progress.full(self._deployment, new, sets, seen.stamp(), seen.wait))
        listed = progress.listed_in(self._deployment)
        left = progress.time_left(self._deployment, listed, seen.wait)
        return None if left is None else max(left, 0.0) + 0.05

    def _store(self, status: Obj) -> None:
        self._deployment = self._seen.set_status("deployments.apps", self._deployment, status)


_MINIMUM = "minReadySeconds"


def _is_idle(one: Obj) -> bool:
    """Whether a replica set is empty and knows it."""
    meta = one["metadata"]
    current = rollouts.count(one, "observedGeneration") >= meta.get("generation", 0)
    empty = not one["spec"]["replicas"] and not rollouts.count(one, "replicas")
    return empty and current and "deletionTimestamp" not in meta
